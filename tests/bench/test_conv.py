"""The contestants of ``bench conv`` give equal numbers; its rows and bars."""

import math

import pytest
import torch

from mrconv.bench import Options
from mrconv.bench.conv import conv_cases
from mrconv.bench.conv_contestants import (
    Operands,
    contestants,
    gradients,
    make_operands,
    skipped,
    textbook,
)
from mrconv.bench.shapes import LARGEST, NAMED, Shape, random_shapes
from mrconv.testing import direct_convolution

SHAPES = [Shape(2, 3, 16, 16), Shape(3, 2, 13, 5), Shape(1, 2, 7, 14), Shape(2, 1, 1, 2)]
EACH = pytest.mark.parametrize("shape", SHAPES, ids=str)


@EACH
def test_contestants_give_equal_outputs(shape):
    operands = make_operands(shape, 0)
    expected = direct_convolution(operands.u, operands.taps).detach()
    group = contestants(shape, operands)["forward"]
    assert list(group) == ["ours", "textbook", "Conv1d", "memory copy", "oaconvolve"]
    for name, call in group.items():
        found = torch.as_tensor(call()).double()
        wanted = operands.u.detach().double() if name == "memory copy" else expected
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5, msg=name)


@EACH
def test_contestants_give_equal_gradients(shape):
    operands = make_operands(shape, 0)
    wide = Operands(*(part.detach().double() for part in operands))
    u, taps = wide.u.requires_grad_(), wide.taps.requires_grad_()
    expected = torch.autograd.grad(direct_convolution(u, taps), (u, taps), wide.gradient)
    group = contestants(shape, operands)["training step"]
    assert list(group) == ["ours", "textbook", "Conv1d"]
    for name, call in group.items():
        for found, wanted in zip(call(), expected, strict=True):
            torch.testing.assert_close(found.double(), wanted, rtol=1e-4, atol=1e-4, msg=name)


def test_gradients_are_those_of_a_random_gradient_of_the_outputs():
    operands = make_operands(SHAPES[0], 1)
    y = textbook(operands.u, operands.taps)
    (y * operands.gradient).sum().backward()
    for found, leaf in zip(gradients(textbook, operands), operands[:2], strict=True):
        torch.testing.assert_close(found, leaf.grad)


def test_conv1d_is_left_out_where_it_would_take_long():
    long = Shape(1, 64, 65536, 65536)
    assert skipped(long, "forward", "cpu") == [
        "  (1, 64, 65536), forward: Conv1d skipped, about 7 s a call expected"
    ]
    assert skipped(SHAPES[0], "forward", "cpu") == []
    assert skipped(SHAPES[0], "forward", "cuda") == [
        "  (2, 3, 16), forward: oaconvolve skipped, it runs on the CPU only"
    ]


def test_random_shapes_follow_from_the_seed():
    drawn = random_shapes(200, 3)
    assert drawn[:40] == random_shapes(40, 3) != random_shapes(40, 4)
    for batch, channels, length, taps in drawn:
        assert 1 <= batch <= 32
        assert 1 <= channels <= 256
        assert 1 <= length <= 65536
        assert 1 <= taps <= 2 * length
        assert batch * channels * length <= LARGEST
    assert any(math.log2(shape.length) % 1 for shape in drawn)
    assert any(shape.taps > shape.length for shape in drawn)
    assert min(s.length for s in drawn) < 32 < 16384 < max(s.length for s in drawn)


def test_every_shape_is_measured_alone_and_beside_a_busy_process():
    cases = conv_cases(Options(shapes=40))
    assert len(cases) == 2 * (len(NAMED) + 40)
    alone, beside = cases[:45], cases[45:]
    assert all(case.name.endswith(", alone") for case in alone)
    assert [case.name for case in beside] == [
        case.name.removesuffix("alone") + "beside a busy process" for case in alone
    ]
    assert [case.name for case in conv_cases(Options(busy=True))] == [c.name for c in beside]


def bars_of(rows):
    return {row.name: row.bar for row in rows if not isinstance(row, str) and row.bar is not None}


def test_rows_of_a_named_and_a_random_shape():
    named, _, drawn = conv_cases(Options(quick=True, shapes=1, repeats=1))
    rows = list(named.measure())
    what = "(2, 4, 64), alone"
    assert [row.name for row in rows if row.unit == "times" and "forward" in row.name] == [
        f"{what}, forward: textbook / ours",
        f"{what}, forward: Conv1d / ours",
        f"{what}, forward: ours / memory copy",
        f"{what}, forward: oaconvolve / ours",
    ]
    assert bars_of(rows) == {
        f"{what}, forward: textbook / ours": 0.91,
        f"{what}, training step: textbook / ours": 0.91,
    }
    rows = list(drawn.measure())
    assert all(row.name.startswith("random 1 (") for row in rows)
    assert list(bars_of(rows).values()) == [0.91, 0.91]


@pytest.mark.parametrize(
    ("shape", "load", "bars"),
    [
        ((16, 64, 4096), "alone", [3.0, 4.0]),
        ((4, 64, 16384), "alone", [2.0, 2.5]),
        ((32, 128, 1024), "alone", [2.5, 4.0]),
        ((16, 64, 1024), "alone", [0.91, 0.91]),
        ((16, 64, 4096), "beside a busy process", [0.91, 0.91]),
    ],
)
def test_bars_of_the_named_shapes(monkeypatch, shape, load, bars):
    small = make_operands(SHAPES[0], 0)
    monkeypatch.setattr("mrconv.bench.conv.make_operands", lambda *words: small)
    name = f"{shape}, {load}"
    (case,) = [one for one in conv_cases(Options(repeats=1)) if one.name == name]
    assert list(bars_of(case.measure()).values()) == bars
