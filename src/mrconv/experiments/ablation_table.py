"""Rows of an ablation as tables of markdown, ours beside the published numbers."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..bench.record import Row
from ..bench.table import markdown
from .ablation_rows import (
    ACCURACY,
    DIFFERENCE,
    INFERENCE,
    OPERATIONS,
    PARAMETERS,
    SEEDS,
    SPREAD,
    TRAINING,
    prefix,
)
from .published import quoted
from .small_tasks import TASKS, TaskName

if TYPE_CHECKING:
    from .ablation import Ablation

__all__ = ["ablation_markdown", "scale"]

#: Heading, what the rows' names say, digits behind the point.
COLUMNS = (
    ("parameters", PARAMETERS, 0),
    ("operations, million", OPERATIONS, 1),
    ("training steps, sequences/s", TRAINING, 0),
    ("merged inference, sequences/s", INFERENCE, 0),
)
UNCHECKED = "\\* not checked against the paper."


def ablation_markdown(table: "Ablation", rows: Sequence[Row]) -> str:
    """A table for each task that has rows, its scale above it.

    Args:
        table: Whose variants and published numbers.
        rows: Of its record.

    Returns:
        Lines of markdown.
    """
    values = {row.name: row for row in rows}
    parts = [_task(table, task, values) for task in table.variants if _has(table, task, values)]
    text = "\n".join([*parts, *_verdicts(rows), *(f"{one}\n" for one in table.remarks)])
    return f"{text}\n{UNCHECKED}\n" if "*" in text.replace("**", "") else text


def scale(table: str, task: TaskName, values: Mapping[str, Row], published: str) -> str:
    """What was trained, and what the published numbers beside it were.

    Args:
        table: Its name.
        task: Whose rows.
        values: Rows by name.
        published: The published task.

    Returns:
        Two sentences.
    """
    start = prefix(table, task)
    count = {
        what: f"{values[f'{start}: {what}'].value:,.0f}"
        for what in ("layers", "channels", "training examples", "test examples", "epochs", SEEDS)
    }
    ours = (
        f"Ours: {TASKS[task].title}, {count['layers']} x {count['channels']}, "
        f"{count['training examples']} training and {count['test examples']} test examples, "
        f"epochs: {count['epochs']}, seeds: {count[SEEDS]}."
    )
    return f"{ours} Published: {published}, full size."


def _has(table: "Ablation", task: TaskName, values: Mapping[str, Row]) -> bool:
    return f"{prefix(table.name, task)}: {SEEDS}" in values


def _task(table: "Ablation", task: TaskName, values: Mapping[str, Row]) -> str:
    published = table.quoted.get(task, TASKS[task].published)
    head = [table.name, "ours, test accuracy (%)", f"published: {published} (%)"]
    lines = []
    for variant in table.variants[task]:
        start, only = prefix(table.name, task), variant.mixer is None
        theirs = table.published.get(task, {}).get(variant.name)
        if only and theirs is None:
            continue
        found = [_number(values, f"{start}, {what}: {variant.name}", n) for _, what, n in COLUMNS]
        name = f"{variant.name} (published only)" if only else variant.name
        lines.append([name, _accuracy(values, start, variant.name), quoted(theirs), *found])
    text = scale(table.name, task, values, published)
    return f"{text}\n\n{markdown([*head, *(one for one, _, _ in COLUMNS)], lines)}"


def _accuracy(values: Mapping[str, Row], start: str, name: str) -> str:
    """The mean, and how far the seeds are apart."""
    text = _number(values, f"{start}, {ACCURACY}: {name}", 2)
    apart = values.get(f"{start}, {SPREAD}: {name}")
    return text if apart is None else f"{text} (seeds within {apart.value:.2f})"


def _number(values: Mapping[str, Row], name: str, digits: int) -> str:
    return f"{values[name].value:,.{digits}f}" if name in values else "-"


def _verdicts(rows: Sequence[Row]) -> list[str]:
    return [
        f"{row.name}: {row.value:+.2f} points, to be more than the spread of {row.bar:.2f}: "
        f"{'holds' if row.holds else 'missed'}.\n"
        for row in rows
        if row.bar is not None and DIFFERENCE in row.name
    ]
