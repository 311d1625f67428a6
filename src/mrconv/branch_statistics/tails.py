"""Branches of any taps: their energy from the autocorrelation, less that of the tail, by FFT."""

from collections.abc import Sequence

import torch
from torch import Tensor

from .lags import Lags
from .rows import F64, power

__all__ = ["Tails"]


class Tails:
    """Branches of l_i taps each.

    sum z'^2 = k . (A k) + B c^2 |d|^2 - sum_b |tail_b|^2,   (A k)[s] = sum_s' k[s'] lags[|s - s'|]

    The Toeplitz product A k and the tail, the second half of the linear convolution of the last
    l_i samples with k, are FFTs of size 2 l_i.

    Args:
        taps: Of each branch.                                  R of (c, l_i)
    """

    def __init__(self, taps: Sequence[Tensor]) -> None:
        self.taps = list(taps)

    def moments(
        self, lags: Lags, products: Tensor, toeplitz: Sequence[Tensor], tails: Sequence[Tensor]
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Sum and energy of every branch's z'.

        Args:
            lags: Of the input.
            products: Its lags.                                 (c, reach)
            toeplitz: Filled with A k, float64.                R of (c, l_i)
            tails: Filled with the tails.                   R of (B, c, l_i)

        Returns:
            sum z' and sum z'^2, float64.                    R of (c,) each
        """
        sums, energies = [], []
        for k, product, tail in zip(self.taps, toeplitz, tails, strict=True):
            size = k.shape[-1]
            k64 = k.to(F64)
            spectrum = torch.fft.rfft(k64, 2 * size)
            near = products[:, :size]
            even = torch.cat([near, near[:, -1:], near[:, 1:].flip(-1)], -1)
            whole = torch.fft.irfft(spectrum * torch.fft.rfft(even).real, 2 * size)
            product.copy_(whole[:, :size])
            last = torch.fft.rfft(lags.window(size), 2 * size)
            last *= spectrum.to(last.dtype)
            tail.copy_(torch.fft.irfft(last, 2 * size)[..., size:])
            # float64 only for the last of the sums: rows are added up in their own precision
            tail_energy = tail.square().sum(-1).to(F64).sum(0)
            ramp = lags.rows.ramp * _deficit(k64).square().sum(-1)
            sums.append((k64 * lags.heads[:, :size]).sum(-1))
            energies.append((k64 * product).sum(-1) + ramp - tail_energy)
        return sums, energies

    def gradients(
        self,
        lags: Lags,
        saved: tuple[Sequence[Tensor], Sequence[Tensor]],
        dsum: Tensor,
        denergy: Tensor,
        dlast: Tensor,
    ) -> tuple[list[Tensor], Tensor, Tensor]:
        """Gradients given those of sum and energy.

        Args:
            lags: Of the input.
            saved: toeplitz and tails as ``moments`` filled them.
            dsum: Gradient of sum z'.                                   (R, c)
            denergy: Gradient of sum z'^2.                              (R, c)
            dlast: The gradient of the last samples is added to it.

        Returns:
            Gradients of the taps, R of (c, l_i), and of lags and heads (c, reach); float64.
        """
        dheads, dlags, dtaps = torch.zeros_like(lags.heads), torch.zeros_like(lags.heads), []
        for k, product, tail, ds, de in zip(self.taps, *saved, dsum, denergy, strict=True):
            size, twice = k.shape[-1], 2 * de[:, None]
            k64 = k.to(F64)
            spectrum = torch.fft.rfft(k64, 2 * size)
            autocorrelation = torch.fft.irfft(power(spectrum), 2 * size)[:, :size]
            dlags[:, :size] += twice * autocorrelation
            dlags[:, 0] -= de * autocorrelation[:, 0]
            dheads[:, :size] += ds[:, None] * k64
            deficit = _deficit(k64)
            before = deficit.cumsum(-1) - deficit  # sum_{t < s} d[t]
            dk = ds[:, None] * lags.heads[:, :size] + twice * product
            dk = dk - twice * lags.rows.ramp[:, None] * before
            dk = dk + self._tail_gradient(lags, tail, twice, spectrum, dlast)
            dtaps.append(dk)
        return dtaps, dlags, dheads

    def _tail_gradient(
        self, lags: Lags, tail: Tensor, twice: Tensor, spectrum: Tensor, dlast: Tensor
    ) -> Tensor:
        """Gradient of the taps through the tail's energy; that of the samples goes to dlast."""
        size = tail.shape[-1]
        # the tail stands in the second half: a shift by half the size is a factor (-1)^m
        signs = 1 - 2 * (torch.arange(size + 1, device=tail.device) % 2)
        dtail = torch.fft.rfft(tail, 2 * size).mul_((-twice * signs).to(tail.dtype))
        last = torch.fft.rfft(lags.window(size), 2 * size)
        dk = torch.fft.irfft((last.conj_physical_().mul_(dtail)).sum(0), 2 * size)[:, :size]
        dtail.mul_(spectrum.to(dtail.dtype).conj_physical_())
        dlast[..., dlast.shape[-1] - size :] += torch.fft.irfft(dtail, 2 * size)[..., :size]
        return dk


def _deficit(k: Tensor) -> Tensor:
    """d[t] = -sum_{s > t} k[s], what a constant input still lacks at sample t."""
    return k.cumsum(-1) - k.sum(-1, keepdim=True)
