"""All branches of a layer over one block of channels, whichever way each is treated."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from .combs import Combs
from .lags import Lags
from .plan import Plan
from .rows import F64, Rows
from .spikes import Spikes
from .tails import Tails
from .wholes import Wholes

__all__ = ["Branches", "Products"]


class Products(NamedTuple):
    """What the statistics leave for the backward pass."""

    combs: Tensor
    """G v of the branches of few taps, float64.         (R', D, widest)"""
    spikes: Tensor
    """G v of the scattered branches side by side, float64.           (D, S)"""
    toeplitz: Tensor
    """A k of the branches treated by tails side by side, float64.    (D, T)"""
    tails: Tensor
    """Their tails side by side.                             (B, D, T)"""
    outputs: Tensor
    """z' of the branches computed whole.               (W or 0, B, D, L)"""

    @classmethod
    def empty(cls, u: Tensor, plan: Plan) -> "Products":
        """Tensors of the right sizes for an input u (B, D, L)."""
        batch, channels, length = u.shape
        return cls(
            u.new_empty(len(plan.few), channels, plan.widest, dtype=F64),
            u.new_empty(channels, plan.spike_columns, dtype=F64),
            u.new_empty(channels, plan.tail_columns, dtype=F64),
            u.new_empty(batch, channels, plan.tail_columns),
            u.new_empty(plan.kept, batch, channels, length),
        )

    def of(self, block: slice) -> "Products":
        """Those of a block of channels."""
        return Products(
            self.combs[:, block],
            self.spikes[block],
            self.toeplitz[block],
            self.tails[:, block],
            self.outputs[:, :, block],
        )


class Branches:
    """R branches; rows (R, c) of what follows are in the layer's order.

    Args:
        plan: How each is treated.
        packed: Their values side by side.                           (c, V)
        lags: Of the scattered branches, in order.
    """

    def __init__(self, plan: Plan, packed: Tensor, lags: Sequence[list[int]]) -> None:
        self.plan = plan
        self.values = plan.split(packed)
        self.lags = dict(zip(plan.scattered, lags, strict=True))
        self.spikes = Spikes([self.values[i] for i in plan.scattered], lags)
        self.wholes = Wholes([self.values[i] for i in plan.whole], plan.causal)
        self.tails = Tails([self.values[i] for i in plan.many])
        self.combs: Combs | None = None
        if plan.few:
            padded = [pad(self.values[i], (0, plan.widest - plan.counts[i])) for i in plan.few]
            self.combs = Combs(torch.stack(padded), [plan.spacings[i] for i in plan.few])

    def totals(self) -> Tensor:
        """sum_s k[s], float64.                                      (R, c)."""
        return torch.stack([value.sum(-1, dtype=F64) for value in self.values])

    def moments(self, rows: Rows, products: Products) -> tuple[Tensor, Tensor]:
        """Sum z' and sum z'^2 of every branch, float64; fills ``products``."""
        plan = self.plan
        sums, energies = self.wholes.moments(rows, products.outputs)
        found = dict(zip(plan.whole, zip(sums, energies, strict=True), strict=True))
        if plan.lag_reach:
            lags = Lags(rows, plan.lag_reach)
            by_lag = lags.products()
            sums, energies = self.tails.moments(lags, by_lag, *self._tail_products(products))
            found.update(zip(plan.many, zip(sums, energies, strict=True), strict=True))
            saved = plan.split_of(plan.scattered, products.spikes)
            sums, energies = self.spikes.moments(lags, by_lag, saved)
            found.update(zip(plan.scattered, zip(sums, energies, strict=True), strict=True))
            if self.combs is not None:
                *both, product = self.combs.moments(lags, by_lag)
                products.combs.copy_(product)
                found.update(zip(plan.few, zip(*both, strict=True), strict=True))
        first, second = zip(*(found[i] for i in range(len(self.values))), strict=True)
        return torch.stack(first), torch.stack(second)

    def merged(self, scale: Tensor) -> Tensor:
        """sum_i scale_i k_i, lag 0 at column ``plan.future``.           (c, reach)."""
        plan = self.plan
        merged = scale.new_zeros(scale.shape[1], plan.reach)
        if self.combs is not None:
            self.combs.write(merged, scale[plan.few, :, None] * self.combs.values)
        for i in plan.many + plan.whole + plan.scattered:
            merged[:, self._columns(i)] += scale[i, :, None] * self.values[i]
        return merged

    def _columns(self, i: int) -> slice | list[int]:
        return self.lags[i] if i in self.lags else self.plan.columns(i)

    def _tail_products(self, products: Products) -> tuple[list[Tensor], list[Tensor]]:
        split = self.plan.split_of
        return split(self.plan.many, products.toeplitz), split(self.plan.many, products.tails)

    def merged_gradients(self, x: Tensor) -> list[Tensor]:
        """Values of x (c, reach) where each branch has its own.       R of (c, n_i)."""
        return [x[:, self._columns(i)] for i in range(len(self.values))]

    def gradients(
        self,
        rows: Rows,
        conjugate: Tensor,
        products: Products,
        dmoments: tuple[Tensor, Tensor],
        dspectrum: Tensor,
    ) -> tuple[list[Tensor], Tensor | None]:
        """Gradients through the statistics.

        Args:
            rows: The input.
            conjugate: conj(rows.spectrum).
            products: As ``moments`` filled them.
            dmoments: Gradients of sum z' and of sum z'^2.              (R, c) each
            dspectrum: Spectrum of the input's gradient, added to in place.

        Returns:
            Gradients of the values, R of (c, n_i), float64; and that of the input which is not
            in the spectrum, (B, c, L) or None.
        """
        plan, (dsum, denergy) = self.plan, dmoments
        taps = self.wholes.gradients(
            rows, conjugate, products.outputs, dsum[plan.whole], denergy[plan.whole], dspectrum
        )
        found = dict(zip(plan.whole, taps, strict=True))
        rest = None
        if plan.lag_reach:
            rest = self._lag_gradients(rows, products, dmoments, dspectrum, found)
        return [found[i] for i in range(len(self.values))], rest

    def _lag_gradients(
        self,
        rows: Rows,
        products: Products,
        dmoments: tuple[Tensor, Tensor],
        dspectrum: Tensor,
        found: dict[int, Tensor],
    ) -> Tensor:
        plan, (dsum, denergy) = self.plan, dmoments
        lags = Lags(rows, plan.lag_reach)
        dlast = torch.zeros_like(lags.last, memory_format=torch.contiguous_format)
        many, few, scattered = plan.many, plan.few, plan.scattered
        taps, dlags, dheads = self.tails.gradients(
            lags, self._tail_products(products), dsum[many], denergy[many], dlast
        )
        found.update(zip(many, taps, strict=True))
        taps, more_lags, more_heads = self.spikes.gradients(
            lags,
            plan.split_of(scattered, products.spikes),
            (dsum[scattered], denergy[scattered]),
            dlast,
        )
        found.update(zip(scattered, taps, strict=True))
        dlags, dheads = dlags.add_(more_lags), dheads.add_(more_heads)
        if self.combs is not None:
            values, more_lags, more_heads = self.combs.gradients(
                lags, products.combs, dsum[few], denergy[few]
            )
            self.combs.add_last_gradient(lags, denergy[few], dlast)
            dlags, dheads = dlags.add_(more_lags), dheads.add_(more_heads)
            for i, value in zip(few, values, strict=True):
                found[i] = value[:, : plan.counts[i]]
        return lags.input_gradient(dlags, dheads, dlast, dspectrum)
