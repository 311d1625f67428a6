"""Convolved outer products against the sum over all pairs of positions, and their gradients."""

import pytest
import torch

from mrconv.convolution import outer_convolution
from mrconv.testing import assert_close

F64 = torch.float64
SHAPES = pytest.mark.parametrize(("channels", "heads"), [(1, 1), (6, 3), (6, 2), (5, 1), (4, 4)])


def drawn(channels, heads, length, num_taps, rows=2, dtype=F64):
    gates = torch.randn(3, rows, channels, length, dtype=dtype).requires_grad_()
    return (*gates.unbind(0), torch.randn(heads, num_taps, dtype=dtype).requires_grad_())


def expected_of(q, k, v, taps):
    """y[t] = sum_s taps[t - s] <q[t], k[s]> v[s], as attention without a softmax."""
    heads, length = len(taps), q.shape[-1]
    q, k, v = (x.unflatten(1, (heads, -1)) for x in (q, k, v))
    scores = torch.einsum("bmit,bmis->bmts", q, k)
    lag = torch.arange(length)[:, None] - torch.arange(length)
    reached = (lag >= 0) & (lag < taps.shape[-1])
    weights = taps[:, lag.clamp(0, taps.shape[-1] - 1)] * reached
    return torch.einsum("bmts,bmjs->bmjt", scores * weights, v).flatten(1, 2)


@SHAPES
@pytest.mark.parametrize("length", [0, 1, 2, 7, 30])
@pytest.mark.parametrize("num_taps", [1, 2, 7, 50])
def test_values(channels, heads, length, num_taps):
    operands = drawn(channels, heads, length, num_taps)
    assert_close(outer_convolution(*operands), expected_of(*operands))


@SHAPES
@pytest.mark.parametrize(("length", "num_taps"), [(1, 1), (9, 4), (9, 30)])
def test_gradients(channels, heads, length, num_taps):
    operands = drawn(channels, heads, length, num_taps)
    weights = torch.randn(2, channels, length, dtype=F64)
    got = torch.autograd.grad((outer_convolution(*operands) * weights).sum(), operands)
    expected = torch.autograd.grad((expected_of(*operands) * weights).sum(), operands)
    for one, other in zip(got, expected, strict=True):
        assert_close(one, other)


def test_many_heads_are_taken_in_blocks(monkeypatch):
    operands = drawn(12, 6, 40, 40)
    weights = torch.randn(2, 12, 40, dtype=F64)

    def results():
        y = outer_convolution(*operands)
        return [y, *torch.autograd.grad((y * weights).sum(), operands)]

    whole = results()
    monkeypatch.setattr("mrconv.convolution.operator.MANY", 0)
    monkeypatch.setattr("mrconv.convolution.operator.BLOCK", 1)
    for one, other in zip(results(), whole, strict=True):
        assert_close(one, other, 1e-12)


def test_vmap():
    q, k, v, taps = (x.detach() for x in drawn(6, 2, 9, 5, rows=4))
    many = torch.stack([q, 2 * q, q - 1])
    got = torch.vmap(outer_convolution, in_dims=(0, None, None, None))(many, k, v, taps)
    assert_close(got, torch.stack([outer_convolution(one, k, v, taps) for one in many]))


def test_what_training_keeps():
    """Three gates and the taps, however wide the heads are."""
    kept = []
    operands = drawn(32, 2, 64, 64)

    def keep(tensor):
        kept.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        outer_convolution(*operands)
    assert sum(kept) == 3 * 2 * 32 * 64 + 2 * 64


def test_float32():
    operands = drawn(6, 2, 500, 400, dtype=torch.float32)
    assert_close(outer_convolution(*operands), expected_of(*(x.double() for x in operands)), 2e-6)
