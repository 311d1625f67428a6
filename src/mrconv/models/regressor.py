"""SequenceRegressor: one vector of values a sequence."""

from typing import Any

import torch
from torch import Tensor, nn

from .._checks import check_choice, check_count
from .backbone import SequenceBackbone
from .base import SequenceModel
from .pooling import POOLINGS, PoolingName

__all__ = ["SequenceRegressor"]


class SequenceRegressor(SequenceModel):
    """Pooled features of a sequence to values, W pool(h) + b.

    Args:
        backbone: (B, L, F) -> (B, L, D).
        targets: T, values a sequence.
        pooling: "mean", "last" or "max", over valid positions.
        device: Where the parameters live.
        dtype: Of the parameters.

    Raises:
        ArgumentError: If a number is below 1 or the pooling is unknown.

    Example:
        >>> import torch, mrconv
        >>> backbone = mrconv.SequenceBackbone(1, length=64, channels=8, depth=1)
        >>> mrconv.SequenceRegressor(backbone, 2)(torch.randn(3, 64, 1)).shape
        torch.Size([3, 2])
    """

    def __init__(
        self,
        backbone: SequenceBackbone,
        targets: int = 1,
        *,
        pooling: PoolingName = "mean",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(backbone)
        check_count("SequenceRegressor", "targets", targets)
        check_choice("SequenceRegressor", "pooling", pooling, POOLINGS)
        self.targets, self.pooling = targets, pooling
        self.head = nn.Linear(backbone.channels, targets, device=device, dtype=dtype)

    @property
    def arguments(self) -> dict[str, Any]:
        """What the constructor was given, as plain values for JSON."""
        return {"targets": self.targets, "pooling": self.pooling}

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Values of each sequence.

        Args:
            x: Values (B, L, F), or tokens (B, L).
            lengths: Valid samples of each row; None: all.                (B,)

        Returns:
            Values.                                                     (B, T)
        """
        return self.head(POOLINGS[self.pooling](self.backbone(x, lengths), lengths))
