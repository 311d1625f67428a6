"""Where contours may not go: canvases of many images at once, two for each image."""

import numpy as np
from numpy.typing import NDArray

from .pathfinder_paddles import FULL, OVERLAP, Paddles
from .random_streams import Keys, drawn, uniform

__all__ = ["TRIES", "Canvases", "Draws"]

Indices = NDArray[np.int64]
#: Times that a paddle is drawn before its contour is given up.
TRIES = 3


class Draws:
    """Random numbers of each image, one after the other.

    Args:
        keys: One for each image; later ones may be put in their place.             (N,)
    """

    def __init__(self, keys: Keys) -> None:
        self.keys, self._used = keys, np.zeros(len(keys), np.int64)

    def renew(self, images: Indices, keys: Keys) -> None:
        """Other keys for some images, from their first numbers on."""
        self.keys[images], self._used[images] = keys, 0

    def bits(self, images: Indices) -> Keys:
        """The next 64 random bits of each of some images, none twice."""
        self._used[images] += 1
        return drawn(self.keys[images], self._used[images])

    def several(self, images: Indices, count: int) -> Keys:
        """The next ``count`` times 64 random bits of each.                   (A, count)."""
        first = self._used[images, None] + 1
        self._used[images] += count
        return drawn(self.keys[images, None], first + np.arange(count))

    def uniform(self, images: Indices) -> NDArray[np.float64]:
        """The next number from 0 to below 1 of each of some images."""
        return uniform(self.bits(images))


class Canvases:
    """What is taken, and where no head may lie, on two canvases for each image.

    Args:
        paddles: Tables.
        count: N, images.
    """

    def __init__(self, paddles: Paddles, count: int) -> None:
        self.paddles = paddles
        self._area = paddles.side**2
        self._empty = [_empty(paddles, margin) for margin in (0, *paddles.settings.margins)]
        shape = (count, 2, self._area)
        self._hits, self._shadows = np.empty(shape, np.uint8), np.empty(shape, np.uint8)

    def clear(self, images: Indices, margin: Indices) -> None:
        """Empties both canvases of some images but for the border that their margin gives."""
        self._hits[images] = self._empty[0]
        for number, empty in enumerate(self._empty[1:]):
            self._shadows[images[margin == number]] = empty

    def copy(self, images: Indices, origin: int) -> None:
        """The other canvas of some images becomes like the one given."""
        for plane in (self._hits, self._shadows):
            plane[images, 1 - origin] = plane[images, origin]

    def paint(self, images: Indices, which: int, stamps: Indices, centres: Indices) -> None:
        """Takes the room of one paddle on one canvas of each image."""
        for plane, table in (
            (self._hits, self.paddles.hits),
            (self._shadows, self.paddles.shadows),
        ):
            table.paint(plane.reshape(-1), self._start(images, which) + centres, stamps)

    def collide(
        self, images: Indices, which: int, stamps: Indices, centres: Indices
    ) -> NDArray[np.bool_]:
        """Whether a paddle would lie on what is taken; of several centres an image, for each.

        Args:
            images: Which.                                                          (A,)
            which: Canvas.
            stamps: One an image.                                                   (A,)
            centres: (A,) or (A, K).

        Returns:
            As ``centres``.
        """
        table = self.paddles.hits
        offsets = self._start(images, which)[:, None] + table.offsets[stamps]
        # sum of both at least OVERLAP, without leaving the eight bits
        limits = (OVERLAP - table.values[stamps].astype(np.int16)).astype(np.uint8)
        if centres.ndim == 2:
            offsets, limits = offsets[:, None], limits[:, None]
        taken = self._hits.reshape(-1)[centres[..., None] + offsets] >= limits
        return np.any(taken, axis=-1)

    def heads(
        self, images: Indices, which: int, pivots: Indices, last: Indices
    ) -> NDArray[np.float32]:
        """Weights of the paddles that may follow the last one, summed up.            (A, C)."""
        positions = (self._start(images, which) + pivots)[:, None] + self.paddles.heads[last]
        free = FULL - self._shadows.reshape(-1)[positions]
        return np.cumsum(self.paddles.turns[last] * free, axis=1)

    def _start(self, images: Indices, which: int) -> Indices:
        return (2 * images + which) * self._area


def _empty(paddles: Paddles, margin: int) -> NDArray[np.uint8]:
    """A canvas whose border, made wider by a margin, is taken."""
    canvas = np.full((paddles.side, paddles.side), FULL, np.uint8)
    border = paddles.pad + paddles.settings.padding + margin
    canvas[border : paddles.side - border, border : paddles.side - border] = 0
    return canvas.reshape(-1)
