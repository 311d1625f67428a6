"""Fine-tuning after distillation: a model trains on, held to the outputs of its original."""

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..data import Splits
from ..errors import ArgumentError, ShapeError
from ..models.base import SequenceModel
from ..nn.recurrence import ModalRecurrence
from ..nn.reparameterize import in_training
from .batches import Batch
from .objective import Score, scored, valid_outputs
from .recipe import Recipe, read_recipe

__all__ = ["Matching", "MatchingRecipe", "output_distance", "read_matching_recipe"]

#: Factor of the recipe's learning rates: what is there already must be moved, not made.
RATE = 1 / 6


@dataclass(frozen=True)
class MatchingRecipe(Recipe):
    """A recipe whose model is given, and trains on matched to its original.

    The loss is task + weight distance: the recipe's own loss, and ``output_distance`` of the
    outputs from the original's on the same batch. The model stays in eval mode, so that nothing
    but its parameters stands between the two: no dropout, norms by their running statistics. All
    parameters train but the poles of recurrences, which stay where the fit put them, inside the
    circle: two poles that nearly coincide have residues so large that no step of their angles is
    small.

    Args:
        small: Where the training starts, usually of ``mrconv.distill``; copied.
        original: What it is matched to; in eval mode.
        weight: Of the distance.

    Raises:
        ArgumentError: If a model is in training mode, or the weight is negative.

    Example:
        >>> import mrconv
        >>> from mrconv.train import MatchingRecipe, read_matching_recipe
        >>> sizes = ["model.backbone.channels=2", "model.backbone.depth=1"]
        >>> recipe = read_matching_recipe("mnist", sizes)
        >>> original = recipe.make_model().eval()
        >>> small, report = mrconv.distill(mrconv.merge(original), order=2)
        >>> matched = MatchingRecipe(**vars(recipe), small=small, original=original)
        >>> result = mrconv.train.train(matched, "runs/small")  # doctest: +SKIP
    """

    small: SequenceModel = field(kw_only=True)
    original: SequenceModel = field(kw_only=True)
    weight: float = field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        for name, model in (("small", self.small), ("original", self.original)):
            if in_training(model):
                raise ArgumentError(
                    f"MatchingRecipe: {name} must be in eval mode; got training=True. "
                    "Call .eval() first."
                )
        if not self.weight >= 0:
            raise ArgumentError(
                f"MatchingRecipe: weight must be at least 0; got {self.weight}. "
                "Use 0 for the task alone."
            )

    def load_data(self) -> Splits:
        """Reads the data set, which must be prepared as the original expects."""
        splits = super().load_data()
        if self.original.contract is not None:
            self.original.contract.refuse_other("finetune", splits.contract)
        return splits

    def make_model(self) -> SequenceModel:
        """A copy of the model to start from, in eval mode, its poles without gradient."""
        model = copy.deepcopy(self.small).requires_grad_(True)
        for module in model.modules():
            if isinstance(module, ModalRecurrence):
                module.log_decay.requires_grad_(False)
                module.angle.requires_grad_(False)
        return model

    def make_objective(self, loss: nn.Module) -> nn.Module:
        """The loss with the distance from the original."""
        return Matching(loss, copy.deepcopy(self.original), self.weight)

    def origin(self) -> dict[str, Any]:
        """What is kept of the training in the model that it makes."""
        return {**super().origin(), "step": "finetune", "matching_weight": self.weight}

    def identity(self) -> str:
        """As of the recipe, and how it is matched."""
        return json.dumps({**self.values, "matching_weight": self.weight}, sort_keys=True)


class Matching(nn.Module):
    """What a fine-tuning step lowers: task + weight distance.

    Args:
        loss: (outputs, targets) to the mean loss of the task.
        original: Whose outputs are matched; stays in eval mode and gets no gradient.
        weight: Of ``output_distance``.
    """

    def __init__(self, loss: nn.Module, original: nn.Module, weight: float) -> None:
        super().__init__()
        self.loss, self.original = loss, original.eval().requires_grad_(False)
        self.weight = weight

    def train(self, mode: bool = True) -> "Matching":
        """Sets the mode of all but the original."""
        super().train(mode)
        self.original.eval()
        return self

    def forward(self, model: nn.Module, batch: Batch) -> Score:
        """Scores a model on a batch; the metric is that of the task.

        Args:
            model: (x, lengths) to outputs of the original's shape.
            batch: x, y and lengths.

        Raises:
            ShapeError: If the outputs of model, original and targets do not belong together.
        """
        outputs, y = valid_outputs(model, batch)
        with torch.no_grad():
            wanted, _ = valid_outputs(self.original, batch)
        if outputs.shape != wanted.shape:
            raise ShapeError(
                f"finetune: outputs must have the shape of the original's, {tuple(wanted.shape)}; "
                f"got {tuple(outputs.shape)}. Distill the original itself."
            )
        distance = output_distance(outputs, wanted, classes=not y.is_floating_point())
        return scored(model, self.loss(outputs, y) + self.weight * distance, outputs, y)


def output_distance(outputs: Tensor, wanted: Tensor, *, classes: bool) -> Tensor:
    """How far outputs are from those of an original.

    Of class scores the mean over rows of KL(p | q) = sum_c p_c (log p_c - log q_c), p and q the
    softmax of ``wanted`` and ``outputs``; of values |outputs - wanted|^2 / |wanted - mean|^2.

    Args:
        outputs: Class scores (N, classes), or values of any shape.
        wanted: Of the same shape.
        classes: Which of the two they are.

    Returns:
        A scalar, 0 where they agree.

    Example:
        >>> import torch
        >>> from mrconv.train.matching import output_distance
        >>> values = torch.tensor([1.0, 3.0])
        >>> output_distance(values + 1, values, classes=False)
        tensor(1.)
    """
    if classes:
        p, q = wanted.log_softmax(-1), outputs.log_softmax(-1)
        return nn.functional.kl_div(q, p, reduction="batchmean", log_target=True)
    power = (wanted - wanted.mean()).square().sum()
    return (outputs - wanted).square().sum() / power.clamp_min(torch.finfo(power.dtype).tiny)


def read_matching_recipe(
    source: str | Path,
    overrides: Sequence[str] = (),
    *,
    epochs: int = 1,
    scale: str | None = None,
    allow: Sequence[str] = (),
) -> Recipe:
    """Reads a recipe for fine-tuning: few epochs, a sixth of its learning rates.

    Args:
        source: As in ``read_recipe``.
        overrides: Changes ``key=value``; they come last, so that a rate given is taken as it is.
        epochs: Passes over the training examples.
        scale: As in ``read_recipe``.
        allow: As in ``read_recipe``.

    Returns:
        The checked recipe; its model is not used.

    Raises:
        FileError: If there is no such recipe.
        RecipeError: With every mistake in one report.

    Example:
        >>> recipe = read_matching_recipe("mnist")
        >>> recipe.epochs, recipe.optimizer.arguments["lr"]
        (1, 0.001)
    """
    rates = read_recipe(source, overrides, scale=scale, allow=allow).values["optimizer"]
    slower = [
        f"optimizer.{name}={rates[name] * RATE:.6g}"
        for name in ("lr", "kernel_lr")
        if rates.get(name) is not None
    ]
    changes = [f"epochs={epochs}", *slower, *overrides]
    return read_recipe(source, changes, scale=scale, allow=allow)
