"""BatchNorm over branches against torch's own, applied to the gathered valid positions."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mrconv import BranchNorm
from mrconv.branch_statistics import count_valid, masked_moments, normalized_branches
from mrconv.errors import ArgumentError
from mrconv.kernels import Branch
from mrconv.testing import assert_close, textbook_branches

STATISTICS = pytest.mark.parametrize("statistics", ["exact", "textbook"])
SIDES = pytest.mark.parametrize("causal", [True, False])
RAGGED = pytest.mark.parametrize("lengths", [None, [11, 4, 1], [0, 11, 7], [2, 0, 0]])


def problem(causal, spans=(2, 4, 8, 16), length=11, batch=3, channels=2):
    sides = 1 if causal else 2
    u = torch.randn(batch, channels, length, dtype=torch.float64)
    taps = [torch.randn(channels, sides * span, dtype=torch.float64) for span in spans]
    gain, shift = torch.randn(2, len(spans), channels, dtype=torch.float64)
    return [tensor.requires_grad_() for tensor in (u, gain, shift, *taps)]


def run(inputs, norm, lengths, causal):
    u, gain, shift, *taps = inputs
    valid = None if lengths is None else torch.arange(u.shape[-1]) < lengths[:, None]
    clean = u if valid is None else torch.where(valid[:, None], u, 0)
    branches = [Branch(one) for one in taps]
    y, mean, var = normalized_branches(clean, branches, gain, shift, norm, lengths, causal=causal)
    return (y if valid is None else torch.where(valid[:, None], y, 0)), mean, var


@STATISTICS
@SIDES
@RAGGED
def test_values_statistics_and_gradients(statistics, causal, lengths):
    inputs = problem(causal)
    lengths = None if lengths is None else torch.tensor(lengths)
    count = 3 * 11 if lengths is None else int(lengths.sum())
    y, mean, var = run(inputs, BranchNorm(statistics=statistics, eps=1e-3), lengths, causal)
    u, gain, shift, *taps = inputs
    expected, expected_mean, unbiased = textbook_branches(
        u, taps, gain, shift, eps=1e-3, lengths=lengths, causal=causal
    )
    assert_close(y, expected)
    assert_close(mean, expected_mean)
    assert_close(var, unbiased * (count - 1) / count)
    assert not (mean.requires_grad or var.requires_grad)
    weights = torch.randn_like(y)
    got = torch.autograd.grad(y, inputs, weights)
    oracle = torch.autograd.grad(expected, inputs, weights)
    for one, other in zip(got, oracle, strict=True):
        assert_close(one, other, 1e-9)


@STATISTICS
@SIDES
@given(data=st.data())
def test_any_sizes(statistics, causal, data):
    batch, channels = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    length = data.draw(st.integers(2, 20))
    first = data.draw(st.integers(1, 7))
    spans = [first * 2**i for i in range(data.draw(st.integers(1, 3)))]
    lengths = torch.tensor([2, *[data.draw(st.integers(0, length)) for _ in range(batch - 1)]])
    inputs = problem(causal, spans, length, batch, channels)
    y, mean, _ = run(inputs, BranchNorm(statistics=statistics), lengths, causal)
    u, gain, shift, *taps = inputs
    expected, expected_mean, _ = textbook_branches(
        u, taps, gain, shift, lengths=lengths, causal=causal
    )
    assert_close(y, expected, 1e-9)
    assert_close(mean, expected_mean)


@STATISTICS
def test_gradcheck(statistics):
    inputs = problem(True, spans=(2, 4), length=5, batch=2, channels=1)
    lengths = torch.tensor([5, 3])

    def normalised(*inputs):
        return run(inputs, BranchNorm(statistics=statistics), lengths, True)[0]

    assert torch.autograd.gradcheck(normalised, inputs)


@STATISTICS
def test_a_large_offset_does_not_spoil_the_variance(statistics):
    u = torch.randn(4, 2, 300) + 1000
    taps = torch.randn(2, 16)
    taps -= taps.mean(-1, keepdim=True)  # the offset cancels in all but the first outputs
    gain, shift = torch.ones(2, 1, 2)
    norm = BranchNorm(statistics=statistics)
    _, mean, var = normalized_branches(u, [Branch(taps)], gain, shift, norm)
    _, expected_mean, unbiased = textbook_branches(u, [taps], gain, shift)
    assert_close(mean, expected_mean, 1e-3)
    assert_close(var, unbiased * (1199 / 1200), 1e-3)


@RAGGED
def test_moments_of_the_valid_positions(lengths):
    x = torch.randn(3, 4, 11, dtype=torch.float64) + 5
    valid = [11] * 3 if lengths is None else lengths
    gathered = torch.cat([row[:, :n] for row, n in zip(x, valid, strict=True)], -1)
    lengths = None if lengths is None else torch.tensor(lengths)
    if lengths is not None:
        x = torch.where(torch.arange(11) < lengths[:, None, None], x, float("nan"))
    mean, var = masked_moments(x, lengths, sum(valid))
    assert_close(mean, gathered.mean(-1))
    assert_close(var, gathered.var(-1, correction=0))


@pytest.mark.parametrize(
    ("shape", "lengths", "count"),
    [((1, 3, 1), None, 1), ((2, 3, 0), None, 0), ((0, 3, 4), None, 0), ((2, 3, 4), [1, 0], 1)],
)
def test_refuses_fewer_than_two_samples(says, shape, lengths, count):
    lengths = None if lengths is None else torch.tensor(lengths)
    sentence = (
        f"Layer: training needs at least 2 valid samples over batch and time; got {count}. "
        "Pass a longer batch, or call .eval() first."
    )
    with says(ArgumentError, sentence):
        count_valid("Layer", torch.zeros(shape), lengths)
    u, gain = torch.zeros(shape), torch.ones(1, 3)
    with says(ArgumentError, sentence.replace("Layer", "MRConv")):
        normalized_branches(u, [Branch(torch.ones(3, 2))], gain, gain, BranchNorm(), lengths)


def test_counts():
    assert count_valid("Layer", torch.zeros(2, 3, 4), None) == 8
    assert int(count_valid("Layer", torch.zeros(2, 3, 4), torch.tensor([4, 1]))) == 5


@pytest.mark.parametrize("momentum", [-0.1, 1.5])
def test_refuses_momentum(says, momentum):
    with says(
        ArgumentError,
        f"BranchNorm: momentum must be None or between 0 and 1; got {momentum}. "
        "Use 0.1, or None for the average over all batches.",
    ):
        BranchNorm(momentum=momentum)


@pytest.mark.parametrize("eps", [0, 0.0, -1e-5, float("nan")])
def test_refuses_eps(says, eps):
    with says(ArgumentError, f"BranchNorm: eps must be positive and finite; got {eps}. Use 1e-5."):
        BranchNorm(eps=eps)


def test_refuses_unknown_statistics(says):
    with says(
        ArgumentError,
        "BranchNorm: statistics must be one of 'exact', 'textbook'; got 'exakt'. "
        "Did you mean 'exact'?",
    ):
        BranchNorm(statistics="exakt")
