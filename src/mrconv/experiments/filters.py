"""The experiment on filters in Hyena and MultiHyena: which cells it has, and how it is told."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..bench.record import Row
from .filter_distilling import distilling_cells
from .filter_rows import filter_rows
from .filter_speed import speed_cell
from .filter_table import differences_table, filters_picture, filters_table, recall_table
from .filter_training import QUICK, STANDARD, bits_cells, corpus, recall_cells
from .grid import Grid, Numbers
from .table import TableOptions, refuse_changes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FILTERS", "Filters"]


class Filters:
    """Separate filters, shared ones, and shared ones with an outer product, at equal parameters."""

    record = "language"

    def grid(self, folder: Path, options: TableOptions) -> tuple[Grid, str]:
        """Trainings, distillations of the trained models, and times.

        Args:
            folder: For results and models.
            options: The user's; ``seeds`` are those of recall.

        Returns:
            The grid; and a sentence on the text where it is not Shakespeare, else nothing.

        Raises:
            ArgumentError: If there are changes.
        """
        refuse_changes("filters", options)
        sizes, text = QUICK if options.quick else STANDARD, corpus()
        sizes = sizes._replace(seeds=options.seeds or sizes.seeds)
        bits = bits_cells(folder, sizes, text)
        cells = [
            *recall_cells(folder, sizes),
            *(cell for _, cell in bits),
            *distilling_cells(bits, folder),
            speed_cell([one for one, _ in bits], sizes, quick=options.quick),
        ]
        return Grid(cells, folder), text.remark

    def rows(self, numbers: Mapping[str, Numbers]) -> list[Row]:
        """What finished cells found; see ``filter_rows``.

        Args:
            numbers: By the name of the cell.
        """
        return filter_rows(numbers)

    def markdown(self, rows: Sequence[Row]) -> str:
        """Contestants, differences, and recall seed by seed.

        Args:
            rows: Of the record.
        """
        return "\n".join(make(rows) for make in (filters_table, differences_table, recall_table))

    def picture(self, numbers: Mapping[str, Numbers]) -> "Figure":
        """Bits and recall against the width of the outer product.

        Args:
            numbers: By the name of the cell.
        """
        return filters_picture(filter_rows(numbers))


FILTERS = Filters()
