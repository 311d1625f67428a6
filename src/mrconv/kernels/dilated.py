"""Dilated kernels: kernel_size taps, 2^resolution samples apart."""

import torch
from torch import Tensor, nn

from .._checks import widened
from .base import Branch, Kernel

__all__ = ["DilatedKernel"]


class DilatedKernel(Kernel):
    """Evenly spaced taps, k[d, q 2^i] = weight[d, q] for q = 0..l_0-1, zero between.

    Args:
        channels: D.
        kernel_size: l_0, the number of taps.
        resolution: i; the dilation is 2^i.
        device: Where the parameters live.
        dtype: Of the parameters.

    Source: the paper's equation (8), read as u[t - (p + 1) tau] with p zeros between taps.
    Initial values N(0, 1 / l_0) are ours; BatchNorm removes their scale.

    Example:
        >>> from mrconv.kernels import DilatedKernel
        >>> DilatedKernel(1, kernel_size=2, resolution=1).positions().tolist()
        [0, 2]
    """

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
        self.weight = nn.Parameter(torch.empty(channels, kernel_size, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws weight from N(0, 1 / l_0): white input keeps its variance."""
        nn.init.normal_(self.weight, std=self.kernel_size**-0.5)

    def taps(self, rate: int = 1) -> Tensor:
        """The weights with 2^i - 1 zeros behind each.                 (D, span)."""
        self.check_rate(rate)
        return self.branch().taps

    def branch(self) -> Branch:
        """The weights, 2^i samples apart."""
        return Branch(widened(self.weight), 1 << self.resolution)

    def positions(self) -> Tensor:
        """Lags 0, 2^i, ..., (l_0 - 1) 2^i.                                (l_0,)."""
        return torch.arange(0, self.span, 1 << self.resolution, device=self.weight.device)
