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
DASHES = ("--", ":", "-.")


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
        color, marker = SERIES[i % len(SERIES)], MARKERS[i % len(MARKERS)]
        # contestants of one width stand beside each other
        shift = 2 ** (0.12 * (i - (len(names) - 1) / 2))
        _points(ax, name, {width * shift: points[width] for width in points}, color, marker)
    for name, values in panel.levels.items():
        dashes = DASHES[levels.index(name) % len(DASHES)]
        ax.axhline(
            median(values),
            color=(INK, MUTED)[levels.index(name) % 2],
            ls=dashes,
            lw=1.2,
            label=name,
        )
    if widths:
        ax.set_xscale("log", base=2)
        ax.set_xticks(widths, ["none" if one == 1 else str(one) for one in widths])
        ax.xaxis.set_minor_locator(NullLocator())
    ax.grid(axis="y", color=FAINT, lw=0.6)
    ax.set_axisbelow(True)


def _points(
    ax: "Axes", name: str, points: Mapping[float, Sequence[float]], color: str, marker: str
) -> None:
    places = sorted(points)
    middles = [median(points[place]) for place in places]
    ax.plot(places, middles, color=color, marker=marker, ms=6, lw=1.6, label=name)
    for place in places:
        values = points[place]
        if len(values) > 1:
            ax.plot([place] * len(values), values, color=color, marker="o", ms=3, ls="", alpha=0.6)
