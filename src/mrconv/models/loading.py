"""Opening a saved model: from a folder or from the Hub, weights without pickle."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from .._checks import nearest
from ..data.contract import InputContract
from ..errors import DtypeError, FileError, MrconvError
from ..nn.keep_resolutions import keep_resolutions
from ..nn.long_conv import LongConv
from ..nn.mr_conv import MRConv
from ..nn.recurrence import ModalRecurrence
from .base import SequenceModel
from .saving import CONFIG, FORMAT, MODELS, WEIGHTS, skeleton

__all__ = ["load"]

HUB_NAME = re.compile(r"\w[\w.-]*/\w[\w.-]*")  # ./model and ../model are folders
PICKLES = (b"\x80", b"PK\x03\x04")  # a bare pickle, and torch.save's zip of pickles


def load(folder: str | Path) -> SequenceModel:
    """Opens a saved model in whatever form it was saved.

    Builds classes of mrconv only, and reads weights by safetensors only.

    Args:
        folder: A folder written by ``save_pretrained``, or a name "owner/model" on the Hub.

    Returns:
        The model in eval mode, with contract, labels and metrics.

    Raises:
        FileError: If the folder or a file is missing, damaged, a pickle, or of another format.

    Example:
        >>> import tempfile, mrconv
        >>> backbone = mrconv.SequenceBackbone(1, length=64, channels=8, depth=1)
        >>> model = mrconv.SequenceClassifier(backbone, classes=3)
        >>> type(mrconv.load(model.save_pretrained(tempfile.mkdtemp()))).__name__
        'SequenceClassifier'
    """
    path = _located(folder)
    config = _read_config(path / CONFIG)
    weights = _read_weights(path / WEIGHTS)
    try:
        model = _rebuilt(config)
    except (MrconvError, AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:
        raise FileError(
            f"load: {path / CONFIG} must describe a model of mrconv; got {error}. "
            "Save the model again."
        ) from None
    _check_weights(path / WEIGHTS, model, weights)
    try:
        model.load_state_dict(weights, assign=True)
    except DtypeError as error:
        raise FileError(
            f"load: {path / WEIGHTS} must hold numbers of enough precision; got {error}"
        ) from None
    return model.eval()


def _located(folder: str | Path) -> Path:
    path = Path(folder)
    if path.is_dir():
        return path
    if path.exists():
        raise FileError(
            f"load: a model must be a folder; got the file {path}. Pass the folder that holds "
            f"{WEIGHTS} and {CONFIG}."
        )
    if HUB_NAME.fullmatch(str(folder)):
        return _downloaded(str(folder))
    raise FileError(
        f"load: a model must be a folder; got {path}, which does not exist. "
        "Check the path, or train one with: mrconv train mnist"
    )


def _downloaded(name: str) -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=[WEIGHTS, CONFIG]))
    except Exception as error:  # the Hub's client raises classes of several libraries
        raise FileError(
            f"load: {name!r} must be a folder or a model on the Hub; got no folder of that name, "
            f"and from the Hub {type(error).__name__}. Check the spelling and the connection."
        ) from None


def _read_config(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise FileError(
            f"load: {path} must be there; got no such file. Save the model with save_pretrained."
        )
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise FileError(f"load: {path} must be JSON; got {error}. Save the model again.") from None
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        found = config.get("format") if isinstance(config, dict) else type(config).__name__
        raise FileError(
            f"load: {path} must have format {FORMAT}; got {found!r}. "
            "Open it with the version of mrconv that wrote it."
        )
    name = config.get("model")
    if not isinstance(name, str) or name not in MODELS:
        raise FileError(
            f"load: {path} must name a model of mrconv; got {name!r}. {nearest(str(name), MODELS)}"
        )
    return config


def _read_weights(path: Path) -> dict[str, Tensor]:
    if not path.is_file():
        raise FileError(
            f"load: {path} must be there; got no such file. Save the model with save_pretrained."
        )
    try:
        # Copies: in the mapped file float64 may stand at an address that is no multiple of 16,
        # where an FFT of complex numbers ends the process.
        return {name: tensor.clone() for name, tensor in load_file(path).items()}
    except (SafetensorError, OSError) as error:
        # only now: a whole file may begin with the same bytes, which are the size of its header
        if _begins_like_a_pickle(path):
            raise FileError(
                f"load: {path} must be a safetensors file; got a pickle, which could run code and "
                "was not opened. Convert it where you trust it, with safetensors.torch.save_file."
            ) from None
        raise FileError(
            f"load: {path} must be a whole safetensors file; got {error}. Copy or save it again."
        ) from None


def _begins_like_a_pickle(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4).startswith(PICKLES)
    except OSError:
        return False


def _rebuilt(config: Mapping[str, Any]) -> SequenceModel:
    model = skeleton(config["model"], config["arguments"])
    for name, sizes in config["layers"].items():
        parent, _, child = name.rpartition(".")
        old = model.get_submodule(name)
        setattr(model.get_submodule(parent), child, _converted(old, sizes))
    if config["input"] is not None:
        model.contract = InputContract.from_dict(config["input"])
    model.labels = tuple(config["labels"])
    model.metrics = dict(config["metrics"])
    model.made = tuple(dict(step) for step in config.get("made", ()))  # a later addition
    return model


def _converted(before: nn.Module, sizes: Mapping[str, Any]) -> nn.Module:
    """The layer that a conversion put in the place of another, without weights."""
    if isinstance(before, MRConv) and "resolutions" in sizes:
        return keep_resolutions(before, **sizes)
    kind = ModalRecurrence if "modes" in sizes else LongConv
    channels: Any = before.channels
    return kind(channels, **sizes, device="meta")


def _check_weights(path: Path, model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    expected = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    found = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            raise FileError(
                f"load: {path} must fit {CONFIG}: {name} of shape {expected.get(name, 'none')}; "
                f"got {found.get(name, 'none')}. Keep the two files of one model together."
            )
