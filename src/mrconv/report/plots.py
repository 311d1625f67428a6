"""Figures of one or two axes: learning curves, gain norms, confusion matrix."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["confusion_matrix", "gain_norms", "learning_curves"]


def learning_curves(history: Sequence[Mapping[str, float | None]]) -> "Figure":
    """Losses and validation accuracy by epoch.

    Args:
        history: One mapping an epoch with the key "epoch" and any of "train_loss",
            "validation_loss" and "validation_accuracy" (0 to 1). A value that is missing, None or
            NaN leaves a gap; a quantity that no epoch has is not drawn.

    Returns:
        A figure of one panel for losses and one for accuracy in percent.
    """
    raise NotImplementedError


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
    """
    raise NotImplementedError


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
    """
    raise NotImplementedError
