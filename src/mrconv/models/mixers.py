"""What mixes over time inside a block: settings in, layer out."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from torch import nn

from .._checks import nearest
from ..branch_statistics import BranchNorm
from ..errors import ArgumentError, DtypeError
from ..nn.attention import Attention
from ..nn.gated_mr_conv import GatedMRConv
from ..nn.hyena import Hyena, MultiHyena
from ..nn.long_conv import LongConv
from ..nn.mr_conv import MRConv
from ..nn.s5 import S5
from .dilated_net import Dilated
from .state_spaces import S4, S4D
from .structured import CKConv, Multires, SGConv

__all__ = ["MIXERS", "MixerName", "MixerSettings", "make_mixer", "mixer_per_layer"]

MixerName = Literal[
    "mrconv",
    "gated_mrconv",
    "long_conv",
    "s4d",
    "sgconv",
    "attention",
    "hyena",
    "multihyena",
    "s4",
    "s5",
    "multires",
    "ckconv",
    "dilated",
]
MixerSettings = Mapping[str, Any] | Sequence[Mapping[str, Any]]

#: Every class takes (channels, length, ...) and gives (B, D, L) -> (B, D, L) with ``lengths``.
MIXERS: dict[MixerName, type[nn.Module]] = {
    "mrconv": MRConv,
    "gated_mrconv": GatedMRConv,
    "long_conv": LongConv,
    "s4d": S4D,
    "sgconv": SGConv,
    "attention": Attention,
    "hyena": Hyena,
    "multihyena": MultiHyena,
    "s4": S4,
    "s5": S5,
    "multires": Multires,
    "ckconv": CKConv,
    "dilated": Dilated,
}


def mixer_per_layer(mixer: MixerSettings, depth: int) -> list[dict[str, Any]]:
    """One mapping of settings a layer.

    Args:
        mixer: One mapping for all layers, or a list of ``depth`` mappings.
        depth: Number of layers.

    Returns:
        ``depth`` dictionaries.

    Raises:
        DtypeError: If it is neither.
        ArgumentError: If the list has another length.
    """
    if isinstance(mixer, Mapping):
        return [dict(mixer)] * depth
    is_list = isinstance(mixer, Sequence) and not isinstance(mixer, str)
    if not is_list or not all(isinstance(one, Mapping) for one in mixer):
        raise DtypeError(
            f"mixer: must be a mapping of settings or a list of them; got {mixer!r}. "
            "Pass {'kernel': 'dilated', 'kernel_size': 8}."
        )
    if len(mixer) != depth:
        raise ArgumentError(
            f"mixer: a list must have one entry a layer, depth={depth}; got {len(mixer)}. "
            "Add the missing layers, or pass one mapping for all."
        )
    return [dict(one) for one in mixer]


def make_mixer(
    settings: Mapping[str, Any],
    channels: int,
    length: int,
    *,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
) -> nn.Module:
    """The layer that a mapping describes.

    Args:
        settings: ``name`` of the class (default "mrconv") and its keyword arguments; ``norm`` may
            be a mapping of ``BranchNorm``'s arguments.
        channels: D.
        length: Reach in samples.
        device: Where the parameters live.
        dtype: Of the parameters.

    Returns:
        A layer (B, D, L) -> (B, D, L).

    Raises:
        ArgumentError: If the name or a key is unknown, or one is missing.
    """
    options = dict(settings)
    name = options.pop("name", "mrconv")
    if name not in MIXERS:
        raise ArgumentError(
            f"mixer: name must be one of {', '.join(map(repr, MIXERS))}; got {name!r}. "
            f"{nearest(str(name), MIXERS)}"
        )
    layer = MIXERS[name]
    _check_keys(layer, options)
    if isinstance(options.get("norm"), Mapping):
        options["norm"] = BranchNorm(**options["norm"])
    return layer(channels, length, **options, device=device, dtype=dtype)


def _check_keys(layer: type[nn.Module], options: Mapping[str, Any]) -> None:
    known = {
        key: parameter
        for key, parameter in inspect.signature(layer).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and key not in ("device", "dtype")
    }
    for key in options:
        if key not in known:
            raise ArgumentError(
                f"mixer: keys must be arguments of {layer.__name__}; got {key!r}. "
                f"{nearest(key, known)}"
            )
    for key, parameter in known.items():
        if parameter.default is parameter.empty and key not in options:
            raise ArgumentError(
                f"mixer: a {layer.__name__} must be given {key}; got {sorted(options)}. "
                f"Add the key {key!r}."
            )
