"""Variable projection: poles moved to the nearest best fit, residues following by least squares."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from .poles import Poles

__all__ = ["EXACT", "Refined", "refine"]

#: Steps at most; a filter that gained less than ``LEAST_GAIN`` in ``PATIENCE`` steps stands still.
STEPS, LEAST_GAIN, PATIENCE = 100, 1e-3, 8
#: Relative errors below this are left alone.
EXACT = 1e-13
#: Lags behind the taps that a tail is watched at: that many times the number of taps, one in some.
TAIL_REACH, TAIL_STRIDE = 3, 8


class Refined(NamedTuple):
    """Poles of the smallest error that was met, and its norm (F,)."""

    poles: Poles
    error: Tensor


class Target(NamedTuple):
    """What the exponentials should come close to."""

    values: Tensor
    """(F, T)"""
    lags: Tensor
    """(T,)"""
    weights: Tensor
    """Of the error at each lag.                                          (T,)"""
    ridge: float
    """Error by which a weight of 1 is rounded, for columns of unit norm."""


def refine(
    taps: Tensor, poles: Poles, *, tail: float = 0.0, ridge: float = 0.0, steps: int = STEPS
) -> Refined:
    """Poles that lower | taps - basis w |, w the best weights, by damped Gauss-Newton steps.

    With basis = Q R the error is r = (I - Q Q') taps; to first order it changes by
    -(I - Q Q') d(basis w) (Kaufman's form), and each step solves

    (J'J + damping diag(J'J)) change = J' r,   J = (I - Q Q') d(basis w) / d(log decay, angle).

    With ``tail`` the exponentials are also held to be 0 behind the taps, where the filter has none:
    tail^2 sum_{K <= t < 4 K} (basis w)[t]^2, taken at every eighth lag, is added to the squares.
    With ``ridge`` so is ridge^2 |w|^2, w for columns of unit norm: what rounding w will add. Poles
    are then not moved to where large weights cancel each other.

    Args:
        taps: Float64.                                               (F, K)
        poles: Where to start.
        tail: Weight of an error behind the taps.
        ridge: Relative error of the numbers that weights are stored in; 0: none.
        steps: At most this many.

    Returns:
        The poles of the smallest error met, and its norm.

    Cost: O(K N^2) a step and filter.
    Source: Golub and Pereyra 1973, Kaufman 1975; damping as Levenberg and Marquardt.
    """
    here = _start(_target(taps, tail, ridge), poles)
    index, least = torch.arange(len(taps), device=taps.device), EXACT * taps.norm(dim=-1)
    decay, angle, errors = (torch.empty_like(one) for one in (poles.decay, poles.angle, here.error))
    history = [here.error]
    for left in reversed(range(steps + 1)):
        moving = _moving(history, least) & (left > 0)
        # a filter that stands still is done, so that its poles do not depend on the others
        done = index[~moving]
        decay[done], angle[done] = here.poles.decay[~moving], here.poles.angle[~moving]
        errors[done] = here.error[~moving]
        if not moving.any():
            break
        here, index, least = here.chosen(moving), index[moving], least[moving]
        here = here.stepped()
        history = [*(one[moving] for one in history[-PATIENCE:]), here.error]
    return Refined(poles._replace(decay=decay, angle=angle), errors)


def _moving(history: list[Tensor], least: Tensor) -> Tensor:
    """Filters (F,) that are not exact and gained something of late."""
    error = history[-1]
    if len(history) <= PATIENCE:
        return error > least
    return (error > least) & (error < (1 - LEAST_GAIN) * history[-1 - PATIENCE])


class _Descent(NamedTuple):
    """Where some filters stand."""

    target: Target
    poles: Poles
    error: Tensor
    """Its norm.                                                          (F,)"""
    jacobian: Tensor
    """(F, T, N)"""
    rest: Tensor
    """The error itself.                                                (F, T)"""
    damping: Tensor
    """(F,)"""

    def chosen(self, filters: Tensor) -> "_Descent":
        """Some of the filters, by a mask (F,)."""
        if filters.all():
            return self
        target = self.target._replace(values=self.target.values[filters])
        return _Descent(target, self.poles.chosen(filters), *(one[filters] for one in self[2:]))

    def stepped(self) -> "_Descent":
        """After a step where it lowers the error; elsewhere with more damping."""
        trial = self.poles.moved(_step(self.jacobian, self.rest, self.damping))
        error, jacobian, rest = _linearised(self.target, trial)
        better = error < self.error
        return _Descent(
            self.target,
            trial.where(better, self.poles),
            torch.where(better, error, self.error),
            torch.where(better[:, None, None], jacobian, self.jacobian),
            torch.where(better[:, None], rest, self.rest),
            torch.where(better, self.damping / 4, self.damping * 5).clamp(1e-9, 1e6),
        )


def _start(target: Target, poles: Poles) -> _Descent:
    linearised = _linearised(target, poles)
    return _Descent(target, poles, *linearised, torch.full_like(linearised[0], 1e-2))


def _target(taps: Tensor, tail: float, ridge: float) -> Target:
    size = taps.shape[-1]
    lags = torch.arange(size, dtype=taps.dtype, device=taps.device)
    if tail == 0:
        return Target(taps, lags, torch.ones_like(lags), ridge)
    behind = size + TAIL_STRIDE * lags[: TAIL_REACH * size // TAIL_STRIDE]
    weights = torch.full_like(behind, tail * TAIL_STRIDE**0.5)
    values = functional.pad(taps, (0, len(behind)))
    weights = torch.cat([torch.ones_like(lags), weights])
    return Target(values, torch.cat([lags, behind]), weights, ridge)


def _linearised(target: Target, poles: Poles) -> tuple[Tensor, Tensor, Tensor]:
    """Norm of the error (F,), its Jacobian (F, T, N), and the error itself (F, T).

    With a ridge N more rows: the weights themselves, which are to be 0.
    """
    basis = target.weights[:, None] * poles.at(target.lags)
    scale = basis.norm(dim=1).clamp_min(1e-300)[:, None]
    columns, values, below = basis / scale, target.values, basis.shape[-1] if target.ridge else 0
    if below:
        rounding = target.ridge * torch.eye(below, dtype=basis.dtype, device=basis.device)
        columns = torch.cat([columns, rounding.expand(len(columns), -1, -1)], 1)
        values = functional.pad(values, (0, below))
    q, r = torch.linalg.qr(columns)
    projected = q.mT @ values[..., None]
    # a ridge on the diagonal: columns may coincide
    diagonal = torch.diagonal(r, dim1=-2, dim2=-1)
    tiny = 1e-13 * torch.where(diagonal < 0, -1.0, 1.0)
    safe = r + torch.diag_embed(torch.where(diagonal.abs() < 1e-12, tiny, torch.zeros_like(tiny)))
    weights = torch.linalg.solve_triangular(safe, projected, upper=True)[..., 0] / scale[:, 0]
    change = functional.pad(poles.derivatives(basis, weights, target.lags), (0, 0, 0, below))
    rest = values - (q @ projected)[..., 0]
    return rest.norm(dim=-1), change - q @ (q.mT @ change), rest


def _step(jacobian: Tensor, rest: Tensor, damping: Tensor) -> Tensor:
    scale = jacobian.norm(dim=1).clamp_min(1e-300)
    columns = jacobian / scale[:, None]
    gram = columns.mT @ columns
    gram = gram + torch.diag_embed((damping[:, None] + 1e-14).expand_as(scale))
    factor, _ = torch.linalg.cholesky_ex(gram)
    gradient = columns.mT @ rest[..., None]
    step = torch.cholesky_solve(gradient, factor)[..., 0] / scale
    return torch.nan_to_num(step, 0.0, 0.0, 0.0)
