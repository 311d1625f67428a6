"""ModalRecurrence against complex recurrences run sample by sample in Python's own numbers."""

import cmath
import io
import math

import pytest
import torch

from mrconv.errors import ArgumentError, DtypeError, ShapeError
from mrconv.nn import ModalRecurrence
from mrconv.testing import assert_close, direct_convolution, relative_difference

F64 = torch.float64
ENDLESS = None
ENDING = [(0, 5), (0, 5), (2, 40), (7, 30)]
WINDOWS = pytest.mark.parametrize("windows", [ENDLESS, ENDING], ids=["endless", "ending"])
HEADS = pytest.mark.parametrize("fir_head", [1, 3, 20])


def layer(windows=ENDLESS, fir_head=3, dtype=F64, **settings):
    return ModalRecurrence(3, 4, fir_head=fir_head, windows=windows, dtype=dtype, **settings)


def pole_of(made, d, m):
    decay, angle = math.exp(float(made.log_decay[d, m])), float(made.angle[d, m])
    return cmath.exp(complex(-decay, angle))


def window_of(made, m):
    return (made.fir_head, math.inf) if made.windows is None else made.windows[m]


@torch.no_grad()
def response(made, length):
    """Head, and every mode by one complex product a sample."""
    taps = torch.zeros(made.channels, length, dtype=F64)
    kept = min(length, made.fir_head)
    taps[:, :kept] += made.head.double()[:, :kept]
    for d in range(made.channels):
        for m in range(made.modes):
            start, end = window_of(made, m)
            value = complex(*made.residue[d, m].tolist())
            for t in range(length):
                if start <= t < end:
                    taps[d, t] += value.real
                    value *= pole_of(made, d, m)
    return taps


def output(made, x):
    y = direct_convolution(x, response(made, max(1, x.shape[-1])))
    return y if made.bias is None else y + made.bias.double()[:, None]


def stepped(made, x, state):
    outputs = []
    for t in range(x.shape[-1]):
        y, state = made.step(x[..., t], state)
        outputs.append(y)
    return torch.stack(outputs, -1), state


@WINDOWS
@HEADS
@pytest.mark.parametrize("length", [1, 2, 3, 7, 41, 60])
def test_taps(windows, fir_head, length):
    made = layer(windows, fir_head)
    assert_close(made.taps(length), response(made, length), 1e-12)


@WINDOWS
@pytest.mark.parametrize("method", ["auto", "fft", "direct"])
@pytest.mark.parametrize("length", [0, 1, 2, 13, 60])
def test_forward(windows, method, length):
    made, x = layer(windows), torch.randn(2, 3, length, dtype=F64)
    torch.nn.init.normal_(made.bias)
    assert_close(made(x, method=method), output(made, x))


@WINDOWS
@HEADS
@pytest.mark.parametrize("cuts", [[70], [1, 1, 68], [7, 0, 30, 33], [69, 1]])
def test_steps_and_chunks_are_the_whole(windows, fir_head, cuts):
    made, x = layer(windows, fir_head), torch.randn(2, 3, 70, dtype=F64)
    torch.nn.init.normal_(made.bias)
    expected = output(made, x)
    by_steps, after = stepped(made, x, made.init_state(2))
    assert_close(by_steps, expected)
    state, parts = made.init_state(2), []
    for part in x.split(cuts, -1):
        y, state = made.chunk(part, state)
        parts.append(y)
    assert_close(torch.cat(parts, -1), expected)
    for ours, theirs in zip(state, after, strict=True):
        assert_close(ours, theirs, 1e-10)
    more = torch.randn(2, 3, 9, dtype=F64)
    assert_close(stepped(made, more, state)[0], output(made, torch.cat([x, more], -1))[..., 70:])


@WINDOWS
def test_long_chunks(windows):
    made, x = layer(windows), torch.randn(1, 3, 700, dtype=F64)
    y, _ = made.chunk(x, made.init_state(1))
    assert_close(y, made(x))


