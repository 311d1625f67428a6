"""``bench distill``: the filters it fits, its rows and bars, trained kernels, and the picture."""

import math

import numpy as np
import pytest
import torch

import mrconv
from mrconv.bench import Options, selected
from mrconv.bench import distill_gradient as gradient_file
from mrconv.bench import distill_limits as limits
from mrconv.bench.distill import distill_cases
from mrconv.bench.distill_errors import Bars, error_rows, geometric_mean
from mrconv.bench.distill_exact import modal_rows, pair_rows, s4d_rows
from mrconv.bench.distill_gradient import Race, gradient_rows
from mrconv.bench.distill_models import trained_taps
from mrconv.bench.filters import FAMILIES, branch_taps, conv_of, family_taps, pair_taps, s4d_conv
from mrconv.distillation import Gradient, distill
from mrconv.distillation.fit import Fitted
from mrconv.distillation.gradient import gradient_poles
from mrconv.errors import ArgumentError
from mrconv.kernels import FourierKernel
from mrconv.nn import ModalRecurrence

F64 = torch.float64


def by_name(rows):
    found = list(rows)
    assert len({row.name for row in found}) == len(found)
    return {row.name: row for row in found}


# -------------------------------------------------------------------------------------- filters


def test_branches_have_unit_energy_and_gains_that_halve():
    taps = branch_taps("fourier", 4, 20, seed=7)
    torch.manual_seed(7)
    for i, span in enumerate((4, 8, 16)):
        part = FourierKernel(1, 4, i, dtype=F64).taps()[0].detach()
        taps[:span] -= part / part.square().sum().sqrt() / 2**i
    assert float(taps.abs().max()) < 1e-15


@pytest.mark.parametrize("family", FAMILIES)
def test_a_filter_depends_on_its_seed_only(family):
    before = torch.get_rng_state()
    taps = family_taps(family, 64, 3, seed=5)
    assert torch.equal(torch.get_rng_state(), before)
    assert (taps.shape, taps.dtype) == ((3, 64), F64)
    assert torch.equal(taps[2], family_taps(family, 64, 1, seed=7)[0])
    assert not torch.allclose(taps[0], taps[1])


def test_pairs_keep_the_recurrence_of_their_poles():
    radii, angles = np.array([0.9, 0.5]), np.linspace(0.3, 2.6, 2)
    poles = radii * np.exp(1j * angles)
    polynomial = np.poly([*poles, *poles.conj()]).real
    taps = pair_taps((0.9, 0.5), 40, seed=1).numpy()
    assert np.abs(np.convolve(taps, polynomial)[4:40]).max() < 1e-14
    assert np.abs(taps).max() > 0.1


def test_s4d_remembers_by_its_time_step():
    decay, _, _ = s4d_conv(0.01, 64, seed=0).past.modes()
    assert torch.allclose(decay, torch.full_like(decay, 0.005))


# ----------------------------------------------------------------------------------------- rows


def test_error_rows_are_those_of_the_reports():
    taps, curves = family_taps("dilated", 128, 3, seed=0), {}
    bars = Bars(error={4: 1.0}, ratio={4: 5.0})
    rows = by_name(error_rows("dilated", taps, (2, 4), curves, bars))
    for order in (2, 4):
        filters = distill(conv_of(taps), order=order, fir_head=64)[1].layers[0].filters
        errors = [one.error for one in filters]
        ratios = [one.error / one.lower_bound for one in filters]
        error = rows[f"dilated, order {order}: error"]
        assert error.value == pytest.approx(math.prod(errors) ** (1 / 3), rel=1e-9)
        assert curves["error"][order] == error.value
        largest = rows[f"dilated, order {order}: error / lower bound, largest"]
        smallest = rows[f"dilated, order {order}: error / lower bound, smallest"]
        assert largest.value == pytest.approx(max(ratios), rel=1e-9)
        assert smallest.value == pytest.approx(min(ratios), rel=1e-9)
        assert (smallest.bar, smallest.holds) == (1.0, True)
        assert (error.bar, largest.bar) == ((1.0, 5.0) if order == 4 else (None, None))
        assert rows[f"dilated, order {order}: time a filter"].value > 0
    assert set(curves) == {"error", "lower bound"}


