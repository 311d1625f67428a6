"""ShortConv: a causal depthwise convolution of a few taps, the local part of a Hyena layer."""

import torch
from torch import Tensor, nn

from .._checks import check_count, full_precision, widened
from ..convolution import Method, long_convolution

__all__ = ["ShortConv"]


class ShortConv(nn.Module):
    """y[b, d, t] = bias[d] + sum_{j < K} weight[d, j] x[b, d, t - j], trained like a projection.

    Its weight is no kernel to ``param_groups`` and no long convolution to ``merge``, ``distill``
    and ``verify``; ``LongConv`` is that.

    Args:
        channels: D.
        num_taps: K.
        device: Where the parameters live.
        dtype: Of the parameters.

    Raises:
        ArgumentError: If a size is below 1.

    Example:
        >>> import torch, mrconv
        >>> mrconv.nn.ShortConv(4, 3)(torch.randn(2, 4, 50)).shape
        torch.Size([2, 4, 50])
    """

    def __init__(
        self,
        channels: int,
        num_taps: int = 3,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_count("ShortConv", "channels", channels)
        check_count("ShortConv", "num_taps", num_taps)
        self.channels, self.num_taps = channels, num_taps
        self.weight = nn.Parameter(torch.empty(channels, num_taps, device=device, dtype=dtype))
        self.bias = nn.Parameter(torch.empty(channels, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws weight and bias from U(-1, 1) / sqrt(K), as ``nn.Conv1d`` does."""
        bound = self.num_taps**-0.5
        nn.init.uniform_(self.weight, -bound, bound)
        nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, x: Tensor, *, method: Method = "auto") -> Tensor:
        """Convolves each channel with its taps.

        Args:
            x: Input, in at least the precision of the parameters.   (B, D, L)
            method: "auto", "fft" or "direct", as in ``long_convolution``.

        Returns:
            Output in at least float32.                              (B, D, L)
        """
        with full_precision(x):
            y = long_convolution(widened(x), widened(self.weight), method=method)
            return y + widened(self.bias)[:, None]

    def extra_repr(self) -> str:
        """Sizes for ``repr``."""
        return f"{self.channels}, num_taps={self.num_taps}"
