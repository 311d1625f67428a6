"""Figures of one or two panels: learning curves, gain norms, confusion matrix."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ArgumentError, ShapeError
from .canvas import LABEL, dress, heat_map, new_figure, whole_figure
from .palette import FAINT, INK, SERIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["confusion_matrix", "gain_norms", "learning_curves"]

LOSSES = {"train_loss": "training", "validation_loss": "validation"}
ACCURACY = "validation_accuracy"
COLORS = {"train_loss": SERIES[0], "validation_loss": SERIES[1], ACCURACY: SERIES[1]}
FEW = 25  # epochs up to which each has a marker
WIDEST = 10.0  # inches of a figure
CELL = 0.46  # height of a heat map's cell, in inches


def learning_curves(history: Sequence[Mapping[str, float | None]]) -> "Figure":
    """Losses and validation accuracy by epoch.

    Args:
        history: One mapping an epoch with the key "epoch" and any of "train_loss",
            "validation_loss" and "validation_accuracy" (0 to 1). Values that are missing, None or
            NaN are passed over; a quantity that no epoch has is not drawn.

    Returns:
        A figure of a panel for the losses and a panel for the accuracy in percent.

    Raises:
        ArgumentError: If there is no epoch, one without "epoch", or nothing to draw.
        MissingExtraError: If matplotlib is not installed.

    Example:
        >>> figure = learning_curves([{"epoch": 1, "train_loss": 2.0, "validation_loss": 1.5}])
        >>> [line.get_label() for line in figure.axes[0].lines]
        ['training', 'validation']
    """
    epochs = [row.get("epoch") for row in history]
    curves = {key: _column(history, key) for key in COLORS}
    known = [key for key, values in curves.items() if not np.isnan(values).all()]
    if not known or None in epochs:
        raise ArgumentError(
            'learning_curves: history must hold one mapping an epoch with the key "epoch" and any '
            f"of {', '.join(COLORS)}; got {list(history)!s:.80}. "
            "Pass what was recorded for at least one epoch."
        )
    losses = [key for key in known if key in LOSSES]
    panels = bool(losses) + (ACCURACY in known)
    figure = new_figure(WIDEST if panels == 2 else 6, 3.1)
    axes = figure.subplots(1, panels, squeeze=False, gridspec_kw={"wspace": 0.1})[0]
    if losses:
        _draw_losses(axes[0], epochs, {key: curves[key] for key in losses})
    if ACCURACY in known:
        _draw_accuracy(axes[-1], epochs, curves[ACCURACY])
    return figure


def _column(history: Sequence[Mapping[str, float | None]], key: str) -> NDArray[np.float64]:
    """The values of one key by epoch, NaN where there is none.                  (epochs,)"""
    return np.array([row.get(key) for row in history], dtype=float)


def _draw_losses(
    ax: "Axes", epochs: Sequence[float | None], losses: Mapping[str, NDArray[np.float64]]
) -> None:
    dress(ax, "Loss", "epoch", "loss")
    for key, values in losses.items():
        _curve(ax, epochs, values, key, LOSSES[key])
    ax.legend(frameon=False, fontsize=LABEL, labelcolor=INK, handlelength=1.4)


def _draw_accuracy(
    ax: "Axes", epochs: Sequence[float | None], accuracy: NDArray[np.float64]
) -> None:
    dress(ax, "Validation samples classified correctly", "epoch", "accuracy (%)")
    percent = 100 * accuracy
    _curve(ax, epochs, percent, ACCURACY, "validation")
    best = int(np.nanargmax(percent))
    ax.annotate(
        f"best {percent[best]:.1f} %",
        (float(epochs[best] or 0), percent[best]),
        xytext=(0, -12),
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize=LABEL,
        color=INK,
    )


def _curve(
    ax: "Axes",
    epochs: Sequence[float | None],
    values: NDArray[np.float64],
    key: str,
    label: str,
) -> None:
    from matplotlib.ticker import MaxNLocator

    known = ~np.isnan(values)
    marker = "o" if known.sum() <= FEW else ""
    x = np.array(epochs, dtype=float)[known]
    ax.plot(x, values[known], marker=marker, ms=3.5, lw=1.6, color=COLORS[key], label=label)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
    ax.yaxis.set_major_locator(MaxNLocator(nbins=6))
    ax.grid(axis="y", color=FAINT, lw=0.6)
    ax.set_axisbelow(True)


def gain_norms(
    squares: ArrayLike,
    kernel_lengths: Sequence[int],
    layer_names: Sequence[str] | None = None,
    *,
    ax: "Axes | None" = None,
) -> "Figure":
    """Share of each resolution in every layer's squared gains, as a heat map.

    Args:
        squares: Squared norms of the gains, 0 or more; each row is divided by its sum.  (depth, R)
        kernel_lengths: l_i of each resolution, in samples.                              (R,)
        layer_names: Of each row; None: 1, 2, ..., the first next to the input.          (depth,)
        ax: Where to draw; None: a new figure.

    Returns:
        The figure.

    Raises:
        ShapeError: If the sizes do not fit each other.
        ArgumentError: If a square is negative or not a number, or ax is in no figure.
        MissingExtraError: If matplotlib is not installed.

    Source: Cunningham et al. 2024, figure 3b.

    Example:
        >>> figure = gain_norms([[3, 1], [1, 1]], [8, 16])
        >>> [cell.get_text() for cell in figure.axes[0].texts]
        ['0.75', '0.25', '0.50', '0.50']
    """
    squares = np.asarray(squares, dtype=float)
    depth = len(squares)
    names = [str(i + 1) for i in range(depth)] if layer_names is None else list(layer_names)
    if squares.shape != (len(names), len(kernel_lengths)) or not squares.size:
        raise ShapeError(
            f"gain_norms: squares must be ({len(names)}, {len(kernel_lengths)}), layers by "
            f"resolutions; got {squares.shape}. Pass one row a layer and one column a resolution."
        )
    if not (squares >= 0).all():
        raise ArgumentError(
            "gain_norms: squares must be 0 or more; "
            f"got a smallest value of {squares.min()}. Pass squared norms of the gains."
        )
    totals = squares.sum(1, keepdims=True)
    shares = np.divide(squares, totals, out=np.zeros_like(squares), where=totals > 0)
    if ax is None:
        ax = _cells_axes(depth, len(kernel_lengths))
    figure = whole_figure(ax)
    dress(ax, "Weight of each time scale, by layer", "kernel length (samples)", "layer")
    numbers = [[f"{share:.2f}" for share in row] for row in shares]
    # colours span the values found, so that small differences between layers show
    heat_map(ax, shares / max(shares.max(), 1e-12), numbers, names, _words(kernel_lengths))
    return figure


def _cells_axes(rows: int, columns: int) -> "Axes":
    """The panel of a new figure sized for a heat map of so many cells."""
    cell = min(CELL, (WIDEST - 1.2) / columns)
    square = 1.2 + cell * max(columns, 8)
    width = min(WIDEST, 1.0 + columns) if rows < columns else square  # a few rows have wide cells
    return new_figure(max(width, square), 1.1 + cell * rows).add_subplot()


def _words(values: Sequence[object]) -> list[str]:
    """Labels of an axis; whole numbers with thousands apart."""
    return [f"{one:,}" if isinstance(one, int) else str(one) for one in values]


def confusion_matrix(
    counts: ArrayLike, labels: Sequence[str], *, ax: "Axes | None" = None
) -> "Figure":
    """How often each class was taken for each other.

    Args:
        counts: counts[i, j] samples of class i were given class j.    (classes, classes)
        labels: Name of each class.                                    (classes,)
        ax: Where to draw; None: a new figure.

    Returns:
        The figure.

    Raises:
        ShapeError: If counts is not (classes, classes).
        ArgumentError: If ax is in no figure.
        MissingExtraError: If matplotlib is not installed.

    Example:
        >>> figure = confusion_matrix([[9, 1], [0, 10]], ["cat", "dog"])
        >>> figure.axes[0].get_title(loc="left")
        'True against predicted class: 19 of 20 correct'
    """
    counts = np.asarray(counts)
    size = len(labels)
    if counts.shape != (size, size) or not size:
        raise ShapeError(
            f"confusion_matrix: counts must be ({size}, {size}), one row and one column a label; "
            f"got {counts.shape}. Pass true classes as rows and predicted ones as columns."
        )
    if ax is None:
        ax = _cells_axes(size, size)
    figure = whole_figure(ax)
    right, total = int(np.trace(counts)), int(counts.sum())
    title = f"True against predicted class: {right:,} of {total:,} correct"
    dress(ax, title, "predicted class", "true class")
    totals = np.maximum(counts.sum(1, keepdims=True), 1)
    numbers = [[f"{count:,}" if count else "" for count in row] for row in counts.tolist()]
    # the root lets a few mistakes in a class of many show
    heat_map(ax, np.sqrt(counts / totals), numbers, list(labels), list(labels))
    return figure
