"""MRConv in training and eval mode against its definition in float64."""

import copy
import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mrconv import BranchNorm, MRConv
from mrconv.kernels import DenseKernel
from mrconv.testing import (
    assert_close,
    branch_taps,
    direct_convolution,
    layer_output,
    settled,
)

KERNELS = ["dense", "fourier", "dilated", "sparse", "implicit", "modal", "fourier+sparse"]
COMBINE = pytest.mark.parametrize("combine", ["sum", "concat"])
SIDES = pytest.mark.parametrize("causal", [True, False])
NORMS = pytest.mark.parametrize("norm", ["batch", "constant", "none"])
FORMS = pytest.mark.parametrize("kernel", KERNELS)
TRAINING = pytest.mark.parametrize("training", [True, False])


def layer(channels=2, length=24, *, kernel_size=4, dtype=torch.float64, **settings):
    made = MRConv(channels, length, kernel_size=kernel_size, dtype=dtype, **settings)
    return settled(made).train()


def ragged(batch=3, channels=2, length=13, dtype=torch.float64):
    lengths = torch.tensor([length, length // 2, *[1] * (batch - 2)])
    return torch.randn(batch, channels, length, dtype=dtype), lengths


# -------------------------------------------------------------------------------------- values


@TRAINING
@FORMS
@SIDES
@COMBINE
@NORMS
def test_values_and_gradients(training, kernel, causal, combine, norm):
    made = layer(kernel=kernel, causal=causal, combine=combine, norm=norm).train(training)
    x, lengths = ragged()
    inputs = [x.requires_grad_(), *made.parameters()]
    expected = layer_output(made, x, lengths)
    weights = torch.randn_like(expected)
    oracle = torch.autograd.grad(expected, inputs, weights)
    y = made(x, lengths)
    assert_close(y, expected)
    for one, other in zip(torch.autograd.grad(y, inputs, weights), oracle, strict=True):
        assert_close(one, other, 1e-8)


@TRAINING
@COMBINE
@pytest.mark.parametrize("gains", ["learned", "fixed"])
@pytest.mark.parametrize("statistics", ["exact", "textbook"])
@pytest.mark.parametrize("method", ["auto", "fft", "direct"])
def test_values_of_every_setting(training, combine, gains, statistics, method):
    norm = BranchNorm(statistics=statistics, eps=1e-2)
    made = layer(combine=combine, gains=gains, norm=norm, skip=False).train(training)
    x = torch.randn(2, 2, 30, dtype=torch.float64)
    expected = layer_output(made, x)
    assert_close(made(x, method=method), expected)


@TRAINING
@given(
    channels=st.integers(1, 3),
    kernel_size=st.integers(1, 7),
    reach=st.integers(1, 5),
    input_length=st.integers(2, 30),
    causal=st.booleans(),
    combine=st.sampled_from(["sum", "concat"]),
    kernel=st.sampled_from(["dense", "fourier", "dilated"]),
)
def test_any_sizes(training, channels, kernel_size, reach, input_length, causal, combine, kernel):
    made = layer(
        channels,
        kernel_size * reach,
        kernel_size=kernel_size,
        causal=causal,
        combine=combine,
        kernel=kernel,
        norm=BranchNorm(eps=1e-2),
    ).train(training)
    x = torch.randn(2, channels, input_length, dtype=torch.float64)
    expected = layer_output(made, x)
    assert_close(made(x), expected, 1e-9)


@TRAINING
@SIDES
def test_gradcheck(training, causal):
    made = layer(1, 8, kernel_size=4, causal=causal).train(training)
    x, lengths = ragged(2, 1, 5)
    parameters = tuple(made.parameters())

    def convolve(x, *parameters):
        return made(x, lengths)

    assert torch.autograd.gradcheck(convolve, (x.requires_grad_(), *parameters), fast_mode=True)


# ---------------------------------------------------------------------------------- statistics


@COMBINE
@pytest.mark.parametrize("momentum", [0.1, None])
@pytest.mark.parametrize("full", [False, True])
def test_running_statistics_are_torchs(combine, momentum, full):
    made = layer(combine=combine, norm=BranchNorm(momentum=momentum))
    made.reset_parameters()
    norms = made.running_mean.shape[0]
    theirs = torch.nn.BatchNorm1d(norms * 2, momentum=momentum, affine=False).double()
    for step in range(3):
        x = step + torch.randn(4, 2, 9, dtype=torch.float64)
        made(x, torch.full((4,), 9) if full else None)
        theirs(torch.cat(_branch_outputs(made, x), 1))
    assert_close(made.running_mean, theirs.running_mean.view(norms, 2), 1e-12)
    assert_close(made.running_var, theirs.running_var.view(norms, 2), 1e-12)
    assert int(made.num_batches_tracked) == 3


def _branch_outputs(made, x):
    return [direct_convolution(x, taps, causal=made.causal) for taps in branch_taps(made)]


def test_padding_enters_no_statistics():
    made = layer()
    other = copy.deepcopy(made)
    x, lengths = ragged()
    made(x, lengths)
    other(torch.nn.functional.pad(x, (0, 9), value=float("nan")), lengths)
    for name, value in made.state_dict().items():
        torch.testing.assert_close(other.state_dict()[name], value, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("norm", ["constant", "none"])
def test_other_norms_have_no_statistics_to_move(norm):
    made = layer(norm=norm)
    before = copy.deepcopy(made.state_dict())
    made(torch.randn(2, 2, 9, dtype=torch.float64))
    assert all(torch.equal(value, before[name]) for name, value in made.state_dict().items())


def test_constant_norm_divides_by_the_norms_at_initialisation():
    made = MRConv(2, 16, kernel_size=4, norm="constant", skip=False, dtype=torch.float64).eval()
    for i, kernel in enumerate(made.kernels):
        expected = kernel.taps().square().sum(-1)
        assert_close(made.running_var[i], expected)
    impulse = torch.zeros(1, 2, 16, dtype=torch.float64)
    impulse[..., 0] = 1
    parts = made.contributions(impulse)  # (R, 1, D, L)
    assert_close(parts.square().sum(-1), torch.full((3, 1, 2), 1 / 3, dtype=torch.float64))


def test_eval_mode_moves_nothing():
    made = layer().eval()
    before = copy.deepcopy(made.state_dict())
    made(torch.randn(2, 2, 9, dtype=torch.float64))
    assert all(torch.equal(value, before[name]) for name, value in made.state_dict().items())


@pytest.mark.parametrize("kernel", ["fourier", "sparse"])
def test_no_buffer_depends_on_the_lengths_seen(kernel):
    made = layer(kernel=kernel)
    shapes = {name: value.shape for name, value in made.state_dict().items()}
    for length in (2, 31, 7, 100):
        made(torch.randn(2, 2, length, dtype=torch.float64))
        made.eval()(torch.randn(2, 2, length, dtype=torch.float64))
        made.train()
    assert {name: value.shape for name, value in made.state_dict().items()} == shapes
    tensors = {
        name
        for module in made.modules()
        for name, value in vars(module).items()
        if torch.is_tensor(value)
    }
    assert not tensors


# -------------------------------------------------------------------------------------- ragged


@TRAINING
@FORMS
@SIDES
@COMBINE
@pytest.mark.parametrize("filling", [float("nan"), 1e30])
def test_valid_outputs_do_not_depend_on_the_padding(training, kernel, causal, combine, filling):
    made = layer(kernel=kernel, causal=causal, combine=combine).train(training)
    x, lengths = ragged()
    padded = torch.nn.functional.pad(x, (0, 8))
    behind = (torch.arange(21) >= lengths[:, None])[:, None]
    padded = padded.masked_fill(behind, filling)
    y, wide = made(x, lengths), made(padded, lengths)
    valid = ~behind[..., :13]
    assert_close(wide[..., :13].masked_select(valid), y.masked_select(valid), 1e-12)
    assert (wide.masked_select(behind) == 0).all()


@pytest.mark.parametrize("norm", ["batch", "none"])
@TRAINING
def test_nan_padding_gives_finite_gradients(training, norm):
    made = layer(norm=norm).train(training)
    x, lengths = ragged()
    behind = (torch.arange(13) >= lengths[:, None])[:, None]
    x = x.masked_fill(behind, float("nan")).requires_grad_()
    made(x, lengths).square().sum().backward()
    assert all(p.grad.isfinite().all() for p in made.parameters())
    assert x.grad.isfinite().all()
    assert (x.grad.masked_select(behind) == 0).all()


def test_rows_of_a_ragged_batch_are_as_if_alone_in_eval_mode():
    made = layer().eval()
    x, lengths = ragged()
    y = made(x, lengths)
    for row, n in enumerate(lengths):
        assert_close(y[row : row + 1, :, :n], made(x[row : row + 1, :, :n]), 1e-12)


def test_a_row_of_length_0_is_0():
    made = layer()
    x = torch.randn(2, 2, 6, dtype=torch.float64)
    for training in (True, False):
        y = made.train(training)(x, torch.tensor([0, 6]))
        assert (y[0] == 0).all()
        assert y[1].isfinite().all()


# ----------------------------------------------------------------------------------- causality


@pytest.mark.parametrize("method", ["auto", "fft", "direct"])
@pytest.mark.parametrize("cut", [0, 1, 17])
def test_the_past_does_not_see_the_future(method, cut):
    made = layer().eval()
    x = torch.randn(2, 2, 40, dtype=torch.float64)
    changed = x.clone()
    changed[..., cut:] = 7
    before, after = (made(one, method=method)[..., :cut] for one in (x, changed))
    if method == "direct":
        assert torch.equal(before, after)
    else:
        assert_close(after, before, 1e-12)


def test_a_nan_stays_in_its_own_future_by_the_direct_method():
    made = layer(kernel="dense").eval()
    x = torch.randn(1, 2, 40, dtype=torch.float64)
    clean = made(x, method="direct")
    x[..., 20] = float("nan")
    y = made(x, method="direct")
    assert torch.equal(y[..., :20], clean[..., :20])
    assert y[..., 20:36].isnan().all()
    assert torch.equal(y[..., 36:], clean[..., 36:])


def test_two_sided_reaches_as_far_ahead_as_back_and_counts_the_present_once():
    made = layer(kernel="dense", causal=False, kernel_size=4, length=8, skip=False).eval()
    impulse = torch.zeros(1, 2, 41, dtype=torch.float64)
    impulse[..., 20] = 1
    response = made(impulse) - made(torch.zeros_like(impulse))
    reached = (response.abs() > 1e-12)[0, 0].nonzero()[:, 0].tolist()
    assert reached == list(range(20 - 8, 20 + 8))  # lags -8..7


# ---------------------------------------------------------------------------------------- rate


@COMBINE
@SIDES
@pytest.mark.parametrize("kernel_size", [4, 8, 16])
def test_half_rate_on_the_resampled_signal(combine, causal, kernel_size):
    """Exact where no branch leaks: harmonics of kernel_size below a quarter of the rate."""
    made = layer(2, 64, kernel_size=kernel_size, combine=combine, causal=causal).eval()
    time = torch.arange(512, dtype=torch.float64)
    signal = 1 + torch.zeros(1, 2, 512, dtype=torch.float64)
    for harmonic in range(1, kernel_size // 4):
        for channel in range(2):
            angle = 2 * torch.pi * harmonic * time / kernel_size + harmonic + channel
            signal[0, channel] += torch.sin(angle) / harmonic
    fast, low = made(signal)[..., ::2], signal[..., ::2]
    middle = slice(64, 192)  # where the whole kernel meets the signal
    for slow in (made(low, rate=2), made.by_branches(low, 2), made.reparameterize(rate=2)(low)):
        assert_close(slow[..., middle], fast[..., middle])


# ------------------------------------------------------------------------------- contributions


@FORMS
@SIDES
@COMBINE
@NORMS
def test_contributions_sum_to_the_output_less_bias_and_skip(kernel, causal, combine, norm):
    made = layer(kernel=kernel, causal=causal, combine=combine, norm=norm).eval()
    x, lengths = ragged()
    parts = made.contributions(x, lengths)
    assert parts.shape == (made.resolutions, *x.shape)
    _, bias = made.merged_taps()
    valid = (torch.arange(13) < lengths[:, None])[:, None]
    rest = torch.where(valid, bias[:, None] + made.skip[:, None] * x, 0)
    assert_close(parts.sum(0) + rest, made(x, lengths))
    assert (parts.masked_select(~valid) == 0).all()


def test_each_contribution_is_its_branch_alone():
    made = layer(kernel="dense", skip=False).eval()
    x = torch.randn(2, 2, 20, dtype=torch.float64)
    parts = made.contributions(x)
    for i in range(made.resolutions):
        alone = copy.deepcopy(made)
        with torch.no_grad():
            alone.shift.zero_()
            alone.running_mean.zero_()
            alone.gain[[j for j in range(made.resolutions) if j != i]] = 0
        assert_close(parts[i], alone(x))


# ------------------------------------------------------------------------------------- lengths


@FORMS
@SIDES
@COMBINE
def test_every_length(kernel, causal, combine):
    made = layer(kernel=kernel, causal=causal, combine=combine)
    made.eval()
    for length in (0, 1, 2, 3, 4, 5, 13, 16, 17, 31):
        x = torch.randn(2, 2, length, dtype=torch.float64)
        assert_close(made(x), layer_output(made, x))
        assert made.contributions(x).shape == (made.resolutions, 2, 2, length)


@pytest.mark.parametrize("statistics", ["exact", "textbook"])
@pytest.mark.parametrize("method", ["fft", "direct"])
def test_empty_in_eval_mode(statistics, method):
    made = layer(norm=BranchNorm(statistics=statistics)).eval()
    for shape in ((2, 2, 0), (0, 2, 5)):
        assert made(torch.zeros(shape).double(), method=method).shape == shape


# ------------------------------------------------------------------ precision, copies, devices


@pytest.mark.parametrize("kernel", ["fourier", "implicit", "fourier+sparse"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@TRAINING
def test_precisions(kernel, dtype, training):
    made = layer(kernel=kernel, dtype=torch.float32).to(dtype).train(training)
    x, lengths = ragged(length=40, dtype=torch.float32)
    x = x.to(dtype)
    expected = layer_output(copy.deepcopy(made).double(), x.double(), lengths)
    y = made(x, lengths)
    assert y.dtype == dtype
    assert_close(y, expected)
    statistics = torch.float32
    assert made.running_mean.dtype == made.running_var.dtype == statistics


def test_casts_keep_the_statistics():
    made = torch.nn.Sequential(layer(dtype=torch.float32))
    mean, var = made[0].running_mean.clone(), made[0].running_var.clone()
    for dtype in (torch.bfloat16, torch.float16):
        made.to(dtype)
        assert made[0].gain.dtype == dtype
        assert torch.equal(made[0].running_mean, mean)
        assert torch.equal(made[0].running_var, var)
    assert made.double()[0].running_mean.dtype == torch.float64
    assert all(p.dtype == torch.float64 for p in made.parameters())


@FORMS
@TRAINING
def test_autocast_computes_in_float32(kernel, training):
    made = layer(kernel=kernel, dtype=torch.float32).train(training)
    x, lengths = ragged(length=30, dtype=torch.float32)
    expected = layer_output(made, x, lengths)
    for method in ("fft", "direct"):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = made(x, lengths, method=method)
            low = made(x.bfloat16(), lengths, method=method)
        assert y.dtype == torch.float32
        assert low.dtype == torch.bfloat16
        assert_close(y, expected, 2e-5)
        assert_close(low, expected)
    y.sum().backward()
    assert all(p.grad.dtype == torch.float32 for p in made.parameters())


def test_copies():
    made = layer(kernel="fourier+sparse", causal=False).eval()
    x, lengths = ragged()
    average = torch.optim.swa_utils.AveragedModel(
        made, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9), use_buffers=True
    )
    others = [copy.deepcopy(made), pickle.loads(pickle.dumps(made)), average.module]
    fresh = layer(kernel="fourier+sparse", causal=False).eval()
    fresh.reset_parameters()
    fresh.load_state_dict(made.state_dict())
    for other in (*others, fresh):
        assert torch.equal(other(x, lengths), made(x, lengths))
        assert other.norm == made.norm


def test_an_average_moves_towards_the_model():
    made = layer(kernel="sparse", dtype=torch.float32)
    average = torch.optim.swa_utils.AveragedModel(
        made, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.5)
    )
    average.update_parameters(made)
    with torch.no_grad():
        before = made.gain.clone()
        made.gain.add_(1)
    average.update_parameters(made)
    assert_close(average.module.gain, before + 0.5)
    assert torch.equal(average.module.kernels[2].lags, made.kernels[2].lags)


@FORMS
@SIDES
@NORMS
def test_meta_device(kernel, causal, norm):
    settings = {"kernel_size": 4, "kernel": kernel, "causal": causal, "norm": norm}
    made = MRConv(2, 24, device="meta", **settings)
    assert all(tensor.is_meta for tensor in made.state_dict().values())
    made = made.to_empty(device="cpu")
    with torch.no_grad():
        for tensor in made.state_dict().values():
            tensor.fill_(1)
    made.reset_parameters()
    fresh = MRConv(2, 24, **settings)
    assert made.state_dict().keys() == fresh.state_dict().keys()
    for name in ("gain", "shift", "running_mean", "num_batches_tracked"):
        if name in fresh.state_dict():
            assert torch.equal(made.state_dict()[name], fresh.state_dict()[name])
    assert made.eval()(torch.randn(1, 2, 9)).isfinite().all()


def test_forward_on_the_meta_device_gives_the_shape():
    made = MRConv(2, 24, kernel_size=4, device="meta")
    x = torch.empty(3, 2, 10, device="meta")
    assert made(x).shape == x.shape
    assert made.eval()(x, torch.empty(3, dtype=torch.int64, device="meta")).is_meta


# ---------------------------------------------------------------------------- names and starts

SUM = {
    "gain": (3, 2),
    "shift": (3, 2),
    "running_mean": (3, 2),
    "running_var": (3, 2),
    "num_batches_tracked": (),
    "skip": (2,),
}
PAST = {f"kernels.{i}.coefficients": (2, 3, 2) for i in range(3)}
FUTURE = {f"future_kernels.{i}.coefficients": (2, 3, 2) for i in range(3)}
LAGS = {f"kernels.{i}.{name}": size for i in range(3) for name, size in
        {"weight": (2, 4), "lags": (4,)}.items()}  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, SUM | PAST),
        ({"gains": "fixed"}, SUM | PAST),
        ({"causal": False}, SUM | PAST | FUTURE),
        ({"kernel": "sparse"}, SUM | LAGS),
        (
            {"combine": "concat"},
            SUM | PAST | dict.fromkeys(["shift", "running_mean", "running_var"], (1, 2)),
        ),
        (
            {"norm": "none", "skip": False},
            {"gain": (3, 2), "shift": (3, 2)} | PAST,
        ),
        (
            {"norm": "constant"},
            {name: size for name, size in SUM.items() if name != "num_batches_tracked"} | PAST,
        ),
    ],
)
def test_state_dict_names(settings, expected):
    made = MRConv(2, 24, kernel_size=4, **settings)
    assert {name: tuple(value.shape) for name, value in made.state_dict().items()} == expected
    assert not any(value.is_complex() for value in made.state_dict().values())


def test_start_values():
    made = MRConv(3000, 24, kernel_size=4, kernel="dilated")
    assert_close(made.gain, torch.full_like(made.gain, 3**-0.5))
    assert (made.shift == 0).all()
    assert float(made.skip.detach().std()) == pytest.approx(1, abs=0.05)
    assert (made.running_mean == 0).all()
    assert (made.running_var == 1).all()


@COMBINE
def test_fixed_gains(combine):
    made = MRConv(2, 24, kernel_size=4, gains="fixed", combine=combine)
    assert made.gain.tolist() == [[1, 1], [0.5, 0.5], [0.25, 0.25]]
    assert "gain" not in dict(made.named_parameters())
    assert "gain" in made.state_dict()


@pytest.mark.parametrize("causal", [True, False])
def test_spans(causal):
    summed = MRConv(2, 24, kernel_size=4, causal=causal)
    assert [kernel.span for kernel in summed.kernels] == [4, 8, 16]
    pieces = MRConv(2, 24, kernel_size=4, causal=causal, combine="concat")
    assert [kernel.span for kernel in pieces.kernels] == [4, 4, 8]
    assert len(summed.future_kernels) == (0 if causal else 3)
    columns = 16 if causal else 32
    for made in (summed, pieces):
        assert made.merged_taps()[0].shape == (2, columns)


def test_a_callable_is_asked_once_for_each_resolution_and_side():
    asked = []

    def make(channels, kernel_size, resolution, *, device, dtype):
        asked.append((channels, kernel_size, resolution, device, dtype))
        return DenseKernel(channels, kernel_size, resolution, device=device, dtype=dtype)

    MRConv(2, 24, kernel_size=4, kernel=make, causal=False, dtype=torch.float64)
    assert asked == 2 * [(2, 4, i, None, torch.float64) for i in range(3)]


@pytest.mark.parametrize("kernel", ["dilated", "sparse", "fourier"])
def test_parameters_of_a_causal_layer(kernel):
    made = MRConv(3, 64, kernel_size=8, kernel=kernel)
    a_kernel = {"dilated": 8, "sparse": 8, "fourier": 10}[kernel]
    count = sum(p.numel() for p in made.parameters())
    assert count == 3 * (4 * (a_kernel + 2) + 1)


def test_repr_holds_every_setting():
    text = repr(MRConv(2, 24, kernel_size=4))
    for part in ("length=24", "kernel_size=4", "kernel='fourier'", "resolutions=3", "causal=True"):
        assert part in text
