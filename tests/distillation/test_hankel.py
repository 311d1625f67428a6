"""Hankel spectra and lower bounds against explicit matrices and fitted recurrences."""

import math

import pytest
import scipy.linalg
import torch

from mrconv.distillation import hankel
from mrconv.distillation.hankel import (
    hankel_vectors,
    lower_bounds,
    order_from_spectrum,
    singular_values,
)
from mrconv.testing import assert_close

F64 = torch.float64


def explicit(taps, rows):
    """H[i, j] = taps[i + j], entry by entry."""
    size = len(taps)
    values = [[float(taps[i + j]) for j in range(size - rows + 1)] for i in range(rows)]
    return torch.tensor(values, dtype=F64)


@pytest.mark.parametrize("size", [1, 2, 3, 8, 33])
def test_singular_values_are_those_of_the_explicit_matrix(size):
    taps = torch.randn(2, size, dtype=F64)
    n = (size + 1) // 2
    for one, values in zip(taps, singular_values(taps), strict=True):
        matrix = scipy.linalg.hankel(one[:n].numpy(), one[n - 1 : 2 * n - 1].numpy())
        assert_close(values, torch.from_numpy(scipy.linalg.svdvals(matrix)), 1e-12)


def test_vectors_diagonalise():
    taps = torch.randn(3, 21, dtype=F64)
    values, vectors = hankel_vectors(taps, 4)
    assert_close(values, singular_values(taps)[:, :4])
    for one, sigma, u in zip(taps, values, vectors, strict=True):
        product = explicit(one, 11) @ u
        assert_close(product.norm(dim=0), sigma)
        assert_close(u.T @ u, torch.eye(4, dtype=F64))


def test_randomised_agrees_with_dense(fourier_filters, monkeypatch):
    taps = fourier_filters(1, 512, range(2))
    dense, vectors = hankel_vectors(taps, 8)
    monkeypatch.setattr(hankel, "DENSE", 100)
    values, others = hankel_vectors(taps, 8)
    assert_close(values, dense, 1e-3)
    overlap = torch.linalg.svdvals(vectors[..., :4].mT @ others[..., :4])
    assert (overlap > 1 - 1e-4).all()


@pytest.mark.parametrize("order", [1, 2, 5])
def test_rank_is_the_order(pair_filter, order):
    taps = pair_filter([0.9, 0.8, 0.7, 0.6, 0.5][:order], 200)
    assert order_from_spectrum(singular_values(taps), 1e-10).tolist() == [2 * order]


def test_order_from_spectrum_is_per_filter():
    values = torch.tensor([[1.0, 0.1, 0.01], [0.0, 0.0, 0.0]])
    assert order_from_spectrum(values, 0.05).tolist() == [2, 0]
    assert order_from_spectrum(values, torch.tensor([[0.5], [0.5]])).tolist() == [1, 0]


def test_no_recurrence_is_below_the_bound():
    """Best of many random recurrences of order 2 with least squares residues."""
    taps = torch.randn(4, 24, dtype=F64)
    bounds = lower_bounds(taps, 2)
    t = torch.arange(24, dtype=F64)
    best = taps.norm(dim=-1)
    for _ in range(2000):
        r, theta = torch.rand(2, dtype=F64)
        basis = torch.stack([r**t * (3.2 * theta * t).cos(), r**t * (3.2 * theta * t).sin()], 1)
        q, _ = torch.linalg.qr(basis)
        best = torch.minimum(best, (taps - taps @ q @ q.T).norm(dim=-1))
    assert (bounds[:, 2] <= best).all()
    assert (bounds[:, 2] > 0.2 * best).all()
    assert_close(bounds[:, 0], taps.norm(dim=-1), 0.5)
    assert (bounds[:, :-1] >= bounds[:, 1:]).all()


def test_the_weights_count_no_tap_more_than_once():
    """w[t] = sum_{i + j = t} a[i]^2 b[j]^2 is 1 for t < n and below it behind."""
    n = 9
    series = [math.comb(2 * i, i) / 4**i for i in range(n)]
    weights = [
        sum(series[i] * series[t - i] for i in range(n) if 0 <= t - i < n) for t in range(2 * n - 1)
    ]
    assert weights[:n] == pytest.approx([1] * n)
    assert max(weights[n:]) < 1
    taps = torch.randn(1, 2 * n - 1, dtype=F64)
    root = torch.tensor(series, dtype=F64).sqrt()
    block = root[:, None] * explicit(taps[0], n) * root
    expected = torch.linalg.svdvals(block)[3:].norm()
    assert float(lower_bounds(taps, 3)[0, 3]) >= float(expected) * (1 - 1e-9)
    total = (torch.tensor(weights, dtype=F64) * taps[0] ** 2).sum().sqrt()
    assert_close(block.norm(), total)


def test_bounds_of_long_taps_by_phases(monkeypatch):
    taps = torch.randn(2, 500, dtype=F64)
    whole = lower_bounds(taps, 4)
    monkeypatch.setattr(hankel, "DENSE", 200)
    phases = lower_bounds(taps, 4)
    assert (phases > 0.5 * whole).all()
    assert (phases <= taps.norm(dim=-1, keepdim=True)).all()


def test_bounds_are_0_for_what_a_recurrence_can_be(pair_filter):
    bounds = lower_bounds(pair_filter([0.95, 0.9], 300), 6)
    assert (bounds[0, :4] > 1e-3).all()
    assert (bounds[0, 4:] < 1e-12).all()


@pytest.mark.parametrize("size", [1, 2, 3])
def test_few_taps(size):
    assert lower_bounds(torch.ones(1, size, dtype=F64), 3).shape == (1, 4)
    assert hankel_vectors(torch.zeros(2, size, dtype=F64), 1)[0].tolist() == [[0.0], [0.0]]
