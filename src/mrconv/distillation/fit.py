"""The best recurrence of a given order for each of many impulse responses."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from .hankel import hankel_vectors
from .kung import kung_poles
from .poles import Poles, grouped
from .refine import EXACT, refine
from .vector_fitting import vector_fitting_poles

__all__ = ["Fitted", "fit_poles"]

#: Orders from which vector fitting only costs time.
VECTOR_FITTING_UP_TO = 32


class Fitted(NamedTuple):
    """Poles of F filters, padded to one number of them, and what they leave."""

    decay: Tensor
    """Decay a sample of every pole; padding has 30.                    (F, M)"""
    angle: Tensor
    """In rad a sample; exactly 0 or pi for a real pole.                (F, M)"""
    error: Tensor
    """Norm of the error over the taps, after least squares.              (F,)"""

    def filters(self) -> "list[tuple[Tensor, Poles]]":
        """The filters in groups of equal structure: their numbers and their poles."""
        real = (self.angle == 0) | (self.angle == torch.pi)
        used = self.decay < PADDING
        found = []
        shapes = torch.stack([(real & used).sum(-1), used.sum(-1)], -1)
        for reals, poles in shapes.unique(dim=0).tolist():
            index = (shapes == torch.tensor([reals, poles])).all(-1).nonzero()[:, 0]
            found.append(
                (index, Poles(self.decay[index, :poles], self.angle[index, :poles], reals))
            )
        return found


PADDING = 31.0


def fit_poles(taps: Tensor, order: int) -> Fitted:
    """Poles whose exponentials, with the best residues, come close to each filter's taps.

    Kung's method and vector fitting each give a start, variable projection polishes both, the
    better is kept. No random numbers: equal taps give equal poles.

    Args:
        taps: Behind the explicit head, float64.                     (F, K)
        order: N, at least 1; capped at what K taps can tell.

    Returns:
        Poles and errors.

    Cost: O(K N^2) a step of the polish and filter, at most some hundred steps.
    """
    filters, size = taps.shape
    order = min(order, (size + 1) // 2 - 1 if size > 2 else 1)
    best = Fitted(
        taps.new_full((filters, order), PADDING), taps.new_zeros(filters, order), taps.norm(dim=-1)
    )
    if size < 3:
        return _improved(best, taps, torch.full_like(taps[:, :1], 0.5).to(torch.complex128), 100)
    _, vectors = hankel_vectors(taps, order)
    best = _improved(best, taps, kung_poles(vectors, order))
    if order <= VECTOR_FITTING_UP_TO:
        worth = best.error > 1e3 * EXACT * taps.norm(dim=-1)
        if worth.any():
            index = worth.nonzero()[:, 0]
            part = Fitted(*(tensor[index] for tensor in best))
            part = _improved(part, taps[index], vector_fitting_poles(taps[index], order))
            best = Fitted(*(a.index_copy(0, index, b) for a, b in zip(best, part, strict=True)))
    return best


def _improved(best: Fitted, taps: Tensor, start: Tensor, steps: int = 100) -> Fitted:
    """The better of ``best`` and what the polish makes of ``start`` (F, N)."""
    decay, angle, error = (tensor.clone() for tensor in best)
    for index, poles in grouped(start, taps.shape[-1]):
        poles, reached = refine(taps[index], poles, steps)
        better = (reached < error[index]).nonzero()[:, 0]
        missing = (0, decay.shape[-1] - poles.decay.shape[-1])
        chosen = index[better]
        decay[chosen] = functional.pad(poles.decay[better], missing, value=PADDING)
        angle[chosen] = functional.pad(poles.angle[better], missing)
        error[chosen] = reached[better]
    return Fitted(decay, angle, error)
