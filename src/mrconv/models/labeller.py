"""SequenceLabeller: one class a sample."""

from typing import Any

import torch
from torch import Tensor, nn

from .._checks import check_count, mask_invalid
from .backbone import SequenceBackbone
from .base import ScoringModel

__all__ = ["SequenceLabeller"]


class SequenceLabeller(ScoringModel):
    """Features of every sample to class scores, W h[t] + b.

    Args:
        backbone: (B, L, F) -> (B, L, D).
        classes: Number of classes.
        device: Where the parameters live.
        dtype: Of the parameters.

    Raises:
        ArgumentError: If ``classes`` is below 1.

    Example:
        >>> import torch, mrconv
        >>> backbone = mrconv.SequenceBackbone(1, length=64, channels=8, depth=1)
        >>> mrconv.SequenceLabeller(backbone, 2)(torch.randn(3, 64, 1)).shape
        torch.Size([3, 64, 2])
    """

    def __init__(
        self,
        backbone: SequenceBackbone,
        classes: int,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(backbone)
        check_count("SequenceLabeller", "classes", classes)
        self.classes = classes
        self.head = nn.Linear(backbone.channels, classes, device=device, dtype=dtype)

    @property
    def arguments(self) -> dict[str, Any]:
        """What the constructor was given, as plain values for JSON."""
        return {"classes": self.classes}

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Class scores of every sample.

        Args:
            x: Values (B, L, F), or tokens (B, L).
            lengths: Valid samples of each row; None: all.                (B,)

        Returns:
            Logits, exactly 0 behind each row's length.            (B, L, classes)
        """
        logits = self.head(self.backbone(x, lengths))
        return mask_invalid(logits.transpose(1, 2), lengths).transpose(1, 2)
