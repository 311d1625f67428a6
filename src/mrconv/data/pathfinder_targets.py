"""The two long contours of Pathfinder images, tried again until both have their length."""

import numpy as np
from numpy.typing import NDArray

from .pathfinder_canvas import Canvases, Draws, Indices
from .pathfinder_crossings import meet
from .pathfinder_growth import Growing
from .pathfinder_paddles import DEGREES, Paddles
from .random_streams import Keys, below, drawn

__all__ = ["drawn_targets"]

#: Pixels between the contours, gaps included; at 32 x 32 one in forty would come nearer.
APART = 0.5
NEVER = np.iinfo(np.int64).max


def drawn_targets(
    paddles: Paddles, keys: Keys, length: int, lanes: int
) -> tuple[Indices, Indices, Indices]:
    """Two contours for each of N images.

    Attempt j of an image draws its numbers from (key, j), and the first that succeeds is taken. So
    many attempts can be made side by side, also at one image, and none changes another.

    Args:
        paddles: Tables of the size.
        keys: One for each image.                                                    (N,)
        length: Paddles of a contour, at least 2.
        lanes: Attempts side by side.

    Returns:
        Margin numbers (N,), stamps (N, 2, length) and centres (N, 2, length).
    """
    attempts = _Attempts(paddles, keys, length, lanes)
    while attempts.go_on():
        pass
    return attempts.margins, attempts.stamps, attempts.centres


class _Attempts:
    """Attempts in lanes. Each image has two canvases: one lacks the last paddle of contour 0, one
    that of contour 1, because a paddle may touch the one before it, and no other.
    """

    def __init__(self, paddles: Paddles, keys: Keys, length: int, lanes: int) -> None:
        self.keys, self.length = keys, length
        self.canvases, self.draws = Canvases(paddles, lanes), Draws(np.zeros(lanes, np.uint64))
        self.pair = [Growing(self.canvases, self.draws, which, length) for which in (0, 1)]
        self.image, self.attempt, self.step, self.margin = np.zeros((4, lanes), np.int64)
        self.begun, self.winner = np.zeros(len(keys), np.int64), np.full(len(keys), NEVER)
        self.margins = np.zeros(len(keys), np.int64)
        self.stamps, self.centres = np.zeros((2, len(keys), 2, length), np.int64)
        self.busy = np.zeros(lanes, bool)

    def go_on(self) -> bool:
        """Adds one paddle to every contour in a lane; False where nothing is left to do."""
        self._fill()
        lanes = np.flatnonzero(self.busy)
        for which, contours in enumerate(self.pair):
            alive = contours.extend(lanes, self.step[lanes])
            self.busy[lanes[~alive]] = False
            lanes = lanes[alive]
            contours.paint(lanes, self.step[lanes], 1 - which)
        self.step[lanes] += 1
        whole = lanes[self.step[lanes] == self.length]
        self.busy[whole] = False
        one, other = (self._points(contours, whole) for contours in self.pair)
        for lane in whole[~meet(one, other, APART)]:
            self._keep(lane)
        # what can no longer be the first is given up
        self.busy &= self.attempt < self.winner[self.image]
        return bool(self.busy.any() or (self.winner == NEVER).any())

    def _points(self, contours: Growing, lanes: Indices) -> NDArray[np.float64]:
        """Tails and heads of whole contours.                            (A, 2 length, 2)."""
        paddles = self.canvases.paddles
        centres = np.stack(np.divmod(contours.centres[lanes], paddles.side), -1)
        ends = paddles.ends[contours.stamps[lanes]] + centres[:, :, None]
        return ends.reshape(len(lanes), 2 * self.length, 2)

    def _keep(self, lane: int) -> None:
        image = self.image[lane]
        if self.attempt[lane] < self.winner[image]:
            self.winner[image] = self.attempt[lane]
            self.margins[image] = self.margin[lane]
            for which, contours in enumerate(self.pair):
                self.stamps[image, which] = contours.stamps[lane]
                self.centres[image, which] = contours.centres[lane]

    def _fill(self) -> None:
        """Gives free lanes the next attempts at images that have none which succeeded."""
        lanes, open_images = np.flatnonzero(~self.busy), np.flatnonzero(self.winner == NEVER)
        if not len(lanes) or not len(open_images):
            return
        # images with the fewest attempts first, then once more round
        order = open_images[np.argsort(self.begun[open_images], kind="stable")]
        turn = np.arange(len(lanes))
        images = order[turn % len(order)]
        attempts = self.begun[images] + turn // len(order)
        np.add.at(self.begun, images, 1)
        self.image[lanes], self.attempt[lanes] = images, attempts
        self.draws.renew(lanes, drawn(self.keys[images], attempts))
        self._begin(lanes)
        self.busy[lanes], self.step[lanes] = True, 1

    def _begin(self, lanes: Indices) -> None:
        """Empty canvases with the first paddles of both contours."""
        paddles, draws = self.canvases.paddles, self.draws
        settings = paddles.settings
        self.margin[lanes] = below(draws.bits(lanes), len(settings.margins))
        self.canvases.clear(lanes, self.margin[lanes])
        first, second, angle = (below(draws.bits(lanes), DEGREES) for _ in range(3))
        # far enough from the border that the second one lies inside, wherever it is
        room = settings.size - 4 * settings.seed_distance
        row, column = (
            2 * settings.seed_distance + below(draws.bits(lanes), room) for _ in range(2)
        )
        down, right = (
            np.rint(settings.seed_distance * part(np.radians(angle))).astype(np.int64)
            for part in (np.sin, np.cos)
        )
        for contours, orientation, rows, columns in (
            (self.pair[0], first, row, column),
            (self.pair[1], second, row + down, column + right),
        ):
            contours.stamps[lanes, 0] = paddles.begins[self.margin[lanes]] + orientation
            contours.centres[lanes, 0] = paddles.place(rows, columns)
            contours.paint(lanes, 0, 1 - contours.which)
