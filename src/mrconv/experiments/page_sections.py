"""Sections that the pages of all demos have: training, mistakes, proof, and how to repeat it."""

from pathlib import Path
from typing import Any

import numpy as np

from ..report import Page, confusion_matrix, learning_curves, write_page
from ..train import TrainingResult
from ..verification import Proof
from .forms import TrainedForms

__all__ = ["add_confusion", "add_proof", "add_training", "finished"]


def add_training(page: Page, result: TrainingResult) -> None:
    """Adds the learning curves."""
    history = [
        {
            "epoch": row.epoch,
            "train_loss": row.train_loss,
            "validation_loss": row.validation_loss,
            "validation_accuracy": row.validation_metric,
        }
        for row in result.history
    ]
    page.section("Training", "Loss on both parts and accuracy on the validation digits.")
    page.figure(learning_curves(history), "learning curves")


def add_confusion(page: Page, forms: TrainedForms) -> None:
    """Adds which test digits were taken for which."""
    model, test = forms.model, forms.result.splits.test
    counts = np.zeros((model.classes, model.classes), dtype=int)
    np.add.at(counts, (test.y.numpy(), model.predict(test.x, test.lengths).numpy()), 1)
    page.section("Mistakes", "Each row is a digit, each column what the model took it for.")
    page.figure(confusion_matrix(counts, model.labels), "confusion matrix of the test digits")


def add_proof(page: Page, proof: Proof) -> None:
    """Adds the comparison of both forms."""
    page.section(
        "Merged against branches",
        "Every layer of the merged model met the input that the branches met; differences are "
        "relative to the largest value.",
    )
    page.table(
        ("place", "largest", "mean", "at sample", "bound", "holds"),
        [
            (
                row.place,
                f"{row.largest:.1e}",
                f"{row.mean:.1e}",
                row.sample,
                f"{row.bound:.0e}",
                "yes" if row.holds else "no",
            )
            for row in proof.rows
        ],
    )


def finished(path: Path, page: Page, metrics: dict[str, Any]) -> Path:
    """Writes the page with the command that repeats it.

    Args:
        path: The HTML file.
        page: All but the last section.
        metrics: What metrics.json holds.

    Returns:
        The path.
    """
    page.section("Repeat", "The command that made this page.").code(metrics["command"])
    return write_page(path, page)
