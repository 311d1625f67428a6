"""Cells of the experiment on filters that distil the trained language models."""

from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

from ..distillation import distill
from ..models import load
from ..train import evaluate
from .filter_contestants import Fitted
from .grid import Cell, Numbers
from .training_cell import model_folder

__all__ = ["FIR_HEAD", "ORDER", "distilling_cells"]

#: Real states of a channel, and explicit taps before them: the paper's order, the library's head.
ORDER, FIR_HEAD = 16, 32


def distilling_cells(trained: Iterable[tuple[Fitted, Cell]], folder: Path) -> list[Cell]:
    """Distillation of the ablation's language models to one order.

    Args:
        trained: Contestants with the cells that train them.
        folder: Of the grid, which keeps the models.

    Returns:
        A cell for each contestant of the ablation; it runs after its training.
    """
    return [_cell(one, cell, folder) for one, cell in trained if one.contestant.outer is not None]


def _cell(one: Fitted, training: Cell, folder: Path) -> Cell:
    settings: dict[str, Any] = {"order": ORDER, "fir_head": FIR_HEAD}

    def run() -> Numbers:
        model = load(model_folder(folder, training) / "model")
        small, report = distill(model, **settings)
        filters = [each for layer in report.layers for each in layer.filters]
        test, loss = one.recipe.load_data().test, one.recipe.make_loss()
        scores = evaluate(small, test, loss, batch_size=one.recipe.batch_size)
        return {
            "filters": len(filters),
            "worst": max(each.error for each in filters),
            "median": median(each.error for each in filters),
            "bound": median(each.lower_bound for each in filters),
            "seconds": report.seconds,
            "value": scores["bits_per_byte"],
        }

    return Cell(f"distillation: {one.contestant.name}", settings, run, after=training)
