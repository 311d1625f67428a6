"""Contours and distractors of many Pathfinder images at once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .pathfinder_canvas import Canvases, Draws, Indices
from .pathfinder_growth import Growing
from .pathfinder_paddles import DEGREES, Paddles
from .pathfinder_targets import drawn_targets
from .random_streams import Keys, below

__all__ = ["Contours", "drawn_contours"]

#: Times that a distractor is begun, and places that are tried each time.
BEGINNINGS, PLACES = 5, 64
#: Bytes of the canvases, which should stay near the cores.
ROOM = 2**24


@dataclass(frozen=True)
class Contours:
    """The paddles of N images, by stamp and centre; a stamp of -1 is none."""

    margin: Indices
    """Number of the margin.                                                         (N,)"""
    stamps: Indices
    """Of the two contours.                                         (N, 2, contour_length)"""
    centres: Indices
    """Pixels of the padded canvas laid end to end.                 (N, 2, contour_length)"""
    distractor_stamps: Indices
    """(N, distractors, distractor_length)"""
    distractor_centres: Indices
    """(N, distractors, distractor_length)"""


def drawn_contours(paddles: Paddles, keys: Keys, contour_length: int) -> Contours:
    """Two contours and the distractors of every image.

    Args:
        paddles: Tables of the size.
        keys: One for each image.                                                    (N,)
        contour_length: Paddles of each of the two contours; distractors have a third of them.
    """
    lanes = max(1, min(ROOM // (4 * paddles.side**2), 2 * len(keys)))
    margin, stamps, centres = drawn_targets(paddles, keys, contour_length, lanes)
    length = contour_length // 3
    count = paddles.settings.distractor_paddles // length
    found = np.zeros((2, len(keys), count, length), np.int64)
    for first in range(0, len(keys), lanes):
        rows = slice(first, first + lanes)
        found[:, rows] = _distractors(
            paddles, keys[rows], (margin[rows], stamps[rows], centres[rows]), (count, length)
        )
    return Contours(margin, stamps, centres, *found)


def _distractors(
    paddles: Paddles,
    keys: Keys,
    targets: tuple[Indices, Indices, Indices],
    shape: tuple[int, int],
) -> NDArray[np.int64]:
    """Stamps and centres of the distractors of some images.         (2, N, count, length)."""
    margin, stamps, centres = targets
    images, (count, length) = np.arange(len(keys)), shape
    canvases = Canvases(paddles, len(keys))
    canvases.clear(images, margin)
    for contour, step in np.ndindex(stamps.shape[1:]):
        for which in (0, 1):
            canvases.paint(images, which, stamps[:, contour, step], centres[:, contour, step])
    # numbers that no attempt at the contours has drawn
    draws = Draws(~keys)
    snakes = [_grown(Growing(canvases, draws, 1, length), margin) for _ in range(count)]
    return np.stack([[one.stamps, one.centres] for one in snakes], 2)


def _grown(snake: Growing, margin: Indices) -> Growing:
    """One distractor an image, where there is room. Canvas 0 keeps what is sure, 1 is tried on."""
    left = np.arange(len(margin))
    for _ in range(BEGINNINGS):
        alive = left[_begin(snake, left, margin[left])]
        for step in range(1, snake.stamps.shape[1]):
            alive = alive[snake.extend(alive, np.full(len(alive), step))]
        snake.paint(alive, -1, 1)
        snake.canvases.copy(alive, 1)
        left = np.setdiff1d(left, alive, assume_unique=True)
        snake.canvases.copy(left, 0)
    snake.stamps[left] = -1
    return snake


def _begin(snake: Growing, images: Indices, margin: Indices) -> NDArray[np.bool_]:
    """A first paddle at the first of some random places where it fits; whether there was one."""
    paddles, draws = snake.canvases.paddles, snake.draws
    size = paddles.settings.size
    stamps = paddles.begins[margin] + below(draws.bits(images), DEGREES)
    places = draws.several(images, PLACES)
    centres = paddles.place(below(places, size), below(places >> np.uint64(32), size))
    fits = ~snake.canvases.collide(images, snake.which, stamps, centres)
    snake.stamps[images, 0] = stamps
    snake.centres[images, 0] = centres[np.arange(len(images)), fits.argmax(1)]
    return np.any(fits, axis=1)
