"""Training of a recipe into a folder, with Lightning: checkpoints, resuming, final numbers."""

import platform
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from .._checks import needs_extra
from .._version import __version__
from ..data import Splits
from ..data.writing import write_text
from ..errors import MissingExtraError
from ..models.base import SequenceModel
from .checkpoints import Checkpoint, read_checkpoint
from .evaluation import evaluate
from .fitting import check_data, make_trainer, run_fit
from .progress import EpochRow, Progress, SilentProgress
from .quiet import quiet_lightning
from .recipe import Recipe
from .run_folder import RunFolder

if TYPE_CHECKING:
    from .module import TrainingModule

__all__ = ["TrainingInterrupted", "TrainingResult", "train"]


class TrainingInterrupted(KeyboardInterrupt):
    """A training was stopped by Ctrl-C and left its checkpoint.

    Args:
        kept: The checkpoint and the finished epochs in it; None if the training had not begun.
    """

    def __init__(self, kept: tuple[Path, int] | None) -> None:
        super().__init__("training interrupted")
        self.kept = kept


@dataclass(frozen=True)
class TrainingResult:
    """What a finished training gives."""

    model: SequenceModel
    """In eval mode, on the CPU, with the weights of the last epoch."""
    splits: Splits
    """The data it was trained on."""
    history: list[EpochRow]
    """One row an epoch, those of earlier runs included."""
    metrics: dict[str, Any]
    """What metrics.json holds."""
    folder: RunFolder
    """Where the files stand."""
    is_main: bool
    """Whether this is the process that writes; the only one of most trainings."""


def train(
    recipe: Recipe,
    out: str | Path,
    *,
    resume: bool = False,
    overwrite: bool = False,
    progress: Progress | None = None,
    tensorboard: bool = False,
    command: str = "",
) -> TrainingResult:
    """Trains a recipe and writes model, metrics and checkpoints into a folder.

    Epoch e draws its order and random numbers from (seed, e), and every epoch ends with a
    checkpoint. A resumed training starts the unfinished epoch again; on one process and one
    machine its model equals that of an uninterrupted training bit by bit. The global random
    numbers of torch, numpy and random are set.

    The weights of the last epoch are kept, not those of the best validation: "one_cycle" and
    "cosine" anneal the rate to 0, so the last weights are the settled ones, and nothing is chosen
    by the validation examples, whose accuracy stays an honest estimate.

    Args:
        recipe: From ``read_recipe``.
        out: Folder; gets model/, metrics.csv, metrics.json, recipe.yaml, checkpoints/last.ckpt.
        resume: Whether to go on from the folder's checkpoint.
        overwrite: Whether an earlier training in the folder is replaced.
        progress: Told about steps and epochs; None: nothing is.
        tensorboard: Whether curves are also written for TensorBoard, into out/tensorboard.
        command: Kept in metrics.json.

    Returns:
        The model, its numbers and its data.

    Raises:
        FileError: If the folder holds another training, or its checkpoint cannot be used.
        MissingExtraError: If Lightning or TensorBoard is not installed.
        TrainingInterrupted: On Ctrl-C, once the checkpoint is safe.
        ArgumentError: If the model does not fit the data, or the loss is no longer finite.
    """
    folder = RunFolder(Path(out))
    checkpoint = read_checkpoint(folder.checkpoint, recipe) if resume else None
    if not resume and not overwrite:
        folder.refuse_used()
    with needs_extra("train", "train"), quiet_lightning():
        from .module import TrainingModule
    splits = recipe.load_data()
    rows = checkpoint.rows if checkpoint else []
    module = TrainingModule(recipe, splits, progress or SilentProgress(), rows)
    if checkpoint is not None:
        module.kept = (checkpoint.path, len(rows))
    check_data(module.model, splits)
    loggers = _loggers(folder) if tensorboard else []
    try:
        if checkpoint is not None and len(rows) == recipe.epochs:
            module.model.load_state_dict(checkpoint.weights)
        else:
            _fit(module, folder, checkpoint, loggers)
        return _finish(module, folder, command)
    except KeyboardInterrupt:
        raise TrainingInterrupted(module.kept) from None
    finally:
        module.progress.close()


def _begin(folder: RunFolder, recipe: Recipe) -> None:
    folder.clear()
    write_text(folder.recipe, recipe.text())


def _loggers(folder: RunFolder) -> list[Any]:
    from lightning.pytorch.loggers import TensorBoardLogger

    try:
        return [TensorBoardLogger(folder.path, name="tensorboard", version="")]
    except ModuleNotFoundError:
        raise MissingExtraError(
            "train: the package tensorboard must be installed for --tensorboard; got none. "
            "Run: pip install tensorboard"
        ) from None


def _fit(
    module: "TrainingModule",
    folder: RunFolder,
    checkpoint: Checkpoint | None,
    loggers: list[Any],
) -> None:
    """Runs the epochs that are left."""
    from .keeper import Keeper

    recipe = module.recipe
    with quiet_lightning():
        trainer = make_trainer(
            recipe,
            recipe.epochs - len(module.rows),
            folder=folder.path,
            callbacks=[Keeper(folder)],
            loggers=loggers,
        )
        if not trainer.is_global_zero:
            module.progress = SilentProgress()
        elif checkpoint is None:
            _begin(folder, recipe)
        try:
            run_fit(trainer, module, checkpoint.path if checkpoint else None)
        finally:
            if trainer.is_global_zero:
                folder.partial.unlink(missing_ok=True)


def _finish(module: "TrainingModule", folder: RunFolder, command: str) -> TrainingResult:
    """Tests the model and writes what stays."""
    model, splits, rows = module.model.cpu().eval(), module.splits, module.rows
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    tested = evaluate(
        model.to(device),
        splits.test,
        module.loss,
        batch_size=module.recipe.batch_size,
        batches=module.recipe.batches,
    )
    model.cpu()
    measured = {
        f"test_{module.metric}": tested[module.metric],
        f"validation_{module.metric}": rows[-1].validation_metric,
    }
    metrics = {
        **measured,
        "test_loss": tested["loss"],
        "train_seconds": round(sum(row.seconds for row in rows), 3),
        "epochs": len(rows),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "scale": module.recipe.scale,
        "versions": _versions(),
        "command": command,
    }
    model.contract, model.labels = splits.contract, splits.labels
    model.metrics = {**model.metrics, **measured}
    model.made = (*model.made, module.recipe.origin())
    model.requires_grad_(True)
    is_main = module.global_rank == 0
    if is_main:
        model.save_pretrained(folder.model)
        folder.write_metrics(metrics)
    return TrainingResult(model, splits, rows, metrics, folder, is_main)


def _versions() -> dict[str, str]:
    import lightning

    return {
        "mrconv": __version__,
        "torch": str(torch.__version__),
        "lightning": str(lightning.__version__),
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