@WINDOWS
def test_ragged_chunks(windows):
    made, x = layer(windows), torch.randn(3, 3, 300, dtype=F64)
    lengths = torch.tensor([300, 0, 41])
    behind = (torch.arange(300) >= lengths[:, None])[:, None]
    y, state = made.chunk(x.masked_fill(behind, float("nan")), made.init_state(3), lengths)
    assert (y.masked_select(behind) == 0).all()
    assert_close(y, made(x, lengths))
    assert state.position.tolist() == [300, 0, 41]
    for row, n in enumerate(lengths.tolist()):
        _, alone = made.chunk(x[row : row + 1, :, :n], made.init_state(1))
        assert_close(state.modes[row], alone.modes[0])
        assert_close(state.ring[row], alone.ring[0])


@pytest.mark.parametrize("fir_head", [1, 5])
def test_the_memory_of_endless_modes_is_the_head_and_two_numbers_a_mode(fir_head):
    made = ModalRecurrence(3, 4, fir_head=fir_head)
    state = made.init_state(2)
    assert tuple(state.ring.shape) == (2, 3, fir_head + 1)
    assert tuple(state.modes.shape) == (2, 3, 4, 2)
    _, behind = made.chunk(torch.randn(2, 3, 600), state)
    assert [one.shape for one in behind] == [one.shape for one in state]


def test_rows_in_pieces_are_rows_together(monkeypatch):
    made, x = layer(None), torch.randn(7, 3, 4, dtype=F64)
    expected, whole = stepped(made, x, made.init_state(7))
    monkeypatch.setattr("mrconv.nn.modal_moves.CACHED", 2 * made.channels * 2 * made.modes)
    y, state = stepped(made, x, made.init_state(7))
    assert torch.equal(y, expected)
    assert torch.equal(state.modes, whole.modes)


def test_frequency_response_of_a_mode_that_ends_at_once():
    made = ModalRecurrence(1, 1, dtype=F64)
    with torch.no_grad():
        made.log_decay.fill_(math.log(30))
        made.angle.fill_(0.7)
        made.residue.copy_(torch.tensor([[[0.5, 6e17]]], dtype=F64))
    omega = torch.linspace(0, torch.pi, 33, dtype=F64)
    taps, t = made.taps(20).detach(), torch.arange(20)
    expected = (taps[0] * torch.exp(-1j * omega[:, None] * t)).sum(-1)
    assert float(taps[0, 2].abs()) > 1e3  # what the large residue is for
    got = made.frequency_response(omega)[0]
    assert_close(torch.view_as_real(got), torch.view_as_real(expected), 1e-12)


@WINDOWS
def test_frequency_response(windows):
    made = layer(windows)
    torch.nn.init.constant_(made.log_decay, -3.0)
    omega = torch.tensor([0.0, 0.3, 1.7, math.pi], dtype=F64)
    lags = torch.arange(900)
    expected = made.taps(900).to(torch.complex128) @ torch.exp(-1j * lags[:, None] * omega)
    got = made.frequency_response(omega)
    assert_close(torch.view_as_real(got), torch.view_as_real(expected))


def test_gradients_by_finite_differences():
    made, x = layer(ENDING), torch.randn(1, 3, 12, dtype=F64)

    def run(*values):
        return torch.func.functional_call(made, dict(zip(names, values, strict=True)), (x,))

    names, values = zip(*made.named_parameters(), strict=True)
    assert torch.autograd.gradcheck(run, tuple(values), fast_mode=True)


def test_appendix_b3_a_fourier_kernel_is_a_recurrence_on_the_circle_less_its_delayed_self():
    from mrconv.kernels import FourierKernel

    kernel = FourierKernel(3, 8, 2, dtype=F64)
    n, modes = kernel.span, kernel.modes
    made = ModalRecurrence(3, modes, windows=[(0, n)] * modes, bias=False, dtype=F64)
    weight = torch.full((modes, 1), 2.0, dtype=F64)
    weight[0] = 1
    with torch.no_grad():
        made.head.zero_()
        made.log_decay.fill_(-math.inf)  # on the circle up to the least decay of 1e-7 a sample
        made.angle.copy_(2 * math.pi * torch.arange(modes) / n)
        made.residue.copy_(weight * kernel.coefficients * n**-0.5)
    assert_close(made.taps(2 * n)[:, :n], kernel.taps(), 1e-5)
    assert (made.taps(2 * n)[:, n:] == 0).all()
    x = torch.randn(2, 3, 100, dtype=F64)
    assert_close(
        stepped(made, x, made.init_state(2))[0], direct_convolution(x, kernel.taps()), 1e-5
    )


