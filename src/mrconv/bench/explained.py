"""Why a bar is missed, where that is known: one sentence beside the number, in table and file."""

from dataclasses import replace

from .record import Row

__all__ = ["EXPLAINED", "with_explanation"]

#: Sentence by what a row's name begins with.
EXPLAINED: dict[str, str] = {}


def with_explanation(row: Row) -> Row:
    """A row with the sentence for its miss.

    Args:
        row: As measured.

    Returns:
        The same row where it has no bar, holds, or nothing is known.
    """
    for start, sentence in EXPLAINED.items():
        if row.holds is False and row.name.startswith(start):
            return replace(row, explained=sentence)
    return row
