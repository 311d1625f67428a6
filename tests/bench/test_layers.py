"""The layers of ``bench layers``, its rows and bars, crossovers, and the picture."""

import pytest
import torch

from mrconv import LongConv
from mrconv.bench import Options
from mrconv.bench import layers as bench
from mrconv.bench.crossover import crossover
from mrconv.bench.layer_contestants import LAYERS, DilatedStack, layers_of, make_block, make_call
from mrconv.bench.layers import layer_cases
from mrconv.bench.picture import write_picture
from mrconv.bench.timing import Turns
from mrconv.errors import ArgumentError
from mrconv.report.length_panels import times_by_length

NAMES = pytest.mark.parametrize("name", LAYERS)


@NAMES
def test_blocks_run_both_passes(name):
    block, x = make_block(name, 4, 32), torch.randn(2, 4, 32)
    y = make_call(block, x, "forward")()
    assert not block.training
    assert not y.requires_grad
    torch.testing.assert_close(y, block(x).detach())
    if name in layers_of("training step"):
        found = make_call(block, x, "training step")()
        assert block.training
        assert [one.shape for one in found] == [x.shape, *(p.shape for p in block.parameters())]


def test_a_cached_kernel_is_not_trained():
    assert set(layers_of("forward")) - set(layers_of("training step")) == {"S4D, kernel cached"}


@pytest.mark.parametrize(
    ("merged", "layer"), [("merged MRConv", "MRConv branches"), ("S4D, kernel cached", "S4D")]
)
def test_a_merged_layer_equals_the_layer(merged, layer):
    one, other = (make_block(name, 4, 32, seed=3).eval() for name in (merged, layer))
    assert isinstance(one.mixer, LongConv)
    other.linear, other.norm = one.linear, one.norm  # drawn behind the layers
    x = torch.randn(2, 4, 48)
    torch.testing.assert_close(one(x), other(x), rtol=1e-4, atol=1e-4)


@NAMES
def test_all_layers_are_causal_and_reach_back(name):
    layer = LAYERS[name](4, 32).eval()
    x = torch.randn(1, 4, 32, requires_grad=True)
    (gradient,) = torch.autograd.grad(layer(x)[..., 20].sum(), x)
    assert gradient[..., 21:].abs().max() < 1e-5 * gradient.abs().max()
    if "MRConv" not in name:  # taps of dilated kernels are zero at many lags
        assert gradient[..., 0].abs().max() > 0


@pytest.mark.parametrize(
    ("length", "levels", "reach"), [(1, 1, 3), (3, 1, 3), (4, 2, 7), (1024, 10, 2047)]
)
def test_the_stack_covers_its_input(length, levels, reach):
    stack = DilatedStack(2, length)
    assert (len(stack.levels), stack.receptive_field) == (levels, reach)
    x = torch.zeros(1, 2, reach + 1, requires_grad=True)
    for conv in stack.levels:
        torch.nn.init.ones_(conv.weight)
        torch.nn.init.ones_(conv.bias)
    (gradient,) = torch.autograd.grad(stack(x)[..., -1].sum(), x)
    assert gradient[0, 0, 0] == 0
    assert gradient[0, 0, 1] > 0


def test_the_stack_writes_nothing_behind_a_rows_length():
    y = DilatedStack(2, 8)(torch.randn(2, 2, 8), torch.tensor([8, 3]))
    assert not y[1, :, 3:].any()
    assert y[1, :, :3].any()


# ------------------------------------------------------------------------------------ crossover


def test_curves_cross_where_they_meet_on_logarithmic_axes():
    slow = {n: n**2 / 1000 for n in (100, 1000, 10000)}
    found = crossover(slow, {n: n / 1.0 for n in slow})
    assert found.length == pytest.approx(1000)
    found = crossover(slow, {n: n * 2.0 for n in slow})
    assert found.length == pytest.approx(2000)
    assert found.words == "slower from about 2000 samples on"


def test_curves_that_do_not_cross():
    fast, slow = {8: 1.0, 16: 1.0}, {8: 2.0, 16: 2.0}
    assert crossover(slow, fast) == (None, "slower at every length measured, from 8 samples on")
    assert crossover(fast, slow) == (None, "not slower at 16 samples, the longest measured")
    assert crossover(fast, {}) == (None, "not measured at the same lengths")


