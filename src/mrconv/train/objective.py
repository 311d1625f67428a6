"""What a batch is scored by: the loss, and accuracy, bits or error."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from .._checks import length_mask, widened
from ..data import IGNORED
from ..errors import ShapeError
from ..models.language import LanguageModel
from .batches import Batch

__all__ = [
    "MetricName",
    "Score",
    "TaskObjective",
    "metric_name",
    "score",
    "scored",
    "summarise",
    "valid_outputs",
]

#: "accuracy": share of right classes. "bits_per_byte" and "bits_per_token": mean of -log2 of the
#: probability of what comes next. "error": mean absolute difference from the targets.
MetricName = Literal["accuracy", "bits_per_byte", "bits_per_token", "error"]
BYTES = 256


@dataclass(frozen=True)
class Score:
    """One batch: its loss, and sums over what was scored."""

    loss: Tensor
    """Mean loss, with its graph."""
    sums: Tensor
    """Loss, metric, count; each summed, float64, without graph.             (3,)"""


class TaskObjective(nn.Module):
    """What a training step lowers: the loss of the outputs against the targets.

    Args:
        loss: (outputs, targets) to the mean loss.
    """

    def __init__(self, loss: nn.Module) -> None:
        super().__init__()
        self.loss = loss

    def forward(self, model: nn.Module, batch: Batch) -> Score:
        """Scores a model on a batch; see ``score``."""
        return score(model, self.loss, batch)


def metric_name(model: nn.Module, y: Tensor) -> MetricName:
    """What a model's answers to targets of this dtype are measured by.

    Args:
        model: A language model is measured in bits.
        y: Targets; whole numbers are classes.
    """
    if isinstance(model, LanguageModel):
        return "bits_per_byte" if model.vocabulary == BYTES else "bits_per_token"
    return "error" if y.is_floating_point() else "accuracy"


def _right(outputs: Tensor, y: Tensor) -> Tensor:
    return (outputs.argmax(-1) == y).sum().double()


def _bits(outputs: Tensor, y: Tensor) -> Tensor:
    return functional.cross_entropy(widened(outputs), y, reduction="sum").double() / math.log(2)


def _distance(outputs: Tensor, y: Tensor) -> Tensor:
    return (outputs - y).abs().mean().double() * len(y)


#: Sums over what was scored.
METRICS: dict[MetricName, Callable[[Tensor, Tensor], Tensor]] = {
    "accuracy": _right,
    "bits_per_byte": _bits,
    "bits_per_token": _bits,
    "error": _distance,
}


def score(model: nn.Module, loss: nn.Module, batch: Batch) -> Score:
    """Runs a model on a batch and scores what it gives.

    Args:
        model: (x, lengths) to class scores or values.
        loss: (outputs, targets) to the mean loss.
        batch: x, y and lengths.

    Raises:
        ShapeError: If outputs and targets do not belong together.
    """
    outputs, y = valid_outputs(model, batch)
    return scored(model, loss(outputs, y), outputs, y)


def valid_outputs(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    """What a model gives for a batch, and the targets that belong to it.

    Classes are scored a sequence (B,) or a sample (B, L), of the latter only the valid ones whose
    target is not ``IGNORED``. Values are scored as they are, and must have the outputs' shape.

    Args:
        model: (x, lengths) to class scores or values.
        batch: x, y and lengths.

    Returns:
        Class scores (N, classes) and classes (N,), N rows or valid samples; or values twice.

    Raises:
        ShapeError: If outputs and targets do not belong together.
    """
    x, y, lengths = batch
    outputs = model(x, lengths)
    classes = not y.is_floating_point()
    if outputs.shape[: y.ndim] != y.shape or outputs.ndim != y.ndim + classes:
        wanted = "(batch, ..., classes)" if classes else tuple(y.shape)
        raise ShapeError(
            f"loss: outputs must be {wanted} for targets {tuple(y.shape)} of {y.dtype}; "
            f"got {tuple(outputs.shape)}. Use a model whose head fits the data."
        )
    if classes and y.ndim == 2:
        outputs, y = _asked(outputs, y, lengths)
    return outputs, y


def scored(model: nn.Module, value: Tensor, outputs: Tensor, y: Tensor) -> Score:
    """The score of a batch whose mean loss is known.

    Args:
        model: Tells the metric.
        value: Mean loss, with its graph.
        outputs: Of ``valid_outputs``.
        y: Of ``valid_outputs``.
    """
    count = len(y)
    with torch.no_grad():
        metric = METRICS[metric_name(model, y)](outputs, y)
        sums = torch.stack([value.detach().double() * count, metric, metric.new_tensor(count)])
    return Score(value, sums)


def _asked(outputs: Tensor, y: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor]:
    """Scores (n, classes) and targets (n,) of the samples that are asked for."""
    mask = y != IGNORED
    if lengths is not None:
        mask &= length_mask(lengths, y.shape[1])
    if mask.all():  # nothing to pick: no copy
        return outputs.flatten(0, 1), y.flatten()
    return outputs[mask], y[mask]


def summarise(sums: Tensor) -> tuple[float, float]:
    """Mean loss and mean metric from the summed ``Score.sums`` of many batches.

    Args:
        sums: Loss, metric, count.                                       (3,)
    """
    loss, metric, count = sums.tolist()
    return (loss / count, metric / count) if count else (float("nan"), float("nan"))
