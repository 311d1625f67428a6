"""``mrconv bench`` prints rows beside their bars and writes them."""

import json

import pytest

from mrconv.bench import BENCHES, Case, Row, read_record
from mrconv.cli.bench import APART, NAMES


def test_quick_convolutions(mrconv_command, tmp_path):
    path = tmp_path / "conv.json"
    words = ["conv", "--quick", "--shapes", 2, "--threads", 1, "--json", path]
    told = mrconv_command("bench", *words)
    assert (told.code, told.err) == (0, "")
    head, *lines, total, numbers = told.out.splitlines()
    assert head.split() == ["what", "value", "quartiles", "bar"]
    assert numbers == f"numbers: {path}"
    record = read_record(path)
    assert (record.bench, record.threads) == ("conv", 1)
    assert record.command == "mrconv bench conv --threads 1 --shapes 2 --quick"
    lines = [line for line in lines if not line.startswith("  ")]  # why a bar is missed
    assert len(lines) == len(record.rows)
    for line, row in zip(lines, record.rows, strict=True):
        assert line.startswith(f"{row.name}  ")
        assert ("holds" in line, "misses" in line) == (row.holds is True, row.holds is False)
    barred = [row for row in record.rows if row.bar is not None]
    assert len(barred) == 8
    assert total == f"{sum(row.holds for row in barred)} of 8 bars hold."
    assert str(tmp_path) not in path.read_text()


@pytest.fixture
def small_benches(monkeypatch):
    """Benches of one row each, which measure nothing; the options they were given."""
    given = []

    def cases(options):
        given.append(options)
        row = Row("a", float(options.seed), "times", bar=2.0, better="higher")
        return [Case("a", lambda: ["a sentence", row]), Case("b", list)]

    for name in BENCHES:
        monkeypatch.setitem(BENCHES, name, cases)
    return given


def test_every_bench_has_a_name_on_the_command_line():
    assert {*NAMES, *APART} == set(BENCHES)


def test_all_benches_write_a_file_each(mrconv_command, tmp_path, small_benches):
    told = mrconv_command("bench", "all", "--seed", 1, "--only", "a", "--json", tmp_path / "out")
    assert told.code == 0  # a bar that is missed is no failure
    for name in NAMES:
        content = json.loads((tmp_path / "out" / f"{name}.json").read_text())
        assert content["bench"] == name
        assert content["command"] == f"mrconv bench {name} --seed 1 --only a"
        assert [row["holds"] for row in content["rows"]] == [False]
    assert told.out.count("a sentence\n") == len(NAMES)
    assert told.out.count("0 of 1 bars hold.\n") == len(NAMES)


def test_pictures_of_all_benches_are_a_file_each(mrconv_command, tmp_path, small_benches):
    mrconv_command("bench", "all", "--picture", tmp_path)
    assert [one.picture for one in small_benches] == [
        str(tmp_path / f"{name}.svg") for name in NAMES
    ]
    mrconv_command("bench", "layers", "--picture", "a.png")
    assert small_benches[-1].picture == "a.png"


def test_trained_models_are_named_by_the_last_two_folders(mrconv_command, tmp_path, small_benches):
    path, model = tmp_path / "a.json", "/somewhere/else/fourier/model"
    words = ("--model", model, "--model", "b", "--json", path)
    assert mrconv_command("bench", "distill", *words).code == 0
    assert small_benches[-1].models == (model, "b")
    command = "mrconv bench distill --model fourier/model --model b"
    assert read_record(path).command == command


def test_mistakes_are_one_line(mrconv_command, tmp_path, small_benches):
    told = mrconv_command("bench", "conv", "--only", "c")
    assert (told.code, told.out) == (2, "")
    assert told.err == (
        "error: bench: only must be part of a case's name; got 'c'. Choose from: a; b.\n"
    )
    told = mrconv_command("bench", "conv", "--threads", 0)
    assert told.code == 2
    assert told.err == (
        "error: bench: threads must be at least 1; got threads=0. Pass a larger threads.\n"
    )
    told = mrconv_command("bench", "convolutions")
    assert told.code == 2
    assert told.err.startswith("usage: mrconv bench")
