"""What a distillation found: for every filter, every layer and the model."""

import json
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

__all__ = ["DistillReport", "FilterReport", "LayerReport", "Verdict"]

Verdict = Literal[
    "good", "converted", "incompressible", "window too short", "could be better", "kept exact"
]

#: An error above this many times what is possible could be better.
FAR = 5.0
REMARKS: dict[Verdict, str] = {
    "good": "",
    "converted": "poles taken from the kernel itself, nothing was fitted",
    "incompressible": (
        "no recurrence of this order with this head comes closer than the bound: stream exactly"
    ),
    "window too short": (
        "the taps end before they have decayed, and too early to tell slow poles apart: "
        "convert the kernel if it is modal, or use more taps"
    ),
    "could be better": f"the error is more than {FAR:.0f} times the bound: try another order",
    "kept exact": "left in its exact form, because the tolerance could not be met",
}


@dataclass(frozen=True)
class FilterReport:
    """One filter: a channel of a layer."""

    channel: int
    order: int
    """Real numbers of state: 1 a real pole, 2 a pair."""
    error: float
    """Of the taps, relative, in norm."""
    lower_bound: float
    """Relative error that no recurrence of this order behind this head can go below."""
    gain_error: tuple[float, float]
    """Worst gain of the error over all inputs: at least, at most."""
    radius: float
    """Magnitude of the slowest pole; 0 without poles."""
    verdict: Verdict
    spectrum: tuple[float, ...] = ()
    """Hankel singular values of the taps behind the head, relative to the first."""


@dataclass(frozen=True)
class LayerReport:
    """One layer, and what it did to the inputs that it met."""

    name: str
    filters: tuple[FilterReport, ...]
    num_taps: int
    seconds: float
    exact: bool = False
    """Whether the layer was kept in its exact form."""
    output_error: float | None = None
    """Largest change of its output on the input that it met; None: not measured."""
    output_bound: float | None = None
    """What that change cannot exceed: worst gain times largest input, over the channels."""

    @property
    def error(self) -> float:
        """Largest relative error of its filters."""
        return max(one.error for one in self.filters)

    @property
    def order(self) -> int:
        """Largest order of its filters."""
        return max(one.order for one in self.filters)


@dataclass(frozen=True)
class DistillReport:
    """All layers; prints as a table."""

    layers: tuple[LayerReport, ...]
    settings: dict[str, Any]
    """What ``distill`` was asked for."""
    seconds: float
    output_change: float | None = None
    """Relative change of the model's outputs on ``inputs``, in norm; None: not measured."""

    @property
    def error(self) -> float:
        """Largest relative error of a filter in a layer that was distilled."""
        return max((one.error for one in self.layers if not one.exact), default=0.0)

    def origin(self) -> dict[str, Any]:
        """What is kept of the distillation in the model that it made, as plain values."""
        return {"step": "distill", **self.settings, "largest_error": float(f"{self.error:.3g}")}

    def as_dict(self) -> dict[str, Any]:
        """Plain values; None where a number is not finite."""
        plain: dict[str, Any] = _plain(asdict(self))
        return plain

    def to_json(self) -> str:
        """The report as JSON."""
        return json.dumps(self.as_dict(), indent=1)

    def table(self) -> list[tuple[str, ...]]:
        """What is printed: the names of the columns, then one row a layer."""
        columns = dict(COLUMNS)
        if any(layer.output_error is not None for layer in self.layers):
            columns |= OUTPUT_COLUMNS
        columns["verdicts"] = _verdicts
        rows = [tuple(cell(one) for cell in columns.values()) for one in self.layers]
        return [tuple(columns), *rows]

    def __str__(self) -> str:
        lines = self.table()
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        table = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        ]
        return "\n".join([*table, *_remarks(self), *_closing(self)])


def _orders(layer: LayerReport) -> str:
    orders = [one.order for one in layer.filters]
    return str(max(orders)) if min(orders) == max(orders) else f"{min(orders)} to {max(orders)}"


def _bound_of_the_worst(layer: LayerReport) -> str:
    return f"{max(layer.filters, key=lambda one: one.error).lower_bound:.1e}"


def _gains(layer: LayerReport) -> str:
    low, high = (max(one.gain_error[i] for one in layer.filters) for i in (0, 1))
    return f"{low:.1e} to {high:.1e}"


def _verdicts(layer: LayerReport) -> str:
    counts = Counter(one.verdict for one in layer.filters)
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items())


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1e}"


Column = Callable[[LayerReport], str]
COLUMNS: dict[str, Column] = {
    "layer": lambda layer: layer.name or "layer",
    "filters": lambda layer: str(len(layer.filters)),
    "order": _orders,
    "error": lambda layer: f"{layer.error:.1e}",
    "bound": _bound_of_the_worst,
    "worst gain of error": _gains,
    "radius": lambda layer: f"{max(one.radius for one in layer.filters):.6f}",
}
#: Where ``inputs`` were given: the largest change of a layer's output, and what bounds it.
OUTPUT_COLUMNS: dict[str, Column] = {
    "output error": lambda layer: _number(layer.output_error),
    "at most": lambda layer: _number(layer.output_bound),
}


def _remarks(report: DistillReport) -> list[str]:
    met = {one.verdict for layer in report.layers for one in layer.filters}
    return [f"{verdict}: {REMARKS[verdict]}" for verdict in REMARKS if verdict in met - {"good"}]


def _closing(report: DistillReport) -> list[str]:
    lines = []
    if report.output_change is not None:
        lines.append(f"outputs change by {report.output_change:.1e}, relative, on the inputs given")
    asked = ", ".join(f"{key}={value}" for key, value in report.settings.items())
    return [*lines, f"{asked}; {report.seconds:.1f} s"]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
