"""The definition: every branch output is computed, then normalised by its own batch."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ..convolution import Method, long_convolution
from ..kernels import Branch
from .moments import count_valid, joined_moments, masked_moments
from .settings import BranchNorm

__all__ = ["normalized", "textbook_branches"]


def textbook_branches(
    u: Tensor,
    branches: Sequence[Branch],
    gain: Tensor,
    shift: Tensor,
    norm: BranchNorm,
    lengths: Tensor | None = None,
    *,
    causal: bool = True,
    method: Method = "auto",
) -> tuple[Tensor, Tensor, Tensor]:
    """As ``normalized_branches``, by R convolutions with R outputs kept for the backward pass.

    Args:
        u: Input, exactly 0 behind each row's length.                (B, D, L)
        branches: R branches.
        gain: Weight of each branch.                                    (R, D)
        shift: Constant of each branch.                                 (R, D)
        norm: Its eps.
        lengths: Valid samples of each row; None: all.                    (B,)
        causal: Whether the taps are causal or two-sided.
        method: As in ``long_convolution``.

    Returns:
        y (B, D, L), means and population variances (R, D), detached.
    """
    count = count_valid("MRConv", u, lengths)
    y = torch.zeros_like(u)
    means, variances = [], []
    for branch, branch_gain, branch_shift in zip(branches, gain, shift, strict=True):
        z = long_convolution(u, branch.taps, causal=causal, method=method)
        output, mean, var = normalized(z, branch_gain, branch_shift, norm, lengths, count)
        y = y + output
        means.append(mean)
        variances.append(var)
    return y, torch.stack(means), torch.stack(variances)


def normalized(
    z: Tensor,
    gain: Tensor,
    shift: Tensor,
    norm: BranchNorm,
    lengths: Tensor | None,
    count: Tensor | int,
) -> tuple[Tensor, Tensor, Tensor]:
    """One branch by its own batch: gain (z - mean) / sqrt(var + eps) + shift.

    Args:
        z: Output of the branch's convolution.                       (B, D, L)
        gain: Its weight.                                                 (D,)
        shift: Its constant.                                              (D,)
        norm: Its eps.
        lengths: Valid samples of each row; None: all.                    (B,)
        count: M, as ``count_valid`` finds it.

    Returns:
        The branch (B, D, L), of any value behind each row's length; its mean and population
        variance over the valid positions (D,), detached.
    """
    mean, var, _ = joined_moments(*masked_moments(z, lengths, count), count)
    scale = gain * torch.rsqrt(var + norm.eps)
    # centred before it is scaled: a large mean costs no digits
    y = (z - mean[:, None]) * scale[:, None] + shift[:, None]
    return y, mean.detach(), var.detach()
