"""Every mistake of a recipe in one report, before anything is constructed.

First the names of all classes are checked, then the allowed ones are imported, then keys and types
are compared with the signatures and annotations of their constructors.
"""

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from torch import nn
from torch.optim import Optimizer

from .._checks import nearest
from ..data import DataSource
from ..errors import RecipeError
from ..models.backbone import SequenceBackbone
from ..models.base import SequenceModel
from ..models.mixers import MIXERS
from .batches import Batching
from .recipe_names import check_name, class_names, find_class
from .recipe_types import Call, Misfit, describe, fit, parameter_hints

__all__ = ["Layout", "Precision", "Schedule", "check_recipe"]

Schedule = Literal["one_cycle", "cosine", "constant"]
Precision = Literal["16-mixed", "16-true", "32-true", "64-true", "bf16-mixed", "bf16-true"]
_REQUIRED = inspect.Parameter.empty
Parameters = dict[str, tuple[Any, Any]]  # name -> (annotation, default or _REQUIRED)


@dataclasses.dataclass(frozen=True)
class Layout:
    """The keys of a recipe, their types and defaults."""

    epochs: int
    batch_size: int
    data: DataSource
    model: SequenceModel
    loss: nn.Module
    optimizer: Optimizer
    seed: int = 0
    schedule: Schedule = "one_cycle"
    warmup: float = 0.1
    precision: Precision = "32-true"
    devices: int | Literal["auto"] = 1
    num_nodes: int = 1
    gradient_clip: float | None = None
    batches: Batching = "plain"
    workers: int = 0


_RANGES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "epochs": ("at least 1", lambda value: value >= 1),
    "batch_size": ("at least 1", lambda value: value >= 1),
    "seed": ("at least 0", lambda value: value >= 0),
    "warmup": ("at least 0 and below 1", lambda value: 0 <= value < 1),
    "devices": ("at least 1", lambda value: value == "auto" or value >= 1),
    "num_nodes": ("at least 1", lambda value: value >= 1),
    "gradient_clip": ("above 0, or null for none", lambda value: value is None or value > 0),
    "workers": ("at least 0", lambda value: value >= 0),
    "lr": ("at least 0", lambda value: value >= 0),
    "kernel_lr": ("at least 0", lambda value: value >= 0),
    "weight_decay": ("at least 0", lambda value: value >= 0),
}


def check_recipe(owner: str, values: Any, allow: Sequence[str] = ()) -> dict[str, Any]:
    """The settings of a recipe, checked and converted, defaults filled in.

    Args:
        owner: First words of the message.
        values: Plain data.
        allow: Modules whose classes may be named besides those of mrconv, torch.nn, torch.optim.

    Returns:
        One value for every field of ``Layout``; classes as ``Call``.

    Raises:
        RecipeError: With one line for every mistake.
    """
    if not isinstance(values, Mapping):
        raise RecipeError(
            f"{owner}: must be a mapping of settings; got {values!r}. "
            "Write one 'key: value' a line."
        )
    mistakes = [check_name(path, name, allow) for path, name in class_names(values)]
    found = [mistake for mistake in mistakes if mistake]
    try:
        settings = _Checker(allow).settings(values)
    except Misfit as misfit:
        found += misfit.mistakes
    if found:
        lines = "".join(f"\n  {line}" for line in found)
        plural = "mistake" if len(found) == 1 else "mistakes"
        raise RecipeError(f"{owner}: {len(found)} {plural}{lines}")
    return settings


