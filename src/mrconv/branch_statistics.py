"""BatchNorm over the branches of one layer: statistics and the normalised sum, in training.

One function serves ``MRConv``: it takes the branches' taps and gives the sum of the normalised
branch outputs with the mean and variance of each. ``statistics="textbook"`` computes every branch
output; it is the definition, and the oracle of every faster form.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from ._checks import check_choice, mask_invalid
from .convolution import Method, long_convolution
from .errors import ArgumentError, DtypeError
from .kernels import Branch

__all__ = [
    "BranchNorm",
    "count_valid",
    "masked_moments",
    "normalized_branches",
]

Statistics = Literal["exact", "textbook"]


@dataclass(frozen=True)
class BranchNorm:
    """BatchNorm of every branch, with statistics over batch and time.

    y = gain (z - mean) / sqrt(var + eps) + shift

    Args:
        momentum: Weight of the newest batch in the running statistics; None averages all batches.
        eps: Added to the variance.
        statistics: "exact" or "textbook". Both give the same numbers; "textbook" computes every
            branch output. (In this version "exact" runs the textbook form.)

    Raises:
        ArgumentError: For a momentum outside 0..1, an eps that is not positive, or another word.

    Example:
        >>> import mrconv
        >>> layer = mrconv.MRConv(4, 64, norm=mrconv.BranchNorm(momentum=None))
    """

    momentum: float | None = 0.1
    eps: float = 1e-5
    statistics: Statistics = "exact"

    def __post_init__(self) -> None:
        check_choice("BranchNorm", "statistics", self.statistics, get_args(Statistics))
        numbers = [x for x in (self.momentum, self.eps) if x is not None]
        if not all(isinstance(x, (int, float)) for x in numbers):
            raise DtypeError(
                "BranchNorm: momentum and eps must be numbers; "
                f"got momentum={self.momentum!r}, eps={self.eps!r}. Use 0.1 and 1e-5."
            )
        if self.momentum is not None and not 0 <= self.momentum <= 1:
            raise ArgumentError(
                f"BranchNorm: momentum must be None or between 0 and 1; got {self.momentum}. "
                "Use 0.1, or None for the average over all batches."
            )
        if not 0 < self.eps < float("inf"):
            raise ArgumentError(
                f"BranchNorm: eps must be positive and finite; got {self.eps}. Use 1e-5."
            )


def count_valid(owner: str, x: Tensor, lengths: Tensor | None) -> Tensor | int:
    """M, the number of valid positions of x (B, D, L); raises where it is below two.

    Args:
        owner: First word of the message.
        x: Input.                                                    (B, D, L)
        lengths: Valid samples of each row; None: all.                    (B,)

    Raises:
        ArgumentError: If M < 2: the variance of a single value is not defined.
    """
    count: Tensor | int = x.shape[0] * x.shape[-1] if lengths is None else lengths.sum()
    # With lengths the count is in a tensor, which a compiler cannot read.
    known = lengths is None or not (torch.compiler.is_compiling() or lengths.is_meta)
    if known and int(count) < 2:
        raise ArgumentError(
            f"{owner}: training needs at least 2 valid samples over batch and time; "
            f"got {int(count)}. Pass a longer batch, or call .eval() first."
        )
    return count


def masked_moments(x: Tensor, lengths: Tensor | None, count: Tensor | int) -> tuple[Tensor, Tensor]:
    """Mean and population variance of every channel over the valid positions.

    mean = (1/M) sum_{b, t < n_b} x[b, :, t],  var = (1/M) sum_{b, t < n_b} (x[b, :, t] - mean)^2

    Args:
        x: Input.                                                    (B, D, L)
        lengths: Valid samples n_b of each row; None: all.                (B,)
        count: M = sum_b n_b.

    Returns:
        Mean and variance.                                         (D,), (D,)
    """
    if lengths is None:
        var, mean = torch.var_mean(x, dim=(0, 2), correction=0)
        return mean, var
    mean = mask_invalid(x, lengths).sum((0, 2)) / count
    centred = mask_invalid(x - mean[:, None], lengths)
    return mean, centred.square().sum((0, 2)) / count


def normalized_branches(
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
    """Sum over branches of the normalised convolutions of one input, and their statistics.

    y[t] = sum_i gain_i (z_i[t] - mean_i) / sqrt(var_i + eps) + shift_i,   z_i = taps_i * u

    with mean and variance of z_i over the M valid positions of batch and time.

    Args:
        u: Input, exactly 0 behind each row's length.                (B, D, L)
        branches: R branches: taps (D, l_i), or two-sided (D, 2 l_i).
        gain: Weight of each branch.                                    (R, D)
        shift: Constant of each branch.                                 (R, D)
        norm: eps and how the statistics are computed.
        lengths: Valid samples of each row; None: all.                    (B,)
        causal: Whether the taps are causal or two-sided.
        method: As in ``long_convolution``.

    Returns:
        y (B, D, L), whose values behind a row's length mean nothing; the means and the population
        variances, both (R, D) and detached.

    Raises:
        ArgumentError: If there are fewer than two valid positions.

    Cost: R convolutions and R outputs kept for the backward pass.
    Source: the paper's section 3.1; running variances use M / (M - 1), as torch does.
    """
    count = count_valid("MRConv", u, lengths)
    y = torch.zeros_like(u)
    means, variances = [], []
    for branch, branch_gain, branch_shift in zip(branches, gain, shift, strict=True):
        z = long_convolution(u, branch.taps, causal=causal, method=method)
        mean, var = masked_moments(z, lengths, count)
        scale = branch_gain * torch.rsqrt(var + norm.eps)
        # centred before it is scaled: a large mean costs no digits
        y = y + ((z - mean[:, None]) * scale[:, None] + branch_shift[:, None])
        means.append(mean.detach())
        variances.append(var.detach())
    return y, torch.stack(means), torch.stack(variances)
