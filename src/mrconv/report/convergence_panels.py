"""Losses by epoch of several variants: training above, validation below, a column a task."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import ArgumentError
from .canvas import dress, legend_below, new_figure
from .palette import FAINT, SERIES, resolution_colors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Curves", "convergence", "curves"]

WIDTH, HEIGHT = 4.6, 2.5  # inches of a panel
FEW = 15  # epochs up to which each has a marker
WHATS = ("training loss", "validation loss")
KEYS = ("train_loss", "validation_loss")  # of a row, in the order of ``Curves``
STEPS = ("-", "--", "-.", ":")


class Curves(NamedTuple):
    """Losses of one variant, one list a seed and one number an epoch."""

    training: Sequence[Sequence[float]]
    validation: Sequence[Sequence[float]]


def curves(histories: Sequence[Sequence[Mapping[str, float]]]) -> Curves:
    """Losses out of the rows by epoch that trainings keep.

    Args:
        histories: Of each seed, one row an epoch.

    Example:
        >>> curves([[{"train_loss": 2.0, "validation_loss": 3.0}]]).validation
        [[3.0]]
    """
    return Curves(
        *([[row[key] for row in rows] for rows in histories] for key in KEYS),
    )


def convergence(tasks: Mapping[str, Mapping[str, Curves]]) -> "Figure":
    """A line a variant through the means over its seeds; each seed a thin line.

    Args:
        tasks: Curves by title of the task and name of the variant.

    Returns:
        A figure of two rows, training and validation, and a column a task.

    Raises:
        ArgumentError: If there is no curve.
        MissingExtraError: If matplotlib is not installed.

    Source: the authors' plots for their reviewers, losses of each design step by epoch.

    Example:
        >>> figure = convergence({"ListOps": {"dense": Curves([[2.0, 1.5]], [[2.0, 1.8]])}})
        >>> [ax.get_ylabel() for ax in figure.axes]
        ['training loss', 'validation loss']
    """
    names = list(dict.fromkeys(name for variants in tasks.values() for name in variants))
    if not names:
        raise ArgumentError(
            "convergence: tasks must hold the losses of a variant; got none. Train at least one."
        )
    figure = new_figure(WIDTH * max(len(tasks), 1.4), 2 * HEIGHT)
    grid = figure.subplots(2, len(tasks), squeeze=False, sharex="col")
    looks = dict(zip(names, _looks(len(names)), strict=True))
    for column, (title, variants) in enumerate(tasks.items()):
        for row, what in enumerate(WHATS):
            ax = grid[row, column]
            dress(ax, "" if row else title, "epoch" if row else "", what)
            _draw(ax, {name: curves[row] for name, curves in variants.items()}, looks)
    handles = {
        label: line
        for ax in grid[0]
        for line, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    legend_below(figure, handles.values(), handles.keys(), columns=min(len(handles), 4), dash=3)
    return figure


def _looks(count: int) -> list[tuple[str, str]]:
    """Colour and dashes of each variant."""
    colors = list(SERIES) if count <= len(SERIES) else resolution_colors(count)
    return [(colors[i], STEPS[i % len(STEPS)]) for i in range(count)]


def _draw(
    ax: "Axes",
    curves: Mapping[str, Sequence[Sequence[float]]],
    looks: Mapping[str, tuple[str, str]],
) -> None:
    from matplotlib.ticker import MaxNLocator

    for name, seeds in curves.items():
        color, dashes = looks[name]
        epochs = np.arange(1, max(map(len, seeds)) + 1)
        if len(seeds) > 1:
            for one in seeds:
                ax.plot(epochs[: len(one)], one, color=color, lw=0.6, alpha=0.5)
        shared = min(map(len, seeds))
        means = np.mean([one[:shared] for one in seeds], 0)
        marker = "o" if shared <= FEW else ""
        ax.plot(
            epochs[:shared], means, dashes, color=color, marker=marker, ms=3, lw=1.6, label=name
        )
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
    ax.grid(axis="y", color=FAINT, lw=0.6)
    ax.set_axisbelow(True)
