"""How much of a recurrence sounds behind the window that it was fitted to."""

import torch
from torch import Tensor

from ..kernels import modal_taps
from ..nn.recurrence import ModalRecurrence

__all__ = ["tail_sum"]

#: Windows of K lags that are added up tap by tap in one piece, and pieces at most.
WINDOWS, PIECES = 8, 16
#: Share of the sum below which the endless rest is only bounded.
SMALL = 1e-3


@torch.no_grad()
def tail_sum(layer: ModalRecurrence, start: int) -> Tensor:
    """The sum of |taps| from a lag on, or slightly more.

    sum_{K <= t < T} |taps[t]| + sum_m |residue_m| |pole_m|^(T - H) / (1 - |pole_m|)

    The second sum bounds the endless rest mode by mode, as if no two of them ever cancelled. Close
    poles cancel nearly all of each other, so that from K on it would be up to 1e8 times too large:
    T moves on until it is below a thousandth of the first sum, by at most 128 windows of K lags.

    Args:
        layer: In float64, without windows.
        start: K, in samples, at least 1.

    Returns:
        One number a channel, float64.                                 (D,)

    Cost: O(D M T), as matrix products.

    Example:
        >>> import torch, mrconv
        >>> from mrconv.distillation.tail import tail_sum
        >>> layer = mrconv.nn.ModalRecurrence(1, modes=2, dtype=torch.float64)
        >>> taps = layer.taps(20_000)[:, 100:]
        >>> bool((tail_sum(layer, 100) >= taps.abs().sum(-1)).all())
        True
    """
    total = layer.head[:, start:].abs().sum(-1)
    for group in layer.groups():
        lag, slowness = max(0, start - group.start), -torch.expm1(-group.decay)
        for _ in range(PIECES):
            piece = modal_taps(group.decay, group.angle, group.residue, WINDOWS * start, lag)
            total, lag = total + piece.abs().sum(-1), lag + WINDOWS * start
            left = group.residue.norm(dim=-1) * torch.exp(-group.decay * lag) / slowness
            rest = left.sum(-1)
            if (rest <= SMALL * total).all():
                break
        total = total + rest
    return total
