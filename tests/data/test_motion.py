"""Varied windows: a steady recording in every detail, and where a window may lie."""

import numpy as np
import pytest

from mrconv.data.motion import SIZE, SPEED, TURN, varied_window


def steady(count: int) -> np.ndarray:
    """Acceleration (t, 0, 2 t) and rates of rotation (0, 3, 0)."""
    t = np.arange(count, dtype=float)
    return np.stack([t, 0 * t, 2 * t, 0 * t, 3 + 0 * t, 0 * t], 1)


@pytest.mark.parametrize("seed", range(20))
def test_one_rotation_one_speed_one_size(seed):
    window = varied_window(steady(200), 60, 64, np.random.default_rng(seed))
    slope = np.diff(window[:, :3], axis=0)
    assert np.allclose(slope, slope[0], atol=1e-12)  # a straight line stays one
    size_and_speed, rates = np.linalg.norm(slope[0]) / np.sqrt(5), window[0, 3:]
    # rates of rotation grow with the speed as the slope does, so that both have the same factor
    assert np.linalg.norm(rates) / 3 == pytest.approx(size_and_speed, rel=1e-12)
    assert (1 - SPEED) * (1 - SIZE) <= size_and_speed <= (1 + SPEED) * (1 + SIZE)
    # angles between the two, and of each to where it was, are those of one rotation
    assert slope[0] @ rates == pytest.approx(0, abs=1e-12)
    for turned, before in ((slope[0], [1, 0, 2]), (rates, [0, 1, 0])):
        cosine = turned @ before / np.linalg.norm(turned) / np.linalg.norm(before)
        assert np.degrees(np.arccos(min(cosine, 1))) <= TURN


def test_a_rotation_keeps_lengths_and_handedness():
    recording = np.random.default_rng(0).normal(size=(1, 6))
    for seed in range(20):
        window = varied_window(recording, 0, 1, np.random.default_rng(seed))[0]
        a, b = window[:3], window[3:]
        ratio = np.linalg.norm(a) / np.linalg.norm(recording[0, :3])
        assert 1 - SIZE <= ratio <= 1 + SIZE
        # a x b turns as a and b do: its angle to itself is no larger either
        before = np.cross(recording[0, :3], recording[0, 3:])
        after = np.cross(a, b)
        cosine = after @ before / np.linalg.norm(after) / np.linalg.norm(before)
        assert np.degrees(np.arccos(min(cosine, 1))) <= TURN


@pytest.mark.parametrize("count", [64, 65, 70, 200])
def test_never_beyond_the_recording(count):
    recording = np.repeat(np.arange(count, dtype=float)[:, None], 6, 1)
    for seed in range(30):
        random = np.random.default_rng(seed)
        start = int(random.integers(0, count - 63))
        window = varied_window(recording, start, 64, random)
        # the mean of the three axes' squares gives back time, turned and scaled
        times = np.linalg.norm(window[:, :3], axis=1) / np.sqrt(3)
        assert times.max() <= (count - 1) * (1 + SIZE) + 1e-9
        assert (np.diff(times) > 0).all()


def test_copies_differ_by_as_much_as_is_said():
    """Turns, sizes and starts of many copies reach near the largest."""
    random = np.random.default_rng(0)
    t = np.arange(400, dtype=float)
    recording = np.stack([1 + 0 * t, 0 * t, 0 * t, 0 * t, 0 * t, 1e3 + t], 1)
    turns, sizes, speeds, starts = [], [], [], []
    for _ in range(300):
        window = varied_window(recording, 150, 64, random)
        size = np.linalg.norm(window[0, :3])
        rates = np.linalg.norm(window[:, 3:], axis=1) / size  # v (1000 + s + v t)
        speed = np.sqrt(rates[1] - rates[0])
        turns.append(np.degrees(np.arccos(min(1.0, window[0, 0] / size))))
        sizes.append(size)
        speeds.append(speed)
        starts.append(rates[0] / speed - 1e3)
    assert 0.8 * TURN < max(turns) <= TURN
    for values, middle, most in ((sizes, 1, SIZE), (speeds, 1, SPEED), (starts, 150, 16)):
        assert middle - most <= min(values) < middle - 0.9 * most
        assert middle + 0.9 * most < max(values) <= middle + most
