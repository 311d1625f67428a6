"""The Hankel route against the paper's: gradient descent on poles and residues."""

import time
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from ..distillation import Gradient
from ..distillation.fit import fit_poles
from ..distillation.gradient import gradient_poles
from ..distillation.hankel import hankel_vectors
from .distill_errors import TINY, ErrorCurves, geometric_mean
from .record import Row
from .timing import spread

__all__ = ["RATES", "Race", "gradient_rows"]

#: Learning rates of Adam; each filter keeps the best of its three fits.
RATES = (1e-3, 3e-3, 1e-2)
ERROR_BAR, TIME_BAR = 1.05, 20.0
LINE = "gradient"  # of the picture
REPEATS = 3  # of the quicker route's time


class Race(NamedTuple):
    """What both routes fit."""

    names: tuple[str, ...]
    """Of the filters."""
    taps: Tensor
    """Behind the explicit head, float64.                              (F, K)"""
    norms: Tensor
    """Of the whole filters, which errors are relative to.                (F,)"""
    order: int
    steps: int
    """Of Adam."""
    seed: int


def gradient_rows(race: Race, curves: dict[str, ErrorCurves]) -> Iterator[Row]:
    """Both routes on the same filters, all of them in one batch.

    Args:
        race: Filters, order, steps.
        curves: Of the filters' families; the gradient's error is noted there, which for a family
            whose error is known is that error over the filter's ratio.

    Yields:
        At every rate the error that Adam leaves, geometric mean; of every filter our error over
        the best of its three; Adam's time at one rate over ours.
    """
    what, seconds = f"order {race.order}", []
    best = torch.full_like(race.norms, torch.inf)
    for rate in RATES:
        started = time.perf_counter()
        settings = Gradient(race.steps, rate, race.seed)
        error = gradient_poles(race.taps, race.order, settings).error
        seconds.append(time.perf_counter() - started)
        best = torch.minimum(best, error)
        name = f"{what}, gradient at rate {rate:g}: error"
        yield Row(name, geometric_mean((error / race.norms).tolist()), "relative")
    ours, own_seconds = _hankel(race)
    for name, one, other, norm in zip(
        race.names, ours.tolist(), best.tolist(), race.norms.tolist(), strict=True
    ):
        curve = curves.setdefault(name, {})
        known = curve.get("error", {}).get(race.order, one / norm)
        curve.setdefault(LINE, {})[race.order] = known * other / max(one, TINY)
        ratio = f"{name}, {what}: error, hankel / gradient at its best of {len(RATES)} rates"
        yield Row(ratio, one / other, "times", bar=ERROR_BAR, better="lower")
    median, low, high = spread(seconds)
    filters = f"{what}, {len(race.names)} filters"
    yield Row(f"{filters}, {race.steps:,} steps of Adam: time", median, "s", (low, high))
    yield Row(f"{filters}, hankel: time", own_seconds, "s")
    ratios = (median / own_seconds, low / own_seconds, high / own_seconds)
    name = f"{filters}: time, gradient at one rate / hankel"
    yield Row(name, ratios[0], "times", ratios[1:], TIME_BAR, "higher")


def _hankel(race: Race) -> tuple[Tensor, float]:
    """Errors (F,), and the median time of a few equal fits."""
    seconds = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        _, vectors = hankel_vectors(race.taps, race.order + 1)
        error = fit_poles(race.taps, race.order, vectors).error
        seconds.append(time.perf_counter() - started)
    return error, spread(seconds).median
