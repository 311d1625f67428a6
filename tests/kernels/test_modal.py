"""Damped exponentials against recurrences run step by step, S4D against its state space."""

import cmath
import math

import pytest
import scipy.linalg
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from mrconv.errors import ArgumentError, DtypeError
from mrconv.kernels import ModalKernel, S4DKernel, modal_taps
from mrconv.testing import assert_close, direct_convolution, relative_difference

F64 = torch.float64


def recurrence(poles, residues, num_taps, start=0):
    """Re sum_m residues[m] poles[m]^t by one complex product a sample, for t = start, ..."""
    values, states = [], list(residues)
    for t in range(start + num_taps):
        if t >= start:
            values.append(sum(state.real for state in states))
        states = [pole * state for pole, state in zip(poles, states, strict=True)]
    return torch.tensor(values, dtype=F64)


def complex_numbers(pairs):
    return [complex(*pair) for pair in pairs.tolist()]


# ---------------------------------------------------------------------------------- modal_taps


@pytest.mark.parametrize("start", [0, 1, 6])
@pytest.mark.parametrize("num_taps", [1, 2, 3, 4, 5, 9, 10, 13, 101])
def test_modal_taps(num_taps, start):
    decay, angle = torch.rand(2, 3, dtype=F64), 3 * torch.randn(2, 3, dtype=F64)
    residue = torch.randn(2, 3, 2, dtype=F64)
    got = modal_taps(decay, angle, residue, num_taps, start)
    for d in range(2):
        pairs = zip(decay[d].tolist(), angle[d].tolist(), strict=True)
        poles = [cmath.exp(complex(-a, b)) for a, b in pairs]
        expected = recurrence(poles, complex_numbers(residue[d]), num_taps, start)
        assert_close(got[d], expected, 1e-12)


def test_modal_taps_in_float32_keep_their_phase():
    decay, angle = torch.full((1, 1), 1e-3), torch.full((1, 1), 0.7)
    residue = torch.ones(1, 1, 2)
    exact = modal_taps(decay.double(), angle.double(), residue.double(), 5000)
    assert relative_difference(modal_taps(decay, angle, residue, 5000), exact) < 1e-4


class _Largest(TorchDispatchMode):
    elements = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if isinstance(out, torch.Tensor):
            self.elements = max(self.elements, out.numel())
        return out


def test_no_exponential_a_tap_and_mode_is_held_in_memory():
    kernel = S4DKernel(2, 4096, 0)
    with _Largest() as largest:
        kernel.taps()
    assert largest.elements <= 2 * 32 * 2 * 64  # D M, two reals, sqrt(K)


# ------------------------------------------------------------------------------------- modal


@pytest.mark.parametrize(("kernel_size", "resolution"), [(1, 0), (1, 3), (4, 0), (9, 2), (16, 3)])
def test_modal_kernel_is_its_recurrence(kernel_size, resolution):
    kernel = ModalKernel(2, kernel_size, resolution, dtype=F64)
    span = kernel_size * 2**resolution
    for d in range(2):
        pairs = zip(kernel.log_decay[d].tolist(), kernel.angle[d].tolist(), strict=True)
        poles = [cmath.exp(complex(-math.exp(a), b) / span) for a, b in pairs]
        residues = [r / math.sqrt(span) for r in complex_numbers(kernel.residue[d])]
        assert_close(kernel.taps()[d], recurrence(poles, residues, span), 1e-12)
        assert_close(kernel.future_taps()[d], recurrence(poles, residues, span, 1), 1e-12)


def test_equal_parameters_draw_the_same_shape_at_every_resolution():
    first, second = ModalKernel(2, 8, 1, dtype=F64), ModalKernel(2, 8, 3, dtype=F64)
    second.load_state_dict(first.state_dict())
    assert_close(second.taps()[:, ::4] * 2, first.taps())


@pytest.mark.parametrize(("size", "modes"), [(1, 1), (4, 1), (7, 1), (8, 2), (16, 4), (19, 4)])
def test_number_of_modes(size, modes):
    kernel = ModalKernel(3, size, 2)
    assert kernel.log_decay.shape == kernel.angle.shape == (3, modes)
    assert kernel.residue.shape == (3, modes, 2)
    if size >= 4:
        assert sum(p.numel() for p in kernel.parameters()) <= 3 * size


@pytest.mark.parametrize("resolution", [0, 3])
def test_modal_start_values(resolution):
    kernel = ModalKernel(2000, 16, resolution)
    assert 0 <= kernel.log_decay.min() and kernel.log_decay.max() <= math.log(8)
    assert 0 <= kernel.angle.min() and kernel.angle.max() <= 16 * math.pi
    energy = kernel.taps().detach().square().sum(-1).mean()
    assert 0.8 < float(energy) < 1.3


# --------------------------------------------------------------------------------------- S4D


