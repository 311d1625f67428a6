"""The depthwise convolutions of a timm ConvNeXt replaced by multi-resolution ones."""

import copy
import math
from collections.abc import Callable, Sequence
from typing import Literal, TypeVar, get_args

from timm.models.convnext import ConvNeXtBlock, ConvNeXtStage
from torch import nn

from ..._checks import check_choice, check_count
from ...branch_statistics import BranchNorm
from ...errors import ArgumentError, DtypeError
from ...kernels import Kernel
from ...nn import MRConv, ScanConv2d
from ...nn.mr_arguments import NormKind
from .sizes import kernel_sizes_for, map_widths
from .stem import CheckedStem

__all__ = ["Scanning", "convert", "replacements"]

Scanning = Literal["rows", "columns", "alternating"]
Module = TypeVar("Module", bound=nn.Module)

IMAGE_SIZE = 224  # where the model does not say for which it was made


def convert(
    model: Module,
    kernel: str | Callable[..., Kernel] = "fourier+sparse",
    *,
    image_size: int | None = None,
    kernel_sizes: Sequence[int] | None = None,
    causal: bool = False,
    scan: Scanning = "rows",
    norm: NormKind | BranchNorm = "batch",
    skip: bool = False,
) -> Module:
    """A copy of a timm ConvNeXt whose depthwise convolutions are MRConvs over the flattened maps.

    In every block the depthwise convolution (7 x 7 as published) becomes ``ScanConv2d`` around an
    ``MRConv`` of length L = W^2 pixels, on each side if two-sided, so that the first kernels of the
    large maps reach over all of them. All other parts are copied with their weights, pretrained or
    not; the new layers are drawn anew and have to be trained.

    The network then runs on square images. Where their size is not ``image_size``, all layers keep
    their offsets in rows and columns, as a 7 x 7 convolution does: see ``ScanConv2d``.

    Args:
        model: A ConvNeXt or ConvNeXtV2 of timm, also with ``features_only``.
        kernel: As of ``MRConv``.
        image_size: Height and width of the images to train on, in pixels; None: the model's own.
        kernel_sizes: l_0 of each stage, in samples; None: those of ``kernel_sizes_for``.
        causal: Whether a pixel depends only on those before it.
        scan: "rows", "columns", or "alternating" from block to block, rows first.
        norm: As of ``MRConv``.
        skip: As of ``MRConv``; the block around it has a skip of its own.

    Returns:
        A new model, in the mode of the old one.

    Raises:
        ArgumentError: If the model has no such convolutions, or an argument does not fit.
        DtypeError: If it is no module.
        ShapeError: If the model cannot run on images of that size.

    Cost: one copy of the model and a forward pass without numbers.
    Source: Cunningham et al. 2024, section 5.4 and appendix D.6. Order of the pixels, two sides and
    the missing skip are our choice; the paper does not state them.

    Example:
        >>> import timm, torch
        >>> from mrconv.models.convnext import convert
        >>> model = timm.create_model("convnext_atto", num_classes=10)
        >>> converted = convert(model, image_size=64).eval()
        >>> converted(torch.randn(1, 3, 64, 64)).shape
        torch.Size([1, 10])
    """
    new = replacements(
        model,
        kernel,
        image_size=image_size,
        kernel_sizes=kernel_sizes,
        causal=causal,
        scan=scan,
        norm=norm,
        skip=skip,
    )
    # deepcopy takes the replacement for every object that its memo already holds.
    return copy.deepcopy(model, {id(old): layer for old, layer in new.items()})


