"""The residual block, written out, and what padding may do to it."""

import copy

import pytest
import torch
from torch import nn

import mrconv
from mrconv.errors import ArgumentError
from mrconv.nn import ChannelNorm, MaskedBatchNorm, ResidualBlock
from mrconv.testing import assert_close, settled

ORDERS = pytest.mark.parametrize("pre_norm", [False, True])
NORMS = pytest.mark.parametrize("norm", ["batch", "layer"])
TRAINING = pytest.mark.parametrize("training", [True, False])


def block(pre_norm=False, norm="batch", dropout=0.0, dtype=torch.float64):
    mixer = settled(mrconv.MRConv(4, 16, kernel_size=4, dtype=dtype)).train()
    return ResidualBlock(mixer, 4, norm=norm, pre_norm=pre_norm, dropout=dropout, dtype=dtype)


@ORDERS
@NORMS
@TRAINING
def test_values(pre_norm, norm, training):
    made = block(pre_norm, norm).train(training)
    x = torch.randn(2, 4, 9, dtype=torch.float64)
    twin = copy.deepcopy(made)

    def branch(x):
        mixed = nn.functional.gelu(twin.mixer(x))
        both = torch.einsum("ed,bdl->bel", twin.linear.weight, mixed)
        value, gate = (both + twin.linear.bias[:, None]).chunk(2, 1)
        return value * torch.sigmoid(gate)

    expected = x + branch(twin.norm(x)) if pre_norm else twin.norm(x + branch(x))
    assert_close(made(x), expected)


@ORDERS
@NORMS
@TRAINING
def test_padding_is_never_read(pre_norm, norm, training):
    made = block(pre_norm, norm).train(training)
    other = copy.deepcopy(made)
    x, lengths = torch.randn(3, 4, 9, dtype=torch.float64), torch.tensor([9, 5, 0])
    behind = (torch.arange(12) >= lengths[:, None])[:, None]
    padded = nn.functional.pad(x, (0, 3)).masked_fill(behind, float("nan"))
    x.requires_grad_()
    padded.requires_grad_()
    y, wide = made(x, lengths), other(padded, lengths)
    assert_close(wide[..., :9], y)
    assert (wide.masked_select(behind) == 0).all()
    weights = torch.randn_like(y)
    (y * weights).sum().backward()
    (wide[..., :9] * weights).sum().backward()
    assert_close(padded.grad[..., :9], x.grad)
    for name, parameter in made.named_parameters():
        assert_close(other.get_parameter(name).grad, parameter.grad, 1e-8)
    for name, value in made.state_dict().items():
        torch.testing.assert_close(other.state_dict()[name], value, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("pre_norm", [False, True])
def test_gradcheck(pre_norm):
    made = block(pre_norm)
    x = torch.randn(2, 4, 5, dtype=torch.float64, requires_grad=True)
    parameters = tuple(made.parameters())

    def run(x, *parameters):
        return made(x, torch.tensor([5, 3]))

    assert torch.autograd.gradcheck(run, (x, *parameters), fast_mode=True)


def test_dropout_sets_whole_channels_to_0():
    made = block(dropout=0.5, dtype=torch.float32)
    seen = []
    made.dropout.register_forward_hook(
        lambda module, inputs, output: seen.append((*inputs, output))
    )
    made(torch.randn(64, 4, 9))
    before, after = seen[0]
    kept = (after == 2 * before).all(-1)  # (B, D): the same at every step
    assert torch.equal(~kept, (after == 0).all(-1))
    assert 0.3 < float(kept.float().mean()) < 0.7
    made.eval()(torch.randn(64, 4, 9))
    assert torch.equal(*seen[1])


@ORDERS
@NORMS
def test_precisions(pre_norm, norm):
    made, x = block(pre_norm, norm, dtype=torch.float32), torch.randn(2, 4, 9)
    lengths = torch.tensor([9, 5])
    expected = copy.deepcopy(made).double()(x.double(), lengths)
    assert_close(made(x, lengths), expected)
    low = copy.deepcopy(made).bfloat16()(x.bfloat16(), lengths)
    assert low.dtype == torch.bfloat16
    assert_close(low, expected, 5e-2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = made(x, lengths)
    assert_close(mixed, expected, 5e-2)


def test_norms_by_name():
    assert type(block().norm) is MaskedBatchNorm
    assert type(block(norm="layer").norm) is ChannelNorm


def test_errors(says):
    with says(
        ArgumentError,
        "ResidualBlock: norm must be one of 'batch', 'layer'; got 'batchnorm'. "
        "Did you mean 'batch'?",
    ):
        block(norm="batchnorm")
    for dropout in (-0.1, 1.0, 1.5):
        with says(
            ArgumentError,
            f"ResidualBlock: dropout must be at least 0 and below 1; got {dropout}. Use 0.1.",
        ):
            block(dropout=dropout)
