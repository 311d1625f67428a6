"""Random numbers that belong to an example, not to a run: the same however the work is cut."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["below", "drawn", "example_keys", "uniform"]

Keys = NDArray[np.uint64]
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
LOW = np.uint64(0xFFFFFFFF)
SHIFTS = tuple(np.uint64(bits) for bits in (30, 27, 31, 32, 11))


def _mixed(values: Keys) -> Keys:
    """SplitMix64's finaliser: every bit of a number depends on every bit of the argument."""
    values = (values ^ (values >> SHIFTS[0])) * FIRST
    values = (values ^ (values >> SHIFTS[1])) * SECOND
    return values ^ (values >> SHIFTS[2])


def example_keys(seed: int, start: int, stop: int) -> Keys:
    """One key for each example from ``start`` to ``stop`` - 1, told apart by seed and number.

    Args:
        seed: Whole number; its last 64 bits count.
        start: First example.
        stop: Behind the last one.
    """
    whole = _mixed(np.array([seed & 0xFFFFFFFFFFFFFFFF], np.uint64) + GOLDEN)
    return _mixed(whole ^ _mixed(np.arange(start, stop, dtype=np.uint64) * GOLDEN + FIRST))


def drawn(keys: Keys, numbers: NDArray[np.integer] | int) -> Keys:
    """64 random bits each: number n of a key is always the same.

    Args:
        keys: As ``example_keys`` gives them.
        numbers: Which of a key's numbers, from 0; broadcast against the keys.

    Source: Steele, Lea and Flood 2014, SplitMix64, as a function of its counter.

    Example:
        >>> keys = example_keys(0, 0, 3)
        >>> bool((drawn(keys, 5)[1:] == drawn(example_keys(0, 1, 3), 5)).all())
        True
    """
    # an array of one number is left to overflow in silence, a number alone is not
    counters = np.atleast_1d(numbers).astype(np.uint64) + np.uint64(1)
    return _mixed(keys + counters * GOLDEN)


def below(bits: Keys, limit: NDArray[np.integer] | int) -> NDArray[np.int64]:
    """Whole numbers from 0 to ``limit`` - 1 out of the last 32 bits, each as likely to 1e-9."""
    return ((bits & LOW) * np.asarray(limit).astype(np.uint64) >> SHIFTS[3]).astype(np.int64)


def uniform(bits: Keys) -> NDArray[np.float64]:
    """Numbers from 0 to below 1 out of the first 53 bits."""
    return (bits >> SHIFTS[4]).astype(np.float64) * 2.0**-53
