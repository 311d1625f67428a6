"""The networks of ``mrconv bench vision``: timm's ConvNeXt and the forms of MRConvNeXt."""

from typing import Any, Literal, get_args

import torch
from torch import nn

from ..branch_statistics import BranchNorm
from ..merging import merge
from .cases import Options

__all__ = ["CONTESTANTS", "Contestant", "Size", "make_contestants", "sizes_of"]

Contestant = Literal["ConvNeXt", "merged", "branches", "textbook branches"]
Size = Literal["tiny", "small", "base"]

CONTESTANTS: tuple[Contestant, ...] = get_args(Contestant)
PIXELS, QUICK_PIXELS = 224, 32
QUICK: dict[str, Any] = {"depths": (1, 1, 1, 1), "dims": (8, 8, 8, 8)}


def sizes_of(options: Options) -> tuple[Size, ...]:
    """Which networks are measured.

    Args:
        options: Quick or not.

    Returns:
        All, or one of them.
    """
    return ("tiny",) if options.quick else get_args(Size)


def make_contestants(size: Size, options: Options) -> tuple[dict[Contestant, nn.Module], int]:
    """All forms of one size, in eval mode, MRConvNeXt with equal weights.

    Args:
        size: Of the networks.
        options: Seed, device; quick makes them narrow.

    Returns:
        Networks by name: "branches" makes the taps at every call and convolves once; "textbook
        branches" has one convolution a resolution. And the size of the images, in pixels.
    """
    import timm

    from ..models.convnext import register

    register()
    arguments = QUICK if options.quick else {}
    pixels = QUICK_PIXELS if options.quick else PIXELS
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(options.seed)
        theirs = timm.create_model(f"convnext_{size}", **arguments)
        ours = timm.create_model(f"mrconvnext_{size}", img_size=pixels, **arguments).eval()
        textbook = timm.create_model(
            f"mrconvnext_{size}",
            img_size=pixels,
            norm=BranchNorm(statistics="textbook"),
            **arguments,
        )
    textbook.load_state_dict(ours.state_dict())
    models: dict[Contestant, nn.Module] = {
        "ConvNeXt": theirs,
        "merged": merge(ours),
        "branches": ours,
        "textbook branches": textbook,
    }
    return {name: model.eval().to(options.device) for name, model in models.items()}, pixels
