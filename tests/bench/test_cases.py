"""Choices of the user, and cases by name."""

import pytest

from mrconv.bench import BENCHES, Case, Options, Row, selected
from mrconv.bench import explained as explanations
from mrconv.bench.explained import with_explanation
from mrconv.errors import ArgumentError, DtypeError

CASES = [
    Case("(2, 4, 64), alone", list),
    Case("random 1 (3, 3, 3), alone", list),
    Case("end", list, closing=True),
]


def test_pace_follows_the_options():
    assert Options(repeats=7).pace(5.0) == (0.0, 7, 7)
    assert Options().pace(5.0, 3) == (5.0, 3, 60)
    assert Options(quick=True).pace(5.0) == (0.02, 3, 5)


def test_numbers_are_checked(says):
    with says(
        ArgumentError, "bench: repeats must be at least 1; got repeats=0. Pass a larger repeats."
    ):
        Options(repeats=0)
    with says(
        ArgumentError, "bench: shapes must be at least 0; got shapes=-1. Pass a larger shapes."
    ):
        Options(shapes=-1)
    with says(
        DtypeError, "bench: shapes must be a whole number; got 1.5. Pass an int of at least 0."
    ):
        Options(shapes=1.5)


def test_a_gpu_that_is_not_there(says, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with says(
        ArgumentError,
        "bench: device must be one that torch finds here; got 'cuda'. "
        "Use --device cpu, or install torch for this machine's GPU.",
    ):
        Options(device="cuda")


def test_cases_by_name(says):
    assert selected(CASES, None) == CASES
    assert selected(CASES, "RANDOM") == CASES[1:]
    with says(
        ArgumentError,
        "bench: only must be part of a case's name; got 'end'. "
        "Choose from: (2, 4, 64), alone; random 1 (3, 3, 3), alone.",
    ):
        selected(CASES, "end")


@pytest.mark.parametrize("name", BENCHES)
def test_names_of_cases_differ(name):
    if name == "vision":
        pytest.importorskip("timm", reason="needs timm: make test-vision", exc_type=ImportError)
    names = [case.name for case in BENCHES[name](Options())]
    assert len(set(names)) == len(names)


def test_a_known_miss_is_explained(monkeypatch):
    known = ((("random", "2"), "Two."), (("random",), "Call overhead."))
    monkeypatch.setattr(explanations, "EXPLAINED", known)
    miss, held = (Row("random 1", value, "times", bar=2.0, better="higher") for value in (1.0, 3.0))
    assert with_explanation(miss).explained == "Call overhead."
    assert with_explanation(held) is held
    other = Row("(2, 4, 64)", 1.0, "times", bar=2.0, better="higher")
    assert with_explanation(other) is other
