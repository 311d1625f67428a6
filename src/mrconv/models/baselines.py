"""Layers of other papers under names of their own, to stand beside MRConv in one backbone."""

from functools import partial

import torch

from ..kernels import InterpolatedKernel, S4DKernel
from ..nn.kernel_conv import KernelConv

__all__ = ["S4D", "SGConv"]


class S4D(KernelConv):
    """The layer of S4D: one long convolution whose kernel is a diagonal state space model's.

    Args:
        channels: D.
        length: Reach in samples; no limit on inputs.
        order: N, real numbers of state a channel; even.
        causal: Whether outputs depend on the past and present only.
        skip: Whether skip u[t] is added.
        device: Where the parameters live.
        dtype: Of the parameters.

    Raises:
        ArgumentError: If a size is below its least value, or the order odd.

    Source: Gu et al. 2022; see ``kernels.S4DKernel`` and ``nn.KernelConv``.

    Example:
        >>> import mrconv
        >>> mixer = {"name": "s4d", "order": 16}
        >>> backbone = mrconv.SequenceBackbone(1, length=100, depth=1, mixer=mixer)
        >>> backbone.blocks[0].mixer.past.modes()[0].shape
        torch.Size([64, 8])
    """

    def __init__(
        self,
        channels: int,
        length: int,
        *,
        order: int = 64,
        causal: bool = True,
        skip: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        kernel = partial(S4DKernel, order=order)
        super().__init__(
            channels, length, kernel=kernel, causal=causal, skip=skip, device=device, dtype=dtype
        )


class SGConv(KernelConv):
    """The layer of SGConv: one long convolution with interpolated pieces that grow and decay.

    Args:
        channels: D.
        length: Reach in samples; no limit on inputs.
        points: Values a piece of the kernel.
        decay: Factor from piece to piece, above 0 and at most 1.
        causal: Whether outputs depend on the past and present only.
        skip: Whether skip u[t] is added.
        device: Where parameters and buffers live.
        dtype: Of the parameters.

    Raises:
        ArgumentError: If a size is below 1, or the decay out of range.

    Source: Li et al. 2022; see ``kernels.InterpolatedKernel`` and ``nn.KernelConv``.

    Example:
        >>> import mrconv
        >>> mixer = {"name": "sgconv", "points": 16}
        >>> backbone = mrconv.SequenceBackbone(1, length=100, depth=1, mixer=mixer)
        >>> backbone.blocks[0].mixer.past.pieces
        4
    """

    def __init__(
        self,
        channels: int,
        length: int,
        *,
        points: int = 64,
        decay: float = 0.5,
        causal: bool = True,
        skip: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        kernel = partial(InterpolatedKernel, points=points, decay=decay)
        super().__init__(
            channels, length, kernel=kernel, causal=causal, skip=skip, device=device, dtype=dtype
        )
