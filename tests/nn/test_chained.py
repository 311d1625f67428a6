"""Two long convolutions behind each other against the one whose taps are their product."""

import numpy as np
import pytest
import torch

import mrconv
from mrconv.errors import MergeError, ShapeError
from mrconv.testing import assert_close, settled

F64 = torch.float64


def layers(first=4, second=9, *, bias=False, dtype=F64):
    torch.manual_seed(0)
    made = mrconv.LongConv(3, first, bias=bias, dtype=dtype)
    other = mrconv.LongConv(3, second, dtype=dtype)
    torch.nn.init.normal_(other.bias)
    return made.eval(), other.eval()


@pytest.mark.parametrize("sizes", [(1, 1), (4, 9), (9, 4), (1, 30), (200, 500)])
def test_taps_are_the_product_of_polynomials(sizes):
    first, second = layers(*sizes)
    joined = first.then(second)
    assert joined.num_taps == sum(sizes) - 1
    pairs = zip(first.taps.detach().numpy(), second.taps.detach().numpy(), strict=True)
    expected = torch.tensor(np.array([np.convolve(a, b) for a, b in pairs]))
    assert_close(joined.taps, expected, 1e-10)
    assert torch.equal(joined.bias, second.bias)
    assert joined.checked.difference < 1e-12 and not joined.training


@pytest.mark.parametrize("length", [1, 5, 12, 40])
def test_the_one_layer_does_what_the_two_do(length):
    first, second = layers()
    x, lengths = torch.randn(2, 3, length, dtype=F64), torch.tensor([length, length // 2])
    assert_close(first.then(second)(x, lengths), second(first(x, lengths), lengths), 1e-10)


def test_short_then_long_of_a_trained_layer():
    """The linear part of CHELA: a short convolution, then one whose kernel is made."""
    short = mrconv.LongConv(3, 4, bias=False).eval()
    long = settled(mrconv.MRConv(3, 64, kernel="fourier"))
    merged = long.reparameterize()
    x = torch.randn(2, 3, 100)
    assert_close(short.then(merged)(x), long(short(x)), 1e-5)


def test_a_bias_of_zero_and_none():
    first, second = layers(bias=True)
    assert_close(first.then(second).taps, layers()[0].then(second).taps)
    plain = mrconv.LongConv(3, 5, bias=False, dtype=F64).eval()
    assert first.then(plain).bias is None


def test_a_first_bias_would_begin_with_the_sequence(says):
    first, second = layers(bias=True)
    torch.nn.init.constant_(first.bias, -0.25)
    with says(
        MergeError,
        "then: the first layer's bias must be 0, because the second turns a constant that begins "
        "with the sequence into one that grows over its taps; got a largest bias of 0.25. Keep the "
        "two layers, or train the first with bias=False.",
    ):
        first.then(second)
    # what the sentence says: -0.25 times the running sum of the second layer's taps
    silence = torch.zeros(1, 3, 9, dtype=F64)
    grown = second(first(silence))[0] - second.bias[:, None]
    assert_close(grown, -0.25 * second.taps.cumsum(1))


def test_refuses(says):
    first, second = layers()
    with says(
        MergeError,
        "then: BatchNorm statistics are still changing (training mode); got training=True. "
        "Call model.eval() first.",
    ):
        first.then(layers()[1].train())
    two_sided = mrconv.LongConv(3, 4, causal=False, bias=False, dtype=F64).eval()
    for pair in ((two_sided, second), (first, two_sided)):
        with says(
            MergeError,
            "then: both layers must be causal, because what a two-sided one gives beyond the ends "
            "of its input is lost between them; got causal=False. Keep the two layers.",
        ):
            pair[0].then(pair[1])
    with says(
        ShapeError,
        "then: both layers must have the same channels; got 3 and 2. "
        "Pass layers of equal channels.",
    ):
        first.then(mrconv.LongConv(2, 4, dtype=F64).eval())


def test_float32():
    first, second = layers(dtype=torch.float32)
    joined = first.then(second)
    assert joined.taps.dtype == torch.float32
    x = torch.randn(2, 3, 40)
    assert_close(joined(x), second(first(x)), 1e-5)
