"""Branches of few taps at any lags: their tails as sums of shifted samples, without any FFT."""

from collections.abc import Sequence

import torch
from torch import Tensor

from .lags import Lags
from .rows import F64

__all__ = ["Spikes"]


class Spikes:
    """Branches z'[t] = sum_q v[q] w[t - lag_q], w continued by -c into the past.

    sum z'^2 = v^T G v - sum_b |tail_b|^2,   G[q, q'] = lags[|lag_q - lag_q'|] + B c^2 min(lag_q,
    lag_q'),   tail[t] = sum_{q: lag_q > t} v[q] last[l + t - lag_q]

    last the last l samples of a row. One pass over lag_q samples a tap costs less than FFTs of
    twice the span.

    Args:
        values: Taps of each branch.                             S of (c, n_i)
        lags: Of each, ascending.                                   S of (n_i,)
    """

    def __init__(self, values: Sequence[Tensor], lags: Sequence[Sequence[int]]) -> None:
        self.values, self.lags = list(values), [list(one) for one in lags]

    def _tail(self, known: Lags, v: Tensor, lags: Sequence[int]) -> Tensor:
        """Outputs behind every row's end.                        (B, c, lag_n)."""
        last = known.last
        tail = last.new_zeros(*last.shape[:2], lags[-1])
        for q, lag in enumerate(lags):
            tail[..., :lag].addcmul_(known.window(lag), v[:, q, None])
        return tail

    def _gram(self, known: Lags, products: Tensor, lags: Sequence[int]) -> Tensor:
        """G.                                                     (c, n, n), float64."""
        at = torch.tensor(lags, device=products.device)
        gram = products[:, (at[:, None] - at).abs()]
        return gram + known.rows.ramp[:, None, None] * torch.minimum(at[:, None], at)

    def moments(
        self, known: Lags, products: Tensor, saved: Sequence[Tensor]
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Sum and energy of every branch's z'.

        Args:
            known: Of the input.
            products: Its lags.                                     (c, reach)
            saved: Filled with G v, float64.                     S of (c, n_i)

        Returns:
            sum z' and sum z'^2, float64.                        S of (c,) each
        """
        sums, energies = [], []
        for v, lags, product in zip(self.values, self.lags, saved, strict=True):
            v64 = v.to(F64)
            product.copy_((self._gram(known, products, lags) @ v64[..., None])[..., 0])
            tail = self._tail(known, v, lags).square().sum(-1).to(F64).sum(0)
            sums.append((v64 * known.heads[:, lags]).sum(-1))
            energies.append((v64 * product).sum(-1) - tail)
        return sums, energies

    def gradients(
        self, known: Lags, saved: Sequence[Tensor], dmoments: tuple[Tensor, Tensor], dlast: Tensor
    ) -> tuple[list[Tensor], Tensor, Tensor]:
        """Gradients given those of sum and energy.

        Args:
            known: Of the input.
            saved: As ``moments`` filled it.
            dmoments: Gradients of sum z' and of sum z'^2.          (S, c) each
            dlast: The gradient of the last samples is added to it.

        Returns:
            Gradients of the taps, S of (c, n_i), and of lags and heads (c, reach); float64.
        """
        dheads, dlags, found = torch.zeros_like(known.heads), torch.zeros_like(known.heads), []
        for v, lags, product, ds, de in zip(self.values, self.lags, saved, *dmoments, strict=True):
            v64, at = v.to(F64), torch.tensor(lags, device=v.device)
            dheads[:, lags] += ds[:, None] * v64
            dgram = de[:, None, None] * v64[..., None] * v64[:, None]
            dlags.index_add_(1, (at[:, None] - at).abs().flatten(), dgram.flatten(1))
            dv = ds[:, None] * known.heads[:, lags] + 2 * de[:, None] * product
            dtail = self._tail(known, v, lags).mul_(-2 * de[:, None].to(v.dtype))
            found.append(dv + self._through_tail(known, v, lags, dtail, dlast))
        return found, dlags, dheads

    def _through_tail(
        self, known: Lags, v: Tensor, lags: Sequence[int], dtail: Tensor, dlast: Tensor
    ) -> Tensor:
        """Gradient of the taps through the tail; that of the last samples goes to dlast."""
        found = []
        for q, lag in enumerate(lags):
            found.append((dtail[..., :lag] * known.window(lag)).sum(-1).to(F64).sum(0))
            dlast[..., known.reach - lag :].addcmul_(dtail[..., :lag], v[:, q, None])
        return torch.stack(found, -1)
