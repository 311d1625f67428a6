"""Fourier kernels: a few low modes of a series that is periodic in the span."""

import torch
from torch import Tensor, nn

from .._checks import widened
from .base import Kernel

__all__ = ["FourierKernel"]


class FourierKernel(Kernel):
    """A truncated Fourier series of M = l_0 // 2 + 1 modes over the span n = l_i:

    k[d, t] = sqrt(n) / n * sum_{m=0}^{M-1} w_m Re(c[d, m] exp(2 pi i m t / n)),  w_m = 1 or 2

    (w_m is 1 for m = 0 and m = n / 2, else 2), which is sqrt(n) irfft(c, n). Modes are stored as
    two reals. The factor sqrt(n) keeps the variance of the output from falling with the span to
    the size of BatchNorm's eps. The imaginary parts of mode 0, and at resolution 0 of mode l_0 / 2,
    have no effect; they are kept because the published parameter counts contain them.

    Args:
        channels: D.
        kernel_size: l_0; sets the number of modes.
        resolution: i; the period is l_0 2^i.
        device: Where the parameters live.
        dtype: Of the parameters.

    Source: the paper's appendix B.3; modes 0..l_0/2 and their initial values, the spectrum of l_0
    normal numbers, are inferred from its figure and parameter counts.

    Example:
        >>> from mrconv.kernels import FourierKernel
        >>> kernel = FourierKernel(1, kernel_size=4, resolution=3)
        >>> kernel.coefficients.shape, kernel.taps().shape
        (torch.Size([1, 3, 2]), torch.Size([1, 32]))
    """

    band_limited = True

    def __init__(
        self,
        channels: int,
        kernel_size: int,
        resolution: int,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(channels, kernel_size, resolution)
        shape = (channels, kernel_size // 2 + 1, 2)
        self.coefficients = nn.Parameter(torch.empty(shape, device=device, dtype=dtype))
        self.reset_parameters()

    @property
    def modes(self) -> int:
        """M = l_0 // 2 + 1."""
        return self.kernel_size // 2 + 1

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draws the coefficients as the spectrum of l_0 normal numbers."""
        shape = (self.channels, self.kernel_size)
        like = widened(self.coefficients)
        values = torch.randn(shape, device=like.device, dtype=like.dtype)
        self.coefficients.copy_(torch.view_as_real(torch.fft.rfft(values)))

    def spectrum(self, rate: int = 1) -> Tensor:
        """The coefficients of the series that is left at 1 / rate of the sampling rate.

        irfft(c, n / rate) = rate irfft(c, n)[::rate] as long as every mode stays below the new
        Nyquist bin; a mode that lands on it must count twice, and modes above it would alias and
        fall away.

        Args:
            rate: As in ``taps``.

        Returns:
            Real and imaginary parts of the modes that stay, (D, M', 2) in at least float32.
        """
        self.check_rate(rate)
        size = self.span // rate
        spectrum = widened(self.coefficients)[:, : size // 2 + 1]  # (D, M', 2)
        if rate > 1 and size % 2 == 0 and self.modes > size // 2:
            lower, nyquist = spectrum[:, : size // 2], spectrum[:, size // 2 :]
            spectrum = torch.cat([lower, 2 * nyquist], 1)
        return spectrum

    def taps(self, rate: int = 1) -> Tensor:
        """The series at positions 0, rate, 2 rate, ..., times rate. (D, span // rate)."""
        modes = torch.view_as_complex(self.spectrum(rate).contiguous())
        series = torch.fft.irfft(modes, self.span // rate)
        return series * self.span**0.5  # the training span, also at another rate

    def future_taps(self, rate: int = 1) -> Tensor:
        """The series at positions rate, 2 rate, ..., span.          (D, span // rate)."""
        return self.taps(rate).roll(-1, -1)  # position span is position 0 of the periodic series
