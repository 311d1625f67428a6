"""Hyena and MultiHyena against plain loops over heads, entries, positions and lags, in float64."""

import copy
import functools

import pytest
import torch

import mrconv
from mrconv import BranchNorm, Hyena, MRConv, MultiHyena
from mrconv.errors import ArgumentError, DtypeError, MergeError, ShapeError
from mrconv.kernels import S4DKernel
from mrconv.nn import KernelConv
from mrconv.testing import assert_close, direct_convolution, settled

F64 = torch.float64
#: Sizes: channels and filters.
GROUPS = [(1, 1), (4, 4), (6, 3), (6, 2), (6, 1), (15, 5)]
FILTERS = {
    "implicit": {},
    "dense": {"kernel": "dense"},
    "s4d": {"kernel": "s4d"},
    "multi-resolution": {"kernel": "dilated", "kernel_size": 2},
    "modal": {"kernel": "modal", "kernel_size": 4},
    "without a norm": {"kernel": "fourier", "kernel_size": 2, "norm": "none"},
    "own": {"kernel": functools.partial(S4DKernel, order=4)},
}
KINDS = pytest.mark.parametrize("kind", [Hyena, MultiHyena])
EACH = pytest.mark.parametrize("options", FILTERS.values(), ids=FILTERS)
METHODS = pytest.mark.parametrize("method", ["auto", "fft", "direct"])


def layer(kind, channels=6, num_filters=3, length=11, dtype=F64, **options):
    made = kind(channels, length, num_filters=num_filters, dtype=dtype, **options).eval()
    for part in made.modules():
        if isinstance(part, MRConv):
            settled(part)
    return made


@torch.no_grad()
def response(made, length):
    """Taps (M, length) and bias (M,) of the filters, from what they do to an impulse and to 0."""
    exact = copy.deepcopy(made.filter).double()
    zero = torch.zeros(1, made.num_filters, length, dtype=F64)
    bias = exact(zero)[0, :, 0]
    zero[..., 0] = 1
    return exact(zero)[0] - bias[:, None], bias


@torch.no_grad()
def expected_of(made, x):
    """The equations of the two classes, number by number."""
    x, wide = x.double(), copy.deepcopy(made).double()
    channels, length = x.shape[1:]
    z = torch.einsum("ed,bdl->bel", wide.qkv.weight, x) + wide.qkv.bias[:, None]
    short = wide.short.bias[:, None].expand_as(z).clone()
    for lag in range(min(3, length)):
        short[..., lag:] += wide.short.weight[:, lag, None] * z[..., : length - lag]
    q, k, v = short[:, :channels], short[:, channels : 2 * channels], short[:, 2 * channels :]
    taps, bias = response(wide, max(1, length))
    y, width = torch.zeros_like(q), channels // made.num_filters
    for m in range(made.num_filters):
        for j in range(width):
            # Hyena reads the entry on the diagonal only
            entries = range(width) if isinstance(made, MultiHyena) else [j]
            for i in entries:
                a, b = m * width + i, m * width + j
                for t in range(length):
                    past = k[:, a, : t + 1] * v[:, b, : t + 1]
                    state = (past * taps[m, : t + 1].flip(0)).sum(-1) + bias[m]
                    y[:, b, t] += q[:, a, t] * state
    return torch.einsum("ed,bdl->bel", wide.out.weight, y) + wide.out.bias[:, None]


@KINDS
@pytest.mark.parametrize(("channels", "num_filters"), GROUPS)
@pytest.mark.parametrize("length", [0, 1, 2, 3, 10, 11, 12, 23])
def test_values(kind, channels, num_filters, length):
    made = layer(kind, channels, num_filters)
    x = torch.randn(2, channels, length, dtype=F64)
    assert_close(made(x), expected_of(made, x))


@KINDS
@EACH
@METHODS
def test_every_filter(kind, options, method):
    made, x = layer(kind, **options), torch.randn(2, 6, 17, dtype=F64)
    assert_close(made(x, method=method), expected_of(made, x))


@EACH
def test_outer_products_stored_or_not(options):
    """A hook on the filters makes the layer hand them the outer product as a whole."""
    made, x = layer(MultiHyena, **options), torch.randn(2, 6, 17, dtype=F64, requires_grad=True)
    results, met = [], []
    for watched in (False, True):
        if watched:
            made.filter.register_forward_hook(lambda module, given, y: met.append(given[0].shape))
        y = made(x)
        gradients = torch.autograd.grad(y.square().sum(), (x, *made.filter.parameters()))
        results.append([y, *gradients])
    assert met == [(2 * 4, 3, 17)]
    for one, other in zip(*results, strict=True):
        assert_close(one, other)


def test_without_num_filters_every_channel_has_its_own():
    torch.manual_seed(3)
    made = Hyena(6, 11, dtype=F64)
    assert made.num_filters == made.filter.channels == 6
    torch.manual_seed(3)
    outer = MultiHyena(6, 11, num_filters=6, dtype=F64)
    x = torch.randn(2, 6, 17, dtype=F64)
    assert_close(made(x), outer(x))  # heads of width 1
    assert_close(made(x), expected_of(made, x))


