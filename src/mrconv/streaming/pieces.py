"""What a kernel is to a stream: a sum of few taps, windowed Fourier series and dense taps."""

from dataclasses import dataclass, replace
from functools import singledispatch

import torch
from torch import Tensor, nn

from .._checks import widened
from ..errors import DtypeError
from ..kernels import FourierKernel, Kernel, MixtureKernel

__all__ = ["Dense", "Piece", "Spikes", "Window", "kernel_pieces", "taps_pieces"]

#: Taps that are gathered, however they lie; more become dense. Up to about as many, a gathered step
#: takes no longer than a tiled one, and none of its steps is long; chunks of some hundred samples
#: are faster by tiles from some hundred taps on.
FEW = 384


@dataclass(frozen=True)
class Spikes:
    """Few taps: values[:, q] acts at lag lags[q]."""

    lags: Tensor
    """int64                                                                (Q,)"""
    values: Tensor
    """(D, Q)"""

    @property
    def channels(self) -> int:
        """D."""
        return self.values.shape[0]

    @property
    def dtype(self) -> torch.dtype:
        """float32 or float64."""
        return self.values.dtype

    @property
    def device(self) -> torch.device:
        """Where it lies."""
        return self.values.device

    def weighted(self, factor: Tensor) -> "Spikes":
        """Times one factor a channel (D,)."""
        return replace(self, values=factor[:, None] * self.values)

    def delayed(self, start: int) -> "Spikes":
        """The same taps, ``start`` samples later."""
        return replace(self, lags=self.lags + start)


@dataclass(frozen=True)
class Window:
    """A truncated Fourier series that is cut after one period:

    k[start + j] = sum_m Re(c[m] exp(2 pi i m j / span)),  j = 0..span-1
    """

    amplitudes: Tensor
    """Real and imaginary parts of c.                                  (D, M, 2)"""
    span: int
    start: int = 0

    @property
    def channels(self) -> int:
        """D."""
        return self.amplitudes.shape[0]

    @property
    def dtype(self) -> torch.dtype:
        """float32 or float64."""
        return self.amplitudes.dtype

    @property
    def device(self) -> torch.device:
        """Where it lies."""
        return self.amplitudes.device

    def weighted(self, factor: Tensor) -> "Window":
        """Times one factor a channel (D,)."""
        return replace(self, amplitudes=factor[:, None, None] * self.amplitudes)

    def delayed(self, start: int) -> "Window":
        """The same window, ``start`` samples later."""
        return replace(self, start=self.start + start)


@dataclass(frozen=True)
class Dense:
    """Taps of which most or all carry a value, from lag 0.                   (D, K)."""

    taps: Tensor

    @property
    def channels(self) -> int:
        """D."""
        return self.taps.shape[0]

    @property
    def dtype(self) -> torch.dtype:
        """float32 or float64."""
        return self.taps.dtype

    @property
    def device(self) -> torch.device:
        """Where it lies."""
        return self.taps.device

    def weighted(self, factor: Tensor) -> "Dense":
        """Times one factor a channel (D,)."""
        return Dense(factor[:, None] * self.taps)

    def delayed(self, start: int) -> "Dense":
        """The same taps, ``start`` samples later."""
        return Dense(torch.nn.functional.pad(self.taps, (start, 0)))


Piece = Spikes | Window | Dense


@singledispatch
def kernel_pieces(kernel: nn.Module, rate: int) -> list[Piece]:
    """What a kernel's taps are made of, chosen by its class; ``register`` adds to the table.

    A kernel of no class in the table is gathered where it names its ``positions``, else dense.

    Args:
        kernel: Any kernel.
        rate: Samples of the training rate per sample of the stream.

    Returns:
        Pieces whose sum is ``kernel.taps(rate)``.
    """
    if not isinstance(kernel, Kernel):
        raise DtypeError(
            f"kernel_pieces: kernel must be a mrconv.kernels.Kernel; got {type(kernel).__name__}. "
            "Register its class with mrconv.streaming.kernel_pieces.register."
        )
    positions, taps = kernel.positions(), kernel.taps(rate)
    if positions is None or rate > 1:
        return taps_pieces(taps)
    return [Spikes(positions, taps[:, positions])]


@kernel_pieces.register
def _(kernel: FourierKernel, rate: int) -> list[Piece]:
    spectrum, span = kernel.spectrum(rate), kernel.span // rate
    modes = torch.arange(spectrum.shape[1], device=spectrum.device)
    single = (modes == 0) | (2 * modes == span)  # all others stand for a conjugate pair
    scale = (2 - single.to(spectrum.dtype)) * (kernel.span**0.5 / span)
    return [Window(spectrum * scale[:, None], span)]


@kernel_pieces.register
def _(kernel: MixtureKernel, rate: int) -> list[Piece]:
    factors = widened(kernel.factor)
    return [
        piece.weighted(factor)
        for factor, part in zip(factors, kernel.parts, strict=True)
        for piece in kernel_pieces(part, rate)
    ]


def taps_pieces(taps: Tensor) -> list[Piece]:
    """Explicit taps (D, K): gathered where few lags carry a value in any channel, else dense."""
    lags = (taps != 0).any(0).nonzero()[:, 0]
    if lags.numel() <= FEW:
        return [Spikes(lags, taps[:, lags])]
    return [Dense(taps)]
