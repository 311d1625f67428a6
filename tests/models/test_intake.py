"""Raw samples as a model takes them: any cut gives the numbers of the whole, by scipy's filter."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.signal import resample_poly

import mrconv
from mrconv.data import InputContract
from mrconv.errors import ArgumentError, DtypeError
from mrconv.models.intake import Intake, thinning
from mrconv.testing import assert_close

SOUND = InputContract("audio", 8, sample_rate=8000.0, mean=0.5, std=2.0)
LIKE = torch.zeros(1, dtype=torch.float64)


def cut(x, sizes=(1, 0, 7, 50, 2, 13)):
    return np.split(x, np.cumsum(sizes))


@pytest.mark.parametrize(
    ("rate", "up", "down"), [(16000, 1, 2), (4000, 2, 1), (11025, 320, 441), (8000, 1, 1)]
)
@pytest.mark.parametrize("companding", [None, 255.0])
def test_any_cut_is_scipys_whole(rate, up, down, companding):
    x = np.random.default_rng(0).normal(size=(200, 1))
    intake = Intake(replace(SOUND, companding=companding), rate, LIKE)
    parts = [*(intake.take(block) for block in cut(x)), intake.finish()]
    # the value that is scaled to 0 stands around the recording: log(1 + 15) / log(256) = 0.5
    silence = 0.5 if companding is None else 15 / 255
    raw = silence + resample_poly(x - silence, up, down) if up != down else x
    if companding is not None:
        raw = np.sign(raw) * np.log(1 + 255 * np.abs(raw)) / np.log(256)
    expected = (raw - 0.5) / 2.0
    # without a resampler values are prepared in float32
    bound = 1e-12 if up != down else 1e-7
    assert_close(torch.cat(parts, 1)[0], torch.from_numpy(expected), bound)


@pytest.mark.parametrize("rate", [8000, 16000])
@pytest.mark.parametrize("frame", [3, 64])
def test_any_cut_gives_the_frames_of_the_whole(rate, frame):
    x = np.random.default_rng(0).normal(size=(200, 2))
    contract = replace(SOUND, channels=2)
    whole = Intake(contract, rate, LIKE)
    expected = torch.cat([whole.take(x), whole.finish()], 1)[0]  # (L, 2)
    intake = Intake(replace(contract, frame=frame), rate, LIKE)
    parts = [*(intake.take(block) for block in cut(x)), intake.finish()]
    steps = torch.cat(parts, 1)[0]
    assert steps.shape == (-(-len(expected) // frame), 2 * frame)
    flat = steps.reshape(-1, 2)
    assert torch.equal(flat[: len(expected)], expected)
    assert not flat[len(expected) :].any()
    assert [part.shape[1] for part in parts[:2]] == [0, 0]  # not before a frame is full


def test_every_channel_is_resampled_around_its_own_silence():
    mean, std = (0.5, -3.0), (2.0, 0.25)
    contract = InputContract("audio", 8, 2, sample_rate=8000.0, mean=mean, std=std)
    x = np.random.default_rng(0).normal(size=(200, 2))
    intake = Intake(contract, 16000, LIKE)
    parts = [*(intake.take(block) for block in cut(x)), intake.finish()]
    expected = resample_poly(x - mean, 1, 2) / std
    assert_close(torch.cat(parts, 1)[0], torch.from_numpy(expected), 1e-12)


def test_tokens_come_as_they_are():
    intake = Intake(InputContract("tokens", 8, vocabulary=9), None, torch.zeros(1))
    parts = [intake.take(np.array([3, 1])), intake.take(np.array([8])), intake.finish()]
    joined = torch.cat([part.long() for part in parts], 1)
    assert joined.tolist() == [[3, 1, 8]]
    assert parts[0].dtype == torch.int64


@pytest.mark.parametrize(
    ("contract", "rate", "factor", "note"),
    [
        (SOUND, 16000.0, 1, "resampled from 16000 Hz to 8000 Hz"),
        (SOUND, 4000.0, 2, "taken at 4000 Hz by kernels thinned by 2"),
        (SOUND, 8000.0, 1, "taken at 8000 Hz"),
        (SOUND, None, 1, "taken at 8000 Hz"),
        (InputContract("series", 8), 12.5, 1, "taken at 12.5 Hz"),
        (InputContract("series", 8), None, 1, "taken as they come"),
    ],
)
def test_note(contract, rate, factor, note):
    assert Intake(contract, rate, LIKE, factor=factor).note == note


def test_a_bad_sample_is_counted_from_the_start(says):
    intake = Intake(SOUND, 16000, LIKE)
    intake.take(np.zeros(30))
    sentence = (
        "input: values must be finite; got [nan] at sample 32. Fill or remove missing values first."
    )
    with says(ArgumentError, sentence):
        intake.take(np.array([0.0, 0.0, np.nan]))


def test_rates_that_cannot_be_resampled(says):
    with says(
        DtypeError,
        "Resampler: rate must be a whole number; got 12.5. Pass an int of at least 1.",
    ):
        Intake(SOUND, 12.5, LIKE)


def made(kernel, sample_rate=8000.0):
    mixer = {"kernel": kernel, "kernel_size": 8}
    model = mrconv.SequenceClassifier(
        mrconv.SequenceBackbone(1, 32, channels=4, depth=2, mixer=mixer), 3
    )
    model.contract = InputContract("audio", 32, sample_rate=sample_rate)
    return model.eval()


@pytest.mark.parametrize(
    ("rate", "factor"), [(4000, 2), (2000, 4), (8000, 1), (16000, 1), (3000, 1), (6000, 1)]
)
def test_thinning_of_band_limited_kernels(rate, factor):
    assert thinning(made("fourier"), rate) == factor


def test_frames_are_not_thinned():
    model = made("fourier")
    assert thinning(model, 4000.0) == 2
    model.contract = replace(model.contract, frame=8)
    assert thinning(model, 4000.0) == 1


def test_no_thinning():
    assert thinning(made("dilated"), 4000) == 1
    assert thinning(mrconv.merge(made("fourier")), 4000) == 1
    assert thinning(made("fourier"), None) == 1
    assert thinning(made("fourier", sample_rate=None), 4000) == 1
