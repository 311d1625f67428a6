"""The streaming resampler against scipy, in cuts of every kind."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import signal

from mrconv.errors import ArgumentError, DtypeError, ShapeError
from mrconv.streaming.resample import Resampler, ResampleState

RATES = [(44100, 16000), (48000, 16000), (16000, 8000), (8000, 16000), (11025, 8000), (8000, 8000)]
each_rate = pytest.mark.parametrize(("rate", "new_rate"), RATES)


def noise(length: int, rows: int = 1, channels: int = 1) -> torch.Tensor:
    generator = torch.Generator().manual_seed(length)
    return torch.randn(rows, length, channels, generator=generator, dtype=torch.float64)


def by_scipy(x: torch.Tensor, rate: int, new_rate: int) -> torch.Tensor:
    return torch.from_numpy(signal.resample_poly(x.numpy(), new_rate, rate, axis=1))


def streamed(x: torch.Tensor, resampler: Resampler, sizes: list[int]) -> torch.Tensor:
    """The whole of x in chunks of these sizes, the rest in one."""
    state = resampler.init_state(len(x), x.shape[2], dtype=x.dtype)
    parts, start = [], 0
    for size in [*sizes, x.shape[1]]:
        y, state = resampler.chunk(x[:, start : start + size], state)
        parts.append(y)
        start += size
    return torch.cat([*parts, resampler.finish(state)], 1)


def assert_equal(got: torch.Tensor, expected: torch.Tensor, tolerance: float) -> None:
    assert got.shape == expected.shape
    assert got.dtype == expected.dtype
    if expected.numel():
        assert float((got - expected).abs().max()) <= tolerance * float(expected.abs().max())


@each_rate
@given(
    length=st.integers(0, 1500),
    sizes=st.lists(st.one_of(st.integers(0, 3), st.integers(0, 400)), max_size=30),
)
def test_random_cuts(rate, new_rate, length, sizes):
    x = noise(length)
    expected = by_scipy(x, rate, new_rate) if length else x
    assert_equal(streamed(x, Resampler(rate, new_rate), sizes), expected, 1e-12)


@each_rate
@pytest.mark.parametrize("size", [1, 2, 7, 160, 441])
def test_chunks_of_one_size(rate, new_rate, size):
    x = noise(907, rows=2, channels=3)
    got = streamed(x, Resampler(rate, new_rate), [size] * (907 // size))
    assert_equal(got, by_scipy(x, rate, new_rate), 1e-12)


@each_rate
@pytest.mark.parametrize("length", [1, 2, 3, 30, 55, 56, 57])
def test_streams_shorter_than_the_filter(rate, new_rate, length):
    x = noise(length)
    assert_equal(streamed(x, Resampler(rate, new_rate), [1]), by_scipy(x, rate, new_rate), 1e-12)


@pytest.mark.parametrize(("rate", "new_rate"), [(3, 5), (7, 3), (1, 10), (10, 1), (22050, 8000)])
def test_other_rates(rate, new_rate):
    x = noise(1000)
    got = streamed(x, Resampler(rate, new_rate), [13, 400, 0, 1])
    assert_equal(got, by_scipy(x, rate, new_rate), 1e-12)


def test_more_outputs_than_are_worked_at_once(monkeypatch):
    monkeypatch.setattr("mrconv.streaming.resample.BLOCK", 50)
    x = noise(1000)
    assert_equal(streamed(x, Resampler(3, 2), [600]), by_scipy(x, 3, 2), 1e-12)


def test_single_precision():
    x = noise(5000).float()
    got = streamed(x, Resampler(44100, 16000), [100, 1000])
    assert_equal(got, by_scipy(x, 44100, 16000), 2e-6)
    assert_equal(got.double(), by_scipy(x.double(), 44100, 16000), 2e-6)


@each_rate
def test_outputs_come_as_early_as_they_can(rate, new_rate):
    resampler = Resampler(rate, new_rate)
    state = resampler.init_state(1, dtype=torch.float64)
    count = 0
    for sample in noise(300)[0, :, 0]:
        y, state = resampler.chunk(sample.reshape(1, 1, 1), state)
        count += y.shape[1]
        # output m lies at input m down / up and waits for half a filter
        after = (count * resampler.down + resampler._half) // resampler.up
        before = ((count - 1) * resampler.down + resampler._half) // resampler.up if count else -1
        assert before < state.consumed <= after
        assert state.produced == count
    assert resampler.latency == int(10 * max(resampler.up, resampler.down) / resampler.up) * (
        rate != new_rate
    )


def test_a_tone_keeps_its_pitch_and_loudness():
    time = torch.arange(8000, dtype=torch.float64) / 16000
    x = torch.sin(2 * np.pi * 440 * time)[None, :, None]
    y = streamed(x, Resampler(16000, 8000), [160] * 50)
    expected = torch.sin(2 * np.pi * 440 * torch.arange(4000, dtype=torch.float64) / 8000)
    assert float((y[0, 50:-50, 0] - expected[50:-50]).abs().max()) < 2e-3


def test_a_state_is_never_changed():
    resampler, x = Resampler(44100, 16000), noise(500)
    _, state = resampler.chunk(x[:, :200], resampler.init_state(1, dtype=x.dtype))
    history = state.history.clone()
    again = [resampler.chunk(x[:, 200:], state) for _ in range(2)]
    for one, two in zip(*((y, *after) for y, after in again), strict=True):
        assert torch.equal(torch.as_tensor(one), torch.as_tensor(two))
    x.zero_()
    assert torch.equal(state.history, history)
    assert torch.equal(resampler.finish(state), resampler.finish(state))


def test_the_state_has_one_size_and_survives_as_values():
    resampler, x = Resampler(11025, 8000), noise(700)
    state = resampler.init_state(1, dtype=x.dtype)
    parts = []
    for start in range(0, 700, 100):
        y, state = resampler.chunk(x[:, start : start + 100], state)
        state = ResampleState(torch.tensor(state.history.tolist(), dtype=x.dtype), *state[1:])
        assert state.history.untyped_storage().nbytes() == 8 * (resampler.taps - 1)
        parts.append(y)
    got = torch.cat([*parts, resampler.finish(state)], 1)
    assert_equal(got, by_scipy(x, 11025, 8000), 1e-12)


def test_after_billions_of_samples():
    # positions are whole numbers of any size: a stream moved by whole periods gives the same
    resampler, x = Resampler(44100, 16000), noise(3000)
    _, state = resampler.chunk(x[:, :1000], resampler.init_state(1, dtype=x.dtype))
    periods = 10**10
    later = ResampleState(
        state.history,
        state.consumed + periods * resampler.down,
        state.produced + periods * resampler.up,
    )
    ends = [resampler.chunk(x[:, 1000:], one) for one in (state, later)]
    assert torch.equal(ends[0][0], ends[1][0])
    assert torch.equal(resampler.finish(ends[0][1]), resampler.finish(ends[1][1]))


# what is refused


@pytest.mark.parametrize("name", ["rate", "new_rate"])
def test_rates(says, name):
    rates = {"rate": 8000, "new_rate": 8000}
    sentence = f"Resampler: {name} must be at least 1; got {name}=0. Pass a larger {name}."
    with says(ArgumentError, sentence):
        Resampler(**{**rates, name: 0})
    sentence = f"Resampler: {name} must be a whole number; got 44.1. Pass an int of at least 1."
    with says(DtypeError, sentence):
        Resampler(**{**rates, name: 44.1})


@pytest.mark.parametrize("name", ["batch_size", "channels"])
def test_sizes(says, name):
    sizes = {"batch_size": 1, "channels": 1, name: 0}
    sentence = f"Resampler: {name} must be at least 1; got {name}=0. Pass a larger {name}."
    with says(ArgumentError, sentence):
        Resampler(2, 1).init_state(**sizes)


@pytest.mark.parametrize(
    ("shape", "remedy"),
    [
        ((2, 3, 10), "Did you mean x.transpose(1, 2)?"),
        ((1, 10, 3), "Pass the rows of init_state."),
        ((2, 10), "Pass the rows of init_state."),
    ],
)
def test_shape(says, shape, remedy):
    resampler = Resampler(2, 1)
    sentence = f"Resampler: input must be (2, samples, 3), as the state; got {shape}. {remedy}"
    with says(ShapeError, sentence):
        resampler.chunk(torch.zeros(shape), resampler.init_state(2, 3))


def test_dtype(says):
    resampler = Resampler(2, 1)
    sentence = (
        "Resampler: input must have the dtype of the state, torch.float32; got torch.float64. "
        "Call init_state with dtype=torch.float64."
    )
    with says(DtypeError, sentence):
        resampler.chunk(noise(5), resampler.init_state(1))
