"""How sure a model is of each class while a recording comes in."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ShapeError
from .canvas import LABEL, TICK, dress, headline
from .decision_panels import COLUMNS, pair_grid, write_label
from .palette import ACCENT, FAINT, MUTED, SERIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["streamed"]

Floats = NDArray[np.float64]


def streamed(
    signals: Sequence[ArrayLike],
    times: Sequence[ArrayLike],
    probabilities: Sequence[ArrayLike],
    true: Sequence[int],
    labels: Sequence[str],
    *,
    rate: float,
) -> "Figure":
    """Each recording above the probability of every class over time, the true one in colour.

    Args:
        signals: Samples of each recording (L,).                                       (N,)
        times: When each answer of a recording was given, in seconds (n,).             (N,)
        probabilities: Of each class in each answer (n, classes).                      (N,)
        true: Class of each recording.                                                 (N,)
        labels: Name of each class.                                              (classes,)
        rate: Of the samples, in Hz.

    Returns:
        A figure; recordings whose last answer is another class say which.

    Raises:
        ShapeError: If there is no recording, or the sizes do not fit each other.
        MissingExtraError: If matplotlib is not installed.

    Example:
        >>> figure = streamed([[0, 1]], [[0.5, 1]], [[[0.4, 0.6], [0.9, 0.1]]], [0], "ab", rate=2)
        >>> figure.axes[0].get_title()
        'a'
    """
    parts = [np.asarray(one, dtype=float) for one in probabilities]
    _check_sizes((len(signals), len(times), len(true)), times, parts, len(labels))
    above, below, figure = pair_grid(len(signals))
    headline(figure, "Probability of each class while the recording comes in")
    for i, (wave, lines) in enumerate(zip(above, below, strict=True)):
        samples = np.asarray(signals[i], dtype=float).ravel()
        _draw_wave(wave, samples, rate)
        write_label(wave, labels[true[i]], labels[int(parts[i][-1].argmax())])
        _draw_lines(lines, np.asarray(times[i], dtype=float), parts[i], true[i])
        lines.set_xlim(0, len(samples) / rate)
        _name_axes(lines, i, len(signals))
    return figure


def _check_sizes(
    counts: tuple[int, int, int], times: Sequence[ArrayLike], parts: list[Floats], classes: int
) -> None:
    wanted = [(len(np.asarray(one)), classes) for one in times]
    found = [part.shape for part in parts]
    if not parts or found != wanted or counts != (len(parts),) * 3:
        raise ShapeError(
            f"streamed: every recording must have signal, times, true class and probabilities "
            f"(answers, {classes}); got {counts} of the first three and probabilities of shapes "
            f"{found}. Pass one of each a recording."
        )


def _draw_wave(ax: "Axes", samples: Floats, rate: float) -> None:
    dress(ax)
    ax.plot(np.arange(len(samples)) / rate, samples, color=ACCENT, lw=0.5)
    ax.set_xlim(0, len(samples) / rate)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.tick_params(labelsize=TICK - 0.5)


def _draw_lines(ax: "Axes", times: Floats, parts: Floats, true: int) -> None:
    dress(ax)
    for i, line in enumerate(parts.T):
        color, width, order = (SERIES[1], 1.6, 3) if i == true else (MUTED, 0.6, 2)
        ax.plot(times, line, color=color, lw=width, zorder=order)
    ax.set_ylim(0, 1)
    ax.grid(axis="y", color=FAINT, lw=0.6)
    ax.tick_params(labelsize=TICK - 0.5)


def _name_axes(ax: "Axes", place: int, count: int) -> None:
    """Names the axes at the left and at the bottom only."""
    if place % COLUMNS == 0:
        ax.set_ylabel("probability", fontsize=LABEL, color=MUTED)
    if place + COLUMNS >= count:
        ax.set_xlabel("time (s)", fontsize=LABEL, color=MUTED)
