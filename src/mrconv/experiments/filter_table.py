"""Rows of the experiment on filters as a table of markdown, and as a picture."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..bench.record import Row
from ..bench.table import markdown
from ..report.ablation_panels import Panel, quality_by_outer_width
from .filter_contestants import CONTESTANTS
from .filter_rows import AFTER, BITS, RECALL

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["differences_table", "filters_picture", "filters_table", "recall_table"]

Found = dict[tuple[str, str], Row]
DIFFERENCE = ", difference: "

#: Heading, first words of the rows' names, digits behind the point; None: significant ones.
COLUMNS: tuple[tuple[str, str, int | None], ...] = (
    ("bits per byte", f"{BITS}, ", 3),
    ("recall", RECALL, 3),
    ("parameters", "parameters, language", 0),
    ("training step", "training step / ", 2),
    ("forward", "forward / ", 2),
    ("filters to distil", "filters to distil", 0),
    ("error, worst", "distillation error, worst", None),
    ("error, median", "distillation error, median", None),
    ("time to distil, s", "distillation time", 1),
    ("bits per byte after it", AFTER, 3),
)


def filters_table(rows: Sequence[Row]) -> str:
    """One line a contestant; a dash where nothing was measured.

    Args:
        rows: Of the experiment.

    Returns:
        Lines of markdown.

    Example:
        >>> from mrconv.bench import Row
        >>> print(filters_table([Row("recall: attention", 0.9, "accuracy")]).splitlines()[-1])
        | attention | - | 0.900 | - | - | - | - | - | - | - | - |
    """
    found = _by_contestant(rows)
    measured = {name for _, name in found}
    names = [one.name for one in CONTESTANTS if one.name in measured]
    cells = ([_cell(found, start, one, digits) for _, start, digits in COLUMNS] for one in names)
    head = ["", *(heading for heading, _, _ in COLUMNS)]
    return markdown(head, ([name, *row] for name, row in zip(names, cells, strict=True)))


def recall_table(rows: Sequence[Row]) -> str:
    """Accuracy of every seed, one line a contestant.

    Args:
        rows: Of the experiment.

    Returns:
        Lines of markdown.
    """
    found = _by_contestant(rows)
    seeds = list(dict.fromkeys(what for what, _ in found if what.startswith(f"{RECALL}, seed")))
    whats = [RECALL, *seeds, "filters, recall", "parameters, recall"]
    heads = ["median", *(one.removeprefix(f"{RECALL}, ") for one in seeds), "filters", "parameters"]
    lines = [
        [
            one.name,
            *(_cell(found, what, one.name, 0 if what in whats[-2:] else 3) for what in whats),
        ]
        for one in CONTESTANTS
        if (RECALL, one.name) in found
    ]
    return markdown(["recall", *heads], lines)


def differences_table(rows: Sequence[Row]) -> str:
    """What the experiment is for: differences of two contestants, seed by seed in recall.

    Args:
        rows: Of the experiment.

    Returns:
        Lines of markdown.
    """
    lines = []
    for row in rows:
        if DIFFERENCE in row.name:
            low, high = row.quartiles or (row.value, row.value)
            verdict = {None: "", True: "above 0: holds", False: "above 0: missed"}[row.holds]
            name, spread = row.name.replace(DIFFERENCE, ": "), f"{low:+.3f} to {high:+.3f}"
            lines.append([name, f"{row.value:+.3f}", spread, verdict])
    return markdown(["difference", "median", "quartiles", ""], lines)


def filters_picture(rows: Sequence[Row]) -> "Figure":
    """Bits and recall against the width of the outer product.

    Args:
        rows: Of the experiment.

    Returns:
        A figure of a panel for each that was measured.
    """
    found = _by_contestant(rows)
    texts = dict.fromkeys(what for what, _ in found if what.startswith(f"{BITS}, "))
    panels = [_panel(found, text, f"{text}: less is better") for text in texts]
    return quality_by_outer_width([*panels, _panel(found, RECALL, "recall: more is better")])


def _panel(found: Found, what: str, title: str) -> Panel:
    """Points over the outer width, and levels of contestants that have none."""
    series: dict[str, dict[int, list[float]]] = {}
    levels = {}
    for one in CONTESTANTS:
        values = _values(found, what, one.name)
        if not values:
            continue
        if one.outer is None:
            levels[one.name] = values
        else:
            name = "shared filters, outer product" if one.outer > 1 else one.name
            series.setdefault(name, {})[one.outer] = values
    return Panel(title, series, levels)


def _values(found: Found, what: str, name: str) -> list[float]:
    """Of every seed, or the only one."""
    seeded = what == RECALL
    return [
        row.value
        for (kind, who), row in found.items()
        if who == name and (kind.startswith(f"{RECALL}, seed") if seeded else kind == what)
    ]


def _by_contestant(rows: Sequence[Row]) -> Found:
    """Rows by what they tell and of whom; differences of two are left out."""
    found = {}
    for row in rows:
        what, _, name = row.name.partition(": ")
        if DIFFERENCE not in row.name:
            found[what, name] = row
    return found


def _cell(found: Found, start: str, name: str, digits: int | None) -> str:
    # "recall" alone is the median over the seeds, "recall, seed 0" is not
    exact = start == RECALL
    for (what, who), row in found.items():
        if who == name and (what == start if exact else what.startswith(start)):
            if digits is None:
                return f"{row.value:.2g}"
            return f"{row.value:,.{digits}f}"
    return "-"
