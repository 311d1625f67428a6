"""Every paddle that a Pathfinder image can hold, drawn once: lines between whole pixels."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from .pathfinder_settings import PathfinderSettings

__all__ = ["FULL", "Paddles", "Stamps", "disc", "paddles"]

#: Value of a pixel that is covered wholly.
FULL = 255
#: Two masks may overlap up to this sum.
OVERLAP = round(1.8 * FULL)
FAINT = 5
DEGREES = 360


@dataclass(frozen=True)
class Stamps:
    """Small pictures as lists of their pixels, all of equal length; a last pixel is repeated."""

    offsets: NDArray[np.int64]
    """From the centre, in pixels of the padded canvas laid end to end.              (S, P)"""
    values: NDArray[np.uint8]
    """(S, P)"""

    @classmethod
    def of(cls, pictures: NDArray[np.uint8], stride: int, least: int) -> "Stamps":
        """Of square pictures (S, n, n), n odd, the pixels of at least some value."""
        half = pictures.shape[1] // 2
        flat = pictures.reshape(len(pictures), -1)
        order = np.argsort(flat < least, axis=1, kind="stable")
        counts = (flat >= least).sum(1)
        # the pixels in front; behind a picture's last one comes that one again
        ranks = np.minimum(np.arange(counts.max()), counts[:, None] - 1)
        chosen = np.take_along_axis(order, ranks, axis=1)
        rows, columns = np.divmod(chosen, pictures.shape[2])
        offsets = (rows - half) * stride + columns - half
        return cls(offsets, np.take_along_axis(flat, chosen, axis=1))

    def paint(
        self,
        canvas: NDArray[np.uint8] | NDArray[np.float32],
        centres: NDArray[np.int64],
        stamps: NDArray[np.int64],
        contrast: float | None = None,
    ) -> None:
        """Gives every pixel the larger of what it has and what a stamp brings.

        Args:
            canvas: Many images, laid end to end; changed in place.
            centres: Of stamps that have no pixel in common.                             (A,)
            stamps: Which.                                                               (A,)
            contrast: Times the values; None: 1.
        """
        where, values = centres[:, None] + self.offsets[stamps], self.values[stamps]
        scaled = values if contrast is None else values * np.float32(contrast)
        canvas[where] = np.maximum(canvas[where], scaled)


@dataclass(frozen=True)
class Paddles:
    """Tables of one size of image. Stamp i is centred on a beginning, or on a head.

    For each margin come 360 beginnings, by whole degrees, drawn from their tail; then the paddles
    of a contour's further steps, drawn from their head backwards, one for each pixel of the circle
    round a pivot.
    """

    settings: PathfinderSettings
    pad: int
    """Pixels round the image on each side of a canvas."""
    ink: Stamps
    """The lines."""
    hits: Stamps
    """The pixels of a paddle's mask that can collide: its line made wider by the margin."""
    shadows: Stamps
    """The masks made wider by the margin once more: where no head may lie."""
    advance: NDArray[np.int64]
    """From a stamp's centre to the pivot of the next paddle.                        (S,)"""
    ends: NDArray[np.float64]
    """Row and column of each paddle's tail and head, from the stamp's centre.       (S, 2, 2)"""
    following: NDArray[np.int64]
    """Stamps that may come behind each stamp.                                       (S, C)"""
    heads: NDArray[np.int64]
    """From a pivot to the centre of each of them.                                   (S, C)"""
    turns: NDArray[np.float32]
    """Weight of each for its turn; 0 behind the last one.                           (S, C)"""
    begins: NDArray[np.int64]
    """First beginning of each margin.                                              (margins,)"""

    @property
    def side(self) -> int:
        """Height and width of a canvas."""
        return self.settings.size + 2 * self.pad

    def place(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where a pixel of the image lies on a canvas laid end to end."""
        return (rows + self.pad) * self.side + columns + self.pad


@cache
def paddles(settings: PathfinderSettings) -> Paddles:
    """The tables, drawn at the first call."""
    length, widest = settings.paddle_length, max(settings.margins)
    half = length + int(np.ceil(settings.paddle_thickness)) + widest
    pad = max(half + widest, length + 3 * widest) + 1
    stride = settings.size + 2 * pad
    parts = [_part(settings, margin, half) for margin in settings.margins]
    begins = np.cumsum([0, *(len(part.advance) for part in parts[:-1])])
    flat = np.array([stride, 1])
    choices = [
        _sorted_choices(part, begin, part.circle @ flat)
        for part, begin in zip(parts, begins, strict=True)
    ]
    count = max(turns.shape[1] for _, _, turns in choices)
    following, heads, turns = (
        np.concatenate([np.pad(table, ((0, 0), (0, count - table.shape[1]))) for table in tables])
        for tables in zip(*choices, strict=True)
    )
    return Paddles(
        settings=settings,
        pad=pad,
        ink=Stamps.of(np.concatenate([part.ink for part in parts]), stride, FAINT),
        hits=Stamps.of(np.concatenate([part.mask for part in parts]), stride, OVERLAP - FULL),
        shadows=Stamps.of(np.concatenate([part.shadow for part in parts]), stride, FAINT),
        advance=np.concatenate([part.advance for part in parts]) @ flat,
        ends=np.concatenate([part.ends for part in parts]),
        following=following,
        heads=heads,
        turns=turns,
        begins=begins,
    )


@dataclass(frozen=True)
class _Part:
    """Tables of one margin, in rows and columns."""

    circle: NDArray[np.int64]
    ends: NDArray[np.float64]
    advance: NDArray[np.int64]
    turns: NDArray[np.float32]
    ink: NDArray[np.uint8]
    mask: NDArray[np.uint8]
    shadow: NDArray[np.uint8]


def _part(settings: PathfinderSettings, margin: int, half: int) -> _Part:
    length = settings.paddle_length
    angles = np.radians(np.arange(DEGREES))
    around = np.stack([np.sin(angles), np.cos(angles)], 1)  # (360, 2), row and column
    circle = np.unique(np.rint((length + margin) * around).astype(np.int64), axis=0)
    along = circle / np.hypot(*circle.T)[:, None]
    drawn = np.concatenate([around, -along])
    advance = np.concatenate(
        [
            np.rint((length + margin) * around),
            np.rint((length + 2 * margin) * along) - circle,
        ]
    ).astype(np.int64)
    cosines = np.clip(np.concatenate([around, along]) @ along.T, -1, 1)
    turned = settings.continuity * np.arccos(cosines)
    # exactly 0 from a right angle on: a smallest weight would be drawn where it is the only one
    weights = np.where(turned < np.pi / 2, np.cos(turned) ** 2, 0).astype(np.float32)
    ink, mask = (_lines(settings, drawn, wider, half) for wider in (0, margin))
    tails = np.concatenate([0 * around, -length * along])
    heads = np.concatenate([length * around, 0 * along])
    return _Part(
        circle,
        np.stack([tails, heads], 1),
        advance,
        weights,
        ink,
        mask,
        _dilated(mask, margin, max(settings.margins)),
    )


def _sorted_choices(
    part: _Part, begin: np.int64, circle: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Stamps that may follow each stamp of a margin, their heads, their weights.  (S, C) each."""
    count = (part.turns > 0).sum(1).max()
    order = np.argsort(part.turns == 0, axis=1, kind="stable")[:, :count]
    turns = np.take_along_axis(part.turns, order, axis=1)
    return begin + DEGREES + order, circle[order], turns


def _lines(
    settings: PathfinderSettings, directions: NDArray[np.float64], wider: int, half: int
) -> NDArray[np.uint8]:
    """Lines from the centre, made wider on all sides.                     (S, 2 half + 1, same)."""
    fine = settings.antialias
    reach = np.arange(-half * fine, half * fine + 1)
    rows, columns = np.meshgrid(reach, reach, indexing="ij")
    row, column = directions[:, 0, None, None], directions[:, 1, None, None]
    forward, sideward = rows * row + columns * column, rows * column - columns * row
    length, thickness = settings.paddle_length * fine, settings.paddle_thickness * fine
    beyond = np.maximum(np.maximum(-forward, forward - length), 0)
    beside = np.maximum(np.abs(sideward) - thickness / 2, 0)
    # rounding: a pixel on the edge counts
    return _reduced(np.hypot(beyond, beside) <= wider * fine + 1e-9, fine)


def disc(settings: PathfinderSettings) -> NDArray[np.uint8]:
    """A mark, (1, n, n)."""
    fine = settings.antialias
    half = int(np.ceil(settings.marker_radius)) + 1
    reach = np.arange(-half * fine, half * fine + 1)
    inside = np.hypot(*np.meshgrid(reach, reach)) <= settings.marker_radius * fine
    return _reduced(inside[None], fine)


def _reduced(pictures: NDArray[np.bool_], fine: int) -> NDArray[np.uint8]:
    """By a Lanczos filter of three lobes from (S, 2 h fine + 1, same) to (S, 2 h + 1, same)."""
    small, large = (pictures.shape[1] - 1) // fine + 1, pictures.shape[1]
    scale = large / small
    centres = (np.arange(small) + 0.5) * scale
    away = (np.arange(large) + 0.5 - centres[:, None]) / scale
    weights = np.sinc(away) * np.sinc(away / 3) * (np.abs(away) < 3)
    weights /= weights.sum(1, keepdims=True)
    found = weights @ pictures.astype(np.float64) @ weights.T
    return np.rint(np.clip(found, 0, 1) * FULL).astype(np.uint8)


def _dilated(pictures: NDArray[np.uint8], radius: int, border: int) -> NDArray[np.uint8]:
    """Largest value within a radius, on pictures made larger by ``border`` on every side."""
    size = pictures.shape[1]
    found = np.zeros((len(pictures), size + 2 * border, size + 2 * border), np.uint8)
    for row in range(-radius, radius + 1):
        for column in range(-radius, radius + 1):
            if row * row + column * column <= radius * radius:
                top, left = border + row, border + column
                part = found[:, top : top + size, left : left + size]
                np.maximum(part, pictures, out=part)
    return found
