"""Blank figures, the look that all of them share, and the heat map of numbered cells."""

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import MissingExtraError
from .palette import FAINT, INK, MUTED, ON_HIGH, ON_LOW, heat_colors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["LABEL", "TICK", "TITLE", "dress", "headline", "heat_map", "new_figure"]

TITLE, LABEL, TICK = 9.5, 8.0, 7.0  # font sizes, in points
GAP = 0.05  # between the cells of a heat map, as a part of a cell
MOST_NUMBERS = 30  # rows or columns of a heat map above which numbers would not be readable
DARK_FROM = 0.5  # part of a heat map's range from which its cells are strong


def new_figure(width: float, height: float) -> "Figure":
    """An empty figure without pyplot's global state.

    Args:
        width: In inches; a page shows 100 pixels an inch.
        height: In inches.

    Returns:
        A transparent figure that lays its panels out by itself.

    Raises:
        MissingExtraError: If matplotlib is not installed.
    """
    try:
        figures = importlib.import_module("matplotlib.figure")
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "report: matplotlib must be installed to draw figures; got no module of that name. "
            'Run: pip install "mrconv[report]"'
        ) from error
    figure: Figure = figures.Figure(figsize=(width, height), layout="constrained", facecolor="none")
    return figure


def headline(figure: "Figure", title: str) -> None:
    """Sets a title at the upper left of a figure of several panels."""
    figure.suptitle(title, x=0.008, ha="left", fontsize=TITLE, color=INK, fontweight="bold")


def dress(ax: "Axes", title: str = "", x: str = "", y: str = "") -> None:
    """Sets title and axis names, and takes away what is not needed to read the numbers.

    Args:
        ax: Panel to change.
        title: What is seen.
        x: Name and unit of the horizontal axis.
        y: Name and unit of the vertical axis.
    """
    ax.set_facecolor("none")
    if title:
        ax.set_title(title, loc="left", fontsize=TITLE, color=INK, fontweight="bold", pad=8)
    ax.set_xlabel(x, fontsize=LABEL, color=MUTED)
    ax.set_ylabel(y, fontsize=LABEL, color=MUTED)
    ax.tick_params(labelsize=TICK, labelcolor=MUTED, color=FAINT, length=3, width=0.8)
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(FAINT)
        spine.set_linewidth(0.8)


def heat_map(
    ax: "Axes",
    values: NDArray[np.float64],
    numbers: Sequence[Sequence[str]],
    rows: Sequence[str],
    columns: Sequence[str],
) -> None:
    """Draws a matrix as coloured cells with a number in each, the first row at the top.

    Args:
        ax: Where to draw.
        values: Between 0 and 1, which give the colours.       (rows, columns)
        numbers: What is written in each cell.                 (rows, columns)
        rows: Names at the left.                               (rows,)
        columns: Names below.                                  (columns,)
    """
    from matplotlib.collections import PatchCollection
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Rectangle

    height, width = values.shape
    side = 1 - GAP
    cells = [
        Rectangle((j - side / 2, i - side / 2), side, side)
        for i in range(height)
        for j in range(width)
    ]
    painted = PatchCollection(cells, cmap=ListedColormap(heat_colors()), linewidths=0)
    painted.set_array(values.ravel())
    painted.set_clim(0, 1)
    ax.add_collection(painted)
    ax.set(xlim=(-0.5, width - 0.5), ylim=(height - 0.5, -0.5), aspect="equal")
    ax.set_xticks(range(width), columns, parse_math=False)
    ax.set_yticks(range(height), rows, parse_math=False)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if max(values.shape) <= MOST_NUMBERS:
        _write_numbers(ax, values, numbers)


def _write_numbers(
    ax: "Axes", values: NDArray[np.float64], numbers: Sequence[Sequence[str]]
) -> None:
    for (i, j), value in np.ndenumerate(values):
        color = ON_HIGH if value >= DARK_FROM else ON_LOW
        ax.text(j, i, numbers[i][j], ha="center", va="center", fontsize=TICK, color=color)