def test_no_error_is_divided_by_a_bound_of_rounding():
    taps = pair_taps((0.9,), 200, seed=0)[None]
    rows = by_name(error_rows("pair", taps, (2,), {}, Bars()))
    assert not [name for name in rows if "/" in name]
    assert rows["pair, order 2: error"].value < 1e-12


def test_the_geometric_mean_of_zeros_is_tiny_not_zero():
    assert geometric_mean([0.0, 0.0]) == pytest.approx(1e-17)


def test_filters_that_are_recurrences_hold_their_bars():
    rows = by_name([*pair_rows(0), *modal_rows(256, 0)])
    assert all(row.holds for row in rows.values())
    assert rows["4 conjugate pairs, 512 taps, float64: order found"].value == 8
    assert len(rows) == 5


def test_s4d_converted_fitted_and_told_where_the_window_is_too_short():
    rows = by_name(s4d_rows(1024, 0))
    bars = {name: row.bar for name, row in rows.items() if row.bar is not None}
    assert sorted(bars.values()) == [1e-12] * 6 + [1e-8] * 4 + [2]
    assert all(rows[name].holds for name in bars)


def test_the_race_takes_the_best_rate_of_every_filter(monkeypatch):
    monkeypatch.setattr(gradient_file, "RATES", (1e-3, 1e-1))
    taps = family_taps("dense", 100, 2, seed=0)
    race = Race(("a", "b"), taps[:, 8:], taps.norm(dim=-1), 4, 30, 0)
    curves = {"b": {"error": {4: 0.5}}}
    rows = by_name(gradient_rows(race, curves))
    errors = [gradient_poles(race.taps, 4, Gradient(30, rate)).error for rate in (1e-3, 1e-1)]
    best = torch.minimum(*errors)
    filters = distill(conv_of(taps), order=4, fir_head=8)[1].layers[0].filters
    for i, name in enumerate("ab"):
        row = rows[f"{name}, order 4: error, hankel / gradient at its best of 2 rates"]
        ours = filters[i].error * float(race.norms[i])
        assert row.value == pytest.approx(ours / float(best[i]), rel=1e-6)
        assert (row.bar, row.better) == (1.05, "lower")
        # b stands for a family whose error is 0.5
        expected = float(best[i] / race.norms[i]) if name == "a" else 0.5 / row.value
        assert curves[name]["gradient"][4] == pytest.approx(expected)
    times = rows["order 4, 2 filters: time, gradient at one rate / hankel"]
    slow = rows["order 4, 2 filters, 30 steps of Adam: time"].value
    assert times.value == pytest.approx(slow / rows["order 4, 2 filters, hankel: time"].value)
    assert (times.bar, times.better) == (20.0, "higher")


def test_special_kernels_and_a_bad_fit_hold():
    rows = by_name([*limits.special_rows(), *limits.bad_fit_rows()])
    assert len(rows) == 9
    assert all(row.holds for row in rows.values())


def test_a_good_fit_is_no_bad_one(monkeypatch):
    def right(taps, order, vectors, *, ridge):
        decay = -torch.tensor([[0.97, 0.9]], dtype=F64).log()
        return Fitted(decay, torch.zeros_like(decay), 0 * taps.norm(dim=-1))

    monkeypatch.setattr(limits, "_careless", right)
    (row,) = limits.bad_fit_rows()
    assert math.isnan(row.value)
    assert not row.holds


def test_a_stream_without_an_end(monkeypatch):
    rows = by_name(limits.endless_rows(128, 20_000, 0))
    assert [row.holds for row in rows.values()] == [True, True, True, None]
    drift = rows["20,000 samples of white noise: power of the last tenth / first"]
    assert drift.value == pytest.approx(1, abs=0.1)
    chunk = ModalRecurrence.chunk

    def growing(self, x, state, lengths=None):
        y, state = chunk(self, x, state, lengths)
        return y / 0, state._replace(modes=1e6 * state.modes)

    monkeypatch.setattr(ModalRecurrence, "chunk", growing)
    rows = by_name(limits.endless_rows(128, 20_000, 0))
    assert [row.holds for row in rows.values()][:3] == [True, False, False]


