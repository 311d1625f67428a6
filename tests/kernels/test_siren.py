"""CKConv's kernel against its equation written out unit by unit."""

import math

import pytest
import torch

from mrconv.errors import ArgumentError
from mrconv.kernels import SirenKernel
from mrconv.testing import assert_close


def written_out(kernel):
    """Taps by loops over lags and units, in Python's own numbers."""
    w1, b1, b2, d2, s2, d3, s3, b3 = (
        getattr(kernel, name).tolist()
        for name in (
            "weight_1",
            "bias_1",
            "bias_2",
            "direction_2",
            "size_2",
            "direction_3",
            "size_3",
            "bias_3",
        )
    )
    n, rows = kernel.span, []

    def layer(directions, sizes, biases, values):
        for direction, size, bias in zip(directions, sizes, biases, strict=True):
            length = math.sqrt(sum(value**2 for value in direction))
            total = sum(d * v for d, v in zip(direction, values, strict=True))
            yield size / length * total + bias

    for t in range(n):
        s = 1 - 2 * t / (n - 1) if n > 1 else 1.0
        hidden = [math.sin(kernel.omega * (w * s + b)) for (w,), b in zip(w1, b1, strict=True)]
        hidden = [math.sin(kernel.omega * value) for value in layer(d2, s2, b2, hidden)]
        rows.append([value / math.sqrt(n) for value in layer(d3, s3, b3, hidden)])
    return torch.tensor(rows, dtype=torch.float64).T


@pytest.mark.parametrize("span", [1, 2, 17])
@pytest.mark.parametrize("omega", [1.0, 30.0])
def test_taps(span, omega):
    kernel = SirenKernel(3, span, 0, omega=omega, width=5, dtype=torch.float64)
    with torch.no_grad():
        for parameter in kernel.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    assert_close(kernel.taps(), written_out(kernel), 1e-10)


def test_starts_as_a_siren():
    kernel = SirenKernel(400, 10, 0, omega=20.0)
    bound = math.sqrt(6 / 32) / 20
    for direction, size in (
        (kernel.direction_2, kernel.size_2),
        (kernel.direction_3, kernel.size_3),
    ):
        assert 0.97 * bound < float(direction.detach().abs().max()) <= bound
        assert_close(size, direction.norm(dim=1))  # so that the row is the direction
    for parameter in (kernel.weight_1, kernel.bias_1, kernel.bias_2, kernel.bias_3):
        assert 0.7 < float(parameter.detach().abs().max()) <= 1
    assert (kernel.omega, kernel.width) == (20.0, 32)


def test_does_not_grow_with_its_span():
    counts = {
        sum(p.numel() for p in SirenKernel(7, n, i).parameters()) for n, i in [(1, 0), (9, 5)]
    }
    assert counts == {32 * (32 + 4) + 7 * (32 + 2)}


@pytest.mark.parametrize("omega", [0, -1.0, float("nan")])
def test_refuses_omega(says, omega):
    with says(ArgumentError, f"SirenKernel: omega must be above 0; got {omega}. Use 30."):
        SirenKernel(2, 8, 0, omega=omega)


def test_repr():
    sizes = "channels=2, kernel_size=8, span=16, omega=30.0, width=32"
    assert repr(SirenKernel(2, 8, 1)) == f"SirenKernel({sizes})"
