"""S5 against its recurrence, run sample by sample in complex numbers."""

import math

import pytest
import torch

import mrconv
from mrconv.errors import ArgumentError, DtypeError, MergeError, ShapeError
from mrconv.kernels.hippo import legs
from mrconv.nn import S5
from mrconv.nn.scan import scan
from mrconv.testing import assert_close

F64 = torch.float64


def made(channels=3, **settings):
    torch.manual_seed(0)
    layer = S5(channels, 20, **{"order": 8, "blocks": 2, "dtype": F64, **settings})
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return layer.eval()


def complex_of(pairs):
    return torch.view_as_complex(pairs.detach().double().contiguous())


def stepped(layer, x):
    """The class's equation for one row (D, L), forwards and where two-sided backwards."""
    a = torch.complex(-layer.log_decay.detach().exp(), layer.frequency.detach())
    timestep = layer.log_timestep.detach().exp()
    pole = torch.exp(timestep * a)
    b = ((pole - 1) / a)[:, None] * complex_of(layer.input)

    def run(samples, output):
        state, outputs = torch.zeros_like(pole), []
        for u in samples:
            state = pole * state + b @ u.to(b.dtype)
            outputs.append(2 * (complex_of(output) @ state).real)
        return outputs

    y = torch.stack(run(x.T, layer.output), 1)
    if layer.future_output is not None:
        y = y + torch.stack(run(x.T.flip(0), layer.future_output)[::-1], 1)
    return y if layer.skip is None else y + layer.skip.detach()[:, None] * x


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("length", [1, 2, 7, 37])
def test_forward(causal, length):
    layer = made(causal=causal)
    x = torch.randn(2, 3, length, dtype=F64)
    expected = torch.stack([stepped(layer, row) for row in x])
    assert_close(layer(x), expected, 1e-10)
    assert_close(layer.float()(x.float()).double(), expected, 1e-5)


@pytest.mark.parametrize("causal", [True, False])
def test_rows_of_unequal_length(causal):
    layer = made(causal=causal, skip=False)
    x = torch.randn(3, 3, 12, dtype=F64)
    lengths = torch.tensor([12, 0, 5])
    for row, n in enumerate(lengths):
        x[row, :, n:] = float("nan")
    y = layer(x, lengths)
    for row, n in enumerate(lengths):
        assert (y[row, :, n:] == 0).all()
        if n:
            assert_close(y[row, :, :n], stepped(layer, x[row, :, :n]), 1e-10)


def test_an_empty_input():
    assert made()(torch.zeros(2, 3, 0, dtype=F64)).shape == (2, 3, 0)


def test_gradients():
    layer = made(2, order=4, causal=False)
    names = [name for name, _ in layer.named_parameters()]
    x = torch.randn(2, 2, 6, dtype=F64, requires_grad=True)

    def run(x, *parameters):
        return torch.func.functional_call(layer, dict(zip(names, parameters, strict=True)), (x,))

    assert torch.autograd.gradcheck(run, (x, *layer.parameters()), fast_mode=True)


def test_second_derivatives_of_the_scan():
    torch.manual_seed(0)
    b = torch.randn(2, 1, 2, 5, dtype=F64, requires_grad=True)
    decay = torch.tensor([0.3, 0.01], dtype=F64, requires_grad=True)
    angle = torch.tensor([0.7, 2.0], dtype=F64, requires_grad=True)
    assert torch.autograd.gradgradcheck(scan, (b, decay, angle))


def test_high_powers_of_the_poles_are_exact():
    """A pole near the circle turns 20,000 samples without drift in float32."""
    decay, angle = torch.tensor([1e-5], dtype=F64), torch.tensor([2.1], dtype=F64)
    b = torch.zeros(2, 1, 1, 20_000)
    b[0, ..., 0] = 1
    t = torch.arange(20_000, dtype=F64)
    expected = torch.exp(-decay * t) * torch.cos(angle * t)
    assert_close(scan(b, decay, angle)[0, 0, 0], expected.float(), 1e-5)


def test_starts_as_the_normal_part_of_hippo_legs():
    layer = S5(50, 20, order=32, blocks=2, dtype=F64)
    assert_close(layer.log_decay.exp(), torch.full((16,), 0.5, dtype=F64))
    assert_close(layer.frequency, legs(16).eigenvalues.imag.repeat(2))
    # an orthonormal basis keeps the energy of the normal numbers drawn
    energy = 2 * layer.input.detach().square().sum() / 50
    assert float(energy) == pytest.approx(1, abs=0.15)
    energy = layer.output.detach().square().sum(-1).sum(-1).mean()
    assert float(energy) == pytest.approx(1, abs=0.15)
    steps = layer.log_timestep.detach()
    assert math.log(1e-3) <= steps.min() and steps.max() <= math.log(1e-1)


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_half_precision(half):
    layer = made()
    x = torch.randn(2, 3, 30, dtype=F64)
    expected = layer(x)
    layer = S5(3, 20, order=8, blocks=2, dtype=half)
    assert (layer.log_decay.dtype, layer.input.dtype) == (torch.float32, half)
    layer.load_state_dict(made().state_dict())
    y = layer(x.to(half))
    assert y.dtype == half
    assert_close(y.double(), expected, 3e-2)


def test_refuses_what_it_cannot_be(says):
    sentence = (
        "a layer must mix over time only to become one convolution a channel; got S5 in {}. "
        "Keep it, and stream the model exactly with mrconv.Streamer(model)."
    )
    layer = made()
    with says(MergeError, "reparameterize: " + sentence.format("S5")):
        layer.reparameterize()
    with says(MergeError, "merge: " + sentence.format("1")):
        mrconv.merge(torch.nn.Sequential(torch.nn.Identity(), layer).eval())


def test_is_verified_by_its_stream():
    assert mrconv.verify(made()).holds


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"order": 6, "blocks": 2},
            "order must be a multiple of 4, a conjugate pair in each of the blocks; got order=6. "
            "Use order=8.",
        ),
        ({"blocks": 0}, "blocks must be at least 1; got blocks=0. Pass a larger blocks."),
    ],
)
def test_refuses_sizes(says, settings, sentence):
    with says(ArgumentError, f"S5: {sentence}"):
        S5(3, 20, **settings)


def test_refuses_inputs():
    with pytest.raises(ShapeError, match=r"^S5: input must be \(batch, 3, length\)"):
        made()(torch.zeros(2, 4, 5, dtype=F64))
    with pytest.raises(DtypeError, match=r"^S5: input must have the dtype of the parameters"):
        made()(torch.zeros(2, 3, 5))


def test_repr():
    assert repr(made()) == "S5(3, order=8, blocks=2, causal=True)"
