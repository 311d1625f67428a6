"""Kernels as small panels: a column a layer, a row a resolution, the merged sum below."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ArgumentError, ShapeError
from .canvas import LABEL, TICK, dress, headline, new_figure
from .palette import FAINT, INK, MUTED, SERIES, resolution_colors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["layer_kernels", "thinned"]

Layer = tuple[str, Sequence[ArrayLike], ArrayLike]
Taps = NDArray[np.float64]
MOST_POINTS = 600  # of a line, more than a panel has pixels
MANY = 5000  # lags, whose numbers need more room
FEW_TAPS = 40  # drawn as stems; more are a line, unless most of them are 0
# in inches: the height of a row, the least width of a column, margins, and gaps between panels
HEIGHT, WIDTH = 0.85, 1.3
LEFT, RIGHT, TOP, BOTTOM = 1.05, 0.15, 0.6, 0.5
GAP_X, GAP_Y = 0.5, 0.3


class Row(NamedTuple):
    """One row of panels: the taps of every layer at one resolution, or merged."""

    name: str
    color: str
    reach: int
    taps: list[Taps | None]


def layer_kernels(
    layers: Sequence[Layer],
    kernel_lengths: Sequence[int] | None = None,
    *,
    causal: bool = True,
) -> "Figure":
    """Weighted taps of every resolution and their merged sum: a column a layer, a row a resolution.

    Every row shows its own span of lags, every panel its own scale. Few or scattered taps are
    drawn as stems, dense ones as a line; very many as the least and largest of short spans of lags.

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

    Raises:
        ArgumentError: If there is no layer or no resolution.
        ShapeError: If taps have other than one or two axes, none, or an odd number of two-sided
            ones; or if the lengths do not fit.
        MissingExtraError: If matplotlib is not installed.

    Example:
        >>> parts, merged = [[1.0, 0.5], [0.5, 0, 0.2, 0]], [1.5, 0.5, 0.2, 0]
        >>> figure = layer_kernels([("layer 1", parts, merged)])
        >>> len(figure.axes)
        3
    """
    rows = _rows(layers, kernel_lengths, causal)
    figure, grid = _grid(len(rows), len(layers))
    headline(figure, "What each time scale adds to a layer's kernel, and their merged sum")
    for row, panels in zip(rows, grid, strict=True):
        for ax, taps in zip(panels, row.taps, strict=True):
            _draw(ax, taps, row, causal)
        _write_name(panels[0], row)
    for ax, (name, _, _) in zip(grid[0], layers, strict=True):
        ax.set_title(name, fontsize=LABEL, color=INK, parse_math=False)
    for ax in grid[-1]:
        ax.set_xlabel("lag (samples)", fontsize=LABEL, color=MUTED)
    return figure


def _grid(rows: int, columns: int) -> tuple["Figure", NDArray[np.object_]]:
    """A figure and its panels, (rows, columns), at places known beforehand."""
    width = max(10.0, LEFT + RIGHT + WIDTH * columns)
    height = TOP + BOTTOM + HEIGHT * rows
    figure = new_figure(width, height, arranged=False)
    figure.subplots_adjust(LEFT / width, BOTTOM / height, 1 - RIGHT / width, 1 - TOP / height)
    across = (width - LEFT - RIGHT + GAP_X) / columns - GAP_X
    down = (height - TOP - BOTTOM + GAP_Y) / rows - GAP_Y
    figure.subplots_adjust(wspace=GAP_X / across, hspace=GAP_Y / down)
    return figure, figure.subplots(rows, columns, squeeze=False)


def _rows(layers: Sequence[Layer], kernel_lengths: Sequence[int] | None, causal: bool) -> list[Row]:
    """Checks the layers and turns them by resolution, the merged taps last."""
    count = max((len(parts) for _, parts, _ in layers), default=0)
    if not count:
        raise ArgumentError(
            "layer_kernels: layers must hold at least one layer with one resolution; "
            f"got {len(layers)} layers. Pass (name, [taps, ...], merged taps) of each."
        )
    if kernel_lengths is not None and len(kernel_lengths) != count:
        raise ShapeError(
            f"layer_kernels: kernel_lengths must be ({count},), one a resolution; "
            f"got {len(kernel_lengths)} values. Pass l_i of the layer with most resolutions."
        )
    table = [
        [_as_rows(parts[i], causal) if i < len(parts) else None for _, parts, _ in layers]
        for i in range(count)
    ]
    merged: list[Taps | None] = [_as_rows(taps, causal) for _, _, taps in layers]
    reaches = kernel_lengths or [_reach(taps, causal) for taps in table]
    rows = [
        Row(f"{reach:,}\nsamples", color, reach, taps)
        for reach, color, taps in zip(reaches, resolution_colors(count), table, strict=True)
    ]
    whole = max(taps.shape[1] for taps in merged if taps is not None) // (1 if causal else 2)
    return [*rows, Row("merged\nsum", INK, whole, merged)]


def _as_rows(taps: ArrayLike, causal: bool) -> Taps:
    """The taps with an axis for channels.                                            (C, K)"""
    array = np.asarray(taps, dtype=float)
    if array.ndim not in (1, 2) or not array.size or (not causal and array.shape[-1] % 2):
        wanted = "K" if causal else "2 K"
        raise ShapeError(
            f"layer_kernels: taps must be ({wanted},) or (channels, {wanted}); "
            f"got {array.shape}. Pass the taps of one channel or of a few."
        )
    return np.atleast_2d(array)


def _lags(taps: Taps, causal: bool) -> NDArray[np.int64]:
    """Lag of every column.                                                            (K,)"""
    size = taps.shape[1]
    return np.arange(size) - (0 if causal else size // 2)


def _reach(row: Sequence[Taps | None], causal: bool) -> int:
    """Samples of one side from the present to the farthest tap other than 0."""
    farthest = 0
    for taps in row:
        if taps is not None:
            used = _lags(taps, causal)[(taps != 0).any(0)]
            farthest = max(farthest, int(used.max(initial=-1)) + 1, -int(used.min(initial=0)))
    return max(farthest, 1)


def _draw(ax: "Axes", taps: Taps | None, row: Row, causal: bool) -> None:
    """Draws one panel, or leaves it empty."""
    if taps is None:
        ax.set_axis_off()
        return
    _style(ax, row.reach, causal)
    lags = _lags(taps, causal)
    inside = (lags < row.reach) & (lags >= (0 if causal else -row.reach))
    lags, taps = lags[inside], taps[:, inside]
    colors = [row.color] if len(taps) == 1 else list(SERIES)
    used = (taps != 0).any(0)
    stems = used.sum() <= min(FEW_TAPS, len(lags)) or 2 * used.sum() < len(lags)
    size = 2.2 if used.sum() <= FEW_TAPS else 1.1
    for i, channel in enumerate(taps):
        color = colors[i % len(colors)]
        if stems:
            ax.vlines(lags[used], 0, channel[used], color=color, lw=1)
            ax.plot(lags[used], channel[used], ls="", marker="o", ms=size, color=color)
        else:
            ax.plot(*thinned(lags, channel), color=color, lw=0.9)


def thinned(lags: NDArray[np.int64], taps: Taps) -> tuple[NDArray[np.int64], Taps]:
    """A line that looks the same with at most ``MOST_POINTS`` points.

    Of many taps, each bin gives its least and its largest, in order; no peak is lost.

    Args:
        lags: Of every tap.                                                            (K,)
        taps: Of one channel.                                                          (K,)

    Returns:
        Some of the lags and their taps.
    """
    if len(taps) <= MOST_POINTS:
        return lags, taps
    edges = np.linspace(0, len(taps), MOST_POINTS // 2 + 1).astype(int)
    bins = [slice(first, last) for first, last in pairwise(edges)]
    kept = [(one.start + taps[one].argmin(), one.start + taps[one].argmax()) for one in bins]
    places = np.sort(np.array(kept).ravel())
    return lags[places], taps[places]


def _style(ax: "Axes", reach: int, causal: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    dress(ax)
    ax.tick_params(labelsize=TICK - 0.5, pad=1.5)
    ax.axhline(0, color=FAINT, lw=0.7, zorder=0)
    ax.spines["bottom"].set_visible(False)
    first, last = (0 if causal else -reach), reach - 1
    margin = max(0.04 * (last - first), 0.5)
    ax.set_xlim(first - margin, last + margin)
    ax.xaxis.set_major_locator(MaxNLocator(nbins=4 if reach < MANY else 2, integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(nbins=2))
    ax.margins(y=0.12)


def _write_name(ax: "Axes", row: Row) -> None:
    """Writes the name of the row left of its first panel."""
    ax.annotate(
        row.name,
        (0, 0.5),
        xytext=(-34, 0),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="right",
        va="center",
        fontsize=LABEL,
        color=row.color,
        fontweight="bold",
    )
