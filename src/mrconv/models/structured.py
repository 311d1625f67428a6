"""Layers of other papers that are one long convolution with structured taps."""

from functools import partial

import torch

from ..kernels import InterpolatedKernel, MultiresKernel, SirenKernel
from ..nn.kernel_conv import KernelConv

__all__ = ["CKConv", "Multires", "SGConv"]


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

    Cost: (R p + 1) D parameters a side for R pieces of p points, or R p D without skip. We found no
    printed count of a model of theirs to hold it against.
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


class Multires(KernelConv):
    """The layer of MultiresNet: a tree of convolutions that share two short filters.

    y[t] = v u[t] + sum_{j<J} w_j (h1 *_j a_j)[t] + w_J a_J[t],  a_0 = u,  a_{j+1} = h0 *_j a_j

    where *_j convolves with dilation 2^j and J levels reach over the length.

    Args:
        channels: D.
        length: Reach in samples; no limit on inputs.
        kernel_size: Taps of each of the two filters, at least 2.
        causal: Whether outputs depend on the past and present only.
        device: Where the parameters live.
        dtype: Of the parameters.

    Raises:
        ArgumentError: If a size is below its least value.

    Cost: D (2 kernel_size + J + 2) parameters a side.
    Source: Shi, Wang and Fox 2023; see ``kernels.MultiresKernel``. Differs: being linear, the tree
    is computed as the one convolution that it is.

    Example:
        >>> import mrconv
        >>> mixer = {"name": "multires", "kernel_size": 4}
        >>> backbone = mrconv.SequenceBackbone(1, length=100, depth=1, mixer=mixer)
        >>> backbone.blocks[0].mixer.past.levels
        6
    """

    def __init__(
        self,
        channels: int,
        length: int,
        *,
        kernel_size: int = 2,
        causal: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        kernel = partial(MultiresKernel, filter_size=kernel_size)
        super().__init__(
            channels, length, kernel=kernel, causal=causal, skip=False, device=device, dtype=dtype
        )


class CKConv(KernelConv):
    """The layer of CKConv: one long convolution whose taps a network of sines makes.

    Args:
        channels: D.
        length: Reach in samples; no limit on inputs.
        omega: How fast a fresh kernel may wiggle; above 0.
        width: Hidden units of the network.
        causal: Whether outputs depend on the past and present only.
        skip: Whether skip u[t] is added.
        device: Where the parameters live.
        dtype: Of the parameters.

    Raises:
        ArgumentError: If a size is below 1 or omega not above 0.

    Cost: (W + 2) D + W (W + 4) parameters a side for W hidden units, and D for skip.
    Source: Romero et al. 2021; see ``kernels.SirenKernel``. Differs: one kernel a channel, for the
    block mixes the channels; skip, which their layer lacks.

    Example:
        >>> import mrconv
        >>> mixer = {"name": "ckconv", "omega": 20.0}
        >>> backbone = mrconv.SequenceBackbone(1, length=100, depth=1, mixer=mixer)
        >>> backbone.blocks[0].mixer.past.width
        32
    """

    def __init__(
        self,
        channels: int,
        length: int,
        *,
        omega: float = 30.0,
        width: int = 32,
        causal: bool = True,
        skip: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        kernel = partial(SirenKernel, omega=omega, width=width)
        super().__init__(
            channels, length, kernel=kernel, causal=causal, skip=skip, device=device, dtype=dtype
        )
