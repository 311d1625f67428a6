"""Random cuts."""

import pytest
import torch

import mrconv
from mrconv.streaming.cuts import random_cuts, streamed_in_cuts


@pytest.mark.parametrize("length", [0, 1, 2, 3, 17, 100, 5000])
def test_sizes_sum_to_the_length(length):
    cuts = random_cuts(length)
    assert sum(cuts) == length
    assert min(cuts) >= 0
    assert random_cuts(length, seed=1) != cuts or length < 3
    if length >= 100:
        assert 1 in cuts


def test_what_has_no_stream():
    x = torch.randn(1, 2, 9)
    assert streamed_in_cuts(torch.nn.Bilinear(1, 1, 1).eval(), x) is None
    assert streamed_in_cuts(mrconv.LongConv(2, 4, causal=False).eval(), x) is None


def test_the_stream():
    layer, x = mrconv.LongConv(2, 4).eval(), torch.randn(1, 2, 90)
    y, axis = streamed_in_cuts(layer, x)
    assert axis == 2
    torch.testing.assert_close(y, layer(x).detach())
