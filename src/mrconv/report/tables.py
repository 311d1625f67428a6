"""Tables as HTML."""

from collections.abc import Sequence
from html import escape
from numbers import Integral, Real

__all__ = ["table_markup"]


def table_markup(columns: Sequence[str], rows: Sequence[Sequence[object]], caption: str) -> str:
    """A table in which columns of numbers stand at the right, headings included.

    Args:
        columns: Heading of each column.
        rows: Cells; whole numbers with thousands apart, floats with four digits, None a dash.
        caption: A sentence below it, or nothing.

    Returns:
        HTML.

    Example:
        >>> "<td>taps</td>" in table_markup(["name"], [["taps"]], "")
        True
    """
    kinds = [
        ' class="number"' if _numeric([row[j] for row in rows]) else "" for j in range(len(columns))
    ]
    head = "".join(
        f'<th scope="col"{kind}>{escape(name)}</th>'
        for kind, name in zip(kinds, columns, strict=True)
    )
    lines = "".join(f"<tr>{_cells(row, kinds)}</tr>\n" for row in rows)
    note = f"<caption>{escape(caption)}</caption>" if caption else ""
    return (
        f'<div class="wide" tabindex="0"><table>{note}<thead><tr>{head}</tr></thead>\n'
        f"<tbody>{lines}</tbody></table></div>"
    )


def _cells(row: Sequence[object], kinds: Sequence[str]) -> str:
    return "".join(
        f"<td{kind}>{escape(_words(value))}</td>" for kind, value in zip(kinds, row, strict=True)
    )


def _numeric(values: Sequence[object]) -> bool:
    """Whether a column holds numbers and otherwise nothing but gaps."""
    known = [value for value in values if value is not None]
    return bool(known) and all(
        isinstance(value, Real) and not isinstance(value, bool) for value in known
    )


def _words(value: object) -> str:
    """A value as the reader should see it."""
    if value is None:
        return "\N{EN DASH}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Integral):
        return f"{int(value):,}"
    return f"{float(value):.4g}" if isinstance(value, Real) else str(value)
