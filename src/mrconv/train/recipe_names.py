"""Class names in recipes: which modules may be named, and the class behind a name."""

import importlib
import inspect
import re
from collections.abc import Iterator, Sequence
from typing import Any

from .._checks import nearest

__all__ = ["ALLOWED", "check_name", "class_names", "find_class"]

#: Modules whose classes a recipe may name.
ALLOWED = ("mrconv", "torch.nn", "torch.optim")
_NAME = re.compile(r"[A-Za-z]\w*(\.[A-Za-z]\w*)+", re.ASCII)


def class_names(values: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value under a key ``class``, with its dotted path.

    Args:
        values: Plain data.
        path: Where it stands.

    Example:
        >>> list(class_names({"loss": {"class": "torch.nn.MSELoss"}}))
        [('loss.class', 'torch.nn.MSELoss')]
    """
    if isinstance(values, dict):
        items = list(values.items())
    elif isinstance(values, list):
        items = list(enumerate(values))
    else:
        return
    for key, value in items:
        where = f"{path}.{key}" if path else str(key)
        if key == "class":
            yield where, value
        yield from class_names(value, where)


def check_name(path: str, name: Any, allow: Sequence[str]) -> str | None:
    """The mistake in a class's name, or None. Imports nothing.

    Args:
        path: Where the name stands.
        name: What stands there.
        allow: Modules that may be named besides ``ALLOWED``.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return (
            f"{path}: must be the dotted path of a class; got {name!r}. "
            "Write it like torch.nn.CrossEntropyLoss."
        )
    if not _inside(name, (*ALLOWED, *allow)):
        module = name.rpartition(".")[0]
        known = ", ".join((*ALLOWED, *allow))
        return (
            f"{path}: must be inside {known}; got {name!r}. "
            f"If you trust that code, add: --allow {module}"
        )
    return None


def find_class(path: str, name: str, allow: Sequence[str]) -> type | str:
    """The class that an allowed name stands for, or the mistake. Imports its module.

    The class must stand in the module itself and be defined inside an allowed module, so that a
    name cannot reach through a module to what that module imports.

    Args:
        path: Where the name stands.
        name: A name that ``check_name`` lets pass.
        allow: Modules that may be named besides ``ALLOWED``.
    """
    module_name, _, attribute = name.rpartition(".")
    try:
        module = importlib.import_module(module_name)
        found = getattr(module, attribute, None)
    except Exception as error:  # whatever an allowed module raises while it is imported
        reason = str(error).split("\n")[0]
        return f"{path}: {module_name} must be importable; got {reason}. Check the spelling."
    if not isinstance(found, type):
        classes = [key for key in dir(module) if inspect.isclass(getattr(module, key, None))]
        return (
            f"{path}: must be a class of {module_name}; got {name!r}. {nearest(attribute, classes)}"
        )
    if not _inside(f"{found.__module__}.", (*ALLOWED, *allow)):
        return (
            f"{path}: must be defined inside an allowed module; got {name!r}, which is from "
            f"{found.__module__}. If you trust that code, add: --allow {found.__module__}"
        )
    return found


def _inside(name: str, modules: Sequence[str]) -> bool:
    return any(name.startswith(f"{module}.") for module in modules)
