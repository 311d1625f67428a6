"""Dense kernels: every tap is a parameter."""

import torch
from torch import Tensor, nn

from .._checks import widened
from .base import Kernel

__all__ = ["DenseKernel"]


class DenseKernel(Kernel):
    """Free taps, k[d, j] = weight[d, j]; the only form whose parameters grow with the span.

    Args:
        channels: D.
        kernel_size: l_0, in samples.
        resolution: i; the span is kernel_size 2^i.
        device: Where the parameters live.
        dtype: Of the parameters.

    Source: the paper's ablation "dense" (table 2). Initial values N(0, 1 / span) are ours.

    Example:
        >>> from mrconv.kernels import DenseKernel
        >>> DenseKernel(3, kernel_size=4, resolution=1).taps().shape
        torch.Size([3, 8])
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
        self.weight = nn.Parameter(torch.empty(channels, self.span, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws weight from N(0, 1 / span): white input keeps its variance."""
        nn.init.normal_(self.weight, std=self.span**-0.5)

    def taps(self, rate: int = 1) -> Tensor:
        """The weights themselves.                                     (D, span)."""
        self.check_rate(rate)
        return widened(self.weight)
