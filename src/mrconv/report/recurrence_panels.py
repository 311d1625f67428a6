"""A few filters beside the recurrences that replace them: spectrum, taps, poles."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ArgumentError, ShapeError
from .canvas import LABEL, TICK, dress, legend_below, new_figure
from .kernel_panels import thinned
from .palette import FAINT, INK, MUTED, SERIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["RecurrenceFit", "recurrence_fits"]

MOST = len(SERIES)
SMALLEST = 1e-16  # of a spectrum, relative: below is rounding


class RecurrenceFit(NamedTuple):
    """One filter, and the recurrence behind its explicit taps."""

    name: str
    spectrum: ArrayLike
    """Hankel singular values, relative to the first.                    (n,)"""
    order: int
    """Real numbers of state."""
    fir_head: int
    """Explicit taps."""
    taps: ArrayLike
    """Of the filter.                                                    (K,)"""
    fit: ArrayLike
    """Of explicit taps and recurrence.                                  (K,)"""
    poles: ArrayLike
    """Complex, one of each conjugate pair.                              (M,)"""


def recurrence_fits(fits: Sequence[RecurrenceFit]) -> "Figure":
    """How many states filters need, how close their recurrences come, and where the poles lie.

    Args:
        fits: One to four filters.

    Returns:
        A figure of a panel for the Hankel spectra, one for the taps of each filter behind the
        explicit ones, and the unit disc.

    Raises:
        ArgumentError: If there are none or more than four filters.
        ShapeError: If a filter has another number of taps than its fit.
        MissingExtraError: If matplotlib is not installed.

    Example:
        >>> taps = [1.0, 0.5, 0.25, 0.125]
        >>> figure = recurrence_fits([RecurrenceFit("a", [1.0, 0.0], 1, 1, taps, taps, [0.5 + 0j])])
        >>> len(figure.axes)
        3
    """
    if not 1 <= len(fits) <= MOST:
        raise ArgumentError(
            f"recurrence_fits: fits must be 1 to {MOST} filters; got {len(fits)}. "
            "Choose some, such as the best and the worst."
        )
    for fit in fits:
        if np.shape(fit.taps) != np.shape(fit.fit) or np.ndim(fit.taps) != 1:
            raise ShapeError(
                "recurrence_fits: taps and fit must be (K,); "
                f"got {np.shape(fit.taps)} and {np.shape(fit.fit)}. Pass both over the same lags."
            )
    figure = new_figure(10, 1.1 + 0.95 * max(len(fits), 2))
    grid = figure.add_gridspec(len(fits), 3, width_ratios=(2.6, 4.4, 2.6), wspace=0.06)
    _draw_spectra(figure.add_subplot(grid[:, 0]), fits)
    middle = [figure.add_subplot(grid[i, 1]) for i in range(len(fits))]
    for i, (ax, fit) in enumerate(zip(middle, fits, strict=True)):
        _draw_taps(ax, fit, SERIES[i], first=i == 0, last=i == len(fits) - 1)
    _draw_disc(figure.add_subplot(grid[:, 2]), fits)
    legend_below(figure, *middle[-1].get_legend_handles_labels(), columns=2)
    return figure


def _draw_spectra(ax: "Axes", fits: Sequence[RecurrenceFit]) -> None:
    dress(ax, "Hankel spectrum", "state", "singular value")
    ax.set_yscale("log")
    for fit, color in zip(fits, SERIES, strict=False):
        values = np.maximum(np.asarray(fit.spectrum, dtype=float), SMALLEST)
        ax.plot(np.arange(1, len(values) + 1), values, color=color, lw=1.4)
        if 0 < fit.order <= len(values):
            ax.plot(fit.order, values[fit.order - 1], color=color, marker="o", ms=5, ls="")
    ax.grid(axis="y", color=FAINT, lw=0.6)
    ax.set_axisbelow(True)


def _draw_taps(ax: "Axes", fit: RecurrenceFit, color: str, *, first: bool, last: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    taps, made = (np.asarray(one, dtype=float) for one in (fit.taps, fit.fit))
    start = fit.fir_head if len(taps) > fit.fir_head else 0
    behind = f"Taps behind the {start} explicit ones" if start else "Taps, all of them explicit"
    dress(ax, behind if first else "", "lag (samples)" if last else "")
    lags = np.arange(start, len(taps))
    ax.axhline(0, color=FAINT, lw=0.7, zorder=0)
    ax.plot(*thinned(lags, taps[start:]), color=INK, lw=2.2, alpha=0.35, label="filter")
    label = "recurrence" if last else None
    ax.plot(*thinned(lags, made[start:]), color=color, lw=1.0, label=label)
    ax.set_ylabel(fit.name, fontsize=LABEL, color=color, rotation=0, ha="right", va="center")
    ax.tick_params(labelsize=TICK - 0.5, labelbottom=last)
    ax.yaxis.set_major_locator(MaxNLocator(nbins=2))


def _draw_disc(ax: "Axes", fits: Sequence[RecurrenceFit]) -> None:
    dress(ax, "Poles in the unit disc", "real part", "imaginary part")
    turn = np.linspace(0, 2 * np.pi, 181)
    ax.plot(np.cos(turn), np.sin(turn), color=MUTED, lw=0.9)
    ax.axhline(0, color=FAINT, lw=0.7, zorder=0)
    ax.axvline(0, color=FAINT, lw=0.7, zorder=0)
    for fit, color in zip(fits, SERIES, strict=False):
        poles = _with_conjugates(np.asarray(fit.poles, dtype=complex))
        ax.plot(poles.real, poles.imag, color=color, marker="x", ms=4, mew=1.1, ls="")
    ax.set(xlim=(-1.06, 1.06), ylim=(-1.06, 1.06), aspect="equal")
    ax.set_xticks([-1, 0, 1])
    ax.set_yticks([-1, 0, 1])


def _with_conjugates(poles: NDArray[np.complex128]) -> NDArray[np.complex128]:
    return np.concatenate([poles, poles[np.abs(poles.imag) > 1e-6 * np.abs(poles)].conj()])
