"""Frequency content of kernels, a line a layer, and beside it the weight of each time scale."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ArgumentError, ShapeError
from .canvas import LABEL, dress, new_figure, whole_figure
from .palette import FAINT, INK, resolution_colors
from .plots import gain_norms

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["kernel_spectra", "time_scales"]

FLOOR = -60.0  # decibels below the strongest frequency that are still shown
MOST = 12  # layers named one by one
MOST_POINTS = 400  # of a line


def kernel_spectra(
    taps: Sequence[ArrayLike],
    layer_names: Sequence[str] | None = None,
    *,
    sample_rate: float | None = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """Mean power spectrum of every layer's kernels, in decibels below its strongest frequency.

    P(f) = mean_d |sum_j taps[d, j] exp(-2 pi i f j)|^2

    Args:
        taps: Of each layer, of equal or different lengths.                (D, K) each
        layer_names: Of each; None: 1, 2, ..., the first next to the input.
        sample_rate: In Hz; None: frequencies are in cycles a sample.
        ax: Where to draw; None: a new figure.

    Returns:
        The figure; the frequency 0 stands at the left edge, on a logarithmic axis.

    Raises:
        ArgumentError: If there is no layer, or ax is in no figure.
        ShapeError: If taps are not (D, K), or the names are not as many as the layers.
        MissingExtraError: If matplotlib is not installed.

    Source: Cunningham et al. 2024 describe how kernels change with depth by their frequencies.

    Example:
        >>> figure = kernel_spectra([[[1.0, -1.0, 0.0, 0.0]], [[1.0, 1.0, 0.0, 0.0]]])
        >>> low, high = (line.get_ydata()[[0, -1]] for line in figure.axes[0].lines)
        >>> bool(low[0] < low[1]), bool(high[0] > high[1])
        (True, True)
    """
    arrays = [np.asarray(one, dtype=float) for one in taps]
    names = [str(i + 1) for i in range(len(arrays))] if layer_names is None else list(layer_names)
    _check(arrays, names)
    if ax is None:
        ax = new_figure(6.4, 3.6).add_subplot()
    rate, unit = (1.0, "cycles a sample") if sample_rate is None else (sample_rate, "Hz")
    dress(ax, "Frequency content of the kernels, by layer", f"frequency ({unit})", "power (dB)")
    least = 0.0
    for array, name, color in zip(arrays, names, resolution_colors(len(arrays)), strict=True):
        frequencies, power = _spectrum(array)
        least = min(least, float(power.min()))
        ax.plot(rate * frequencies, power, color=color, lw=1.5, label=name)
    ax.set_xscale("log")
    ax.tick_params(which="minor", color=FAINT, length=2)
    ax.set_ylim(max(FLOOR, least - 3), 3)
    ax.grid(axis="y", color=FAINT, lw=0.6)
    ax.set_axisbelow(True)
    if len(names) <= MOST:
        ax.legend(
            title="layer",
            frameon=False,
            fontsize=LABEL,
            title_fontsize=LABEL,
            labelcolor=INK,
            handlelength=1.4,
            loc="lower left",
        )
    return whole_figure(ax)


def time_scales(
    taps: Sequence[ArrayLike],
    squares: ArrayLike | None = None,
    kernel_lengths: Sequence[int] = (),
    layer_names: Sequence[str] | None = None,
    *,
    sample_rate: float | None = None,
) -> "Figure":
    """Gains by layer and resolution where there are any, and the kernels' spectra by layer.

    Args:
        taps: As ``kernel_spectra`` takes them.
        squares: As ``gain_norms`` takes them; None: only the spectra are drawn.
        kernel_lengths: Of each column of ``squares``.
        layer_names: Of each layer.
        sample_rate: In Hz; None: not known.

    Returns:
        A figure of one or two panels.

    Example:
        >>> taps = [[[1.0, 0.5, 0.2, 0.1]]] * 2
        >>> len(time_scales(taps, [[3, 1], [1, 1]], [2, 4]).axes)
        2
    """
    if squares is None:
        return kernel_spectra(taps, layer_names, sample_rate=sample_rate)
    figure = new_figure(11.0, max(3.6, 1.4 + 0.36 * len(taps)))
    left, right = figure.subplots(1, 2)
    gain_norms(squares, kernel_lengths, layer_names, ax=left)
    return kernel_spectra(taps, layer_names, sample_rate=sample_rate, ax=right)


def _check(arrays: Sequence[NDArray[np.float64]], names: Sequence[str]) -> None:
    if not arrays:
        raise ArgumentError(
            "kernel_spectra: taps must hold those of at least one layer; got none. "
            "Pass (channels, taps) of each."
        )
    for array in arrays:
        if array.ndim != 2 or not array.size:
            raise ShapeError(
                f"kernel_spectra: taps must be (channels, taps) of each layer; got {array.shape}. "
                "Pass one array a layer."
            )
    if len(names) != len(arrays):
        raise ShapeError(
            f"kernel_spectra: layer_names must be one a layer, {len(arrays)}; got {len(names)}. "
            "Name each layer once."
        )


def _spectrum(taps: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Frequencies in cycles a sample, and decibels below the strongest."""
    # zeros behind the taps show the spectrum between the bins of the kernel's own length
    size = 2 * max(taps.shape[1], 32)
    squares = np.abs(np.fft.rfft(taps, size)) ** 2
    frequencies = np.arange(size // 2 + 1) / size
    frequencies[0] = frequencies[1] / 2  # 0 has no place on a logarithmic axis
    frequencies, power = _thinned(frequencies, np.asarray(squares.mean(0), dtype=np.float64))
    strongest = max(power.max(), np.finfo(float).tiny)
    return frequencies, 10 * np.log10(np.maximum(power / strongest, 10 ** (FLOOR / 10)))


def _thinned(
    frequencies: NDArray[np.float64], power: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means over bins of equal ratio where there are more frequencies than a line can show."""
    if len(power) <= MOST_POINTS:
        return frequencies, power
    edges = np.geomspace(frequencies[0], frequencies[-1] * (1 + 1e-9), MOST_POINTS + 1)
    places = np.searchsorted(edges, frequencies, side="right") - 1
    used, counts = np.unique(places, return_counts=True)
    sums = np.bincount(places, power, MOST_POINTS)[used]
    middles = np.bincount(places, frequencies, MOST_POINTS)[used]
    return middles / counts, sums / counts
