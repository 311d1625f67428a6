"""Residues of given poles by least squares on the taps."""

import torch
from torch import Tensor

from .poles import Poles

__all__ = ["error_norms", "fit_residues"]


def fit_residues(taps: Tensor, poles: Poles, precision: float = 1e-13) -> Tensor:
    """Weights of the poles' exponentials that come closest to the taps in norm.

    min_w | taps - basis w |, columns of unit norm, directions of relative singular value below
    ``precision`` left out: they would buy little by large weights that cancel each other.

    Args:
        taps: Float64.                                               (F, K)
        poles: Of the filters.
        precision: Of the numbers that the weights will be stored in.

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
    inverse = torch.where(values > precision * values[:, :1], 1 / values, 0)
    projected = left.mT @ (q.mT @ taps[..., None])
    return (right.mT @ (inverse[..., None] * projected))[..., 0] / scale


def error_norms(taps: Tensor, poles: Poles) -> Tensor:
    """| taps - basis w | with the best weights.                                    (F,)."""
    basis = poles.basis(taps.shape[-1])
    return (taps - (basis @ fit_residues(taps, poles)[..., None])[..., 0]).norm(dim=-1)
