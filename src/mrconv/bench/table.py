"""A bench's rows as lines of text, each number beside its bar."""

from collections.abc import Iterable, Sequence

from .record import Row

__all__ = ["heading", "line", "markdown", "total"]

NAME, VALUE, SPREAD, BAR = 92, 14, 22, 12
SIGNS = {"higher": ">=", "lower": "<="}


def heading() -> str:
    """The names of the columns.

    Returns:
        One line.
    """
    return _columns("what", "value", "quartiles", "bar", "")


def line(row: Row) -> str:
    """One row: name, value with unit, quartiles, bar, and whether it holds.

    Args:
        row: What was measured.

    Returns:
        One line; a second one for a miss that is explained.

    Example:
        >>> from mrconv.bench import Row
        >>> line(Row("ours", 2.0, "ms")).split()
        ['ours', '2', 'ms']
    """
    spread = "" if row.quartiles is None else f"{row.quartiles[0]:.3g} to {row.quartiles[1]:.3g}"
    bar = "" if row.better is None else f"{SIGNS[row.better]} {row.bar:g}"
    verdict = {None: "", True: "holds", False: "misses"}[row.holds]
    text = _columns(row.name, f"{row.value:.3g} {row.unit}", spread, bar, verdict)
    why = row.explained if row.holds is False else None
    return text if why is None else f"{text}\n  because: {why}"


def _columns(name: str, value: str, spread: str, bar: str, verdict: str) -> str:
    cells = f"{name:<{NAME}}  {value:>{VALUE}}  {spread:>{SPREAD}}  {bar:>{BAR}}  {verdict}"
    return cells.rstrip()


def total(rows: Sequence[Row]) -> str:
    """How many bars hold.

    Args:
        rows: Of a record.

    Returns:
        One sentence; empty where no row has a bar.

    Example:
        >>> from mrconv.bench import Row
        >>> total([Row("a", 1, "ms"), Row("b", 2, "times", bar=3, better="lower")])
        '1 of 1 bars hold.'
    """
    barred = [row for row in rows if row.bar is not None]
    held = sum(bool(row.holds) for row in barred)
    return f"{held} of {len(barred)} bars hold." if barred else ""


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of markdown.

    Args:
        head: Names of the columns; empty ones are allowed.
        rows: As many cells each.

    Returns:
        Lines, the last one ended.

    Example:
        >>> print(markdown(["what", "ms"], [["ours", "2"]]), end="")
        | what | ms |
        |---|---|
        | ours | 2 |
    """
    names = "".join(f" {name} |" if name else " |" for name in head)
    lines = [f"|{names}", "|---" * len(head) + "|", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n"
