"""ListOps, generated: every line read and reckoned again by a parser of its own."""

import json
import statistics
from pathlib import Path

import numpy as np
import pytest

from mrconv.data import Grammar, generate_listops
from mrconv.data import listops_generator as module
from mrconv.data.listops_expressions import expression_lines, random_expressions
from mrconv.data.random_streams import example_keys
from mrconv.errors import ArgumentError, DtypeError, FileError

FILES = ("basic_train.tsv", "basic_val.tsv", "basic_test.tsv")
SMALL = Grammar(max_depth=4, min_length=4, max_length=40)
REDUCE = {
    "[MIN": min,
    "[MAX": max,
    "[MED": lambda values: int(statistics.median(values)),
    "[SM": lambda values: sum(values) % 10,
}


def lines_of(grammar: Grammar, tries: int, seed: int = 0) -> list[str]:
    levels = random_expressions(example_keys(seed, 0, tries), grammar)
    return [line.decode("ascii") for line in expression_lines(levels)]


def pair(words: list[str], place: int):
    """The nested pairs that the text spells, and the place behind them."""
    if words[place] != "(":
        return words[place], place + 1
    left, place = pair(words, place + 1)
    right, place = pair(words, place)
    assert words[place] == ")"
    return (left, right), place + 1


def flat(tree) -> tuple[str, list]:
    """Operator and arguments of pairs nested to the left, closed by a bracket."""
    body, bracket = tree
    assert bracket == "]"
    arguments = []
    while isinstance(body, tuple):
        body, last = body
        arguments.append(last)
    return body, arguments[::-1]


def reckoned(tree) -> tuple[int, int, int, int, int]:
    """Value, length, levels, fewest and most arguments."""
    if isinstance(tree, str):
        return int(tree), 1, 1, 99, 0
    name, arguments = flat(tree)
    parts = [reckoned(one) for one in arguments]
    value = REDUCE[name]([part[0] for part in parts])
    return (
        value,
        2 + sum(part[1] for part in parts),
        1 + max(part[2] for part in parts),
        min(len(parts), *(part[3] for part in parts)),
        max(len(parts), *(part[4] for part in parts)),
    )


def facts(line: str) -> tuple[int, tuple[int, int, int, int, int]]:
    assert line.endswith("\r\n")
    source, target = line[:-2].split("\t")
    words = source.split(" ")
    tree, end = pair(words, 0)
    assert end == len(words)
    return int(target), reckoned(tree)


def test_published_expressions():
    """Bounds, values, acceptance, mean length and classes of expressions as published."""
    lines = lines_of(Grammar(), 4096)
    found = [facts(line) for line in lines]
    assert all(target == told[0] for target, told in found)
    lengths = np.array([told[1] for _, told in found])
    assert lengths.min() > 500 and lengths.max() < 2000
    assert max(told[2] for _, told in found) == 10
    assert (min(told[3] for _, told in found), max(told[4] for _, told in found)) == (2, 10)
    # measured by a recursive program: 8.3 % of the tries, 1065 tokens in the mean
    assert len(lines) / 4096 == pytest.approx(0.083, abs=0.013)
    assert lengths.mean() == pytest.approx(1065, abs=70)
    shares = np.bincount([target for target, _ in found], minlength=10) / len(found)
    # minima and maxima reach the ends: 49 and 38 of 300 there
    assert shares[0] == pytest.approx(0.16, abs=0.06)
    assert shares[9] == pytest.approx(0.14, abs=0.06)
    assert ((shares[1:9] > 0.04) & (shares[1:9] < 0.13)).all()


def naive(random: np.random.Generator, grammar: Grammar, depth: int = 1):
    """Value and length of an expression by recursion, as the published program draws it."""
    if depth == grammar.max_depth or random.random() >= 0.25:
        return int(random.integers(10)), 1
    count = random.integers(2, grammar.max_args + 1)
    parts = [naive(random, grammar, depth + 1) for _ in range(count)]
    name = list(REDUCE)[random.integers(4)]
    return REDUCE[name]([part[0] for part in parts]), 2 + sum(part[1] for part in parts)


