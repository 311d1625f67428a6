"""How every demo begins and ends: a recipe trained, merged and verified; numbers and a page."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..data.writing import write_text
from ..merging import merge
from ..models import SequenceClassifier
from ..train import Progress, Recipe, TrainingResult, train
from ..verification import Proof, verify

__all__ = ["DemoResult", "TrainedForms", "train_and_merge"]


@dataclass(frozen=True)
class DemoResult:
    """What a demo measured and where it wrote."""

    metrics: dict[str, Any]
    """What metrics.json holds."""
    proof: Proof
    """The merged model against the branches, on test examples."""
    folder: Path
    """Holds model/, merged/, metrics.json and report.html."""


@dataclass(frozen=True)
class TrainedForms:
    """A trained classifier in both forms."""

    result: TrainingResult
    model: SequenceClassifier
    """In branches form."""
    merged: SequenceClassifier
    proof: Proof
    """The merged model against the branches, on test examples."""
    folder: Path

    @property
    def metrics(self) -> dict[str, Any]:
        """Numbers of the training and of the proof."""
        return {
            **self.result.metrics,
            "merge_difference": max(row.largest for row in self.proof.rows),
            "merge_holds": self.proof.holds,
        }

    def written(
        self,
        metrics: dict[str, Any],
        write_page: Callable[[Path, "TrainedForms", dict[str, Any]], object],
    ) -> DemoResult:
        """Writes metrics.json and the page.

        Args:
            metrics: What metrics.json will hold.
            write_page: Writes the HTML file of a path.
        """
        write_text(self.folder / "metrics.json", json.dumps(metrics, indent=2) + "\n")
        write_page(self.folder / "report.html", self, metrics)
        return DemoResult(metrics, self.proof, self.folder)


def train_and_merge(
    recipe: Recipe, out: str | Path, *, progress: Progress | None, command: str
) -> TrainedForms:
    """Trains a recipe, merges the model, and verifies the merged one on test examples.

    Args:
        recipe: Of a classifier.
        out: Folder; an earlier demo in it is replaced.
        progress: Told about steps and epochs.
        command: Kept in metrics.json.
    """
    result = train(recipe, out, overwrite=True, progress=progress, command=command)
    model, folder, test = result.model, Path(out), result.splits.test
    if not isinstance(model, SequenceClassifier):
        raise TypeError(f"the recipe {recipe.name} makes a classifier; got {type(model).__name__}")
    merged = merge(model)
    merged.save_pretrained(folder / "merged")
    batch = test.x[: recipe.batch_size]
    lengths = None if test.lengths is None else test.lengths[: recipe.batch_size]
    proof = verify(model, merged, inputs=batch if lengths is None else (batch, lengths))
    return TrainedForms(result, model, merged, proof, folder)
