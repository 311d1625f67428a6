"""A map read pixel by pixel: against a sum over pairs of pixels, at every width."""

import functools

import pytest
import torch

import mrconv
from mrconv.errors import ArgumentError, DtypeError, ShapeError
from mrconv.nn import KernelConv, ScanConv2d

WIDTH = 5


@functools.cache
def lags(rows, columns, width):
    """The lag at which each pair of pixels meets, None for those that do not.

    It is (r - r') W + (c - c'). On maps wider than the layer's only those pairs meet whose
    difference in the flattened map is that of an offset of at most half a row.
    """
    near = {
        dr * columns + dc: dr * width + dc
        for dr in range(-rows, rows + 1)
        for dc in range(-(width // 2), width - width // 2)
    }
    pixels = [(r, c) for r in range(rows) for c in range(columns)]
    return [
        near.get((r - r2) * columns + c - c2) if columns > width else (r - r2) * width + c - c2
        for r, c in pixels
        for r2, c2 in pixels
    ]


def by_pairs(taps, x, width, causal):
    """y[p] = sum over p' of taps[lag(p, p')] x[p']."""
    middle = 0 if causal else taps.shape[-1] // 2
    found = {lag: taps[:, lag + middle] for lag in range(-middle, taps.shape[-1] - middle)}
    nothing, pixels = torch.zeros_like(taps[:, 0]), x[0, 0].numel()
    pairs = [found.get(lag, nothing) for lag in lags(*x.shape[-2:], width)]
    matrix = torch.stack(pairs, -1).unflatten(-1, (pixels, pixels))
    return torch.einsum("dpq,bdq->bdp", matrix, x.flatten(2)).unflatten(-1, x.shape[-2:])


def layers(causal):
    sizes = {"causal": causal, "dtype": torch.float64}
    branches = mrconv.MRConv(3, 28, kernel_size=4, kernel="fourier+sparse", **sizes)
    branches(torch.randn(8, 3, 25, dtype=torch.float64))  # running statistics of their own
    plain = mrconv.LongConv(3, 17, **sizes)
    torch.nn.init.normal_(plain.bias)
    return [branches.eval(), plain.eval(), KernelConv(3, 11, kernel="dense", **sizes).eval()]


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("scan", ["rows", "columns"])
@pytest.mark.parametrize("size", [(5, 5), (3, 5), (1, 1), (7, 2), (7, 7), (3, 11), (2, 6)])
def test_every_pair_of_pixels(size, scan, causal):
    for conv in layers(causal):
        layer = ScanConv2d(conv, WIDTH, scan=scan)
        taps = conv.taps if isinstance(conv, mrconv.LongConv) else conv.merged_taps()[0]
        bias = getattr(conv, "bias", None)
        bias = conv.merged_taps()[1] if isinstance(conv, mrconv.MRConv) else bias
        x = torch.randn(2, 3, *size, dtype=torch.float64)
        turned = x if scan == "rows" else x.transpose(-2, -1)
        expected = by_pairs(taps, turned, WIDTH, causal)
        expected = expected if bias is None else expected + bias[:, None, None]
        expected = expected if scan == "rows" else expected.transpose(-2, -1)
        torch.testing.assert_close(layer(x), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("width", [4, 5, 9])
def test_merged_equals_branches_at_every_width(width):
    layer = ScanConv2d(layers(causal=False)[0], WIDTH)
    merged = mrconv.merge(layer)
    assert type(merged.conv) is mrconv.LongConv
    x = torch.randn(2, 3, width, width, dtype=torch.float64)
    torch.testing.assert_close(merged(x), layer(x), rtol=1e-10, atol=1e-10)


def test_half_precision_comes_back():
    layer = ScanConv2d(mrconv.MRConv(3, 25, kernel_size=5, causal=False).eval(), WIDTH).bfloat16()
    x = torch.randn(2, 3, 7, 7)
    y = layer(x.bfloat16())
    assert y.dtype == torch.bfloat16
    expected = layer.float()(x.bfloat16().float())
    assert (y.float() - expected).norm() < 2e-2 * expected.norm()


def test_gradients_in_training():
    layer = ScanConv2d(mrconv.MRConv(3, 25, kernel_size=5, causal=False), WIDTH, scan="columns")
    x = torch.randn(4, 3, 5, 5, requires_grad=True)
    layer(x).square().sum().backward()
    straight = x.detach().transpose(-2, -1).flatten(2).requires_grad_()
    twin = mrconv.MRConv(3, 25, kernel_size=5, causal=False)
    twin.load_state_dict(layer.conv.state_dict())
    twin(straight).square().sum().backward()
    expected = straight.grad.unflatten(2, (5, 5)).transpose(-2, -1)
    torch.testing.assert_close(x.grad, expected)


def test_errors(says):
    conv = mrconv.MRConv(3, 25, kernel_size=5)
    with says(
        DtypeError,
        "ScanConv2d: conv must be an MRConv, KernelConv or LongConv; got Conv1d. "
        "Pass one of these layers.",
    ):
        ScanConv2d(torch.nn.Conv1d(3, 3, 5), 5)
    with says(
        ArgumentError, "ScanConv2d: width must be at least 1; got width=0. Pass a larger width."
    ):
        ScanConv2d(conv, 0)
    with says(
        ArgumentError,
        "ScanConv2d: scan must be one of 'rows', 'columns'; got 'row'. Did you mean 'rows'?",
    ):
        ScanConv2d(conv, 5, scan="row")
    layer = ScanConv2d(conv, 5)
    for shape in ((2, 3, 25), (2, 4, 5, 5)):
        with says(
            ShapeError,
            "ScanConv2d: input must be (batch, 3, height, width); "
            f"got {shape}. Pass one map per channel.",
        ):
            layer(torch.randn(shape))
    with says(
        ArgumentError,
        "ScanConv2d: maps must be 5 pixels wide in training; got 4. "
        "Convert the model for this image size, or call .eval().",
    ):
        layer(torch.randn(2, 3, 4, 4))
