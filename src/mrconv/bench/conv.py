"""``mrconv bench conv``: our convolution against textbook, scipy, Conv1d and a memory copy."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from typing import Literal

from .busy import busy_process
from .cases import Case, Options
from .conv_contestants import Contestants, Pass, contestants, make_operands, skipped
from .record import Row
from .shapes import NAMED, QUICK, Shape, random_shapes
from .timing import take_turns

__all__ = ["conv_cases"]

Bars = Mapping[tuple[int, ...], float]
Load = Literal["alone", "beside a busy process"]
LOADS: tuple[Load, Load] = ("alone", "beside a busy process")

PAIR = ("ours", "textbook")
NEVER_SLOWER = 0.91  # textbook / ours with 10 % noise
# textbook / ours, alone
FORWARD_BARS: Bars = {(32, 128, 1024): 2.5, (16, 64, 4096): 3.0, (4, 64, 16384): 2.0}
STEP_BARS: Bars = {(32, 128, 1024): 4.0, (16, 64, 4096): 4.0, (4, 64, 16384): 2.5}
BARS: dict[Pass, Bars] = {"forward": FORWARD_BARS, "training step": STEP_BARS}

NAMED_SECONDS, RANDOM_SECONDS = 5.0, 1.0  # of one measurement
QUICK_LARGEST = 1 << 12


def conv_cases(options: Options) -> list[Case]:
    """The cases of the bench, each alone and then beside a busy process.

    Args:
        options: Number of random shapes, seed, device.

    Returns:
        A case for each named and each random shape and load.
    """
    named = QUICK if options.quick else NAMED
    drawn = (
        random_shapes(options.shapes, options.seed, QUICK_LARGEST)
        if options.quick
        else random_shapes(options.shapes, options.seed)
    )
    loads = LOADS[1:] if options.busy else LOADS[:1] if options.quick else LOADS
    cases = []
    for load in loads:
        cases += [_named_case(shape, load, options) for shape in named]
        cases += [_random_case(i, shape, load, options) for i, shape in enumerate(drawn, 1)]
    return cases


def _named_case(shape: Shape, load: Load, options: Options) -> Case:
    name = f"{shape}, {load}"

    def rows(passed: Pass, group: Contestants) -> Iterator[Row | str]:
        pace, what = options.pace(NAMED_SECONDS), f"{name}, {passed}"
        bar = BARS[passed].get(shape[:3], NEVER_SLOWER) if load == "alone" else NEVER_SLOWER
        # by themselves: what others leave behind in the allocator changes textbook's time threefold
        pair = {one: group[one] for one in PAIR}
        turns = take_turns(pair, pace, finish=options.finish)
        yield from (turns.time_row(what, contestant) for contestant in pair)
        yield turns.ratio_row(what, "textbook", "ours", bar=bar)
        others = {one: call for one, call in group.items() if one != "textbook"}
        turns = take_turns(others, pace, finish=options.finish)
        for other in [one for one in others if one != "ours"]:
            yield turns.time_row(what, other)
            if other == "memory copy":
                yield turns.ratio_row(what, "ours", other)
            else:
                yield turns.ratio_row(what, other, "ours")

    return Case(name, lambda: _measured(shape, load, options, rows, everyone=True))


def _random_case(number: int, shape: Shape, load: Load, options: Options) -> Case:
    name = f"random {number} {shape}, {load}"

    def rows(passed: Pass, group: Contestants) -> Iterator[Row | str]:
        turns = take_turns(group, options.pace(RANDOM_SECONDS), finish=options.finish)
        yield turns.ratio_row(f"{name}, {passed}", "textbook", "ours", bar=NEVER_SLOWER)

    return Case(name, lambda: _measured(shape, load, options, rows, everyone=False))


def _measured(
    shape: Shape,
    load: Load,
    options: Options,
    rows: Callable[[Pass, Contestants], Iterator[Row | str]],
    *,
    everyone: bool,
) -> Iterator[Row | str]:
    """Rows of both passes; ``everyone``: all contestants, not only ours and textbook."""
    operands = make_operands(shape, options.seed, options.device)
    with busy_process() if load != "alone" else nullcontext():
        for passed, group in contestants(shape, operands).items():
            if not everyone:
                group = {name: group[name] for name in PAIR}
            yield from rows(passed, group)
            if everyone:
                yield from skipped(shape, passed, options.device)
