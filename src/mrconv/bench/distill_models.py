"""Kernels of trained models, as ``mrconv bench distill --model`` fits them."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ..errors import ArgumentError
from ..merging import merge
from ..models import SequenceModel, load
from ..models.summary import summarize
from ..nn import LongConv

__all__ = ["trained_taps"]

#: Filters of a model, spread evenly over each of its layers.
FILTERS = 16


def trained_taps(folders: Sequence[str]) -> dict[str, Tensor]:
    """Some filters of every model, those of equal kernels together.

    Args:
        folders: Of saved models of branches or merged ones; those of one kernel of equal length.

    Returns:
        Taps by kernel and number of models, float64.                  (F, K)

    Raises:
        ArgumentError: If a model has no causal long convolution.
        FileError: If a folder holds no model.
    """
    found: dict[str, list[Tensor]] = {}
    for folder in folders:
        model = load(folder)
        kernel = summarize(model).layers[0].kernel
        found.setdefault(kernel, []).append(_some_filters(model, folder))
    return {
        f"trained {kernel}, {len(parts)} model{'s' if len(parts) > 1 else ''}": torch.cat(parts)
        for kernel, parts in found.items()
    }


def _some_filters(model: SequenceModel, folder: str) -> Tensor:
    merged = merge(model.double())
    layers = [one for one in merged.modules() if isinstance(one, LongConv) and one.causal]
    if not layers:
        raise ArgumentError(
            f"bench: model must have causal long convolutions; got {folder}. "
            "Pass the folder of a model of branches, or of a merged one."
        )
    each = max(1, FILTERS // len(layers))
    return torch.cat([layer.taps.detach()[:: max(1, layer.channels // each)] for layer in layers])
