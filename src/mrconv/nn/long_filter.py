"""The long filters of a Hyena layer, from one kernel or from branches of several resolutions."""

from collections.abc import Callable

import torch
from torch import Tensor

from .._checks import check_choice, widened
from ..branch_statistics import BranchNorm
from ..errors import ArgumentError
from ..kernels import KERNELS, LONG_KERNELS, Kernel
from .kernel_conv import KernelConv
from .long_conv import LongConv
from .mr_arguments import NormKind
from .mr_conv import MRConv
from .recurrence import ModalRecurrence

__all__ = ["LongFilter", "fixed_response", "long_filter"]

#: The long filters of a layer, as they are trained and as conversions leave them.
LongFilter = KernelConv | MRConv | LongConv | ModalRecurrence


def long_filter(
    owner: str,
    channels: int,
    length: int,
    *,
    kernel: str | Callable[..., Kernel],
    kernel_size: int | None,
    norm: NormKind | BranchNorm,
    device: torch.device | str | None,
    dtype: torch.dtype | None,
) -> KernelConv | MRConv:
    """The layer that convolves with the long filters.

    Args:
        owner: Name of the layer around it, the first word of a message.
        channels: Filters.
        length: Reach in samples.
        kernel: As in ``KernelConv`` without kernel_size, as in ``MRConv`` with one.
        kernel_size: l_0 of branches; None: one kernel as long as the reach.
        norm: Of branches.
        device: Where parameters and buffers live.
        dtype: Of the parameters.

    Raises:
        ArgumentError: If the words or sizes do not fit together.
    """
    if kernel_size is not None:
        return MRConv(
            channels,
            length,
            kernel_size=kernel_size,
            kernel=kernel,
            norm=norm,
            device=device,
            dtype=dtype,
        )
    if norm != "batch":
        raise ArgumentError(
            f"{owner}: norm belongs to branches, which kernel_size makes; got norm={norm!r} and "
            "kernel_size=None. Pass kernel_size=16, or leave norm out."
        )
    if not callable(kernel):
        _check_name(owner, kernel)
    return KernelConv(channels, length, kernel=kernel, device=device, dtype=dtype)  # type: ignore[arg-type]


def fixed_response(filters: LongFilter, length: int) -> tuple[Tensor, Tensor | None] | None:
    """Taps (M, K) and bias (M,), where the filters are one convolution whatever they are given.

    Args:
        filters: In any mode.
        length: Samples of the input, at least 1.

    Returns:
        In at least float32; None while BatchNorm takes its statistics from the input.
    """
    if isinstance(filters, MRConv) and isinstance(filters.norm, BranchNorm) and filters.training:
        return None
    if isinstance(filters, (MRConv, KernelConv)):
        return filters.merged_taps()
    bias = None if filters.bias is None else widened(filters.bias)
    if isinstance(filters, LongConv):
        return widened(filters.taps), bias
    return filters.taps(length), bias


def _check_name(owner: str, kernel: str) -> None:
    branches = isinstance(kernel, str) and bool({*kernel.split("+")} & {*KERNELS})
    if branches and kernel not in LONG_KERNELS:
        raise ArgumentError(
            f"{owner}: kernel={kernel!r} makes branches, which need kernel_size, the span of the "
            "first; got kernel_size=None. Pass kernel_size=16."
        )
    check_choice(owner, "kernel", kernel, LONG_KERNELS)
