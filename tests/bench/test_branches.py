"""The textbook of ``bench branches`` equals MRConv in outputs and gradients; rows and bars."""

import subprocess

import pytest
import torch

from mrconv.bench import Options
from mrconv.bench.branch_errors import error_rows, largest_error
from mrconv.bench.branch_steps import (
    STEPS,
    Setting,
    gradients,
    make_input,
    make_layer,
    make_step,
    textbook_forward,
)
from mrconv.bench.branches import KERNELS, branch_cases
from mrconv.bench.timing import Spread
from mrconv.testing import layer_output

FORMS = pytest.mark.parametrize("kernel", KERNELS)


def setting(kernel, kernel_size=4, shape=(3, 2, 32)):
    return Setting(kernel, kernel_size, shape)


def wide_step(kernel, forward):
    """One step in float64 of a layer and inputs that are always the same."""
    layer = make_layer(setting(kernel)).double()
    u, gradient = (part.detach().double() for part in make_input(setting(kernel)))
    return layer, gradients(lambda x: forward(layer, x), layer, u.requires_grad_(), gradient)


@FORMS
def test_textbook_equals_the_definition_and_the_layer(kernel):
    layer, found = wide_step(kernel, textbook_forward)
    other, ours = wide_step(kernel, lambda layer, x: layer(x))
    _, expected = wide_step(kernel, layer_output)
    assert found.keys() == ours.keys() == expected.keys()
    assert set(found) == {"output", "input", *(name for name, _ in layer.named_parameters())}
    for name in found:
        torch.testing.assert_close(found[name], expected[name], rtol=1e-9, atol=1e-9, msg=name)
        torch.testing.assert_close(ours[name], expected[name], rtol=1e-9, atol=1e-9, msg=name)
    torch.testing.assert_close(layer.running_mean, other.running_mean)
    torch.testing.assert_close(layer.running_var, other.running_var)


@FORMS
def test_exact_and_textbook_take_the_same_step(kernel):
    steps = {name: make_step(name, setting(kernel))() for name in STEPS}
    assert set(steps["LongConv"]) == {"output", "input", "taps", "bias"}
    assert steps["LongConv"]["taps"].shape == (2, 32)
    for name, found in steps["exact"].items():
        torch.testing.assert_close(found, steps["textbook"][name], rtol=1e-3, atol=1e-4, msg=name)


def test_layers_and_inputs_follow_from_the_seed():
    torch.manual_seed(5)
    drawn = torch.randn(1)
    torch.manual_seed(5)
    first, second = (make_layer(setting("dense")).state_dict() for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)
    u, gradient = make_input(setting("dense"))
    assert torch.equal(u, make_input(setting("dense"))[0])
    assert not torch.equal(u, gradient)
    assert torch.equal(drawn, torch.randn(1))  # the user's own numbers are left alone


def test_largest_error_is_relative():
    found = {"a": torch.tensor([1.0, 0.0]), "b": torch.tensor([3.0])}
    reference = {"a": torch.tensor([1.0, 0.5]).double(), "b": torch.tensor([2.0]).double()}
    assert largest_error(found, reference, ["a"]) == pytest.approx(0.5 / 1.25**0.5)
    assert largest_error(found, reference, ["a", "b"]) == pytest.approx(0.5)


@pytest.mark.parametrize("kernel_size", [1, 4])
@FORMS
def test_errors_hold(kernel, kernel_size):
    rows = list(error_rows(setting(kernel, kernel_size)))
    name = f"{setting(kernel, kernel_size)}, error of"
    assert [row.name for row in rows] == [
        f"{name} outputs: exact / textbook, float32",
        f"{name} outputs: exact, float64",
        f"{name} gradients: exact / textbook, float32",
        f"{name} gradients: exact, float64",
    ]
    assert [(row.bar, row.better) for row in rows] == 2 * [(20.0, "lower"), (1e-9, "lower")]
    assert all(row.holds for row in rows)


def rows_of(monkeypatch, name, memory):
    """Rows of a case of the whole bench, its steps made tiny."""
    monkeypatch.setattr("mrconv.bench.branches.peak_memory", memory)
    tiny = setting("dense", 8)
    make = make_step
    monkeypatch.setattr("mrconv.bench.branches.make_step", lambda step, _: make(step, tiny))
    monkeypatch.setattr("mrconv.bench.branches.error_rows", lambda _: [])
    (case,) = [one for one in branch_cases(Options(repeats=1)) if one.name == name]
    return list(case.measure())


def megabytes(contestant, setting, processes):
    size = {"exact": 2e6, "textbook": 9e6, "LongConv": 1e6}[contestant]
    return Spread(size, size, size)


@pytest.mark.parametrize(
    ("name", "speed", "time", "memory"),
    [
        ("dilated, kernel size 8, (16, 64, 1024)", 4.0, 2.3, 1.3),
        ("dilated, kernel size 2, (32, 128, 2048)", 12.0, 2.3, 1.3),
        ("fourier, kernel size 8, (16, 64, 1024)", 3.0, 4.2, 1.8),
        ("fourier+sparse, kernel size 4, (16, 64, 4096)", 5.0, 4.2, 1.8),
        ("dense, kernel size 8, (4, 64, 16384)", None, 4.2, 1.8),
        ("dilated, kernel size 1, (16, 64, 1024)", None, 2.3, 1.3),
    ],
)
def test_rows_and_bars(monkeypatch, name, speed, time, memory):
    rows = {row.name: row for row in rows_of(monkeypatch, name, megabytes)}
    step, peak = f"{name}, training step", f"{name}, peak memory of a step"
    assert list(rows) == [
        f"{step}: exact",
        f"{step}: LongConv",
        f"{step}: exact / LongConv",
        f"{step}: textbook",
        f"{step}: textbook / exact",
        f"{peak}: exact",
        f"{peak}: textbook",
        f"{peak}: LongConv",
        f"{peak}: exact / LongConv",
        f"{peak}: textbook / exact",
    ]
    assert rows[f"{step}: textbook / exact"].bar == speed
    assert rows[f"{step}: exact / LongConv"].bar == time
    assert rows[f"{step}: exact / LongConv"].better == "lower"
    ratio = rows[f"{peak}: exact / LongConv"]
    assert (ratio.value, ratio.bar, ratio.better) == (2.0, memory, "lower")
    assert rows[f"{peak}: textbook / exact"].value == 4.5
    assert rows[f"{peak}: textbook"].value == 9.0


def test_memory_that_does_not_suffice_is_told(monkeypatch):
    def killed(contestant, setting, processes):
        raise subprocess.CalledProcessError(-9, "python")

    name = "dense, kernel size 8, (16, 64, 1024)"
    assert rows_of(monkeypatch, name, killed)[-1] == (
        f"  {name}, peak memory of a step: not measured, the process ended with code -9"
    )


def test_all_sizes_and_kernels():
    names = [case.name for case in branch_cases(Options())]
    assert len(names) == 20
    sizes = ["8, (16, 64, 1024)", "2, (32, 128, 2048)", "4, (16, 64, 4096)", "8, (4, 64, 16384)"]
    for kernel in KERNELS:
        for size in [*sizes, "1, (16, 64, 1024)"]:
            assert f"{kernel}, kernel size {size}" in names
