"""Operations of a network with FFTs in it, by torch's counter, which knows none of them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from ...convolution.layout import fft_size
from ...nn import MRConv, ScanConv2d

__all__ = ["StageCost", "count_operations", "fft_operations", "stage_costs"]

PRODUCT = 6  # operations of one complex product
SQUARE = 7**2  # taps of the convolution that is replaced


def fft_operations(size: int) -> float:
    """Operations of one real FFT, either way: 2.5 n log2 n.

    Args:
        size: n, its length.

    Returns:
        Additions and products.

    Source: Cooley and Tukey's 5 n log2 n of a complex transform, halved for real numbers.

    Example:
        >>> fft_operations(1024)
        25600.0
    """
    return 2.5 * size * math.log2(size)


def _convolution(size: int) -> float:
    """A convolution of one channel by FFTs of one size, those of its taps made beforehand."""
    return 2 * fft_operations(size) + PRODUCT * size / 2


# Shapes of two axes are those of taps, which belong to no image: their FFTs are done once.


def _forward(shape: Sequence[int], dim: Sequence[int], *others: object, **more: object) -> float:
    size = shape[dim[-1]]
    return 0.0 if len(shape) == 2 else math.prod(shape) / size * fft_operations(size)


def _inverse(
    shape: Sequence[int], dim: Sequence[int], norm: int, size: int, **more: object
) -> float:
    return 0.0 if len(shape) == 2 else math.prod(shape) / shape[dim[-1]] * fft_operations(size)


def _product(x: Tensor | complex, y: Tensor | complex, *, out_val: Any, **more: object) -> float:
    return float(PRODUCT * out_val.numel()) if out_val.is_complex() else 0.0


_product._get_raw = True  # type: ignore[attr-defined]  # the counter then hands over tensors


def _operator(
    u: Sequence[int], taps: Sequence[int], future: int, short: bool, **more: object
) -> float:
    if short:
        return 2.0 * math.prod(u) * taps[-1]
    return u[0] * u[1] * _convolution(fft_size(u[-1], taps[-1], future))


FORMULAS: Mapping[Any, Any] = {
    torch.ops.aten._fft_r2c: _forward,
    torch.ops.aten._fft_c2r: _inverse,
    torch.ops.aten.mul: _product,
    torch.ops.mrconv.long_convolution: _operator,
}


@torch.no_grad()
def count_operations(model: nn.Module, x: Tensor) -> float:
    """Operations of one forward pass, a multiply-accumulate being two.

    Torch's counter has matrix products and convolutions; here come real FFTs, 2.5 n log2 n each,
    and complex products, 6 each. FFTs of taps are not counted, which a merged model needs once.

    Args:
        model: Any; put into eval mode and back.
        x: Its input. On the device "meta", as the model, nothing is computed.

    Returns:
        Their number.

    Example:
        >>> import torch, mrconv
        >>> from mrconv.models.convnext.operations import count_operations, fft_operations
        >>> layer = mrconv.LongConv(4, 16)
        >>> count_operations(layer, torch.randn(1, 4, 16)) == 4 * (2 * fft_operations(32) + 6 * 17)
        True
    """
    training = model.training
    counter = FlopCounterMode(display=False, custom_mapping=dict(FORMULAS))
    try:
        with counter:
            model.eval()(x)
    finally:
        model.train(training)
    return float(counter.get_total_flops())


@dataclass(frozen=True)
class StageCost:
    """What the convolutions of one stage are and cost.

    Args:
        width: Of the maps, in pixels.
        kernel_size: l_0, in samples.
        resolutions: R.
        num_taps: K, a side if two-sided.
        channels: D.
        blocks: Convolutions in the stage.
        parameters: Of all of them, as branches.
        circular: Operations of all of them with FFTs as long as the sequence, which wrap around.
        padded: The same with FFTs so long that nothing wraps around.
        square: Operations of as many 7 x 7 convolutions.
    """

    width: int
    kernel_size: int
    resolutions: int
    num_taps: int
    channels: int
    blocks: int
    parameters: int
    circular: float
    padded: float
    square: float


def stage_costs(model: nn.Module) -> list[StageCost]:
    """The stages of a converted network, one row for each width of its maps.

    Args:
        model: With MRConvs, not merged.

    Returns:
        In the order of the network.
    """
    stages: dict[int, list[MRConv]] = {}
    for layer in model.modules():
        if isinstance(layer, ScanConv2d) and isinstance(layer.conv, MRConv):
            stages.setdefault(layer.width, []).append(layer.conv)
    return [_stage(width, layers) for width, layers in stages.items()]


def _stage(width: int, layers: list[MRConv]) -> StageCost:
    first, pixels = layers[0], width**2
    rows = sum(layer.channels for layer in layers)
    future = 0 if first.causal else min(first.num_taps, pixels)
    columns = future + min(first.num_taps, pixels)
    return StageCost(
        width=width,
        kernel_size=first.kernel_size,
        resolutions=first.resolutions,
        num_taps=first.num_taps,
        channels=first.channels,
        blocks=len(layers),
        parameters=sum(p.numel() for layer in layers for p in layer.parameters()),
        circular=rows * _convolution(pixels),
        padded=rows * _convolution(fft_size(pixels, columns, future)),
        square=rows * 2.0 * SQUARE * pixels,
    )
