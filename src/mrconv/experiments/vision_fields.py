"""What a network of images sees: effective receptive fields, and kernels laid out over the map."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from ..nn import LongConv, ScanConv2d
from ..report.map_panels import map_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["pictures", "receptive_field", "unrolled", "vision_picture"]

IMAGES = 32  # that a field is averaged over
CHANNELS = 6  # whose kernels are drawn


def receptive_field(model: nn.Module, stage: int, images: Tensor) -> Tensor:
    """How much each pixel of the images moves the middle of a stage's map.

    field[r, c] = mean over images of |d sum_channels map[middle] / d image[r, c]|

    Args:
        model: A ConvNeXt, converted or not, in eval mode.
        stage: Which map, from 0.
        images: What the gradient is taken at.                        (B, C, H, H)

    Returns:
        The field, largest value 1.                                         (H, H)

    Source: Luo et al. 2016.
    """
    x = images.clone().requires_grad_()
    maps = model.stem(x)  # type: ignore[operator]
    for one in list(model.stages)[: stage + 1]:  # type: ignore[arg-type]
        maps = one(maps)
    middle = maps.shape[-1] // 2
    (gradient,) = torch.autograd.grad(maps[..., middle, middle].sum(), x)
    field = gradient.abs().sum(1).mean(0)
    return field / field.max().clamp_min(1e-30)


def unrolled(layer: ScanConv2d) -> Tensor:
    """The taps of a layer laid out over the map, as the weights of the pixels around one.

    A lag dr W + dc is read as the nearer of its two offsets, as ``ScanConv2d`` does; its tap weighs
    the pixel dr rows above and dc columns to the left, and so it is drawn.

    Args:
        layer: In eval mode, merged or not.

    Returns:
        0 where there is no tap; the pixel itself in the middle.  (D, 2 H' + 1, 2 (W // 2) + 1)

    Example:
        >>> import torch, mrconv
        >>> conv = mrconv.LongConv(1, num_taps=3)
        >>> conv.taps.data = torch.tensor([[1.0, 2.0, 3.0]])
        >>> unrolled(mrconv.nn.ScanConv2d(conv, width=3))[0].tolist()
        [[0.0, 0.0, 3.0], [2.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """
    conv = layer.conv
    taps = conv.taps.detach() if isinstance(conv, LongConv) else conv.merged_taps()[0].detach()
    columns, width = taps.shape[-1], layer.width
    lags = torch.arange(columns) - (0 if conv.causal else columns // 2)
    rows = (lags + width // 2) // width
    reach = int(rows.abs().max())
    grid = taps.new_zeros(taps.shape[0], 2 * reach + 1, width // 2 * 2 + 1)
    grid[:, reach - rows, width // 2 - (lags - rows * width)] = taps
    return grid.transpose(1, 2) if layer.scan == "columns" else grid


def pictures(model: nn.Module, images: Tensor) -> dict[str, Any]:
    """What is drawn of a trained network, as plain numbers of three digits.

    Args:
        model: A ConvNeXt, converted or not, in eval mode.
        images: To take gradients at.                                 (N, C, H, H)

    Returns:
        "fields", the square roots of the receptive fields by stage, and "kernels", those of a few
        channels by layer, none for 7 x 7 convolutions.
    """
    stages = len(model.stages)  # type: ignore[arg-type]
    fields = [receptive_field(model, stage, images[:IMAGES]).sqrt() for stage in range(stages)]
    layers = [part for part in model.modules() if isinstance(part, ScanConv2d)]
    kernels = {
        f"{i + 1}: {layer.width} x {layer.width}": unrolled(layer)[:CHANNELS]
        for i, layer in enumerate(layers)
    }
    return {
        "fields": [_plain(field) for field in fields],
        "kernels": {name: [_plain(one) for one in grids] for name, grids in kernels.items()},
    }


def _plain(map_: Tensor) -> list[list[float]]:
    return [[float(f"{value:.3g}") for value in row] for row in map_.tolist()]


def vision_picture(networks: Mapping[str, Mapping[str, Any]]) -> "Figure":
    """Receptive fields of every network, a column a stage; below, kernels, a column a channel.

    Args:
        networks: What ``pictures`` gave, by the network's name.

    Returns:
        A figure.

    Raises:
        ArgumentError: If there is none.
    """
    rows = [
        (name, [(f"stage {i + 1}", field) for i, field in enumerate(one["fields"])])
        for name, one in networks.items()
    ]
    rows += [
        (f"layer {layer}", [(f"channel {i + 1}", kernel) for i, kernel in enumerate(kernels)])
        for one in networks.values()
        for layer, kernels in one["kernels"].items()
    ]
    title = "What the middle of each stage's map depends on (square root), and learned kernels"
    return map_panels(title, rows)
