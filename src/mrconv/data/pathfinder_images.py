"""Pathfinder images of contours: grey pictures in which two ends are marked."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .pathfinder_canvas import Indices
from .pathfinder_contours import Contours, drawn_contours
from .pathfinder_paddles import Paddles, Stamps, disc, paddles
from .pathfinder_settings import PathfinderSettings
from .random_streams import Keys, below, drawn

__all__ = ["Pictures", "random_pictures"]


@dataclass(frozen=True)
class Pictures:
    """Images with their labels and what they were drawn from."""

    pixels: NDArray[np.uint8]
    """(N, size, size)"""
    labels: Indices
    """1 where one contour joins both marks.                                         (N,)"""
    ends: Indices
    """Row and column of the two marks.                                        (N, 2, 2)"""
    contours: Contours
    """The paddles."""


def random_pictures(settings: PathfinderSettings, keys: Keys, contour_length: int) -> Pictures:
    """One image a key.

    Args:
        settings: Measures of the size.
        keys: One for each image.                                                    (N,)
        contour_length: Paddles of each of the two contours.
    """
    tables = paddles(settings)
    contours = drawn_contours(tables, keys, contour_length)
    images = np.arange(len(keys))
    bits = drawn(~keys, 0)  # the distractors' numbers begin behind this one
    snake, label = below(bits, 2), (bits >> np.uint64(63)).astype(np.int64)
    # unless both belong to it, the second mark is the end of the other contour
    other = np.where(label == 1, snake, 1 - snake)
    ends = np.stack([contours.centres[images, snake, 0], contours.centres[images, other, -1]], 1)
    canvas = _lines(tables, contours)
    _mark(canvas, tables, ends)
    inner = slice(tables.pad, tables.pad + settings.size)
    grey = canvas.reshape(-1, tables.side, tables.side)[:, inner, inner]
    scale = 255 / grey.max((1, 2), keepdims=True)
    pixels = (grey * scale + 0.5).astype(np.uint8)
    places = np.stack(np.divmod(ends, tables.side), -1) - tables.pad
    return Pictures(pixels, label, places, contours)


def _lines(tables: Paddles, contours: Contours) -> NDArray[np.float32]:
    """All paddles, each in its contrast.                                       (N, side^2)."""
    canvas = np.zeros((len(contours.margin), tables.side**2), np.float32)
    flat, settings = canvas.reshape(-1), tables.settings
    drawn = (contours.stamps, contours.centres, settings.target_contrast)
    distractors = (contours.distractor_stamps, contours.distractor_centres)
    for stamps, centres, contrast in (drawn, (*distractors, settings.distractor_contrast)):
        for snake, step in np.ndindex(stamps.shape[1:]):
            there = np.flatnonzero(stamps[:, snake, step] >= 0)
            places = there * tables.side**2 + centres[there, snake, step]
            tables.ink.paint(flat, places, stamps[there, snake, step], contrast)
    return canvas


def _mark(canvas: NDArray[np.float32], tables: Paddles, ends: Indices) -> None:
    """Discs at both ends of every image."""
    discs = Stamps.of(disc(tables.settings), tables.side, 1)
    first = np.arange(len(canvas)) * tables.side**2
    for end in ends.T:
        discs.paint(canvas.reshape(-1), first + end, np.zeros_like(end), 1.0)
