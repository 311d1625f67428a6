"""What ``mrconv table results`` trains: recipes of mrconv as two cores can run them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..train import Recipe, read_recipe
from .generated import Drawn, DrawnListOps, DrawnPathfinder

__all__ = ["GOALS", "Goal"]


@dataclass(frozen=True)
class Goal:
    """A task, its trainings, and what they are to reach.

    Args:
        title: In tables.
        recipe: Name of a recipe of mrconv.
        scale: One of its scales; None: as it stands.
        changes: Of the recipe, by dotted key.
        runs: Changes of every training, by its name, such as seeds or held-out people.
        beside: What stands beside the accuracy: simpler methods here, published numbers.
        bar: Least mean accuracy in percent; None: it is only told.
        explained: Why the bar is missed, in one sentence.
        quick: Changes that make it tiny.
        data: What is drawn for it; None: its recipe reads data that are there.
        quick_data: The same, tiny.
        own_test: Whether every training has test examples of its own, which add up.
    """

    title: str
    recipe: str
    runs: Mapping[str, Mapping[str, Any]]
    beside: str
    scale: str | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)
    bar: float | None = None
    explained: str | None = None
    quick: Mapping[str, Any] = field(default_factory=dict)
    data: Drawn | None = None
    quick_data: Drawn | None = None
    own_test: bool = False

    def drawn(self, quick: bool) -> Drawn | None:
        """What is drawn, of either size."""
        return self.quick_data if quick else self.data

    def make_recipe(
        self, run: str, home: Path, further: Sequence[str] = (), *, quick: bool = False
    ) -> Recipe:
        """The recipe of a training.

        Args:
            run: Name of the training.
            home: Folder of the table.
            further: ``key=value``, applied last.
            quick: Whether it is tiny.
        """
        drawn = self.drawn(quick)
        path = {} if drawn is None else {"data.path": str(drawn.folder(home))}
        own = {**self.changes, **path, **self.runs[run], **(self.quick if quick else {})}
        words = [f"{key}={json.dumps(value)}" for key, value in own.items()]
        return read_recipe(self.recipe, [*words, *further], scale=self.scale)


def _seeds(count: int) -> dict[str, dict[str, Any]]:
    return {f"seed {seed}": {"seed": seed} for seed in range(count)}


def _people(count: int) -> dict[str, dict[str, Any]]:
    """Each person is the test once, and the next one is for validation."""
    return {
        f"person {held}": {"data.test": [held], "data.validation": [(held + 1) % count]}
        for held in range(count)
    }


TINY = {"epochs": 1, "model.backbone.channels": 4, "model.backbone.depth": 1}

#: By the names that ``--set`` and cells have.
GOALS: Mapping[str, Goal] = {
    "mnist": Goal(
        "sequential MNIST-5k",
        "mnist",
        _seeds(3),
        "logistic regression 90.6 %",
        changes={"data.shift": 1, "epochs": 2},
        bar=97.0,
        quick={**TINY, "data.shift": 0, "batch_size": 500},
    ),
    "permuted": Goal(
        "permuted MNIST-5k",
        "mnist",
        _seeds(3),
        "logistic regression 90.6 %, which no order of pixels changes",
        changes={"data.permuted": True},
        bar=90.0,
        quick={**TINY, "batch_size": 500},
    ),
    "speech": Goal(
        "spoken digits, the set's own split",
        "speech",
        _seeds(3),
        "log-mel and logistic regression 93.3 %",
        scale="framed",
        bar=96.0,
        quick={**TINY, "batch_size": 100, "data.speeds": [1.0]},
    ),
    "smartwatch": Goal(
        "smartwatch, every person held out once",
        "smartwatch",
        _people(10),
        "statistics and logistic regression 84.7 %; published on 20 people 88.9 %",
        bar=84.7,
        own_test=True,
        quick={**TINY, "data.copies": 0},
    ),
    "nucleosomes": Goal(
        "nucleosomes",
        "nucleosomes",
        _seeds(3),
        "logistic regression on 1- to 5-mers 85.1 %; best published 86.2 %, on other splits",
        bar=85.1,
        quick=TINY,
    ),
    "listops": Goal(
        "ListOps up to 512 tokens",
        "listops",
        _seeds(1),
        "the most frequent value 15 %; published at 500 to 2,000 tokens, full size 62.40 %",
        scale="small",
        changes={"data.length": 512, "model.backbone.length": 512, "data.limit": 10_000},
        quick={**TINY, "data.limit": 64},
        data=DrawnListOps(60_000, 512, 30),
        quick_data=DrawnListOps(200, 32, 8),
    ),
    "pathfinder": Goal(
        "Pathfinder-32, contours of six dashes",
        "pathfinder",
        _seeds(1),
        "chance 50 %; published with contours of 14 dashes, full size 95.55 %",
        scale="small",
        quick={**TINY, "data.limit": 16},
        data=DrawnPathfinder(16_000, "easy"),
        quick_data=DrawnPathfinder(200, "easy"),
    ),
}
