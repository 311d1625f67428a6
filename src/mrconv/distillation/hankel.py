"""The Hankel spectrum of impulse responses: how many states they need, and how few cannot do.

The Hankel matrix H[i, j] = h[i + j] of a recurrence of order N has rank N (Kronecker).
"""

import math

import torch
from torch import Tensor, nn

__all__ = [
    "ending_vectors",
    "hankel_vectors",
    "lower_bounds",
    "order_from_spectrum",
    "singular_values",
]

#: Taps up to which the matrix is decomposed as a whole.
DENSE = 2048
#: Random vectors beyond the wanted rank, and multiplications by H^2, of the randomised form.
EXTRA, POWERS = 10, 2
#: What rounding may add to a bound, relative to the norm of the taps.
ROUNDING = 1e-13


def hankel_vectors(taps: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    """The largest singular values of each Hankel matrix, and their left singular vectors.

    H[i, j] = taps[i + j] with i, j < n = (K + 1) // 2: a square matrix, symmetric, whose singular
    values are the magnitudes of its eigenvalues. Beyond ``DENSE`` taps by random projection.

    Args:
        taps: Float64.                                               (F, K)
        rank: Number of values, at most n.

    Returns:
        Singular values (F, rank), descending, and vectors (F, n, rank).

    Cost: O(n^3) a filter; randomised O(rank n log n) by FFT.
    Source: Halko et al. 2011 for the randomised form.

    Example:
        >>> import torch
        >>> from mrconv.distillation.hankel import hankel_vectors
        >>> halving = 0.5 ** torch.arange(9, dtype=torch.float64)
        >>> values, vectors = hankel_vectors(halving[None], 2)
        >>> bool(values[0, 1] < 1e-15 * values[0, 0])
        True
    """
    if taps.shape[-1] > DENSE and rank + EXTRA < taps.shape[-1] // 8:
        return _randomised(taps, rank)
    values, vectors = torch.linalg.eigh(_square(taps))
    order = values.abs().argsort(-1, descending=True)[..., :rank]
    vectors = vectors.gather(-1, order[..., None, :].expand(-1, vectors.shape[1], -1))
    return values.abs().gather(-1, order), vectors


def ending_vectors(taps: Tensor, rank: int) -> Tensor:
    """Left singular vectors of the Hankel matrix of taps that end: zeros stand behind them.

    H[i, j] = taps[i + j], or 0 from K on, with i, j < K, by random projection. Poles from the shift
    of these vectors lie inside the circle and have died down behind the taps (balanced
    truncation); those of ``hankel_vectors`` go on as the taps do.

    Args:
        taps: Float64.                                               (F, K)
        rank: Number of vectors, at most K.

    Returns:
        (F, K, rank).

    Cost: O(rank K log K) a filter.
    Source: Kung 1978; Pernebo and Silverman 1982 for the stability.
    """
    return _randomised(nn.functional.pad(taps, (0, taps.shape[-1] - 1)), rank)[1]


def singular_values(taps: Tensor) -> Tensor:
    """All singular values of each square Hankel matrix, descending.

    Args:
        taps: Float64.                                               (F, K)

    Returns:
        (F, (K + 1) // 2).
    """
    return torch.linalg.eigvalsh(_square(taps)).abs().sort(-1, descending=True).values


def order_from_spectrum(values: Tensor, tolerance: Tensor | float) -> Tensor:
    """The smallest order N with sigma[N] <= tolerance sigma[0], of each filter: a first guess.

    Kung's error in norm over sigma[N] / sigma[0] has the median 1.04 and 80 % of its values between
    0.43 and 1.58 (72 kernels and orders), so the error of the fit is measured afterwards.

    Args:
        values: Singular values, descending.                         (F, n)
        tolerance: Relative to the taps that the values are of; one, or one a filter (F, 1).

    Returns:
        Orders, int64; n where none is small enough.                    (F,)
    """
    return (values > tolerance * values[:, :1]).sum(-1)


def lower_bounds(taps: Tensor, max_order: int) -> Tensor:
    """Norms of error over the taps that no recurrence of order 0..max_order can go below.

    For weights a, b >= 0 and any recurrence of order N, with e the error of its taps,

    sum_{k >= N} sigma_k(D_a H D_b)^2  <=  || D_a (H - G) D_b ||_F^2  =  sum_t w[t] e[t]^2

    with w[t] = sum_{i + j = t} a[i]^2 b[j]^2, because D_a G D_b has rank N at most (Eckart and
    Young). Divided by max w it bounds |e|^2. Tried are rows of 1 in blocks of several heights, and
    a[i]^2 = b[i]^2 = binom(2 i, i) / 4^i, the series of (1 - z)^(-1/2), whose square is
    1 + z + z^2 + ...: every tap of the first half then has w = 1. The largest bound is kept.
    Taps beyond ``DENSE`` are taken in phases h[s], h[s + k], ..., which are recurrences of the same
    order, and the squares of their bounds added.

    Args:
        taps: Those behind the explicit head, float64.               (F, K)
        max_order: Largest order.

    Returns:
        Bounds, in the unit of the taps.                 (F, max_order + 1)

    Cost: O(K^3) a filter, O(K DENSE^2) for long ones.
    Source: the plain blocks are ours (notes on streaming, 1.4), so are the weights.

    Example:
        >>> import torch
        >>> from mrconv.distillation.hankel import lower_bounds
        >>> spike = torch.zeros(1, 9, dtype=torch.float64)
        >>> spike[0, 4] = 1.0  # the counter-identity: every order up to 4 must miss some of it
        >>> bool(lower_bounds(spike, 4)[0, 4] > 0.4)
        True
    """
    size = taps.shape[-1]
    if size > DENSE:
        phases = math.ceil(size / (DENSE // 2))
        parts = [lower_bounds(taps[:, start::phases], max_order) for start in range(phases)]
        return torch.stack(parts).square().sum(0).sqrt()
    bounds = [_left_over(_weighted(taps), max_order)]
    rows = (size + 1) // 2
    while rows > max_order and len(bounds) < 4:
        block = taps.unfold(-1, size - rows + 1, 1)
        bounds.append(_left_over(block, max_order) / rows**0.5)
        rows //= 2
    best = torch.stack(bounds).amax(0)
    return (best - ROUNDING * taps.norm(dim=-1, keepdim=True)).clamp_min(0)


def _square(taps: Tensor) -> Tensor:
    """H of each filter; the last of an even number of taps stays out.        (F, n, n)."""
    return taps.unfold(-1, (taps.shape[-1] + 1) // 2, 1)[:, : (taps.shape[-1] + 1) // 2]


def _weighted(taps: Tensor) -> Tensor:
    square = _square(taps)
    i = torch.arange(1, square.shape[-1], dtype=taps.dtype, device=taps.device)
    series = torch.cat([torch.ones_like(i[:1]), ((2 * i - 1) / (2 * i)).cumprod(0)])
    if not len(i):
        return square
    return series[:, None].sqrt() * square * series.sqrt()


def _left_over(block: Tensor, max_order: int) -> Tensor:
    """sqrt(sum_{k >= N} sigma_k^2) for N = 0..max_order.             (F, max_order + 1)."""
    if block.shape[-1] == block.shape[-2]:
        squares = torch.linalg.eigvalsh(block).square().sort(-1).values
    else:
        squares = torch.linalg.svdvals(block).square().flip(-1)
    rest = squares.cumsum(-1).flip(-1).sqrt()  # from the smallest up: no cancellation
    missing = max(0, max_order + 1 - rest.shape[-1])
    return nn.functional.pad(rest, (0, missing))[:, : max_order + 1]


def _randomised(taps: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    rows = (taps.shape[-1] + 1) // 2
    seeded = torch.Generator().manual_seed(0)
    probes = torch.randn(rows, rank + EXTRA, generator=seeded, dtype=taps.dtype).to(taps.device)
    size = 1 << (taps.shape[-1] + rows).bit_length()
    spectrum = torch.fft.rfft(taps[:, : 2 * rows - 1], size)[:, :, None]

    def times(vectors: Tensor) -> Tensor:
        # (H v)[i] = sum_j h[i + j] v[j], a correlation
        product = spectrum * torch.fft.rfft(vectors.flip(-2), size, dim=-2)
        return torch.fft.irfft(product, size, dim=-2)[..., rows - 1 : 2 * rows - 1, :]

    basis = torch.linalg.qr(times(probes.expand(len(taps), -1, -1))).Q
    for _ in range(POWERS):
        basis = torch.linalg.qr(times(basis)).Q
    vectors, values, _ = torch.linalg.svd(times(basis), full_matrices=False)
    return values[:, :rank], vectors[..., :rank]
