"""What a network of images sees: effective receptive fields, and kernels laid out over the map."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from ..nn import LongConv, ScanConv2d
from ..report.map_panels import map_panels
from .vision_training import DATA, NETS, QUICK, STANDARD, DataName, load_net

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["fields_picture", "kernels_picture", "receptive_field", "unrolled"]

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


def fields_picture(folder: Path, data: DataName, *, quick: bool = False) -> "Figure":
    """Receptive fields of both trained networks, a row a network, a column a stage.

    Args:
        folder: Of the experiment.
        data: What they were trained on.
        quick: As of the grid.

    Returns:
        A figure.
    """
    images, sizes = DATA[data](), QUICK if quick else STANDARD
    rows = []
    for net in NETS:
        model = load_net(folder, data, net, images.pixels, sizes)
        pictures = [
            (f"stage {stage + 1}", receptive_field(model, stage, images.test_x[:IMAGES]).sqrt())
            for stage in range(len(sizes.depths))
        ]
        rows.append((net, [(name, field.numpy()) for name, field in pictures]))
    return map_panels("What the middle of each stage's map depends on (square root)", rows, "none")


def kernels_picture(folder: Path, data: DataName, *, quick: bool = False) -> "Figure":
    """Kernels of the trained MRConvNeXt around their middle, a row a layer, a column a channel.

    Args:
        folder: Of the experiment.
        data: What it was trained on.
        quick: As of the grid.

    Returns:
        A figure.
    """
    images, sizes = DATA[data](), QUICK if quick else STANDARD
    model = load_net(folder, data, "MRConvNeXt", images.pixels, sizes)
    rows: list[tuple[str, Sequence[tuple[str, object]]]] = []
    for layer in (part for part in model.modules() if isinstance(part, ScanConv2d)):
        kernels = unrolled(layer)[:CHANNELS].numpy()
        name = f"{layer.width} x {layer.width}"
        rows.append((name, [(f"channel {i}", one) for i, one in enumerate(kernels)]))
    title = "Learned kernels: weights of the pixels around one, by layer"
    return map_panels(title, rows, "both")  # type: ignore[arg-type]
