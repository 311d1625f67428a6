"""The colours of the figures, each with the one that takes its place on a dark page.

Ramps take steps of equal length in Oklab, hence are perceptually uniform: equal steps look equal.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "ACCENT",
    "DARK",
    "FAINT",
    "INK",
    "LEVELS",
    "MUTED",
    "ON_HIGH",
    "ON_LOW",
    "SERIES",
    "heat_colors",
    "resolution_colors",
]

INK, MUTED, FAINT = "#1d232b", "#5b6673", "#d5dae0"
ACCENT = "#3b82c4"
ON_LOW, ON_HIGH = "#161d26", "#fdfeff"  # numbers on weak and on strong cells of a heat map
SERIES = ("#1f6fb2", "#c8571b", "#3d8a5a", "#8a5aa8")
LEVELS = 48  # steps of a heat map
MOST_RESOLUTIONS = 24

# Oklab from linear RGB: Ottosson 2020, "A perceptual color space for image processing"
TO_CONE = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def _lab_from_hex(color: str) -> NDArray[np.float64]:
    rgb = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return TO_LAB @ np.cbrt(TO_CONE @ linear)


def _hex_from_lab(lab: ArrayLike) -> str:
    linear = np.linalg.solve(TO_CONE, np.linalg.solve(TO_LAB, np.asarray(lab, dtype=float)) ** 3)
    linear = np.clip(linear, 0, 1)
    rgb = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return "#" + "".join(f"{round(255 * float(part)):02x}" for part in rgb)


def _line(anchors: Sequence[str], count: int) -> list[str]:
    """``count`` colours at equal distances along straight lines between the anchors in Oklab."""
    labs = np.stack([_lab_from_hex(color) for color in anchors])
    steps = np.linalg.norm(np.diff(labs, axis=0), axis=1)
    places = np.concatenate([[0], np.cumsum(steps)])
    at = np.linspace(0, places[-1], count)
    parts = [np.interp(at, places, labs[:, axis]) for axis in range(3)]
    return [_hex_from_lab(lab) for lab in np.stack(parts, 1)]


HEAT = ("#f1f5f9", "#78aedb", "#12497f")
HEAT_DARK = ("#1f2731", "#2b6ba5", "#b5dcff")
SCALE = ("#35b0a2", "#2f74b8", "#5b3a9c", "#86205a")
SCALE_DARK = ("#4fd3c0", "#5c9fe8", "#9a7cf0", "#dd5a9f")


def heat_colors() -> list[str]:
    """The ``LEVELS`` colours of a heat map, from none to all."""
    return _line(HEAT, LEVELS)


def resolution_colors(count: int) -> list[str]:
    """One colour a resolution, from the shortest kernel to the longest.

    Args:
        count: R, at least 1.

    Returns:
        Colours as "#rrggbb".                                            (R,)

    Example:
        >>> len(resolution_colors(3))
        3
    """
    return _line(SCALE, count)


def _partners() -> dict[str, str]:
    """The dark colour of every light one."""
    pairs = {INK: "#e6ebf1", MUTED: "#9aa7b5", FAINT: "#39434f", ACCENT: "#5aa2e6"}
    pairs |= {ON_LOW: "#f4f8fc", ON_HIGH: "#0a0e13"}
    pairs |= zip(SERIES, ("#62aef0", "#f0935a", "#6cc48d", "#c39ae0"), strict=True)
    pairs |= zip(_line(HEAT, LEVELS), _line(HEAT_DARK, LEVELS), strict=True)
    for count in range(1, MOST_RESOLUTIONS + 1):
        pairs |= zip(_line(SCALE, count), _line(SCALE_DARK, count), strict=True)
    return pairs


DARK = _partners()
