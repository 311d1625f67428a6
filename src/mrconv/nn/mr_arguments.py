"""What the arguments of branches mean: the number of resolutions, checks of sizes and words."""

from typing import Literal, get_args

from .._checks import check_choice, check_count
from ..branch_statistics import BranchNorm
from ..errors import ArgumentError
from .combine import COMBINATIONS

__all__ = ["Gains", "NormKind", "check_arguments", "norm_settings", "num_resolutions"]

Gains = Literal["learned", "fixed"]
NormKind = Literal["batch", "constant", "none"]


def num_resolutions(length: int, kernel_size: int) -> int:
    """R = floor(log2(length / kernel_size)) + 1, the number of kernels that fit into a length.

    Args:
        length: Reach of the layer, in samples.
        kernel_size: l_0; at most ``length``.

    Returns:
        R, such that kernel_size 2^(R-1) <= length < kernel_size 2^R.

    Source: the published pairs (ListOps 2000: 1, 2, 4, 8 -> 11, 10, 9, 8) fit this rounding.

    Example:
        >>> from mrconv.nn import num_resolutions
        >>> num_resolutions(2000, 2)
        10
    """
    check_count("num_resolutions", "kernel_size", kernel_size)
    check_count("num_resolutions", "length", length, least=kernel_size)
    return (length // kernel_size).bit_length()


def check_arguments(
    owner: str, channels: int, length: int, kernel_size: int, combine: str, gains: str
) -> None:
    """Raises unless the sizes fit together and the words are known."""
    check_count(owner, "channels", channels)
    check_count(owner, "length", length)
    check_count(owner, "kernel_size", kernel_size)
    if kernel_size > length:
        raise ArgumentError(
            f"{owner}: kernel_size must be at most length; "
            f"got kernel_size={kernel_size}, length={length}. "
            "Lower kernel_size or pass a longer length."
        )
    check_choice(owner, "combine", combine, COMBINATIONS)
    check_choice(owner, "gains", gains, get_args(Gains))


def norm_settings(owner: str, norm: str | BranchNorm) -> BranchNorm | Literal["constant", "none"]:
    """The norm that a word stands for; "layer" raises and says why."""
    if isinstance(norm, BranchNorm):
        return norm
    if norm == "layer":
        raise ArgumentError(
            f"{owner}: norm must be mergeable into the kernel; got 'layer', whose statistics "
            "change with every input. Use norm='batch', and LayerNorm in the block if you need it."
        )
    check_choice(owner, "norm", norm, get_args(NormKind))
    return BranchNorm() if norm == "batch" else norm  # type: ignore[return-value]
