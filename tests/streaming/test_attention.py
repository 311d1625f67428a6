"""The cache of attention: its size, its end, and what is attended to without a mask."""

import pytest
import torch

import mrconv
from mrconv.errors import ArgumentError, MergeError, ShapeError
from mrconv.nn import Attention
from mrconv.streaming import attention
from mrconv.testing import assert_close

F64 = torch.float64


def layer(dtype=F64):
    return Attention(6, 20, num_heads=2, dtype=dtype).eval()


@pytest.fixture
def masks(monkeypatch):
    """Shapes of the masks that attention is called with."""
    seen = []

    def watched(*given, attn_mask=None, **named):
        seen.append(None if attn_mask is None else tuple(attn_mask.shape))
        return torch.nn.functional.scaled_dot_product_attention(
            *given, attn_mask=attn_mask, **named
        )

    monkeypatch.setattr(attention, "scaled_dot_product_attention", watched)
    return seen


def test_masks_only_where_rows_differ(masks):
    made, x = layer(), torch.randn(2, 6, 9, dtype=F64)
    stream = mrconv.Streamer(made)
    y, state = stream.chunk(x[..., :4], stream.init_state(2))
    last, state = stream.step(x[..., 4], state)
    assert masks == [None, None]
    more, state = stream.chunk(x[..., 5:7], state)
    assert masks[2:] == [(1, 1, 2, 7)]
    state.reset([1])
    stream.step(x[..., 7], state)
    assert masks[3:] == [(2, 1, 1, 8)]
    got = torch.cat([y, last[..., None], more], -1)
    assert_close(got, made(x[..., :7]), 1e-12)


def test_rows_of_unequal_prompts_go_on_together():
    made, x = layer(), torch.randn(3, 6, 9, dtype=F64)
    stream, lengths = mrconv.Streamer(made), torch.tensor([5, 0, 2])
    _, state = stream.chunk(x[..., :5], stream.init_state(3), lengths)
    steps = []
    for t in range(3):
        now = torch.stack([x[row, :, n + t] for row, n in enumerate(lengths)])
        y, state = stream.step(now, state)
        steps.append(y)
    for row, n in enumerate(lengths):
        expected = made(x[row : row + 1, :, : n + 3])[0, :, n:]
        assert_close(torch.stack(steps, -1)[row], expected, 1e-12)


def test_the_cache_is_made_once_and_has_the_capacity():
    stream = mrconv.Streamer(layer(torch.bfloat16), capacity=50)
    state = stream.init_state(3)
    keys = state.part("model").tensors["keys"]
    assert (keys.shape, keys.dtype) == ((3, 2, 50, 3), torch.bfloat16)
    place = keys.data_ptr()
    _, state = stream.chunk(torch.randn(3, 6, 50).bfloat16(), state)
    assert state.part("model").tensors["keys"].data_ptr() == place


def test_the_end_of_the_capacity(says):
    made, x = layer(), torch.randn(2, 6, 22, dtype=F64)
    stream = mrconv.Streamer(made)  # the layer's length, 20
    y, state = stream.chunk(x[..., :20], stream.init_state(2))
    assert_close(y, made(x[..., :20]), 1e-12)
    sentence = (
        "Streamer: rows must stay within the capacity of 20 samples, whose keys and values "
        "attention keeps; got 21. Make the Streamer with capacity=42, or reset the rows."
    )
    before = state.clone()
    with says(ArgumentError, sentence):
        stream.step(x[..., 20], state)
    for name, tensor in state.named_tensors():
        assert torch.equal(tensor, dict(before.named_tensors())[name])
    state.reset([0, 1])
    y, _ = stream.chunk(x, state, torch.tensor([20, 3]))  # padding needs no room
    assert_close(y[0, :, :20], made(x[:1, :, :20])[0], 1e-12)


def test_refuses(says):
    with says(
        MergeError,
        "Streamer: every layer must be causal, because a stream has no future; got causal=False. "
        "Build the model with causal=True.",
    ):
        mrconv.Streamer(Attention(4, 20, causal=False).eval())
    with says(
        ArgumentError,
        "Streamer: rate must be 1, because a layer of Attention works at the rate it was trained "
        "at; got rate=2. Resample the stream to that rate with mrconv.streaming.Resampler.",
    ):
        mrconv.Streamer(layer(), rate=2)
    with says(
        ArgumentError,
        "Streamer: capacity must be at least 1; got capacity=0. Pass a larger capacity.",
    ):
        mrconv.Streamer(layer(), capacity=0)
    stream = mrconv.Streamer(layer())
    with says(
        ShapeError,
        "Streamer: input must be (batch, 6, length); got (2, 5, 1). "
        "Pass a tensor of (batch, channels, length).",
    ):
        stream.step(torch.zeros(2, 5, dtype=F64), stream.init_state(2))


def test_costs():
    (line,) = mrconv.Streamer(layer(torch.float32)).explain().rows
    assert line.operations == 8 * 6**2 + 4 * 6 * 20
    assert line.nbytes == 2 * 6 * 20 * 4 + 8
