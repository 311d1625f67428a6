"""Names of the tables and where each one stands; importing this imports none of them."""

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from .table import Table

__all__ = ["TABLES", "TableName", "table_named"]

TableName = Literal[
    "filters",
    "design",
    "kernel-size",
    "kernels",
    "norm",
    "combine",
    "baselines",
    "speech-rate",
    "results",
    "vision",
]

#: Module and name of every table.
TABLES: Mapping[TableName, tuple[str, str]] = {
    "filters": ("filters", "FILTERS"),
    "design": ("ablations", "DESIGN"),
    "kernel-size": ("ablations", "KERNEL_SIZE"),
    "kernels": ("ablations", "KERNELS"),
    "norm": ("ablations", "NORM"),
    "combine": ("ablations", "COMBINE"),
    "baselines": ("baselines", "BASELINES"),
    "speech-rate": ("speech_rate", "SPEECH_RATE"),
    "results": ("results", "RESULTS"),
    "vision": ("vision", "VISION"),
}


def table_named(name: TableName) -> "Table":
    """A table; only now its module is imported.

    Args:
        name: One of ``TABLES``.

    Example:
        >>> table_named("design").record
        'design'
    """
    module, attribute = TABLES[name]
    table: Table = getattr(importlib.import_module(f".{module}", __package__), attribute)
    return table
