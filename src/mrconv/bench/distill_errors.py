"""Errors of distilled filters beside what is possible, by order."""

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from torch import Tensor

from ..distillation import FilterReport, distill
from .filters import conv_of
from .record import Better, Row
from .timing import spread

__all__ = ["FIR_HEAD", "TINY", "Bars", "ErrorCurves", "error_rows", "geometric_mean"]

#: Explicit taps in front of every recurrence of the bench.
FIR_HEAD = 64
#: Relative bounds below this are rounding; no error is divided by them.
SMALLEST = 1e-9
#: What logarithms take for an error of 0.
TINY = 1e-17

#: Relative errors by line ("error", "lower bound") and order.
ErrorCurves = dict[str, dict[int, float]]


class Bars(NamedTuple):
    """Bars of one family."""

    error: Mapping[int, float] = {}
    """Of the geometric mean, by order."""
    ratio: Mapping[int, float] = {}
    """Of the largest error / lower bound, by order."""


def error_rows(
    name: str, taps: Tensor, orders: tuple[int, ...], curves: ErrorCurves, bars: Bars
) -> Iterator[Row]:
    """Distils filters at several orders.

    Args:
        name: What they are.
        taps: Of at least one filter, float64.                         (F, K)
        orders: Largest numbers of real states.
        curves: Where error and bound are noted for the picture.
        bars: Of the family.

    Yields:
        At every order: error and lower bound, geometric means over the filters with quartiles;
        the largest and the smallest of the filters' error / lower bound; seconds a filter.
    """
    for order in orders:
        _, report = distill(conv_of(taps), order=order, fir_head=FIR_HEAD)
        filters, what = report.layers[0].filters, f"{name}, order {order}"
        for line, values in _lines(filters).items():
            bar = bars.error.get(order) if line == "error" else None
            row = _mean_row(f"{what}: {line}", values, bar)
            curves.setdefault(line, {})[order] = row.value
            yield row
        yield from _ratio_rows(what, filters, bars.ratio.get(order))
        yield Row(f"{what}: time a filter", 1000 * report.seconds / len(filters), "ms")


def geometric_mean(values: list[float]) -> float:
    """The exponential of the mean logarithm; zeros count as 1e-17.

    Args:
        values: At least one, none below 0.

    Returns:
        The mean.

    Example:
        >>> from mrconv.bench.distill_errors import geometric_mean
        >>> round(geometric_mean([1e-2, 1e-4]), 6)
        0.001
    """
    return math.exp(sum(math.log(max(one, TINY)) for one in values) / len(values))


def _lines(filters: tuple[FilterReport, ...]) -> dict[str, list[float]]:
    return {
        "error": [one.error for one in filters],
        "lower bound": [one.lower_bound for one in filters],
    }


def _mean_row(name: str, values: list[float], bar: float | None) -> Row:
    _, low, high = spread(values)
    better: Better | None = None if bar is None else "lower"
    return Row(name, geometric_mean(values), "relative", (low, high), bar, better)


def _ratio_rows(what: str, filters: tuple[FilterReport, ...], most: float | None) -> Iterator[Row]:
    ratios = [one.error / one.lower_bound for one in filters if one.lower_bound > SMALLEST]
    if ratios:
        name = f"{what}: error / lower bound"
        better: Better | None = None if most is None else "lower"
        yield Row(f"{name}, largest", max(ratios), "times", bar=most, better=better)
        yield Row(f"{name}, smallest", min(ratios), "times", bar=1.0, better="higher")
