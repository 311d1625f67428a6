"""KernelConv: its kernel's taps and a skip, convolved directly; and its form with explicit taps."""

import copy
import functools
import pickle

import pytest
import torch

import mrconv
from mrconv.errors import ArgumentError, DtypeError, MergeError, ShapeError
from mrconv.kernels import DenseKernel, FourierKernel, InterpolatedKernel, S4DKernel
from mrconv.nn import KernelConv
from mrconv.testing import assert_close, direct_convolution

LENGTH = 11
KERNELS = {
    "s4d": "s4d",
    "sgconv": "sgconv",
    "many pieces": functools.partial(InterpolatedKernel, points=2),
    "dense": DenseKernel,
}
FORMS = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
SIDES = pytest.mark.parametrize("causal", [True, False])
METHODS = pytest.mark.parametrize("method", ["auto", "fft", "direct"])
SKIPS = pytest.mark.parametrize("skip", [True, False])


def layer(kernel="s4d", causal=True, skip=True, dtype=torch.float64):
    return KernelConv(3, LENGTH, kernel=kernel, causal=causal, skip=skip, dtype=dtype)


def expected_of(made, x):
    taps = made.past.taps().double()
    if not made.causal:
        taps = torch.cat([made.future.future_taps().double().flip(-1), taps], -1)
    y = direct_convolution(x, taps, causal=made.causal)
    return y if made.skip is None else y + made.skip.double()[:, None] * x.double()


@FORMS
@SIDES
@SKIPS
@pytest.mark.parametrize("length", [0, 1, 2, 7, 10, 11, 12, 23, 40])
def test_values(kernel, causal, skip, length):
    made = layer(kernel, causal, skip)
    x = torch.randn(2, 3, length, dtype=torch.float64)
    for module in (made, made.eval().reparameterize()):
        assert_close(module(x), expected_of(made, x))


@SIDES
@METHODS
def test_ragged(causal, method):
    made = layer(causal=causal)
    lengths = torch.tensor([9, 4, 0])
    x = torch.randn(3, 3, 9, dtype=torch.float64)
    behind = (torch.arange(9) >= lengths[:, None])[:, None]
    y = made(x.masked_fill(behind, float("nan")), lengths, method=method)
    assert (y.masked_select(behind) == 0).all()
    for row, n in enumerate(lengths):
        assert_close(y[row : row + 1, :, :n], expected_of(made, x[row : row + 1, :, :n]))


def test_the_direct_method_is_causal_to_the_bit():
    made, x = layer(), torch.randn(1, 3, 20, dtype=torch.float64)
    other = x.clone()
    other[..., 9:] = float("nan")
    before, after = made(x, method="direct"), made(other, method="direct")
    assert torch.equal(before[..., :9], after[..., :9])


@FORMS
def test_taps_are_made_anew_at_every_call(kernel):
    made, x = layer(kernel), torch.randn(2, 3, 20, dtype=torch.float64)
    optimizer = torch.optim.SGD(made.parameters(), lr=0.1)
    made(x).square().sum().backward()
    assert all((parameter.grad != 0).any() for parameter in made.parameters())
    optimizer.step()
    assert_close(made(x), expected_of(made, x))


def test_gradcheck():
    made = KernelConv(2, 4, kernel=functools.partial(S4DKernel, order=4), dtype=torch.float64)
    x = torch.randn(2, 2, 5, dtype=torch.float64, requires_grad=True)

    def convolve(x, *parameters):
        return made(x, torch.tensor([5, 2]))

    assert torch.autograd.gradcheck(convolve, (x, *made.parameters()))


@FORMS
@METHODS
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(kernel, dtype, method):
    made = layer(kernel, dtype=torch.float32).to(dtype)
    x = torch.randn(2, 3, 30).to(dtype)
    y = made(x, method=method)
    assert y.dtype == dtype
    assert_close(y, expected_of(made, x), 5e-3)


@METHODS
def test_autocast_computes_in_float32(method):
    made, x = layer(dtype=torch.float32), torch.randn(2, 3, 30)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = made(x, method=method)
        low = made(x.bfloat16(), method=method)
    assert y.dtype == torch.float32
    assert_close(y, expected_of(made, x))
    assert low.dtype == torch.bfloat16
    assert_close(low, expected_of(made, x.bfloat16()), 5e-3)


class _ByProduct(DenseKernel):
    def taps(self, rate=1):
        return torch.eye(self.channels) @ self.weight


