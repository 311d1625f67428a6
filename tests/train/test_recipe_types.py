import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import pytest
import torch
from torch import nn

from mrconv import BranchNorm
from mrconv.train.recipe_types import Call, Misfit, describe, fit, parameter_hints


def refuse(path: str, value: Mapping[str, Any], wanted: type) -> Call:
    return Call(wanted, {key: one for key, one in value.items() if key != "class"})


@pytest.mark.parametrize(
    ("value", "hint", "expected"),
    [
        (1, int, 1),
        (1, float, 1.0),
        (True, bool, True),
        ("a", str, "a"),
        (None, None, None),
        (None, int | None, None),
        (3, int | float, 3),
        (3.5, int | float, 3.5),
        ("b", Literal["a", "b"], "b"),
        ([1, 2], tuple[float, float], (1.0, 2.0)),
        ([1, 2], tuple[float, ...], (1.0, 2.0)),
        ([1, 2], list[float], [1.0, 2.0]),
        ([1, "a"], Sequence, [1, "a"]),
        ({"a": 1}, dict[str, float], {"a": 1.0}),
        ({"a": [1]}, Mapping[str, Any] | Sequence[Mapping[str, Any]], {"a": [1]}),
        ([{"a": 1}], Mapping[str, Any] | Sequence[Mapping[str, Any]], [{"a": 1}]),
        ("dense", str | Callable[..., nn.Module], "dense"),
        ({"momentum": 0.1}, Literal["batch"] | BranchNorm, Call(BranchNorm, {"momentum": 0.1})),
        ({"class": "x.Y", "a": 1}, nn.Module, Call(nn.Module, {"a": 1})),
        ({"b": {"class": "x.Y"}}, Any, {"b": Call(object, {})}),
        ("bfloat16", torch.dtype | None, torch.bfloat16),
        ([1], Any, [1]),
        (5, typing.TypeVar("T"), 5),
    ],
)
def test_values_that_fit_are_converted(value, hint, expected) -> None:
    fitted = fit("x", value, hint, refuse)
    assert fitted == expected
    assert type(fitted) is type(expected)


@pytest.mark.parametrize(
    ("value", "hint", "sentence"),
    [
        (True, int, "x: must be a whole number; got True. Write it like 4."),
        (1.0, int, "x: must be a whole number; got 1.0. Write it like 4."),
        ("1", float, "x: must be a number; got '1'. Write it like 0.5."),
        (1, bool, "x: must be true or false; got 1. Write true or false, without quotes."),
        (None, str, "x: must be text; got None. Put it in quotes."),
        (
            "1",
            int | float | None,
            "x: must be a whole number, a number or nothing; got '1'. Write it like 4.",
        ),
        ("c", Literal["aa", "bb"], "x: must be 'aa' or 'bb'; got 'c'. Known: aa, bb."),
        (1, Literal["aa", "bb"], "x: must be 'aa' or 'bb'; got 1. Known: aa, bb."),
        (True, Literal[1, 2], "x: must be 1 or 2; got True. Known: 1, 2."),
        ([1], tuple[float, float], "x: must be a list of 2; got 1 values. Write 2 values."),
        (1, list[int], "x: must be a list; got 1. Write it like [1, 2]."),
        (
            1,
            Mapping[str, Any],
            "x: must be a mapping; got 1. Write one 'key: value' a line below it.",
        ),
        (1, str | Callable[..., nn.Module], "x: must be text; got 1. Put it in quotes."),
        (
            1,
            nn.Module,
            "x: must be a Module; got 1. Write a mapping with the key class and its arguments.",
        ),
        ({"a": 1}, nn.Module, "x.class: must be given; got nothing. Name a Module."),
        ("int3", torch.dtype, "x: must be the name of a dtype; got 'int3'. Write it like float32."),
        ("a", torch.Tensor, "x: must be a list of numbers; got 'a'. Write it like [0.5, 2]."),
    ],
)
def test_values_that_do_not_fit_are_named(value, hint, sentence) -> None:
    with pytest.raises(Misfit) as caught:
        fit("x", value, hint, refuse)
    assert caught.value.mistakes == [sentence]


def test_every_entry_is_looked_at() -> None:
    with pytest.raises(Misfit) as caught:
        fit("x", {"a": [1, "b"], "c": ["d"]}, Mapping[str, list[int]], refuse)
    assert caught.value.mistakes == [
        "x.a.1: must be a whole number; got 'b'. Write it like 4.",
        "x.c.0: must be a whole number; got 'd'. Write it like 4.",
    ]


def test_calls_construct_from_the_inside_out() -> None:
    inner = Call(nn.Linear, {"in_features": 2, "out_features": 3})
    outer = Call(dict, {"layers": [inner, {"deep": inner}], "plain": (1, 2)})
    made = outer.construct()
    assert isinstance(made["layers"][0], nn.Linear)
    assert isinstance(made["layers"][1]["deep"], nn.Linear)
    assert made["plain"] == (1, 2)


def test_hints_that_cannot_be_resolved_accept_everything() -> None:
    class Odd:
        def __init__(self, x: "NotThere") -> None:  # noqa: F821
            self.x = x

    assert parameter_hints(Odd) == {}
    assert parameter_hints(nn.Linear)["in_features"] is int


def test_descriptions() -> None:
    assert describe(Literal["a", "b", "c"]) == "'a', 'b' or 'c'"
    assert describe(tuple[int, int] | None) == "a list or nothing"
    assert describe(Any) == "any value"
