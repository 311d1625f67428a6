"""Convolution with taps whose spectrum is known already, in the blocks of ``operator``."""

import torch
from torch import Tensor

from .layout import circular, fft_size, reachable
from .operator import in_blocks

__all__ = ["convolve_with", "met_taps", "taps_spectrum"]


def met_taps(taps: Tensor, causal: bool, length: int) -> tuple[Tensor, int, int]:
    """The taps that an input of ``length`` samples meets, and the FFT in which none wraps around.

    Args:
        taps: As in ``long_convolution``.              (D, K), two-sided (D, 2 K)
        causal: Whether all taps stand at lags 0 and above.
        length: L.

    Returns:
        Those taps (D, n), a view; the columns before lag 0; the size of the FFT.
    """
    taps, future = reachable(taps, 0 if causal else taps.shape[-1] // 2, length)
    return taps, future, fft_size(length, taps.shape[-1], future)


def taps_spectrum(taps: Tensor, future: int, size: int) -> Tensor:
    """The spectrum of taps laid on a circle of ``size``, without gradients.

    Args:
        taps: As ``met_taps`` gives them, float32 or float64.           (D, n)
        future: Columns before lag 0.
        size: Of the FFT.

    Returns:
        The spectrum.                                       (D, size // 2 + 1)
    """
    taps = taps.detach()
    shape = taps.shape[0], size // 2 + 1
    spectrum = torch.empty(shape, dtype=taps.dtype.to_complex(), device=taps.device)

    def work(block: slice) -> None:
        spectrum[block] = torch.fft.rfft(circular(taps[block], future, size))

    in_blocks(work, taps[None], size)
    return spectrum


def convolve_with(u: Tensor, spectrum: Tensor, size: int) -> Tensor:
    """The convolution of u with taps of a known spectrum, as long as u, without gradients.

    Args:
        u: Input, in the precision of the taps.                      (B, D, L)
        spectrum: As ``taps_spectrum`` gives it.            (D, size // 2 + 1)
        size: That of the spectrum.

    Returns:
        Output.                                                      (B, D, L)

    Cost: two FFTs a row, where ``long_convolution`` needs a third one a channel.

    Example:
        >>> import torch
        >>> from mrconv.convolution import convolve_with, met_taps, taps_spectrum
        >>> u, taps = torch.tensor([[[1.0, 0.0, 0.0, 2.0]]]), torch.tensor([[3.0, 5.0]])
        >>> met, future, size = met_taps(taps, causal=True, length=4)
        >>> y = convolve_with(u, taps_spectrum(met, future, size), size)
        >>> torch.testing.assert_close(y, torch.tensor([[[3.0, 5.0, 0.0, 6.0]]]))
    """
    u = u.detach()
    y = torch.empty(u.shape, dtype=u.dtype, device=u.device)

    def work(block: slice) -> None:
        product = torch.fft.rfft(u[:, block], size)
        product *= spectrum[block]
        y[:, block] = torch.fft.irfft(product, size)[..., : u.shape[-1]]

    in_blocks(work, u, size)
    return y
