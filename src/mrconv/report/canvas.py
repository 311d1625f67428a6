"""Blank figures, the look that all of them share, and the heat map of numbered cells."""

import importlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, MissingExtraError
from .palette import FAINT, INK, MUTED, ON_HIGH, ON_LOW, heat_colors

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "LABEL",
    "TICK",
    "TITLE",
    "dress",
    "headline",
    "heat_map",
    "legend_below",
    "new_figure",
    "whole_figure",
]

TITLE, LABEL, TICK = 10.0, 8.5, 7.5  # font sizes, in points
AIR = 0.07  # around every panel, in inches
GAP = 0.05  # between the cells of a heat map, as a part of a cell
LETTER = 0.07  # width of one, in inches
MOST_NUMBERS = 30  # rows or columns of a heat map above which numbers would not be readable
STRONG = 0.6  # from here a cell's number is read better in the other colour


def new_figure(width: float, height: float, *, arranged: bool = True) -> "Figure":
    """An empty figure without pyplot's global state.

    Args:
        width: In inches; a page shows 100 pixels an inch.
        height: In inches.
        arranged: Whether panels are laid out by the sizes of their labels when drawn. Not for
            many panels: measuring all labels would take most of the time.

    Returns:
        A transparent figure.

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
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=AIR, h_pad=AIR) if arranged else "none"
    figure: Figure = figures.Figure(figsize=(width, height), layout=layout, facecolor="none")
    return figure


def whole_figure(ax: "Axes") -> "Figure":
    """The figure that a panel is part of, also through figures within it."""
    part = ax.figure
    if part is None:
        raise ArgumentError(
            "report: ax must belong to a figure; got one that was removed. Pass ax=None."
        )
    return part.figure


def headline(figure: "Figure", title: str) -> None:
    """Sets a title at the upper left of a figure of several panels."""
    width, height = figure.get_size_inches()
    arranged = figure.get_layout_engine() is not None
    figure.suptitle(
        title,
        x=AIR / width,
        y=None if arranged else 1 - AIR / height,  # else a layout would not make room for it
        ha="left",
        va="top",
        fontsize=TITLE,
        color=INK,
        fontweight="bold",
    )


def legend_below(
    figure: "Figure",
    handles: Iterable["Artist"],
    labels: Iterable[str],
    *,
    columns: int,
    dash: float = 2.0,
) -> None:
    """Names the lines of all panels once, below them.

    Args:
        figure: Arranged.
        handles: A line for each name.
        labels: The names.
        columns: Names beside each other.
        dash: Length of the lines shown, in letters.
    """
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        fontsize=LABEL,
        labelcolor=INK,
        handlelength=dash,
    )


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
    ax.set(xlim=(-0.5, width - 0.5), ylim=(height - 0.5, -0.5))
    ax.set_xticks(range(width), columns, parse_math=False)
    ax.set_yticks(range(height), rows, parse_math=False)
    room = float(whole_figure(ax).get_figwidth()) / width
    wide = max(len(name) for name in columns) * LETTER > room
    ax.tick_params(axis="x", rotation=90 if wide else 0)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if max(values.shape) <= MOST_NUMBERS:
        _write_numbers(ax, values, numbers)


def _write_numbers(
    ax: "Axes", values: NDArray[np.float64], numbers: Sequence[Sequence[str]]
) -> None:
    for (i, j), value in np.ndenumerate(values):
        color = ON_HIGH if value >= STRONG else ON_LOW
        ax.text(j, i, numbers[i][j], ha="center", va="center", fontsize=TICK, color=color)
