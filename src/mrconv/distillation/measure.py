"""What a recurrence does differently from the taps that it replaces, measured and bounded."""

import copy
from typing import NamedTuple

import torch
from torch import Tensor

from ..nn.recurrence import ModalRecurrence
from .tail import tail_sum

__all__ = ["Errors", "measure"]

#: Points of the half circle a tap.
GRID = 2


class Errors(NamedTuple):
    """Of every filter, float64."""

    relative: Tensor
    """| e | / | h |, e the error of the taps on 0..K-1; 0 where h and e are.     (D,)"""
    gain_least: Tensor
    """Largest |E(omega)| over a grid of frequencies.                              (D,)"""
    gain_most: Tensor
    """sum_t |e[t]| of all t, bounded: no input is amplified more by the error.    (D,)"""
    norm: Tensor
    """| h |.                                                                      (D,)"""
    end: Tensor
    """Share of the energy of h in its last tenth; about 0.1 has not decayed.      (D,)"""


@torch.no_grad()
def measure(taps: Tensor, layer: ModalRecurrence) -> Errors:
    """The error of a recurrence, from the numbers that it stores.

    The worst gain, max over inputs of |error of the output| / |input| in norm, is max |E(omega)|.
    It is at least the largest value on a grid, and at most

    sum_{t < K} |e[t]| + sum_{t >= K} |taps[t]|,

    which also bounds the largest error of the output by the largest input. The second sum, of the
    taps from K on, where the original has none, is itself bounded by ``tail_sum``.

    Args:
        taps: What the layer stands for, float64.                    (D, K)
        layer: Without windows.

    Returns:
        Errors.
    """
    size, exact = taps.shape[-1], copy.deepcopy(layer).double()
    error = taps - exact.taps(size)
    norm = taps.norm(dim=-1)
    relative = error.norm(dim=-1) / torch.where(norm > 0, norm, 1)
    most = error.abs().sum(-1) + tail_sum(exact, size)
    energy, last = taps.square().sum(-1), taps[:, -max(1, size // 10) :].square().sum(-1)
    end = last / torch.where(energy > 0, energy, 1)
    return Errors(relative, _largest_gain(taps, exact), most, norm, end)


def _largest_gain(taps: Tensor, layer: ModalRecurrence) -> Tensor:
    points = GRID * taps.shape[-1]
    omega = torch.linspace(0, torch.pi, points + 1, dtype=taps.dtype, device=taps.device)
    spectrum = torch.fft.rfft(taps, 2 * points)
    return (spectrum - layer.frequency_response(omega)).abs().amax(-1)
