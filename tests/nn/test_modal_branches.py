"""The exact recurrence of modal branches, against the branches, the oracle and single steps."""

import pytest
import torch

import mrconv
from mrconv import MRConv
from mrconv.errors import ArgumentError, MergeError
from mrconv.nn import KernelConv, ModalRecurrence
from mrconv.testing import assert_close, layer_output, settled

F64 = torch.float64
COMBINE = pytest.mark.parametrize("combine", ["sum", "concat"])


def layer(dtype=F64, **settings):
    options = {"kernel_size": 8, "kernel": "modal", **settings}
    return settled(MRConv(3, 40, dtype=dtype, **options))


def stepped(made, x):
    state, outputs = made.init_state(len(x)), []
    for t in range(x.shape[-1]):
        y, state = made.step(x[..., t], state)
        outputs.append(y)
    return torch.stack(outputs, -1)


@COMBINE
@pytest.mark.parametrize("gains", ["learned", "fixed"])
@pytest.mark.parametrize("norm", ["batch", "constant", "none"])
@pytest.mark.parametrize("skip", [True, False])
def test_equal_in_float64(combine, gains, norm, skip):
    made = layer(combine=combine, gains=gains, norm=norm, skip=skip)
    new = made.reparameterize(form="recurrence")
    assert type(new) is ModalRecurrence
    assert new.checked.difference <= 1e-10
    x, lengths = torch.randn(3, 3, 90, dtype=F64), torch.tensor([90, 33, 1])
    expected = layer_output(made, x, lengths)
    assert_close(made(x, lengths), expected)
    assert_close(new(x, lengths), expected)
    assert_close(stepped(new, x[:1]), expected[:1])
    assert_close(new.chunk(x, new.init_state(3), lengths)[0], expected)
    assert_close(new.taps(60)[:, :32], made.merged_taps()[0])
    assert (new.taps(60)[:, 32:] == 0).all()
    assert new.num_taps == made.num_taps


def test_poles_are_the_union_of_the_branches_poles():
    made = layer()
    new = made.reparameterize(form="recurrence")
    assert made.resolutions == 3
    assert new.modes == 3 * 2
    assert new.order.tolist() == [12] * 3
    decays = [kernel.log_decay.exp() / kernel.span for kernel in made.kernels]
    assert_close(new.radius, torch.exp(-torch.cat(decays, -1)))


@COMBINE
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_equal_in_lower_precision(combine, dtype):
    made = layer(torch.float32, combine=combine).to(dtype)
    new = made.reparameterize(form="recurrence")
    x = torch.randn(2, 3, 90).to(dtype)
    assert_close(new(x), made(x))
    assert_close(stepped(new, x), made(x))


@pytest.mark.parametrize("length", [1, 2, 100])
def test_s4d_converts_exactly(length):
    made = KernelConv(3, length, kernel="s4d", dtype=F64).eval()
    new = made.reparameterize(form="recurrence")
    assert new.checked.difference <= 1e-12
    assert_close(new.taps(length), made.merged_taps()[0], 1e-12)
    x = torch.randn(2, 3, 150, dtype=F64)
    assert_close(new(x), made(x), 1e-12)
    assert_close(stepped(new, x), made(x), 1e-12)


def test_a_model_merges_to_recurrences():
    mixer = [{"kernel": "modal", "kernel_size": 4}, {"name": "s4d", "order": 6}]
    backbone = mrconv.SequenceBackbone(2, 20, channels=4, depth=2, mixer=mixer, dtype=F64)
    model = mrconv.SequenceLabeller(backbone, 3, dtype=F64).eval()
    new = mrconv.merge(model, form="recurrence")
    assert all(type(block.mixer) is ModalRecurrence for block in new.backbone.blocks)
    x, lengths = torch.randn(3, 30, 2, dtype=F64), torch.tensor([30, 7, 0])
    assert_close(new(x, lengths), model(x, lengths))
    assert mrconv.verify(model, mrconv.merge(model), new).holds


def test_trains_on_and_stays_stable():
    new = layer().reparameterize(form="recurrence").train()
    optimizer = torch.optim.SGD(new.parameters(), lr=1.0)
    for _ in range(3):
        optimizer.zero_grad()
        new(torch.randn(2, 3, 40, dtype=F64)).square().mean().backward()
        optimizer.step()
    assert (new.radius < 1).all()
    assert all(p.grad.isfinite().all() for p in new.parameters())


def test_meta_device():
    new = layer().to("meta").reparameterize(form="recurrence")
    assert new.residue.is_meta
    assert new.checked is None


def test_refuses(says):
    with says(
        MergeError,
        "reparameterize: a recurrence knows the past only; got causal=False in MRConv. "
        "Use form='merged'.",
    ):
        layer(causal=False).reparameterize(form="recurrence")
    for kernel, name in (("fourier", "FourierKernel"), ("modal+sparse", "MixtureKernel")):
        with says(
            MergeError,
            "reparameterize: form='recurrence' needs kernels that are sums of damped exponentials; "
            f"got {name} in MRConv. Train with kernel='modal', or use "
            "mrconv.distill(model, tolerance=1e-3).",
        ):
            layer(kernel=kernel).reparameterize(form="recurrence")
    with says(
        ArgumentError,
        "reparameterize: form must be one of 'merged', 'recurrence'; got 'recurrent'. "
        "Did you mean 'recurrence'?",
    ):
        layer().reparameterize(form="recurrent")
    with says(
        ArgumentError,
        "ModalKernel: rate must be 1, because its taps are not band-limited; got rate=2. "
        "Use kernel='fourier', or resample the input to the training rate.",
    ):
        layer().reparameterize(rate=2, form="recurrence")
