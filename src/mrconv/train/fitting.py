"""What every run by Lightning shares: the trainer of a recipe, and Ctrl-C as an exception."""

import signal
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data import Splits
from ..errors import ArgumentError
from ..models.base import SequenceModel
from ..models.saving import MODELS, configuration
from .recipe import Recipe

if TYPE_CHECKING:
    from .module import TrainingModule

__all__ = ["check_data", "make_trainer", "run_fit"]


def check_data(model: SequenceModel, splits: Splits) -> None:
    """Raises on what would otherwise be found behind the training only.

    Args:
        model: That is to be trained.
        splits: The data.

    Raises:
        ArgumentError: If the model cannot be saved, a split is empty, the numbers of classes
            differ, or the data have more tokens than the model.
    """
    if MODELS.get(type(model).__name__) is not type(model):
        raise ArgumentError(
            f"model.class: must be one of {', '.join(MODELS)}, which can be saved; "
            f"got {type(model).__name__}. Train other modules with your own loop."
        )
    configuration(model)  # raises where a setting cannot be saved
    for name in ("train", "validation", "test"):
        if not len(splits[name]):
            raise ArgumentError(
                f"data: every split must hold an example; got none in {name}. "
                "Choose other settings of the data."
            )
    classes = getattr(model, "classes", len(splits.labels))
    if splits.labels and classes != len(splits.labels):
        raise ArgumentError(
            f"model.classes: must be the number of labels of the data, {len(splits.labels)}; "
            f"got {classes}. Set model.classes={len(splits.labels)}."
        )
    vocabulary, features = splits.contract.vocabulary, model.backbone.features
    if vocabulary is not None and features < vocabulary:
        raise ArgumentError(
            f"model.backbone.features: must be at least the vocabulary of the data, {vocabulary}; "
            f"got {features}. Set model.backbone.features={vocabulary}."
        )


def make_trainer(
    recipe: Recipe,
    epochs: int,
    *,
    folder: Path | None = None,
    callbacks: Sequence[Any] = (),
    loggers: Sequence[Any] = (),
    batches: int | None = None,
) -> Any:
    """Lightning's Trainer with a recipe's devices and precision; it writes nothing by itself.

    Args:
        recipe: Checked.
        epochs: To run.
        folder: Where callbacks and loggers write.
        callbacks: Of Lightning.
        loggers: Of Lightning.
        batches: Training batches an epoch, at most, with one for validation; None: all.
    """
    from lightning.pytorch import Trainer

    return Trainer(
        accelerator="auto",
        devices=recipe.devices,
        num_nodes=recipe.num_nodes,
        precision=recipe.precision,
        gradient_clip_val=recipe.gradient_clip,
        max_epochs=epochs,
        callbacks=list(callbacks),
        logger=list(loggers),
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
        default_root_dir=folder,
        limit_train_batches=batches,
        limit_val_batches=None if batches is None else 1,
    )


def run_fit(trainer: Any, module: "TrainingModule", checkpoint: Path | None = None) -> None:
    """Lightning's fit; Ctrl-C comes out as a KeyboardInterrupt.

    Lightning ends the process on Ctrl-C and ignores the signal from then on; both are undone.

    Args:
        trainer: Of ``make_trainer``.
        module: To be trained.
        checkpoint: To start from; None: from the beginning.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT) if in_main_thread else None
    try:
        trainer.fit(module, ckpt_path=checkpoint, weights_only=True)
    except SystemExit as stop:
        if not isinstance(stop.__context__, KeyboardInterrupt):
            raise
        raise KeyboardInterrupt from None
    finally:
        if in_main_thread:
            signal.signal(signal.SIGINT, handler)
