"""What ``mrconv stream`` prints: JSON lines for programs, a live table for people."""

import json
import sys
import time
from collections.abc import Callable
from typing import Any, Protocol, TextIO

from torch import Tensor

from ..models import SequenceModel
from ..models.base import ScoringModel
from ..models.live import Answer, Latency, LiveModel

__all__ = ["JsonLines", "LiveTable", "Output", "make_output"]

#: Seconds between two drawings of the table.
PAUSE = 0.1
BAR = 30


class Output(Protocol):
    """Where answers go."""

    told: int
    """Answers written so far."""

    def start(self) -> None:
        """Before the first answer."""
        ...

    def answer(self, answer: Answer) -> None:
        """An answer behind a chunk."""
        ...

    def finish(self) -> None:
        """Behind the last answer: the summary."""
        ...


def make_output(live: LiveModel, chunk: int, *, top: int, as_json: bool) -> Output:
    """The table on a terminal, JSON lines elsewhere or where asked for.

    Args:
        live: What answers.
        chunk: Samples of the input between answers.
        top: Leading classes shown.
        as_json: Whether JSON is wanted on a terminal too.
    """
    record = Record(live, chunk, top)
    if as_json or not sys.stdout.isatty():
        return JsonLines(record, sys.stdout)
    return LiveTable(record, sys.stdout)


class Record:
    """Turns answers into plain values, and keeps what the summary is made of.

    Args:
        live: What answers.
        chunk: Samples of the input between answers.
        top: Leading classes shown.
    """

    def __init__(self, live: LiveModel, chunk: int, top: int) -> None:
        self.live, self.chunk, self.top = live, chunk, top
        self.samples, self.seconds = 0, list[float]()

    def values(self, answer: Answer) -> dict[str, Any] | None:
        """The answer as JSON has it; None where there is none yet."""
        self.samples = answer.samples
        self.seconds.append(answer.seconds)
        if answer.outputs is None:
            return None
        values: dict[str, Any] = {"time": self._time(), "samples": answer.samples}
        if isinstance(self.live.model, ScoringModel):
            values["leading"] = _leading(self.live.model, answer.outputs, self.top)
        else:
            values["values"] = _rounded(answer.outputs.double().tolist())
        if answer.shares is not None:
            shares = _rounded(answer.shares.double().tolist())
            values["scales"] = dict(zip(map(str, self.live.spans), shares, strict=True))
        values["latency_ms"] = round(1000 * answer.seconds, 3)
        return values

    def _time(self) -> float | None:
        """Seconds of the recording that the model has heard."""
        return None if self.live.rate is None else round(self.samples / self.live.rate, 6)

    def summary(self) -> dict[str, Any]:
        """Chunks, latency, and how many times faster than real time they were answered."""
        latency, length = Latency.of(self.seconds), self._time()
        return {
            "chunks": len(self.seconds),
            "chunk_samples": self.chunk,
            "samples": self.samples,
            "seconds": length,
            "input": self.live.note,
            "window": self.live.window,
            "latency_ms": {
                "median": round(1000 * latency.median, 3),
                "p99": round(1000 * latency.percentile_99, 3),
            },
            "times_real_time": None
            if length is None or not latency.total
            else round(length / latency.total, 2),
        }


def _leading(model: SequenceModel, logits: Tensor, top: int) -> list[dict[str, Any]]:
    probabilities, classes = logits.double().softmax(-1).sort(descending=True)
    return [
        {
            "label": model.labels[i] if model.labels else str(i),
            "probability": round(probability, 6),
        }
        for probability, i in zip(probabilities.tolist(), classes.tolist(), strict=True)
    ][:top]


def _rounded(values: Any) -> Any:
    """Numbers with 6 significant digits, in lists of any depth."""
    return [_rounded(one) for one in values] if isinstance(values, list) else float(f"{values:.6g}")


class JsonLines:
    """One JSON object a line: an answer each, and the summary under its own key at the end."""

    def __init__(self, record: Record, out: TextIO) -> None:
        self.record, self.out, self.told = record, out, 0

    def start(self) -> None:
        """Nothing."""

    def answer(self, answer: Answer) -> None:
        """One line, at once."""
        if (values := self.record.values(answer)) is not None:
            self._write(values)
            self.told += 1

    def finish(self) -> None:
        """The last line."""
        self._write({"summary": self.record.summary()})

    def _write(self, values: dict[str, Any]) -> None:
        print(json.dumps(values), file=self.out, flush=True)


class LiveTable:
    """One table that is redrawn in place, at most ten times a second.

    Args:
        record: What is shown.
        out: A terminal that knows the ANSI commands for moving up and clearing.
        now: A clock, in seconds.
    """

    def __init__(
        self, record: Record, out: TextIO, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.record, self.out, self.told, self._now = record, out, 0, now
        self._lines, self._due, self._waiting = 0, 0.0, dict[str, Any]()

    def start(self) -> None:
        """Says what the model is given."""
        live = self.record.live
        window = "" if live.window is None else f", a window of {live.window:,}"
        print(f"{live.note}, in chunks of {self.record.chunk:,} samples{window}", file=self.out)

    def answer(self, answer: Answer) -> None:
        """Draws, unless it was done a moment ago; then the answer waits for its turn."""
        if (values := self.record.values(answer)) is None:
            return
        self.told += 1
        self._waiting = values
        if self._now() >= self._due:
            self._draw()

    def finish(self) -> None:
        """The last answer, and the summary below it."""
        if self._waiting:
            self._draw()
        print(_sentence(self.record.summary()), file=self.out, flush=True)

    def _draw(self) -> None:
        rows = table_rows(self._waiting)
        up = f"\x1b[{self._lines}F\x1b[J" if self._lines else ""
        print(up + "\n".join(rows), file=self.out, flush=True)
        self._lines, self._waiting, self._due = len(rows), {}, self._now() + PAUSE


def table_rows(values: dict[str, Any]) -> list[str]:
    """Lines of the table for one answer.

    Args:
        values: As ``Record.values`` gives them.
    """
    rows = [f"{_when(values):<24}{values['latency_ms']:.1f} ms"]
    for one in values.get("leading", ()):
        rows.append(_bar(one["label"], one["probability"]))
    if "values" in values:
        rows.append(f"values {_short(values['values'])}")
    for span, share in values.get("scales", {}).items():
        rows.append(_bar(f"scale {span}", share))
    return rows


def _when(values: dict[str, Any]) -> str:
    samples = f"sample {values['samples']:,}"
    return samples if values["time"] is None else f"{values['time']:.2f} s  {samples}"


def _bar(name: str, part: float) -> str:
    return f"  {name:<16.16} {100 * part:6.1f} %  {'#' * round(BAR * abs(part))}"


def _short(values: Any) -> str:
    """The first numbers of a list of any depth."""
    flat = str(values).replace("[", "").replace("]", "").split(", ")
    return " ".join(flat[:8]) + (" ..." if len(flat) > 8 else "")


def _sentence(summary: dict[str, Any]) -> str:
    latency = summary["latency_ms"]
    words = (
        f"{summary['chunks']:,} chunks, {summary['samples']:,} samples; latency "
        f"{latency['median']:.2f} ms median, {latency['p99']:.2f} ms 99th percentile"
    )
    faster = summary["times_real_time"]
    return words if faster is None else f"{words}; {faster:.1f} times as fast as real time"
