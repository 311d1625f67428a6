"""Branches of few, evenly spaced taps: their statistics by small Gram matrices, without any FFT.

A branch v of n taps, spaced by p samples, has z'[t] = sum_q v[q] x_q[t] with x_q the continued
input delayed by q p. So sum z'^2 = v^T G v with the (n, n) Gram matrix

    G[q, q'] = lags[|q - q'| p] + B c^2 p min(q, q') - sum_{j=1}^{min(q, q')} C[q - j, q' - j]

C the Gram matrix of the last n p samples read as n pieces of p, the newest first.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad

from .lags import Lags
from .rows import F64

__all__ = ["Combs", "diagonal_sums"]

WIDE = 32  # pieces from this length on are multiplied row by row


def diagonal_sums(matrix: Tensor, adjoint: bool = False) -> Tensor:
    """T[q, q'] = sum_{j=1}^{min(q, q')} matrix[q - j, q' - j] over the last two axes.

    ``adjoint`` gives the transposed map instead. Rows are written into a skewed array in which
    diagonals stand upright.
    """
    n, lead = matrix.shape[-1], matrix.shape[:-2]
    skewed = pad(matrix.flip(-1), (0, n)).flatten(-2)[..., : n * (2 * n - 1)]
    skewed = skewed.reshape(*lead, n, 2 * n - 1)
    sums = skewed.flip(-2).cumsum(-2).flip(-2) if adjoint else skewed.cumsum(-2)
    sums = pad(sums.flatten(-2), (0, n)).reshape(*lead, n, 2 * n)[..., :n].flip(-1)
    return sums - matrix


class Combs:
    """R branches of n taps each, the taps of branch i spaced by spacings[i] samples.

    Args:
        values: Taps.                                                (R, c, n)
        spacings: p of each branch; where all are equal one Gram matrix serves them.
    """

    def __init__(self, values: Tensor, spacings: Sequence[int]) -> None:
        self.values, self.values64 = values, values.to(F64)
        self.count = values.shape[-1]
        self.spacings = [spacings[0]] if len(set(spacings)) == 1 else list(spacings)
        q = torch.arange(self.count, device=values.device)
        p = torch.tensor(spacings, device=values.device)
        self.positions = q * p[:, None]  # (R, n)
        self.apart = (q[:, None] - q).abs()
        self.overlap = p[:, None, None] * torch.minimum(q[:, None], q)  # (R, n, n)

    def read(self, x: Tensor) -> Tensor:
        """Values of x (c, reach) at every tap.                      (R, c, n)."""
        picked = x[:, self.positions.flatten()]
        return picked.unflatten(-1, self.positions.shape).transpose(0, 1)

    def write(self, x: Tensor, values: Tensor) -> None:
        """Adds values (R, c, n) to x (c, reach) at every tap."""
        x.index_add_(1, self.positions.flatten(), values.transpose(0, 1).flatten(1).to(x.dtype))

    def _pieces(self, lags: Lags) -> list[Tensor]:
        """The last samples as n pieces, the oldest first.        S of (B, c, n, p)."""
        return [lags.window(self.count * p).unflatten(-1, (self.count, p)) for p in self.spacings]

    def moments(self, lags: Lags, products: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Sum and energy of every branch's z'.

        Args:
            lags: Of the input.
            products: Its lags.                                       (c, reach)

        Returns:
            sum z' (R, c), sum z'^2 (R, c), and G v (R, c, n) for ``gradients``; float64.
        """
        grams = torch.stack([_gram(x) for x in self._pieces(lags)]).flip(-1, -2).to(F64)
        gram = self.read(products)[..., self.apart] - diagonal_sums(grams)
        gram = gram + lags.rows.ramp[:, None, None] * self.overlap[:, None]
        product = (gram @ self.values64[..., None])[..., 0]
        sums = (self.values64 * self.read(lags.heads)).sum(-1)
        return sums, (self.values64 * product).sum(-1), product

    def gradients(
        self, lags: Lags, product: Tensor, dsum: Tensor, denergy: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Gradients given those of sum and energy, apart from that of the last samples.

        Args:
            lags: Of the input.
            product: G v, from ``moments``.                          (R, c, n)
            dsum: Gradient of sum z'.                                   (R, c)
            denergy: Gradient of sum z'^2.                              (R, c)

        Returns:
            Gradients of the values (R, c, n), and of lags and heads (c, reach); float64.
        """
        dvalues = dsum[..., None] * self.read(lags.heads) + 2 * denergy[..., None] * product
        dheads, dlags = torch.zeros_like(lags.heads), torch.zeros_like(lags.heads)
        self.write(dheads, dsum[..., None] * self.values64)
        dgram = self._dgram(denergy)
        by_distance = torch.zeros_like(self.values64)
        by_distance.index_add_(2, self.apart.flatten(), dgram.flatten(2))
        self.write(dlags, by_distance)
        return dvalues, dlags, dheads

    def _dgram(self, denergy: Tensor) -> Tensor:
        return denergy[..., None, None] * self.values64[..., None] * self.values64[..., None, :]

    def add_last_gradient(self, lags: Lags, denergy: Tensor, dlast: Tensor) -> None:
        """Adds the gradient of the last samples to dlast (B, c, reach)."""
        dgram = self._dgram(denergy)
        if len(self.spacings) < len(dgram):
            dgram = dgram.sum(0, keepdim=True)
        dgrams = (-2 * diagonal_sums(dgram, adjoint=True)).flip(-1, -2).to(dlast.dtype)
        for matrix, x in zip(dgrams, self._pieces(lags), strict=True):
            spread = (matrix @ x).flatten(2)
            dlast[..., dlast.shape[-1] - spread.shape[-1] :] += spread


def _gram(pieces: Tensor) -> Tensor:
    """C[q, q'], the sum over rows and samples of piece q times piece q'.      (c, n, n)."""
    if pieces.shape[-1] >= WIDE:
        return (pieces @ pieces.transpose(2, 3)).sum(0)
    columns = pieces.permute(1, 2, 0, 3).flatten(2)  # (c, n, B p)
    return columns @ columns.transpose(1, 2)
