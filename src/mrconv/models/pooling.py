"""Pooling over the valid positions of a sequence: mean, last, max."""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from .._checks import length_mask

__all__ = ["POOLINGS", "PoolingName", "last_pooling", "max_pooling", "mean_pooling"]

PoolingName = Literal["mean", "last", "max"]


def mean_pooling(h: Tensor, lengths: Tensor | None = None) -> Tensor:
    """Mean over valid positions, (1 / n_b) sum_{t < n_b} h[b, t]; 0 for an empty row.

    Args:
        h: Features, 0 behind each row's length.                     (B, L, D)
        lengths: Valid samples of each row; None: all.                    (B,)

    Returns:
        One vector a row.                                               (B, D)
    """
    if lengths is None:
        return h.sum(1) / max(h.shape[1], 1)
    return h.sum(1) / lengths.to(h.device).clamp_min(1)[:, None].to(h.dtype)


def last_pooling(h: Tensor, lengths: Tensor | None = None) -> Tensor:
    """The features at the last valid position, h[b, n_b - 1]; 0 for an empty row.

    Args:
        h: Features, 0 behind each row's length.                     (B, L, D)
        lengths: Valid samples of each row; None: all.                    (B,)

    Returns:
        One vector a row.                                               (B, D)
    """
    if h.shape[1] == 0:
        return h.sum(1)
    if lengths is None:
        return h[:, -1]
    last = (lengths.to(h.device).long() - 1).clamp_min(0)  # an empty row holds zeros at 0 too
    return h[torch.arange(len(h), device=h.device), last]


def max_pooling(h: Tensor, lengths: Tensor | None = None) -> Tensor:
    """Largest value over valid positions, max_{t < n_b} h[b, t]; 0 for an empty row.

    Args:
        h: Features.                                                 (B, L, D)
        lengths: Valid samples of each row; None: all.                    (B,)

    Returns:
        One vector a row.                                               (B, D)
    """
    if h.shape[1] == 0:
        return h.sum(1)
    if lengths is None:
        return h.amax(1)
    lengths = lengths.to(h.device)
    valid = length_mask(lengths, h.shape[1])[..., None]
    largest = h.masked_fill(~valid, float("-inf")).amax(1)
    return largest.masked_fill((lengths == 0)[:, None], 0)


POOLINGS: dict[PoolingName, Callable[[Tensor, Tensor | None], Tensor]] = {
    "mean": mean_pooling,
    "last": last_pooling,
    "max": max_pooling,
}
