"""Data that tables draw on their first run, into the folder of the table."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ..data import Grammar, generate_listops, generate_pathfinder
from ..data.pathfinder_settings import Level

__all__ = ["Drawn", "DrawnListOps", "DrawnPathfinder"]


class Drawn(Protocol):
    """A data set that follows from its settings; a dataclass of plain values."""

    def folder(self, home: Path) -> Path:
        """Where the files stand.

        Args:
            home: Folder of the table.
        """
        ...

    def prepare(self, home: Path) -> None:
        """Draws the files where they are not there; other processes may do so at the same time.

        Args:
            home: Folder of the table.
        """
        ...


@dataclass(frozen=True)
class DrawnListOps:
    """ListOps of other lengths than the published ones.

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
        """See ``Drawn``."""
        grammar = Grammar(min_length=self.shortest, max_length=self.longest)
        _drawn(
            self.folder(home),
            lambda part: generate_listops(part, self.count, seed=self.seed, grammar=grammar),
        )


@dataclass(frozen=True)
class DrawnPathfinder:
    """Pathfinder of one level and size.

    Args:
        count: Images of all splits.
        level: "easy", "intermediate" or "hard".
        size: Height and width.
        seed: Of the random numbers.
    """

    count: int
    level: Level
    size: int = 32
    seed: int = 0

    def folder(self, home: Path) -> Path:
        """Where the files stand, below the folder of a table."""
        words = (self.size, self.level, self.count, self.seed)
        return home / "data" / "-".join(["pathfinder", *map(str, words)])

    def prepare(self, home: Path) -> None:
        """See ``Drawn``."""
        _drawn(
            self.folder(home),
            lambda part: generate_pathfinder(
                part, self.size, count=self.count, level=self.level, seed=self.seed
            ),
        )


def _drawn(folder: Path, draw: Callable[[Path], object]) -> None:
    """Draws into a folder aside, which is then renamed."""
    if folder.exists():
        return
    part = folder.with_name(f".{folder.name}.{os.getpid()}")
    draw(part)
    try:
        os.rename(part, folder)
    except OSError:
        if not folder.exists():
            raise
        shutil.rmtree(part)  # another process was faster; its files are the same
