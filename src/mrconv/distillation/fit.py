"""The best poles of a given order for each of many impulse responses."""

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from .hankel import ending_vectors
from .kung import kung_poles
from .poles import ENDLESS_MEMORY, LONGEST_MEMORY, Poles, grouped, least_decay
from .refine import EXACT, refine
from .residues import error_norms
from .vector_fitting import vector_fitting_poles

__all__ = ["MANY", "PADDING", "Fitted", "fit_poles"]

#: Decay that stands where a filter has fewer poles than another.
PADDING = 31.0
#: Errors below this many roundings of a weight are rounding.
MANY = 100
#: Orders from which vector fitting only costs time.
VECTOR_FITTING_UP_TO = 32
#: How many times smaller the error must be for poles that practically never decay.
MUCH = 5.0
#: Weights of what sounds behind the taps, one after the other, and what they may cost in error.
TAILS, TAIL_COST = (0.003, 0.01, 0.03, 0.1), 1.05


class Fitted(NamedTuple):
    """Poles of F filters, padded to one number of them, and what they leave."""

    decay: Tensor
    """Decay a sample of every pole; ``PADDING`` where there is none.   (F, M)"""
    angle: Tensor
    """In rad a sample; exactly 0 or pi for a real pole, those first.   (F, M)"""
    error: Tensor
    """Norm of the error over the taps, after least squares.              (F,)"""

    def by_structure(self) -> list[tuple[Tensor, Poles]]:
        """Filters with equally many poles of each kind: their numbers (F',) and their poles."""
        used = self.decay < PADDING
        real = used & ((self.angle == 0) | (self.angle == torch.pi))
        shapes = torch.stack([real.sum(-1), used.sum(-1)], -1)
        found = []
        for shape in shapes.unique(dim=0):
            index = (shapes == shape).all(-1).nonzero()[:, 0]
            reals, poles = shape.tolist()
            kept = Poles(self.decay[index, :poles], self.angle[index, :poles], reals)
            found.append((index, kept))
        return found


def _ending_poles(taps: Tensor, order: int) -> Tensor:
    """Kung's poles (F, N) of the taps and the silence behind them."""
    return kung_poles(ending_vectors(taps, order), order)


#: Starts beside Kung's method; vector fitting comes last.
STARTS = (_ending_poles, vector_fitting_poles)


def fit_poles(taps: Tensor, order: int, vectors: Tensor, *, ridge: float = 0.0) -> Fitted:
    """Poles whose exponentials, with the best residues, come close to each filter's taps.

    Kung's method, the same on the taps with silence behind them, and vector fitting each give a
    start, variable projection polishes all, the best is kept. Taps say nothing of what follows
    them, where close poles can ring louder than the filter itself: the poles are then moved on to
    ring less, for at most a twentieth more error. Equal taps give equal poles.

    Args:
        taps: Behind the explicit head, float64.                     (F, K)
        order: N, at least 1.
        vectors: Leading singular vectors of the Hankel matrices, N or more of n = (K + 1) // 2;
            n of them say nothing of poles, and the last order tried is then n - 1. (F, n, >= N)
        ridge: Relative error of the numbers that residues will be stored in; it counts as error.

    Returns:
        Poles and errors.

    Cost: O(K N^2) a step of the polish and filter, at most a hundred steps a start.
    """
    size = taps.shape[-1]
    order = min(order, max(1, vectors.shape[1] - 1))
    padding = taps.new_full((len(taps), order), PADDING)
    best = Fitted(padding, torch.zeros_like(padding), taps.norm(dim=-1))
    if vectors.shape[1] < 2:  # one or two taps
        return _improved(best, taps, torch.full_like(best.decay, 0.5).to(torch.complex128), ridge)
    start = kung_poles(vectors, order)
    best = _improved(best, taps, start, ridge)
    for method in STARTS if order <= VECTOR_FITTING_UP_TO else STARTS[:1]:
        index = _inexact(best, taps, ridge)
        if len(index):
            part = Fitted(*(tensor[index] for tensor in best))
            part = _improved(part, taps[index], method(taps[index], order), ridge)
            best = Fitted(*(a.index_copy(0, index, b) for a, b in zip(best, part, strict=True)))
    if (start.abs().amax(-1) > math.exp(-least_decay(size))).any():
        best = _improved(best, taps, start, ridge, memory=ENDLESS_MEMORY, gain=MUCH)
    most = TAIL_COST * best.error
    for weight in TAILS:
        best = _quieter(best, taps, weight, ridge, most)
    return best


def _inexact(fitted: Fitted, taps: Tensor, ridge: float) -> Tensor:
    """Numbers of the filters whose error is more than rounding.                 (F',)."""
    rounding = max(1e3 * EXACT, MANY * ridge) * taps.norm(dim=-1)
    return (fitted.error > rounding).nonzero()[:, 0]


def _improved(
    best: Fitted,
    taps: Tensor,
    start: Tensor,
    ridge: float,
    *,
    memory: float = LONGEST_MEMORY,
    gain: float = 1.0,
) -> Fitted:
    """What the polish makes of the poles ``start`` (F, N) where it is ``gain`` times better."""
    least = least_decay(taps.shape[-1], memory)
    decay, angle, error = (tensor.clone() for tensor in best)
    for index, poles in grouped(start, least):
        reached = refine(taps[index], poles, ridge=ridge)
        better = (gain * reached.error < error[index]).nonzero()[:, 0]
        missing = (0, decay.shape[-1] - poles.decay.shape[-1])
        chosen = index[better]
        decay[chosen] = functional.pad(reached.poles.decay[better], missing, value=PADDING)
        angle[chosen] = functional.pad(reached.poles.angle[better], missing)
        error[chosen] = reached.error[better]
    return Fitted(decay, angle, error)


def _quieter(best: Fitted, taps: Tensor, weight: float, ridge: float, most: Tensor) -> Fitted:
    """Poles that sound less behind the taps, where the error stays at most at ``most`` (F,)."""
    inexact = _inexact(best, taps, ridge)
    decay, angle, error = (tensor.clone() for tensor in best)
    for members, poles in Fitted(*(tensor[inexact] for tensor in best)).by_structure():
        count = poles.decay.shape[-1]
        if not count:
            continue
        index, least = inexact[members], least_decay(taps.shape[-1])
        start = poles._replace(least=least)
        reached = refine(taps[index], start, tail=weight, ridge=ridge).poles
        new_error = error_norms(taps[index], reached, ridge)
        kept = new_error <= most[index]
        chosen = index[kept]
        decay[chosen, :count], angle[chosen, :count] = reached.decay[kept], reached.angle[kept]
        error[chosen] = new_error[kept]
    return Fitted(decay, angle, error)
