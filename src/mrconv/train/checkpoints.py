"""Checkpoints of a training: written aside and moved into place, loaded with weights only."""

import dataclasses
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ..errors import FileError
from .progress import EpochRow
from .recipe import Recipe

__all__ = ["Checkpoint", "describe_state", "read_checkpoint"]

#: Key of what mrconv adds to Lightning's checkpoint, and the version of its layout.
KEY, FORMAT = "mrconv", 1
#: What the model's tensors are called by in Lightning's part.
MODEL = "model."


@dataclass(frozen=True)
class Checkpoint:
    """What a training is resumed from."""

    path: Path
    """The file."""
    rows: list[EpochRow]
    """One row for every finished epoch."""
    weights: dict[str, Any]
    """State of the model."""


def describe_state(recipe: Recipe, rows: list[EpochRow]) -> dict[str, Any]:
    """What a checkpoint holds besides the states: plain values, so that no code is loaded.

    Args:
        recipe: Of the training.
        rows: Finished epochs.
    """
    table = [dataclasses.astuple(row) for row in rows]
    return {"format": FORMAT, "recipe": recipe.identity(), "rows": table}


def read_checkpoint(path: Path, recipe: Recipe) -> Checkpoint:
    """Reads a checkpoint and holds it against the recipe. Loads tensors and plain values only.

    Args:
        path: File that ``train`` wrote.
        recipe: Of the training that is to go on.

    Raises:
        FileError: If the file is missing, damaged, or of another recipe.
    """
    if not path.is_file():
        raise FileError(
            f"resume: {path} must be there; got no such file. Train without --resume first."
        )
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        state = content[KEY]
        rows = [EpochRow(*row) for row in state["rows"]]
        of_recipe, version = state["recipe"], state["format"]
        weights = {
            name.removeprefix(MODEL): tensor
            for name, tensor in content["state_dict"].items()
            if name.startswith(MODEL)
        }
    except Exception as error:  # damaged bytes can make the reader raise anything
        reason = str(error).strip().split("\n")[0][:120] or "nothing readable"
        raise FileError(
            f"resume: {path} must be a whole checkpoint of mrconv; got {type(error).__name__}: "
            f"{reason}. Train again with --overwrite."
        ) from None
    if version != FORMAT:
        raise FileError(
            f"resume: {path} must have format {FORMAT}; got {version!r}. "
            "Resume with the version of mrconv that wrote it."
        )
    if of_recipe != recipe.identity():
        raise FileError(
            f"resume: {path} must be of the same recipe; got {_difference(of_recipe, recipe)}. "
            f"Resume with {path.parent.parent / 'recipe.yaml'}, or train with --overwrite."
        )
    return Checkpoint(path, rows, weights)


def _difference(of_checkpoint: str, recipe: Recipe) -> str:
    """The first setting in which two recipes differ."""
    before = dict(_flat(json.loads(of_checkpoint)))
    now = dict(_flat(json.loads(recipe.identity())))
    for key in sorted(before.keys() | now.keys()):
        if before.get(key) != now.get(key):
            return f"{key}={before.get(key)} there and {key}={now.get(key)} here"
    return "other settings there"


def _flat(values: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(values, (dict, list)) and values:
        items = values.items() if isinstance(values, dict) else enumerate(values)
        for key, value in items:
            yield from _flat(value, f"{path}.{key}" if path else str(key))
    else:
        yield path, values
