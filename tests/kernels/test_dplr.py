"""S4's kernel against its dense state space, run step by step; its start against HiPPO-LegS."""

import math

import pytest
import torch

from mrconv.errors import ArgumentError
from mrconv.kernels import S4Kernel
from mrconv.kernels.hippo import legs
from mrconv.testing import assert_close, relative_difference

F64 = torch.float64


def both(pairs):
    """A vector of conjugate pairs, (..., N / 2, 2) -> (..., N)."""
    half = torch.view_as_complex(pairs.detach().double())
    return torch.cat([half, half.conj()], -1)


def dense(kernel, d):
    """A and b of a channel, every entry written out."""
    s = d % len(kernel.frequency)
    poles = torch.stack([-kernel.log_decay[s].detach().exp(), kernel.frequency[s].detach()], -1)
    low_rank = both(kernel.low_rank[s])
    matrix = torch.diag(both(poles)) - torch.outer(low_rank, low_rank.conj())
    return matrix, both(kernel.source[s])


def stepped(matrix, source, row, timestep, count):
    """Responses c M^t g under the bilinear transform, one matrix product a sample."""
    one = torch.eye(len(matrix), dtype=matrix.dtype)
    left = torch.linalg.inv(one - timestep / 2 * matrix)
    step, state = left @ (one + timestep / 2 * matrix), timestep * left @ source
    values = []
    for _ in range(count):
        values.append(row @ state)
        state = step @ state
    return torch.stack(values).real, step


def moved(kernel):
    with torch.no_grad():
        for parameter in kernel.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return kernel


@pytest.mark.parametrize("span", [1, 2, 3, 40, 41])
@pytest.mark.parametrize("systems", [1, 2, 3])
@pytest.mark.parametrize("trained", [False, True])
def test_taps_are_those_of_the_dense_recurrence(span, systems, trained):
    kernel = S4Kernel(3, span, 0, order=6, systems=systems, dtype=F64)
    kernel = moved(kernel) if trained else kernel
    for d in range(3):
        matrix, source = dense(kernel, d)
        timestep = float(kernel.log_timestep[d].detach().exp())
        _, step = stepped(matrix, source, source, timestep, 1)
        rest = torch.eye(6, dtype=step.dtype) - torch.linalg.matrix_power(step, span)
        row = torch.linalg.solve(rest.mT, both(kernel.output[d]))  # c from e = c (1 - M^n)
        expected, _ = stepped(matrix, source, row, timestep, span)
        assert_close(kernel.taps()[d], expected, 1e-10)


def hippo(order):
    """A and b of HiPPO-LegS, entry by entry."""
    matrix = torch.zeros(order, order, dtype=F64)
    for n in range(order):
        for k in range(n):
            matrix[n, k] = -math.sqrt(2 * n + 1) * math.sqrt(2 * k + 1)
        matrix[n, n] = -(n + 1)
    return matrix, torch.tensor([math.sqrt(2 * n + 1) for n in range(order)], dtype=F64)


@pytest.mark.parametrize("order", [2, 8, 64])
def test_starts_as_hippo_legs(order):
    kernel = S4Kernel(2, 5, 0, order=order, dtype=F64)
    matrix, source = dense(kernel, 0)
    basis = legs(order).basis
    basis = torch.cat([basis, basis.conj()], 1)
    expected, b = hippo(order)
    assert_close((basis @ matrix @ basis.mH).real, expected, 1e-10)
    assert_close((basis @ source).real, b, 1e-10)
    assert_close(kernel.log_decay.exp(), torch.full((1, order // 2), 0.5, dtype=F64))
    assert (kernel.frequency.diff() > 0).all() and (kernel.frequency > 0).all()


def test_poles_of_the_start_are_minus_one_to_minus_n():
    matrix, _ = dense(S4Kernel(1, 5, 0, order=8, dtype=F64), 0)
    poles = torch.linalg.eigvals(matrix)
    assert_close(poles.real.sort().values, torch.arange(-8.0, 0.0, dtype=F64), 1e-8)
    assert float(poles.imag.abs().max()) < 1e-7


def test_the_first_response_is_that_of_a_normal_output():
    """c, recovered from the taps of many channels, has variance 1 a complex number."""
    kernel = S4Kernel(400, 30, 0, order=4, dtype=F64)
    squares = []
    for d in range(400):
        matrix, source = dense(kernel, d)
        _, step = stepped(matrix, source, source, float(kernel.log_timestep[d].detach().exp()), 1)
        rest = torch.eye(4, dtype=step.dtype) - torch.linalg.matrix_power(step, 30)
        squares.append(torch.linalg.solve(rest.mT, both(kernel.output[d]))[:2].abs().square())
    assert float(torch.stack(squares).mean()) == pytest.approx(1, abs=0.1)
    steps = kernel.log_timestep.detach()
    assert math.log(1e-3) <= steps.min() < -6.8 and -2.4 < steps.max() <= math.log(1e-1)


def test_float32_taps():
    kernel = S4Kernel(2, 2000, 0)
    torch.nn.init.constant_(kernel.log_timestep, math.log(1e-3))
    single = kernel.taps()
    assert single.dtype == torch.float32
    assert relative_difference(single, kernel.double().taps()) < 1e-6


def test_number_of_parameters():
    kernel = S4Kernel(10, 50, 0, order=8, systems=3)
    assert sum(p.numel() for p in kernel.parameters()) == 10 * 9 + 3 * 3 * 8


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"order": 5},
            "order must be even, two numbers of state a conjugate pair; got order=5. Use order=6.",
        ),
        ({"order": 0}, "order must be at least 2; got order=0. Pass a larger order."),
        ({"systems": 0}, "systems must be at least 1; got systems=0. Pass a larger systems."),
        (
            {"systems": 3},
            "systems must be at most the 2 channels; got systems=3. "
            "Use systems=2 for one a channel.",
        ),
    ],
)
def test_refuses(says, settings, sentence):
    with says(ArgumentError, f"S4Kernel: {sentence}"):
        S4Kernel(2, 8, 0, **settings)


def test_repr():
    kernel = S4Kernel(2, 8, 1, order=6)
    assert repr(kernel) == "S4Kernel(channels=2, kernel_size=8, span=16, order=6, systems=1)"