def state_space(kernel, d, inputs):
    """x' = A x + u under a zero-order hold, y = 2 Re C x, by scipy's matrix exponential."""
    a = [
        complex(-math.exp(real), imaginary)
        for real, imaginary in zip(
            kernel.log_decay[d].tolist(), kernel.frequency[d].tolist(), strict=True
        )
    ]
    n = len(a)
    # the exponential of [[A, B], [0, 0]] dt holds exp(dt A) and the response to a held input
    system = torch.zeros(n + 1, n + 1, dtype=torch.complex128)
    system[:n, :n] = torch.diag(torch.tensor(a, dtype=torch.complex128))
    system[:n, n] = 1
    step = torch.from_numpy(
        scipy.linalg.expm((system * kernel.log_timestep[d].exp().item()).numpy())
    )
    output = torch.tensor(complex_numbers(kernel.coefficients[d]), dtype=torch.complex128)
    state, values = torch.zeros(n, dtype=torch.complex128), []
    for u in inputs.tolist():
        state = step[:n, :n] @ state + step[:n, n] * u
        values.append(2 * (output @ state).real)
    return torch.stack(values)


def moved(kernel):
    """The kernel with parameters as training leaves them, off their start values."""
    with torch.no_grad():
        kernel.log_decay.add_(0.3 * torch.randn_like(kernel.log_decay))
        kernel.frequency.add_(0.3 * torch.randn_like(kernel.frequency))
    return kernel


@pytest.mark.parametrize("trained", [False, True])
def test_s4d_is_its_state_space(trained):
    kernel = S4DKernel(3, 40, 0, order=10, dtype=F64)
    kernel = moved(kernel) if trained else kernel
    inputs = torch.randn(1, 3, 40, dtype=F64)
    impulse = torch.eye(1, 40, dtype=F64)[0]
    response = direct_convolution(inputs, kernel.taps())
    for d in range(3):
        assert_close(kernel.taps()[d], state_space(kernel, d, impulse))
        assert_close(response[0, d], state_space(kernel, d, inputs[0, d]))


def test_s4d_in_float32_at_its_smallest_time_step():
    kernel = S4DKernel(2, 2000, 0)
    torch.nn.init.constant_(kernel.log_timestep, math.log(1e-3))
    single = kernel.taps()
    assert relative_difference(single, kernel.double().taps()) < 1e-5


def test_s4d_starts_as_s4d_lin():
    kernel = S4DKernel(500, 10, 0)
    assert kernel.log_decay.shape == kernel.frequency.shape == (500, 32)
    assert_close(-kernel.log_decay.exp(), torch.full((500, 32), -0.5))
    assert_close(kernel.frequency, (math.pi * torch.arange(32)).expand(500, 32))
    log_dt = kernel.log_timestep.detach()
    assert math.log(1e-3) <= log_dt.min() < -6.8 and -2.4 < log_dt.max() <= math.log(1e-1)
    assert float(log_dt.mean()) == pytest.approx(math.log(1e-2), abs=0.2)
    squares = kernel.coefficients.detach().square().sum(-1)
    assert float(squares.mean()) == pytest.approx(1, abs=0.03)
    assert set(kernel.state_dict()) == {"log_timestep", "log_decay", "frequency", "coefficients"}


def test_s4d_does_not_grow_with_its_span():
    counts = {sum(p.numel() for p in S4DKernel(2, n, i).parameters()) for n, i in [(1, 0), (9, 5)]}
    assert counts == {2 * (1 + 4 * 32)}


def test_s4d_future_taps_go_on_by_one_sample():
    kernel = S4DKernel(2, 21, 0, dtype=F64)
    assert_close(kernel.future_taps()[:, :-1], kernel.taps()[:, 1:])


# ------------------------------------------------------------------------- casts, sizes, repr


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("make", [lambda: ModalKernel(2, 8, 1), lambda: S4DKernel(2, 8, 1)])
def test_a_cast_to_half_rounds_residues_only(make, half):
    kernel = make()
    before = {name: p.detach().clone() for name, p in kernel.named_parameters()}
    same = dict(kernel.named_parameters())
    kernel.taps().sum().backward()
    kernel.to(half)
    for name, parameter in kernel.named_parameters():
        assert parameter is same[name]
        assert parameter.grad.dtype == parameter.dtype
        if name in kernel.precise:
            assert torch.equal(parameter, before[name])
        else:
            assert parameter.dtype == half
    assert all(p.dtype == torch.float64 for p in kernel.double().parameters())
    kernel.to(half)
    assert all(getattr(kernel, name).dtype == torch.float32 for name in kernel.precise)


def test_refuses_wrong_orders(says):
    with says(
        ArgumentError,
        "S4DKernel: order must be even, two numbers of state a conjugate pair; got order=5. "
        "Use order=6.",
    ):
        S4DKernel(2, 8, 0, order=5)
    with says(
        ArgumentError, "S4DKernel: order must be at least 2; got order=0. Pass a larger order."
    ):
        S4DKernel(2, 8, 0, order=0)
    with says(
        DtypeError, "S4DKernel: order must be a whole number; got 4.0. Pass an int of at least 2."
    ):
        S4DKernel(2, 8, 0, order=4.0)


def test_repr():
    kernel = S4DKernel(2, 8, 1, order=6)
    assert repr(kernel) == "S4DKernel(channels=2, kernel_size=8, span=16, order=6)"