def test_order_counts_real_poles_once_and_unused_ones_not_at_all():
    made = layer()
    with torch.no_grad():
        made.angle[0, :2] = torch.tensor([0.0, math.pi])
        made.residue[1, 3] = 0
    assert made.order.tolist() == [6, 6, 8]


def test_stable_whatever_the_parameters_are():
    made = layer(dtype=torch.float32)
    x = torch.randn(1, 3, 2000)
    for log_decay in (-math.inf, -100.0, 0.0, 100.0):
        torch.nn.init.constant_(made.log_decay, log_decay)
        assert (made.radius < 1).all() and (made.radius.float() < 1).all()
        y, state = made.chunk(x, made.init_state(1))
        assert y.isfinite().all() and state.modes.isfinite().all()


@pytest.mark.slow
def test_a_million_steps_of_noise_stay_bounded():
    made, state = layer(dtype=torch.float32), layer(dtype=torch.float32).init_state(1)
    largest = 0.0
    for _ in range(100):
        y, state = made.chunk(torch.randn(1, 3, 10_000), state)
        assert y.isfinite().all()
        largest = max(largest, float(state.modes.abs().max()))
    assert largest < 6 * (1 / (2 * 1e-3)) ** 0.5  # six standard deviations of the slowest mode


def test_float32_keeps_its_precision_over_a_long_memory():
    made = layer(dtype=torch.float32)
    torch.nn.init.constant_(made.log_decay, math.log(1e-3))
    x = torch.randn(1, 3, 5000)
    exact = layer()
    exact.load_state_dict(made.state_dict())
    expected = exact.double()(x.double())
    for y in (made(x), made.chunk(x, made.init_state(1))[0]):
        assert relative_difference(y, expected) < 2e-6
    assert (
        relative_difference(stepped(made, x[..., :500], made.init_state(1))[0], expected[..., :500])
        < 2e-6
    )


# ------------------------------------------------------------------------- casts, files, errors


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_a_cast_to_half_leaves_the_poles(half):
    made = layer(dtype=torch.float32)
    before = {name: p.detach().clone() for name, p in made.named_parameters()}
    made.to(half)
    for name in ("log_decay", "angle"):
        assert torch.equal(getattr(made, name), before[name])
    assert made.head.dtype == made.residue.dtype == made.bias.dtype == half
    x = torch.randn(2, 3, 40).to(half)
    y, state = made.chunk(x, made.init_state(2))
    assert y.dtype == made(x).dtype == half
    assert state.modes.dtype == F64
    assert_close(y, made(x))
    assert ModalRecurrence(3, 4, dtype=half).angle.dtype == torch.float32


def test_state_dict_names_are_the_file_format():
    assert set(layer().state_dict()) == {"log_decay", "angle", "residue", "head", "bias"}
    assert set(layer(bias=False).state_dict()) == {"log_decay", "angle", "residue", "head"}


@pytest.mark.parametrize("name", ["log_decay", "angle"])
def test_refuses_half_precision_poles(says, name):
    made = layer(dtype=torch.float32)
    values = made.state_dict()
    values[name] = values[name].bfloat16()
    with says(
        DtypeError,
        f"ModalRecurrence: {name} must have at least float32, because a memory of 100 samples is "
        "off by 14 % with poles of half precision; got torch.bfloat16. "
        "Save the recurrence anew from its original.",
    ):
        made.load_state_dict(values)


