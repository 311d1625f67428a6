"""Recipes: one YAML file that names the data, the model, the loss and the optimizer of a training.

A recipe is data. It is read by name (those of mrconv) or by path, changed by ``key=value``
overrides, checked as a whole, and only then are its classes constructed.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from .._checks import nearest, needs_extra
from ..data import Splits
from ..errors import FileError, MrconvError, RecipeError
from ..models.base import SequenceModel
from .batches import Batching
from .objective import TaskObjective
from .optim import param_groups
from .recipe_check import Precision, Schedule, check_recipe
from .recipe_override import overridden
from .recipe_scale import scale_names, scaled
from .recipe_types import Call

__all__ = ["Recipe", "read_recipe", "recipe_names", "recipe_scales"]


@dataclass(frozen=True)
class Recipe:
    """A checked recipe; ``read_recipe`` makes it.

    Args:
        name: Of the recipe, or of its file without the ending.
        values: The settings as plain data, overrides and defaults filled in.
        epochs: Passes over the training examples.
        batch_size: Sequences a step, on each process.
        data: Class and arguments of the data set.
        model: Class and arguments of the model.
        loss: Class and arguments of the loss.
        optimizer: Class and arguments of the optimizer, with ``lr``, ``kernel_lr`` and
            ``weight_decay`` for the parameter groups.
        seed: Of the initialisation and of every epoch.
        schedule: Of the learning rates over the whole training.
        warmup: Share of the steps that schedule "cosine" warms up.
        precision: As Lightning names it.
        devices: Number of devices on each machine, or "auto" for all.
        num_nodes: Number of machines.
        gradient_clip: Largest norm of the gradient; None: not clipped.
        batches: How rows are put together; see ``BATCHES``.
        workers: Threads that fetch batches ahead.
        scale: Name of the scale that the values are of; None: as the recipe stands.
    """

    name: str
    values: dict[str, Any]
    epochs: int
    batch_size: int
    data: Call
    model: Call
    loss: Call
    optimizer: Call
    seed: int
    schedule: Schedule
    warmup: float
    precision: Precision
    devices: int | str
    num_nodes: int
    gradient_clip: float | None
    batches: Batching
    workers: int
    scale: str | None = None

    def load_data(self) -> Splits:
        """Reads the data set."""
        return _construct("data", self.data).load()

    def make_model(self) -> SequenceModel:
        """A fresh model, its parameters drawn from the seed."""
        with torch.random.fork_rng():
            torch.manual_seed(self.seed)
            return _construct("model", self.model)

    def make_loss(self) -> nn.Module:
        """The loss."""
        return _construct("loss", self.loss)

    def make_objective(self, loss: nn.Module) -> nn.Module:
        """What a training step lowers, (model, batch) to a ``Score``.

        Args:
            loss: Of ``make_loss``.
        """
        return TaskObjective(loss)

    def make_optimizer(self, model: nn.Module) -> Optimizer:
        """The optimizer over the model's parameter groups.

        Args:
            model: Whose parameters are trained.
        """
        options = dict(self.optimizer.arguments)
        lr, weight_decay = options.pop("lr"), options.pop("weight_decay", 0.0)
        kernel_lr = options.pop("kernel_lr", lr)
        groups = param_groups(model, lr=lr, kernel_lr=kernel_lr, weight_decay=weight_decay)
        return _construct("optimizer", Call(self.optimizer.target, {"params": groups, **options}))

    def origin(self) -> dict[str, Any]:
        """What is kept of the training in the model that it makes, as plain values."""
        scale = {} if self.scale is None else {"scale": self.scale}
        run = {"epochs": self.epochs, "seed": self.seed}
        return {"step": "train", "recipe": self.name, **scale, **run}

    def text(self) -> str:
        """The recipe as YAML that gives the same recipe."""
        with needs_extra("recipe", "train"):
            from .yaml_reader import dump
        return dump(self.values)

    def identity(self) -> str:
        """The settings as one line of JSON; two recipes that train the same have the same."""
        return json.dumps(self.values, sort_keys=True)


def recipe_names() -> list[str]:
    """Names of the recipes that come with mrconv.

    Example:
        >>> "mnist" in recipe_names()
        True
    """
    files = resources.files("mrconv.recipes").iterdir()
    return sorted(file.name.removesuffix(".yaml") for file in files if file.name.endswith(".yaml"))


def recipe_scales(source: str | Path) -> list[str]:
    """Names of the scales that a recipe has besides its own.

    Args:
        source: As in ``read_recipe``.

    Raises:
        FileError: If there is no such recipe.
        RecipeError: If it is no plain YAML.
        MissingExtraError: If the package that reads YAML is not installed.

    Example:
        >>> recipe_scales("recall")
        []
    """
    return scale_names(_parsed(source)[1])


def read_recipe(
    source: str | Path,
    overrides: Sequence[str] = (),
    *,
    scale: str | None = None,
    allow: Sequence[str] = (),
) -> Recipe:
    """Reads, changes and checks a recipe; constructs nothing.

    Args:
        source: Name of a recipe of mrconv, or path of a YAML file.
        overrides: Changes ``key=value``; the key is dotted, the value is YAML.
        scale: One of the sets of changes that the recipe names under ``scales``; they come before
            the overrides. None: none of them.
        allow: Modules whose classes may be named besides those of mrconv, torch.nn, torch.optim.

    Returns:
        The checked recipe.

    Raises:
        FileError: If there is no such recipe.
        RecipeError: With every mistake in one report.
        MissingExtraError: If the package that reads YAML is not installed.

    Example:
        >>> read_recipe("mnist", ["epochs=2", "model.backbone.depth=3"]).epochs
        2
    """
    name, parsed = _parsed(source)
    owner = f"recipe {name}"
    values = overridden(owner, scaled(owner, parsed, scale), overrides)
    settings = check_recipe(owner, values, allow)
    defaults = {
        key: value for key, value in settings.items() if key not in values and value is not None
    }
    return Recipe(name, {**values, **defaults}, **settings, scale=scale)


def _parsed(source: str | Path) -> tuple[str, Any]:
    """Name and plain values of a recipe."""
    with needs_extra("recipe", "train"):
        from .yaml_reader import parse
    name, text = _found(source)
    return name, parse(text, f"recipe {name}")


def _found(source: str | Path) -> tuple[str, str]:
    """Name and text of a recipe."""
    names = recipe_names()
    if str(source) in names:
        file = resources.files("mrconv.recipes") / f"{source}.yaml"
        return str(source), file.read_text(encoding="utf-8")
    path = Path(source)
    try:
        return path.stem, path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FileError(
            "recipe: must be a file or the name of a recipe of mrconv; "
            f"got {str(source)!r}. {nearest(str(source), names)}"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "bytes that are no text"
        raise FileError(
            f"recipe: {path} must be a text file; got {reason}. Pass the path of a YAML file."
        ) from None


def _construct(path: str, call: Call) -> Any:
    try:
        return call.construct()
    except MrconvError:
        raise
    except Exception as error:  # whatever a constructor raises on values it cannot use
        raise RecipeError(
            f"{path}: {call.target.__name__} must take its arguments; got {error}. "
            "Change the values."
        ) from error
