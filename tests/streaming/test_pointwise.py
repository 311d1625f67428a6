"""Chains of torch modules, and what they refuse."""

import pytest
import torch
from torch import nn

import mrconv
from mrconv.errors import MergeError
from mrconv.streaming.pointwise import ELEMENTWISE


@pytest.mark.parametrize("kind", ELEMENTWISE, ids=lambda kind: kind.__name__)
def test_every_activation(kind):
    module = kind().eval()
    stream, x = mrconv.Streamer(module), torch.randn(2, 3, 9)
    y, state = stream.chunk(x[..., :8], stream.init_state(2))
    last, _ = stream.step(x[..., 8], state)
    torch.testing.assert_close(torch.cat([y, last[..., None]], -1), module(x))


def test_modules_that_disagree_on_time(says):
    sentence = (
        "Streamer: the modules of a Sequential must agree on where time stands; got both "
        "(batch, channels, time) and (batch, time, features). Use nn.Conv1d with "
        "kernel_size=1 in place of nn.Linear, or ChannelNorm in place of nn.LayerNorm."
    )
    with says(MergeError, sentence):
        mrconv.Streamer(nn.Sequential(nn.Linear(4, 4), mrconv.LongConv(4, 8)).eval())


def test_a_layer_norm_over_time(says):
    sentence = (
        "Streamer: nn.LayerNorm must normalise the features of each sample only; "
        "got normalized_shape=(4, 9). Give it one size."
    )
    with says(MergeError, sentence):
        mrconv.Streamer(nn.LayerNorm((4, 9)).eval())


def test_a_batch_norm_without_statistics(says):
    sentence = (
        "Streamer: nn.BatchNorm1d must have running statistics; got track_running_stats=False. "
        "Train it with track_running_stats=True."
    )
    with says(MergeError, sentence):
        mrconv.Streamer(nn.BatchNorm1d(4, track_running_stats=False).eval())


def test_a_convolution_that_mixes_channels_and_time():
    with pytest.raises(MergeError, match="the convolution must be depthwise with stride 1"):
        mrconv.Streamer(nn.Conv1d(4, 4, 3).eval())
