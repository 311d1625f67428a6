"""Speed and memory of generation by context, one column of panels a batch."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..errors import ArgumentError
from .canvas import legend_below, new_figure
from .length_panels import draw_lines

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["generation_by_context"]

#: Words that begin a panel's name, and the name of its values.
ROWS = {"tokens per second": "tokens per second", "peak memory": "peak memory (MB)"}


def generation_by_context(panels: Mapping[str, Mapping[str, Mapping[int, float]]]) -> "Figure":
    """One line a contestant; speeds above, memory below, batches beside each other.

    Args:
        panels: Values by panel ("tokens per second, batch 1" or "peak memory, batch 1"), contestant
            and context in tokens.

    Returns:
        A figure of two rows of panels on one scale each.

    Raises:
        ArgumentError: If there is nothing to draw.
        MissingExtraError: If matplotlib is not installed.

    Example:
        >>> lines = {"attention": {512: 100.0, 2048: 50.0}}
        >>> figure = generation_by_context({"tokens per second, batch 1": lines})
        >>> [ax.get_title(loc="left") for ax in figure.axes]
        ['batch 1']
    """
    names = list(dict.fromkeys(name for lines in panels.values() for name in lines))
    if not names:
        raise ArgumentError(
            "generation_by_context: panels must hold at least one line; got none. "
            "Measure at least one contestant."
        )
    rows = {
        unit: {title.removeprefix(f"{what}, "): panels[title] for title in panels if what in title}
        for what, unit in ROWS.items()
    }
    rows = {unit: row for unit, row in rows.items() if row}
    columns = max(len(row) for row in rows.values())
    figure = new_figure(10, 0.6 + 2.9 * len(rows))
    axes = figure.subplots(len(rows), columns, squeeze=False, sharex=True, sharey="row")
    for i, (unit, row) in enumerate(rows.items()):
        for k, (ax, (title, lines)) in enumerate(zip(axes[i], row.items(), strict=False)):
            x = "context (tokens)" if i == len(rows) - 1 else ""
            draw_lines(ax, title if i == 0 else "", lines, names, x, unit if k == 0 else "")
    for ax in axes.ravel():
        if not ax.lines:
            ax.remove()
    fullest = max(figure.axes, key=lambda ax: len(ax.lines))
    legend_below(figure, *fullest.get_legend_handles_labels(), columns=len(names), dash=2.6)
    return figure
