"""Live answers: the same as of the parallel model, however the samples are cut."""

import numpy as np
import pytest
import torch

import mrconv
from mrconv.data import InputContract
from mrconv.errors import ArgumentError, MergeError
from mrconv.models.attribution import resolution_shares
from mrconv.models.live import Latency, LiveModel, training_window
from mrconv.testing import assert_close


@pytest.fixture
def model(small_backbone, settle):
    """Of two channels, in float64."""
    return settle(mrconv.SequenceClassifier(small_backbone(), 3, dtype=torch.float64))


@pytest.fixture
def x():
    return torch.randn(1, 150, 2, dtype=torch.float64)


def blocks(x, sizes=(1, 6, 0, 40, 53, 50)):
    return np.split(x[0].numpy(), np.cumsum(sizes)[:-1])


def float32(x):
    """What the contract makes of the values."""
    return x.float().double()


@pytest.mark.parametrize("window", [None, 25])
@torch.no_grad()
def test_outputs_equal_the_parallel_model(model, x, window):
    live = LiveModel(model, window=window)
    features = model.backbone(float32(x))
    for answer in live.answers(blocks(x)):
        heard = features[:, : answer.samples]
        pooled = heard.mean(1) if window is None else heard[:, -window:].mean(1)
        assert_close(answer.outputs, model.head(pooled)[0], 1e-11)
        assert answer.shares is None
        assert answer.seconds > 0


@pytest.mark.parametrize("window", [None, 36])
@torch.no_grad()
def test_frames_equal_the_parallel_model(small_backbone, settle, x, window):
    model = settle(mrconv.SequenceClassifier(small_backbone(8), 3, dtype=torch.float64))
    model.contract = InputContract("series", 36, channels=2, frame=4)
    live = LiveModel(model, window=window)
    live.warm_up(50)
    whole = torch.from_numpy(model.contract.prepare(x[0].numpy()))[None].to(x)
    features = model.backbone(whole)
    answers = list(live.answers(blocks(x)))
    # four samples a step; the two that are left at the end make one more
    assert [one.samples for one in answers] == [0, 4, 4, 44, 100, 148, 152]
    for answer in answers[1:]:
        heard = features[:, : answer.samples // 4]
        pooled = heard.mean(1) if window is None else heard[:, -window // 4 :].mean(1)
        assert_close(answer.outputs, model.head(pooled)[0], 1e-11)


@torch.no_grad()
def test_answers_can_be_had_again(model, x):
    live = LiveModel(model)
    first, second = ([one.outputs for one in live.answers(blocks(x))] for _ in range(2))
    for one, other in zip(first, second, strict=True):
        assert torch.equal(one, other)


def test_an_empty_block_repeats_the_answer(model, x):
    before, empty = (list(LiveModel(model).answers(blocks(x)))[i] for i in (1, 2))
    assert torch.equal(before.outputs, empty.outputs)
    assert before.samples == empty.samples == 7


def test_no_answer_while_the_resampler_waits(model, x):
    model.contract = InputContract("audio", 64, channels=2, sample_rate=8000.0)
    answers = list(LiveModel(model, rate=16000).answers(blocks(x)))
    assert [answer.outputs is None for answer in answers] == [True, True, True, *[False] * 4]
    assert [answer.samples for answer in answers] == [0, 0, 0, 14, 40, 65, 75]


@pytest.mark.parametrize("window", [None, 25])
def test_shares_are_those_of_the_whole_past(model, x, window):
    """The kept samples suffice: the window and the receptive field before it."""
    live = LiveModel(model, window=window, explain=True)
    assert live.spans == model.backbone.blocks[0].mixer.spans
    for answer in live.answers(blocks(x)):
        if answer.shares is not None:
            expected = resolution_shares(model, float32(x)[:, : answer.samples], window)[0]
            assert_close(answer.shares, expected, 1e-9)


def test_an_explained_model_is_resampled_not_thinned(small_backbone):
    backbone = small_backbone(mixer={"kernel": "fourier", "kernel_size": 8})
    model = mrconv.SequenceClassifier(backbone, 3, dtype=torch.float64).eval()
    model.contract = InputContract("audio", 64, channels=2, sample_rate=8000.0)
    assert LiveModel(model, rate=4000).factor == 2
    assert LiveModel(model, rate=4000, explain=True).factor == 1


@torch.no_grad()
def test_a_window_is_thinned_with_the_kernels(small_backbone, settle, x):
    backbone = small_backbone(mixer={"kernel": "fourier", "kernel_size": 8})
    model = settle(mrconv.SequenceClassifier(backbone, 3, dtype=torch.float64))
    model.contract = InputContract("audio", 64, channels=2, sample_rate=8000.0)
    merged = mrconv.merge(model, rate=2)
    features = merged.backbone(float32(x))
    for answer in LiveModel(model, rate=4000, window=40).answers(blocks(x)):
        pooled = features[:, : answer.samples][:, -20:].mean(1)
        assert_close(answer.outputs, merged.head(pooled)[0], 1e-10)


def test_refusals(model, small_backbone, says):
    with says(
        ArgumentError,
        "resolution_shares: the model must be a classifier, whose leading score is explained; "
        "got SequenceRegressor. Leave the explanation out.",
    ):
        LiveModel(mrconv.SequenceRegressor(small_backbone()).eval(), explain=True)
    with says(
        ArgumentError,
        "resolution_shares: the model must be in eval mode, in branches form, with equal "
        "resolutions in all layers; got training=False, resolutions []. Load the unmerged model.",
    ):
        LiveModel(mrconv.merge(model), explain=True)
    with pytest.raises(MergeError, match=r"^Streamer: every layer must be causal"):
        LiveModel(
            mrconv.SequenceClassifier(small_backbone(mixer={"causal": False}), 3).eval(),
        )


def test_training_window(model, small_backbone):
    assert training_window(model) == model.backbone.length
    model.contract = InputContract("series", 99, channels=2)
    assert training_window(model) == 99
    assert training_window(mrconv.SequenceLabeller(small_backbone(), 3)) is None
    assert training_window(mrconv.Forecaster(small_backbone(), 3)) is None


def test_latency():
    assert Latency.of([]) == (0.0, 0.0, 0.0)
    assert Latency.of([i / 8 for i in range(200, 0, -1)]) == (12.5, 24.75, 2512.5)