def test_channels_of_a_group_share_a_filter():
    made = layer(Hyena, 6, 2)
    assert made.filter.past.taps().shape == (2, 11)
    y = made.filter(made.product(torch.ones(1, 6, 9, dtype=F64), torch.ones(1, 6, 9, dtype=F64)))
    assert y.shape == (3, 2, 9)
    assert torch.equal(y[0], y[1])


def test_permuting_the_entries_of_a_head_permutes_its_outputs():
    made, order = layer(MultiHyena, 6, 2), [2, 0, 1, 4, 5, 3]
    q, k, v = torch.randn(3, 2, 6, 13, dtype=F64)

    def mixed(q, k, v):
        return made.read(q, made.filter(made.product(k, v)))

    plain = mixed(q, k, v)
    assert_close(mixed(q, k, v[:, order]), plain[:, order])
    assert_close(mixed(q[:, order], k[:, order], v), plain)  # the key index is summed over


@KINDS
@EACH
def test_ragged(kind, options):
    made = layer(kind, **options)
    lengths = torch.tensor([9, 4, 1, 0])
    x = torch.randn(4, 6, 9, dtype=F64)
    behind = (torch.arange(9) >= lengths[:, None])[:, None]
    y = made(x.masked_fill(behind, float("nan")), lengths)
    assert (y.masked_select(behind) == 0).all()
    for row, n in enumerate(lengths):
        assert_close(y[row : row + 1, :, :n], expected_of(made, x[row : row + 1, :, :n]))


@KINDS
def test_training_statistics_are_those_of_valid_gated_values(kind):
    norm = BranchNorm(momentum=1.0)
    made = layer(kind, kernel="dilated", kernel_size=2, norm=norm).train()
    lengths, x = torch.tensor([9, 4]), torch.randn(2, 6, 9, dtype=F64)
    made(x, lengths)
    _, k, v = made.short(made.qkv(x.transpose(1, 2)).transpose(1, 2)).chunk(3, 1)
    for i, kernel in enumerate(made.filter.kernels):
        for m in range(3):
            own = slice(2 * m, 2 * m + 2)
            pairs = k[:, own, None] * v[:, None, own] if kind is MultiHyena else (k * v)[:, own]
            met = [
                direct_convolution(
                    pairs[row].reshape(1, -1, 9)[..., :n].transpose(0, 1), kernel.taps()[m : m + 1]
                ).flatten()
                for row, n in enumerate(lengths)
            ]
            met = torch.cat(met)
            assert_close(made.filter.running_mean[i, m], met.mean())
            assert_close(made.filter.running_var[i, m], met.var())


@KINDS
def test_causal_by_the_direct_method_to_the_bit(kind):
    made, x = layer(kind), torch.randn(1, 6, 20, dtype=F64)
    other = x.clone()
    other[..., 9:] = float("nan")
    before, after = made(x, method="direct"), made(other, method="direct")
    assert torch.equal(before[..., :9], after[..., :9])


@KINDS
@pytest.mark.parametrize("options", [{}, {"kernel": "dilated", "kernel_size": 2}], ids=str)
def test_gradcheck(kind, options):
    made = layer(kind, 4, 2, length=4, **options)
    x = torch.randn(2, 4, 5, dtype=F64, requires_grad=True)

    def mix(x, *parameters):
        return made(x, torch.tensor([5, 2]))

    assert torch.autograd.gradcheck(mix, (x, *made.parameters()))


@KINDS
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(kind, dtype):
    made = layer(kind, dtype=torch.float32).to(dtype)
    x = torch.randn(2, 6, 30).to(dtype)
    y = made(x)
    assert y.dtype == dtype
    assert_close(y, expected_of(made, x), 2e-2)


@KINDS
def test_autocast(kind):
    made, x = layer(kind, dtype=torch.float32), torch.randn(2, 6, 30)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y, low = made(x), made(x.bfloat16())
    assert (y.dtype, low.dtype) == (torch.float32, torch.bfloat16)
    assert_close(y, expected_of(made, x), 2e-2)
    assert_close(low, expected_of(made, x), 3e-2)


@KINDS
def test_copies_and_meta_device(kind):
    made, x = layer(kind), torch.randn(2, 6, 9, dtype=F64)
    assert torch.equal(copy.deepcopy(made)(x), made(x))
    meta = kind(6, 8, num_filters=3, device="meta")
    assert meta(torch.empty(2, 6, 9, device="meta")).shape == (2, 6, 9)
    real = meta.to_empty(device="cpu")
    real.reset_parameters()
    assert_close(real(x.float()), expected_of(real, x), 1e-4)


@KINDS
def test_names_of_the_file_format(kind):
    own = {f"{part}.{name}" for part in ("qkv", "short", "out") for name in ("weight", "bias")}
    names = ["weight_1", "bias_1", "weight_2", "bias_2", "weight_3", "frequency", "log_decay"]
    long = {"filter.skip", *(f"filter.past.{name}" for name in names)}
    assert set(layer(kind).state_dict()) == own | long


