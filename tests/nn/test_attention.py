"""Attention against a softmax over explicit sums, with explicit rotation matrices, in float64."""

import copy
import math

import pytest
import torch

from mrconv.errors import ArgumentError, DtypeError, ShapeError
from mrconv.nn import Attention
from mrconv.nn.attention import rotated
from mrconv.testing import assert_close

SIDES = pytest.mark.parametrize("causal", [True, False])
F64 = torch.float64


def layer(channels=6, num_heads=1, causal=True, dtype=F64):
    return Attention(channels, 20, num_heads=num_heads, causal=causal, dtype=dtype)


def rotation(position, size):
    """The matrix that turns pair (j, j + size // 2) by position 10000^(-j / (size // 2))."""
    matrix, half = torch.eye(size, dtype=F64), size // 2
    for j in range(half):
        angle = position * 10_000.0 ** (-j / half)
        matrix[j, j] = matrix[j + half, j + half] = math.cos(angle)
        matrix[j, j + half], matrix[j + half, j] = -math.sin(angle), math.sin(angle)
    return matrix


def expected_of(made, x):
    """One query, head and row at a time."""
    x, size = x.detach().double(), made.channels // made.num_heads
    qkv = torch.einsum("ed,bdl->bel", made.qkv.weight.detach().double(), x)
    mixed = torch.zeros_like(x)
    for row in range(x.shape[0]):
        for head in range(made.num_heads):
            part = slice(head * size, (head + 1) * size)
            q, k, v = (third[part] for third in qkv[row].chunk(3))
            for t in range(x.shape[-1]):
                seen = t + 1 if made.causal else x.shape[-1]
                turned = rotation(t, size) @ q[:, t]
                scores = [turned @ (rotation(s, size) @ k[:, s]) for s in range(seen)]
                weights = torch.exp(torch.stack(scores) / math.sqrt(size))
                mixed[row, part, t] = v[:, :seen] @ (weights / weights.sum())
    return torch.einsum("ed,bdl->bel", made.out.weight.detach().double(), mixed)


@SIDES
@pytest.mark.parametrize(("channels", "num_heads"), [(8, 2), (8, 1), (6, 3), (5, 1), (2, 2)])
@pytest.mark.parametrize("length", [0, 1, 2, 3, 8, 13])
def test_values(causal, channels, num_heads, length):
    made = layer(channels, num_heads, causal)
    x = 2 * torch.randn(2, channels, length, dtype=F64)
    assert_close(made(x), expected_of(made, x))


@SIDES
def test_length_is_no_limit(causal):
    made = Attention(4, 3, causal=causal, dtype=F64)
    x = torch.randn(1, 4, 41, dtype=F64)
    assert_close(made(x), expected_of(made, x))