def test_values_and_lengths_are_distributed_as_by_recursion():
    grammar, random = Grammar(5, 4, 3, 60), np.random.default_rng(0)
    tries = 15_000
    slow = [one for one in (naive(random, grammar) for _ in range(tries)) if 3 < one[1] < 60]
    quick = [facts(line)[1] for line in lines_of(grammar, tries)]
    assert len(quick) == pytest.approx(len(slow), rel=0.07)
    for column, size in ((0, 10), (1, 60)):
        one, two = (
            np.bincount([row[column] for row in rows], minlength=size) / len(rows)
            for rows in (slow, quick)
        )
        assert np.abs(one - two).sum() < 0.16


@pytest.mark.parametrize("grammar", [SMALL, Grammar(2, 2, 0, 9), Grammar(3, 5, 0, 2)], ids=str)
def test_small_expressions(grammar):
    found = [facts(line) for line in lines_of(grammar, 600)]
    assert found
    for target, (value, length, levels, _, most) in found:
        assert target == value
        assert grammar.min_length < length < grammar.max_length
        assert levels <= grammar.max_depth and most <= grammar.max_args


def test_no_expression_at_all():
    assert lines_of(Grammar(), 0) == []
    assert lines_of(Grammar(min_length=1998), 10) == []


# files


def read(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES}


def rows(folder: Path) -> list[int]:
    return [data.count(b"\r\n") - 1 for data in read(folder).values()]


def test_files_are_those_published(tmp_path):
    assert generate_listops(tmp_path, 150, grammar=SMALL) == tmp_path
    assert rows(tmp_path) == [144, 3, 3]
    lines = []
    for data in read(tmp_path).values():
        head, *body = data.decode("ascii").splitlines(keepends=True)
        assert head == "Source\tTarget\r\n"
        lines += body
    assert len(set(lines)) == 150  # none twice
    assert all(target == told[0] for target, told in map(facts, lines))
    assert sorted(file.name for file in tmp_path.glob("[!.]*")) == sorted(
        (*FILES, "generated.json")
    )


def test_more_examples_are_added_behind_the_others(tmp_path):
    for count in (3, 3, 60, 61, 1500):
        generate_listops(tmp_path / "grown", count, grammar=SMALL)
    generate_listops(tmp_path / "whole", 1500, grammar=SMALL)
    assert read(tmp_path / "grown") == read(tmp_path / "whole")
    other = generate_listops(tmp_path / "other", 1500, seed=1, grammar=SMALL)
    assert read(other) != read(tmp_path / "whole")


class Stop(Exception):
    pass


@pytest.mark.parametrize("at", [1, 3])
def test_a_stopped_run_goes_on(tmp_path, monkeypatch, at):
    monkeypatch.setattr(module, "TRIES", 256)
    whole = read(generate_listops(tmp_path / "whole", 400, grammar=SMALL))
    folder, calls = tmp_path / "stopped", []

    def stop(done: int, total: int) -> None:
        calls.append((done, total))
        if len(calls) == at + 1:
            raise Stop

    with pytest.raises(Stop):
        generate_listops(folder, 400, grammar=SMALL, progress=stop)
    assert not list(folder.glob("*.tsv"))
    # a part that the note does not know
    with (folder / "basic_train.tsv.part").open("ab") as file:
        file.write(b"( half an expr")
    assert calls[0] == (0, 400)
    calls.clear()
    generate_listops(folder, 400, grammar=SMALL, progress=lambda *numbers: calls.append(numbers))
    assert read(folder) == whole
    assert calls[0][0] > 0 and calls[-1] == (400, 400)
    assert not list(folder.glob("*.part"))


