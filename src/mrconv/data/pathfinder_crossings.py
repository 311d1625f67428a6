"""Whether two contours meet where neither has a paddle: in their gaps."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["meet"]

Floats = NDArray[np.float64]


def meet(one: Floats, other: Floats, distance: float) -> NDArray[np.bool_]:
    """Whether lines through two rows of points come nearer than a distance.

    Args:
        one: Rows and columns.                                                     (N, P, 2)
        other: (N, Q, 2)
        distance: In pixels.

    Returns:
        (N,)

    Cost: O(N P Q).
    """
    nearest = np.minimum(_nearest(one, other), _nearest(other, one))
    return (nearest < distance**2) | _cross(one, other)


def _nearest(points: Floats, line: Floats) -> Floats:
    """Smallest squared distance of any point from a line of several parts.        (N,)."""
    start, along = line[:, None, :-1], np.diff(line, axis=1)[:, None]
    away = points[:, :, None] - start  # (N, P, Q - 1, 2)
    share = np.clip((away * along).sum(-1) / np.maximum((along**2).sum(-1), 1e-12), 0, 1)
    return ((away - share[..., None] * along) ** 2).sum(-1).min((1, 2))


def _cross(one: Floats, other: Floats) -> NDArray[np.bool_]:
    """Whether any part of one line runs from one side of a part of the other to its other side."""
    sides = [_sides(one, other), _sides(other, one).swapaxes(1, 2)]
    # a part's ends lie on two sides of the other part
    parts = [sides[0][:, :, :-1] * sides[0][:, :, 1:], sides[1][:, :-1] * sides[1][:, 1:]]
    return np.any((parts[0] < 0) & (parts[1] < 0), axis=(1, 2))


def _sides(line: Floats, points: Floats) -> Floats:
    """On which side of each part of a line each point lies, by sign.        (N, P - 1, Q)."""
    along, away = np.diff(line, axis=1)[:, :, None], points[:, None] - line[:, :-1, None]
    return along[..., 0] * away[..., 1] - along[..., 1] * away[..., 0]
