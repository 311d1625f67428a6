"""LongConv, and its exact exchange with torch's depthwise Conv1d."""

import copy
import pickle

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import nn

from mrconv import LongConv
from mrconv.errors import ArgumentError, DtypeError, MergeError, ShapeError
from mrconv.testing import assert_close, direct_convolution

SIDES = pytest.mark.parametrize("causal", [True, False])
METHODS = pytest.mark.parametrize("method", ["auto", "fft", "direct"])


def layer(channels=3, num_taps=6, causal=True, bias=True, dtype=torch.float64):
    made = LongConv(channels, num_taps, causal=causal, bias=bias, dtype=dtype)
    if bias:
        nn.init.normal_(made.bias)
    return made


def expected_of(conv, x):
    bias = 0 if conv.bias is None else conv.bias.double()[:, None]
    return direct_convolution(x, conv.taps, causal=conv.causal) + bias


@SIDES
@METHODS
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("length", [0, 1, 2, 5, 6, 7, 13, 20])
def test_values(causal, method, bias, length):
    conv = layer(causal=causal, bias=bias)
    x = torch.randn(2, 3, length, dtype=torch.float64)
    assert_close(conv(x, method=method), expected_of(conv, x))


@SIDES
@METHODS
def test_ragged(causal, method):
    conv = layer(causal=causal)
    lengths = torch.tensor([9, 4, 0])
    x = torch.randn(3, 3, 9, dtype=torch.float64)
    behind = (torch.arange(9) >= lengths[:, None])[:, None]
    y = conv(x.masked_fill(behind, float("nan")), lengths, method=method)
    assert (y.masked_select(behind) == 0).all()
    for row, n in enumerate(lengths):
        assert_close(y[row : row + 1, :, :n], expected_of(conv, x[row : row + 1, :, :n]))


@SIDES
def test_gradcheck(causal):
    conv = layer(2, 3, causal)
    x = torch.randn(2, 2, 5, dtype=torch.float64, requires_grad=True)

    def convolve(x, taps, bias):
        return conv(x, torch.tensor([5, 2]))

    assert torch.autograd.gradcheck(convolve, (x, conv.taps, conv.bias))


def test_nan_padding_gives_finite_gradients():
    conv = layer()
    x = torch.full((2, 3, 8), float("nan"), dtype=torch.float64)
    x[:, :, :3] = 1.0
    x.requires_grad_()
    conv(x, torch.tensor([3, 2])).sum().backward()
    assert all(p.grad.isfinite().all() for p in conv.parameters())
    assert x.grad.isfinite().all()
    assert (x.grad[:, :, 3:] == 0).all()


@METHODS
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(dtype, method):
    conv = layer(num_taps=20, dtype=torch.float32)
    x = torch.randn(2, 3, 50)
    half = copy.deepcopy(conv).to(dtype)
    y = half(x.to(dtype), method=method)
    assert y.dtype == dtype
    assert_close(y, expected_of(half, x.to(dtype)), 5e-3)


@METHODS
def test_autocast_computes_in_float32(method):
    conv = layer(num_taps=20, dtype=torch.float32)
    x = torch.randn(2, 3, 50)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = conv(x, method=method)
        low = conv(x.bfloat16(), method=method)
    assert y.dtype == torch.float32
    assert_close(y, expected_of(conv, x))
    assert low.dtype == torch.bfloat16
    assert_close(low, expected_of(conv, x.bfloat16()))


def test_start_values():
    conv = LongConv(2000, 9)
    assert float(conv.taps.detach().square().sum(-1).mean()) == pytest.approx(1, abs=0.05)
    assert (conv.bias == 0).all()
    assert conv.checked is None
    assert set(conv.state_dict()) == {"taps", "bias"}
    assert set(LongConv(2, 3, bias=False).state_dict()) == {"taps"}
    assert LongConv(2, 3, causal=False).taps.shape == (2, 6)


def test_copies_and_meta_device():
    conv, x = layer(), torch.randn(2, 3, 9, dtype=torch.float64)
    for other in (copy.deepcopy(conv), pickle.loads(pickle.dumps(conv))):
        assert torch.equal(other(x), conv(x))
    meta = LongConv(3, 6, device="meta")
    assert meta(torch.empty(2, 3, 9, device="meta")).shape == (2, 3, 9)
    real = meta.to_empty(device="cpu")
    real.reset_parameters()
    assert real(x.float()).isfinite().all()


def test_repr():
    assert repr(LongConv(2, 3)) == "LongConv(2, num_taps=3, causal=True, bias=True)"


# ------------------------------------------------------------------------------------- Conv1d


