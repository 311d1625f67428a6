"""What the cells of an ablation found, as rows of a record."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import mean, median
from typing import NamedTuple

from ..bench.record import Row
from ..bench.timing import spread
from .grid import Numbers
from .small_tasks import TASKS, TaskName

__all__ = [
    "ACCURACY",
    "DIFFERENCE",
    "INFERENCE",
    "OPERATIONS",
    "PARAMETERS",
    "SEEDS",
    "SPREAD",
    "TRAINING",
    "Bar",
    "Found",
    "ablation_rows",
    "prefix",
]

#: Numbers by variant and seed, of one task.
Found = Mapping[str, Mapping[int, Numbers]]

ACCURACY, SPREAD = "mean test accuracy", "spread over seeds"
PARAMETERS, OPERATIONS = "parameters", "operations"
TRAINING, INFERENCE = "training steps", "merged inference"
DIFFERENCE, SEEDS = "mean difference", "seeds"
SPEEDS = {TRAINING: "training", INFERENCE: "inference"}


class Bar(NamedTuple):
    """A variant that must be better than another by more than their spread over the seeds."""

    task: TaskName
    better: str
    """Name of a variant."""
    than: str
    title: str
    """Of the two, as the row has it."""
    seeds: int
    """From how many on it is judged."""


def prefix(table: str, task: TaskName) -> str:
    """How the names of all rows of a task begin."""
    return f"{table}, {TASKS[task].title}"


def ablation_rows(table: str, found: Mapping[TaskName, Found], bar: Bar | None = None) -> list[Row]:
    """Rows of all finished cells.

    Args:
        table: Its name, with which every row's name begins.
        found: Numbers by task, variant and seed.
        bar: What the table must show.

    Returns:
        Accuracies in percent, of every seed and their mean with quartiles; the spread, which is
        the largest accuracy less the smallest; sizes, operations, speeds and times; the bar.
    """
    rows: list[Row] = []
    for task, variants in found.items():
        start = prefix(table, task)
        for name, seeds in variants.items():
            rows += _variant_rows(start, name, seeds)
        rows += _size_rows(start, variants)
    return [*rows, *_bar_rows(table, found, bar)]


def _variant_rows(start: str, name: str, seeds: Mapping[int, Numbers]) -> Iterator[Row]:
    values = _percent(seeds)
    for seed, value in zip(seeds, values, strict=True):
        yield Row(f"{start}, test accuracy, seed {seed}: {name}", value, "%")
    _, low, high = spread(values)
    yield Row(f"{start}, {ACCURACY}: {name}", mean(values), "%", (low, high))
    if len(values) > 1:
        yield Row(f"{start}, {SPREAD}: {name}", max(values) - min(values), "points")
    first = next(iter(seeds.values()))
    yield Row(f"{start}, {PARAMETERS}: {name}", first["parameters"], "parameters")
    if first["operations"] is not None:
        yield Row(f"{start}, {OPERATIONS}: {name}", first["operations"] / 1e6, "million")
    for what, key in SPEEDS.items():
        speeds = zip(*(one[key] for one in seeds.values()), strict=True)
        middle, low, high = (median(each) for each in speeds)
        yield Row(f"{start}, {what}: {name}", middle, "sequences/s", (low, high))
    times = [one["seconds"] for one in seeds.values()]
    yield Row(f"{start}, time to train: {name}", median(times), "s")


def _size_rows(start: str, variants: Found) -> Iterator[Row]:
    """What all cells of a task have in common."""
    if not variants:
        return
    seeds = max(variants.values(), key=len)
    for what, count in next(iter(seeds.values()))["sizes"].items():
        yield Row(f"{start}: {what}", count, what)
    yield Row(f"{start}: {SEEDS}", len(seeds), SEEDS)


def _bar_rows(table: str, found: Mapping[TaskName, Found], bar: Bar | None) -> Iterator[Row]:
    """The difference of two, whose bar is the larger of their spreads where seeds suffice."""
    variants = {} if bar is None else found.get(bar.task, {})
    if bar is None or not {bar.better, bar.than} <= variants.keys():
        return
    ours, theirs = variants[bar.better], variants[bar.than]
    common = [seed for seed in ours if seed in theirs]
    if not common:
        return
    pairs = [_percent({seed: one[seed] for seed in common}) for one in (ours, theirs)]
    differences = [one - other for one, other in zip(*pairs, strict=True)]
    judged = len(common) >= bar.seeds
    yield Row(
        f"{prefix(table, bar.task)}, {DIFFERENCE}: {bar.title}",
        mean(differences),
        "points",
        spread(differences)[1:],
        max(max(values) - min(values) for values in pairs) if judged else None,
        "higher" if judged else None,
    )


def _percent(seeds: Mapping[int, Numbers]) -> Sequence[float]:
    return [100 * one["value"] for one in seeds.values()]
