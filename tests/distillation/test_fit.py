"""Poles found by each method, against responses of known poles."""

import math

import pytest
import torch

from mrconv.distillation.fit import fit_poles
from mrconv.distillation.gradient import Gradient, gradient_poles
from mrconv.distillation.hankel import hankel_vectors, lower_bounds
from mrconv.distillation.kung import kung_poles
from mrconv.distillation.poles import Poles, grouped
from mrconv.distillation.refine import refine
from mrconv.distillation.residues import error_norms, fit_residues
from mrconv.distillation.vector_fitting import vector_fitting_poles
from mrconv.testing import assert_close

F64 = torch.float64


def fitted(taps, order):
    _, vectors = hankel_vectors(taps, min(order + 1, (taps.shape[-1] + 1) // 2))
    return fit_poles(taps, order, vectors)


def some_poles():
    """A real positive, a real negative pole, and a pair."""
    radius = torch.tensor([[0.9, 0.7, 0.8]], dtype=F64)
    return Poles(-radius.log(), torch.tensor([[0.0, math.pi, 1.1]], dtype=F64), 2)


def closed(poles):
    """Complex numbers of a ``Poles``, in the order of their angles."""
    upper = torch.polar(torch.exp(-poles.decay), poles.angle)
    return sorted(upper[0].tolist(), key=lambda pole: math.atan2(pole.imag, pole.real))


def test_basis_is_the_powers_of_the_poles():
    poles = some_poles()
    basis = poles.basis(9)[0]
    assert poles.order == 4
    for t in range(9):
        pair = (0.8 * complex(math.cos(1.1), math.sin(1.1))) ** t
        expected = torch.tensor([0.9**t, (-0.7) ** t, pair.real, pair.imag], dtype=F64)
        assert_close(basis[t], expected)


def test_derivatives_by_finite_differences():
    poles, weights = some_poles(), torch.randn(1, 4, dtype=F64)
    basis = poles.basis(20)
    got = poles.derivatives(basis, weights)
    for column in range(4):
        change = torch.zeros(1, 4, dtype=F64)
        change[0, column] = 1e-6
        ahead, behind = (poles.moved(sign * change).basis(20) for sign in (1, -1))
        slope = ((ahead - behind) @ weights[..., None])[0, :, 0] / 2e-6
        assert_close(got[0, :, column], slope, 1e-7)


def test_moved_stays_in_range():
    moved = (
        some_poles()._replace(least=1e-3).moved(torch.tensor([[-50.0, 50.0, 0.0, 9.0]], dtype=F64))
    )
    assert float(moved.decay.min()) >= 1e-3
    assert moved.angle[0, :2].tolist() == [0.0, math.pi]
    assert float(moved.angle[0, 2]) == pytest.approx(math.acos(math.cos(10.1)))


def test_grouped_reflects_and_sorts():
    numbers = torch.tensor([[2.0, 0.5j, -0.5j], [0.1, 0.2, -0.3]], dtype=torch.complex128)
    groups = {poles.reals: (index, poles) for index, poles in grouped(numbers, 1e-4)}
    index, one = groups[1]
    assert index.tolist() == [0]
    assert_close(torch.exp(-one.decay), torch.tensor([[0.5, 0.5]], dtype=F64))
    assert_close(one.angle, torch.tensor([[0.0, math.pi / 2]], dtype=F64))
    index, three = groups[3]
    assert index.tolist() == [1]
    assert three.angle[0].tolist() == [0.0, 0.0, math.pi]


@pytest.mark.parametrize("method", ["kung", "vector fitting"])
def test_known_poles_are_found(method):
    poles = some_poles()
    taps = (poles.basis(200) @ torch.tensor([1.0, -2.0, 0.5, 3.0], dtype=F64))[None, 0]
    if method == "kung":
        found = kung_poles(hankel_vectors(taps, 4)[1], 4)
    else:
        found = vector_fitting_poles(taps, 4, iterations=20)
    ((_, got),) = grouped(found, 1e-4)
    for ours, theirs in zip(closed(got), closed(poles), strict=True):
        assert abs(ours - theirs) < 1e-8


def test_residues_are_the_least_squares_ones():
    poles, taps = some_poles(), torch.randn(1, 30, dtype=F64)
    expected = torch.linalg.lstsq(poles.basis(30), taps[..., None]).solution[..., 0]
    assert_close(fit_residues(taps, poles), expected)
    rest = taps - (poles.basis(30) @ expected[..., None])[..., 0]
    assert_close(error_norms(taps, poles), rest.norm(dim=-1))


def test_coinciding_poles_do_not_make_large_residues():
    decay = torch.tensor([[0.1, 0.1 + 1e-12, 0.1 - 1e-12]], dtype=F64)
    taps = torch.randn(1, 50, dtype=F64)
    weights = fit_residues(taps, Poles(decay, torch.zeros_like(decay), 3), 1e-7)
    assert float(weights.abs().max()) < 10


def test_refinement_reaches_poles_nearby():
    poles = some_poles()
    taps = (poles.basis(100) @ torch.tensor([1.0, -2.0, 0.5, 3.0], dtype=F64))[None, 0]
    start = poles.moved(torch.tensor([[0.3, -0.2, 0.3, 0.1]], dtype=F64))
    before = error_norms(taps, start)
    reached = refine(taps, start)
    assert before > 0.1
    assert float(reached.error) < 1e-9
    assert_close(reached.poles.decay, poles.decay, 1e-6)


def test_refinement_never_makes_it_worse():
    taps = torch.randn(8, 60, dtype=F64)
    for _, poles in grouped(kung_poles(hankel_vectors(taps, 6)[1], 6), 1e-3):
        part = taps[: len(poles.decay)]
        assert (refine(part, poles).error <= error_norms(part, poles) * (1 + 1e-9)).all()


def test_exact_recovery_and_order(pair_filter):
    taps = pair_filter([0.98, 0.95, 0.9, 0.8], 511)
    got = fitted(taps, 8)
    assert float(got.error / taps.norm()) < 1e-10
    assert (got.decay[0] < 1).sum() == 4


@pytest.mark.parametrize(("kernel_size", "order"), [(1, 4), (1, 16), (8, 16)])
def test_within_five_times_the_bound_and_never_below(fourier_filters, kernel_size, order):
    taps = fourier_filters(kernel_size, 512, range(3))[:, 64:]
    got, bound = fitted(taps, order), lower_bounds(taps, order)[:, order]
    assert (got.error >= bound).all()
    assert (got.error <= 5 * bound).all()


def test_deterministic(fourier_filters):
    taps = fourier_filters(1, 200, range(2))
    first, second = fitted(taps, 5), fitted(taps, 5)
    assert torch.equal(first.decay, second.decay) and torch.equal(first.angle, second.angle)
    alone = fitted(taps[1:], 5)
    assert_close(alone.error, first.error[1:], 1e-4)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_few_taps(size, order):
    got = fitted(torch.randn(2, size, dtype=F64), order)
    assert got.error.isfinite().all() and got.decay.isfinite().all()


def test_by_structure_holds_every_filter_once(fourier_filters):
    taps = torch.cat([fourier_filters(1, 200, range(5)), torch.zeros(1, 200, dtype=F64)])
    got = fitted(taps, 5)
    groups = got.by_structure()
    assert sorted(torch.cat([index for index, _ in groups]).tolist()) == list(range(6))
    for index, poles in groups:
        reached = error_norms(taps[index], poles)
        assert_close(reached, got.error[index], 1e-6)


@pytest.mark.parametrize("order", [1, 4, 5])
def test_gradient_descent(pair_filter, order):
    taps = pair_filter([0.9, 0.8], 60)
    got = gradient_poles(taps, order, Gradient(steps=300, rate=3e-2))
    assert float(got.error) < float(taps.norm())
    assert (got.decay > 0).all()
    again = gradient_poles(taps, order, Gradient(steps=300, rate=3e-2))
    assert torch.equal(again.angle, got.angle)
