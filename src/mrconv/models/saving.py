"""A saved model is a folder: weights, a configuration that rebuilds it, and a card for people."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import nn

from .._version import __version__
from ..data.writing import write_text, written_aside
from ..nn.long_conv import LongConv
from ..nn.mr_conv import MRConv
from .backbone import SequenceBackbone
from .base import SequenceModel
from .card import card
from .classifier import SequenceClassifier
from .forecaster import Forecaster
from .labeller import SequenceLabeller
from .regressor import SequenceRegressor

__all__ = ["FORMAT", "MODELS", "configuration", "save", "skeleton"]

#: Version of the folder's layout.
FORMAT = 1
WEIGHTS, CONFIG, CARD = "model.safetensors", "config.json", "README.md"
MODELS: dict[str, type[SequenceModel]] = {
    cls.__name__: cls
    for cls in (SequenceClassifier, SequenceRegressor, SequenceLabeller, Forecaster)
}


def save(model: SequenceModel, folder: Path) -> Path:
    """Writes the folder; see ``SequenceModel.save_pretrained``.

    Args:
        model: Any model of ``MODELS``, in any form.
        folder: Made if it is not there.

    Returns:
        The folder.
    """
    config = configuration(model)
    weights = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    with written_aside(folder / WEIGHTS) as aside:
        save_file(weights, aside, metadata={"format": "pt"})
    write_text(folder / CARD, card(config))
    write_text(folder / CONFIG, json.dumps(config, indent=2) + "\n")
    return folder


def configuration(model: SequenceModel) -> dict[str, Any]:
    """What config.json holds.

    Args:
        model: Any model of ``MODELS``.

    Returns:
        Plain values; the keys are those of the file format.
    """
    arguments = {"backbone": model.backbone.arguments, **model.arguments}
    name = type(model).__name__
    return {
        "format": FORMAT,
        "model": name,
        "form": _form(model),
        "arguments": arguments,
        "layers": _converted_layers(model, skeleton(name, arguments)),
        "input": None if model.contract is None else model.contract.as_dict(),
        "labels": list(model.labels),
        "metrics": dict(model.metrics),
        "versions": {"mrconv": __version__, "torch": str(torch.__version__)},
    }


def skeleton(name: str, arguments: dict[str, Any]) -> SequenceModel:
    """The model that a configuration describes, in its training form, without weights.

    Args:
        name: A key of ``MODELS``.
        arguments: As in config.json.

    Returns:
        A model on the meta device.
    """
    options = dict(arguments)
    with torch.device("meta"):
        backbone = SequenceBackbone(**options.pop("backbone"))
        return MODELS[name](backbone, **options)


def _form(model: nn.Module) -> str:
    branches = any(isinstance(module, MRConv) for module in model.modules())
    return "branches" if branches else "merged"


def _converted_layers(model: nn.Module, original: nn.Module) -> dict[str, dict[str, Any]]:
    """Sizes of every layer that a conversion put in the place of another."""
    before = dict(original.named_modules())
    return {
        name: {
            "num_taps": module.num_taps,
            "causal": module.causal,
            "bias": module.bias is not None,
        }
        for name, module in model.named_modules()
        if isinstance(module, LongConv) and not isinstance(before.get(name), LongConv)
    }
