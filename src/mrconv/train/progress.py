"""Progress of long work: one line redrawn on a terminal, a plain line now and then elsewhere."""

import shutil
import time
from dataclasses import dataclass
from typing import Protocol, TextIO

import torch
from torch import Tensor

__all__ = ["CountProgress", "EpochRow", "Progress", "SilentProgress", "TextProgress", "clock"]


@dataclass(frozen=True)
class EpochRow:
    """Numbers of one finished epoch."""

    epoch: int
    """From 1."""
    train_loss: float
    """Mean over the epoch's steps, in training mode."""
    validation_loss: float
    """Mean over the validation examples, after the epoch."""
    validation_metric: float
    """Accuracy for classes, bits for the next token, mean absolute error for values."""
    seconds: float
    """Of the epoch with its validation."""
    learning_rate: float
    """Of the last parameter group, at the epoch's last step."""


class Progress(Protocol):
    """What ``train`` tells about itself while it runs."""

    def start(self, epochs: int, batches: int, done: int, metric: str) -> None:
        """Before the first step.

        Args:
            epochs: Of the whole training.
            batches: Of one epoch.
            done: Epochs done before, in an earlier run.
            metric: Its name, such as "accuracy".
        """
        ...

    def step(self, epoch: int, batch: int, loss: Tensor) -> None:
        """After every step; ``epoch`` and ``batch`` count from 1."""
        ...

    def epoch(self, row: EpochRow) -> None:
        """After every epoch, its checkpoint written."""
        ...

    def close(self) -> None:
        """After the last epoch, or where the training stops early."""
        ...


class SilentProgress:
    """Says nothing."""

    def start(self, epochs: int, batches: int, done: int, metric: str) -> None:
        """Nothing."""

    def step(self, epoch: int, batch: int, loss: Tensor) -> None:
        """Nothing."""

    def epoch(self, row: EpochRow) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class TextProgress:
    """Writes to a text stream.

    Args:
        stream: Where the lines go; whether it is a terminal decides their form.
        interval: Least seconds between two drawings of the line on a terminal.

    Example:
        >>> import io
        >>> stream = io.StringIO()
        >>> progress = TextProgress(stream)
        >>> progress.start(epochs=2, batches=10, done=1, metric="accuracy")
        >>> progress.epoch(EpochRow(2, 0.5, 0.4, 0.9, 12.0, 1e-3))
        >>> print(stream.getvalue(), end="")
        epoch 2/2  loss 0.5000  validation loss 0.4000  validation accuracy 0.9000  12 s
    """

    def __init__(self, stream: TextIO, *, interval: float = 0.1) -> None:
        self.stream, self.interval = stream, interval
        self.terminal = stream.isatty()
        self._epochs = self._batches = self._done = self._begun = 0
        self._metric, self._last = "accuracy", ""
        self._drawn = self._started = 0.0
        self._dirty = False

    def start(self, epochs: int, batches: int, done: int, metric: str) -> None:
        """Remembers the sizes and starts the clock."""
        self._epochs, self._batches, self._metric = epochs, batches, metric
        self._begun = self._done = done * batches
        self._started = time.monotonic()

    def step(self, epoch: int, batch: int, loss: Tensor) -> None:
        """Redraws the line on a terminal, at most once an interval."""
        self._done = (epoch - 1) * self._batches + batch
        now = time.monotonic()
        if self.terminal and now - self._drawn >= self.interval:
            self._drawn = now
            # reading the loss waits for the device, so it is read for drawing only
            self._draw(epoch, batch, float(torch.as_tensor(loss).detach()))

    def epoch(self, row: EpochRow) -> None:
        """Redraws the line, or writes one."""
        self._done = row.epoch * self._batches
        self._last = f"validation {self._metric.replace('_', ' ')} {row.validation_metric:.4f}"
        if self.terminal:
            self._draw(row.epoch, self._batches, row.train_loss)
            return
        parts = [
            f"epoch {row.epoch}/{self._epochs}",
            f"loss {row.train_loss:.4f}",
            f"validation loss {row.validation_loss:.4f}",
            self._last,
            clock(row.seconds),
            self._left(),
        ]
        self._write("  ".join(part for part in parts if part) + "\n")

    def close(self) -> None:
        """Ends the line."""
        if self._dirty:
            self._write("\n")
            self._dirty = False

    def _draw(self, epoch: int, batch: int, loss: float) -> None:
        parts = [f"epoch {epoch}/{self._epochs}", f"loss {loss:.4f}", self._last, self._left()]
        self._write(_redrawn(parts, batch, self._batches))
        self._dirty = True

    def _left(self) -> str:
        """Time left for the whole training, at the mean rate of this run."""
        run, rest = self._done - self._begun, self._epochs * self._batches - self._done
        if not run or not rest:
            return ""
        return f"{clock((time.monotonic() - self._started) / run * rest)} left"

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()


class CountProgress:
    """Counts examples on a text stream; called with how many are done, and of how many.

    Args:
        stream: Where the lines go; on a terminal one is redrawn, elsewhere one comes each tenth.
        name: What is counted, first word of a line.
        interval: Least seconds between two drawings on a terminal.

    Example:
        >>> import io
        >>> stream = io.StringIO()
        >>> progress = CountProgress(stream, "digits")
        >>> for done in range(0, 5):
        ...     progress(done, 4)
        >>> stream.getvalue().splitlines()[-1]
        'digits 4/4'
    """

    def __init__(self, stream: TextIO, name: str, *, interval: float = 0.1) -> None:
        self.stream, self.name, self.interval = stream, name, interval
        self.terminal = stream.isatty()
        self._begun: tuple[int, float] | None = None
        self._tenth = self._drawn = 0.0
        self._dirty = False

    def __call__(self, done: int, total: int) -> None:
        """Draws where it is time to."""
        now = time.monotonic()
        if self._begun is None:
            self._begun, self._tenth = (done, now), 10 * done // total
        before, started = self._begun
        parts = [f"{self.name} {done}/{total}"]
        if before < done < total:
            parts.append(f"{clock((now - started) / (done - before) * (total - done))} left")
        if self.terminal and (done == total or now - self._drawn >= self.interval):
            self.stream.write(_redrawn(parts, done, total))
            self._drawn, self._dirty = now, True
        elif not self.terminal and 10 * done // total > self._tenth:
            self.stream.write("  ".join(parts) + "\n")
            self._tenth = 10 * done // total
        self.stream.flush()

    def close(self) -> None:
        """Ends the line."""
        if self._dirty:
            self.stream.write("\n")
            self._dirty = False


def _redrawn(parts: list[str], done: int, total: int) -> str:
    """What draws the line anew, with a bar behind its first part where there is room."""
    parts = [part for part in parts if part]
    columns = shutil.get_terminal_size().columns - 1
    room = min(30, columns - len("  ".join(parts)) - len("  []"))
    filled = room * done // max(total, 1)
    if room >= 5:
        parts.insert(1, f"[{'#' * filled}{'.' * (room - filled)}]")
    return f"\r{'  '.join(parts)[:columns].rstrip()}\x1b[K"


def clock(seconds: float) -> str:
    """A duration for people.

    Example:
        >>> clock(12.4), clock(150), clock(7322)
        ('12 s', '2 min 30 s', '2 h 02 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
