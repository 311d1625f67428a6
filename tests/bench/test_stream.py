"""The contestants of ``bench stream`` give equal numbers; its clock, rows, bars and picture."""

import itertools
import time

import numpy as np
import pytest
import torch

from mrconv import LongConv, Streamer
from mrconv.bench import Options, stream_audio, stream_errors, stream_times
from mrconv.bench.stream import stream_cases
from mrconv.bench.stream_audio import spoken_model
from mrconv.bench.stream_clock import (
    each_seconds,
    percentile_over_median,
    period_seconds,
    worst_step,
)
from mrconv.bench.stream_contestants import (
    FORMS,
    NaiveDot,
    Rerun,
    Running,
    advanced,
    make_layer,
    make_stream,
)
from mrconv.bench.stream_errors import deep_model, float64_output, streamed
from mrconv.testing import direct_convolution

EACH = pytest.mark.parametrize("form", FORMS)
LENGTH = 400  # more taps than are gathered


def test_all_products_are_the_convolution():
    taps, x = torch.randn(3, 7), torch.randn(1, 3, 30)
    naive = NaiveDot(taps)
    y = torch.stack([naive.take(sample) for sample in x[0].T.contiguous()], -1)
    torch.testing.assert_close(y.double(), direct_convolution(x, taps)[0], rtol=1e-5, atol=1e-5)


def test_all_products_are_fed_with_noise():
    naive = NaiveDot(torch.randn(3, 7))
    assert not torch.equal(naive.step(), naive.step())


def test_the_parallel_layer_gives_the_newest_output():
    layer = LongConv(3, 20).eval()
    again = Rerun(layer)
    expected = direct_convolution(again.x, layer.taps)[..., -1] + layer.bias.double()
    torch.testing.assert_close(again.step().double(), expected, rtol=1e-5, atol=1e-5)


@EACH
@torch.no_grad()
def test_every_form_streams_what_its_layer_gives(form):
    layer = make_layer(form, 2, LENGTH, seed=1).double()
    running = Running(make_stream(form, layer), 2)
    running.piece = running.piece.double()
    running.samples = itertools.cycle(running.piece.transpose(1, 2).contiguous().unbind(1))
    steps = torch.stack([running.step() for _ in range(running.piece.shape[-1])], -1)
    expected = layer(torch.cat([running.piece, running.piece], -1))
    torch.testing.assert_close(torch.cat([steps, running.chunk()], -1), expected)


@EACH
def test_a_stream_that_was_put_forward_has_seen_zeros(form):
    stream = make_stream(form, make_layer(form, 2, LENGTH))
    x = torch.randn(1, 2, 150)
    _, behind = stream.chunk(torch.zeros(1, 2, 500), stream.init_state(1))
    ahead = advanced(stream.init_state(1), 500)
    # a layer's constant is there from the first sample, in both
    expected, _ = stream.chunk(x, behind)
    torch.testing.assert_close(stream.chunk(x, ahead)[0], expected, rtol=1e-5, atol=1e-6)
    assert int(ahead.tensors["position"]) == 650


@pytest.mark.parametrize("form", ["dilated by gather", "dense by tiles"])
@torch.no_grad()
def test_the_output_in_float64(form):
    layer, x = make_layer(form, 2, LENGTH), torch.randn(2, 700)
    merged = layer if isinstance(layer, LongConv) else layer.double().reparameterize()
    bias = merged.bias.double()[:, None]
    expected = direct_convolution(x[None], merged.taps)[0] + bias
    torch.testing.assert_close(float64_output(layer, x), expected)
    with pytest.raises(TypeError, match="must be MRConv or LongConv"):
        float64_output(torch.nn.ReLU(), x)


@torch.no_grad()
def test_pieces_of_one_sample_are_steps(monkeypatch):
    layer = LongConv(2, LENGTH).eval().double()
    stream, x, steps = Streamer(layer), torch.randn(1, 2, 30, dtype=torch.float64), []
    step = stream.step
    monkeypatch.setattr(stream, "step", lambda *words: steps.append(1) or step(*words))
    y, state = streamed(stream, x, [1, 1, 20, 0, 7, 1])
    torch.testing.assert_close(y, layer(x))
    assert (len(steps), int(state.tensors["position"])) == (3, 30)


@torch.no_grad()
def test_outputs_of_the_deep_model_are_of_usual_size():
    """Else the comparison in float32 says more about the model than about its stream."""
    model = deep_model("fourier", 8, 512)
    assert not model.training
    y = model(torch.randn(1, 512, 1))
    assert 0.01 < y.std() < 10
    for name, var in model.named_buffers():
        if name.endswith("running_var"):
            assert (var != 1).all(), name


def test_the_spoken_model_is_that_of_the_recipe():
    pytest.importorskip("yaml", reason="needs: pip install 'mrconv[train]'")
    from mrconv.train import read_recipe

    ours, theirs = spoken_model(64), read_recipe("speech").make_model()
    assert ours.arguments == theirs.arguments
    assert ours.backbone.arguments == theirs.backbone.arguments


# ------------------------------------------------------------------------------------- the clock


@pytest.fixture
def clock(monkeypatch):
    """Time that passes only when a call takes it; the list holds what the next calls take."""
    now, left = [0.0], []
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def call():
        now[0] += left.pop(0)

    return left, call


def test_seconds_of_calls(clock):
    left, call = clock
    left += [1.0, 3.0, 2.0, 5.0, 1.0]
    assert each_seconds(call, 3).tolist() == [1.0, 3.0, 2.0]
    assert period_seconds(call, 2) == 3.0


