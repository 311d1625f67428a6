"""``mrconv data``: two sets in their published layouts, and one line for every mistake."""

import io
import os
import signal
import subprocess
import sys

import pytest

from mrconv.cli import data as verb
from mrconv.data import ListOps, Pathfinder

SMALL = ("--min-length", 4, "--max-length", 40, "--max-depth", 4)


def test_listops(mrconv_command, tmp_path):
    folder = tmp_path / "listops-1000"
    told = mrconv_command(
        "data", "listops", "--out", folder, "--count", 100, "--seed", 2, "--workers", 1, *SMALL
    )
    assert (told.code, told.err) == (0, "")
    assert told.out.splitlines()[-2:] == ["listops 100/100", f"listops: 100 examples in {folder}"]
    splits = ListOps(str(folder)).load()
    assert [len(splits[name]) for name in ("train", "validation", "test")] == [96, 2, 2]
    again = mrconv_command("data", "listops", "--out", folder, "--count", 100, "--seed", 2, *SMALL)
    assert (again.code, again.out) == (0, f"listops: 100 examples in {folder}\n")


def test_pathfinder(mrconv_command, tmp_path):
    words = ("data", "pathfinder", "--size", 32, "--out", tmp_path, "--level", "easy")
    told = mrconv_command(*words, "--count", 12, "--workers", 1)
    assert (told.code, told.err) == (0, "")
    assert told.out == f"pathfinder 12/12\npathfinder: 12 examples in {tmp_path}\n"
    splits = Pathfinder(str(tmp_path), level="easy").load()
    assert [len(splits[name]) for name in ("train", "validation", "test")] == [10, 1, 1]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ("listops", "--count", 0),
            "ListOps: count must be at least 3; got count=0. Pass a larger count.",
        ),
        (
            ("pathfinder", "--count", 0),
            "Pathfinder: count must be at least 1; got count=0. Pass a larger count.",
        ),
        (
            ("pathfinder", "--size", 48),
            "Pathfinder: size must be one of 32, 64, 128, 256; got 48. "
            "Choose one of them, such as 128 for Path-X.",
        ),
        (
            ("listops", "--workers", 0),
            "ListOps: workers must be at least 1; got workers=0. Pass a larger workers.",
        ),
    ],
    ids=str,
)
def test_mistakes(mrconv_command, tmp_path, words, sentence):
    told = mrconv_command("data", *words, "--out", tmp_path / "new")
    assert (told.code, told.out, told.err) == (2, "", f"error: {sentence}\n")
    assert not (tmp_path / "new").exists()


def test_a_folder_of_other_settings(mrconv_command, tmp_path):
    words = ("data", "listops", "--out", tmp_path, "--count", 5, "--workers", 1)
    assert mrconv_command(*words, *SMALL).code == 0
    told = mrconv_command(*words, *SMALL, "--seed", 4)
    assert (told.code, told.out) == (2, "")
    assert told.err == (
        f"error: ListOps: {tmp_path} must hold examples of the same settings, seed=4; "
        "got seed=0. Choose another folder, or those settings.\n"
    )


@pytest.mark.parametrize("words", [(), ("listops",), ("pathfinders",), ("listops", "--size", "3")])
def test_wrong_words(mrconv_command, words):
    told = mrconv_command("data", *words)
    assert told.code == 2
    assert told.err.startswith("usage: mrconv data")


def test_help_of_the_sets(mrconv_command):
    for name in ("listops", "pathfinder"):
        told = mrconv_command("data", name, "--help")
        assert told.code == 0
        assert told.out.startswith(f"usage: mrconv data {name}")
        assert "--seed" in told.out and "--count" in told.out


def test_ctrl_c_says_how_to_go_on(mrconv_command, tmp_path, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("mrconv.data.generate_listops", stopped)
    told = mrconv_command("data", "listops", "--out", tmp_path)
    assert (told.code, told.out) == (130, "")
    assert told.err == "interrupted: what is done is kept. Go on with the same command.\n"


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs signals")
@pytest.mark.parametrize("ctrl_c", [False, True])
def test_a_stopped_run_goes_on(tmp_path, ctrl_c):
    """Stops the command in the middle of its work; its workers end too, and the files are whole."""
    command = [sys.executable, "-m", "mrconv", "data", "listops", "--count", "5000"]
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    subprocess.run([*command, "--out", whole], check=True, stdout=subprocess.DEVNULL)
    process = subprocess.Popen(
        [*command, "--workers", "2", "--out", stopped],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    process.stdout.readline()  # a tenth is done
    if ctrl_c:
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    else:
        process.kill()
    # the pipes end once no worker holds them any more
    _, err = process.communicate(timeout=60)
    if ctrl_c:
        assert process.returncode == 130
        assert err == "interrupted: what is done is kept. Go on with the same command.\n"
    assert not list(stopped.glob("*.tsv"))
    subprocess.run([*command, "--out", stopped], check=True, stdout=subprocess.DEVNULL)
    for file in whole.glob("*.tsv"):
        assert (stopped / file.name).read_bytes() == file.read_bytes()


def test_progress_on_a_terminal(tmp_path, monkeypatch):
    import argparse

    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdout", stream)
    parser = argparse.ArgumentParser()
    verb.add_arguments(parser)
    words = ["listops", "--out", str(tmp_path), "--count", "9", "--workers", "1"]
    assert verb.run(parser.parse_args([*words, *map(str, SMALL)])) == 0
    assert "\rlistops 9/9  [" in stream.getvalue()
    assert stream.getvalue().endswith(f"\nlistops: 9 examples in {tmp_path}\n")
