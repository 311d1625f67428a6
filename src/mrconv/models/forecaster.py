"""Forecaster: the next values of a sequence."""

from typing import Any

import torch
from torch import Tensor, nn

from .._checks import check_count
from .backbone import SequenceBackbone
from .base import SequenceModel
from .pooling import last_pooling

__all__ = ["Forecaster"]


class Forecaster(SequenceModel):
    """The next H samples from the features at the last valid one, reshape(W h[n_b - 1] + b).

    Args:
        backbone: (B, L, F) -> (B, L, D).
        horizon: H, samples ahead.
        features: Values forecast a sample.
        device: Where the parameters live.
        dtype: Of the parameters.

    Raises:
        ArgumentError: If a number is below 1.

    Example:
        >>> import torch, mrconv
        >>> backbone = mrconv.SequenceBackbone(2, length=64, channels=8, depth=1)
        >>> mrconv.Forecaster(backbone, horizon=5, features=2)(torch.randn(3, 64, 2)).shape
        torch.Size([3, 5, 2])
    """

    def __init__(
        self,
        backbone: SequenceBackbone,
        horizon: int,
        *,
        features: int = 1,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(backbone)
        check_count("Forecaster", "horizon", horizon)
        check_count("Forecaster", "features", features)
        self.horizon, self.features = horizon, features
        self.head = nn.Linear(backbone.channels, horizon * features, device=device, dtype=dtype)

    @property
    def arguments(self) -> dict[str, Any]:
        """What the constructor was given, as plain values for JSON."""
        return {"horizon": self.horizon, "features": self.features}

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """The samples that follow each sequence.

        Args:
            x: Values (B, L, F), or tokens (B, L).
            lengths: Valid samples of each row; None: all.                (B,)

        Returns:
            Values of the next H samples.                       (B, H, features)
        """
        values = self.head(last_pooling(self.backbone(x, lengths), lengths))
        return values.reshape(-1, self.horizon, self.features)
