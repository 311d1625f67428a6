"""Times of several layers by length, one panel a pass."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..errors import ArgumentError
from .canvas import dress, legend_below, new_figure
from .palette import FAINT, SERIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_lines", "times_by_length"]

DASHES = ("-", "--", ":")
MARKERS = ("o", "s", "^")


def times_by_length(panels: Mapping[str, Mapping[str, Mapping[int, float]]]) -> "Figure":
    """One line a layer, both axes logarithmic.

    A layer has the same colour and dashes in every panel; layers beyond the fourth repeat the
    colours in order, dashed.

    Args:
        panels: Milliseconds by panel, layer and length in samples.

    Returns:
        A figure of one panel for each.

    Raises:
        ArgumentError: If there is nothing to draw.
        MissingExtraError: If matplotlib is not installed.

    Example:
        >>> figure = times_by_length({"forward": {"attention": {256: 1.0, 1024: 9.0}}})
        >>> [line.get_label() for line in figure.axes[0].lines]
        ['attention']
    """
    names = list(dict.fromkeys(name for lines in panels.values() for name in lines))
    if not names:
        raise ArgumentError(
            "times_by_length: panels must hold at least one line; got none. "
            "Measure at least one layer."
        )
    figure = new_figure(10, 4.2)
    axes = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for ax, (title, lines) in zip(axes, panels.items(), strict=True):
        draw_lines(ax, title, lines, names, "length (samples)", "time (ms)")
    fullest = max(axes, key=lambda ax: len(ax.lines))
    legend_below(figure, *fullest.get_legend_handles_labels(), columns=4, dash=2.6)
    return figure


def draw_lines(
    ax: "Axes",
    title: str,
    lines: Mapping[str, Mapping[int, float]],
    names: Sequence[str],
    x: str,
    y: str,
) -> None:
    """One panel of lines, both axes logarithmic.

    Args:
        ax: Where to draw.
        title: What is seen.
        lines: Values by name and length.
        names: Of all panels, in order: a name looks the same in each.
        x: Name and unit of the lengths.
        y: Name and unit of the values.
    """
    from matplotlib.ticker import NullLocator

    dress(ax, title, x, y)
    lengths = sorted({length for line in lines.values() for length in line})
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    for number, name in enumerate(names):
        line = lines.get(name, {})
        if not line:
            continue
        turn, color = divmod(number, len(SERIES))
        places = sorted(line)
        ax.plot(
            places,
            [line[place] for place in places],
            color=SERIES[color],
            linestyle=DASHES[turn % len(DASHES)],
            marker=MARKERS[turn % len(MARKERS)],
            ms=3.5,
            lw=1.6,
            label=name,
        )
    ax.set_xticks(lengths, [f"{length:,}" for length in lengths])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_minor_locator(NullLocator())
    ax.grid(axis="y", color=FAINT, lw=0.6)
    ax.set_axisbelow(True)
