"""Prepared data sets on a disk: the same numbers, renewed with files and settings, never half."""

import dataclasses
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from mrconv.data import (
    AAN,
    IMDB,
    Examples,
    InputContract,
    SequentialCIFAR10,
    SpeechCommands,
    Splits,
)
from mrconv.data.cache import cached
from mrconv.errors import FileError

CALLS = []


@dataclasses.dataclass(frozen=True)
class Made:
    """Numbers that tell how they were made; counts how often."""

    path: str
    scale: float = 1.0
    one_for_two: bool = False
    cache: str | None = None

    def load(self) -> Splits:
        return cached(self, self.prepare)

    def prepare(self) -> Splits:
        CALLS.append(self)
        rows = [
            Examples(
                torch.arange(12.0).reshape(3, 4, 1) * self.scale,
                torch.tensor([0, 1, i]),
                torch.tensor([4, 2, 0]) if i == 1 else None,
            )
            for i in range(3)
        ]
        if self.one_for_two:
            rows[1] = rows[2]
        contract = InputContract("series", 4, 1, mean=(0.5,), std=2.0)
        return Splits(*rows, contract=contract, labels=("a", "b"))


@pytest.fixture
def source(tmp_path):
    CALLS.clear()
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "a.txt").write_text("content")
    return Made(str(tmp_path / "source"), cache=str(tmp_path / "kept"))


def assert_same(got, expected):
    for part in ("train", "validation", "test"):
        for one, other in zip(vars(got[part]).values(), vars(expected[part]).values(), strict=True):
            assert one is other is None or (one.dtype == other.dtype and torch.equal(one, other))
    assert got.contract == expected.contract
    assert got.labels == expected.labels


@pytest.mark.parametrize("one_for_two", [False, True])
def test_prepared_once(source, one_for_two):
    source = dataclasses.replace(source, one_for_two=one_for_two)
    expected = source.prepare()
    CALLS.clear()
    for _ in range(3):
        got = source.load()
        assert_same(got, expected)
        assert (got.validation is got.test) is one_for_two
    assert len(CALLS) == 1
    (place,) = Path(source.cache).iterdir()
    assert place.name.startswith("made-")
    assert len([*place.glob("*.x.npy")]) == 3 - one_for_two


def test_nothing_is_kept_unless_asked_for(source, tmp_path):
    source = dataclasses.replace(source, cache=None)
    source.load()
    source.load()
    assert len(CALLS) == 2
    assert [one.name for one in tmp_path.iterdir()] == ["source"]


def test_tensors_may_be_changed_and_the_disk_is_not(source):
    source.load().train.x.zero_()
    assert_same(source.load(), source.prepare())


def renewed(source) -> bool:
    before = len(CALLS)
    source.load()
    return len(CALLS) > before


def test_renewed_with_settings_and_files(source):
    file = Path(source.path) / "a.txt"
    assert renewed(source)
    assert not renewed(source)
    assert renewed(dataclasses.replace(source, scale=2.0))
    state = file.stat()
    file.write_text("CONTENT")
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns + 1))
    assert renewed(source)
    file.write_text("content and more")
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert renewed(source)
    (Path(source.path) / "b.txt").write_text("another")
    assert renewed(source)
    assert not renewed(source)
    assert not renewed(dataclasses.replace(source, cache=f"{source.cache}/../kept"))


def test_one_file_as_the_source(source):
    source = dataclasses.replace(source, path=f"{source.path}/a.txt")
    assert renewed(source)
    Path(source.path).write_text("other content")
    assert renewed(source)
    assert not renewed(source)


@pytest.mark.parametrize("place", ["", "kept"])
def test_a_cache_below_the_source(source, place):
    source = dataclasses.replace(source, cache=f"{source.path}/{place}")
    assert renewed(source)
    (Path(source.cache) / f".made-{'0' * 20}.left").mkdir()
    (Path(source.cache) / f".made-{'0' * 20}.left" / "train.x.npy").write_bytes(b"of a killed run")
    assert not renewed(source)
    (Path(source.path) / "b.txt").write_text("another")
    assert renewed(source)


KILLED = """
import os, signal, sys
import numpy as np
from mrconv.data import AAN

saved = np.save

def save(file, array, **options):
    saved(file, array, **options)
    if file.name == "validation.x.npy":
        os.kill(os.getpid(), signal.SIGKILL)

np.save = save
AAN(sys.argv[1], 8, cache=sys.argv[2]).load()
"""


def test_a_killed_run_leaves_no_half(source):
    for name in ("train", "eval", "test"):
        rows = "0.0\tA\tB\tone\ttwo\n1.0\tA\tB\tthree\tfour\n"
        (Path(source.path) / f"new_aan_pairs.{name}.tsv").write_text(rows)
    run = subprocess.run([sys.executable, "-c", KILLED, source.path, source.cache], timeout=100)
    assert run.returncode == -signal.SIGKILL
    (left,) = Path(source.cache).iterdir()
    assert left.name.startswith(".aan-")
    assert (left / "validation.x.npy").exists()
    expected = AAN(source.path, 8).load()
    for _ in range(2):
        assert_same(AAN(source.path, 8, cache=source.cache).load(), expected)
    whole = [one.name for one in Path(source.cache).iterdir() if one != left]
    assert whole == [left.name[1:].split(".")[0]]


def test_a_failure_leaves_nothing(source, monkeypatch, says):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(np, "save", full)
        sentence = (
            "Made: cache must be a folder that can be written; got No space left on device at "
            f"{source.cache}. Choose another folder, or free some space."
        )
        with says(FileError, sentence):
            source.load()
    assert [*Path(source.cache).iterdir()] == []


def test_a_file_in_the_place_of_the_cache(source, says):
    Path(source.cache).write_text("a file")
    sentence = (
        f"Made: cache must be a folder that can be written; got File exists at {source.cache}. "
        "Choose another folder, or free some space."
    )
    with says(FileError, sentence):
        source.load()


@pytest.mark.parametrize("name", ["train.x.npy", "test.y.npy", "splits.json"])
@pytest.mark.parametrize("keep", [0, 20, None])
def test_damaged(source, name, keep):
    source.load()
    (place,) = Path(source.cache).iterdir()
    file = place / name
    content = file.read_bytes()
    file.unlink()
    if keep is not None:
        file.write_bytes(content[:keep])
    with pytest.raises(FileError) as told:
        source.load()
    start = f"Made: {place} must hold a whole prepared data set; got "
    assert str(told.value).startswith(start)
    assert str(told.value).endswith(". Delete the folder.")


# the data sets that use it


@pytest.mark.parametrize("kind", [AAN, IMDB, SequentialCIFAR10, SpeechCommands])
def test_used_by_the_slow_ones(kind, source, monkeypatch):
    made = kind(source.path, cache=source.cache)
    expected = Made(source.path).prepare()
    monkeypatch.setattr(kind, "_prepare", lambda self: CALLS.append(self) or expected)
    CALLS.clear()
    assert_same(made.load(), expected)
    assert_same(made.load(), expected)
    assert len(CALLS) == 1