def test_autocast_leaves_the_taps_of_any_kernel_alone():
    made, x = layer(_ByProduct, dtype=torch.float32), torch.randn(2, 3, 30)
    expected = expected_of(made, x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert_close(made(x), expected)


def test_copies_and_meta_device():
    made, x = layer(), torch.randn(2, 3, 9, dtype=torch.float64)
    for other in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert torch.equal(other(x), made(x))
    meta = KernelConv(3, 6, causal=False, device="meta")
    assert meta(torch.empty(2, 3, 9, device="meta")).shape == (2, 3, 9)
    assert meta.eval().reparameterize().checked is None
    real = meta.to_empty(device="cpu")
    real.reset_parameters()
    assert real(x.float()).isfinite().all()


def test_names_of_the_file_format():
    names = ["log_timestep", "log_decay", "frequency", "coefficients"]
    past, future = ({f"{side}.{name}" for name in names} for side in ("past", "future"))
    assert set(layer().state_dict()) == {"skip", *past}
    assert set(layer(causal=False, skip=False).state_dict()) == {*past, *future}


def test_start_values():
    made = KernelConv(2000, 2)
    assert float(made.skip.detach().std()) == pytest.approx(1, abs=0.05)
    before = made.past.coefficients.detach().clone()
    made.reset_parameters()
    assert (made.past.coefficients != before).any()


def test_repr():
    text = repr(KernelConv(2, 9, kernel="sgconv"))
    assert text.startswith("KernelConv(\n  2, length=9, causal=True\n  (past): InterpolatedKernel(")


# ------------------------------------------------------------------------- reparameterization


@FORMS
@SIDES
@SKIPS
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_merged_form(kernel, causal, skip, dtype):
    made = layer(kernel, causal, skip, torch.float32).to(dtype).eval()
    merged = made.reparameterize()
    assert type(merged) is mrconv.LongConv
    assert (merged.num_taps, merged.causal, merged.bias) == (LENGTH, causal, None)
    assert merged.taps.dtype == dtype == merged.checked.dtype
    assert not merged.training
    x, lengths = torch.randn(2, 3, 25).to(dtype), torch.tensor([25, 4])
    assert_close(merged(x, lengths), made(x, lengths))
    assert torch.equal(made.fuse().taps, merged.taps)
    assert torch.equal(mrconv.merge(made).taps, merged.taps)


@SIDES
def test_verification(causal):
    made = layer("sgconv", causal).eval()
    proof = mrconv.verify(made)
    assert proof.holds
    merged = made.reparameterize()
    with torch.no_grad():
        merged.taps[1, 3] += 1e-3
    assert not mrconv.verify(made, merged).holds


def test_refuses_training_mode_other_forms_and_rates(says):
    with says(
        MergeError,
        "reparameterize: BatchNorm statistics are still changing (training mode); "
        "got training=True. Call model.eval() first.",
    ):
        layer().reparameterize()
    with says(
        MergeError,
        "reparameterize: form='recurrence' needs kernels that are sums of damped exponentials; got "
        "InterpolatedKernel in KernelConv. Train with kernel='modal', or use "
        "mrconv.distill(model, tolerance=1e-3).",
    ):
        KernelConv(3, 12, kernel="sgconv").eval().reparameterize(form="recurrence")
    with says(
        ArgumentError,
        "S4DKernel: rate must be 1, because its taps are not band-limited; got rate=2. "
        "Use kernel='fourier', or resample the input to the training rate.",
    ):
        layer().eval().reparameterize(rate=2)


def test_a_band_limited_kernel_merges_at_half_rate():
    made = KernelConv(3, 12, kernel=FourierKernel, dtype=torch.float64).eval()
    merged = made.reparameterize(rate=2)
    x = torch.randn(2, 3, 20, dtype=torch.float64)
    taps = made.past.taps(2)
    assert merged.num_taps == 6
    assert_close(merged(x), direct_convolution(x, taps) + made.skip[:, None] * x)


# -------------------------------------------------------------------------------------- errors


def test_errors(says):
    with says(
        ArgumentError,
        "KernelConv: kernel must be one of 's4d', 'sgconv', 'implicit', 'dense', 's4', 'multires', "
        "'ckconv'; got 's4c'. Did you mean 's4'?",
    ):
        KernelConv(3, 8, kernel="s4c")
    with says(
        ArgumentError, "KernelConv: length must be at least 1; got length=0. Pass a larger length."
    ):
        KernelConv(3, 0)
    with says(
        DtypeError,
        "KernelConv: channels must be a whole number; got '3'. Pass an int of at least 1.",
    ):
        KernelConv("3", 8)
    with says(
        DtypeError,
        "KernelConv: kernel must make a mrconv.kernels.Kernel of span 8; "
        "got Identity(). Pass the three sizes on to Kernel.__init__.",
    ):
        KernelConv(3, 8, kernel=lambda *sizes, **options: torch.nn.Identity())
    made = KernelConv(3, 8)
    with says(
        ShapeError,
        "KernelConv: input must be (batch, 3, length); got (2, 8, 3). "
        "Did you mean x.transpose(1, 2)?",
    ):
        made(torch.zeros(2, 8, 3))
    with says(
        ShapeError,
        "KernelConv: lengths must be (2,), one per row; got (3,). Pass the number of valid samples "
        "of each row, or mrconv.lengths_from_mask(mask).",
    ):
        made(torch.zeros(2, 3, 8), torch.tensor([1, 2, 3]))
    with says(
        DtypeError,
        "KernelConv: input must have the dtype of the parameters, torch.float32; got torch.int64. "
        "Convert the input with x.to(torch.float32) or the layer with layer.to(torch.int64).",
    ):
        made(torch.zeros(2, 3, 8, dtype=torch.int64))
