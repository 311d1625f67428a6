"""Contours of many Pathfinder images at once: paddle by paddle, in step."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .pathfinder_canvas import TRIES, Canvases, Draws, Indices
from .pathfinder_paddles import DEGREES, Paddles
from .random_streams import Keys, below

__all__ = ["Contours", "drawn_contours"]

#: Times that a distractor is begun, and places that are tried each time.
BEGINNINGS, PLACES = 5, 64


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


def drawn_contours(paddles: Paddles, keys: Keys, contour_length: int) -> tuple[Contours, Draws]:
    """Two contours and the distractors of every image.

    Args:
        paddles: Tables of the size.
        keys: One for each image.                                                    (N,)
        contour_length: Paddles of each of the two contours; distractors have a third of them.

    Returns:
        The contours, and the images' random numbers from there on.
    """
    draws, images = Draws(keys), np.arange(len(keys))
    margin = below(draws.bits(images), len(paddles.settings.margins))
    canvases = Canvases(paddles, margin)
    stamps, centres = _grown_targets(canvases, draws, contour_length)
    length = contour_length // 3
    count = paddles.settings.distractor_paddles // length
    distractors = [_grown_distractor(canvases, draws, length) for _ in range(count)]
    return (
        Contours(
            margin,
            stamps,
            centres,
            np.stack([one for one, _ in distractors], 1),
            np.stack([one for _, one in distractors], 1),
        ),
        draws,
    )


class _Growing:
    """Contours that grow on one canvas of each image, and their paddles so far."""

    def __init__(self, canvases: Canvases, draws: Draws, which: int, length: int) -> None:
        self.canvases, self.draws, self.which = canvases, draws, which
        shape = (len(canvases.margin), length)
        self.stamps, self.centres = np.full(shape, -1), np.zeros(shape, np.int64)

    def extend(self, images: Indices, step: Indices) -> NDArray[np.bool_]:
        """Adds paddle number ``step`` of each of some images, and says where it was possible."""
        canvases, paddles = self.canvases, self.canvases.paddles
        last = self.stamps[images, step - 1]
        pivots = self.centres[images, step - 1] + paddles.advance[last]
        summed = canvases.heads(images, self.which, pivots, last)
        steps = paddles.steps[canvases.margin[images]]
        heads = paddles.candidates[canvases.margin[images]]
        done = np.zeros(len(images), bool)
        left = np.flatnonzero(summed[:, -1] > 0)
        for _ in range(TRIES):
            level = self.draws.uniform(images[left]) * summed[left, -1]
            chosen = (summed[left] <= level[:, None]).sum(1)
            chosen = np.minimum(chosen, summed.shape[1] - 1)
            stamps, centres = steps[left] + chosen, pivots[left] + heads[left, chosen]
            fits = ~canvases.collide(images[left], self.which, stamps, centres)
            mine = images[left[fits]]
            self.stamps[mine, step[left[fits]]] = stamps[fits]
            self.centres[mine, step[left[fits]]] = centres[fits]
            done[left[fits]] = True
            left = left[~fits]
            if not len(left):
                break
        # a paddle may touch the one before it, so that one is painted only now
        self.paint(images[done], step[done] - 1, self.which)
        return done

    def paint(self, images: Indices, step: Indices, which: int) -> None:
        """Takes the room of the paddles with these numbers on a canvas."""
        stamps, centres = self.stamps[images, step], self.centres[images, step]
        self.canvases.paint(images, which, stamps, centres)


def _grown_targets(canvases: Canvases, draws: Draws, length: int) -> tuple[Indices, Indices]:
    """The two contours of every image; one that cannot grow lets its image begin anew.

    Each contour has a canvas, which holds all paddles but its own last one.
    """
    count = len(canvases.margin)
    pair = [_Growing(canvases, draws, which, length) for which in (0, 1)]
    step = np.zeros(count, np.int64)
    active = fresh = np.arange(count)
    while len(active):
        _begin_targets(pair, fresh)
        step[fresh] = 1
        alive = active
        for which, snake in enumerate(pair):
            alive = alive[snake.extend(alive, step[alive])]
            snake.paint(alive, step[alive], 1 - which)
        fresh = np.setdiff1d(active, alive, assume_unique=True)
        step[alive] += 1
        active = active[step[active] < length]
    images = np.arange(count)
    for which, snake in enumerate(pair):
        snake.paint(images, np.full(count, length - 1), which)
    canvases.merge(images)
    return tuple(np.stack([getattr(one, name) for one in pair], 1) for name in ("stamps", "centres"))


def _begin_targets(pair: list[_Growing], images: Indices) -> None:
    """Empty canvases with the first paddles of both contours of some images."""
    canvases, draws = pair[0].canvases, pair[0].draws
    paddles, settings = canvases.paddles, canvases.paddles.settings
    canvases.clear(images)
    begins = paddles.begins[canvases.margin[images]]
    first, second, angle = (below(draws.bits(images), DEGREES) for _ in range(3))
    # the second one must stay inside with all that surrounds it
    room = settings.size - 4 * settings.seed_distance
    row, column = (2 * settings.seed_distance + below(draws.bits(images), room) for _ in range(2))
    around = settings.seed_distance * np.stack([np.sin(np.radians(angle)), np.cos(np.radians(angle))])
    away = np.rint(around).astype(np.int64)
    for snake, orientation, rows, columns in (
        (pair[0], first, row, column),
        (pair[1], second, row + away[0], column + away[1]),
    ):
        snake.stamps[images, 0] = begins + orientation
        snake.centres[images, 0] = (rows + paddles.pad) * paddles.side + columns + paddles.pad
        snake.paint(images, np.zeros(len(images), np.int64), 1 - snake.which)


def _grown_distractor(canvases: Canvases, draws: Draws, length: int) -> tuple[Indices, Indices]:
    """One distractor an image, where there is room for it. The first canvas keeps what is sure."""
    count = len(canvases.margin)
    snake = _Growing(canvases, draws, 1, length)
    left = np.arange(count)
    for _ in range(BEGINNINGS):
        alive = left[_begin_distractor(snake, left)]
        for step in range(1, length):
            alive = alive[snake.extend(alive, np.full(len(alive), step))]
        snake.paint(alive, np.full(len(alive), length - 1), 1)
        canvases.copy(alive, 1)
        left = np.setdiff1d(left, alive, assume_unique=True)
        canvases.copy(left, 0)
    snake.stamps[left] = -1
    return snake.stamps, snake.centres


def _begin_distractor(snake: _Growing, images: Indices) -> NDArray[np.bool_]:
    """A first paddle where it fits: the first of many random places of each image."""
    canvases, draws, paddles = snake.canvases, snake.draws, snake.canvases.paddles
    size = paddles.settings.size
    orientation = below(draws.bits(images), DEGREES)
    stamps = paddles.begins[canvases.margin[images]] + orientation
    places = draws.several(images, PLACES)
    rows, columns = below(places, size), below(places >> np.uint64(32), size)
    centres = (rows + paddles.pad) * paddles.side + columns + paddles.pad
    fits = ~canvases.collide(images, snake.which, stamps, centres)
    first = fits.argmax(1)
    snake.stamps[images, 0] = stamps
    snake.centres[images, 0] = centres[np.arange(len(images)), first]
    return fits.any(1)