def test_many_filters():
    (row,) = limits.many_filters_rows(128, 3, 0)
    assert (row.name, row.bar) == ("3 filters, 128 taps, order 16: time", 20.0)
    assert row.holds


# ---------------------------------------------------------------------------------- whole bench


def test_cases_and_bars_of_the_whole_bench():
    cases = distill_cases(Options())
    names = [case.name for case in cases]
    assert names[:3] == ["4 conjugate pairs", "S4D converted", "modal branches"]
    assert names[3:13] == list(FAMILIES)
    assert names[13:] == [
        "gradient",
        "many filters",
        "white noise",
        "special kernels",
        "bad fit",
        "picture",
    ]
    chosen = selected(cases, "fourier, size 1")
    assert [case.name for case in chosen] == ["Fourier, size 1", "Fourier, size 16", "picture"]


@pytest.mark.slow
@pytest.mark.parametrize("family", ["Fourier, size 1", "Fourier, size 8", "Fourier, size 16"])
def test_bars_of_fourier_kernels_hold(family):
    case = next(one for one in distill_cases(Options()) if one.name == family)
    barred = {row.name: row for row in case.measure() if row.bar is not None}
    assert all(row.holds for row in barred.values())
    wanted = {16: 2e-3} if family == "Fourier, size 1" else {16: 5, 32: 5, 64: 5}
    kind = "error" if family == "Fourier, size 1" else "error / lower bound, largest"
    for order, bar in wanted.items():
        assert barred[f"{family}, order {order}: {kind}"].bar == bar


def test_the_picture_shows_every_family(tmp_path):
    pytest.importorskip("matplotlib", reason="needs: pip install 'mrconv[report]'")
    path = tmp_path / "distill.svg"
    cases = distill_cases(Options(quick=True, picture=str(path)))
    wanted = [case for case in cases if case.name in ("dense", "sparse", "picture")]
    *rows, last = [row for case in wanted for row in case.measure()]
    assert last == f"picture: {path}"
    assert len(rows) == 20
    text = path.read_text()
    for word in ("dense", "sparse", "lower bound", "order"):
        assert f">{word}</text>" in text


# ------------------------------------------------------------------------------- trained models


def saved(folder, **mixer):
    backbone = mrconv.SequenceBackbone(1, 64, channels=32, depth=2, mixer=mixer)
    model = mrconv.SequenceClassifier(backbone, 3).eval()
    return model, str(model.save_pretrained(folder))


def test_kernels_of_trained_models_by_kernel(tmp_path):
    model, first = saved(tmp_path / "a", kernel="fourier", kernel_size=4)
    _, second = saved(tmp_path / "b", kernel="fourier", kernel_size=4)
    _, third = saved(tmp_path / "c", kernel="dilated", kernel_size=4)
    found = trained_taps([first, third, second])
    assert list(found) == ["trained fourier, 2 models", "trained dilated, 1 model"]
    taps = found["trained fourier, 2 models"]
    assert (taps.shape, taps.dtype) == ((32, 64), F64)
    layer = model.double().backbone.blocks[1].mixer
    assert torch.allclose(taps[8:16], layer.merged_taps()[0][::4], atol=1e-12)
    names = [case.name for case in distill_cases(Options(models=(third,)))]
    assert names[13] == "trained dilated, 1 model"


@pytest.mark.parametrize("mixer", [{"name": "attention"}, {"causal": False, "kernel_size": 4}])
def test_models_without_causal_convolutions_are_refused(says, tmp_path, mixer):
    _, folder = saved(tmp_path / "a", **mixer)
    sentence = (
        f"bench: model must have causal long convolutions; got {folder}. "
        "Pass the folder of a model of branches, or of a merged one."
    )
    with says(ArgumentError, sentence):
        trained_taps([folder])
