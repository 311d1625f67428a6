"""What a batch is scored by: the loss, and accuracy for classes or error for values."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from .._checks import length_mask
from ..errors import ShapeError
from .batches import Batch

__all__ = ["Score", "TaskObjective", "metric_name", "score", "scored", "summarise", "valid_outputs"]

#: "accuracy": share of right classes. "error": mean absolute difference from the targets.
MetricName = Literal["accuracy", "error"]


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


def metric_name(y: Tensor) -> MetricName:
    """What targets of this dtype are measured by.

    Args:
        y: Targets; whole numbers are classes.
    """
    return "error" if y.is_floating_point() else "accuracy"


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
    return scored(loss(outputs, y), outputs, y)


def valid_outputs(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    """What a model gives for a batch, and the targets that belong to it.

    Classes are scored a sequence (B,) or a sample (B, L); of the latter only the valid ones.
    Values are scored as they are, and must have the shape of the outputs.

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
        rows = x.shape[0], x.shape[1]
        mask = torch.ones(rows, dtype=torch.bool, device=y.device)
        if lengths is not None:
            mask = length_mask(lengths, rows[1])
        outputs, y = outputs[mask], y[mask]  # (valid samples, classes), (valid samples,)
    return outputs, y


def scored(value: Tensor, outputs: Tensor, y: Tensor) -> Score:
    """The score of a batch whose mean loss is known.

    Args:
        value: Mean loss, with its graph.
        outputs: Of ``valid_outputs``.
        y: Of ``valid_outputs``.
    """
    count = len(y)
    with torch.no_grad():
        if y.is_floating_point():
            metric = (outputs - y).abs().mean().double() * count
        else:
            metric = (outputs.argmax(-1) == y).sum().double()
        sums = torch.stack([value.detach().double() * count, metric, metric.new_tensor(count)])
    return Score(value, sums)


def summarise(sums: Tensor) -> tuple[float, float]:
    """Mean loss and mean metric from the summed ``Score.sums`` of many batches.

    Args:
        sums: Loss, metric, count.                                       (3,)
    """
    loss, metric, count = sums.tolist()
    return (loss / count, metric / count) if count else (float("nan"), float("nan"))
