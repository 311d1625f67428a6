"""Values of a recipe against annotations: what a type asks for in words, and whether a value fits.

Values that fit are converted on the way: whole numbers to float where a float is wanted, lists to
tuples, and mappings with a ``class`` to a ``Call``, which is constructed later.
"""

import collections.abc
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin

import torch

from .._checks import nearest

__all__ = ["Call", "Misfit", "Nested", "describe", "fit", "parameter_hints"]

#: Types whose values can be written down, in words, and how.
_WRITTEN: dict[Any, tuple[str, str]] = {
    int: ("a whole number", "Write it like 4."),
    float: ("a number", "Write it like 0.5."),
    bool: ("true or false", "Write true or false, without quotes."),
    str: ("text", "Put it in quotes."),
    torch.dtype: ("the name of a dtype", "Write it like float32."),
    torch.Tensor: ("a list of numbers", "Write it like [0.5, 2]."),
}
_LISTS = (list, tuple, collections.abc.Sequence, collections.abc.Iterable)
_MAPPINGS = (dict, collections.abc.Mapping)
_DTYPES = ("float32", "float64", "bfloat16", "float16")


@dataclass(frozen=True)
class Call:
    """A class and its arguments, checked and not yet constructed."""

    target: type
    arguments: dict[str, Any]

    def construct(self) -> Any:
        """Constructs the arguments, then the object."""
        return self.target(**{key: constructed(value) for key, value in self.arguments.items()})


class Misfit(Exception):
    """Mistakes in one value, as sentences that start with its dotted path."""

    def __init__(self, *mistakes: str) -> None:
        super().__init__("\n".join(mistakes))
        self.mistakes = list(mistakes)


#: Checks a mapping with the key ``class`` against what is wanted there: (path, mapping, class).
Nested = Callable[[str, Mapping[str, Any], type], Call]


