"""Sparse kernels: kernel_size taps at random lags that stay fixed."""

import torch
from torch import Tensor, nn

from .._checks import widened
from .base import Branch, Kernel

__all__ = ["SparseKernel"]


class SparseKernel(Kernel):
    """Taps at random lags, k[d, lag[q]] = weight[d, q] for q = 0..l_0-1, zero elsewhere.

    The l_0 lags are drawn once, uniformly without replacement from 0..span-1, shared by all
    channels, and saved with the weights as the buffer ``lags``.

    Args:
        channels: D.
        kernel_size: l_0, the number of taps.
        resolution: i; the lags lie in 0..l_0 2^i - 1. At i = 0 the kernel is dense.
        device: Where the parameters live.
        dtype: Of the parameters.

    Source: the paper's section 3.2; number of taps and sharing over channels are inferred from
    its parameter counts. Initial values N(0, 1 / l_0) are ours.

    Example:
        >>> from mrconv.kernels import SparseKernel
        >>> int((SparseKernel(1, kernel_size=4, resolution=3).taps() != 0).sum())
        4
    """

    lags: Tensor

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
        self.register_buffer("lags", torch.zeros(kernel_size, dtype=torch.int64, device=device))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws weight from N(0, 1 / l_0) and the lags anew."""
        nn.init.normal_(self.weight, std=self.kernel_size**-0.5)
        drawn = torch.randperm(self.span, device=self.lags.device)[: self.kernel_size]
        self.lags.copy_(drawn.sort().values)

    def taps(self, rate: int = 1) -> Tensor:
        """The weights at their lags.                                  (D, span)."""
        self.check_rate(rate)
        return self.branch().taps

    def branch(self) -> Branch:
        """The weights and their lags."""
        return Branch(widened(self.weight), lags=self.lags, samples=self.span)

    def positions(self) -> Tensor:
        """The lags, ascending.                                            (l_0,)."""
        return self.lags
