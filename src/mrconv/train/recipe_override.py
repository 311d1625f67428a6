"""Overrides of a recipe on the command line: dotted key, equals sign, YAML value."""

import copy
from collections.abc import Iterable, Sequence
from typing import Any

from .._checks import needs_extra
from ..errors import RecipeError

__all__ = ["overridden", "placed"]


def overridden(owner: str, values: Any, overrides: Sequence[str]) -> Any:
    """A copy of a recipe's values with changes.

    Args:
        owner: First words of the message.
        values: Plain data.
        overrides: ``key=value``; a number in the key counts the entries of a list from 0, and
            mappings that are not there yet are made.

    Raises:
        RecipeError: With one line for every override that cannot be applied.

    Example:
        >>> overridden("recipe", {"loss": {"label_smoothing": 0.05}}, ["loss.label_smoothing=0"])
        {'loss': {'label_smoothing': 0}}
    """
    with needs_extra("recipe", "train"):
        from .yaml_reader import parse
    values, mistakes = copy.deepcopy(values), []
    for override in overrides:
        key, equals, text = override.partition("=")
        if not equals or not all(key.split(".")):
            mistakes.append(
                f"override: must be key=value; got {override!r}. Write it like epochs=3."
            )
            continue
        try:
            value = parse(text, f"override {key}")
            problem = _place(values, key.split("."), value)
        except RecipeError as error:
            problem = str(error)
        if problem:
            mistakes.append(problem)
    _report(owner, mistakes)
    return values


def placed(owner: str, values: Any, changes: Iterable[tuple[str, Any]]) -> Any:
    """A copy of a recipe's values with other values under dotted keys.

    Args:
        owner: First words of the message.
        values: Plain data.
        changes: Dotted keys and plain values; keys lead as those of ``overridden``.

    Raises:
        RecipeError: With one line for every key that leads nowhere.

    Example:
        >>> placed("recipe", {"loss": {"label_smoothing": 0.05}}, [("loss.label_smoothing", 0)])
        {'loss': {'label_smoothing': 0}}
    """
    values = copy.deepcopy(values)
    problems = [_place(values, key.split("."), copy.deepcopy(one)) for key, one in changes]
    _report(owner, [problem for problem in problems if problem])
    return values


def _report(owner: str, mistakes: Sequence[str]) -> None:
    if mistakes:
        lines = "".join(f"\n  {line}" for line in mistakes)
        plural = "mistake" if len(mistakes) == 1 else "mistakes"
        raise RecipeError(f"{owner}: {len(mistakes)} {plural}{lines}")


def _place(values: Any, keys: list[str], value: Any) -> str | None:
    """Sets the value in place; says where the key leads nowhere."""
    for i, key in enumerate(keys):
        path = ".".join(keys[:i]) or "recipe"
        last = i == len(keys) - 1
        if isinstance(values, list):
            if not key.isdecimal() or int(key) >= len(values):
                return (
                    f"{path}: holds a list of {len(values)}; got the entry {key!r}. "
                    f"Use a number from 0 to {len(values) - 1}."
                )
            if last:
                values[int(key)] = value
            else:
                values = values[int(key)]
        elif isinstance(values, dict):
            if last:
                values[key] = value
            else:
                if values.get(key) is None:
                    values[key] = {}
                values = values[key]
        else:
            return f"{path}: holds {values!r}; got the key {key!r} below it. Shorten the key."
    return None