@pytest.mark.slow
def test_processes_change_nothing(tmp_path, monkeypatch):
    one, two = (
        generate_listops(tmp_path / str(workers), 1500, workers=workers) for workers in (1, 2)
    )
    assert read(one) == read(two)


# what is refused


def test_other_settings(tmp_path, says):
    generate_listops(tmp_path, 5, grammar=SMALL)
    sentence = (
        f"ListOps: {tmp_path} must hold examples of the same settings, seed=1; got seed=0. "
        "Choose another folder, or those settings."
    )
    with says(FileError, sentence):
        generate_listops(tmp_path, 5, seed=1, grammar=SMALL)
    with pytest.raises(FileError, match=r"max_depth=10; got max_depth=4\. "):
        generate_listops(tmp_path, 5)


def test_fewer_examples(tmp_path, says):
    generate_listops(tmp_path, 9, grammar=SMALL)
    sentence = (
        f"ListOps: {tmp_path} must hold no more than count=8 examples; got 9. "
        "Choose another folder, or a larger count."
    )
    with says(FileError, sentence):
        generate_listops(tmp_path, 8, grammar=SMALL)


def test_a_file_that_was_changed(tmp_path, says):
    generate_listops(tmp_path, 9, grammar=SMALL)
    file = tmp_path / "basic_val.tsv"
    size = file.stat().st_size
    file.write_bytes(b"Source\tTarget\r\n")
    sentence = (
        f"ListOps: {file} must hold at least the {size} bytes that were generated; got 15. "
        "Choose another folder to generate anew."
    )
    with says(FileError, sentence):
        generate_listops(tmp_path, 20, grammar=SMALL)


def test_more_than_there_are(tmp_path, says, monkeypatch):
    monkeypatch.setattr(module, "TRIES", 64)
    sentence = (
        "ListOps: there must be count=11 different expressions of these lengths; got 10, and none "
        "more in 3200 tries. Lower count, or widen the bounds."
    )
    with says(ArgumentError, sentence):
        generate_listops(tmp_path, 11, grammar=Grammar(max_depth=1, min_length=0))
    assert json.loads((tmp_path / "generated.json").read_text())["max_depth"] == 1


@pytest.mark.parametrize(
    ("error", "settings", "sentence"),
    [
        (
            ArgumentError,
            {"count": 2},
            "ListOps: count must be at least 3; got count=2. Pass a larger count.",
        ),
        (
            ArgumentError,
            {"count": 9, "seed": -1},
            "ListOps: seed must be at least 0; got seed=-1. Pass a larger seed.",
        ),
        (
            ArgumentError,
            {"count": 9, "workers": 0},
            "ListOps: workers must be at least 1; got workers=0. Pass a larger workers.",
        ),
        (
            DtypeError,
            {"count": 9.5},
            "ListOps: count must be a whole number; got 9.5. Pass an int of at least 3.",
        ),
    ],
    ids=str,
)
def test_wrong_numbers(tmp_path, says, error, settings, sentence):
    with says(error, sentence):
        generate_listops(tmp_path / "new", **settings)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            (2, 10, 500, 2000),
            "ListOps: an expression must fit between min_length and max_length; got "
            "min_length=500, max_length=2000 where lengths reach 12. Widen the bounds, or raise "
            "max_depth or max_args.",
        ),
        (
            (10, 10, 1, 4),
            "ListOps: an expression must fit between min_length and max_length; got min_length=1, "
            f"max_length=4 where lengths reach {2 * sum(10**k for k in range(9)) + 10**9}. "
            "Widen the bounds, or raise max_depth or max_args.",
        ),
        ((0,), "ListOps: max_depth must be at least 1; got max_depth=0. Pass a larger max_depth."),
        ((5, 1), "ListOps: max_args must be at least 2; got max_args=1. Pass a larger max_args."),
    ],
    ids=str,
)
def test_a_grammar_without_expressions(says, settings, sentence):
    with says(ArgumentError, sentence):
        Grammar(*settings)