def replacements(
    model: nn.Module,
    kernel: str | Callable[..., Kernel],
    *,
    image_size: int | None,
    kernel_sizes: Sequence[int] | None,
    causal: bool,
    scan: Scanning,
    norm: NormKind | BranchNorm,
    skip: bool,
) -> dict[nn.Module, nn.Module]:
    """What ``convert`` puts in the place of what: depthwise convolutions, and the stem's first.

    Args:
        model: As of ``convert``, like the further arguments.
        kernel: As of ``convert``.
        image_size: As of ``convert``.
        kernel_sizes: As of ``convert``.
        causal: As of ``convert``.
        scan: As of ``convert``.
        norm: As of ``convert``.
        skip: As of ``convert``.

    Returns:
        New modules by old ones.
    """
    check_choice("convert", "scan", scan, get_args(Scanning))
    stages, stem = _stages(model), _stem(model)
    size = image_size if image_size is not None else _own_size(model)
    check_count("convert", "image_size", size)
    checked = CheckedStem(stem, _reduction(model))
    if size < checked.least:
        raise ArgumentError(
            f"convert: image_size must be at least {checked.least}, the stem's patch times what "
            f"later stages halve; got image_size={size}. Pass a larger image_size."
        )
    new: dict[nn.Module, nn.Module] = {stem: checked}
    widths = map_widths(model, [convs[0] for convs in stages], stem.in_channels, size)
    sizes = _checked_sizes(kernel_sizes, widths)
    order = 0
    for convs, width, kernel_size in zip(stages, widths, sizes, strict=True):
        for conv in convs:
            long = MRConv(
                conv.out_channels,
                width**2,
                kernel_size=kernel_size,
                kernel=kernel,
                causal=causal,
                norm=norm,
                skip=skip,
                device=conv.weight.device,
                dtype=conv.weight.dtype,
            ).train(conv.training)
            across = scan == "columns" or (scan == "alternating" and order % 2 == 1)
            new[conv] = ScanConv2d(long, width, scan="columns" if across else "rows")
            order += 1
    return new


def _stages(model: nn.Module) -> list[list[nn.Conv2d]]:
    """The depthwise convolutions of every stage, stages without blocks left out."""
    if not isinstance(model, nn.Module):
        raise DtypeError(
            f"convert: model must be a ConvNeXt of timm; got {type(model).__name__}. "
            "Pass timm.create_model('convnext_tiny')."
        )
    found = [
        [
            block.conv_dw
            for block in stage.modules()
            if isinstance(block, ConvNeXtBlock) and isinstance(block.conv_dw, nn.Conv2d)
        ]
        for stage in model.modules()
        if isinstance(stage, ConvNeXtStage)
    ]
    stages = [convs for convs in found if convs]
    if not stages:
        raise ArgumentError(
            "convert: model must be a ConvNeXt of timm with depthwise convolutions; "
            f"got {type(model).__name__}, which has none. "
            "Pass timm.create_model('convnext_tiny'), not converted before."
        )
    strides = {conv.stride for convs in stages for conv in convs}
    if strides != {(1, 1)}:
        raise ArgumentError(
            "convert: depthwise convolutions must have stride 1; "
            f"got {max(strides)}. Pass a ConvNeXt of timm as it is."
        )
    return stages


def _stem(model: nn.Module) -> nn.Conv2d:
    return next(module for module in model.modules() if isinstance(module, nn.Conv2d))


def _reduction(model: nn.Module) -> int:
    """Pixels of the image per pixel of the last map."""
    return math.prod(
        module.stride[0] for module in model.modules() if isinstance(module, nn.Conv2d)
    )


def _own_size(model: nn.Module) -> int:
    """The size that a model of timm was made for."""
    settings = getattr(model, "pretrained_cfg", None) or {}
    size = settings.get("input_size") or (3, IMAGE_SIZE, IMAGE_SIZE)
    return int(size[-1])


def _checked_sizes(kernel_sizes: Sequence[int] | None, widths: list[int]) -> Sequence[int]:
    if kernel_sizes is None:
        return kernel_sizes_for(widths)
    if len(kernel_sizes) != len(widths):
        raise ArgumentError(
            f"convert: kernel_sizes must be one for each of the {len(widths)} stages; "
            f"got {list(kernel_sizes)}. Pass {kernel_sizes_for(widths)}, or None."
        )
    return kernel_sizes
