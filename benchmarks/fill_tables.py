"""Puts the numbers of files in benchmarks/results/ into pages of docs/.

What stands between <!-- FILE.json: NAME --> and <!-- end --> is written anew:

    python benchmarks/fill_tables.py
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from mrconv.bench import Row, read_record
from mrconv.bench.table import markdown
from mrconv.experiments.filter_table import differences_table, filters_table, recall_table
from mrconv.experiments.tables import TABLES as ALL_TABLES
from mrconv.experiments.tables import table_named

HOME = Path(__file__).resolve().parents[1]
#: Tables of ``mrconv table`` that stand on the page of results.
TABLES_OF_RESULTS = [name for name in ALL_TABLES if name not in ("filters", "vision")]
#: Page of every file of numbers.
PAGES = {
    "stream.json": HOME / "docs/performance.md",
    "generate.json": HOME / "docs/performance.md",
    "language.json": HOME / "docs/language.md",
    **{f"{name}.json": HOME / "docs/results.md" for name in TABLES_OF_RESULTS},
}
STREAMS = "![Time of a step and of a chunk against length, one line a form](figures/stream.svg)\n"
GENERATION = "![Speed and memory of generation against the context](figures/generate.svg)\n"
FILTERS = (
    "![Bits per byte and recall against the width of the outer product, every seed a dot]"
    "(figures/filters.svg)\n"
)
SIGNS = {"higher": "at least", "lower": "at most"}


def by_length(rows: Sequence[Row], what: str) -> str:
    """A table of one line a form and one column a length or context.

    Args:
        rows: Of the bench.
        what: What was measured, as the rows' names begin.

    Returns:
        Lines of markdown.
    """
    named = re.compile(rf"{re.escape(what)}, (\d+) (?:samples|tokens): (.+)")
    found = [(named.fullmatch(row.name), row) for row in rows]
    values = {
        (match[2], int(match[1])): row for match, row in found if match and " / " not in match[2]
    }
    lengths = sorted({length for _, length in values})
    unit = next(iter(values.values())).unit
    lines = [
        [form, *(number(values[form, n].value) if (form, n) in values else "-" for n in lengths)]
        for form in dict.fromkeys(form for form, _ in values)
    ]
    return markdown([f"{what}, {unit}", *(f"{length:,}" for length in lengths)], lines)


def bars(rows: Sequence[Row]) -> str:
    """A table of all numbers with a bar.

    Args:
        rows: Of the bench.

    Returns:
        Lines of markdown.
    """
    lines = []
    for row in rows:
        if row.better is not None and row.bar is not None:
            verdict = "holds" if row.holds else "missed"
            value = f"{number(row.value)} {row.unit}"
            lines.append([row.name, value, f"{SIGNS[row.better]} {row.bar:g}", verdict])
    return markdown(["what", "value", "bar", ""], lines)


def number(value: float) -> str:
    """Three digits, as the other tables have them."""
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


TABLES: dict[str, dict[str, Callable[[Sequence[Row]], str]]] = {
    "stream.json": {
        "step": lambda rows: by_length(rows, "step"),
        "chunk": lambda rows: by_length(rows, "chunk of 256"),
        "worst": lambda rows: by_length(rows, "worst step"),
        "state": lambda rows: by_length(rows, "state"),
        "bars": bars,
        "picture": lambda rows: STREAMS,
    },
    "generate.json": {
        "speed of 1": lambda rows: by_length(rows, "tokens per second, batch 1"),
        "speed of 16": lambda rows: by_length(rows, "tokens per second, batch 16"),
        "speed of 64": lambda rows: by_length(rows, "tokens per second, batch 64"),
        "step of 64": lambda rows: by_length(rows, "step, batch 64"),
        "estimate": lambda rows: by_length(rows, "bandwidth estimate, batch 64"),
        "state of 64": lambda rows: by_length(rows, "state, batch 64"),
        "peak of 1": lambda rows: by_length(rows, "peak memory, batch 1"),
        "peak of 64": lambda rows: by_length(rows, "peak memory, batch 64"),
        "prompt": lambda rows: by_length(rows, "prompt of one row"),
        "bars": bars,
        "picture": lambda rows: GENERATION,
    },
    "language.json": {
        "filters": filters_table,
        "recall": recall_table,
        "differences": differences_table,
        "picture": lambda rows: FILTERS,
    },
    **{f"{name}.json": {"table": table_named(name).markdown} for name in TABLES_OF_RESULTS},
}


def results(name: str) -> Path:
    """Where a file of numbers stands."""
    return HOME / "benchmarks/results" / name


def filled(page: str, rows: Sequence[Row], name: str = "stream.json") -> str:
    """A page with the tables of one file written anew.

    Args:
        page: Its text.
        rows: Of the file.
        name: Of the file.

    Returns:
        The text.
    """
    marked = re.compile(rf"(<!-- {re.escape(name)}: ([\w ]+) -->\n).*?(<!-- end -->)", re.DOTALL)
    tables = TABLES[name]
    return marked.sub(lambda found: f"{found[1]}\n{tables[found[2]](rows)}\n{found[3]}", page)


if __name__ == "__main__":
    for file, path in PAGES.items():
        if results(file).exists():
            text = filled(path.read_text(encoding="utf-8"), read_record(results(file)).rows, file)
            path.write_text(text, encoding="utf-8")