def test_the_last_crossing_counts():
    assert crossover({1: 2.0, 2: 0.5, 4: 2.0}, {1: 1.0, 2: 1.0, 4: 1.0}).length == pytest.approx(
        8**0.5
    )


# --------------------------------------------------------------------------------- rows and bars


def all_rows(**options):
    cases = layer_cases(Options(repeats=1, **options))
    return [row for case in cases for row in case.measure()]


@pytest.fixture
def no_work(monkeypatch):
    """Every layer takes 1 s, attention half of that up to 1,024 samples and 8 s beyond."""
    lengths = []

    def turns(calls, pace, *, finish):
        seconds = {name: [1.0] for name in calls}
        if "attention" in calls:
            seconds["attention"] = [8.0 if lengths[-1] > 1024 else 0.5]
        return Turns(seconds)

    def make(name, channels, length, seed):
        lengths.append(length)
        return torch.nn.Identity()

    monkeypatch.setattr(bench, "take_turns", turns)
    monkeypatch.setattr(bench, "make_block", make)
    monkeypatch.setattr(bench, "make_call", lambda *words: None)
    monkeypatch.setattr(bench, "_noise", lambda shape, options: torch.empty(shape, device="meta"))
    monkeypatch.setattr(bench, "LAYERS", dict.fromkeys(LAYERS, lambda *sizes: torch.nn.Identity()))


def test_rows_of_the_whole_bench(no_work, monkeypatch):
    monkeypatch.setattr(bench, "LONGEST", 15.0)
    found = all_rows()
    rows = {row.name: row for row in found if not isinstance(row, str)}
    told = [row for row in found if isinstance(row, str)]
    bars = {row.name: row.bar for row in rows.values() if row.bar is not None}
    assert bars == {
        "block (4, 64, 4096), forward: attention / merged MRConv": 5.0,
        "block (4, 64, 4096), forward: attention / MRConv branches": 1.0,
        "block (4, 64, 4096), training step: attention / MRConv branches": 1.0,
        "block (4, 64, 16384), forward: attention / merged MRConv": 20.0,
        "block (4, 64, 16384), forward: attention / MRConv branches": 1.0,
        "block (4, 64, 16384), training step: attention / MRConv branches": 1.0,
    }
    assert not rows["block (4, 64, 16384), forward: attention / merged MRConv"].holds
    for shape in ("(4, 64, 256)", "(4, 64, 1024)", "(1, 64, 65536)"):
        for name in layers_of("forward"):
            assert rows[f"block {shape}, forward: {name}"].unit == "ms"
    for shape, published in (("(50, 128, 2048)", 1.5), ("(50, 512, 1024)", 1.3)):
        what = f"paper's shape {shape}, layer, forward (published: {published})"
        for name in ("S4D", "S4D, kernel cached"):
            assert rows[f"{what}: {name} / merged MRConv"].bar is None
    assert told[0] == ("  training step (1, 64, 65536): attention skipped, about 19 s expected")
    assert "block (1, 64, 65536), training step: attention" not in rows
    crossing = "crossover, forward: attention against merged MRConv"
    assert rows[crossing].unit == "samples"
    assert 1024 < rows[crossing].value < 4096
    assert told[1] == (
        "  forward: attention against merged MRConv: attention is slower from about 1400 samples on"
    )


def test_quick_rows_and_the_picture(tmp_path):
    pytest.importorskip("matplotlib", reason="needs: pip install 'mrconv[report]'")
    path = tmp_path / "new" / "layers.svg"
    *_, last = all_rows(quick=True, picture=str(path))
    assert last == f"picture: {path}"
    text = path.read_text()
    assert text.rstrip().endswith("</svg>")
    for word in ("forward", "training step", *LAYERS):
        assert word in text
    figure = times_by_length({"forward": {"attention": {8: 1.0, 16: 2.0}}})
    write_picture(str(tmp_path / "a.png"), figure)
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_of_another_kind_is_refused_before_anything_is_measured(says):
    with says(
        ArgumentError,
        "bench: picture must end in .svg or .png; got 'layers.pdf'. Name it bench.svg.",
    ):
        layer_cases(Options(picture="layers.pdf"))
