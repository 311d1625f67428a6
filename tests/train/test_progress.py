import io

import pytest
import torch

from mrconv.train.progress import (
    CountProgress,
    EpochRow,
    SilentProgress,
    TextProgress,
    clock,
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def time_is(monkeypatch: pytest.MonkeyPatch):
    now = [100.0]
    monkeypatch.setattr("mrconv.train.progress.time.monotonic", lambda: now[0])
    return lambda seconds: now.__setitem__(0, 100.0 + seconds)


def row(epoch: int) -> EpochRow:
    return EpochRow(epoch, 0.51234, 0.4, 0.91, 61.0, 1e-3)


def test_plain_lines_tell_the_time_left_for_the_whole_training(time_is) -> None:
    stream = io.StringIO()
    progress = TextProgress(stream)
    progress.start(epochs=4, batches=10, done=1, metric="error")
    time_is(30)
    progress.step(2, 5, torch.tensor(0.5))
    assert stream.getvalue() == ""
    time_is(60)
    progress.epoch(row(2))
    progress.close()
    assert stream.getvalue() == (
        "epoch 2/4  loss 0.5123  validation loss 0.4000  validation error 0.9100  "
        "1 min 01 s  2 min 00 s left\n"
    )


def test_a_terminal_gets_one_line_redrawn(time_is, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    stream = Terminal()
    progress = TextProgress(stream)
    progress.start(epochs=2, batches=10, done=0, metric="accuracy")
    time_is(20)
    progress.step(1, 5, torch.tensor(0.75, requires_grad=True))
    bar = "#" * 15 + "." * 15
    assert stream.getvalue() == f"\repoch 1/2  [{bar}]  loss 0.7500  1 min 00 s left\x1b[K"
    progress.step(1, 6, torch.tensor(0.7))  # too soon to draw
    time_is(40)
    progress.epoch(row(1))
    progress.step(2, 5, torch.tensor(0.25))
    progress.close()
    lines = stream.getvalue().split("\r")[1:]
    assert len(lines) == 3
    assert lines[1].startswith(f"epoch 1/2  [{'#' * 30}]  loss 0.5123  validation accuracy 0.9100")
    assert "loss 0.2500  validation accuracy 0.9100  13 s left" in lines[2]
    assert stream.getvalue().count("\n") == 1 and stream.getvalue().endswith("\n")


def test_a_narrow_terminal_gets_a_short_line(time_is, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "24")
    stream = Terminal()
    progress = TextProgress(stream)
    progress.start(epochs=2, batches=10, done=0, metric="accuracy")
    progress.step(1, 5, torch.tensor(0.75))
    line = stream.getvalue().removeprefix("\r").removesuffix("\x1b[K")
    assert line == "epoch 1/2  loss 0.7500"


def test_silence_is_silent() -> None:
    progress = SilentProgress()
    progress.start(1, 1, 0, "accuracy")
    progress.step(1, 1, torch.tensor(0.0))
    progress.epoch(row(1))
    progress.close()


def test_durations() -> None:
    assert [clock(s) for s in (0, 59.4, 60, 3599, 3600, 90000)] == [
        "0 s",
        "59 s",
        "1 min 00 s",
        "59 min 59 s",
        "1 h 00 min",
        "25 h 00 min",
    ]


def test_a_count_tells_each_tenth(time_is) -> None:
    stream = io.StringIO()
    progress = CountProgress(stream, "dots")
    for done, seconds in ((20, 0), (25, 1), (31, 11), (39, 12), (97, 77), (100, 80)):
        time_is(seconds)
        progress(done, 100)
    progress.close()
    assert stream.getvalue() == (
        "dots 31/100  1 min 09 s left\ndots 97/100  3 s left\ndots 100/100\n"
    )


def test_a_count_on_a_terminal_is_one_line(time_is, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    stream = Terminal()
    progress = CountProgress(stream, "dots")
    progress(0, 8)
    time_is(0.05)
    progress(1, 8)  # too soon to draw
    time_is(30)
    progress(6, 8)
    progress(8, 8)
    progress.close()
    progress.close()
    lines = stream.getvalue().split("\r")[1:]
    assert lines == [
        f"dots 0/8  [{'.' * 30}]\x1b[K",
        f"dots 6/8  [{'#' * 22}{'.' * 8}]  10 s left\x1b[K",
        f"dots 8/8  [{'#' * 30}]\x1b[K\n",
    ]


def test_a_count_that_is_done_already_is_told_on_a_terminal_only() -> None:
    for stream, expected in ((io.StringIO(), ""), (Terminal(), "dots 5/5")):
        CountProgress(stream, "dots")(5, 5)
        assert expected in stream.getvalue() and bool(stream.getvalue()) == bool(expected)
