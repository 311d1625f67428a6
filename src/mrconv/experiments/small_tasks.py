"""The tasks of the tables at a size that trains in minutes on one core.

All settings stand here: a recipe of mrconv and the changes that make it small. Another size is
another line, or ``mrconv table NAME --set TASK.KEY=VALUE``.
"""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from .._checks import nearest
from ..data import Grammar, generate_listops
from ..errors import ArgumentError
from ..train import Recipe, read_recipe

__all__ = ["TASKS", "Generated", "Task", "TaskName", "task_changes"]

TaskName = Literal["listops", "image", "speech"]


@dataclass(frozen=True)
class Generated:
    """ListOps that are drawn on the first run.

    Args:
        count: Examples of all splits; one in 50 is for the test, one for validation.
        longest: Tokens of an expression, at most, <eos> included.
        shortest: Expressions have more tokens.
        seed: Of the random numbers.
    """

    count: int
    longest: int
    shortest: int
    seed: int = 0

    def folder(self, home: Path) -> Path:
        """Where the files stand, below the folder of a table."""
        numbers = (self.shortest, self.longest, self.count, self.seed)
        return home / "data" / "-".join(["listops", *map(str, numbers)])

    def prepare(self, home: Path) -> None:
        """Draws the files where they are not there; other processes may do so at the same time.

        Args:
            home: Folder of the table.
        """
        folder = self.folder(home)
        if folder.exists():
            return
        part = folder.with_name(f".{folder.name}.{os.getpid()}")
        grammar = Grammar(min_length=self.shortest, max_length=self.longest)
        generate_listops(part, self.count, seed=self.seed, grammar=grammar)
        try:
            os.rename(part, folder)
        except OSError:
            if not folder.exists():
                raise
            shutil.rmtree(part)  # another process was faster; its files are the same


@dataclass(frozen=True)
class Task:
    """What is trained, but for the mixer.

    Args:
        title: In tables.
        published: What the published numbers beside it were measured on.
        recipe: Name of a recipe of mrconv.
        changes: Of the recipe, by dotted key.
        quick: Further ones that make it tiny.
        data: What is drawn for it; None: its recipe reads data that are there.
        quick_data: The same, tiny.
    """

    title: str
    published: str
    recipe: str
    changes: Mapping[str, Any]
    quick: Mapping[str, Any]
    data: Generated | None = None
    quick_data: Generated | None = None

    def generated(self, quick: bool) -> Generated | None:
        """What is drawn, of either size."""
        return self.quick_data if quick else self.data

    def make_recipe(
        self, home: Path, changes: Mapping[str, Any], further: Sequence[str], *, quick: bool
    ) -> Recipe:
        """The recipe of one training.

        Args:
            home: Folder of the table.
            changes: By dotted key, such as the mixer and the seed.
            further: ``key=value``, applied last.
            quick: Whether it is tiny.
        """
        drawn = self.generated(quick)
        path = {} if drawn is None else {"data.path": str(drawn.folder(home))}
        own = {**self.changes, **(self.quick if quick else {}), **path, **changes}
        words = [f"{key}={json.dumps(value)}" for key, value in own.items()]
        return read_recipe(self.recipe, [*words, *further])


LISTOPS: Mapping[str, Any] = {
    "data": {"class": "mrconv.data.ListOps", "length": 256, "limit": 6000},
    "model.pooling": "mean",
    "model.backbone.tokens": True,
    "model.backbone.features": 18,
    "model.backbone.length": 256,
    "model.backbone.channels": 64,
    "model.backbone.depth": 4,
    "model.backbone.dropout": 0.0,
    "loss.label_smoothing": 0.0,
    "epochs": 3,
    "batch_size": 32,
    "optimizer.lr": 6e-3,
    "optimizer.kernel_lr": 1e-3,
}
IMAGE: Mapping[str, Any] = {"epochs": 2}
SPEECH: Mapping[str, Any] = {
    "epochs": 2,
    "data.speeds": [1.0],
    "model.backbone.depth": 4,
    "model.backbone.channels": 32,
}
TINY: Mapping[str, Any] = {"epochs": 1, "model.backbone.channels": 4, "model.backbone.depth": 2}

TASKS: Mapping[TaskName, Task] = {
    "listops": Task(
        "ListOps up to 256",
        "ListOps of 2,048 tokens",
        "mnist",
        LISTOPS,
        {**TINY, "data.length": 32, "data.limit": 64},
        Generated(100_000, 256, 30),
        Generated(100, 32, 8),
    ),
    "image": Task(
        "sequential MNIST-5k",
        "Image (grey CIFAR-10) of 1,024 samples",
        "mnist",
        IMAGE,
        {**TINY, "batch_size": 500},
    ),
    "speech": Task(
        "spoken digits at 8 kHz",
        "Speech Commands of 35 words at 16 kHz",
        "speech",
        SPEECH,
        {**TINY, "batch_size": 100, "data.length": 512},
    ),
}


def task_changes(given: Sequence[str]) -> dict[TaskName, list[str]]:
    """Changes of the user's, by task.

    Args:
        given: TASK.KEY=VALUE each.

    Returns:
        KEY=VALUE by task.

    Raises:
        ArgumentError: If one does not begin with the name of a task.

    Example:
        >>> task_changes(["listops.epochs=10"])["listops"]
        ['epochs=10']
    """
    found: dict[TaskName, list[str]] = {name: [] for name in TASKS}
    for text in given:
        task, _, change = text.partition(".")
        if task not in found or "=" not in change:
            raise ArgumentError(
                f"table: set must be TASK.KEY=VALUE with a task of {', '.join(TASKS)}; "
                f"got {text!r}. {nearest(task, TASKS)}"
            )
        found[task].append(change)
    return found
