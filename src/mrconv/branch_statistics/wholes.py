"""Branches whose outputs are computed: those about as long as the input, and two-sided ones."""

from collections.abc import Sequence

import torch
from torch import Tensor

from .rows import F64, Rows, clear_padding

__all__ = ["Wholes"]


class Wholes:
    """Branches z'[t] = k * w less c times the taps that reach out of the row, computed as such.

    Args:
        taps: Of each branch; two-sided, lag 0 at the middle column.   W of (c, n_i)
        causal: Whether the taps are causal.
    """

    def __init__(self, taps: Sequence[Tensor], causal: bool) -> None:
        self.taps, self.causal = list(taps), causal

    def _future(self, k: Tensor) -> int:
        return 0 if self.causal else k.shape[-1] // 2

    def _outputs(self, rows: Rows, k: Tensor, out: Tensor | None) -> Tensor:
        """Outputs z' of one branch, 0 behind each row's length.             (B, c, L)."""
        spectrum = rows.spectrum * rows.transformed(k, self._future(k))
        z = torch.fft.irfft(spectrum, rows.size)[..., : rows.w.shape[-1]]
        z = torch.add(z, rows.lacking(k, self._future(k)).to(z.dtype), out=out)
        clear_padding(z, rows.lengths)
        return z

    def moments(self, rows: Rows, kept: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """Sum and energy of every branch's z'.

        Args:
            rows: The input.
            kept: Filled with the outputs, where there is room.   (W or 0, B, c, L)

        Returns:
            sum z' and sum z'^2, float64.                            W of (c,) each
        """
        sums, energies = [], []
        for i, k in enumerate(self.taps):
            z = self._outputs(rows, k, kept[i] if len(kept) else None)
            # two-sided outputs may be large at both ends, so that the square of their mean counts
            along = z.dtype if self.causal else F64
            sums.append(z.sum(-1, dtype=along).to(F64).sum(0))
            energies.append(z.square().sum(-1, dtype=along).to(F64).sum(0))
        return sums, energies

    def gradients(
        self,
        rows: Rows,
        conjugate: Tensor,
        kept: Tensor,
        dsum: Tensor,
        denergy: Tensor,
        dspectrum: Tensor,
    ) -> list[Tensor]:
        """Gradients of the taps given those of sum and energy, float64.

        Args:
            rows: The input.
            conjugate: conj(rows.spectrum).
            kept: The outputs, as ``moments`` kept them.          (W or 0, B, c, L)
            dsum: Gradient of sum z'.                                   (W, c)
            denergy: Gradient of sum z'^2.                              (W, c)
            dspectrum: Spectrum of the input's gradient, added to in place.

        Returns:
            W of (c, n_i).
        """
        found = []
        for i, k in enumerate(self.taps):
            future = self._future(k)
            z = kept[i] if len(kept) else self._outputs(rows, k, None)
            padded = z.new_zeros(*z.shape[:2], rows.size)
            dz = padded[..., : z.shape[-1]]
            torch.mul(z, 2 * denergy[i, :, None].to(z.dtype), out=dz)
            dz += dsum[i, :, None].to(z.dtype)
            clear_padding(dz, rows.lengths)
            spectrum = torch.fft.rfft(padded)
            correlation = (conjugate * spectrum).sum(0)
            dk, _ = rows.tap_gradient(correlation, dz, k.shape[-1] - future, future)
            found.append(dk)
            dspectrum.addcmul_(spectrum, rows.transformed(k, future).conj_physical())
        return found
