"""Pathfinder images: contours built again from their heads, and joined marks by flood fill."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.ndimage import label as flood

from mrconv.data.pathfinder_contours import ROOM
from mrconv.data.pathfinder_images import random_pictures
from mrconv.data.pathfinder_paddles import paddles
from mrconv.data.pathfinder_settings import SETTINGS
from mrconv.data.random_streams import example_keys

FINE = 6  # pixels a pixel of the image, where lines are followed


def pictures(size: int, count: int, length: int = 14, seed: int = 0, first: int = 0):
    return random_pictures(SETTINGS[size], example_keys(seed, first, first + count), length)


def unit(angle: float) -> np.ndarray:
    return np.array([np.sin(angle), np.cos(angle)])


def followed(size: int, margin: int, angle: int, centres: np.ndarray):
    """Tails, heads and turns of a contour, from its first tail and angle and its later heads."""
    settings = SETTINGS[size]
    length, tail = settings.paddle_length, centres[0]
    ways = [unit(np.radians(angle))]
    pivot = tail + np.rint((length + margin) * ways[0])
    ends, turns = [(tail, tail + length * ways[0])], []
    for head in centres[1:]:
        away = head - pivot
        # the head lies on the pixels of a circle round the pivot
        assert abs(np.hypot(*away) - (length + margin)) <= np.sqrt(0.5) + 1e-9
        ways.append(away / np.hypot(*away))
        turns.append(np.arccos(np.clip(ways[-1] @ ways[-2], -1, 1)))
        ends.append((head - length * ways[-1], head))
        pivot = pivot + np.rint((length + 2 * margin) * ways[-1])
    return ends, turns


def contours_of(size: int, found, image: int):
    """Both contours of an image, as ``followed`` gives them."""
    tables = paddles(SETTINGS[size])
    margin = found.contours.margin[image]
    for which in (0, 1):
        flat = found.contours.centres[image, which]
        centres = np.stack(np.divmod(flat, tables.side), 1) - tables.pad
        angle = found.contours.stamps[image, which, 0] - tables.begins[margin]
        assert 0 <= angle < 360
        yield followed(size, SETTINGS[size].margins[margin], angle, centres)


def trace(canvas: np.ndarray, ends) -> None:
    """A thin line through all tails and heads of a contour, over its gaps."""
    points = np.array([point for pair in ends for point in pair])
    for one, other in pairwise(points):
        steps = int(np.abs(other - one).max() * FINE * 2) + 2
        line = one + np.linspace(0, 1, steps)[:, None] * (other - one)
        rows, columns = np.rint((line + 1) * FINE).astype(int).T
        canvas[rows, columns] = True


CASES = [(32, 60, 14), (32, 20, 6), (64, 12, 9), (64, 10, 14), (128, 2, 14), (256, 3, 14)]


@pytest.mark.parametrize(("size", "count", "length"), CASES)
def test_marks_are_joined_where_the_label_says_so(size, count, length):
    found = pictures(size, count, length)
    settings = SETTINGS[size]
    for image in range(count):
        canvas = np.zeros(((size + 2) * FINE,) * 2, bool)
        for ends, turns in contours_of(size, found, image):
            trace(canvas, ends)
            assert len(turns) == length - 1
            assert max(turns) < np.pi / 2 / settings.continuity
        parts, number = flood(canvas, np.ones((3, 3)))
        assert number == 2  # both whole, and they never meet
        first, second = (parts[tuple((end + 1) * FINE)] for end in found.ends[image])
        assert first > 0 and second > 0
        assert (first == second) == bool(found.labels[image])


@pytest.mark.parametrize("size", [32, 64, 256])
def test_contours_stay_inside_and_begin_apart(size):
    settings, found = SETTINGS[size], pictures(size, 8)
    for image in range(8):
        tails = []
        for ends, _ in contours_of(size, found, image):
            points = np.array(ends).reshape(-1, 2)
            assert (points > settings.padding - 0.5).all()
            assert (points < size - settings.padding - 0.5).all()
            tails.append(ends[0][0])
        distance = np.hypot(*(tails[1] - tails[0]))
        assert abs(distance - settings.seed_distance) <= np.sqrt(0.5) + 1e-9
        reach = 2 * settings.seed_distance
        assert (tails[0] >= reach).all() and (tails[0] < size - reach).all()


def test_contours_and_distractors_keep_off_each_other():
    """No two paddles' masks overlap by more than a faint edge, but for neighbours of a contour."""
    tables, found = paddles(SETTINGS[32]), pictures(32, 10)
    contours = found.contours
    for image in range(10):
        chains = [*zip(contours.stamps[image], contours.centres[image], strict=True)]
        chains += zip(
            contours.distractor_stamps[image], contours.distractor_centres[image], strict=True
        )
        masks = []
        for number, (stamps, centres) in enumerate(chains):
            for step, (stamp, centre) in enumerate(zip(stamps, centres, strict=True)):
                if stamp >= 0:
                    canvas = np.zeros(tables.side**2, int)
                    canvas[centre + tables.hits.offsets[stamp]] = tables.hits.values[stamp]
                    masks.append((number, step, canvas))
        for i, (number, step, one) in enumerate(masks):
            for other, later, two in masks[:i]:
                if other != number or abs(later - step) > 1:
                    assert (one + two).max() < 1.8 * 255


def test_an_image_shows_its_contours_and_marks():
    size, found = 64, pictures(64, 8)
    assert found.pixels.dtype == np.uint8 and found.pixels.shape == (8, size, size)
    assert (found.pixels.max((1, 2)) == 255).all()
    for image in range(8):
        for ends, _ in contours_of(size, found, image):
            for tail, head in ends:
                row, column = np.rint((tail + head) / 2).astype(int)
                near = found.pixels[image, row - 1 : row + 2, column - 1 : column + 2]
                assert near.max() > 60
        for row, column in found.ends[image]:
            square = found.pixels[image, max(row - 1, 0) : row + 2, max(column - 1, 0) : column + 2]
            assert (square > 249).all()  # lines are at most 0.8 as bright
    dark = (found.pixels == 0).mean()
    assert 0.6 < dark < 0.95


def test_statistics():
    found = pictures(32, 300, seed=3)
    assert found.labels.mean() == pytest.approx(0.5, abs=0.1)
    drawn = (found.contours.distractor_stamps >= 0).all(2).sum(1)
    assert found.contours.distractor_stamps.shape == (300, 5, 4)
    assert ((found.contours.distractor_stamps >= 0).any(2).sum(1) == drawn).all()
    assert 3.5 < drawn.mean() <= 5
    # marks and light do not tell the label
    light = found.pixels.mean((1, 2))
    apart, joined = light[found.labels == 0], light[found.labels == 1]
    assert abs(apart.mean() - joined.mean()) < 4 * light.std() * np.sqrt(4 / 300)
    distance = np.hypot(*(found.ends[:, 0] - found.ends[:, 1]).T)
    assert distance[found.labels == 0].mean() > 5


@pytest.mark.parametrize("size", [32, 64])
def test_an_image_is_the_same_in_other_company(size, monkeypatch):
    whole = pictures(size, 12)
    part = pictures(size, 4, first=5)
    assert (part.pixels == whole.pixels[5:9]).all()
    assert (part.labels == whole.labels[5:9]).all()
    monkeypatch.setattr("mrconv.data.pathfinder_contours.ROOM", ROOM // 150)
    few = pictures(size, 12)
    assert (few.pixels == whole.pixels).all()
    assert (pictures(size, 12, seed=1).pixels != whole.pixels).any((1, 2)).all()
