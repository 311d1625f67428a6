"""Turns against a clock of our own, and memory."""

import pytest
import torch

from mrconv.bench.branch_steps import Setting
from mrconv.bench.memory import peak_memory, rise_in_memory
from mrconv.bench.timing import Pace, Turns, spread, take_turns


class Clock:
    """Time that passes only when a contestant takes it."""

    def __init__(self):
        self.now, self.order = 0.0, []

    def __call__(self):
        return self.now

    def contestant(self, name, *seconds):
        """Takes the given seconds in its calls, one after the other; the last again and again."""
        left = list(seconds)

        def call():
            self.order.append(name)
            self.now += left.pop(0) if len(left) > 1 else left[0]

        return call


def test_median_and_quartiles():
    assert spread([5.0, 1.0, 2.0, 4.0, 3.0]) == (3.0, 2.0, 4.0)
    assert spread([7.0]) == (7.0, 7.0, 7.0)


def test_ratios_are_taken_round_by_round():
    # both slow down together: the ratio of the medians would be 20 / 2 = 10
    turns = Turns({"a": [10.0, 20.0, 60.0], "b": [1.0, 4.0, 2.0]})
    assert turns.ratio("a", "b").median == 10.0
    turns = Turns({"a": [10.0, 20.0, 90.0], "b": [1.0, 5.0, 2.0]})
    assert turns.ratio("a", "b") == (10.0, 7.0, 27.5)


def test_rows():
    turns = Turns({"a": [1.0, 2.0, 3.0], "b": [1.0, 1.0, 1.0]})
    row = turns.time_row("case", "a")
    assert (row.name, row.value, row.unit, row.quartiles) == ("case: a", 2000, "ms", (1500, 2500))
    assert row.bar is None
    row = turns.ratio_row("case", "a", "b", bar=2.5, better="lower")
    assert (row.name, row.value, row.quartiles) == ("case: a / b", 2.0, (1.5, 2.5))
    assert (row.unit, row.bar, row.better, row.holds) == ("times", 2.5, "lower", True)
    assert turns.ratio_row("case", "a", "b").better is None


def test_contestants_take_turns_after_warming_up():
    clock = Clock()
    slow, quick = clock.contestant("s", 9.0, 2.0), clock.contestant("q", 0.5, 0.1, 0.1)
    turns = take_turns({"s": slow, "q": quick}, Pace(0, 3, 3), clock=clock)
    # slow: one call to warm up; quick: two. Then three rounds, each begun by another.
    assert "".join(clock.order) == "sqq" + "sq" + "sq" + "sq"
    assert turns.seconds["s"] == pytest.approx([2.0, 2.0, 2.0])
    assert turns.seconds["q"] == pytest.approx([0.1, 0.1, 0.1])


def test_every_contestant_leads_and_follows_in_turn():
    clock = Clock()
    group = {name: clock.contestant(name, 1.0) for name in "abc"}
    take_turns(group, Pace(0, 4, 4), clock=clock)
    assert "".join(clock.order) == "abc" + "abc" + "acb" + "cab" + "cba"


def test_as_many_rounds_as_fit():
    clock = Clock()
    group = {"a": clock.contestant("a", 0.3), "b": clock.contestant("b", 0.2)}
    assert len(take_turns(group, Pace(5.01, 2, 60), clock=clock).seconds["a"]) == 10
    assert len(take_turns(group, Pace(5.01, 2, 7), clock=clock).seconds["a"]) == 7
    assert len(take_turns(group, Pace(0.1, 2, 7), clock=clock).seconds["a"]) == 2


def test_short_calls_are_repeated_within_a_turn():
    clock = Clock()
    turns = take_turns({"a": clock.contestant("a", 1e-4)}, Pace(0, 3, 3), clock=clock)
    assert len(clock.order) == 2 + 3 * 20
    assert turns.seconds["a"] == pytest.approx([1e-4] * 3)


def test_work_under_way_counts():
    clock, pending = Clock(), []

    def finish():
        while pending:
            clock.now += pending.pop()

    turns = take_turns(
        {"a": lambda: pending.append(2.0)}, Pace(0, 2, 2), finish=finish, clock=clock
    )
    assert turns.seconds["a"] == [2.0, 2.0]


def test_memory_rises_by_what_a_call_needs():
    size = 100_000_000

    def call():
        one = torch.ones(size // 4)
        return one.sum()

    assert rise_in_memory(call) == pytest.approx(size, rel=0.1)
    assert rise_in_memory(lambda: None) < size / 10


def test_memory_of_a_step_in_a_process_of_its_own():
    setting = Setting("dilated", 8, (16, 16, 4096))
    activation = 4 * 16 * 16 * 4096
    found = peak_memory("LongConv", setting, processes=1)
    assert found.low == found.median == found.high
    assert 2 * activation < found.median < 40 * activation
