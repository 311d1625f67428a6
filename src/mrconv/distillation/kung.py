"""Kung's method: poles from the shift of the Hankel matrix's leading singular vectors."""

import torch
from torch import Tensor

__all__ = ["kung_poles"]


def kung_poles(vectors: Tensor, order: int) -> Tensor:
    """The eigenvalues of A with U[1:] = U[:-1] A in least squares, U the first N vectors.

    U has orthonormal columns, so that pinv(U[:-1]) = (I + v v' / (1 - v'v)) U[:-1]' with v' the
    last row of U.

    Args:
        vectors: Left singular vectors of the Hankel matrices.    (F, n, >= N)
        order: N, below n.

    Returns:
        Poles, closed under conjugation; may lie outside the unit circle.  (F, N)

    Source: Kung 1978; the shift is also that of ESPRIT (Roy and Kailath 1989).

    Example:
        >>> import torch
        >>> from mrconv.distillation.hankel import hankel_vectors
        >>> from mrconv.distillation.kung import kung_poles
        >>> halving = 0.5 ** torch.arange(9, dtype=torch.float64)
        >>> round(float(kung_poles(hankel_vectors(halving[None], 1)[1], 1).real), 6)
        0.5
    """
    leading = vectors[..., :order]
    upper, lower, last = leading[:, :-1], leading[:, 1:], leading[:, -1]
    product = upper.mT @ lower
    rest = (1 - last.square().sum(-1)).clamp_min(1e-12)[:, None, None]
    shift = product + last[..., None] * (last[:, None] @ product) / rest
    return torch.linalg.eigvals(shift)
