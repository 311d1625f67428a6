"""Masked BatchNorm against torch's, and LayerNorm over channels."""

import copy

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mrconv.errors import ArgumentError, DtypeError, ShapeError
from mrconv.nn import ChannelNorm, MaskedBatchNorm
from mrconv.testing import assert_close

BOTH = pytest.mark.parametrize("kind", [MaskedBatchNorm, ChannelNorm])


def twins(momentum=0.1, channels=3):
    ours = MaskedBatchNorm(channels, momentum, dtype=torch.float64)
    theirs = torch.nn.BatchNorm1d(channels, momentum=momentum, dtype=torch.float64)
    with torch.no_grad():
        ours.weight.copy_(torch.randn(channels))
        ours.bias.copy_(torch.randn(channels))
    theirs.load_state_dict(ours.state_dict())  # the names are the same
    return ours, theirs


@pytest.mark.parametrize("momentum", [0.1, 1.0, 0.0, None])
@pytest.mark.parametrize("full", [False, True])
def test_equals_torch_on_full_rows(momentum, full):
    ours, theirs = twins(momentum)
    for step in range(3):
        x = (step + torch.randn(4, 3, 7, dtype=torch.float64)).requires_grad_()
        y = ours(x, torch.full((4,), 7) if full else None)
        expected = theirs(x)
        assert_close(y, expected)
        weights = torch.randn_like(y)
        got = torch.autograd.grad(y, (x, ours.weight, ours.bias), weights)
        oracle = torch.autograd.grad(expected, (x, theirs.weight, theirs.bias), weights)
        for one, other in zip(got, oracle, strict=True):
            assert_close(one, other)
        for name, value in theirs.state_dict().items():
            torch.testing.assert_close(ours.state_dict()[name], value, rtol=1e-12, atol=1e-12)
    assert_close(ours.eval()(x), theirs.eval()(x))


@given(st.integers(0, 6), st.integers(0, 6))
def test_equals_torch_on_the_gathered_samples(second, third):
    ours, theirs = twins()
    lengths = torch.tensor([6, second, third])
    x = torch.randn(3, 3, 6, dtype=torch.float64)
    y = ours(x, lengths)
    gathered = torch.cat([row[:, :n] for row, n in zip(x, lengths, strict=True)], -1)[None]
    expected = theirs(gathered)
    valid = torch.arange(6) < lengths[:, None]
    assert_close(y.transpose(1, 2)[valid].T[None], expected)
    assert (y.transpose(1, 2)[~valid] == 0).all()
    assert_close(ours.running_var, theirs.running_var, 1e-12)
    assert_close(ours.running_mean, theirs.running_mean, 1e-12)


@BOTH
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("filling", [float("nan"), float("inf"), 1e30])
def test_padding_is_never_read(kind, training, filling):
    norm = kind(3, dtype=torch.float64).train(training)
    other = copy.deepcopy(norm)
    x, lengths = torch.randn(3, 3, 6, dtype=torch.float64), torch.tensor([6, 4, 0])
    behind = (torch.arange(8) >= lengths[:, None])[:, None]
    padded = torch.nn.functional.pad(x, (0, 2)).masked_fill(behind, filling)
    x.requires_grad_()
    padded.requires_grad_()
    y, wide = norm(x, lengths), other(padded, lengths)
    assert torch.equal(wide[..., :6] == 0, y == 0)
    assert_close(wide[..., :6], y, 1e-14)
    assert (wide.masked_select(behind) == 0).all()
    weights = torch.randn_like(y)
    (y * weights).sum().backward()
    (wide[..., :6] * weights).sum().backward()
    assert (padded.grad.masked_select(behind) == 0).all()
    assert_close(padded.grad[..., :6], x.grad)
    for name, parameter in norm.named_parameters():
        assert_close(other.get_parameter(name).grad, parameter.grad)
    for name, value in norm.state_dict().items():
        torch.testing.assert_close(other.state_dict()[name], value)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("kind", [MaskedBatchNorm, ChannelNorm])
def test_gradcheck(kind, training):
    norm = kind(2, dtype=torch.float64).train(training)
    x = torch.randn(2, 2, 4, dtype=torch.float64, requires_grad=True)
    parameters = tuple(norm.parameters())

    def normalised(x, *parameters):
        return norm(x, torch.tensor([4, 3]))

    assert torch.autograd.gradcheck(normalised, (x, *parameters))


