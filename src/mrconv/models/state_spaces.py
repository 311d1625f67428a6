"""State space layers of other papers that are one long convolution each: S4D and S4."""

from functools import partial

import torch

from ..kernels import S4DKernel, S4Kernel
from ..nn.kernel_conv import KernelConv

__all__ = ["S4", "S4D"]


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


class S4(KernelConv):
    """The layer of S4: one long convolution, with the kernel of a full state space model.

    Args:
        channels: D.
        length: Reach in samples; no limit on inputs.
        order: N, real numbers of state a channel; even.
        systems: How many different state matrices there are, at most D.
        causal: Whether outputs depend on the past and present only.
        skip: Whether skip u[t] is added.
        device: Where the parameters live.
        dtype: Of the parameters.

    Raises:
        ArgumentError: If a size is below its least value, the order odd, or systems too many.

    Cost: D (N + 1) + 3 S N parameters a side, and D for skip.
    Source: Gu et al. 2022; see ``kernels.S4Kernel`` and ``nn.KernelConv``. Differs: a two-sided
    layer has a system for each side; the authors' sides share all but the output vector.

    Example:
        >>> import mrconv
        >>> mixer = {"name": "s4", "order": 16}
        >>> backbone = mrconv.SequenceBackbone(1, length=100, depth=1, mixer=mixer)
        >>> backbone.blocks[0].mixer.past.low_rank.shape
        torch.Size([1, 8, 2])
    """

    def __init__(
        self,
        channels: int,
        length: int,
        *,
        order: int = 64,
        systems: int = 1,
        causal: bool = True,
        skip: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        kernel = partial(S4Kernel, order=order, systems=systems)
        super().__init__(
            channels, length, kernel=kernel, causal=causal, skip=skip, device=device, dtype=dtype
        )
