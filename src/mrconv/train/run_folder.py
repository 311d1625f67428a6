"""The folder of a training: where its files stand, and how they are written."""

import csv
import io
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..data.writing import write_text
from ..errors import FileError
from .progress import EpochRow

__all__ = ["RunFolder"]


@dataclass(frozen=True)
class RunFolder:
    """Files of one training.

    Args:
        path: The folder.
    """

    path: Path

    @property
    def checkpoint(self) -> Path:
        """What a resumed training starts from."""
        return self.path / "checkpoints" / "last.ckpt"

    @property
    def partial(self) -> Path:
        """A checkpoint while it is written."""
        return self.checkpoint.with_suffix(".part")

    @property
    def model(self) -> Path:
        """The trained model, a folder that ``mrconv.load`` opens."""
        return self.path / "model"

    @property
    def recipe(self) -> Path:
        """The recipe with overrides and defaults filled in."""
        return self.path / "recipe.yaml"

    @property
    def table(self) -> Path:
        """One row an epoch."""
        return self.path / "metrics.csv"

    @property
    def metrics(self) -> Path:
        """Final numbers; stands in the folder of a finished training only."""
        return self.path / "metrics.json"

    def refuse_used(self) -> None:
        """Raises where the folder holds an earlier training.

        Raises:
            FileError: With what to do about it.
        """
        state = None
        if self.metrics.exists() or self.model.exists():
            state = "a finished training"
        elif self.checkpoint.exists():
            state = "an unfinished training"
        if state:
            raise FileError(
                f"train: the folder for results must be new; got {self.path}, which holds {state}. "
                "Add --resume to go on with it, --overwrite to replace it, or --out for another."
            )

    def clear(self) -> None:
        """Removes an earlier training's files, and no others."""
        for file in (self.metrics, self.table, self.recipe, self.checkpoint):
            file.unlink(missing_ok=True)
        for folder in (self.model, self.path / "tensorboard"):
            if folder.is_dir():
                shutil.rmtree(folder)

    def write_table(self, rows: Sequence[EpochRow], metric: str) -> None:
        """Writes metrics.csv.

        Args:
            rows: All finished epochs.
            metric: Its name, such as "accuracy".
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        validation = f"validation_{metric}"
        head = ["epoch", "train_loss", "validation_loss", validation, "seconds", "learning_rate"]
        writer.writerow(head)
        for row in rows:
            numbers = (row.train_loss, row.validation_loss, row.validation_metric)
            writer.writerow(
                [row.epoch, *(f"{one:.6g}" for one in (*numbers, row.seconds, row.learning_rate))]
            )
        write_text(self.table, text.getvalue())

    def write_metrics(self, metrics: Mapping[str, Any]) -> None:
        """Writes metrics.json."""
        write_text(self.metrics, json.dumps(metrics, indent=2) + "\n")
