"""What a bench found: rows of numbers beside their bars, and the file that keeps them."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..data.writing import write_text
from ..errors import ArgumentError, FileError

__all__ = ["Better", "Record", "Row", "read_record", "write_record"]

Better = Literal["higher", "lower"]

DIGITS = 6  # significant ones that a file keeps


@dataclass(frozen=True)
class Row:
    """One number, and where it has one its bar.

    Args:
        name: What was measured, unique in its record.
        value: Median of the repeats; NaN where it could not be computed.
        unit: Such as "ms"; "times" of a ratio.
        quartiles: First and third of the repeats; None: the value was taken once.
        bar: What the value must reach; None: it is only told.
        better: Which values reach a bar: those at or above it, or those at or below it.
        explained: Why a bar is missed, in one sentence.

    Raises:
        ArgumentError: If only one of ``bar`` and ``better`` is given.

    Example:
        >>> from mrconv.bench import Row
        >>> Row("textbook / ours", 3.1, "times", bar=2.5, better="higher").holds
        True
    """

    name: str
    value: float
    unit: str
    quartiles: tuple[float, float] | None = None
    bar: float | None = None
    better: Better | None = None
    explained: str | None = None

    def __post_init__(self) -> None:
        if (self.bar is None) != (self.better is None):
            raise ArgumentError(
                "Row: bar and better must be given together; "
                f"got bar={self.bar!r}, better={self.better!r}. Give both, or neither."
            )

    @property
    def holds(self) -> bool | None:
        """Whether the value reaches its bar; None without one. NaN reaches none."""
        if self.bar is None:
            return None
        return self.value >= self.bar if self.better == "higher" else self.value <= self.bar

    def as_json(self) -> dict[str, Any]:
        """The row as its file has it; a number that is not finite is null."""
        low, high = self.quartiles or (self.value, self.value)
        content: dict[str, Any] = {
            "name": self.name,
            "value": _rounded(self.value),
            "unit": self.unit,
            "quartiles": [_rounded(low), _rounded(high)],
        }
        if self.bar is not None:
            content |= {"bar": self.bar, "better": self.better, "holds": self.holds}
            if not self.holds and self.explained:
                content["explained"] = self.explained
        return content


@dataclass(frozen=True)
class Record:
    """All rows of a bench, with the command and the machine that gave them.

    Args:
        bench: Its name.
        command: What repeats it.
        machine: Processor, cores, memory and, where one was used, GPU.
        versions: By package.
        threads: Of torch.
        rows: In the order measured.
    """

    bench: str
    command: str
    machine: Mapping[str, Any]
    versions: Mapping[str, str]
    threads: int
    rows: Sequence[Row] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The record as its file has it."""
        return {
            "bench": self.bench,
            "command": self.command,
            "machine": dict(self.machine),
            "versions": dict(self.versions),
            "threads": self.threads,
            "rows": [row.as_json() for row in self.rows],
        }


def _rounded(value: float) -> float | None:
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None


def write_record(path: Path | str, record: Record) -> None:
    """Writes a record as JSON, whole or not at all.

    Args:
        path: Where it will stand; its folder is made.
        record: What to write.
    """
    write_text(path, json.dumps(record.as_json(), indent=1, allow_nan=False) + "\n")


def read_record(path: Path | str) -> Record:
    """Reads what ``write_record`` wrote.

    Args:
        path: The file.

    Returns:
        An equal record, to six digits of each number.

    Raises:
        FileError: If it is missing or holds something else.
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        rows = [_row(one) for one in content.pop("rows")]
        return Record(**content, rows=rows)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise FileError(
            f"read_record: {path} must be a file that mrconv bench --json wrote; got {error!r}. "
            "Write it anew."
        ) from error


def _row(content: dict[str, Any]) -> Row:
    content.pop("holds", None)  # follows from value and bar
    value, (low, high) = _number(content.pop("value")), map(_number, content.pop("quartiles"))
    return Row(value=value, quartiles=(low, high), **content)


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