def test_saves_and_copies():
    made, file = layer(ENDING), io.BytesIO()
    torch.save(made.state_dict(), file)
    file.seek(0)
    other = layer(ENDING)
    other.load_state_dict(torch.load(file))
    x = torch.randn(1, 3, 9, dtype=F64)
    assert torch.equal(other(x), made(x))


def test_no_modes_is_a_short_convolution():
    made, x = ModalRecurrence(3, 0, fir_head=5, dtype=F64), torch.randn(2, 3, 30, dtype=F64)
    assert made.num_taps == 5
    assert made.order.tolist() == [0, 0, 0]
    expected = direct_convolution(x, made.head.detach())
    assert_close(made(x), expected)
    assert_close(stepped(made, x, made.init_state(2))[0], expected)
    assert_close(made.chunk(x, made.init_state(2))[0], expected)


def test_reach():
    assert layer().num_taps is None
    assert layer(ENDING).num_taps == 40
    assert layer().causal
    assert repr(layer()) == "ModalRecurrence(3, modes=4, fir_head=3, bias=True)"
    assert repr(layer(ENDING)) == "ModalRecurrence(3, modes=4, fir_head=3, num_taps=40, bias=True)"


def test_refuses(says):
    with says(
        ArgumentError,
        "ModalRecurrence: fir_head must be at least 1; got fir_head=0. Pass a larger fir_head.",
    ):
        layer(fir_head=0)
    for windows in ([(0, 5)], [(0, 5), (3, 3), (0, 1), (0, 1)]):
        with says(
            ArgumentError,
            "ModalRecurrence: windows must be 4 pairs of lags 0 <= start < end, one a mode; "
            f"got {list(map(list, windows))}. Leave windows out for modes that never end.",
        ):
            layer(windows)
    with says(
        ShapeError,
        "ModalRecurrence: input must be (batch, 3, length); got (2, 9, 3). "
        "Did you mean x.transpose(1, 2)?",
    ):
        layer()(torch.randn(2, 9, 3, dtype=F64))
    with says(
        ShapeError,
        "ModalRecurrence.step: input must be (batch, 3, length); got (2, 4, 1). "
        "Pass a tensor of (batch, channels, length).",
    ):
        layer().step(torch.randn(2, 4, dtype=F64), layer().init_state(2))


@WINDOWS
def test_gradients(windows):
    made = layer(windows, fir_head=2)
    torch.nn.init.normal_(made.bias)
    x = torch.randn(2, 3, 11, dtype=F64, requires_grad=True)
    names = [name for name, _ in made.named_parameters()]
    assert names == ["log_decay", "angle", "residue", "head", "bias"]

    def run(u, *values):
        return torch.func.functional_call(made, dict(zip(names, values, strict=True)), (u,))

    assert torch.autograd.gradcheck(run, (x, *made.parameters()))


@torch.no_grad()
def with_real_and_unused_modes():
    made = ModalRecurrence(1, 4, fir_head=1, dtype=F64)
    made.angle[0, 0], made.angle[0, 1] = 0, torch.pi
    made.residue[0, :2, 1] = 0
    made.residue[0, 2] = 0
    return made


def test_training_keeps_the_order_and_every_pole_inside():
    made = with_real_and_unused_modes()
    assert made.order.tolist() == [4]  # two real poles, none, a pair
    optimizer = torch.optim.Adam(made.parameters(), lr=0.1)
    wanted = torch.randn(1, 40, dtype=F64)
    start = {name: value.detach().clone() for name, value in made.named_parameters()}
    for _ in range(50):
        optimizer.zero_grad()
        (made.taps(40) - wanted).square().sum().backward()
        optimizer.step()
    assert made.order.tolist() == [4]
    assert (made.angle[0, :3] == start["angle"][0, :3]).all()
    assert (made.residue[0, :2, 1] == 0).all() and (made.residue[0, 2] == 0).all()
    assert (made.radius < 1).all()
    moved = [made.residue[0, :2, 0] - start["residue"][0, :2, 0], made.angle[0, 3:]]
    moved += [made.log_decay[0, [0, 1, 3]] - start["log_decay"][0, [0, 1, 3]]]
    assert all((one != 0).all() for one in moved)
