"""Figures of one or two panels: learning curves, gain norms, confusion matrix."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ArgumentError, ShapeError
from .canvas import dress, fresh_axes, heat_map, mark_last, new_figure
from .palette import SERIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["confusion_matrix", "gain_norms", "learning_curves"]

LOSSES = {"train_loss": "training", "validation_loss": "validation"}
ACCURACY = "validation_accuracy"


def learning_curves(history: Sequence[Mapping[str, float | None]]) -> "Figure":
    """Losses and validation accuracy by epoch.

    Args:
        history: One mapping an epoch with the key "epoch" and any of "train_loss",
            "validation_loss" and "validation_accuracy" (0 to 1). A value that is missing, None or
            NaN leaves a gap; a quantity that no epoch has is not drawn.

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
    losses = {key: values for key in LOSSES if (values := _column(history, key)) is not None}
    accuracy = _column(history, ACCURACY)
    count = bool(losses) + (accuracy is not None)
    if not count or None in epochs:
        raise ArgumentError(
            'learning_curves: history must hold one mapping an epoch with the key "epoch" and any '
            f"of {', '.join((*LOSSES, ACCURACY))}; got {list(history)!r:.80}. "
            "Pass what was recorded for at least one epoch."
        )
    figure = new_figure(10 if count == 2 else 6, 3.2)
    panels = figure.subplots(1, count, squeeze=False)[0]
    if losses:
        _draw_losses(panels[0], epochs, losses)
    if accuracy is not None:
        _draw_accuracy(panels[-1], epochs, accuracy)
    return figure


def _column(history: Sequence[Mapping[str, float | None]], key: str) -> NDArray[np.float64] | None:
    """The values of one key, NaN where there is none; None where no epoch has one.   (epochs,)"""
    values = np.array([row.get(key) for row in history], dtype=float)
    return None if np.isnan(values).all() else values


def _draw_losses(ax: "Axes", epochs: Sequence[object], losses: dict[str, NDArray]) -> None:
    dress(ax, "Loss", "epoch", "loss")
    for (key, values), color in zip(losses.items(), SERIES, strict=False):
        ax.plot(epochs, values, marker="o", color=color, label=LOSSES[key])
        mark_last(ax, epochs, values, f"{LOSSES[key]}", color)


def _draw_accuracy(ax: "Axes", epochs: Sequence[object], accuracy: NDArray) -> None:
    dress(ax, "Share of validation samples classified rightly", "epoch", "accuracy (%)")
    ax.plot(epochs, 100 * accuracy, marker="o", color=SERIES[1], label="validation")


def gain_norms(
    squares: ArrayLike,
    kernel_lengths: Sequence[int],
    layer_names: Sequence[str] | None = None,
    *,
    ax: "Axes | None" = None,
) -> "Figure":
    raise NotImplementedError


def confusion_matrix(
    counts: ArrayLike, labels: Sequence[str], *, ax: "Axes | None" = None
) -> "Figure":
    raise NotImplementedError
