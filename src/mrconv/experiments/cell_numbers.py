"""What the cell of a table measures on a trained model: accuracy, size, operations, speed."""

import copy
from collections.abc import Callable
from dataclasses import asdict

import torch
from torch import Tensor

from ..bench.timing import Pace, spread, take_turns
from ..errors import MergeError
from ..merging import merge
from ..models import SequenceModel
from ..models.summary import summarize
from ..train import Recipe, TrainingResult
from ..train.batches import Batches
from .grid import Numbers
from .training_cell import tested_metric

__all__ = ["STEADY", "TRYING", "measured"]

#: Rounds of the speeds, and those that only try it out.
STEADY, TRYING = Pace(6.0, 5, 40), Pace(0.0, 1, 1)


def measured(result: TrainingResult, recipe: Recipe, pace: Pace) -> Numbers:
    """Numbers of one training, as plain values for JSON.

    Args:
        result: Of the training.
        recipe: By which it was trained.
        pace: How long the speeds are measured.

    Returns:
        Quality on the test and validation examples, the history by epoch, sizes, operations of
        one sequence of the model's length in inference (None where they cannot be counted), and
        sequences a second of training steps and of merged inference.
    """
    metric, model = tested_metric(result.metrics), result.model
    summary, backbone = summarize(model), recipe.values["model"]["backbone"]
    known = len(summary.layers) == backbone["depth"]
    return {
        "value": result.metrics[f"test_{metric}"],
        "validation": result.metrics[f"validation_{metric}"],
        "history": [asdict(row) for row in result.history],
        "parameters": summary.parameters,
        "operations": summary.operations if known else None,
        "sizes": {
            "layers": backbone["depth"],
            "channels": backbone["channels"],
            "training examples": len(result.splits.train),
            "test examples": len(result.splits.test),
            "epochs": recipe.epochs,
        },
        "seconds": result.metrics["train_seconds"],
        **_speeds(result, recipe, pace),
    }


def _speeds(result: TrainingResult, recipe: Recipe, pace: Pace) -> Numbers:
    """Sequences a second, median and quartiles: a training step, and the merged model."""
    x, y, lengths = next(iter(Batches(result.splits.train, recipe.batch_size)))
    calls = {
        "training": _step(copy.deepcopy(result.model), recipe, x, y, lengths),
        "inference": _forward(_merged(result.model), x, lengths),
    }
    turns = take_turns(calls, pace)
    return {name: list(spread([len(x) / one for one in turns.seconds[name]])) for name in calls}


def _step(
    model: SequenceModel, recipe: Recipe, x: Tensor, y: Tensor, lengths: Tensor | None
) -> Callable[[], object]:
    optimizer, loss = recipe.make_optimizer(model.train()), recipe.make_loss()

    def step() -> None:
        optimizer.zero_grad()
        loss(model(x, lengths), y).backward()
        optimizer.step()

    return step


def _forward(model: SequenceModel, x: Tensor, lengths: Tensor | None) -> Callable[[], object]:
    def forward() -> object:
        with torch.no_grad():
            return model(x, lengths)

    return forward


def _merged(model: SequenceModel) -> SequenceModel:
    """The form in which the model is used: merged, but for gates, which cannot be."""
    try:
        return merge(model.eval())
    except MergeError:
        return model.eval()
