"""Means and variances over the valid positions of a batch, joined over processes."""

import torch
from torch import Tensor

from .._checks import mask_invalid
from ..errors import ArgumentError
from .processes import added, world_size

__all__ = ["count_valid", "joined_moments", "masked_moments", "total_valid"]


def count_valid(owner: str, x: Tensor, lengths: Tensor | None) -> Tensor | int:
    """M, the number of valid positions of x (B, D, L); raises where it is below two.

    Args:
        owner: First word of the message.
        x: Input.                                                    (B, D, L)
        lengths: Valid samples of each row; None: all.                    (B,)

    Returns:
        M; a tensor where a compiler traces lengths.

    Raises:
        ArgumentError: If M < 2: the variance of a single value is not defined.
    """
    if lengths is None:
        count: Tensor | int = x.shape[0] * x.shape[-1]
    elif torch.compiler.is_compiling() or lengths.is_meta:
        return lengths.sum()  # a tensor, which a compiler cannot read
    else:
        count = int(lengths.sum())
    # with several processes the others may hold what is missing here
    if world_size() == 1 and count < 2:
        raise ArgumentError(
            f"{owner}: training needs at least 2 valid samples over batch and time; "
            f"got {count}. Pass a longer batch, or call .eval() first."
        )
    return count


def total_valid(owner: str, x: Tensor, lengths: Tensor | None) -> Tensor | int:
    """As ``count_valid``, of all processes together."""
    count = count_valid(owner, x, lengths)
    if world_size() == 1:
        return count
    return added(torch.as_tensor(count, dtype=torch.float64, device=x.device))


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


def joined_moments(
    mean: Tensor, var: Tensor, count: Tensor | int
) -> tuple[Tensor, Tensor, Tensor | int]:
    """Mean and variance of the batches of all processes together, with gradients through them.

    M = sum_r M_r,  mean = sum_r M_r mean_r / M,  var = sum_r M_r (var_r + (mean_r - mean)^2) / M

    Args:
        mean: Of this process's batch.
        var: Its population variance.
        count: M_r, its number of valid positions.

    Returns:
        Mean, variance and count of the joined batch; the arguments where there is one process.

    Source: Chan, Golub, LeVeque 1979: no large squares are subtracted.
    """
    if world_size() == 1:
        return mean, var, count
    here = torch.as_tensor(count, dtype=mean.dtype, device=mean.device)
    total = added(here)
    joined = added(here * mean) / total
    return joined, added(here * (var + (mean - joined).square())) / total, total
