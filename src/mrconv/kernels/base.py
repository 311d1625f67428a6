"""What a kernel is: a module that makes the taps of one resolution."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple, Self

import torch
from torch import Tensor, nn

from .._checks import HALF, check_count
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
    #: Names of parameters and buffers that a cast to half precision leaves in float32.
    precise: tuple[str, ...] = ()

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

    def branch(self) -> "Branch":
        """The taps, with their place where few carry a value: such kernels train faster."""
        return Branch(self.taps())

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

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        named = [getattr(self, name) for name in self.precise]
        kept = {id(one) for tensor in named for one in (tensor, tensor.grad)}

        def apart(tensor: Tensor) -> Tensor:
            new = fn(tensor)
            if id(tensor) not in kept or new.dtype not in HALF:
                return new
            return tensor.to(new.device, torch.float32)

        return super()._apply(apart, recurse)

    def extra_repr(self) -> str:
        """Sizes for ``repr``."""
        return f"channels={self.channels}, kernel_size={self.kernel_size}, span={self.span}"


class Branch(NamedTuple):
    """Taps of one branch: values that stand evenly or at lags of their own, zeros between."""

    values: Tensor
    """Causal (D, n); two-sided (D, 2 l), column j at lag j - l."""
    spacing: int = 1
    """Samples from value to value: value q acts at lag q spacing. 1 where two-sided."""
    lags: Tensor | None = None
    """Where given, value q acts at lag lags[q]: int64, ascending.            (n,)"""
    samples: int = 0
    """With ``lags``: the samples that the branch spans."""

    @property
    def span(self) -> int:
        """Samples from the first tap to behind the last."""
        return self.values.shape[-1] * self.spacing if self.lags is None else self.samples

    @property
    def taps(self) -> Tensor:
        """All taps, zeros included.                               (D, span)."""
        if self.lags is not None:
            taps = self.values.new_zeros(self.values.shape[0], self.samples)
            return taps.index_copy(1, self.lags, self.values)
        if self.spacing == 1:
            return self.values
        return nn.functional.pad(self.values[..., None], (0, self.spacing - 1)).flatten(1)

    def within(self, length: int, causal: bool) -> "Branch":
        """The branch less the values that an input of ``length`` samples never meets.

        One with lags of its own must span no more than the input.
        """
        if self.lags is not None:
            return self
        if not causal:
            middle = self.values.shape[-1] // 2
            kept = min(middle, length)
            return Branch(self.values[:, middle - kept : middle + kept])
        return Branch(self.values[:, : -(-length // self.spacing)], self.spacing)


def branch(kernel: Kernel, future_kernel: Kernel | None = None, rate: int = 1) -> Branch:
    """The branch of one resolution: its past taps, and where given its future taps before them."""
    if future_kernel is not None:
        ahead = future_kernel.future_taps(rate).flip(-1)
        return Branch(torch.cat([ahead, kernel.taps(rate)], -1))
    if rate > 1:
        return Branch(kernel.taps(rate))
    return kernel.branch()
