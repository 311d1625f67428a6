"""ResolutionGates: a factor for every resolution and sample, from a linear map of the sample."""

import torch
from torch import Tensor, nn

from .._checks import widened
from .heads import check_divides

__all__ = ["ResolutionGates", "gated"]


class ResolutionGates(nn.Module):
    """Factors between 0 and 2 that depend on the input at the same sample, and on no other.

    g[i, h, t] = 2 sigmoid( sum_d W[i H + h, d] u[d, t] + b[i H + h] ),  i < R, h < H

    W and b start at 0, so that every gate starts at 1. R H (D + 1) parameters.

    Args:
        channels: D.
        resolutions: R.
        num_heads: H, groups of D / H neighbouring channels that share a gate; must divide D.
        device: Where the parameters live.
        dtype: Of the parameters.

    Raises:
        ArgumentError: If the heads do not divide the channels.

    Cost: 2 R H D operations a sample.

    Example:
        >>> import torch
        >>> from mrconv.nn.resolution_gates import ResolutionGates
        >>> ResolutionGates(4, 3, num_heads=2)(torch.randn(5, 4, 6)).shape
        torch.Size([3, 5, 2, 6])
    """

    def __init__(
        self,
        channels: int,
        resolutions: int,
        *,
        num_heads: int = 1,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_divides("GatedMRConv", "num_heads", num_heads, channels)
        self.channels, self.resolutions, self.num_heads = channels, resolutions, num_heads
        rows = resolutions * num_heads
        self.weight = nn.Parameter(torch.empty(rows, channels, device=device, dtype=dtype))
        self.bias = nn.Parameter(torch.empty(rows, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets every gate to 1."""
        nn.init.zeros_(self.weight)
        nn.init.zeros_(self.bias)

    def forward(self, u: Tensor) -> Tensor:
        """The gates of every sample.

        Args:
            u: Input in at least float32.                            (B, D, L)

        Returns:
            Gates in the input's dtype.                           (R, B, H, L)
        """
        mapped = widened(self.weight) @ u + widened(self.bias)[:, None]  # (B, R H, L)
        gates = 2 * mapped.sigmoid()
        return gates.unflatten(1, (self.resolutions, self.num_heads)).transpose(0, 1)

    def extra_repr(self) -> str:
        """Sizes for ``repr``."""
        return f"{self.channels}, resolutions={self.resolutions}, num_heads={self.num_heads}"


def gated(branch: Tensor, gate: Tensor) -> Tensor:
    """A branch (B, D, L) times the gates (B, H, L) of its groups of channels."""
    heads = branch.unflatten(1, (gate.shape[1], -1)) * gate[:, :, None]
    return heads.flatten(1, 2)
