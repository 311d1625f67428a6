"""A grid of experiments that can be stopped anywhere: every finished cell is a file."""

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._version import __version__
from ..data.writing import write_text
from ..errors import ArgumentError, FileError, MrconvError

__all__ = ["Cell", "Grid", "Outcome", "chosen_cells"]

Numbers = dict[str, Any]
#: Told what happens to each cell, as one line.
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Cell:
    """One experiment of a grid.

    Args:
        name: Unique in its grid.
        settings: What the numbers depend on, as plain values for JSON.
        run: Gives the numbers, plain values for JSON.
        after: The cell whose work this one goes on with, and whose settings are its own as well.
    """

    name: str
    settings: Mapping[str, Any]
    run: Callable[[], Numbers]
    after: "Cell | None" = None

    @property
    def slug(self) -> str:
        """The name as files have it: small letters and digits, joined by -."""
        return "-".join(re.findall(r"[a-z0-9.]+", self.name.lower()))

    @property
    def identity(self) -> dict[str, Any]:
        """All settings, as they come back from a file."""
        settings = dict(self.settings)
        if self.after is not None:
            settings["after"] = self.after.identity
        plain: dict[str, Any] = json.loads(json.dumps(settings))
        return plain


@dataclass(frozen=True)
class Outcome:
    """What is known behind a run of a grid."""

    numbers: dict[str, Numbers] = field(default_factory=dict)
    """By cell, those of earlier runs included."""
    failures: dict[str, str] = field(default_factory=dict)
    """By cell, the sentence of what went wrong."""


@dataclass(frozen=True)
class Grid:
    """Cells and the folder of their results.

    A finished cell is one file, ``cells/NAME.json``, with its settings, numbers and seconds. Such a
    cell is not run again while its settings are the same. Two processes may share the folder where
    each runs cells of its own.

    Args:
        cells: In the order in which they run.
        folder: For the files.

    Raises:
        ArgumentError: If two cells would have the same file.

    Example:
        >>> from pathlib import Path
        >>> from mrconv.experiments.grid import Cell, Grid
        >>> grid = Grid([Cell("one half", {"of": 1}, lambda: {"value": 0.5})], Path("runs"))
        >>> grid.run(grid.cells, print)
        cell 1 of 1: one half
        Outcome(numbers={'one half': {'value': 0.5}}, failures={})
        >>> grid.run(grid.cells, print).failures
        cell 1 of 1: one half, kept
        {}
    """

    cells: Sequence[Cell]
    folder: Path

    def __post_init__(self) -> None:
        slugs = [cell.slug for cell in self.cells]
        for cell in self.cells:
            if slugs.count(cell.slug) > 1:
                raise ArgumentError(
                    f"Grid: names of cells must differ in letters or digits; got {cell.name!r} "
                    "twice. Rename one."
                )

    def file(self, cell: Cell) -> Path:
        """Where a finished cell stands."""
        return self.folder / "cells" / f"{cell.slug}.json"

    def finished(self, cell: Cell) -> Numbers | None:
        """The numbers of a cell that was run with the same settings; None: it was not.

        Args:
            cell: Of the grid.

        Raises:
            FileError: If its file is damaged.
        """
        try:
            content = json.loads(self.file(cell).read_text(encoding="utf-8"))
            settings, numbers = content["settings"], dict(content["numbers"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise FileError(
                f"table: {self.file(cell)} must be a file of a finished cell; got {error!r}. "
                "Remove it, and run the command again."
            ) from None
        return numbers if settings == cell.identity else None

    def run(self, chosen: Sequence[Cell], tell: Tell) -> Outcome:
        """Runs the chosen cells that are not finished; one that fails does not stop the others.

        Args:
            chosen: Cells of this grid.
            tell: Told each cell as it begins, and each failure.

        Returns:
            Numbers of all finished cells of the grid, chosen or not, and the failures.
        """
        failures = {}
        for i, cell in enumerate(chosen):
            place = f"cell {i + 1} of {len(chosen)}: {cell.name}"
            try:
                if self.finished(cell) is not None:
                    tell(f"{place}, kept")
                    continue
                tell(place)
                self._run(cell)
            except Exception as error:  # whatever it is, the other cells are worth running
                failures[cell.name] = _sentence(error)
                tell(f"  failed: {failures[cell.name]}")
        known = {cell.name: self.finished(cell) for cell in self.cells if cell.name not in failures}
        return Outcome({name: one for name, one in known.items() if one is not None}, failures)

    def _run(self, cell: Cell) -> None:
        if cell.after is not None and self.finished(cell.after) is None:
            raise ArgumentError(
                f"table: {cell.name!r} must run after {cell.after.name!r}; got no result of that "
                "cell with these settings. Run it first."
            )
        start = time.perf_counter()
        numbers = cell.run()
        content = {
            "cell": cell.name,
            "settings": cell.identity,
            "numbers": numbers,
            "seconds": round(time.perf_counter() - start, 3),
            "version": __version__,
        }
        write_text(self.file(cell), json.dumps(content, indent=1) + "\n")


def chosen_cells(cells: Sequence[Cell], only: Sequence[str]) -> list[Cell]:
    """The cells whose name holds one of some texts, or is one of them.

    Args:
        cells: Of a grid.
        only: The texts, small and capital letters alike; one that is the whole name of a cell
            chooses that cell alone; none: all cells.

    Returns:
        In the order of the grid.

    Raises:
        ArgumentError: If no name holds one of the texts.
    """
    for text in only:
        if not any(text.lower() in cell.name.lower() for cell in cells):
            names = "; ".join(cell.name for cell in cells)
            raise ArgumentError(
                f"table: only must be part of a cell's name; got {text!r}. Choose from: {names}."
            )
    if not only:
        return list(cells)
    return [cell for cell in cells if any(_chooses(text, cell, cells) for text in only)]


def _chooses(text: str, cell: Cell, cells: Sequence[Cell]) -> bool:
    small = text.lower()
    if any(small == one.name.lower() for one in cells):
        return small == cell.name.lower()
    return small in cell.name.lower()


def _sentence(error: Exception) -> str:
    return str(error) if isinstance(error, MrconvError) else f"{type(error).__name__}: {error}"
