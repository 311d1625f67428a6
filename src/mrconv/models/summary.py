"""What a model is made of: layers, kernels, parameters, receptive field, operations."""

import math
from dataclasses import dataclass

from torch import nn

from ..convolution import fast_length
from ..nn.attention import Attention
from ..nn.block import ResidualBlock
from ..nn.gated_conv import GatedConv
from ..nn.gated_mr_conv import GatedMRConv
from ..nn.kernel_conv import KernelConv
from ..nn.long_conv import LongConv
from ..nn.mr_branches import MRBranches
from ..nn.recurrence import ModalRecurrence
from ..nn.s5 import S5
from .base import SequenceModel

__all__ = ["LayerSummary", "Summary", "summarize"]

Mixer = MRBranches | KernelConv | LongConv | ModalRecurrence | GatedConv | Attention | S5


@dataclass(frozen=True)
class LayerSummary:
    """One layer that mixes over time, and the block around it."""

    name: str
    kind: str
    kernel: str
    resolutions: int | None
    """R; None for a layer without branches."""
    num_taps: int
    """K, a side if two-sided; of attention, S5 and endless recurrences, the model's length."""
    causal: bool
    parameters: int
    """Of the layer alone."""
    operations: float
    """Of one sequence through layer and pointwise product, in inference."""


@dataclass(frozen=True)
class Summary:
    """All layers and the totals of the model."""

    layers: tuple[LayerSummary, ...]
    parameters: int
    past: int
    """Samples before the present that an output can depend on."""
    future: int
    """Samples after the present that an output can depend on."""
    length: int
    """Length of the sequence that operations are counted for."""

    @property
    def receptive_field(self) -> int:
        """Samples that one output can depend on, itself included."""
        return self.past + 1 + self.future

    @property
    def operations(self) -> float:
        """Of one sequence through all layers, in inference."""
        return sum(layer.operations for layer in self.layers)


def summarize(model: SequenceModel) -> Summary:
    """Counts what a model is made of.

    A long convolution of one channel counts as two real FFTs of size n >= L + K - 1, 2.5 n log2 n
    operations each, and n / 2 complex products of 6; attention as 2 (4 D^2 L + 2 D L^2); Hyena as
    8 D^2 L and its long convolutions; S5 as 2 N D L for each of its matrices and 4 N L log2 L for
    its scan; GatedMRConv as one convolution a resolution and the linear map of its gates,
    2 R H D L; the pointwise product of a block as 2 * 2 D * D operations a sample. Making the taps
    is not counted, nor are gates, norms and activations. Attention and S5 have no reach of their
    own and count as one tap a sample of the model's length.

    Args:
        model: In any form.

    Returns:
        One row a layer that mixes over time, and totals.

    Example:
        >>> import mrconv
        >>> from mrconv.models.summary import summarize
        >>> model = mrconv.SequenceClassifier(mrconv.SequenceBackbone(1, 784), 10)
        >>> summarize(model).receptive_field
        2045
    """
    length = model.backbone.length
    layers, past, future = [], 0, 0
    for name, module in model.named_modules():
        if isinstance(module, ResidualBlock) and isinstance(module.mixer, Mixer):
            layers.append(_layer(f"{name}.mixer", module.mixer, length))
            past += layers[-1].num_taps - 1
            future += 0 if module.mixer.causal else _ahead(module.mixer, length)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return Summary(tuple(layers), parameters, past, future, length)


def _layer(name: str, layer: Mixer, length: int) -> LayerSummary:
    num_taps = length if isinstance(layer, Attention) else layer.num_taps or length
    long = layer.filter if isinstance(layer, GatedConv) else layer
    return LayerSummary(
        name=name,
        kind=type(layer).__name__,
        kernel=_kernel(layer),
        resolutions=long.resolutions if isinstance(long, MRBranches) else None,
        num_taps=num_taps,
        causal=layer.causal,
        parameters=_count(layer),
        operations=_mixing(layer, length, num_taps) + 4 * layer.channels**2 * length,
    )


def _kernel(layer: Mixer) -> str:
    if isinstance(layer, MRBranches):
        return str(layer.kernel)
    if isinstance(layer, GatedConv):
        return f"{layer.num_filters} filters, {_kernel(layer.filter)}"
    if isinstance(layer, KernelConv):
        return type(layer.past).__name__
    if isinstance(layer, S5):
        return f"{layer.order // 2} states for all channels"
    if isinstance(layer, ModalRecurrence):
        return f"{layer.fir_head} taps, {layer.modes} modes"
    return "taps" if isinstance(layer, LongConv) else "softmax"


def _ahead(layer: Mixer, length: int) -> int:
    """Samples ahead that a two-sided layer sees: lags -1..-K, or the rest of the sequence."""
    return length - 1 if isinstance(layer, Attention) else layer.num_taps or length


def _mixing(layer: Mixer, length: int, num_taps: int) -> float:
    channels = layer.channels
    if isinstance(layer, GatedMRConv):
        branches = sum(_convolution(length, span) for span in layer.spans)
        return channels * branches + 2 * layer.gate.weight.numel() * length
    if isinstance(layer, S5):
        sides = 1 if layer.causal else 2
        doublings = 4 * layer.order * max(1, math.ceil(math.log2(length)))
        return length * (2 * (1 + sides) * layer.order * channels + sides * doublings)
    projections = 2 * 4 * channels**2 * length  # three in front, one behind
    if isinstance(layer, Attention):
        return projections + 4 * channels * length * num_taps
    if isinstance(layer, GatedConv):
        convolved = layer.rows * layer.num_filters
        return projections + convolved * _convolution(length, num_taps)
    return channels * _convolution(length, num_taps)


def _convolution(length: int, num_taps: int) -> float:
    n = fast_length(length + min(num_taps, length))
    return 2 * 2.5 * n * math.log2(n) + 6 * n / 2


def _count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())
