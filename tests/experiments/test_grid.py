"""The grid: what is kept, what is done again, and what a failure does not stop."""

import json

import pytest

from mrconv.errors import ArgumentError, FileError
from mrconv.experiments.grid import Cell, Grid, chosen_cells


@pytest.fixture
def told():
    return []


def counted(name, settings, runs, **more):
    def run():
        runs.append(name)
        return {"value": len(runs)}

    return Cell(name, settings, run, **more)


def broken(error):
    def run():
        raise error

    return Cell("b", {}, run)


def test_a_finished_cell_is_kept_and_one_of_other_settings_is_done_again(tmp_path, told):
    runs = []

    def numbers(first, second):
        cells = [counted("One: a", first, runs), counted("Two: a", second, runs)]
        return Grid(cells, tmp_path).run(cells, told.append).numbers

    once = {"One: a": {"value": 1}, "Two: a": {"value": 2}}
    assert numbers({"size": (1, 2)}, {"size": 2}) == once
    assert numbers({"size": [1, 2]}, {"size": 2}) == once  # as a file gives them back
    assert runs == ["One: a", "Two: a"]
    assert numbers({"size": (1, 2)}, {"size": 3}) == {
        "One: a": {"value": 1},
        "Two: a": {"value": 3},
    }
    assert told == [
        "cell 1 of 2: One: a",
        "cell 2 of 2: Two: a",
        "cell 1 of 2: One: a, kept",
        "cell 2 of 2: Two: a, kept",
        "cell 1 of 2: One: a, kept",
        "cell 2 of 2: Two: a",
    ]


def test_the_file_of_a_cell_names_its_settings(tmp_path, told):
    cell = counted("Bits, a b: c", {"depth": 2}, [])
    grid = Grid([cell], tmp_path)
    grid.run([cell], told.append)
    content = json.loads((tmp_path / "cells" / "bits-a-b-c.json").read_text())
    assert content.pop("seconds") >= 0
    assert content.pop("version")
    assert content == {
        "cell": "Bits, a b: c",
        "settings": {"depth": 2},
        "numbers": {"value": 1},
    }
    assert [file.name for file in (tmp_path / "cells").iterdir()] == ["bits-a-b-c.json"]


def test_a_cell_that_fails_does_not_stop_the_others(tmp_path, told):
    runs = []
    cells = [broken(ArgumentError("b: must hold; got 1. Try 2.")), counted("c", {}, runs)]
    outcome = Grid(cells, tmp_path).run(cells, told.append)
    assert outcome.numbers == {"c": {"value": 1}}
    assert outcome.failures == {"b": "b: must hold; got 1. Try 2."}
    assert told[1] == "  failed: b: must hold; got 1. Try 2."
    assert Grid([broken(KeyError("x"))], tmp_path).run([broken(KeyError("x"))], told.append) == (
        type(outcome)({}, {"b": "KeyError: 'x'"})
    )


def test_ctrl_c_leaves_what_is_finished(tmp_path, told):
    runs = []
    cells = [counted("a", {}, runs), broken(KeyboardInterrupt()), counted("c", {}, runs)]
    with pytest.raises(KeyboardInterrupt):
        Grid(cells, tmp_path).run(cells, told.append)
    cells[1] = counted("b", {}, runs)
    Grid(cells, tmp_path).run(cells, told.append)
    assert runs == ["a", "b", "c"]


def test_a_cell_waits_for_the_one_before_it(tmp_path, told):
    runs = []
    first = counted("first", {"size": 1}, runs)
    second = counted("second", {}, runs, after=first)
    grid = Grid([first, second], tmp_path)
    assert grid.run([second], told.append).failures == {
        "second": "table: 'second' must run after 'first'; got no result of that cell with these "
        "settings. Run it first."
    }
    grid.run([first, second], told.append)
    assert runs == ["first", "second"]
    changed = counted("first", {"size": 2}, runs)
    cells = [changed, counted("second", {}, runs, after=changed)]
    Grid(cells, tmp_path).run(cells, told.append)  # what rests on it is done again too
    assert runs == ["first", "second"] * 2


def test_a_damaged_file_is_told(tmp_path, told, says):
    cell = counted("a", {}, [])
    grid = Grid([cell], tmp_path)
    grid.file(cell).parent.mkdir()
    grid.file(cell).write_text('{"settings": {}}')
    sentence = (
        f"table: {grid.file(cell)} must be a file of a finished cell; got KeyError('numbers'). "
        "Remove it, and run the command again."
    )
    with says(FileError, sentence):
        grid.finished(cell)
    assert grid.run([cell], told.append).failures == {"a": sentence}


def test_names_that_would_share_a_file(tmp_path, says):
    cells = [counted("a b", {}, []), counted("A, B", {}, [])]
    sentence = "Grid: names of cells must differ in letters or digits; got 'a b' twice. Rename one."
    with says(ArgumentError, sentence):
        Grid(cells, tmp_path)


def test_cells_are_chosen_by_part_of_their_name(says):
    cells = [counted(name, {}, []) for name in ("recall: a", "recall: b", "speed")]
    assert chosen_cells(cells, []) == cells
    assert chosen_cells(cells, ["RECALL: b", "speed"]) == cells[1:]
    sentence = (
        "table: only must be part of a cell's name; got 'bits'. "
        "Choose from: recall: a; recall: b; speed."
    )
    with says(ArgumentError, sentence):
        chosen_cells(cells, ["recall", "bits"])


def test_a_whole_name_chooses_one_cell():
    cells = [counted(name, {}, []) for name in ("fourier 2", "fourier 2, norm none", "dense")]
    assert chosen_cells(cells, ["Fourier 2"]) == cells[:1]
    assert chosen_cells(cells, ["fourier"]) == cells[:2]
    assert chosen_cells(cells, ["fourier 2", "dense"]) == [cells[0], cells[2]]