@pytest.mark.parametrize("dtype", [F64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("length", [3, 200])
def test_causal_to_the_bit(dtype, length):
    made = Attention(128, 20, dtype=dtype)
    x = torch.randn(2, 128, length).to(dtype)
    other = x.clone()
    at = length // 3
    other[..., at:] = 100 * torch.randn_like(other[..., at:])
    assert torch.equal(made(x)[..., :at], made(other)[..., :at])
    assert not torch.equal(made(x)[..., at], made(other)[..., at])


def test_two_sided_outputs_see_what_comes():
    made, x = layer(causal=False), torch.randn(1, 6, 9, dtype=F64)
    other = x.clone()
    other[..., 8] += 1
    assert (made(x)[..., 0] != made(other)[..., 0]).any()


@SIDES
@pytest.mark.parametrize("padding", [float("nan"), float("inf"), 1e30])
def test_ragged(causal, padding):
    made = layer(causal=causal, num_heads=2)
    lengths = torch.tensor([9, 4, 1, 0])
    x = torch.randn(4, 6, 9, dtype=F64)
    behind = (torch.arange(9) >= lengths[:, None])[:, None]
    y = made(x.masked_fill(behind, padding), lengths)
    assert (y.masked_select(behind) == 0).all()
    for row, n in enumerate(lengths):
        assert_close(y[row : row + 1, :, :n], expected_of(made, x[row : row + 1, :, :n]))


@SIDES
def test_padding_leaves_gradients_finite(causal):
    made = layer(causal=causal)
    x = torch.full((3, 6, 8), float("nan"), dtype=F64)
    x[:, :, :3] = torch.randn(3, 6, 3)
    x.requires_grad_()
    made(x, torch.tensor([3, 2, 0])).square().sum().backward()
    assert all(p.grad.isfinite().all() and (p.grad != 0).any() for p in made.parameters())
    assert (x.grad[:, :, 3:] == 0).all()
    assert x.grad.isfinite().all()


@SIDES
def test_gradcheck(causal):
    made = layer(4, 2, causal)
    x = torch.randn(2, 4, 5, dtype=F64, requires_grad=True)

    def attend(x, qkv, out):
        return made(x, torch.tensor([5, 2]))

    assert torch.autograd.gradcheck(attend, (x, made.qkv.weight, made.out.weight))


@SIDES
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_computes_in_itself(causal, dtype):
    made = layer(8, 2, causal, torch.float32).to(dtype)
    x = torch.randn(2, 8, 30).to(dtype)
    seen = []
    made.qkv.register_forward_hook(lambda module, given, output: seen.append(output.dtype))
    made.out.register_forward_hook(lambda module, given, output: seen.append(given[0].dtype))
    y = made(x)
    assert seen == [dtype, dtype]
    assert y.dtype == dtype
    assert_close(y, expected_of(made, x))


def test_angles_of_half_precision_are_computed_in_float32():
    x = torch.randn(1, 1, 3000, 8).bfloat16()
    assert_close(rotated(x), rotated(x.double()), 5e-3)


def test_a_row_without_samples_attends_to_something():
    mask = layer(causal=False)._key_mask(torch.tensor([3, 0]), torch.zeros(2, 6, 4))
    assert mask[:, 0, 0].tolist() == [[True, True, True, False], [True, False, False, False]]


def test_autocast():
    made, x = layer(8, 2, dtype=torch.float32), torch.randn(2, 8, 30)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = made(x)
    assert y.dtype == torch.float32
    assert_close(y, expected_of(made, x), 2e-2)


@pytest.mark.parametrize(
    ("channels", "heads"), [(1, 1), (3, 1), (64, 1), (128, 2), (200, 2), (191, 1), (768, 12)]
)
def test_default_heads(channels, heads):
    made = Attention(channels, 10, device="meta")
    assert made.num_heads == heads
    assert made(torch.empty(2, channels, 7, device="meta")).shape == (2, channels, 7)


def test_copies_and_names():
    made, x = layer(), torch.randn(2, 6, 9, dtype=F64)
    assert torch.equal(copy.deepcopy(made)(x), made(x))
    assert set(made.state_dict()) == {"qkv.weight", "out.weight"}
    assert made.qkv.weight.shape == (18, 6)
    assert repr(made).startswith("Attention(\n  6, num_heads=1, causal=True\n")


def test_errors(says):
    with says(
        ArgumentError,
        "Attention: num_heads must divide channels=6; got num_heads=4. Use num_heads=3.",
    ):
        layer(6, 4)
    with says(
        ArgumentError,
        "Attention: num_heads must be at least 1; got num_heads=0. Pass a larger num_heads.",
    ):
        layer(6, 0)
    with says(
        ArgumentError,
        "Attention: channels must be at least 1; got channels=0. Pass a larger channels.",
    ):
        layer(0)
    with says(
        DtypeError, "Attention: length must be a whole number; got 2.0. Pass an int of at least 1."
    ):
        Attention(4, 2.0)
    made = layer(6, dtype=torch.float32)
    with says(
        ShapeError,
        "Attention: input must be (batch, 6, length); got (2, 8, 6). "
        "Did you mean x.transpose(1, 2)?",
    ):
        made(torch.zeros(2, 8, 6))
    with says(
        DtypeError,
        "Attention: input must have the dtype of the parameters, torch.float32; "
        "got torch.float64. Convert the input with x.to(torch.float32) or the layer with "
        "layer.to(torch.float64).",
    ):
        made(torch.zeros(2, 6, 8, dtype=F64))
    with says(
        ArgumentError,
        "Attention: lengths must lie between 0 and the input's length 8; got 1 to 9. "
        "Pad the input on the right with mrconv.pad.",
    ):
        made(torch.zeros(2, 6, 8), torch.tensor([9, 1]))
