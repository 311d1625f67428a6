"""The cell of a grid that trains a recipe, and goes on with a training that was stopped."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from ..train import Recipe, TrainingResult, train
from ..train.run_folder import RunFolder
from .generated import Drawn
from .grid import Cell, Numbers

__all__ = ["model_folder", "tested_metric", "training_cell"]


def training_cell(
    name: str,
    recipe: Recipe,
    folder: Path,
    measure: Callable[[TrainingResult], Numbers],
    *,
    drawn: Drawn | None = None,
    further: Mapping[str, Any] = MappingProxyType({}),
) -> Cell:
    """A training, and what is measured on its model.

    Args:
        name: Unique in its grid.
        recipe: What is trained.
        folder: Of the grid; the training stands in it.
        measure: Gives the cell's numbers.
        drawn: Data that are generated before they are read; their settings stand in the cell's, and
            not the folder that they are in.
        further: What the numbers depend on besides the recipe.

    Returns:
        The cell.
    """

    def run() -> Numbers:
        if drawn is not None:
            drawn.prepare(folder)
        return measure(_trained(recipe, RunFolder(model_folder(folder, cell))))

    settings = {**recipe.values, **further}
    if drawn is not None:
        data = {key: one for key, one in settings["data"].items() if key != "path"}
        settings["data"] = {**data, "generated": asdict(cast(Any, drawn))}
    cell = Cell(name, settings, run)
    return cell


def model_folder(folder: Path, cell: Cell) -> Path:
    """Where the training of a cell stands."""
    return folder / "models" / cell.slug


def tested_metric(metrics: Mapping[str, Any]) -> str:
    """Name of the quality that a training has measured, such as "accuracy".

    Args:
        metrics: Of a finished training.

    Example:
        >>> tested_metric({"test_accuracy": 0.9, "test_loss": 0.3})
        'accuracy'
    """
    return next(one for one in metrics if one.startswith("test_")).removeprefix("test_")


def _trained(recipe: Recipe, folder: RunFolder) -> TrainingResult:
    """Trains, or goes on with a training of the same recipe that was stopped."""
    begun = folder.checkpoint.exists() and folder.recipe.exists()
    resume = begun and folder.recipe.read_text(encoding="utf-8") == recipe.text()
    return train(recipe, folder.path, resume=resume, overwrite=not resume)
