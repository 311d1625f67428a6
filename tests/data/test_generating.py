"""Folders that know their settings, and work on several processes."""

import itertools
import os

import pytest

from mrconv.data.generating import available_cores, claim_folder, in_order
from mrconv.errors import ArgumentError, FileError

SETTINGS = {"generator": "dots", "seed": 3, "sides": (1, 2)}


def test_a_folder_is_made_and_known_again(tmp_path):
    folder = tmp_path / "new" / "set"
    claim_folder("Dots", folder, SETTINGS)
    (folder / "dots.txt").write_text(".")
    claim_folder("Dots", folder, SETTINGS)
    assert sorted(os.listdir(folder)) == ["dots.txt", "generated.json"]


def test_other_files(tmp_path, says):
    (tmp_path / "thesis.tex").write_text("")
    (tmp_path / ".hidden").write_text("")
    sentence = (
        f"Dots: {tmp_path} must be empty, or hold examples that were generated there; got "
        "thesis.tex without generated.json. Choose another folder."
    )
    with says(FileError, sentence):
        claim_folder("Dots", tmp_path, SETTINGS)
    assert not (tmp_path / "generated.json").exists()


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"seed": 4}, "seed=4; got seed=3"),
        ({"sides": (1,)}, "sides=[1]; got sides=[1, 2]"),
        ({"colour": "red"}, "colour='red'; got colour=None"),
    ],
    ids=str,
)
def test_other_settings(tmp_path, says, changed, what):
    claim_folder("Dots", tmp_path, SETTINGS)
    sentence = (
        f"Dots: {tmp_path} must hold examples of the same settings, {what}. "
        "Choose another folder, or those settings."
    )
    with says(FileError, sentence):
        claim_folder("Dots", tmp_path, {**SETTINGS, **changed})


@pytest.mark.parametrize("text", ["", "[1]", "{"])
def test_damaged_settings(tmp_path, says, text):
    file = tmp_path / "generated.json"
    file.write_text(text)
    sentence = (
        f"Dots: {file} must hold the settings of a generated set; got other text. "
        "Choose another folder."
    )
    with says(FileError, sentence):
        claim_folder("Dots", tmp_path, SETTINGS)


def test_in_this_process():
    endless = in_order(abs, itertools.count(-2), 1)
    assert list(itertools.islice(endless, 4)) == [2, 1, 0, 1]
    assert list(in_order(abs, [], 1)) == []


@pytest.mark.slow
def test_in_other_processes():
    assert list(in_order(abs, range(-5, 5), 2)) == [5, 4, 3, 2, 1, 0, 1, 2, 3, 4]
    endless = in_order(abs, itertools.count(-2), 2)
    assert list(itertools.islice(endless, 4)) == [2, 1, 0, 1]
    endless.close()
    failing = in_order(len, ["a", 3, "b"], 2)
    assert next(failing) == 1
    with pytest.raises(TypeError, match="has no len"):
        next(failing)


@pytest.mark.slow
def test_a_process_that_is_ended_from_outside(says):
    sentence = (
        "workers: every process must run to its end; got workers=2, of which one was ended from "
        "outside, as happens where memory is short. Pass fewer workers; the same call goes on "
        "with what is done."
    )
    with says(ArgumentError, sentence):
        list(in_order(os._exit, [9, 9], 2))


def test_cores():
    assert 1 <= available_cores() <= (os.cpu_count() or 1)
