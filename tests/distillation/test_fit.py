"""Poles found by each method, against responses of known poles."""

import math

import pytest
import torch

from mrconv.distillation import fit
from mrconv.distillation.fit import fit_poles
from mrconv.distillation.gradient import Gradient, gradient_poles
from mrconv.distillation.hankel import ending_vectors, hankel_vectors, lower_bounds
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
    lags = torch.arange(20, dtype=F64) ** 2
    basis = poles.at(lags)
    got = poles.derivatives(basis, weights, lags)
    for column in range(4):
        change = torch.zeros(1, 4, dtype=F64)
        change[0, column] = 1e-6
        ahead, behind = (poles.moved(sign * change).at(lags) for sign in (1, -1))
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


def test_a_ridge_adds_what_rounding_the_weights_adds():
    poles, taps, ridge = some_poles(), torch.randn(1, 30, dtype=F64), 0.3
    basis = poles.basis(30)
    scale = basis.norm(dim=1)
    below = ridge * torch.eye(basis.shape[-1], dtype=F64)[None]
    rows = torch.cat([basis / scale[:, None], below], 1)
    values = torch.cat([taps, torch.zeros(1, basis.shape[-1], dtype=F64)], 1)
    expected = torch.linalg.lstsq(rows, values[..., None]).solution[..., 0]
    assert_close(fit_residues(taps, poles, ridge), expected / scale)
    rest = values - (rows @ expected[..., None])[..., 0]
    assert_close(error_norms(taps, poles, ridge), rest.norm(dim=-1))
    reached = refine(taps, poles, ridge=ridge)
    assert_close(error_norms(taps, reached.poles, ridge), reached.error)
    assert float(reached.error) < float(rest.norm())


def test_coinciding_poles_do_not_make_large_residues():
    decay = torch.tensor([[0.1, 0.1 + 1e-12, 0.1 - 1e-12]], dtype=F64)
    taps = torch.randn(1, 50, dtype=F64)
    poles = Poles(decay, torch.zeros_like(decay), 3)
    assert float(fit_residues(taps, poles).abs().max()) > 1e8
    assert float(fit_residues(taps, poles, ridge=1e-7).abs().max()) < 1e3


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


# ------------------------------------------------------------------------- what follows the taps


def energy_behind(taps, fitted):
    """Norm of the response behind the taps over the norm of the taps, by running on for long."""
    found = torch.zeros(len(taps), dtype=F64)
    size = taps.shape[-1]
    for index, poles in fitted.by_structure():
        response = poles.basis(40 * size) @ fit_residues(taps[index], poles)[..., None]
        found[index] = response[:, size:, 0].norm(dim=-1) / taps[index].norm(dim=-1)
    return found


def test_refinement_with_a_tail_lowers_its_own_sum(fourier_filters):
    taps = fourier_filters(8, 256, range(2))[:, 32:]
    size = taps.shape[-1]
    lags = torch.cat([torch.arange(size), size + 8 * torch.arange(3 * size // 8)]).double()
    weights = torch.ones_like(lags)
    weights[size:] = 0.3 * 8**0.5

    def total(part, poles):
        basis = weights[:, None] * poles.at(lags)
        values = torch.nn.functional.pad(part, (0, len(lags) - size))
        found = torch.linalg.lstsq(basis, values[..., None], driver="gelsd").solution
        return (values - (basis @ found)[..., 0]).norm(dim=-1)

    for index, poles in grouped(kung_poles(hankel_vectors(taps, 6)[1], 6), 1e-3):
        reached = refine(taps[index], poles, tail=0.3)
        assert_close(reached.error, total(taps[index], reached.poles), 1e-6)
        assert (reached.error < total(taps[index], poles)).all()


def test_poles_ring_less_behind_the_taps_for_a_little_more_error(fourier_filters, monkeypatch):
    taps = fourier_filters(8, 512, range(6))[:, 64:]
    got = fitted(taps, 16)
    monkeypatch.setattr(fit, "TAILS", ())
    loud = fitted(taps, 16)
    assert (got.error <= 1.05 * loud.error).all()
    behind, before = energy_behind(taps, got), energy_behind(taps, loud)
    assert float(behind.log().mean()) < float(before.log().mean()) - 0.3
    assert float(behind.max()) < float(before.max())


def test_exact_poles_are_left_alone(pair_filter):
    slow = pair_filter([0.9995, 0.999], 400)  # rings on for thousands of samples, rightly
    got = fitted(slow, 4)
    assert float(got.error / slow.norm()) < 1e-10
    assert float(energy_behind(slow, got)) > 0.5


def test_poles_of_taps_that_end_are_stable(fourier_filters):
    taps = fourier_filters(8, 200, range(3))
    size = taps.shape[-1]
    padded = torch.nn.functional.pad(taps, (0, size - 1))
    u, values, _ = torch.linalg.svd(padded.unfold(-1, size, 1))
    vectors = ending_vectors(taps, 9)
    for order in (1, 4, 9):
        projected = u[..., :order].mT @ vectors[..., :order]
        if float((values[:, order - 1] / values[:, order]).min()) > 1.2:  # a subspace of its own
            assert float(torch.linalg.svdvals(projected).min()) > 0.99
        assert float(kung_poles(vectors, order).abs().max()) < 1


def waves_that_stop(seed, filters):
    """Sums of four harmonics each over 128, 256 and 512 samples, from sample 64 on.  (F, 448)."""
    seeded = torch.Generator().manual_seed(seed)
    t, rows, harmonics = torch.arange(64, 512, dtype=F64), [], torch.arange(4, dtype=F64)[:, None]
    for _ in range(filters):
        row = torch.zeros(448, dtype=F64)
        for end in (128, 256, 512):
            weights = torch.randn(4, 2, generator=seeded, dtype=F64) / (1 + harmonics)
            turn = 2 * torch.pi * harmonics * t / end
            parts = weights[:, :1] * turn.cos() + weights[:, 1:] * turn.sin()
            row += (t < end) * parts.sum(0) / end**0.5
        rows.append(row)
    return torch.stack(rows)


def test_high_orders_on_kernels_with_abrupt_ends(monkeypatch):
    taps = waves_that_stop(0, 9)[[3, 8]]
    bound = lower_bounds(taps, 64)[:, 64]
    assert (fitted(taps, 64).error <= 2.5 * bound).all()
    monkeypatch.setattr(fit, "STARTS", fit.STARTS[1:])
    assert (fitted(taps, 64).error > 3 * bound).any()  # what the silence behind the taps is for
