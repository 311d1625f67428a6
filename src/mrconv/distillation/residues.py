"""Residues of given poles by least squares on the taps."""

import torch
from torch import Tensor

from .poles import Poles

__all__ = ["error_norms", "fit_residues"]


#: Directions of a smaller singular value, relative to the largest, are rounding.
SMALLEST = 1e-13


def fit_residues(taps: Tensor, poles: Poles, ridge: float = 0.0) -> Tensor:
    """Weights of the poles' exponentials that come closest to the taps in norm.

    min_w | taps - basis w |^2 + ridge^2 | w |^2, columns of unit norm. The second term is the error
    that is to be expected from rounding w: without it, close poles buy little by large weights that
    cancel each other.

    Args:
        taps: Float64.                                               (F, K)
        poles: Of the filters.
        ridge: Relative error of the numbers that the weights will be stored in.

    Returns:
        One weight a column of ``poles.basis``.                      (F, N)

    Example:
        >>> import torch
        >>> from mrconv.distillation.poles import Poles
        >>> from mrconv.distillation.residues import fit_residues
        >>> halving = 3 * 0.5 ** torch.arange(9, dtype=torch.float64)[None]
        >>> decay = torch.tensor([[2.0]], dtype=torch.float64).log()
        >>> fit_residues(halving, Poles(decay, torch.zeros_like(decay), 1)).round(decimals=6)
        tensor([[3.]], dtype=torch.float64)
    """
    basis = poles.basis(taps.shape[-1])
    scale = basis.norm(dim=1).clamp_min(1e-300)
    q, r = torch.linalg.qr(basis / scale[:, None])
    # the small factor carries the singular values
    left, values, right = torch.linalg.svd(r)
    kept = values > SMALLEST * values[:, :1]
    inverse = torch.where(kept, values / (values.square() + ridge**2), 0)
    projected = left.mT @ (q.mT @ taps[..., None])
    return (right.mT @ (inverse[..., None] * projected))[..., 0] / scale


def error_norms(taps: Tensor, poles: Poles, ridge: float = 0.0) -> Tensor:
    """sqrt(| taps - basis w |^2 + ridge^2 | w |^2) with the best weights.        (F,)."""
    basis = poles.basis(taps.shape[-1])
    weights = fit_residues(taps, poles, ridge)
    error = (taps - (basis @ weights[..., None])[..., 0]).norm(dim=-1)
    return torch.hypot(error, ridge * (weights * basis.norm(dim=1)).norm(dim=-1))
