"""Which form of the statistics a layer's branches go through."""

from collections.abc import Sequence
from typing import get_args

import torch
from torch import Tensor

from .._checks import check_choice, mask_invalid
from ..convolution import Method
from ..kernels import Branch
from .custom_op import exact_branches
from .moments import count_valid
from .plan import FEW, SCATTERED
from .settings import BranchNorm
from .textbook import textbook_branches

__all__ = ["normalized_branches"]


#: Elements of an input below which the textbook form is faster. Its training step / the exact one
#: at (1, 64, 256), one thread: dilated 0.96, Fourier 0.62; at (8, 32, 128) 1.5 and 0.9.
SMALL = 1 << 15


def normalized_branches(
    u: Tensor,
    branches: Sequence[Branch],
    gain: Tensor,
    shift: Tensor,
    norm: BranchNorm,
    lengths: Tensor | None = None,
    *,
    skip: Tensor | None = None,
    causal: bool = True,
    method: Method = "auto",
) -> tuple[Tensor, Tensor, Tensor]:
    """Sum over branches of the normalised convolutions of one input, and their statistics.

    y[t] = sum_i ( gain_i (z_i[t] - mean_i) / sqrt(var_i + eps) + shift_i ) + skip u[t]
    z_i = taps_i * u

    with mean and variance of z_i over the M valid positions of batch and time, of all processes
    together where several train.

    Args:
        u: Input, exactly 0 behind each row's length.                (B, D, L)
        branches: R branches.
        gain: Weight of each branch.                                    (R, D)
        shift: Constant of each branch.                                 (R, D)
        norm: eps, and the form of the statistics. Method "direct" and small inputs go through the
            textbook form.
        lengths: Valid samples of each row; None: all.                    (B,)
        skip: Factor of the input itself, added to the sum; None: 0.      (D,)
        causal: Whether the taps are causal or two-sided.
        method: As in ``long_convolution``.

    Returns:
        y (B, D, L), 0 behind each row's length; the means and the population variances, both
        (R, D) and detached.

    Raises:
        ArgumentError: If there are fewer than two valid positions.

    Cost: "exact" about that of one convolution; "textbook" R convolutions and R outputs kept.
    Source: the paper's section 3.1; the exact form is ours.
    """
    check_choice("long_convolution", "method", method, get_args(Method))
    if norm.statistics == "textbook" or method == "direct" or _is_small(u):
        y, mean, var = textbook_branches(
            u, branches, gain, shift, norm, lengths, causal=causal, method=method
        )
        y = y if skip is None else y + skip[:, None] * u
    else:
        count_valid("MRConv", u, lengths)
        treatable = [_treatable(branch, u.shape[-1], causal) for branch in branches]
        affine = gain, shift, torch.zeros_like(gain[0]) if skip is None else skip
        y, mean, var = exact_branches(u, lengths, treatable, affine, norm.eps, causal)
    return mask_invalid(y, lengths), mean, var


def _is_small(u: Tensor) -> bool:
    # compilers see one operator in place of many
    return not torch.compiler.is_compiling() and u.numel() < SMALL


def _treatable(branch: Branch, length: int, causal: bool) -> Branch:
    """The branch less what the input does not reach; gaps filled where that costs less."""
    few = branch.values.shape[-1]
    if branch.lags is not None:
        fill = branch.span > length or branch.span <= FEW or few > SCATTERED
    else:
        fill = branch.spacing > 1 and few > FEW
    return (Branch(branch.taps) if fill else branch).within(length, causal)
