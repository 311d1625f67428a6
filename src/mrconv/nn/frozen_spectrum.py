"""The spectrum of taps that stand still, kept from one call of a layer to the next."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from .._checks import widened
from ..convolution import Method, convolve_with, long_convolution, met_taps, taps_spectrum
from ..convolution.long import SHORT

__all__ = ["FrozenSpectrum"]

#: Rows up to which a kept spectrum is used. Of the FFTs of B rows the taps' is one in 2 B + 1; from
#: more rows on, the memory buys next to nothing.
FEW_ROWS = 4

#: Elements of an input below which calls cost more than the FFT. Forward in ms, kept against not:
#: (1, 4, 32) 0.065, 0.058; (1, 64, 256) 0.145, 0.157; (1, 64, 4096) 1.8, 2.4; (1, 64, 16384) 9.5,
#: 13.7; (4, 64, 4096) 11.4, 13.3.
SMALL = 1 << 14


class _Kept(NamedTuple):
    taps: Tensor
    """A copy of those the spectrum came from, in the layer's dtype.    (D, n)"""
    future: int
    size: int
    spectrum: Tensor
    """(D, size // 2 + 1)"""


class FrozenSpectrum:
    """Convolution of a frozen layer on a CPU with few rows: its taps' FFT is not repeated.

    What is kept is one spectrum, for an FFT size used twice in a row, beside a copy of the taps it
    came from. The copy is compared before every use, because a version counter misses writes
    through ``.data``; that reads the taps once, a twentieth of their FFT. It belongs to one layer
    and place: a deep copy or an unpickled one starts empty.

    Memory: about three times that of the taps, where they are as long as the input.

    Example:
        >>> import torch
        >>> from mrconv.nn.frozen_spectrum import FrozenSpectrum
        >>> frozen, taps = FrozenSpectrum(), torch.nn.Parameter(torch.randn(64, 256))
        >>> with torch.no_grad():
        ...     frozen.serves(torch.randn(1, 64, 256), taps, "auto")
        True
    """

    def __init__(self) -> None:
        self._kept: _Kept | None = None
        self._seen: tuple[int, int] | None = None  # future and size of a call that kept nothing

    def forget(self) -> None:
        """Drops spectrum and copy."""
        self._kept = self._seen = None

    def serves(self, u: Tensor, taps: Tensor, method: Method) -> bool:
        """Whether ``convolve`` may stand for ``long_convolution`` here, and costs less.

        Args:
            u: Input.                                                (B, D, L)
            taps: Of the layer.                                         (D, K)
            method: Asked for.
        """
        if _is_drawn():
            return False
        if method == "direct" or u.device.type != "cpu" or u.dtype != widened(taps[:, :0]).dtype:
            return False
        shifted = method == "auto" and min(taps.shape[-1], u.shape[-1]) <= SHORT
        if shifted or u.numel() < SMALL or u.shape[0] > FEW_ROWS:
            return False
        trained = torch.is_grad_enabled() and (u.requires_grad or taps.requires_grad)
        return not trained and _is_plain(u, taps)

    def convolve(self, u: Tensor, taps: Tensor, causal: bool) -> Tensor:
        """As ``long_convolution``, without gradients.

        Args:
            u: Input, float32 or float64.                            (B, D, L)
            taps: Of the layer, also in half precision.  (D, K), two-sided (D, 2 K)
            causal: Whether the taps are causal.

        Returns:
            Output in the input's dtype.                             (B, D, L)
        """
        met, future, size = met_taps(taps.detach(), causal, u.shape[-1])
        kept = self._kept  # read once: another thread may put in its own
        if kept is not None and (kept.future, kept.size) == (future, size):
            if not _differ(kept.taps, met):
                return convolve_with(u, kept.spectrum, size)
        elif self._seen == (future, size):
            copied = met.clone(memory_format=torch.contiguous_format)
            spectrum = taps_spectrum(widened(copied), future, size)
            self._kept = _Kept(copied, future, size, spectrum)
            return convolve_with(u, spectrum, size)
        self._kept, self._seen = None, (future, size)
        return long_convolution(u, widened(taps), causal=causal, method="fft")

    def __reduce__(self) -> tuple[type["FrozenSpectrum"], tuple[()]]:
        return FrozenSpectrum, ()


def _is_drawn() -> bool:
    """Whether a graph is being made of this call: it must hold the taps, not their spectrum."""
    traced = torch.jit.is_tracing()  # type: ignore[attr-defined]
    return traced or torch.compiler.is_compiling() or torch.compiler.is_exporting()


def _is_plain(u: Tensor, taps: Tensor) -> bool:
    """Whether these hold numbers: not fake tensors, nor those that torch.func wraps or replaces."""
    wrapped = torch._C._functorch.is_functorch_wrapped_tensor
    return type(u) is Tensor and type(taps) is nn.Parameter and not (wrapped(u) or wrapped(taps))


def _differ(one: Tensor, other: Tensor) -> bool:
    return one.dtype != other.dtype or not torch.equal(one, other)
