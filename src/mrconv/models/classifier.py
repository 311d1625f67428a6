"""SequenceClassifier: one class a sequence, or a pair of sequences."""

from typing import Any

import torch
from torch import Tensor, nn

from .._checks import check_choice, check_count, check_lengths
from ..errors import ArgumentError, ShapeError
from .backbone import SequenceBackbone
from .base import ScoringModel
from .pooling import POOLINGS, PoolingName

__all__ = ["SequenceClassifier"]


class SequenceClassifier(ScoringModel):
    """Pooled features of a sequence to class scores (logits).

    logits = W pool(h) + b.  For pairs, with e and f the pooled features of the two sequences:
    logits = W_2 GELU(W_1 (e | f | e - f | e f) + b_1) + b_2.

    Args:
        backbone: (B, L, F) -> (B, L, D).
        classes: Number of classes.
        pooling: "mean", "last" or "max", over valid positions.
        pair: Whether the model compares two sequences (retrieval).
        device: Where the parameters live.
        dtype: Of the parameters.

    Raises:
        ArgumentError: If a number is below 1 or the pooling is unknown.

    Source: S4's decoders for classification and retrieval, which the paper keeps.

    Example:
        >>> import torch, mrconv
        >>> backbone = mrconv.SequenceBackbone(1, length=64, channels=8, depth=1)
        >>> model = mrconv.SequenceClassifier(backbone, classes=3)
        >>> model(torch.randn(2, 64, 1)).shape
        torch.Size([2, 3])
    """

    def __init__(
        self,
        backbone: SequenceBackbone,
        classes: int,
        *,
        pooling: PoolingName = "mean",
        pair: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(backbone)
        check_count("SequenceClassifier", "classes", classes)
        check_choice("SequenceClassifier", "pooling", pooling, POOLINGS)
        self.classes, self.pooling, self.pair = classes, pooling, pair
        channels = backbone.channels
        options: dict[str, Any] = {"device": device, "dtype": dtype}
        self.head: nn.Module = nn.Linear(channels, classes, **options)
        if pair:
            self.head = nn.Sequential(
                nn.Linear(4 * channels, channels, **options),
                nn.GELU(),
                nn.Linear(channels, classes, **options),
            )

    @property
    def arguments(self) -> dict[str, Any]:
        """What the constructor was given, as plain values for JSON."""
        return {"classes": self.classes, "pooling": self.pooling, "pair": self.pair}

    def forward(
        self,
        x: Tensor,
        lengths: Tensor | None = None,
        *,
        pair: Tensor | None = None,
        pair_lengths: Tensor | None = None,
    ) -> Tensor:
        """Class scores.

        Args:
            x: Values (B, L, F), or tokens (B, L). Where ``pair=True`` also both sequences of each
                pair, (B, 2, L, F) or (B, 2, L), as data sets of pairs hold them.
            lengths: Valid samples of each row; None: all.   (B,), of both sequences (B, 2)
            pair: The second sequence of each pair, of any length, where x holds the first only.
            pair_lengths: Its valid samples; None: all.                   (B,)

        Returns:
            Logits.                                                   (B, classes)

        Raises:
            ArgumentError: If a pair is missing, or given to a model of single sequences.
            ShapeError: If the two differ in more than their length.
        """
        if self.pair and pair is None and x.ndim == 4 - self.backbone.tokens and x.shape[1] == 2:
            x, pair = x.unbind(1)
            lengths, pair_lengths = _of_both(lengths, len(x))
        if self.pair != (pair is not None):
            wanted = "two sequences" if self.pair else "one sequence"
            raise ArgumentError(
                f"SequenceClassifier: input must be {wanted}, because pair={self.pair}; "
                f"got pair={'None' if pair is None else tuple(pair.shape)}. "
                + ("Call model(x, pair=z)." if self.pair else "Build it with pair=True.")
            )
        pool = POOLINGS[self.pooling]
        if pair is None:
            return self.head(pool(self.backbone(x, lengths), lengths))
        both, both_lengths = _stacked(x, lengths, pair, pair_lengths)
        pooled = pool(self.backbone(both, both_lengths), both_lengths)
        e, f = pooled.chunk(2)
        return self.head(torch.cat([e, f, e - f, e * f], -1))


def _of_both(lengths: Tensor | None, batch: int) -> tuple[Tensor | None, Tensor | None]:
    """Lengths (B, 2) of the first and of the second sequence of every pair."""
    if lengths is None:
        return None, None
    if tuple(lengths.shape) != (batch, 2):
        raise ShapeError(
            f"SequenceClassifier: lengths must be ({batch}, 2), two for each pair; "
            f"got {tuple(lengths.shape)}. Pass the valid samples of both sequences."
        )
    first, second = lengths.unbind(1)
    return first, second


def _stacked(
    x: Tensor, lengths: Tensor | None, pair: Tensor, pair_lengths: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """Both sequences of every pair as rows of one batch, zeros behind the shorter side."""
    if min(x.ndim, pair.ndim) < 2 or x.shape[:1] + x.shape[2:] != pair.shape[:1] + pair.shape[2:]:
        raise ShapeError(
            "SequenceClassifier: the sequences of a pair must have equal shapes but for their "
            f"length; got {tuple(x.shape)} and {tuple(pair.shape)}. "
            "Pass one second sequence for every first one."
        )
    longest = max(x.shape[1], pair.shape[1])
    rows, ends = [], []
    for side, own in ((x, lengths), (pair, pair_lengths)):
        if own is not None:
            check_lengths("SequenceClassifier", own, len(side), side.shape[1])
        missing = [0, 0] * (side.ndim - 2) + [0, longest - side.shape[1]]
        rows.append(nn.functional.pad(side, missing))
        full = torch.full((len(side),), side.shape[1], device=side.device)
        ends.append(full if own is None else own.to(side.device))
    if lengths is None and pair_lengths is None and x.shape[1] == pair.shape[1]:
        return torch.cat(rows), None
    return torch.cat(rows), torch.cat(ends)
