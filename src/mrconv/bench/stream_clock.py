"""Seconds of single steps: means over a schedule, percentiles, the longest that is due."""

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .stream_contestants import Running, advanced

__all__ = ["each_seconds", "percentile_over_median", "period_seconds", "worst_step"]

AROUND = 128  # steps around the end of the schedule; at least one block of every form ends there
PASSES = 5


def each_seconds(call: Callable[[], object], count: int) -> NDArray[np.float64]:
    """What every one of some calls takes.

    Args:
        call: What is timed.
        count: How many calls.

    Returns:
        Seconds.                                                       (count,)
    """
    taken = np.empty(count)
    for i in range(count):
        start = time.perf_counter()
        call()
        taken[i] = time.perf_counter() - start
    return taken


def period_seconds(call: Callable[[], object], count: int) -> float:
    """Mean seconds of some calls that follow each other.

    Args:
        call: What is timed.
        count: How many calls.

    Returns:
        The mean.
    """
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def percentile_over_median(call: Callable[[], object], count: int, percent: float = 99.9) -> float:
    """How much longer slow calls take than the usual one, whatever slowed them down.

    Args:
        call: What is timed.
        count: How many calls.
        percent: Which percentile is divided by the median.

    Returns:
        The ratio.
    """
    taken = each_seconds(call, count)
    return float(np.percentile(taken, percent) / np.median(taken))


def worst_step(running: Running, length: int) -> float:
    """The longest step around the sample at which the largest block of any form is full.

    Every pass takes the same steps; the median over passes leaves what the step itself costs, and
    the largest of these is the longest step that is due, not what the machine does in between.

    Args:
        running: A stream; it starts anew.
        length: Samples of the kernel, a power of two.

    Returns:
        Seconds.
    """
    passes = []
    for _ in range(PASSES):
        running.state = advanced(running.stream.init_state(1), max(0, length - AROUND // 2))
        passes.append(each_seconds(running.step, AROUND))
    return float(np.median(passes, axis=0)[1:].max())  # the first step also warms up
