"""Blank figures and the one look that all of them share."""

import importlib
from typing import TYPE_CHECKING

from ..errors import MissingExtraError
from .palette import FAINT, INK, MUTED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["dress", "headline", "new_figure", "panel"]

TITLE, LABEL, TICK = 9.5, 8.0, 7.0  # font sizes, in points
INSTALL = 'pip install "mrconv[report]"'


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
            f"Run: {INSTALL}"
        ) from error
    figure = figures.Figure(figsize=(width, height), layout="constrained", facecolor="none")
    return figure


def panel(ax: "Axes | None", width: float, height: float) -> "Axes":
    """``ax``, or the one panel of a new figure of that size in inches."""
    return new_figure(width, height).add_subplot() if ax is None else ax


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
