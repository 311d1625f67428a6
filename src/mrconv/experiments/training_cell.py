"""The cell of a grid that trains a recipe, and goes on with a training that was stopped."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..train import Recipe, TrainingResult, train
from ..train.run_folder import RunFolder
from .grid import Cell, Numbers

__all__ = ["model_folder", "tested_metric", "training_cell"]


def training_cell(
    name: str,
    recipe: Recipe,
    folder: Path,
    measure: Callable[[TrainingResult], Numbers],
    *,
    prepare: Callable[[], object] = lambda: None,
    settings: Mapping[str, Any] | None = None,
) -> Cell:
    """A training, and what is measured on its model.

    Args:
        name: Unique in its grid.
        recipe: What is trained.
        folder: Of the grid; the training stands in it.
        measure: Gives the cell's numbers.
        prepare: Called before the data are read, such as to generate them.
        settings: What the numbers depend on; None: the recipe's values.

    Returns:
        The cell.
    """

    def run() -> Numbers:
        prepare()
        return measure(_trained(recipe, RunFolder(model_folder(folder, cell))))

    cell = Cell(name, recipe.values if settings is None else settings, run)
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
