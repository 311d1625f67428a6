"""What a comparison found: rows of differences beside their bounds."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

__all__ = ["Allowed", "Proof", "Row", "difference_row"]

#: Said below a table with rows of distilled forms.
REMARK = (
    "Distilled layers may differ by what their taps differ, times the largest input; "
    "for a whole model nothing is known."
)


class Allowed(NamedTuple):
    """How far two forms may be apart."""

    rounding: float
    """Relative difference that equal forms may show."""
    approximate: bool = False
    """Whether one form was distilled."""
    explained: float | None = 0.0
    """Difference beyond rounding, in the outputs' unit; None: nothing is known."""


@dataclass(frozen=True)
class Row:
    """One comparison of two forms at one place."""

    place: str
    """Name of the layer inside the model, "features" or "output"."""
    forms: tuple[str, str]
    largest: float
    """Largest difference, relative to the largest value of the first form."""
    mean: float
    """Mean difference, relative to the same value."""
    sample: int | None
    """Where in time the largest difference stands; None without a time axis."""
    bound: float | None
    """What ``largest`` may be; None where nothing is known, of a whole distilled model."""
    holds: bool | None
    """Whether it is; None without a bound."""
    approximate: bool = False
    """Whether one form was distilled, so that they differ by more than rounding."""


@dataclass(frozen=True)
class Proof:
    """All comparisons; prints as a table."""

    rows: tuple[Row, ...]

    @property
    def holds(self) -> bool:
        """Whether every comparison that has a bound stays within it."""
        return all(row.holds is not False for row in self.rows)

    @property
    def approximate(self) -> tuple[Row, ...]:
        """The comparisons with distilled forms."""
        return tuple(row for row in self.rows if row.approximate)

    def __str__(self) -> str:
        head = ("place", "forms", "largest", "mean", "at sample", "bound", "holds")
        lines = [head, *(_cells(row) for row in self.rows)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
        table = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        ]
        return "\n".join([*table, *([REMARK] if self.approximate else [])])


def difference_row(
    place: str,
    forms: tuple[str, str],
    outputs: tuple[Tensor, Tensor],
    allowed: Allowed,
    *,
    time_axis: int | None,
) -> Row:
    """The row of two outputs.

    Args:
        place: As in ``Row``.
        forms: As in ``Row``.
        outputs: What the forms gave, of one shape.
        allowed: How far they may be apart.
        time_axis: Of both; None: there is none.

    Returns:
        The row.
    """
    first, second = (one.double() for one in outputs)
    difference = (second - first).abs()
    if not difference.numel():
        return Row(place, forms, 0.0, 0.0, None, allowed.rounding, True, allowed.approximate)
    scale = float(first.abs().max().clamp_min(1e-300))
    largest, mean = float(difference.max()) / scale, float(difference.mean()) / scale
    sample = None
    if time_axis is not None:
        others = [axis for axis in range(first.ndim) if axis != time_axis]
        sample = int(difference.amax(others).argmax())
    bound, holds = None, None if math.isfinite(largest) else False
    if allowed.explained is not None:
        bound = allowed.rounding + allowed.explained / scale
        holds = largest <= bound
    return Row(place, forms, largest, mean, sample, bound, holds, allowed.approximate)


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.place,
        " against ".join(row.forms),
        f"{row.largest:.1e}",
        f"{row.mean:.1e}",
        "-" if row.sample is None else str(row.sample),
        "-" if row.bound is None else f"{row.bound:.0e}",
        {None: "-", True: "yes", False: "NO"}[row.holds],
    )
