"""``mrconv bench branches``: exact statistics against textbook branches and one convolution."""

import functools
import subprocess
from collections.abc import Callable, Iterator

from .branch_errors import error_rows
from .branch_steps import STEPS, Setting, StepName, make_step
from .cases import Case, Options
from .memory import peak_memory
from .record import Row
from .timing import Spread, take_turns

__all__ = ["KERNELS", "branch_cases"]

MemoryOf = Callable[[StepName, Setting, int], Spread]

KERNELS = ("dilated", "fourier", "fourier+sparse", "dense")
# shape and kernel size; the last has the most branches at L = 1,024, the paper's worst case
SIZES = (
    ((16, 64, 1024), 8),
    ((32, 128, 2048), 2),
    ((16, 64, 4096), 4),
    ((4, 64, 16384), 8),
    ((16, 64, 1024), 1),
)
QUICK = (((2, 4, 64), 8), ((2, 4, 64), 1))

# textbook / exact, by kernel, at the first four sizes
SPEED_BARS = {
    "dilated": (4.0, 12.0, 12.0, 12.0),
    "fourier": (3.0, 5.0, 5.0, 5.0),
    "fourier+sparse": (3.0, 5.0, 5.0, 5.0),
}
# exact / LongConv, at most: time and memory, of dilated kernels and of all others
DILATED_BARS, OTHER_BARS = (2.3, 1.3), (4.2, 1.8)

SECONDS = 4.0  # of one measurement
SLOW_ROUNDS = 3  # at least, of textbook, a step of which takes seconds
PROCESSES = 3  # that the peak memory of a contestant with a bar is taken in
MEGABYTE = 1e6


def branch_cases(options: Options) -> list[Case]:
    """The cases of the bench.

    Args:
        options: Seed, device, pace.

    Returns:
        A case for each size and kernel: times, peak memory, errors.
    """
    sizes = QUICK if options.quick else SIZES
    memory = functools.cache(peak_memory)  # LongConv's is the same for all kernels of a shape
    cases = []
    for i, (shape, kernel_size) in enumerate(sizes):
        for kernel in KERNELS:
            setting = Setting(kernel, kernel_size, shape, options.seed, options.device)
            bars = SPEED_BARS.get(kernel, ())
            bar = bars[i] if not options.quick and i < len(bars) else None
            cases.append(_case(setting, bar, memory, options))
    return cases


def _case(
    setting: Setting,
    bar: float | None,
    memory: MemoryOf,
    options: Options,
) -> Case:
    def measure() -> Iterator[Row | str]:
        yield from _time_rows(setting, bar, options)
        if not options.quick:
            yield from _memory_rows(setting, memory)
        yield from error_rows(setting)

    return Case(str(setting), measure)


def _time_rows(setting: Setting, bar: float | None, options: Options) -> Iterator[Row]:
    steps = {step: make_step(step, setting) for step in STEPS}
    name, pace = f"{setting}, training step", options.pace(SECONDS)
    # two measurements, so that the slow textbook does not thin the rounds of the other pair
    pair = {"exact": steps["exact"], "LongConv": steps["LongConv"]}
    turns = take_turns(pair, pace, finish=options.finish)
    yield from (turns.time_row(name, contestant) for contestant in pair)
    limit, _ = _bars(setting)
    yield turns.ratio_row(name, "exact", "LongConv", bar=limit, better="lower")
    pair = {"exact": steps["exact"], "textbook": steps["textbook"]}
    turns = take_turns(pair, options.pace(SECONDS, SLOW_ROUNDS), finish=options.finish)
    yield turns.time_row(name, "textbook")
    yield turns.ratio_row(name, "textbook", "exact", bar=bar)


def _bars(setting: Setting) -> tuple[float, float]:
    return DILATED_BARS if setting.kernel == "dilated" else OTHER_BARS


def _memory_rows(setting: Setting, memory: MemoryOf) -> Iterator[Row | str]:
    name, (_, limit) = f"{setting}, peak memory of a step", _bars(setting)
    alike = Setting("dense", 8, setting.shape, device=setting.device)  # LongConv has no branches
    try:
        found = {
            "exact": memory("exact", setting, PROCESSES),
            "textbook": memory("textbook", setting, 1),
            "LongConv": memory("LongConv", alike, PROCESSES),
        }
    except subprocess.CalledProcessError as error:
        yield f"  {name}: not measured, the process ended with code {error.returncode}"
        return
    for contestant, size in found.items():
        middle, low, high = (part / MEGABYTE for part in size)
        yield Row(f"{name}: {contestant}", middle, "MB", (low, high))
    exact, textbook, single = (found[one].median for one in ("exact", "textbook", "LongConv"))
    ratio = exact / max(single, 1)
    yield Row(f"{name}: exact / LongConv", ratio, "times", bar=limit, better="lower")
    yield Row(f"{name}: textbook / exact", textbook / max(exact, 1), "times")