def conv1d(size, padding, dilation=1, bias=True, channels=3):
    return nn.Conv1d(
        channels,
        channels,
        size,
        padding=padding,
        dilation=dilation,
        groups=channels,
        bias=bias,
        dtype=torch.float64,
    )


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths")
@given(
    size=st.integers(1, 6),
    dilation=st.integers(1, 3),
    length=st.integers(1, 25),
    bias=st.booleans(),
    kind=st.sampled_from(["none", "valid", "half", "same", "full"]),
)
def test_from_conv1d(size, dilation, length, bias, kind):
    reach = dilation * (size - 1)
    assume(kind != "half" or reach % 2 == 0)
    padding = {"none": 0, "half": reach // 2, "full": reach}.get(kind, kind)
    conv = conv1d(size, padding, dilation, bias)
    ours = LongConv.from_conv1d(conv)
    x = torch.randn(2, 3, length, dtype=torch.float64)
    # what equals the layer: "none" reads an input with zeros before it
    before = reach if kind in ("none", "valid") else 0
    expected = conv(nn.functional.pad(x, (before, 0)))[..., :length]
    assert_close(ours(x), expected)
    assert_close(ours(x, method="direct"), expected, 1e-14)


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths")
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("dilation", [1, 2])
def test_from_conv1d_of_padding_same(size, dilation):
    conv = conv1d(size, "same", dilation)
    x = torch.randn(2, 3, 11, dtype=torch.float64)
    assert_close(LongConv.from_conv1d(conv)(x), conv(x))


@SIDES
@pytest.mark.parametrize("num_taps", [1, 2, 5, 8])
@pytest.mark.parametrize("length", [1, 4, 20])
@pytest.mark.parametrize("bias", [True, False])
def test_to_conv1d(causal, num_taps, length, bias):
    ours = layer(3, num_taps, causal, bias)
    conv = ours.to_conv1d()
    x = torch.randn(2, 3, length, dtype=torch.float64)
    assert_close(conv(x)[..., :length], ours(x))
    assert causal or conv(x).shape == x.shape
    assert (conv.bias is None) == (ours.bias is None)


@SIDES
def test_there_and_back(causal):
    ours = layer(3, 5, causal)
    back = LongConv.from_conv1d(ours.to_conv1d())
    x = torch.randn(2, 3, 11, dtype=torch.float64)
    assert back.causal == causal
    assert_close(back(x), ours(x))


def test_exchange_copies_the_weights_and_keeps_the_mode():
    conv = conv1d(3, 1).eval()
    ours = LongConv.from_conv1d(conv)
    assert not ours.training
    before = ours.taps.detach().clone()
    nn.init.zeros_(conv.weight)
    assert torch.equal(ours.taps, before)
    assert ours.taps.requires_grad
    back = ours.to_conv1d()
    assert not back.training
    nn.init.zeros_(ours.taps)
    assert (back.weight != 0).any()


@pytest.mark.parametrize(
    ("settings", "got"),
    [
        (
            {"in_channels": 4, "out_channels": 4, "groups": 2},
            "in_channels=4, out_channels=4, groups=2, stride=1, padding_mode='zeros'",
        ),
        (
            {"in_channels": 2, "out_channels": 4, "groups": 2},
            "in_channels=2, out_channels=4, groups=2, stride=1, padding_mode='zeros'",
        ),
        (
            {"in_channels": 2, "out_channels": 2, "groups": 2, "stride": 3},
            "in_channels=2, out_channels=2, groups=2, stride=3, padding_mode='zeros'",
        ),
        (
            {"in_channels": 2, "out_channels": 2, "groups": 2, "padding_mode": "circular"},
            "in_channels=2, out_channels=2, groups=2, stride=1, padding_mode='circular'",
        ),
    ],
)
def test_from_conv1d_refuses_other_kinds(says, settings, got):
    with says(
        MergeError,
        "from_conv1d: the convolution must be depthwise with stride 1 and zero padding; "
        f"got {got}. Keep it as it is.",
    ):
        LongConv.from_conv1d(nn.Conv1d(kernel_size=3, **settings))


def test_from_conv1d_refuses_other_paddings(says):
    with says(
        MergeError,
        "from_conv1d: padding must be 0, half or all of the reach of 4 samples; got 1. "
        "Change the padding, or keep the convolution as it is.",
    ):
        LongConv.from_conv1d(conv1d(5, 1))


def test_from_conv1d_refuses_other_modules(says):
    with says(
        ArgumentError,
        "from_conv1d: conv must be an nn.Conv1d; got Linear. Pass a depthwise nn.Conv1d.",
    ):
        LongConv.from_conv1d(nn.Linear(2, 2))


# -------------------------------------------------------------------------------------- errors


def test_errors(says):
    conv = LongConv(3, 4)
    with says(
        ArgumentError,
        "LongConv: num_taps must be at least 1; got num_taps=0. Pass a larger num_taps.",
    ):
        LongConv(3, 0)
    with says(
        DtypeError, "LongConv: channels must be a whole number; got '3'. Pass an int of at least 1."
    ):
        LongConv("3", 4)
    with says(
        ShapeError,
        "LongConv: input must be (batch, 3, length); got (2, 8, 3). "
        "Did you mean x.transpose(1, 2)?",
    ):
        conv(torch.zeros(2, 8, 3))
    with says(
        DtypeError,
        "LongConv: input must have the dtype of the parameters, torch.float32; got torch.int64. "
        "Convert the input with x.to(torch.float32) or the layer with layer.to(torch.int64).",
    ):
        conv(torch.zeros(2, 3, 8, dtype=torch.int64))
    with says(
        ShapeError,
        "LongConv: lengths must be (2,), one per row; got (3,). Pass the number of valid samples "
        "of each row, or mrconv.lengths_from_mask(mask).",
    ):
        conv(torch.zeros(2, 3, 8), torch.tensor([1, 2, 3]))
