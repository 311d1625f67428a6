"""The LightningModule of a training. Import it only where Lightning is installed."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import LightningModule
from torch import Tensor

from ..data import SplitName, Splits
from .batches import BATCHES, Batch, Batches
from .objective import metric_name, score, summarise
from .progress import EpochRow, Progress
from .recipe import Recipe
from .schedule import make_schedule
from .seeding import epoch_order, seed_epoch

__all__ = ["TrainingModule"]

_DTYPES = {"64-true": torch.float64, "bf16-true": torch.bfloat16, "16-true": torch.float16}


class TrainingModule(LightningModule):
    """A model with its loss, data, optimizer and schedule.

    Epoch e draws its order and its random numbers from (seed, e), and a checkpoint holds what an
    epoch starts from and nothing of Lightning's own counters: a resumed training is a shorter one
    whose first epoch has another number.

    Args:
        recipe: Checked.
        splits: Data set.
        progress: Told about every step.
        rows: Epochs done before.
    """

    def __init__(
        self,
        recipe: Recipe,
        splits: Splits,
        progress: Progress,
        rows: list[EpochRow] | None = None,
    ) -> None:
        super().__init__()
        self.model, self.loss = recipe.make_model(), recipe.make_loss()
        self.objective = recipe.make_objective(self.loss)
        if recipe.precision in _DTYPES:
            # Lightning converts after it has loaded a checkpoint, which would round the weights
            self.to(_DTYPES[recipe.precision])
        self.recipe, self.splits, self.progress = recipe, splits, progress
        self.metric = metric_name(self.model, splits.train.y)
        #: One row for every finished epoch, those of earlier runs included.
        self.rows: list[EpochRow] = list(rows or [])
        #: The newest checkpoint of this training and how many epochs it holds.
        self.kept: tuple[Path, int] | None = None
        self._sums = {"train": torch.zeros(3), "validation": torch.zeros(3)}
        self._began = self._rate = 0.0

    @property
    def epoch(self) -> int:
        """Number of the epoch in progress, from 0, over all runs."""
        return len(self.rows)

    def train_dataloader(self) -> Batches:
        """Shuffled batches of this process."""
        recipe = self.recipe
        return self._batches(
            "train", lambda: epoch_order(recipe.seed, self.epoch, len(self.splits.train))
        )

    def val_dataloader(self) -> Batches:
        """Validation batches of this process."""
        return self._batches("validation", None)

    def _batches(self, name: SplitName, order: Callable[[], Tensor] | None) -> Batches:
        return BATCHES[self.recipe.batches](
            self.splits[name],
            self.recipe.batch_size,
            order,
            rank=self.global_rank,
            processes=self.trainer.world_size,
            workers=self.recipe.workers,
        )

    def configure_optimizers(self) -> Any:
        """Optimizer and schedule by step, over the epochs of all runs."""
        optimizer = self.recipe.make_optimizer(self.model)
        steps = self.recipe.epochs * len(self.train_dataloader())
        schedule = make_schedule(self.recipe.schedule, optimizer, steps, self.recipe.warmup)
        if schedule is None:
            return optimizer
        by_step = {"scheduler": schedule, "interval": "step"}
        return {"optimizer": optimizer, "lr_scheduler": by_step}

    def on_train_start(self) -> None:
        """Tells the progress what is to be done."""
        batches = len(self.train_dataloader())
        self.progress.start(self.recipe.epochs, batches, len(self.rows), self.metric)

    def on_train_epoch_start(self) -> None:
        """Starts an epoch's sums and clock."""
        self._began = time.monotonic()
        self._reset("train")

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        """Seeds the epoch, right before its first step."""
        if batch_idx == 0:
            seed_epoch(self.recipe.seed, self.epoch, self.global_rank)

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """The loss of one batch."""
        self._rate = float(self.trainer.optimizers[0].param_groups[-1]["lr"])
        scored = self.objective(self.model, batch)
        self._sums["train"] += scored.sums
        self.progress.step(self.epoch + 1, batch_idx + 1, scored.loss)
        return scored.loss

    def on_validation_epoch_start(self) -> None:
        """Starts the sums."""
        self._reset("validation")

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        """Adds one batch to the sums."""
        self._sums["validation"] += score(self.model, self.loss, batch).sums

    def finish_epoch(self) -> EpochRow:
        """The row of the epoch in progress, which ends with it; called once, on every process."""
        train, validation = self._means("train"), self._means("validation")
        seconds = time.monotonic() - self._began
        row = EpochRow(self.epoch + 1, train[0], *validation, seconds, self._rate)
        self.rows.append(row)
        return row

    def validation_means(self) -> tuple[float, float]:
        """Mean loss and metric of the last validation; called on every process."""
        return self._means("validation")

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Leaves Lightning's counters out, so that it starts with an epoch of its own."""
        checkpoint.pop("loops", None)

    def _reset(self, name: str) -> None:
        self._sums[name] = torch.zeros(3, dtype=torch.float64, device=self.device)

    def _means(self, name: str) -> tuple[float, float]:
        return summarise(self.trainer.strategy.reduce(self._sums[name], reduce_op="sum"))
