"""Speed comparisons behind ``mrconv bench``: contestants measured side by side in one run."""

from .cases import Case, Options, selected
from .record import Record, Row, read_record, write_record
from .registry import BENCHES, BenchName

__all__ = [
    "BENCHES",
    "BenchName",
    "Case",
    "Options",
    "Record",
    "Row",
    "read_record",
    "selected",
    "write_record",
]
