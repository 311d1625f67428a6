"""Maps of pixels as small pictures: receptive fields, kernels laid out in rows and columns."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ArgumentError, ShapeError
from .canvas import LABEL, headline, new_figure
from .palette import INK, MUTED, SERIES, heat_colors

if TYPE_CHECKING:
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

__all__ = ["map_panels"]

SIDE = 1.5  # inches of a panel
NOTHING = "#f7f9fb"  # between negative and positive values
LEAST = 1e-30  # of a scale, where all is 0


def map_panels(title: str, rows: Sequence[tuple[str, Sequence[tuple[str, ArrayLike]]]]) -> "Figure":
    """Pictures in rows, each on its own scale from its largest magnitude.

    A row without negative values is drawn from light to dark, one with them in two colours with 0
    between them.

    Args:
        title: What is seen.
        rows: Of each row its name, and of each of its pictures a name and the values.  (H, W)

    Returns:
        A figure of as many rows; a row with fewer pictures leaves places empty.

    Raises:
        ArgumentError: If there is nothing to draw.
        ShapeError: If a picture has other than two axes.
        MissingExtraError: If matplotlib is not installed.

    Example:
        >>> pictures = [("stage 1", [[0.0, 1.0], [0.5, 0.0]])]
        >>> figure = map_panels("fields", [("7 x 7", pictures)])
        >>> len(figure.axes)
        1
    """
    columns = max((len(pictures) for _, pictures in rows), default=0)
    if not columns:
        raise ArgumentError(
            f"map_panels: rows must hold at least one picture; got {len(rows)} rows. "
            "Pass (name, [(name, values), ...])."
        )
    figure = new_figure(SIDE * columns + 0.6, (SIDE + 0.35) * len(rows) + 0.4)
    headline(figure, title)
    grid = figure.subplots(len(rows), columns, squeeze=False)
    for (name, pictures), panels in zip(rows, grid, strict=True):
        for ax in panels:
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_visible(False)
            ax.set_facecolor("none")
        panels[0].set_ylabel(name, fontsize=LABEL, color=INK)
        maps = [_checked(values) for _, values in pictures]
        signed = any((one < 0).any() for one in maps)
        for ax, (label, _), drawn in zip(panels, pictures, maps, strict=False):
            most = max(float(np.abs(drawn).max(initial=0.0)), LEAST)
            low = -most if signed else 0.0
            ax.imshow(drawn, cmap=_colors(signed), vmin=low, vmax=most, interpolation="nearest")
            ax.set_title(label, fontsize=LABEL, color=MUTED, parse_math=False)
    return figure


def _checked(values: ArrayLike) -> NDArray[np.float64]:
    drawn = np.asarray(values, dtype=float)
    if drawn.ndim != 2:
        raise ShapeError(
            f"map_panels: a picture must be (height, width); got {drawn.shape}. Pass one map."
        )
    return drawn


def _colors(signed: bool) -> "Colormap":
    from matplotlib.colors import LinearSegmentedColormap, ListedColormap

    if not signed:
        return ListedColormap(heat_colors())
    blue, orange, *_ = SERIES
    return LinearSegmentedColormap.from_list("signs", [orange, NOTHING, blue])
