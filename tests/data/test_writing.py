"""Files are whole or not there."""

import os
import stat
from pathlib import Path

import pytest

from mrconv.data.writing import write_text, written_aside


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_the_file_appears_at_the_end(tmp_path):
    path = tmp_path / "new" / "folder" / "a.txt"
    with written_aside(str(path)) as aside:
        aside.write_text("whole")
        assert aside.parent == path.parent  # so that the move stays on one disk
        assert not path.exists()
    assert path.read_text() == "whole"
    assert names(path.parent) == ["a.txt"]


@pytest.mark.parametrize("old", [None, "old"])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_inside_leaves_what_was_there(tmp_path, old, error):
    path = tmp_path / "a.txt"
    if old:
        path.write_text(old)
    with pytest.raises(error, match="inside"), written_aside(path) as aside:
        aside.write_text("half")
        raise error("inside")
    assert names(tmp_path) == (["a.txt"] if old else [])
    assert not old or path.read_text() == old


def test_an_error_of_the_move_leaves_what_was_there(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    path = tmp_path / "a.txt"
    path.write_text("old")
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left on device"):
        write_text(path, "new")
    assert names(tmp_path) == ["a.txt"]
    assert path.read_text() == "old"


def test_others_may_read_it(tmp_path):
    write_text(tmp_path / "a.txt", "text")
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o644


@pytest.mark.parametrize("text", ["", "ä ∑ 漢\n", "one\ntwo\n"])
def test_text_is_utf_8(tmp_path, text):
    write_text(tmp_path / "a.txt", text)
    assert (tmp_path / "a.txt").read_bytes() == text.encode()


def test_who_reads_the_old_file_keeps_it(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with path.open() as reader:
        write_text(path, "new")
        assert reader.read() == "old"
    assert path.read_text() == "new"
