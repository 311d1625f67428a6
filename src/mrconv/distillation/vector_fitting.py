"""Vector fitting: poles from linear least squares in frequency, moved until they stand still."""

import math

import torch
from torch import Tensor

__all__ = ["vector_fitting_poles"]

ITERATIONS, RADIUS = 8, 0.99


def vector_fitting_poles(taps: Tensor, order: int, iterations: int = ITERATIONS) -> Tensor:
    """Poles of a rational function close to the taps' frequency response.

    Each iteration solves p(z) = s(z) h(z) in least squares on the unit circle, with
    p = sum_n a_n phi_n and s = 1 + sum_n b_n phi_n in the exponentials phi_n of the present poles;
    the zeros of s are the next poles, those outside the circle reflected into it.

    Args:
        taps: Float64.                                               (F, K)
        order: N.
        iterations: How often.

    Returns:
        Poles, closed under conjugation, inside the circle.           (F, N)

    Cost: O(K N^2) an iteration and filter.
    Source: Gustavsen and Semlyen 1999, in z as Mrozowski and others.

    Example:
        >>> import torch
        >>> from mrconv.distillation.vector_fitting import vector_fitting_poles
        >>> halving = 0.5 ** torch.arange(60, dtype=torch.float64)
        >>> round(float(vector_fitting_poles(halving[None], 1).real), 6)
        0.5
    """
    size = taps.shape[-1]
    spectrum = torch.fft.rfft(taps, 2 * size)
    omega = torch.linspace(0, math.pi, size + 1, dtype=taps.dtype, device=taps.device)
    delay = torch.exp(-1j * omega)
    matrix = _block_diagonal(_ring(taps, order))
    for _ in range(iterations):
        matrix = _block_diagonal(_moved(matrix, spectrum, delay))
    return torch.linalg.eigvals(matrix)


def _ring(taps: Tensor, order: int) -> Tensor:
    """Poles evenly spread on a circle, one of them real if the order is odd.        (F, N)."""
    half = order // 2
    angles = (
        (torch.arange(half, dtype=taps.dtype, device=taps.device) + 0.5) * math.pi / max(half, 1)
    )
    upper = RADIUS * torch.exp(1j * angles)
    middle = torch.full((order % 2,), RADIUS, dtype=upper.dtype, device=taps.device)
    return torch.cat([middle, upper, upper.conj()]).expand(len(taps), -1)


def _block_diagonal(poles: Tensor) -> Tensor:
    """A real matrix of these eigenvalues, reflected into the circle: rotations and real numbers."""
    radius = poles.abs().clamp_min(1e-12)
    radius = torch.where(radius >= 1, 1 / radius, radius).clamp_max(1 - 1e-9)
    poles = torch.polar(radius, poles.angle())
    matrix = torch.zeros(*poles.shape, poles.shape[-1], dtype=radius.dtype, device=poles.device)
    for f, row in enumerate(poles.tolist()):
        i = 0
        for pole in row:
            if abs(pole.imag) <= 1e-14 * abs(pole):  # polar leaves r sin(pi) on the negative axis
                matrix[f, i, i] = pole.real
                i += 1
            elif pole.imag > 0:
                block = [[pole.real, -pole.imag], [pole.imag, pole.real]]
                matrix[f, i : i + 2, i : i + 2] = torch.tensor(block, dtype=radius.dtype)
                i += 2
    return matrix


def _moved(matrix: Tensor, spectrum: Tensor, delay: Tensor) -> Tensor:
    """The zeros of s, eigenvalues of A - B b' for phi(z) = (I - A z^-1)^-1 B.        (F, N)."""
    order = matrix.shape[-1]
    phi = _exponentials(matrix, delay)  # (F, K + 1, N)
    # s with a strictly proper part: z^-1 phi, so that the zeros are those of A - B b'
    shifted = delay[:, None] * phi
    columns = torch.cat([phi, -spectrum[..., None] * shifted], -1)
    real = torch.cat([columns.real, columns.imag], 1)
    target = torch.cat([spectrum.real, spectrum.imag], 1)[..., None]
    scale = real.norm(dim=1).clamp_min(1e-300)
    q, r = torch.linalg.qr(real / scale[:, None])
    # the lower right block of R alone decides b
    corner, right = r[:, order:, order:], (q.mT @ target)[:, order:]
    b = torch.linalg.lstsq(corner, right, rcond=1e-12, driver="gelsd").solution[..., 0]
    b = b / scale[:, order:]
    inputs = torch.ones_like(b)
    return torch.linalg.eigvals(matrix - inputs[..., None] * b[:, None])


def _exponentials(matrix: Tensor, delay: Tensor) -> Tensor:
    """(I - A z^-1)^-1 (1, ..., 1)' for the block diagonal A.                   (F, K + 1, N)."""
    diagonal = torch.diagonal(matrix, dim1=-2, dim2=-1)
    above = torch.nn.functional.pad(torch.diagonal(matrix, 1, dim1=-2, dim2=-1), (0, 1))
    below = torch.nn.functional.pad(torch.diagonal(matrix, -1, dim1=-2, dim2=-1), (1, 0))
    off = above + below  # -imag in the first row of a block, imag in the second, 0 for a real pole
    z = delay[:, None]
    own = 1 - diagonal[:, None] * z
    # inverse of [[own, i z], [-i z, own]] with row sums own -+ ...
    return (own + off[:, None] * z) / (own.square() + (off[:, None] * z).square())
