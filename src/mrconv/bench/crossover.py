"""From which length on one layer is slower than another."""

import math
from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["Crossover", "crossover"]

Curve = Mapping[int, float]


class Crossover(NamedTuple):
    """Where a curve rises above another for good."""

    length: float | None
    """In samples, interpolated; None where the curves do not cross within what was measured."""
    words: str
    """The same as the end of a sentence."""


def crossover(slow: Curve, fast: Curve) -> Crossover:
    """The length from which ``slow`` stays above ``fast``.

    Between two measured lengths both curves are taken as straight lines in logarithms.

    Args:
        slow: Time by length, of the layer that is slower at great length.
        fast: Time by length, of the other.

    Returns:
        The length and words for it.

    Example:
        >>> crossover({1: 1.0, 4: 16.0}, {1: 2.0, 4: 8.0}).words
        'slower from about 2 samples on'
    """
    lengths = sorted(set(slow) & set(fast))
    if not lengths:
        return Crossover(None, "not measured at the same lengths")
    gaps = [math.log(slow[length] / fast[length]) for length in lengths]
    if gaps[-1] <= 0:
        return Crossover(None, f"not slower at {lengths[-1]} samples, the longest measured")
    below = [i for i, gap in enumerate(gaps) if gap <= 0]
    if not below:
        return Crossover(None, f"slower at every length measured, from {lengths[0]} samples on")
    i = below[-1]
    share = -gaps[i] / (gaps[i + 1] - gaps[i])
    low, high = math.log(lengths[i]), math.log(lengths[i + 1])
    at = math.exp(low + share * (high - low))
    return Crossover(at, f"slower from about {float(f'{at:.2g}'):g} samples on")
