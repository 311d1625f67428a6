"""What MRConvNeXt is made of, as text: stages, parameters, operations, beside other networks."""

from collections.abc import Sequence
from dataclasses import dataclass

import timm
import torch
from torch import nn

from ..._checks import check_choice
from ...merging import merge
from .entrypoints import NAMES, register
from .operations import count_operations, stage_costs

__all__ = ["PUBLISHED", "Published", "network_lines", "stage_lines", "summary_lines"]

PIXELS = 224


@dataclass(frozen=True)
class Published:
    """A network as its authors describe it.

    Args:
        name: Of the network.
        parameters: In millions.
        products: Multiply-accumulates of an image of 224 pixels, in billions, which the papers
            call FLOPs.
        accuracy: Top-1 on ImageNet-1k, in per cent.
    """

    name: str
    parameters: float
    products: float
    accuracy: float


#: ConvNeXt: Liu et al. 2022, table 1. SGConvNeXt: Li et al. 2022. Swin: Liu et al. 2021, table 1.
PUBLISHED: dict[str, tuple[Published, ...]] = {
    "mrconvnext_tiny": (
        Published("ConvNeXt-T", 28.6, 4.5, 82.1),
        Published("SGConvNeXt-T", 29, 4.3, 82.0),
        Published("Swin-T", 28, 4.5, 81.3),
    ),
    "mrconvnext_small": (
        Published("ConvNeXt-S", 50, 8.7, 83.1),
        Published("SGConvNeXt-S", 51, 8.3, 83.4),
        Published("Swin-S", 50, 8.7, 83.0),
    ),
    "mrconvnext_base": (
        Published("ConvNeXt-B", 89, 15.4, 83.8),
        Published("SGConvNeXt-B", 90, 14.6, 83.9),
        Published("Swin-B", 88, 15.4, 83.5),
    ),
}


def summary_lines(name: str) -> list[str]:
    """All that ``mrconv inspect`` says of a name in timm's registry.

    Args:
        name: One of ``NAMES``.

    Returns:
        Lines of text.

    Raises:
        ArgumentError: If it is another name.

    Cost: one network and its merged form are built; operations are counted without numbers.
    """
    check_choice("inspect", "model", name, NAMES)
    register()
    ours = timm.create_model(name).eval()
    theirs = timm.create_model(name.removeprefix("mr"), device="meta").eval()
    return [
        *stage_lines(ours),
        "",
        *network_lines(name, ours, theirs),
        "A multiply-accumulate is two operations, a real FFT of size n 2.5 n log2 n, a complex "
        "product 6.",
        "circular: FFTs as long as the sequence; zero-padded: as they run here. FFTs of taps are "
        "not counted.",
    ]


def stage_lines(model: nn.Module) -> list[str]:
    """A table of the stages: sequences, kernels, and millions of operations of all blocks.

    Args:
        model: Converted, not merged.

    Returns:
        Lines of text.
    """
    head = (
        "map",
        "sequence",
        "kernel size",
        "resolutions",
        "taps",
        "channels",
        "blocks",
        "parameters",
        "circular (M)",
        "zero-padded (M)",
        "7x7 (M)",
    )
    rows = [
        (
            f"{stage.width} x {stage.width}",
            f"{stage.width**2:,}",
            str(stage.kernel_size),
            str(stage.resolutions),
            f"{stage.num_taps} a side",
            str(stage.channels),
            str(stage.blocks),
            f"{stage.parameters:,}",
            *(f"{x / 1e6:.1f}" for x in (stage.circular, stage.padded, stage.square)),
        )
        for stage in stage_costs(model)
    ]
    return _aligned([head, *rows])


def network_lines(name: str, ours: nn.Module, theirs: nn.Module) -> list[str]:
    """A table of whole networks: those built here, then those published.

    Args:
        name: One of ``NAMES``.
        ours: MRConvNeXt in eval mode.
        theirs: timm's ConvNeXt of that size.

    Returns:
        Lines of text.
    """
    merged = merge(ours)
    rows: list[Sequence[str]] = [
        ("network", "parameters (M)", "operations (G)", "multiply-accumulates (G)", "top-1 (%)")
    ]
    built = ((name, ours), (f"{name}, merged", merged), (f"{name.removeprefix('mr')}", theirs))
    for label, model in built:
        parameters = sum(parameter.numel() for parameter in model.parameters())
        images = torch.empty(1, 3, PIXELS, PIXELS, device="meta")
        operations = count_operations(model.to("meta"), images)
        counted = (f"{operations / 1e9:.2f}", f"{operations / 2e9:.2f}", "-")
        rows.append((label, f"{parameters / 1e6:.1f}", *counted))
    for one in PUBLISHED[name]:
        told = (f"{one.parameters:g}", "-", f"{one.products:g}", f"{one.accuracy:g}")
        rows.append((f"{one.name}, published", *told))
    return _aligned(rows)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
