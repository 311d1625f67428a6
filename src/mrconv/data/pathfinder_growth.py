"""One step of many contours at once: where the next paddle goes."""

import numpy as np
from numpy.typing import NDArray

from .pathfinder_canvas import TRIES, Canvases, Draws, Indices

__all__ = ["Growing"]


class Growing:
    """Contours that grow on one canvas of each image, and their paddles so far.

    Args:
        canvases: Of N images.
        draws: Their random numbers.
        which: Canvas of each image that the contours grow on.
        length: Paddles of a whole contour.
    """

    def __init__(self, canvases: Canvases, draws: Draws, which: int, length: int) -> None:
        self.canvases, self.draws, self.which = canvases, draws, which
        self.stamps = np.full((len(draws.keys), length), -1)
        self.centres = np.zeros((len(draws.keys), length), np.int64)

    def extend(self, images: Indices, step: Indices) -> NDArray[np.bool_]:
        """Adds paddle number ``step`` to some contours, and says where it was possible."""
        paddles = self.canvases.paddles
        last = self.stamps[images, step - 1]
        pivots = self.centres[images, step - 1] + paddles.advance[last]
        summed = self.canvases.heads(images, self.which, pivots, last)
        done = np.zeros(len(images), bool)
        left = np.flatnonzero(summed[:, -1] > 0)
        for _ in range(TRIES):
            level = self.draws.uniform(images[left]) * summed[left, -1]
            chosen = (summed[left] <= level[:, None]).sum(1)
            chosen = np.minimum(chosen, summed.shape[1] - 1)
            stamps = paddles.following[last[left], chosen]
            centres = pivots[left] + paddles.heads[last[left], chosen]
            fits = ~self.canvases.collide(images[left], self.which, stamps, centres)
            placed = left[fits]
            self.stamps[images[placed], step[placed]] = stamps[fits]
            self.centres[images[placed], step[placed]] = centres[fits]
            done[placed] = True
            left = left[~fits]
        # a paddle may touch the one before it, so that one is painted only now
        self.paint(images[done], step[done] - 1, self.which)
        return done

    def paint(self, images: Indices, step: Indices | int, which: int) -> None:
        """Takes the room of paddles with these numbers on one canvas of some images."""
        stamps, centres = self.stamps[images, step], self.centres[images, step]
        self.canvases.paint(images, which, stamps, centres)
