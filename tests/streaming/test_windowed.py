"""The sliding DFT: no drift, refresh at absolute positions, and the long run."""

import pytest
import torch

import mrconv
from mrconv.convolution import long_convolution
from mrconv.kernels import FourierKernel
from mrconv.streaming import Window, WindowedStepper, kernel_pieces
from mrconv.testing import assert_close, direct_convolution, relative_difference, settled

F64 = torch.float64


def series(window):
    """The taps of a window by its formula."""
    modes = torch.arange(window.amplitudes.shape[1], dtype=F64)
    angle = 2 * torch.pi * modes[:, None] * torch.arange(window.span, dtype=F64) / window.span
    real, imaginary = window.amplitudes.double().unbind(-1)
    taps = real @ angle.cos() - imaginary @ angle.sin()
    return torch.nn.functional.pad(taps, (window.start, 0))


def steps(stepper, x, state):
    outputs = []
    for sample in x.unbind(-1):
        y, state = stepper.step(sample, state)
        outputs.append(y)
    return torch.stack(outputs, -1), state


@pytest.mark.parametrize("rate", [1, 2, 4])
@pytest.mark.parametrize(("kernel_size", "resolution"), [(8, 0), (4, 1), (4, 5), (12, 3), (8, 2)])
def test_pieces_are_the_taps(kernel_size, resolution, rate):
    kernel = FourierKernel(3, kernel_size, resolution, dtype=F64)
    (window,) = kernel_pieces(kernel, rate)
    assert_close(series(window), kernel.taps(rate), 1e-12)


@pytest.mark.parametrize("spans", [(1,), (2, 3), (5, 300, 257), (256, 255, 1), (600, 7)])
@torch.no_grad()
def test_windows_of_any_spans_and_starts(spans):
    windows = [
        Window(torch.randn(2, min(3, span // 2 + 1), 2, dtype=F64), span, start)
        for span, start in zip(spans, (0, 11, 2), strict=False)
    ]
    x = torch.randn(2, 2, 1400, dtype=F64)
    expected = sum(direct_convolution(x, series(window)) for window in windows)
    stepper = WindowedStepper(windows)
    y, state = stepper.chunk(x[..., :700], stepper.init_state(2))
    more, state = steps(stepper, x[..., 700:1100], state)
    rest, _ = stepper.chunk(x[..., 1100:], state)
    assert_close(torch.cat([y, more, rest], -1), expected, 1e-12)


@torch.no_grad()
def test_sums_are_the_same_from_steps_and_chunks():
    """A and B, so that a refresh long after a chunk finds what the steps would have left."""
    stepper = WindowedStepper(
        [Window(torch.randn(1, 2, 2, dtype=F64), span) for span in (3, 40, 64, 700)]
    )
    x = torch.randn(1, 1, 777, dtype=F64)
    for length in (1, 2, 3, 39, 40, 41, 255, 256, 257, 700, 701, 777):
        _, whole = stepper.chunk(x[..., :length], stepper.init_state(1))
        _, single = steps(stepper, x[..., :length], stepper.init_state(1))
        for name in "AB":
            assert_close(whole.tensors[name], single.tensors[name], 1e-12)


@pytest.mark.parametrize("offset", [0.0, 10.0])
@torch.no_grad()
def test_no_drift_in_float32(offset):
    layer = settled(mrconv.MRConv(2, 1024, kernel="fourier"))
    taps, bias = layer.double().merged_taps()
    x = torch.randn(1, 2, 12_000) + offset
    expected = long_convolution(x.double(), taps) + bias[:, None]
    stream = mrconv.Streamer(layer.float())
    y, state = steps(stream, x[..., :6_000], stream.init_state(1))
    rest, _ = stream.chunk(x[..., 6_000:], state)
    assert relative_difference(y[..., -1_000:], expected[..., 5_000:6_000]) < 5e-7
    assert relative_difference(rest, expected[..., 6_000:]) < 5e-7


@torch.no_grad()
def test_the_refresh_takes_out_what_rounding_left():
    """An error put into A is gone after at most two periods: B, untouched, takes its place."""
    stepper = WindowedStepper([Window(torch.ones(1, 1, 2, dtype=F64), 50)])
    x = torch.randn(1, 1, 200, dtype=F64)
    y, _ = stepper.chunk(x, stepper.init_state(1))
    _, state = stepper.chunk(x[..., :20], stepper.init_state(1))
    state.tensors["A"] += 1.0
    spoilt, _ = steps(stepper, x[..., 20:], state)
    assert ((spoilt - y[..., 20:])[..., :30].abs() > 0.1).all()
    assert_close(spoilt[..., 30:], y[..., 50:], 1e-12)


@torch.no_grad()
def test_a_lost_leaving_sample_is_noticed(monkeypatch):
    layer = settled(mrconv.MRConv(2, 64, kernel_size=4, dtype=F64))
    assert mrconv.verify(layer).holds
    ends = WindowedStepper._ends

    def spoilt(self, ring, samples):
        entering, leaving = ends(self, ring, samples)
        return entering, leaving * 0.999

    monkeypatch.setattr(WindowedStepper, "_ends", spoilt)
    assert not mrconv.verify(layer).holds


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["fourier", "dilated", "sparse", "dense"])
@torch.no_grad()
def test_a_million_samples(kernel):
    """Against float64: 3e-6, and the last tenth no worse than 1.5 times the first."""
    layer = settled(mrconv.MRConv(2, 65_536, kernel=kernel))
    taps, bias = layer.double().merged_taps()
    stream = mrconv.Streamer(layer.float())
    count, single = 1_000_000, 10_000
    x = torch.randn(1, 2, count)
    expected = long_convolution(x.double(), taps) + bias[:, None]
    y, state = steps(stream, x[..., :single], stream.init_state(1))
    outputs = [y]
    for chunk in x[..., single:-single].split(4_096, -1):
        y, state = stream.chunk(chunk, state)
        outputs.append(y)
    y, state = steps(stream, x[..., -single:], state)
    whole, tenth = torch.cat([*outputs, y], -1), count // 10
    assert relative_difference(whole, expected) < 3e-6
    first = relative_difference(whole[..., :tenth], expected[..., :tenth])
    assert relative_difference(whole[..., -tenth:], expected[..., -tenth:]) < 1.5 * first
    assert relative_difference(y, expected[..., -single:]) < 3e-6
    assert state.nbytes == stream.init_state(1).nbytes
    assert all(tensor.isfinite().all() for _, tensor in state.named_tensors())
