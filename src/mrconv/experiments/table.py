"""What every table is: a grid, and its numbers as rows, as markdown and as a picture."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ..bench.record import Row
from ..errors import ArgumentError
from .grid import Grid, Numbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Table", "TableOptions", "refuse_changes"]


class TableOptions(NamedTuple):
    """What a user may choose about a table."""

    quick: bool = False
    """Whether tiny models try it out; their numbers then say nothing."""
    seeds: int | None = None
    """Trainings of each kind; None: as many as the table has by itself."""
    changes: Sequence[str] = ()
    """Of the trainings, TASK.KEY=VALUE."""


def refuse_changes(table: str, options: TableOptions) -> None:
    """Raises where trainings are to be changed of a table that names no tasks.

    Args:
        table: Its name.
        options: The user's.

    Raises:
        ArgumentError: If there are changes.
    """
    if options.changes:
        raise ArgumentError(
            f"table: set must be left out for {table}, which has no such tasks; "
            f"got {options.changes[0]!r}. Leave it out."
        )


class Table(Protocol):
    """A table by name in ``tables.TABLES``."""

    @property
    def record(self) -> str:
        """Name of the record that its numbers are written into."""
        ...

    def grid(self, folder: Path, options: TableOptions) -> tuple[Grid, str]:
        """Its cells; and a sentence that the user should read before they run, or nothing.

        Args:
            folder: For results, models and generated data.
            options: The user's.
        """
        ...

    def rows(self, numbers: Mapping[str, Numbers]) -> list[Row]:
        """What finished cells found.

        Args:
            numbers: By the name of the cell.
        """
        ...

    def markdown(self, rows: Sequence[Row]) -> str:
        """The rows for readers.

        Args:
            rows: Of its record.
        """
        ...

    def picture(self, numbers: Mapping[str, Numbers]) -> "Figure":
        """A picture of what finished cells found.

        Args:
            numbers: By the name of the cell.

        Raises:
            ArgumentError: If there is nothing to draw.
        """
        ...
