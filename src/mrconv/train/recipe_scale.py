"""Scales of a recipe: named sets of changes that make one recipe larger or smaller."""

from collections.abc import Mapping
from typing import Any

from ..errors import RecipeError
from .recipe_override import placed

__all__ = ["scale_names", "scaled"]

#: Key of a recipe under which the scales stand.
KEY = "scales"


def scale_names(values: Any) -> list[str]:
    """Names of the scales of a recipe, in their order.

    Args:
        values: The recipe as plain data.

    Example:
        >>> scale_names({"epochs": 40, "scales": {"small": {"epochs": 5}}})
        ['small']
    """
    scales = values.get(KEY) if isinstance(values, Mapping) else None
    return list(scales) if isinstance(scales, Mapping) else []


def scaled(owner: str, values: Any, scale: str | None) -> Any:
    """A recipe's values at one of its scales, without the scales themselves.

    Args:
        owner: First words of the message.
        values: Plain data. Under ``scales`` each name holds dotted keys and their values, as
            overrides do.
        scale: One of these names; None: the values as they stand.

    Returns:
        A changed copy.

    Raises:
        RecipeError: If there is no such scale, or one of its keys leads nowhere.

    Example:
        >>> scaled("recipe", {"epochs": 40, "scales": {"small": {"epochs": 5}}}, "small")
        {'epochs': 5}
    """
    if isinstance(values, Mapping) and KEY in values:
        _check(owner, values[KEY])
        names = scale_names(values)
        plain = {key: value for key, value in values.items() if key != KEY}
    else:
        names, plain = [], values
    if scale is None:
        return plain
    if scale not in names:
        known = f"one of {', '.join(names)}" if names else "left out, as the recipe has none"
        raise RecipeError(
            f"{owner}: scale must be {known}; got {scale!r}. "
            f"{'Name one of these' if names else 'Change single values by key=value'}."
        )
    return placed(owner, plain, values[KEY][scale].items())


def _check(owner: str, scales: Any) -> None:
    if isinstance(scales, Mapping) and all(isinstance(one, Mapping) for one in scales.values()):
        return
    raise RecipeError(
        f"{owner}: scales must hold names, and each of them dotted keys with values; "
        f"got {scales!r}. Write it like small: {{epochs: 2}}."
    )
