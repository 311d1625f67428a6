"""The experiment on filters in Hyena and MultiHyena: which cells it has."""

from pathlib import Path

from .filter_distilling import distilling_cells
from .filter_speed import speed_cell
from .filter_training import QUICK, STANDARD, bits_cells, corpus, recall_cells
from .grid import Grid

__all__ = ["filters_grid"]


def filters_grid(folder: str | Path, *, quick: bool = False) -> tuple[Grid, str]:
    """Separate filters, shared ones, and shared ones with an outer product, at equal parameters.

    Args:
        folder: For results and models.
        quick: Whether tiny models try it out; their numbers then say nothing.

    Returns:
        The grid; and a sentence on the text where it is not Shakespeare, else nothing.
    """
    folder, sizes, text = Path(folder), QUICK if quick else STANDARD, corpus()
    bits = bits_cells(folder, sizes, text)
    cells = [
        *recall_cells(folder, sizes),
        *(cell for _, cell in bits),
        *distilling_cells(bits, folder),
        speed_cell([one for one, _ in bits], sizes, quick=quick),
    ]
    return Grid(cells, folder), text.remark