def test_channel_norm_is_layer_norm_of_each_position():
    norm = ChannelNorm(4, eps=1e-3, dtype=torch.float64)
    with torch.no_grad():
        norm.weight.normal_()
        norm.bias.normal_()
    x = torch.randn(2, 4, 5, dtype=torch.float64)
    mean = x.mean(1, keepdim=True)
    var = (x - mean).square().mean(1, keepdim=True)
    expected = (x - mean) / torch.sqrt(var + 1e-3)
    expected = norm.weight[:, None] * expected + norm.bias[:, None]
    assert_close(norm(x), expected)
    ragged = norm(x, torch.tensor([5, 2]))
    assert_close(ragged[1, :, :2], expected[1, :, :2])
    assert (ragged[1, :, 2:] == 0).all()


@BOTH
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(kind, dtype):
    norm, x = kind(3), torch.randn(4, 3, 20)
    norm(x)
    expected = copy.deepcopy(norm)(x)
    half = copy.deepcopy(norm).to(dtype)
    y = half(x.to(dtype))
    assert y.dtype == half.weight.dtype == dtype
    assert_close(y, expected)


def test_statistics_stay_in_float32_under_a_cast_to_half():
    norm = torch.nn.Sequential(MaskedBatchNorm(3))
    norm(torch.randn(4, 3, 20) * 3 + 1 / 3)
    mean = norm[0].running_mean.clone()
    norm.bfloat16()
    assert norm[0].running_var.dtype == torch.float32
    assert torch.equal(norm[0].running_mean, mean)
    norm.half()
    assert torch.equal(norm[0].running_mean, mean)
    assert norm.double()[0].running_mean.dtype == torch.float64
    assert norm.bfloat16()[0].running_mean.dtype == torch.float32
    assert MaskedBatchNorm(3, dtype=torch.bfloat16).running_var.dtype == torch.float32


@BOTH
def test_reset_and_meta_device(kind):
    norm = kind(3, device="meta")
    assert all(tensor.is_meta for tensor in norm.state_dict().values())
    norm = norm.to_empty(device="cpu")
    for tensor in norm.state_dict().values():
        tensor.fill_(7)
    norm.reset_parameters()
    fresh = kind(3)
    for name, value in fresh.state_dict().items():
        assert torch.equal(norm.state_dict()[name], value)


def test_too_few_samples(says):
    norm = MaskedBatchNorm(3)
    with says(
        ArgumentError,
        "MaskedBatchNorm: training needs at least 2 valid samples over batch and time; got 1. "
        "Pass a longer batch, or call .eval() first.",
    ):
        norm(torch.randn(1, 3, 1))
    assert int(norm.num_batches_tracked) == 0
    assert norm.eval()(torch.randn(1, 3, 1)).shape == (1, 3, 1)


@BOTH
def test_empty_in_eval_mode(kind):
    norm = kind(3).eval()
    assert norm(torch.randn(2, 3, 0)).shape == (2, 3, 0)
    assert norm(torch.randn(0, 3, 4)).shape == (0, 3, 4)


@BOTH
def test_errors(says, kind):
    norm, name = kind(3), kind.__name__
    with says(
        ShapeError,
        f"{name}: input must be (batch, 3, length); got (2, 5, 3). Did you mean x.transpose(1, 2)?",
    ):
        norm(torch.zeros(2, 5, 3))
    with says(
        DtypeError,
        f"{name}: input must have the dtype of the parameters, torch.float32; got torch.float64. "
        "Convert the input with x.to(torch.float32) or the layer with layer.to(torch.float64).",
    ):
        norm(torch.zeros(2, 3, 5).double())
    with says(
        ArgumentError,
        f"{name}: lengths must lie between 0 and the input's length 5; got 2 to 6. "
        "Pad the input on the right with mrconv.pad.",
    ):
        norm(torch.zeros(2, 3, 5), torch.tensor([2, 6]))
    with says(
        ArgumentError,
        f"{name}: channels must be at least 1; got channels=0. Pass a larger channels.",
    ):
        kind(0)
