"""The Lightning callback that keeps what a training has reached, epoch by epoch."""

import math
import os
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from ..errors import ArgumentError
from .checkpoints import KEY, describe_state
from .module import TrainingModule
from .progress import EpochRow
from .run_folder import RunFolder

__all__ = ["Keeper"]


class Keeper(Callback):
    """Writes checkpoint and table at the start and behind every epoch, then tells the progress.

    The checkpoint of an epoch is whole before its row is reported; an interruption at any moment
    leaves that of the last finished epoch, or of the start.

    Args:
        folder: Where the files stand.
    """

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Keeps the start of a training that has no epoch yet."""
        module = _training(pl_module)
        if not module.rows:
            self._save(trainer, module)

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Keeps a finished epoch."""
        module = _training(pl_module)
        row = module.finish_epoch()
        if not math.isfinite(row.train_loss):
            raise ArgumentError(
                f"train: the loss must stay finite; got {row.train_loss} in epoch {row.epoch}. "
                "Lower optimizer.lr, or set gradient_clip=1."
            )
        self._save(trainer, module)
        if trainer.is_global_zero:
            self.folder.write_table(module.rows, module.metric)
            for logger in trainer.loggers:
                logger.log_metrics(_scalars(row, module.metric), step=row.epoch)
        module.progress.epoch(row)

    def on_save_checkpoint(
        self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Adds the recipe and the finished epochs to a checkpoint."""
        module = _training(pl_module)
        checkpoint[KEY] = describe_state(module.recipe, module.rows)

    def _save(self, trainer: Trainer, module: TrainingModule) -> None:
        path = self.folder.checkpoint
        aside = self.folder.partial
        trainer.save_checkpoint(aside, weights_only=False)  # every process takes part
        if trainer.is_global_zero:
            os.replace(aside, path)
            module.kept = (path, len(module.rows))


def _training(module: LightningModule) -> TrainingModule:
    if not isinstance(module, TrainingModule):
        raise ArgumentError(
            f"Keeper: module must be a TrainingModule; got {type(module).__name__}. "
            "Train with mrconv.train.train."
        )
    return module


def _scalars(row: EpochRow, metric: str) -> dict[str, float]:
    return {
        "train_loss": row.train_loss,
        "validation_loss": row.validation_loss,
        f"validation_{metric}": row.validation_metric,
        "learning_rate": row.learning_rate,
    }