@KINDS
def test_kernel_parameters_learn_by_their_own_rate(kind):
    made = layer(kind)
    groups = mrconv.param_groups(made, lr=1e-2, kernel_lr=1e-3, weight_decay=0.1)
    found = {group["name"]: {id(one) for one in group["params"]} for group in groups}
    assert found["kernels"] == {id(one) for one in made.filter.past.parameters()}
    biases = (made.qkv.bias, made.short.bias, made.out.bias, made.filter.skip)
    assert found["scales"] == {id(one) for one in biases}
    weights = (made.qkv.weight, made.short.weight, made.out.weight)
    assert found["weights"] == {id(one) for one in weights}


def test_repr():
    text = repr(MultiHyena(6, 9, num_filters=3))
    assert text.startswith("MultiHyena(\n  6, length=9, num_filters=3\n  (qkv): Linear(")
    assert "(short): ShortConv(18, num_taps=3)" in text


# ------------------------------------------------------------------------------ other forms


@KINDS
@EACH
def test_merged(kind, options):
    made, x = layer(kind, **options), torch.randn(2, 6, 25, dtype=F64)
    merged = mrconv.merge(made)
    assert type(merged.filter) is mrconv.LongConv
    assert merged.filter.channels == 3
    assert merged.filter.checked.difference < 1e-10
    assert_close(merged(x), expected_of(made, x))


@KINDS
def test_recurrence_of_modal_filters(kind):
    made = layer(kind, kernel="modal", kernel_size=4)
    small, x = mrconv.merge(made, form="recurrence"), torch.randn(2, 6, 25, dtype=F64)
    assert_close(small(x), expected_of(made, x))
    assert small.num_taps == made.num_taps == 8 + 2


@KINDS
def test_distilled(kind):
    made = layer(kind, length=40, kernel=functools.partial(S4DKernel, order=4))
    small, report = mrconv.distill(made, order=4)
    x = torch.randn(2, 6, 40, dtype=F64)
    assert [len(one.filters) for one in report.layers] == [3]  # as many as filters
    assert report.error < 1e-10
    assert_close(small(x), made(x))
    assert small.num_taps is None
    assert type(made.filter) is KernelConv


@KINDS
def test_rates(says, kind):
    made = layer(kind, kernel="fourier", kernel_size=4)
    name = kind.__name__
    with says(
        ArgumentError,
        f"merge: rate must be 1, because the short convolution of a {name} has the rate of "
        "training; got rate=2. Resample the input to that rate.",
    ):
        mrconv.merge(made, rate=2)
    with says(
        ArgumentError,
        f"Streamer: rate must be 1, because a layer of {name} works at the rate it was trained "
        "at; got rate=2. Resample the stream to that rate with mrconv.streaming.Resampler.",
    ):
        mrconv.Streamer(made, rate=2)
    with says(
        MergeError,
        "merge: BatchNorm statistics are still changing (training mode); got training=True. "
        "Call model.eval() first.",
    ):
        mrconv.merge(made.train())


# -------------------------------------------------------------------------------------- errors


def test_errors(says):
    with says(
        ArgumentError,
        "MultiHyena: num_filters must divide channels=64; got num_filters=10. Use num_filters=8.",
    ):
        MultiHyena(64, 10, num_filters=10)
    with says(
        ArgumentError,
        "Hyena: num_filters must be at least 1; got num_filters=0. Pass a larger num_filters.",
    ):
        Hyena(64, 10, num_filters=0)
    with says(
        ArgumentError, "Hyena: length must be at least 1; got length=0. Pass a larger length."
    ):
        Hyena(64, 0)
    with says(
        ArgumentError,
        "Hyena: kernel must be one of 's4d', 'sgconv', 'implicit', 'dense', 's4', "
        "'multires', 'ckconv'; got 'implict'. "
        "Did you mean 'implicit'?",
    ):
        Hyena(64, 10, kernel="implict")
    with says(
        ArgumentError,
        "Hyena: kernel='fourier+sparse' makes branches, which need kernel_size, the span of the "
        "first; got kernel_size=None. Pass kernel_size=16.",
    ):
        Hyena(64, 10, kernel="fourier+sparse")
    with says(
        ArgumentError,
        "MultiHyena: norm belongs to branches, which kernel_size makes; got norm='none' and "
        "kernel_size=None. Pass kernel_size=16, or leave norm out.",
    ):
        MultiHyena(64, 10, num_filters=8, norm="none")
    made = Hyena(6, 10)
    with says(
        ShapeError,
        "Hyena: input must be (batch, 6, length); got (2, 8, 6). Did you mean x.transpose(1, 2)?",
    ):
        made(torch.zeros(2, 8, 6))
    with says(
        DtypeError,
        "Hyena: input must have the dtype of the parameters, torch.float32; got torch.float64. "
        "Convert the input with x.to(torch.float32) or the layer with layer.to(torch.float64).",
    ):
        made(torch.zeros(2, 6, 8, dtype=F64))