def constructed(value: Any) -> Any:
    """The value with every ``Call`` in it replaced by its object."""
    if isinstance(value, Call):
        return value.construct()
    if isinstance(value, dict):
        return {key: constructed(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(constructed(one) for one in value)
    return value


def parameter_hints(target: Callable[..., Any]) -> dict[str, Any]:
    """Annotations of a class's constructor or of a function; Any where one cannot be resolved."""
    function = target.__init__ if inspect.isclass(target) else target
    try:
        return typing.get_type_hints(function)
    except (NameError, TypeError, AttributeError):
        return {}


def describe(hint: Any) -> str:
    """What an annotation asks for, in words.

    Example:
        >>> describe(int | None)
        'a whole number or nothing'
        >>> describe(typing.Literal["a", "b"])
        "'a' or 'b'"
    """
    origin = get_origin(hint)
    if hint is None or hint is types.NoneType:
        return "nothing"
    if hint in (Any, object):  # Any is a class in some versions of Python
        return "any value"
    if hint in _WRITTEN:
        return _WRITTEN[hint][0]
    if origin is Literal:
        return _joined([repr(choice) for choice in get_args(hint)])
    if origin in (Union, types.UnionType):
        members = [one for one in get_args(hint) if get_origin(one) is not Callable]
        return _joined(list(dict.fromkeys(map(describe, members))))
    if (origin or hint) in _LISTS:
        return "a list"
    if (origin or hint) in _MAPPINGS:
        return "a mapping"
    if inspect.isclass(hint):
        return f"{'an' if hint.__name__[0] in 'AEIOU' else 'a'} {hint.__name__}"
    return "any value"


def _joined(words: list[str]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def fit(path: str, value: Any, hint: Any, nested: Nested) -> Any:
    """The value as the annotation wants it.

    Args:
        path: Where the value stands, dotted.
        value: Plain data.
        hint: Annotation; one that is not understood accepts every value.
        nested: Checks a mapping that names a class.

    Returns:
        The value, converted.

    Raises:
        Misfit: With every mistake in it.
    """
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return _fit_union(path, value, hint, nested)
    if isinstance(value, Mapping) and "class" in value and (origin or hint) not in _MAPPINGS:
        return nested(path, value, hint if inspect.isclass(hint) and hint is not Any else object)
    if hint in (None, types.NoneType):
        return None if value is None else _refuse(path, value, hint)
    if origin is Literal:
        known = any(value == choice and type(value) is type(choice) for choice in get_args(hint))
        return value if known else _refuse(path, value, hint)
    if hint in _WRITTEN:
        return _fit_plain(path, value, hint)
    if (origin or hint) in _LISTS:
        return _fit_list(path, value, hint, nested)
    if (origin or hint) in _MAPPINGS:
        return _fit_mapping(path, value, hint, nested)
    if is_dataclass(hint) and isinstance(hint, type) and isinstance(value, Mapping):
        return nested(path, value, hint)
    if inspect.isclass(hint) and hint not in (Any, object) and origin is None:
        if isinstance(value, Mapping):
            raise Misfit(f"{path}.class: must be given; got nothing. Name {describe(hint)}.")
        return _refuse(path, value, hint)
    if origin is Callable:  # which plain data cannot be
        return _refuse(path, value, hint)
    return _fit_anything(path, value, nested)


def _fit_union(path: str, value: Any, hint: Any, nested: Nested) -> Any:
    mistakes: list[list[str]] = []
    for member in get_args(hint):
        try:
            return fit(path, value, member, nested)
        except Misfit as misfit:
            mistakes.append(misfit.mistakes)
    # A member that took the value's outer form says more than "must be this or that".
    inner = [found for found in mistakes if not any(line.startswith(f"{path}: ") for line in found)]
    if inner:
        raise Misfit(*inner[0])
    return _refuse(path, value, hint)


def _fit_plain(path: str, value: Any, hint: Any) -> Any:
    if hint is torch.dtype:
        return getattr(torch, value) if value in _DTYPES else _refuse(path, value, hint)
    if hint is torch.Tensor:
        return (
            torch.tensor(value, dtype=torch.float32)
            if _numeric(value)
            else _refuse(path, value, hint)
        )
    if hint is float and type(value) is int:
        return float(value)
    return value if type(value) is hint else _refuse(path, value, hint)


def _numeric(value: Any) -> bool:
    if isinstance(value, list):
        return all(_numeric(one) for one in value)
    return type(value) in (int, float)


def _fit_list(path: str, value: Any, hint: Any, nested: Nested) -> Any:
    if not isinstance(value, list):
        return _refuse(path, value, hint)
    is_tuple, members = get_origin(hint) is tuple or hint is tuple, get_args(hint)
    if is_tuple and members and members[-1] is not Ellipsis:
        if len(members) != len(value):
            sizes = f"{path}: must be a list of {len(members)}; got {len(value)} values."
            raise Misfit(f"{sizes} Write {len(members)} values.")
        hints = list(members)
    else:
        hints = [members[0] if members else Any] * len(value)
    pairs = zip(value, hints, strict=True)
    fitted = _all_of(
        [(f"{path}.{i}", one, wanted) for i, (one, wanted) in enumerate(pairs)], nested
    )
    return tuple(fitted) if is_tuple else fitted


def _fit_mapping(path: str, value: Any, hint: Any, nested: Nested) -> Any:
    if not isinstance(value, Mapping):
        return _refuse(path, value, hint)
    members = get_args(hint)
    wanted = members[1] if len(members) == 2 else Any
    fitted = _all_of([(f"{path}.{key}", one, wanted) for key, one in value.items()], nested)
    return dict(zip(value, fitted, strict=True))


def _fit_anything(path: str, value: Any, nested: Nested) -> Any:
    if isinstance(value, Mapping):
        return _fit_mapping(path, value, dict, nested)
    return _fit_list(path, value, list, nested) if isinstance(value, list) else value


def _all_of(items: list[tuple[str, Any, Any]], nested: Nested) -> list[Any]:
    fitted, mistakes = [], []
    for path, value, hint in items:
        try:
            fitted.append(fit(path, value, hint, nested))
        except Misfit as misfit:
            mistakes += misfit.mistakes
    if mistakes:
        raise Misfit(*mistakes)
    return fitted


def _refuse(path: str, value: Any, hint: Any) -> Any:
    raise Misfit(f"{path}: must be {describe(hint)}; got {value!r}. {_remedy(value, hint)}")


def _remedy(value: Any, hint: Any) -> str:
    members = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    choices = [
        one for member in members for one in get_args(member) if get_origin(member) is Literal
    ]
    if choices and (isinstance(value, str) or len(members) == 1):
        return nearest(str(value), map(str, choices))
    first = next((one for one in members if one in _WRITTEN), None)
    if first is not None:
        return _WRITTEN[first][1]
    if any(inspect.isclass(one) and one not in (*_LISTS, *_MAPPINGS) for one in members):
        return "Write a mapping with the key class and its arguments."
    if any((get_origin(one) or one) in _MAPPINGS for one in members):
        return "Write one 'key: value' a line below it."
    return "Write it like [1, 2]."
