"""HiPPO-LegS: the state matrix that S4 and S5 start from, in the basis of its normal part."""

from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["Legs", "legs"]


class Legs(NamedTuple):
    """The system x' = A x + b u, A = V (diag(lambda) - p p*) V*, of order N.

    Eigenvalues come in conjugate pairs; of each pair the one above the real axis is kept, so that
    complex tensors have N / 2 entries and v x = 2 Re(v V) (V* x) for real v and x.
    """

    matrix: Tensor
    """A, float64.                                                        (N, N)"""
    source: Tensor
    """b, float64.                                                          (N,)"""
    eigenvalues: Tensor
    """lambda of the normal part A + p p*, complex128, ascending imaginary part.  (N / 2,)"""
    basis: Tensor
    """Eigenvectors V, complex128.                                    (N, N / 2)"""
    low_rank: Tensor
    """p in that basis, complex128.                                     (N / 2,)"""


def legs(order: int) -> Legs:
    """HiPPO-LegS, which keeps Legendre coefficients of the past stretched over all of it:

    A[n, k] = -sqrt(2 n + 1) sqrt(2 k + 1) for n > k, -(n + 1) for n = k, 0 for n < k
    b[n] = sqrt(2 n + 1),  p[n] = sqrt(n + 1 / 2)

    A + p p^T is -1/2 plus a skew-symmetric matrix, hence normal: real parts are -1/2.

    Args:
        order: N, even.

    Returns:
        The system, on the CPU.

    Source: Gu et al. 2020 and 2022 (S4, theorem 1).

    Example:
        >>> from mrconv.kernels.hippo import legs
        >>> legs(2).eigenvalues
        tensor([-0.5000+0.8660j], dtype=torch.complex128)
    """
    n = torch.arange(order, dtype=torch.float64)
    source, low_rank = (2 * n + 1).sqrt(), (n + 0.5).sqrt()
    matrix = -torch.outer(source, source).tril(-1) - torch.diag(n + 1)
    skew = matrix + torch.outer(low_rank, low_rank) + 0.5 * torch.eye(order, dtype=torch.float64)
    frequency, basis = torch.linalg.eigh(-1j * skew)  # ascending
    frequency, basis = frequency[order // 2 :], basis[:, order // 2 :]
    projected = basis.mH @ low_rank.to(basis.dtype)
    return Legs(matrix, source, torch.complex(-0.5 + 0 * frequency, frequency), basis, projected)
