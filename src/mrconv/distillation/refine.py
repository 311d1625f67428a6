"""Variable projection: poles moved to the nearest best fit, residues following by least squares."""

from typing import NamedTuple

import torch
from torch import Tensor

from .poles import Poles

__all__ = ["EXACT", "Refined", "refine"]

#: Steps at most; a filter that gained less than ``LEAST_GAIN`` in ``PATIENCE`` steps stands still.
STEPS, LEAST_GAIN, PATIENCE = 100, 1e-3, 8
#: Relative errors below this are left alone.
EXACT = 1e-13


class Refined(NamedTuple):
    """Poles of the smallest error that was met, and its norm (F,)."""

    poles: Poles
    error: Tensor


def refine(taps: Tensor, poles: Poles, steps: int = STEPS) -> Refined:
    """Poles that lower | taps - basis w |, w the best weights, by damped Gauss-Newton steps.

    With basis = Q R the error is r = (I - Q Q') taps; to first order it changes by
    -(I - Q Q') d(basis w) (Kaufman's form), and each step solves

    (J'J + damping diag(J'J)) change = J' r,   J = (I - Q Q') d(basis w) / d(log decay, angle).

    Args:
        taps: Float64.                                               (F, K)
        poles: Where to start.
        steps: At most this many.

    Returns:
        The poles of the smallest error met, and its norm.

    Cost: O(K N^2) a step and filter.
    Source: Golub and Pereyra 1973, Kaufman 1975; damping as Levenberg and Marquardt.
    """
    damping = torch.full_like(taps[:, 0], 1e-2)
    error, jacobian, rest = _linearised(taps, poles)
    history, moving = [error], torch.ones_like(error, dtype=torch.bool)
    for _ in range(steps):
        trial = poles.moved(_step(jacobian, rest, damping))
        new_error, new_jacobian, new_rest = _linearised(taps, trial)
        better = moving & (new_error < error)
        poles = trial.where(better, poles)
        error = torch.where(better, new_error, error)
        jacobian = torch.where(better[:, None, None], new_jacobian, jacobian)
        rest = torch.where(better[:, None], new_rest, rest)
        damping = torch.where(better, damping / 4, damping * 5).clamp(1e-9, 1e6)
        history.append(error)
        # a filter that stands still stays there, so that its poles do not depend on the others
        moving = moving & (error > EXACT * taps.norm(dim=-1))
        if len(history) > PATIENCE:
            moving = moving & (error < (1 - LEAST_GAIN) * history[-1 - PATIENCE])
        if not moving.any():
            break
    return Refined(poles, error)


def _linearised(taps: Tensor, poles: Poles) -> tuple[Tensor, Tensor, Tensor]:
    """Norm of the error (F,), its Jacobian (F, K, N), and the error itself (F, K)."""
    basis = poles.basis(taps.shape[-1])
    scale = basis.norm(dim=1).clamp_min(1e-300)[:, None]
    q, r = torch.linalg.qr(basis / scale)
    projected = q.mT @ taps[..., None]
    # a ridge on the diagonal: columns may coincide
    diagonal = torch.diagonal(r, dim1=-2, dim2=-1)
    tiny = 1e-13 * torch.where(diagonal < 0, -1.0, 1.0)
    safe = r + torch.diag_embed(torch.where(diagonal.abs() < 1e-12, tiny, torch.zeros_like(tiny)))
    weights = torch.linalg.solve_triangular(safe, projected, upper=True)[..., 0] / scale[:, 0]
    change = poles.derivatives(basis, weights)
    rest = taps - (q @ projected)[..., 0]
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
