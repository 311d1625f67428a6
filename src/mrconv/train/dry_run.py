"""A few steps of a recipe: does it run here, how much memory and time does it take?"""

import math
import sys
import time
from dataclasses import dataclass

import torch
from torch import Tensor

from .._checks import needs_extra
from ..data import Examples, Splits
from .batches import BATCHES, Batches
from .fitting import check_data, make_trainer, run_fit
from .progress import SilentProgress, clock
from .quiet import quiet_lightning
from .recipe import Recipe

__all__ = ["DryRun", "dry_run"]

GIB = 2**30


@dataclass(frozen=True)
class DryRun:
    """What a few steps of a recipe took; prints as a few lines."""

    name: str
    """Of the recipe."""
    parameters: int
    """Trained numbers of the model."""
    shape: tuple[int, ...]
    """Of a batch's inputs."""
    loss: float
    """Of the last step."""
    validation_loss: float
    """Mean over one batch."""
    step_seconds: float
    """From one step to the next, the longest rows in it."""
    steps: int
    """Steps of an epoch, on each process."""
    device: str
    """Where it ran."""
    peak_bytes: int
    """Most memory in use: of the GPU, or of this process with the data it has read."""

    def __str__(self) -> str:
        epoch = clock(self.step_seconds * self.steps)
        return (
            f"{self.name}: {self.parameters:,} parameters; a batch of "
            f"{' x '.join(map(str, self.shape))}, its longest rows\n"
            f"loss {self.loss:.4f}, validation loss {self.validation_loss:.4f}\n"
            f"{self.step_seconds:.3g} s a step on {self.device}; {self.steps:,} steps an epoch, at "
            f"most {epoch}\n"
            f"peak memory {self.peak_bytes / GIB:.2f} GiB"
        )


class _Clock(SilentProgress):
    """Notes the time, the loss and the epoch of every step."""

    def __init__(self) -> None:
        self.times, self.loss = [time.monotonic()], float("nan")

    def start(self, epochs: int, batches: int, done: int, metric: str) -> None:
        self.times = [time.monotonic()]

    def step(self, epoch: int, batch: int, loss: Tensor) -> None:
        self.loss = float(loss.detach())  # waits for a GPU
        self.times.append(time.monotonic())


def dry_run(recipe: Recipe, *, batches: int = 3) -> DryRun:
    """Reads the data, makes the model, takes a few steps and validates a batch; writes nothing.

    Devices, precision and batch size are those of the recipe, and the rows are the longest ones of
    the data, so that what fits here fits in the whole training.

    Args:
        recipe: From ``read_recipe``.
        batches: Steps, the last of which is timed.

    Raises:
        ArgumentError: If the model does not fit the data.
        MissingExtraError: If Lightning is not installed.

    Example:
        >>> from mrconv.train import dry_run, read_recipe
        >>> print(dry_run(read_recipe("mnist")))  # doctest: +SKIP
    """
    with needs_extra("train", "train"), quiet_lightning():
        from .module import TrainingModule
    splits = recipe.load_data()
    with quiet_lightning():
        trainer = make_trainer(recipe, 1, batches=batches)
        few = _few(splits, batches * recipe.batch_size * trainer.world_size)
        watch = _Clock()
        module = TrainingModule(recipe, few, watch)
        check_data(module.model, splits)
        if torch.cuda.is_available():
            torch.cuda.reset_peak_memory_stats()
        run_fit(trainer, module)
    together = recipe.batch_size * trainer.world_size
    validation_loss, _ = module.validation_means()
    return DryRun(
        recipe.name,
        sum(parameter.numel() for parameter in module.model.parameters()),
        _largest(BATCHES[recipe.batches](few.train, recipe.batch_size)),
        watch.loss,
        validation_loss,
        watch.times[-1] - watch.times[-2],
        -(-len(splits.train) // together),
        str(trainer.strategy.root_device),
        _peak_memory(),
    )


def _few(splits: Splits, count: int) -> Splits:
    train, validation = (_longest(one, count) for one in (splits.train, splits.validation))
    return Splits(train, validation, splits.test, splits.contract, splits.labels)


def _longest(examples: Examples, count: int) -> Examples:
    """The longest rows, as they stand."""
    lengths = examples.lengths
    if lengths is None:
        return Examples(examples.x[:count], examples.y[:count])
    rows = (lengths if lengths.ndim == 1 else lengths.amax(1)).argsort(descending=True)[:count]
    return Examples(examples.x[rows], examples.y[rows], lengths[rows])


def _largest(batches: Batches) -> tuple[int, ...]:
    """Shape of the inputs of the batch with the most numbers."""
    return max((tuple(x.shape) for x, _, _ in batches), key=math.prod)


def _peak_memory() -> int:
    """Bytes: of the GPU where there is one, else of the process."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated()
    try:
        import resource
    except ImportError:  # Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # kilobytes on Linux
