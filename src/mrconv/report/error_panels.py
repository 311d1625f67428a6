"""Errors of recurrences by order, one small panel a kernel family."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..errors import ArgumentError
from .canvas import dress, legend_below, new_figure
from .palette import FAINT, INK, SERIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["errors_by_order"]

COLUMNS = 5
SMALLEST = 1e-5  # relative; smaller errors would squeeze all others
#: Marker and line of each kind of number.
LOOKS = {
    "error": (SERIES[0], "o", "-"),
    "lower bound": (INK, "", "--"),
    "gradient": (SERIES[1], "x", ""),
}


def errors_by_order(families: Mapping[str, Mapping[str, Mapping[int, float]]]) -> "Figure":
    """Error, lower bound and the gradient's error against order, all panels on one scale.

    Args:
        families: Relative errors by family, line ("error", "lower bound", "gradient") and order;
            those below 1e-5 are drawn there.

    Returns:
        A figure of one panel a family.

    Raises:
        ArgumentError: If there is nothing to draw.
        MissingExtraError: If matplotlib is not installed.

    Example:
        >>> figure = errors_by_order({"dilated": {"error": {8: 0.1, 16: 0.05}}})
        >>> [ax.get_title(loc="left") for ax in figure.axes]
        ['dilated']
    """
    if not families:
        raise ArgumentError(
            "errors_by_order: families must hold at least one; got none. Measure at least one."
        )
    columns = min(COLUMNS, len(families))
    rows = -(-len(families) // columns)
    figure = new_figure(max(4.0, 2.0 * columns), 0.5 + 1.9 * rows)
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
    for ax, (name, lines) in zip(axes, families.items(), strict=False):
        _draw(ax, name, lines)
    for ax in axes[len(families) :]:
        ax.remove()
    for i, ax in enumerate(axes[: len(families)]):
        ax.set_ylabel("relative error" if i % columns == 0 else "")
        ax.set_xlabel("order" if i + columns >= len(families) else "")
        ax.tick_params(labelbottom=i + columns >= len(families))
    found = {
        label: handle
        for ax in axes[: len(families)]
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    legend_below(figure, found.values(), found.keys(), columns=len(LOOKS), dash=2.6)
    return figure


def _draw(ax: "Axes", name: str, lines: Mapping[str, Mapping[int, float]]) -> None:
    from matplotlib.ticker import NullLocator

    dress(ax, name, "order", "relative error")
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    for label, line in lines.items():
        color, marker, dashes = LOOKS[label]
        orders = sorted(line)
        values = [max(line[order], SMALLEST) for order in orders]
        ax.plot(orders, values, color=color, marker=marker, ls=dashes, ms=4, lw=1.6, label=label)
    orders = sorted({order for line in lines.values() for order in line})
    ax.set_xticks(orders, [str(order) for order in orders])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_minor_locator(NullLocator())
    ax.grid(axis="y", color=FAINT, lw=0.6)
    ax.set_axisbelow(True)
