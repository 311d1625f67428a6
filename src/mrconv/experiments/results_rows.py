"""What the trainings of the table of results found, as rows of a record and as markdown."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import mean, median

from ..bench.record import Row
from ..bench.table import markdown
from ..bench.timing import spread
from .goals import GOALS, Goal
from .grid import Numbers

__all__ = ["results_markdown", "results_rows"]

MEAN, SEED = "mean test accuracy", "test accuracy"
TIME, SIZE = "time to train", "parameters"
TRAINING, TEST = "training examples", "test examples"


def results_rows(found: Mapping[str, Mapping[str, Numbers]]) -> list[Row]:
    """Rows of all finished trainings.

    Args:
        found: Numbers by goal and training.

    Returns:
        Of each goal: the accuracy of every training and their mean, in percent, with quartiles and
        the goal's bar once all of its trainings are finished; sizes, and the median time.
    """
    return [row for name, runs in found.items() for row in _goal_rows(GOALS[name], runs)]


def _goal_rows(goal: Goal, runs: Mapping[str, Numbers]) -> Iterator[Row]:
    values = [100 * one["value"] for one in runs.values()]
    for run, value in zip(runs, values, strict=True):
        yield Row(f"{goal.title}, {SEED}, {run}", value, "%")
    complete = len(runs) == len(goal.runs)
    bar = goal.bar if complete else None
    better = None if bar is None else "higher"
    yield Row(
        f"{goal.title}, {MEAN}",
        mean(values),
        "%",
        spread(values)[1:],
        bar,
        better,  # type: ignore[arg-type]
        goal.explained,
    )
    first = next(iter(runs.values()))
    yield Row(f"{goal.title}, {SIZE}", first["parameters"], "parameters")
    yield Row(f"{goal.title}, {TRAINING}", first["examples"]["training"], "examples")
    tests = [one["examples"]["test"] for one in runs.values()]
    yield Row(f"{goal.title}, {TEST}", sum(tests) if goal.own_test else tests[0], "examples")
    yield Row(f"{goal.title}, {TIME}", median(one["seconds"] for one in runs.values()), "s")


def results_markdown(rows: Sequence[Row]) -> str:
    """Every goal that has rows: accuracy, bar, what stands beside it, sizes, times and command.

    Args:
        rows: Of the record.

    Returns:
        A table, and the commands below it.
    """
    values = {row.name: row for row in rows}
    goals = [goal for goal in GOALS.values() if f"{goal.title}, {MEAN}" in values]
    head = (
        "task",
        "test accuracy (%)",
        "lowest to highest",
        "to reach",
        "beside it",
        "trainings",
        "examples, training and test",
        "parameters",
        "minutes each",
    )
    table = markdown(head, [_line(goal, values) for goal in goals])
    commands = "\n".join(_command(goal) for goal in goals)
    return f"{table}\n```sh\n{commands}\n```\n"


def _line(goal: Goal, values: Mapping[str, Row]) -> list[str]:
    each = [row.value for name, row in values.items() if name.startswith(f"{goal.title}, {SEED}, ")]
    found = values[f"{goal.title}, {MEAN}"]
    numbers = {
        what: f"{values[f'{goal.title}, {what}'].value:,.0f}" for what in (SIZE, TRAINING, TEST)
    }
    return [
        goal.title,
        f"{found.value:.1f}",
        f"{min(each):.1f} to {max(each):.1f}" if len(each) > 1 else "-",
        "-" if found.bar is None else f"{found.bar:g}: {'holds' if found.holds else 'missed'}",
        goal.beside,
        str(len(each)),
        f"{numbers[TRAINING]} and {numbers[TEST]}",
        numbers[SIZE],
        f"{values[f'{goal.title}, {TIME}'].value / 60:.1f}",
    ]


def _command(goal: Goal) -> str:
    name = next(key for key, one in GOALS.items() if one is goal)
    return f"mrconv table results --only {name}"
