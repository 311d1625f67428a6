"""The tasks of the tables at a size that trains in minutes on one core.

All settings stand here: a recipe of mrconv and the changes that make it small. Another size is
another line, or ``mrconv table NAME --set TASK.KEY=VALUE``.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from .._checks import nearest
from ..errors import ArgumentError
from ..train import Recipe, read_recipe
from .generated import Drawn, DrawnListOps

__all__ = ["TASKS", "Task", "TaskName", "task_changes"]

TaskName = Literal["listops", "image", "speech"]
Name = TypeVar("Name", bound=str)


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
        scale: Of the recipe; None: as it stands.
    """

    title: str
    published: str
    recipe: str
    changes: Mapping[str, Any]
    quick: Mapping[str, Any]
    data: Drawn | None = None
    quick_data: Drawn | None = None
    scale: str | None = None

    def drawn(self, quick: bool) -> Drawn | None:
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
        drawn = self.drawn(quick)
        path = {} if drawn is None else {"data.path": str(drawn.folder(home))}
        own = {**self.changes, **(self.quick if quick else {}), **path, **changes}
        words = [f"{key}={json.dumps(value)}" for key, value in own.items()]
        return read_recipe(self.recipe, [*words, *further], scale=self.scale)


LISTOPS: Mapping[str, Any] = {
    "data.limit": 24_000,  # many examples once: a few of them many times are learned by heart
    "epochs": 1,
    "batch_size": 32,
    "optimizer.lr": 6e-3,
}
IMAGE: Mapping[str, Any] = {"epochs": 2}
SPEECH: Mapping[str, Any] = {
    "epochs": 2,
    "data.speeds": [1.0],
    "model.backbone.depth": 4,
    "model.backbone.channels": 32,
}
TINY: Mapping[str, Any] = {"epochs": 1, "model.backbone.channels": 8, "model.backbone.depth": 2}

TASKS: Mapping[TaskName, Task] = {
    "listops": Task(
        "ListOps up to 256",
        "ListOps of 2,048 tokens",
        "listops",
        LISTOPS,
        {**TINY, "data.length": 32, "data.limit": 64},
        DrawnListOps(100_000, 256, 30),
        DrawnListOps(100, 32, 8),
        scale="small",
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


def task_changes(given: Sequence[str], names: Iterable[Name]) -> dict[Name, list[str]]:
    """Changes of the user's, by task.

    Args:
        given: TASK.KEY=VALUE each.
        names: Of the tasks that a table has.

    Returns:
        KEY=VALUE by task.

    Raises:
        ArgumentError: If one does not begin with the name of a task.

    Example:
        >>> task_changes(["listops.epochs=10"], TASKS)["listops"]
        ['epochs=10']
    """
    known = list(names)
    found: dict[str, list[str]] = {name: [] for name in known}
    for text in given:
        task, _, change = text.partition(".")
        if task not in found or "=" not in change:
            raise ArgumentError(
                f"table: set must be TASK.KEY=VALUE with a task of {', '.join(known)}; "
                f"got {text!r}. {nearest(task, known)}"
            )
        found[task].append(change)
    return {name: found[name] for name in known}
