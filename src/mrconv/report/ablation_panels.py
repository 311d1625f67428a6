"""Quality against the width of the outer product, one panel a task, every seed a dot."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from ..errors import ArgumentError
from .canvas import dress, legend_below, new_figure
from .palette import FAINT, INK, MUTED, SERIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Panel", "quality_by_outer_width"]

MARKERS = ("o", "s", "D", "^")
#: Colour and dashes of the contestants without an outer width.
LEVELS = ((MUTED, "--"), (INK, ":"), (MUTED, "-."))
APART = 1.15  # of two points of one width, as a ratio
MARGIN = 1.5  # around the widths, as a ratio


class Panel(NamedTuple):
    """What one task found."""

    title: str
    series: Mapping[str, Mapping[int, Sequence[float]]]
    """Values of all seeds by name and outer width."""
    levels: Mapping[str, Sequence[float]]
    """Values of all seeds of those that have no outer width."""


def quality_by_outer_width(panels: Sequence[Panel]) -> "Figure":
    """A dot a seed, a line through the medians; others as level lines at their medians.

    Args:
        panels: At least one with a value; those without any are left out.

    Returns:
        A figure of one panel a task.

    Raises:
        ArgumentError: If there is nothing to draw.
        MissingExtraError: If matplotlib is not installed.

    Example:
        >>> panel = Panel("recall", {"shared": {2: [0.5, 0.6], 4: [0.8]}}, {"attention": [1.0]})
        >>> len(quality_by_outer_width([panel]).axes)
        1
    """
    panels = [one for one in panels if one.series or one.levels]
    if not panels:
        raise ArgumentError(
            "quality_by_outer_width: panels must hold a value; got none. Measure at least one."
        )
    figure = new_figure(max(4.6, 4.0 * len(panels)), 3.6)
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    names = list(dict.fromkeys(name for one in panels for name in one.series))
    levels = list(dict.fromkeys(name for one in panels for name in one.levels))
    for ax, panel in zip(axes, panels, strict=True):
        _draw(ax, panel, names, levels)
    found = {
        label: handle
        for ax in axes
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    legend_below(figure, found.values(), found.keys(), columns=2 if len(panels) < 2 else 3)
    return figure


def _draw(ax: "Axes", panel: Panel, names: Sequence[str], levels: Sequence[str]) -> None:
    from matplotlib.ticker import NullLocator

    dress(ax, panel.title, "width of the outer product", "")
    widths = sorted({width for one in panel.series.values() for width in one})
    for name, points in panel.series.items():
        i = names.index(name)
        places = {_place(panel, name, width): points[width] for width in sorted(points)}
        _points(ax, name, places, SERIES[i % len(SERIES)], MARKERS[i % len(MARKERS)])
    for name, values in panel.levels.items():
        i = levels.index(name)
        color, dashes = LEVELS[i % len(LEVELS)]
        ax.axhline(median(values), color=color, ls=dashes, lw=1.2, label=name)
    if widths:
        ax.set_xscale("log", base=2)
        ax.set_xlim(widths[0] / MARGIN, widths[-1] * MARGIN)
        ax.set_xticks(widths, ["none" if one == 1 else str(one) for one in widths])
        ax.xaxis.set_minor_locator(NullLocator())
    ax.grid(axis="y", color=FAINT, lw=0.6)
    ax.set_axisbelow(True)


def _place(panel: Panel, name: str, width: int) -> float:
    """Where a point stands: those of one width beside each other."""
    neighbours = [one for one, points in panel.series.items() if width in points]
    return float(width * APART ** (neighbours.index(name) - (len(neighbours) - 1) / 2))


def _points(
    ax: "Axes", name: str, points: Mapping[float, Sequence[float]], color: str, marker: str
) -> None:
    """Medians joined by a line, and the seeds as small dots."""
    middles = [median(values) for values in points.values()]
    ax.plot([*points], middles, color=color, marker=marker, ms=6, lw=1.6, label=name)
    for place, values in points.items():
        if len(values) > 1:
            seeds = [place] * len(values)
            ax.plot(seeds, values, color=color, marker="o", ms=3, ls="", alpha=0.6)
