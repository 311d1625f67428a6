"""Operations counted: against formulas written out by hand, and ConvNeXt's published number."""

import math

import pytest
import torch

timm = pytest.importorskip("timm", reason="needs timm: make test-vision", exc_type=ImportError)

import mrconv  # noqa: E402
from mrconv.errors import ArgumentError  # noqa: E402
from mrconv.models.convnext import convert  # noqa: E402
from mrconv.models.convnext.operations import count_operations, stage_costs  # noqa: E402
from mrconv.models.convnext.summary import network_lines, stage_lines, summary_lines  # noqa: E402

pytestmark = pytest.mark.vision

NARROW = {"depths": (1, 2, 1, 1), "dims": (4, 8, 8, 8), "num_classes": 5}


def fft(n):
    return 2.5 * n * math.log2(n)


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize(("rows", "length"), [(2, 96), (3, 1024)])
def test_a_convolution(rows, length, device):
    layer = mrconv.LongConv(4, 50, causal=False, device=device)
    n = {96: 160, 1024: 1280}[length]  # at least length + 50, of the factors 2, 3 and 5
    counted = count_operations(layer, torch.zeros(rows, 4, length, device=device))
    assert counted == rows * 4 * (2 * fft(n) + 6 * (n // 2 + 1))


def test_the_operator_counts_as_the_expression(monkeypatch):
    layer, x = mrconv.LongConv(4, 64), torch.zeros(8, 4, 64)
    expected = 32 * (2 * fft(128) + 6 * 64)
    monkeypatch.setattr("mrconv.convolution.long.SMALL", 0)
    assert count_operations(layer, x) == expected
    assert count_operations(mrconv.LongConv(4, 8), x) == 2 * 8 * x.numel()  # shifted copies
    assert layer.training


def test_convnext_tiny_has_its_published_operations():
    model = timm.create_model("convnext_tiny", device="meta")
    x = torch.empty(1, 3, 224, 224, device="meta")
    assert count_operations(model, x) / 2e9 == pytest.approx(4.5, abs=0.05)


def test_stages_by_hand():
    first, second, third, fourth = stage_costs(
        convert(timm.create_model("convnext_tiny", **NARROW))
    )
    assert [stage.blocks for stage in (first, second, third, fourth)] == [1, 2, 1, 1]
    # the square convolutions as the paper counts them: 2 * 49 pixels, 307,328 at 56 x 56
    assert [first.square, second.square] == [4 * 307_328, 16 * 76_832]
    assert first.circular == pytest.approx(4 * (2 * fft(3136) + 3 * 3136))
    assert first.padded == pytest.approx(4 * (2 * fft(7680) + 3 * 7680))
    assert third.padded == pytest.approx(8 * (2 * fft(320) + 3 * 320))
    assert fourth.padded == pytest.approx(8 * (2 * fft(80) + 3 * 80))
    # two sides of Fourier (28 / 2 + 1 modes) and sparse (28) kernels and two factors; gain, shift
    assert fourth.parameters == 8 * (2 * (30 + 28 + 2) + 2)


def test_lines():
    ours = convert(timm.create_model("convnext_tiny", **NARROW)).eval()
    theirs = timm.create_model("convnext_tiny", **NARROW).eval()
    head, first, *_ = stage_lines(ours)
    assert head.startswith("map      sequence  kernel size  resolutions  taps")
    assert first.split()[:6] == ["56", "x", "56", "3,136", "196", "5"]
    found = network_lines("mrconvnext_tiny", ours, theirs.to("meta"))
    assert [line.split("  ")[0] for line in found[1:]] == [
        "mrconvnext_tiny",
        "mrconvnext_tiny, merged",
        "convnext_tiny",
        "ConvNeXt-T, published",
        "SGConvNeXt-T, published",
        "Swin-T, published",
    ]


def test_another_name(says):
    with says(
        ArgumentError,
        "inspect: model must be one of 'mrconvnext_tiny', 'mrconvnext_small', 'mrconvnext_base'; "
        "got 'mrconvnext_large'. Did you mean 'mrconvnext_base'?",
    ):
        summary_lines("mrconvnext_large")
