"""A saved model is a folder: weights, a configuration that rebuilds it, and a card for people."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import nn

from .._version import __version__
from ..data.writing import written_aside
from ..errors import ArgumentError, FileError
from ..nn.kernel_conv import KernelConv
from ..nn.long_conv import LongConv
from ..nn.mr_branches import MRBranches
from ..nn.mr_conv import MRConv
from ..nn.recurrence import ModalRecurrence
from .backbone import SequenceBackbone
from .base import SequenceModel
from .card import card
from .classifier import SequenceClassifier
from .forecaster import Forecaster
from .labeller import SequenceLabeller
from .language import LanguageModel
from .regressor import SequenceRegressor

__all__ = ["FORMAT", "MODELS", "configuration", "save", "skeleton"]

#: Version of the folder's layout.
FORMAT = 1
WEIGHTS, CONFIG, CARD = "model.safetensors", "config.json", "README.md"
MODELS: dict[str, type[SequenceModel]] = {
    cls.__name__: cls
    for cls in (
        SequenceClassifier,
        SequenceRegressor,
        SequenceLabeller,
        Forecaster,
        LanguageModel,
    )
}


def save(model: SequenceModel, folder: Path) -> Path:
    """Writes the folder; see ``SequenceModel.save_pretrained``.

    Args:
        model: Any model of ``MODELS``, in any form.
        folder: Made if it is not there.

    Returns:
        The folder.

    Raises:
        ArgumentError: If the configuration cannot be written; nothing is.
        FileError: If the folder cannot be written.
    """
    config = configuration(model)
    text, readme = json.dumps(config, indent=2, default=_number) + "\n", card(config)
    weights = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    try:
        # The files are moved when the block ends: all of them, or none where one was not written.
        with (
            written_aside(folder / CARD) as new_card,
            written_aside(folder / CONFIG) as new_config,
            written_aside(folder / WEIGHTS) as new_weights,
        ):
            save_file(weights, new_weights, metadata={"format": "pt"})
            new_config.write_text(text, encoding="utf-8")
            new_card.write_text(readme, encoding="utf-8")
    except (OSError, SafetensorError) as error:
        raise FileError(
            f"save_pretrained: {folder} must be a folder that can be written; got {error}. "
            "Choose another folder, or make room."
        ) from None
    return folder


def configuration(model: SequenceModel) -> dict[str, Any]:
    """What config.json holds.

    Args:
        model: Any model of ``MODELS``.

    Returns:
        Plain values; the keys are those of the file format.

    Raises:
        ArgumentError: If the model is of another class, or a setting or metric is no plain value.
    """
    name = type(model).__name__
    if MODELS.get(name) is not type(model):
        raise ArgumentError(
            f"save_pretrained: the model's class must be one of {', '.join(MODELS)}; got {name}. "
            "Save model.state_dict() instead."
        )
    arguments = {"backbone": model.backbone.arguments, **model.arguments}
    return {
        "format": FORMAT,
        "model": name,
        "form": _form(model),
        "arguments": arguments,
        "layers": _converted_layers(model, skeleton(name, arguments)),
        "input": None if model.contract is None else model.contract.as_dict(),
        "labels": [str(label) for label in model.labels],
        "metrics": {name: _number(value) for name, value in model.metrics.items()},
        "made": [dict(step) for step in model.made],
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


def _number(value: Any) -> float:
    """A number, numpy's and torch's included, as JSON takes it."""
    try:
        return float(value)
    except (RuntimeError, TypeError, ValueError):
        raise ArgumentError(
            f"save_pretrained: settings and metrics must be plain values; got {value!r}. "
            "Convert it to a number, or leave it out."
        ) from None


def _form(model: nn.Module) -> str:
    modules = list(model.modules())
    if any(isinstance(module, (MRBranches, KernelConv)) for module in modules):
        return "branches"
    recurrent = any(isinstance(module, ModalRecurrence) for module in modules)
    return "recurrence" if recurrent else "merged"


def _converted_layers(model: nn.Module, original: nn.Module) -> dict[str, dict[str, Any]]:
    """Sizes of every layer that a conversion put in the place of another."""
    before = dict(original.named_modules())
    found: dict[str, dict[str, Any]] = {}
    for name, module in model.named_modules():
        if isinstance(module, MRConv):
            kept = [kernel.resolution for kernel in module.kernels]
            if len(kept) != len(before[name].kernels):
                found[name] = {"resolutions": kept}
        elif isinstance(module, ModalRecurrence):
            found[name] = {
                "modes": module.modes,
                "fir_head": module.fir_head,
                "windows": module.windows,
                "bias": module.bias is not None,
            }
        elif isinstance(module, LongConv) and not isinstance(before.get(name), LongConv):
            found[name] = {
                "num_taps": module.num_taps,
                "causal": module.causal,
                "bias": module.bias is not None,
            }
    return found
