"""Rows of one form against another, and of a form against its own stream."""

import torch
from torch import Tensor, nn

from ..errors import MergeError
from ..merging import UNMERGEABLE
from ..nn.reparameterize import TOLERANCES
from ..streaming.cuts import streamed_in_cuts
from .distilled import approximates, explained_difference
from .proof import Allowed, Row, difference_row
from .runs import Given, Run, carried_on, input_and_lengths

__all__ = ["compared", "streamed"]

#: Through a whole model rounding adds up; its output may differ by this many times a layer's bound.
DEPTH_FACTOR = 10


def compared(forms: tuple[str, str], first: Run, second: Run) -> list[Row]:
    """Every layer of the second form on the input that the first form's met; then whole outputs.

    Args:
        forms: Their names.
        first: Of the first form.
        second: Of the second.

    Returns:
        A row a layer, and one each of features and output.

    Raises:
        MergeError: If the forms have other layers.
    """
    if first.outputs.keys() != second.outputs.keys():
        names = sorted(first.outputs.keys() ^ second.outputs.keys())
        raise MergeError(
            f"verify: forms must have the same layers; got {', '.join(names)} in one of "
            f"{forms[0]} and {forms[1]} only. Pass forms of one model."
        )
    rounding = max(TOLERANCES[first.dtype], TOLERANCES[second.dtype])
    rows = []
    for name in second.layers:
        pair = first.outputs[name], carried_on(second.layers[name], first.met[name])
        allowed = _allowed(name, first, second, rounding)
        rows.append(difference_row(name or "layer", forms, pair, allowed, time_axis=2))
    distilled = any(row.approximate for row in rows)
    whole = Allowed(rounding * DEPTH_FACTOR, distilled, None if distilled else 0.0)
    for name in ("features", "output"):
        if name in first.outputs:
            pair = first.outputs[name], second.outputs[name]
            axis = first.time_axis if pair[0].ndim == 3 else None
            rows.append(difference_row(name, forms, pair, whole, time_axis=axis))
    return rows


def _allowed(name: str, first: Run, second: Run, rounding: float) -> Allowed:
    old, new = first.layers[name], second.layers[name]
    x, lengths = input_and_lengths(first.met[name])
    if isinstance(old, UNMERGEABLE) or isinstance(new, UNMERGEABLE):
        return Allowed(rounding)  # such have no distilled form
    if x is None or not approximates(old, new):
        return Allowed(rounding)
    return Allowed(rounding, True, explained_difference(old, new, x, lengths))


def streamed(name: str, form: nn.Module, run: Run) -> list[Row]:
    """Layers and whole of one form in random cuts; no rows for what has no stream.

    Args:
        name: Of the form.
        form: In eval mode.
        run: Of it as a whole.

    Returns:
        A row a layer, and one of the output.
    """
    forms, rounding = (name, f"{name} streamed"), TOLERANCES[run.dtype]
    rows = []
    for place, layer in run.layers.items():
        if (result := _in_cuts(layer, run.met[place])) is not None:
            pair = run.outputs[place], result[0]
            row = difference_row(place or "layer", forms, pair, Allowed(rounding), time_axis=2)
            rows.append(row)
    if "output" in run.outputs and (result := _in_cuts(form, run.given)) is not None:
        whole, (stream, axis) = run.outputs["output"], result
        pooled = stream.ndim > whole.ndim
        pair = _last(whole, stream, run.given) if pooled else (whole, stream)
        allowed, time_axis = Allowed(rounding * DEPTH_FACTOR), None if pooled else axis
        rows.append(difference_row("output", forms, pair, allowed, time_axis=time_axis))
    return rows


def _in_cuts(module: nn.Module, given: Given) -> tuple[Tensor, int] | None:
    x, lengths = input_and_lengths(given)
    return None if x is None else streamed_in_cuts(module, x, lengths)


def _last(pooled: Tensor, stream: Tensor, given: Given) -> tuple[Tensor, Tensor]:
    """One answer a row, and the stream's at the row's last sample; empty rows have none."""
    _, lengths = input_and_lengths(given)
    ends = torch.full((len(stream),), stream.shape[1]) if lengths is None else lengths.cpu()
    rows = (ends > 0).nonzero()[:, 0]
    return pooled[rows], stream[rows, ends[rows].long() - 1]
