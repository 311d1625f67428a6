"""The shapes that the convolution is measured at: five named ones, and any number at random."""

import random
from typing import NamedTuple

__all__ = ["LARGEST", "NAMED", "QUICK", "Shape", "random_shapes"]

LARGEST = 1 << 23  # B D L of a random shape
LONGEST, WIDEST, MOST_ROWS = 65536, 256, 32


class Shape(NamedTuple):
    """Sizes of a convolution."""

    batch: int
    channels: int
    length: int
    taps: int

    def __str__(self) -> str:
        text = f"({self.batch}, {self.channels}, {self.length})"
        return text if self.taps == self.length else f"{text} with {self.taps} taps"


def _square(batch: int, channels: int, length: int) -> Shape:
    """As many taps as samples."""
    return Shape(batch, channels, length, length)


NAMED = (
    _square(16, 64, 1024),
    _square(32, 128, 1024),
    _square(16, 64, 4096),
    _square(4, 64, 16384),
    _square(1, 64, 65536),
)
QUICK = (_square(2, 4, 64), _square(1, 3, 200))


def random_shapes(count: int, seed: int, largest: int = LARGEST) -> list[Shape]:
    """Shapes drawn by a seed, the same on every machine.

    B is uniform on 1..32 and D on 1..256; L is log-uniform on 1..65,536 and K on 1..2 L, powers of
    two or not. Shapes above ``largest`` are drawn again.

    Args:
        count: How many.
        seed: Of the draw.
        largest: Bound of B D L.

    Returns:
        The shapes.                                                      (count,)

    Example:
        >>> random_shapes(2, 0) == random_shapes(3, 0)[:2]
        True
    """
    draw, shapes = random.Random(seed), list[Shape]()
    while len(shapes) < count:
        batch, channels = draw.randint(1, MOST_ROWS), draw.randint(1, WIDEST)
        length = _log_uniform(draw, LONGEST)
        shape = Shape(batch, channels, length, _log_uniform(draw, 2 * length))
        if batch * channels * length <= largest:
            shapes.append(shape)
    return shapes


def _log_uniform(draw: random.Random, most: int) -> int:
    return min(int((most + 1) ** draw.random()), most)
