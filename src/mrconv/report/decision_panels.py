"""One example a class with the resolutions that carried the decision."""

from collections.abc import Sequence
from math import isqrt
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import check_choice
from ..errors import ShapeError
from .canvas import LABEL, TICK, dress, headline, new_figure
from .palette import ACCENT, FAINT, INK, MUTED, SERIES, resolution_colors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["COLUMNS", "contributions", "pair_grid", "write_label"]

Floats = NDArray[np.float64]
COLUMNS = 5  # examples side by side
PICTURE, BARS = 1.35, 0.9  # heights in inches
FEW_DIGITS = 26  # of all kernel lengths, that stand side by side below the bars


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

    Raises:
        ShapeError: If there is no example, if the sizes do not fit each other, or if an image's
            length is not a square number.
        ArgumentError: If ``kind`` is another word.
        MissingExtraError: If matplotlib is not installed.

    Example:
        >>> figure = contributions([[0, 1, 0, 2]], [[0.3, 0.7]], ["up"], [2, 4], kind="image")
        >>> [float(bar.get_height()) for bar in figure.axes[1].patches]
        [0.3, 0.7]
    """
    check_choice("contributions", "kind", kind, ("image", "trace"))
    parts = np.asarray(shares, dtype=float)
    given = list(labels) if predicted is None else list(predicted)
    _check_sizes(len(signals), parts, (len(labels), len(given)), len(kernel_lengths))
    signal_axes, bar_axes, figure = pair_grid(len(signals))
    headline(figure, "Which time scales carried the decision, one example a class")
    for ax, signal, label, guess in zip(signal_axes, signals, labels, given, strict=True):
        _draw_signal(ax, np.asarray(signal, dtype=float), kind)
        write_label(ax, label, guess)
    for ax, part in zip(bar_axes, parts, strict=True):
        _draw_bars(ax, part, kernel_lengths)
    _name_axes(bar_axes)
    return figure


def _check_sizes(count: int, parts: Floats, named: tuple[int, int], resolutions: int) -> None:
    wanted = (count, resolutions)
    if not count or parts.shape != wanted or named != (count, count):
        raise ShapeError(
            f"contributions: {count} signals and {resolutions} kernel lengths must have shares of "
            f"shape {wanted} and {count} labels; got shares of shape {parts.shape}, {named[0]} "
            f"labels and {named[1]} predicted ones. Pass one row of shares and one label a signal."
        )


def pair_grid(count: int) -> tuple[list["Axes"], list["Axes"], "Figure"]:
    """Pairs of panels, ``COLUMNS`` side by side: those above, those below them, and the figure."""
    columns = min(count, COLUMNS)
    blocks = -(-count // columns)
    figure = new_figure(2 * max(columns, 2), 0.45 + blocks * (PICTURE + BARS + 0.55))
    axes = figure.subplots(
        2 * blocks, columns, squeeze=False, height_ratios=[PICTURE, BARS] * blocks
    )
    signals, bars = list(axes[0::2].ravel()), list(axes[1::2].ravel())
    for ax in (*signals[count:], *bars[count:]):
        ax.remove()
    for ax in bars[1:count]:
        ax.sharey(bars[0])
    return signals[:count], bars[:count], figure


def _draw_signal(ax: "Axes", signal: Floats, kind: str) -> None:
    dress(ax)
    if kind == "image":
        _draw_image(ax, _as_image(signal))
        return
    ax.plot(signal.ravel(), color=ACCENT, lw=0.9)
    ax.set_xlabel("time (samples)", fontsize=LABEL, color=MUTED)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.tick_params(labelsize=TICK - 0.5)


def _as_image(signal: Floats) -> Floats:
    """The signal as the rows of a picture.                                        (H, W)"""
    if signal.ndim == 2:
        return signal
    side = isqrt(signal.size)
    if signal.ndim != 1 or side * side != signal.size or not side:
        raise ShapeError(
            "contributions: an image must be (H, W), or a row whose length is a square number; "
            f'got {signal.shape}. Pass kind="trace" for other sequences.'
        )
    return signal.reshape(side, side)


def _draw_image(ax: "Axes", image: Floats) -> None:
    """Draws brightness as the opacity of one colour, which reads on light and on dark ground."""
    from matplotlib.colors import to_rgb

    low, high = image.min(), image.max()
    painted = np.empty((*image.shape, 4))
    painted[..., :3] = to_rgb(ACCENT)
    painted[..., 3] = (image - low) / (high - low) if high > low else 0
    ax.imshow(painted, interpolation="nearest")
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(True)


def write_label(ax: "Axes", label: str, guess: str) -> None:
    """Names a panel by its class, and where the model was wrong by what it said."""
    wrong = guess != label
    title = f"{label}, taken for {guess}" if wrong else label
    color = SERIES[1] if wrong else INK
    ax.set_title(title, fontsize=LABEL + 1, color=color, fontweight="bold", parse_math=False)


def _draw_bars(ax: "Axes", part: Floats, kernel_lengths: Sequence[int]) -> None:
    from matplotlib.ticker import MaxNLocator

    dress(ax)
    ax.bar(range(len(part)), part, width=0.8, color=resolution_colors(len(part)))
    ax.axhline(0, color=FAINT, lw=0.8)
    ax.set_xticks(range(len(part)), [f"{length:,}" for length in kernel_lengths])
    crowded = sum(len(f"{length:,}") + 1 for length in kernel_lengths) > FEW_DIGITS
    turn = 90 if crowded else 0
    ax.tick_params(axis="x", labelsize=TICK - 1, length=0, rotation=turn, pad=1)
    ax.tick_params(axis="y", labelsize=TICK - 0.5)
    ax.yaxis.set_major_locator(MaxNLocator(nbins=3))
    ax.spines["bottom"].set_visible(False)


def _name_axes(bars: Sequence["Axes"]) -> None:
    """Names the axes at the left and at the bottom only."""
    columns = min(len(bars), COLUMNS)
    for i, ax in enumerate(bars):
        if i % columns == 0:
            ax.set_ylabel("share", fontsize=LABEL, color=MUTED)
        else:
            ax.tick_params(axis="y", left=False, labelleft=False)
            ax.spines["left"].set_visible(False)
        if i + columns >= len(bars):
            ax.set_xlabel("kernel length (samples)", fontsize=LABEL, color=MUTED)
