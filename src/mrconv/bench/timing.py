"""Times of several contestants that take turns, so that a slow moment of the machine hits all."""

import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .record import Better, Row

__all__ = ["Pace", "Spread", "Turns", "spread", "take_turns"]

SHORT_TURN = 2e-3  # seconds; shorter calls are repeated within a turn, for the clock's sake
MOST_CALLS = 200  # of one turn
SLOW = 1.0  # seconds of a call that is warmed up by one call


class Pace(NamedTuple):
    """How many rounds a measurement takes: as many as fit, between two bounds."""

    seconds: float
    """For all rounds."""
    least: int = 5
    most: int = 60


class Spread(NamedTuple):
    """Median and quartiles of repeated measurements."""

    median: float
    low: float
    high: float


def spread(values: Sequence[float]) -> Spread:
    """Median and quartiles.

    Args:
        values: At least one.

    Returns:
        The three numbers.

    Example:
        >>> spread([3.0, 1.0, 2.0])
        Spread(median=2.0, low=1.5, high=2.5)
    """
    low, middle, high = np.quantile(np.asarray(values, dtype=float), [0.25, 0.5, 0.75]).tolist()
    return Spread(middle, low, high)


@dataclass(frozen=True)
class Turns:
    """What every contestant took in every round.

    Args:
        seconds: Of one call, by contestant.                             (rounds,) each
    """

    seconds: Mapping[str, Sequence[float]]

    def ratio(self, over: str, under: str) -> Spread:
        """Times of one contestant in units of another's, round by round.

        Args:
            over: The contestant whose time is divided.
            under: The one by whose time it is divided.

        Returns:
            Median and quartiles of the rounds' ratios.
        """
        pairs = zip(self.seconds[over], self.seconds[under], strict=True)
        return spread([one / other for one, other in pairs])

    def time_row(self, name: str, contestant: str) -> Row:
        """A row of milliseconds.

        Args:
            name: What was measured; the contestant is put behind it.
            contestant: Whose times.

        Returns:
            A row without a bar.
        """
        median, low, high = spread([1000 * second for second in self.seconds[contestant]])
        return Row(f"{name}: {contestant}", median, "ms", (low, high))

    def ratio_row(
        self,
        name: str,
        over: str,
        under: str,
        *,
        bar: float | None = None,
        better: Better = "higher",
    ) -> Row:
        """A row of one contestant's time over another's.

        Args:
            name: What was measured; the two names are put behind it.
            over: The contestant whose time is divided.
            under: The one by whose time it is divided.
            bar: What the ratio must reach; None: no bar.
            better: Which ratios reach it.

        Returns:
            The row.
        """
        median, low, high = self.ratio(over, under)
        return Row(
            f"{name}: {over} / {under}",
            median,
            "times",
            (low, high),
            bar,
            None if bar is None else better,
        )


def take_turns(
    contestants: Mapping[str, Callable[[], object]],
    pace: Pace,
    *,
    finish: Callable[[], None] = lambda: None,
    clock: Callable[[], float] = time.perf_counter,
) -> Turns:
    """Calls the contestants one after the other, round after round.

    Every round starts with another contestant, and every second one goes backwards, so that none
    always follows the same neighbour. Before them every contestant is called once, and again where
    that took less than a second, to warm up and to learn how long a call takes.

    Args:
        contestants: What is timed, by name.
        pace: Time and bounds of the number of rounds.
        finish: Waits for the work that a call has started.
        clock: Seconds.

    Returns:
        The seconds of a call, by contestant and round.
    """
    warm = _warmed(contestants, finish, clock)
    calls = {name: _calls(seconds) for name, seconds in warm.items()}
    whole = sum(calls[name] * seconds for name, seconds in warm.items())
    rounds = min(max(int(pace.seconds / max(whole, 1e-9)), pace.least), pace.most)
    names, taken = list(contestants), {name: list[float]() for name in contestants}
    with _without_collection():
        for i in range(rounds):
            first = i % len(names)
            order = [*names[first:], *names[:first]][:: 1 if i % 2 == 0 else -1]
            for name, seconds in _round(
                {name: contestants[name] for name in order}, calls, finish, clock
            ).items():
                taken[name].append(seconds)
    return Turns(taken)


def _warmed(
    contestants: Mapping[str, Callable[[], object]],
    finish: Callable[[], None],
    clock: Callable[[], float],
) -> dict[str, float]:
    """Seconds of one call of each that is warm."""
    once = dict.fromkeys(contestants, 1)
    first = _round(contestants, once, finish, clock)
    quick = {name: contestants[name] for name, seconds in first.items() if seconds < SLOW}
    return {**first, **_round(quick, once, finish, clock)}


def _calls(seconds: float) -> int:
    """How often a call is repeated within a turn."""
    return min(max(round(SHORT_TURN / max(seconds, 1e-9)), 1), MOST_CALLS)


def _round(
    contestants: Mapping[str, Callable[[], object]],
    calls: Mapping[str, int],
    finish: Callable[[], None],
    clock: Callable[[], float],
) -> dict[str, float]:
    """Seconds of one call of each."""
    taken = {}
    for name, call in contestants.items():
        finish()
        start = clock()
        for _ in range(calls[name]):
            call()
        finish()
        taken[name] = (clock() - start) / calls[name]
    return taken


@contextmanager
def _without_collection() -> Iterator[None]:
    """No garbage collection in the middle of a turn."""
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
