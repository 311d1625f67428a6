"""What a kernel is: a module that makes the taps of one resolution."""

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor, nn

from .._checks import check_count
from ..errors import ArgumentError

__all__ = ["Branch", "Kernel", "branch"]


class Kernel(nn.Module, ABC):
    """Makes the taps of one resolution from about ``kernel_size`` parameters a channel.

    A kernel of resolution i spans l_i = kernel_size 2^i taps, tap j acting at lag j. Subclasses
    create their parameters, define ``reset_parameters`` and ``taps``, and leave the rest.

    Args:
        channels: D.
        kernel_size: l_0, the span in samples at resolution 0.
        resolution: i, from 0.

    Raises:
        ArgumentError: If a size is below its least value.
        DtypeError: If a size is not a whole number.
    """

    #: Whether the taps are samples of a band-limited function, so that ``rate`` can thin them.
    band_limited: bool = False

    def __init__(self, channels: int, kernel_size: int, resolution: int) -> None:
        super().__init__()
        owner = type(self).__name__
        check_count(owner, "channels", channels)
        check_count(owner, "kernel_size", kernel_size)
        check_count(owner, "resolution", resolution, least=0)
        self.channels = channels
        self.kernel_size = kernel_size
        self.resolution = resolution

    @property
    def span(self) -> int:
        """l_i = kernel_size 2^resolution, in samples."""
        return self.kernel_size << self.resolution

    @abstractmethod
    def reset_parameters(self) -> None:
        """Draws the parameters anew, in place."""

    @abstractmethod
    def taps(self, rate: int = 1) -> Tensor:
        """Taps at lags 0, rate, 2 rate, ... times ``rate``, in at least float32.

        Args:
            rate: Samples of the training rate per sample of the input; 1, or more for
                band-limited kernels.

        Returns:
            The impulse response.                            (D, span // rate)
        """

    def future_taps(self, rate: int = 1) -> Tensor:
        """Taps of the same kernel on the future side: column j acts at lag -(j + 1).

        A kernel that is samples of a function of time gives its values at positions 1..span here,
        so that thinning by ``rate`` keeps every value at its lag.

        Args:
            rate: As in ``taps``.

        Returns:
            The impulse response towards the future.         (D, span // rate)
        """
        return self.taps(rate)

    def positions(self) -> Tensor | None:
        """Lags that carry taps, int64 (n,), where all others are 0; None where any may be."""
        return None

    def evenly_spaced(self) -> tuple[Tensor, int] | None:
        """Values (D, n) and spacing, if value q acts at lag q spacing and the rest are 0.

        None where taps do not stand so; a kernel that says it trains several times faster.
        """
        return None

    def check_rate(self, rate: int) -> None:
        """Raises unless taps can be thinned by ``rate``."""
        owner = type(self).__name__
        check_count(owner, "rate", rate)
        if rate > 1 and not self.band_limited:
            raise ArgumentError(
                f"{owner}: rate must be 1, because its taps are not band-limited; "
                f"got rate={rate}. Use kernel='fourier', or resample the input to the "
                "training rate."
            )
        if self.span % rate:
            raise ArgumentError(
                f"{owner}: rate must divide the span of {self.span} taps at resolution "
                f"{self.resolution}; got rate={rate}. Choose a kernel_size divisible by {rate}."
            )

    def extra_repr(self) -> str:
        """Sizes for ``repr``."""
        return f"channels={self.channels}, kernel_size={self.kernel_size}, span={self.span}"


class Branch(NamedTuple):
    """Taps of one branch: values that stand evenly, with zeros between."""

    values: Tensor
    """Causal (D, n); two-sided (D, 2 l), column j at lag j - l."""
    spacing: int = 1
    """Samples from value to value: value q acts at lag q spacing. 1 where two-sided."""

    @property
    def taps(self) -> Tensor:
        """All taps, zeros included.                          (D, n spacing)."""
        if self.spacing == 1:
            return self.values
        return nn.functional.pad(self.values[..., None], (0, self.spacing - 1)).flatten(1)

    def within(self, length: int) -> "Branch":
        """The causal branch less the values that an input of ``length`` samples never meets."""
        return Branch(self.values[:, : -(-length // self.spacing)], self.spacing)


def branch(kernel: Kernel, future_kernel: Kernel | None = None, rate: int = 1) -> Branch:
    """The branch of one resolution: its past taps, and where given its future taps before them."""
    if future_kernel is not None:
        ahead = future_kernel.future_taps(rate).flip(-1)
        return Branch(torch.cat([ahead, kernel.taps(rate)], -1))
    comb = kernel.evenly_spaced() if rate == 1 else None
    return Branch(kernel.taps(rate)) if comb is None else Branch(*comb)