class _Checker:
    """Keys and types against constructors; every check raises a Misfit with all its mistakes."""

    def __init__(self, allow: Sequence[str]) -> None:
        self.allow = allow

    def settings(self, values: Mapping[str, Any]) -> dict[str, Any]:
        settings = self.arguments("", values, _parameters(Layout))
        return {
            field.name: settings.get(field.name, field.default)
            for field in dataclasses.fields(Layout)
        }

    def nested(self, path: str, value: Mapping[str, Any], wanted: type) -> Call:
        if "class" in value:
            target = self.target(f"{path}.class", value["class"], wanted)
        else:
            target = wanted
        given = {key: one for key, one in value.items() if key != "class"}
        parameters = _parameters(target)
        if issubclass(target, Optimizer):
            parameters.pop("params", None)
            parameters |= {
                "lr": (float, _REQUIRED),
                "kernel_lr": (float, None),
                "weight_decay": (float, 0.0),
            }
        return Call(target, self.arguments(path, given, parameters, _mixer_of(target)))

    def target(self, path: str, name: Any, wanted: type) -> type:
        if check_name(path, name, self.allow):
            raise Misfit  # reported with the names
        found = find_class(path, name, self.allow)
        if isinstance(found, str):
            raise Misfit(found)
        if not _is_a(found, wanted):
            raise Misfit(
                f"{path}: must be {describe(wanted)}; got {name!r}. Name another class here."
            )
        return found

    def arguments(
        self,
        path: str,
        given: Mapping[str, Any],
        parameters: Parameters,
        mixer: str | None = None,
    ) -> dict[str, Any]:
        fitted: dict[str, Any] = {}
        mistakes: list[str] = []
        start = f"{path}." if path else ""
        for key, value in given.items():
            hint, _ = parameters.get(key, parameters.get("**", (_REQUIRED, None)))
            try:
                if hint is _REQUIRED:
                    known = parameters.keys() - {"**"}
                    raise Misfit(f"{start}{key}: unknown key; got {key!r}. {nearest(key, known)}")
                fitted[key] = fit(f"{start}{key}", value, hint, self.nested)
                if key == mixer:
                    fitted[key] = self.mixers(f"{start}{key}", value)
                _check_range(path, key, fitted[key])
            except Misfit as misfit:
                mistakes += misfit.mistakes
        mistakes += [
            f"{start}{key}: must be given; got nothing. Add it: {describe(hint)}."
            for key, (hint, default) in parameters.items()
            if default is _REQUIRED and key not in given
        ]
        if mistakes:
            raise Misfit(*mistakes)
        return fitted

    def mixers(self, path: str, value: Any) -> Any:
        """Settings of the layers that mix over time, which the backbone constructs itself."""
        if isinstance(value, Mapping):
            return self.mixer(path, value)
        fitted, mistakes = [], []
        for i, one in enumerate(value):
            try:
                fitted.append(self.mixer(f"{path}.{i}", one))
            except Misfit as misfit:
                mistakes += misfit.mistakes
        if mistakes:
            raise Misfit(*mistakes)
        return fitted

    def mixer(self, path: str, value: Mapping[str, Any]) -> dict[str, Any]:
        choice = Literal[tuple(MIXERS)]  # type: ignore[valid-type]
        name = fit(f"{path}.name", value.get("name", "mrconv"), choice, self.nested)
        parameters = _parameters(MIXERS[name])
        # the first two, channels and length (of LongConv, num_taps), are the backbone's to give
        for supplied in (*list(parameters)[:2], "device", "dtype"):
            parameters.pop(supplied, None)
        return self.arguments(path, value, {"name": (str, None), **parameters})


def _parameters(target: type) -> Parameters:
    """Name, annotation and default of what a constructor takes; "**" where it takes any name."""
    try:
        signature = inspect.signature(target)
    except (TypeError, ValueError):  # made in C without a signature
        return {"**": (Any, None)}
    hints, found = parameter_hints(target), {}
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            found["**"] = (Any, None)
        elif parameter.kind not in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
            found[name] = (hints.get(name, Any), parameter.default)
    return found


def _mixer_of(target: type) -> str | None:
    return "mixer" if issubclass(target, SequenceBackbone) else None


def _is_a(found: type, wanted: type) -> bool:
    if getattr(wanted, "_is_protocol", False):
        names = [name for name in vars(wanted) if not name.startswith("_")]
        return all(callable(getattr(found, name, None)) for name in names)
    return issubclass(found, wanted)


def _check_range(path: str, key: str, value: Any) -> None:
    if path not in ("", "optimizer") or key not in _RANGES:
        return
    rule, holds = _RANGES[key]
    if not holds(value):
        where = f"{path}.{key}" if path else key
        raise Misfit(f"{where}: must be {rule}; got {value}. Change the value.")
