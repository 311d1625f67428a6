"""Maps of pixels as small pictures: receptive fields, kernels laid out in rows and columns."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ArgumentError, ShapeError
from .canvas import LABEL, headline, new_figure
from .palette import INK, MUTED, SERIES, heat_colors

if TYPE_CHECKING:
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

__all__ = ["Signs", "map_panels"]

Signs = Literal["none", "both"]
SIDE = 1.5  # inches of a panel
NOTHING = "#f7f9fb"  # between negative and positive values


def map_panels(
    title: str, rows: Sequence[tuple[str, Sequence[tuple[str, ArrayLike]]]], signs: Signs
) -> "Figure":
    """Pictures in rows, each on its own scale from its largest magnitude.

    Args:
        title: What is seen.
        rows: Of each row its name, and of each of its pictures a name and the values.  (H, W)
        signs: "none" for values of at least 0, drawn from light to dark; "both" for two colours
            with 0 between them.

    Returns:
        A figure of as many rows; a row with fewer pictures leaves places empty.

    Raises:
        ArgumentError: If there is nothing to draw.
        ShapeError: If a picture has other than two axes.
        MissingExtraError: If matplotlib is not installed.

    Example:
        >>> pictures = [("stage 1", [[0.0, 1.0], [0.5, 0.0]])]
        >>> figure = map_panels("fields", [("7 x 7", pictures)], "none")
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
    colors = _colors(signs)
    for (name, pictures), panels in zip(rows, grid, strict=True):
        for ax in panels:
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_visible(False)
            ax.set_facecolor("none")
        panels[0].set_ylabel(name, fontsize=LABEL, color=INK)
        for ax, (label, values) in zip(panels, pictures, strict=False):
            low, high, drawn = _limits(values, signs)
            ax.imshow(drawn, cmap=colors, vmin=low, vmax=high, interpolation="nearest")
            ax.set_title(label, fontsize=LABEL, color=MUTED, parse_math=False)
    return figure


def _limits(values: ArrayLike, signs: Signs) -> tuple[float, float, NDArray[np.float64]]:
    drawn = np.asarray(values, dtype=float)
    if drawn.ndim != 2:
        raise ShapeError(
            f"map_panels: a picture must be (height, width); got {drawn.shape}. Pass one map."
        )
    most = max(float(np.abs(drawn).max(initial=0.0)), 1e-30)
    return (-most if signs == "both" else 0.0), most, drawn


def _colors(signs: Signs) -> "Colormap":
    from matplotlib.colors import LinearSegmentedColormap, ListedColormap

    if signs == "none":
        return ListedColormap(heat_colors())
    blue, orange, *_ = SERIES
    return LinearSegmentedColormap.from_list("signs", [orange, NOTHING, blue])