def test_a_slow_call_in_a_thousand_shows(clock):
    left, call = clock
    left += [1.0] * 990 + [7.0] * 10
    assert percentile_over_median(call, 1000) == 7.0
    left += [1.0] * 990 + [7.0] * 10
    assert percentile_over_median(call, 1000, percent=50) == 1.0


def test_the_worst_step_is_due_in_every_pass(clock, monkeypatch):
    left, call = clock
    running = Running(make_stream("dense by tiles", make_layer("dense by tiles", 1, 512)), 1)
    monkeypatch.setattr(running, "step", call)
    passes = np.ones((5, 128))
    passes[:, 64] = 4.0  # the tile
    passes[2, 70] = 90.0  # the machine
    passes[:, 0] = 50.0  # warming up
    left += passes.flatten().tolist()
    assert worst_step(running, 512) == 4.0
    assert int(running.state.tensors["position"]) == 512 - 64


# --------------------------------------------------------------------------------- rows and bars


@pytest.fixture
def small(monkeypatch):
    """The whole bench at sizes that take no time."""
    forms = {name: FORMS[name] for name in ("dilated by gather", "dense by tiles")}
    monkeypatch.setattr(stream_times, "LENGTHS", (512, 1024))
    monkeypatch.setattr(stream_times, "GROWTH_LENGTHS", (512, 1024))
    monkeypatch.setattr(stream_times, "DENSE_LENGTH", 512)
    monkeypatch.setattr(stream_times, "NAIVE_STEPS", 10)
    monkeypatch.setattr(stream_times, "FLAT_STEPS", 20)
    monkeypatch.setattr(stream_times, "CHANNELS", 2)
    monkeypatch.setattr(stream_errors, "LONG", (512, 2, 2000, 300, 50))
    monkeypatch.setattr(stream_errors, "CUTS", (512, 2, 700, 2))
    monkeypatch.setattr(stream_errors, "DEEP", (512, 4, 30))
    monkeypatch.setattr(stream_errors, "BLOCKS", 2)
    monkeypatch.setattr(stream_audio, "LONG", (2, 512, 700, 300))
    monkeypatch.setattr(stream_audio, "PIECES", 3)
    monkeypatch.setattr(stream_audio, "spoken_model", lambda channels, seed: spoken_model(2))
    for module in (stream_times, stream_errors, stream_audio):
        monkeypatch.setattr(module, "FORMS", forms)


def expected_bars():
    for form in stream_times.GROWTH:
        yield f"step, {form}: 1024 samples / 512 samples", (2.0, "lower")
    what = "mean step over a period of the tiles, 512 samples"
    yield f"{what}: all products / dense by tiles", (5.0, "higher")
    yield "step, dense, flat, 512 samples: 99.9th percentile / median", (5.0, "lower")
    for form in stream_errors.LONG_FORMS:
        yield f"2,000 samples, float32 against float64: {form}", (3e-6, "lower")
        yield f"2,000 samples, error of the last tenth / the first: {form}", (1.5, "lower")
    for form in ("dilated by gather", "dense by tiles"):
        yield f"2 random cuts, float32: {form}", (2e-6, "lower")
        yield f"2 random cuts, float64: {form}", (1e-12, "lower")
        yield f"state behind 700 samples: {form}, size over fresh", (1.0, "lower")
        yield f"state behind 700 samples: {form}, all finite", (1.0, "higher")
    for kernel in ("dilated", "fourier", "dense"):
        name = f"2 blocks, 30 steps against parallel logits, float32: {kernel}"
        yield name, (1e-4, "lower")
    spoken = "6 blocks of 64 channels at 8,000 Hz, one core, branches (as explain() advises)"
    yield f"{spoken}: faster than real time", (3.0, "higher")
    yield f"{spoken}: 99th percentile of a chunk", (20.0, "lower")
    wide = "6 blocks of 128 channels at 16,000 Hz, 2 cores, branches (as explain() advises)"
    yield f"{wide}: faster than real time", (1.0, "higher")


def test_rows_of_the_whole_bench(small):
    cases = stream_cases(Options(repeats=1))
    found = [row for case in cases for row in case.measure()]
    rows = {row.name: row for row in found}
    assert len(rows) == len(found)
    bars = {name: (row.bar, row.better) for name, row in rows.items() if row.bar is not None}
    assert bars == dict(expected_bars())
    timed = ("real time", "percentile", "step")
    held = [row for row in rows.values() if row.holds is not None]
    missed = [row.name for row in held if not row.holds]
    assert not [name for name in missed if not any(word in name for word in timed)]
    for what in ("step", "chunk of 256"):
        assert rows[f"{what}, 512 samples: dense by tiles"].unit == "ms"
        assert rows[f"{what}, 512 samples: parallel again / dense by tiles"].unit == "times"
    assert rows["step, 1024 samples: all products / dilated by gather"].value > 0
    # ring and what lies ahead, 2 channels of 1,024 float32 numbers each, and two positions
    assert rows["state, 1024 samples: dense by tiles"].value == (2 * 2 * 1024 * 4 + 16) / 1e3


def test_the_picture_shows_steps_and_chunks(small, tmp_path):
    pytest.importorskip("matplotlib", reason="needs: pip install 'mrconv[report]'")
    path = tmp_path / "stream.svg"
    cases = stream_cases(Options(repeats=1, picture=str(path)))
    for case in cases[:2]:
        list(case.measure())
    assert list(cases[-1].measure()) == [f"picture: {path}"]
    text = path.read_text()
    for word in ("step", "chunk of 256", "dilated by gather", "all products", "parallel again"):
        assert word in text


def test_streams_are_measured_on_the_cpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    (case,) = stream_cases(Options(device="cuda"))
    assert list(case.measure()) == ["  streams skipped, they are measured on the CPU only"]
