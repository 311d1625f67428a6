"""Figures of many small panels: kernels by layer and resolution, contributions by example."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["contributions", "layer_kernels"]


def layer_kernels(
    layers: Sequence[tuple[str, Sequence[ArrayLike], ArrayLike]],
    kernel_lengths: Sequence[int] | None = None,
    *,
    causal: bool = True,
) -> "Figure":
    """Weighted taps of every resolution and their merged sum: a column a layer, a row a resolution.

    Every row shows its own span of lags, every panel its own scale. Few or scattered taps are
    drawn as stems, dense ones as a line.

    Args:
        layers: Of each layer its name, the weighted taps of each of its R resolutions, for one
            channel (K_i,) or a few (C, K_i), padded with zeros to a common length or not, and the
            merged taps (K,) or (C, K). Layers with fewer resolutions leave panels out.
        kernel_lengths: l_i, in samples (two-sided: of one side); None: as far as a layer has taps
            other than 0.                                                             (R,)
        causal: Whether column j of the taps acts at lag j. If not, there are 2 K columns and
            column j acts at lag j - K.

    Returns:
        A figure of R + 1 rows.
    """
    raise NotImplementedError


def contributions(
    signals: Sequence[ArrayLike],
    shares: ArrayLike,
    labels: Sequence[str],
    kernel_lengths: Sequence[int],
    *,
    predicted: Sequence[str] | None = None,
    kind: Literal["image", "trace"] = "trace",
) -> "Figure":
    """Which resolutions carried the decision, for one example a class.

    Args:
        signals: Of each example its samples (L,), L a square number for images, or an image
            (H, W).                                                                      (N,)
        shares: Part of each resolution in the decision; may be negative (against it).   (N, R)
        labels: True class of each example.                                              (N,)
        kernel_lengths: l_i of each resolution, in samples.                              (R,)
        predicted: Class that the model gave; None: not shown.                           (N,)
        kind: Whether a signal is the rows of a square "image", or a "trace" over time.

    Returns:
        A figure with each example's signal above a bar a resolution.
    """
    raise NotImplementedError
