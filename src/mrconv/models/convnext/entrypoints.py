"""MRConvNeXt as a model of timm, and its names in timm's registry."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from timm.data import IMAGENET_DEFAULT_MEAN, IMAGENET_DEFAULT_STD
from timm.models import build_model_with_cfg, generate_default_cfgs, is_model, register_model
from timm.models.convnext import ConvNeXt, ConvNeXtBlock
from torch import nn

from ...branch_statistics import BranchNorm
from ...kernels import Kernel
from ...nn import LongConv, MRConv
from ...nn.mr_arguments import NormKind
from .convert import Scanning, replacements

__all__ = [
    "NAMES",
    "MRConvNeXt",
    "mrconvnext_base",
    "mrconvnext_small",
    "mrconvnext_tiny",
    "register",
]

NAMES = ("mrconvnext_tiny", "mrconvnext_small", "mrconvnext_base")


class MRConvNeXt(ConvNeXt):  # type: ignore[misc]  # timm has no types
    """A ConvNeXt of timm that is built with multi-resolution convolutions.

    Args:
        convnext: Arguments of timm's ``ConvNeXt``, such as depths, dims and in_chans.
        kernel: As of ``convert``.
        img_size: Its ``image_size``, in pixels, under timm's name.
        kernel_sizes: As of ``convert``.
        causal: As of ``convert``.
        scan: As of ``convert``.
        norm: As of ``convert``.
        skip: As of ``convert``.

    Raises:
        ArgumentError: As ``convert``.
        ShapeError: As ``convert``.

    Example:
        >>> from mrconv.models.convnext import MRConvNeXt
        >>> model = MRConvNeXt({"depths": (1, 1, 1, 1), "dims": (8, 8, 8, 8)}, img_size=32)
        >>> [stage.blocks[0].conv_dw.width for stage in model.stages]
        [8, 4, 2, 1]
    """

    def __init__(
        self,
        convnext: Mapping[str, Any],
        *,
        kernel: str | Callable[..., Kernel] = "fourier+sparse",
        img_size: int = 224,
        kernel_sizes: Sequence[int] | None = None,
        causal: bool = False,
        scan: Scanning = "rows",
        norm: NormKind | BranchNorm = "batch",
        skip: bool = False,
    ) -> None:
        super().__init__(**convnext)
        new = replacements(
            self,
            kernel,
            image_size=img_size,
            kernel_sizes=kernel_sizes,
            causal=causal,
            scan=scan,
            norm=norm,
            skip=skip,
        )
        self.stem[0] = new[self.stem[0]]
        for block in self.stages.modules():
            if isinstance(block, ConvNeXtBlock):
                block.conv_dw = new[block.conv_dw]

    def no_weight_decay(self) -> set[str]:
        """Names of the parameters that timm's optimizers leave without weight decay.

        Returns:
            Kernels, gains and shifts, or merged taps.
        """
        return {
            f"{path}.{name}"
            for path, layer in self.named_modules()
            if isinstance(layer, (MRConv, LongConv))
            for name, _ in layer.named_parameters()
        }


def _settings() -> dict[str, Any]:
    """What timm's data pipelines want to know; there are no published weights."""
    return {
        "num_classes": 1000,
        "input_size": (3, 224, 224),
        "pool_size": (7, 7),
        "crop_pct": 0.875,
        "interpolation": "bicubic",
        "mean": IMAGENET_DEFAULT_MEAN,
        "std": IMAGENET_DEFAULT_STD,
        "first_conv": "stem.0",
        "classifier": "head.fc",
    }


#: Read by timm when the names are registered.
default_cfgs = generate_default_cfgs({name: _settings() for name in NAMES})


OWN = inspect.signature(MRConvNeXt).parameters.keys() - {"convnext"}


def _assembled(**arguments: Any) -> MRConvNeXt:
    """Timm hands all arguments over in one; its ConvNeXt refuses what is not known."""
    own = {name: arguments.pop(name) for name in OWN & arguments.keys()}
    return MRConvNeXt(arguments, **own)


def _build(name: str, pretrained: bool, **arguments: Any) -> nn.Module:
    features = {"out_indices": (0, 1, 2, 3), "flatten_sequential": True}
    model: nn.Module = build_model_with_cfg(
        _assembled, name, pretrained, feature_cfg=features, **arguments
    )
    return model


def mrconvnext_tiny(pretrained: bool = False, **arguments: Any) -> nn.Module:
    """MRConvNeXt-T: depths 3, 3, 9, 3 and channels 96 to 768.

    Args:
        pretrained: There are no published weights; timm refuses True.
        arguments: Of ``MRConvNeXt`` and of timm's ``build_model_with_cfg``.

    Returns:
        The model, or its features where ``features_only=True``.
    """
    sizes = {"depths": (3, 3, 9, 3), "dims": (96, 192, 384, 768)}
    return _build("mrconvnext_tiny", pretrained, **{**sizes, **arguments})


def mrconvnext_small(pretrained: bool = False, **arguments: Any) -> nn.Module:
    """MRConvNeXt-S: depths 3, 3, 27, 3 and channels 96 to 768.

    Args:
        pretrained: As of ``mrconvnext_tiny``.
        arguments: As of ``mrconvnext_tiny``.

    Returns:
        The model, or its features where ``features_only=True``.
    """
    sizes = {"depths": (3, 3, 27, 3), "dims": (96, 192, 384, 768)}
    return _build("mrconvnext_small", pretrained, **{**sizes, **arguments})


def mrconvnext_base(pretrained: bool = False, **arguments: Any) -> nn.Module:
    """MRConvNeXt-B: depths 3, 3, 27, 3 and channels 128 to 1024.

    Args:
        pretrained: As of ``mrconvnext_tiny``.
        arguments: As of ``mrconvnext_tiny``.

    Returns:
        The model, or its features where ``features_only=True``.
    """
    sizes = {"depths": (3, 3, 27, 3), "dims": (128, 256, 512, 1024)}
    return _build("mrconvnext_base", pretrained, **{**sizes, **arguments})


def register() -> tuple[str, ...]:
    """Puts MRConvNeXt into timm, so that ``timm.create_model`` finds its names.

    A second call changes nothing.

    Returns:
        The names.

    Example:
        >>> import timm
        >>> from mrconv.models.convnext import register
        >>> register()
        ('mrconvnext_tiny', 'mrconvnext_small', 'mrconvnext_base')
        >>> features = timm.create_model(
        ...     "mrconvnext_tiny", features_only=True, depths=(1, 1, 1, 1), dims=(8, 8, 16, 16))
        >>> features.feature_info.reduction()
        [4, 8, 16, 32]
    """
    for build in (mrconvnext_tiny, mrconvnext_small, mrconvnext_base):
        if not is_model(build.__name__):
            register_model(build)
    return NAMES
