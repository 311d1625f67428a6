"""GatedMRConv against a loop over resolutions with explicit gates and lags, in float64."""

import copy

import pytest
import torch

import mrconv
from mrconv import BranchNorm, GatedMRConv, MRConv
from mrconv.errors import ArgumentError, DtypeError, MergeError, ShapeError
from mrconv.nn.reparameterize import TOLERANCES
from mrconv.testing import assert_close, branch_taps, direct_convolution, settled

F64 = torch.float64
KERNELS = ["dense", "fourier", "dilated", "sparse", "implicit", "modal", "fourier+sparse"]
LENGTHS = [0, 1, 2, 3, 15, 16, 17, 23]
EACH = pytest.mark.parametrize("kernel", KERNELS)
NORMS = pytest.mark.parametrize("norm", ["batch", "constant", "none"])


def gated_layer(channels=6, length=16, dtype=F64, **settings):
    """Settled, with gates that are far from 1."""
    layer = settled(GatedMRConv(channels, length, kernel_size=4, dtype=dtype, **settings))
    torch.nn.init.normal_(layer.gate.weight)
    torch.nn.init.normal_(layer.gate.bias)
    return layer.eval()


def expected_of(layer, x, lengths=None):
    """The class's equations: one resolution, channel and gate after the other."""
    wide = layer if layer.shift.dtype == F64 else copy.deepcopy(layer).double()
    x = x.double()
    rows, channels, length = x.shape
    ends = [length] * rows if lengths is None else lengths.tolist()
    valid = torch.arange(length) < torch.tensor(ends)[:, None]
    u = torch.where(valid[:, None], x, 0.0)
    heads = wide.gate.num_heads
    y = torch.zeros_like(u) if wide.skip is None else wide.skip[:, None] * u
    for i, taps in enumerate(branch_taps(wide)):
        branch = _normalised(wide, i, direct_convolution(u, taps, causal=wide.causal), valid)
        gates = []
        for d in range(channels):
            row = i * heads + d * heads // channels
            score = torch.einsum("d,bdt->bt", wide.gate.weight[row], u) + wide.gate.bias[row]
            gates.append(2 / (1 + torch.exp(-score)))
        y = y + torch.stack(gates, 1) * branch
    return torch.where(valid[:, None], y, 0.0)


def _normalised(layer, i, z, valid):
    gain, shift = layer.gain[i, :, None], layer.shift[i, :, None]
    if layer.norm == "none":
        return gain * z + shift
    mean, var, eps = layer.running_mean[i, :, None], layer.running_var[i, :, None], 0.0
    if isinstance(layer.norm, BranchNorm):
        eps = layer.norm.eps
        if layer.training:
            met = z.transpose(1, 2)[valid]  # (M, D)
            mean = met.mean(0)[:, None]
            var = met.var(0, correction=0)[:, None]
    return gain * (z - mean) / torch.sqrt(var + eps) + shift


# -------------------------------------------------------------------------------------- values


@EACH
@NORMS
@pytest.mark.parametrize("training", [False, True])
def test_values(kernel, norm, training):
    layer = gated_layer(kernel=kernel, norm=norm, num_heads=3).train(training)
    expected_layer, x = copy.deepcopy(layer), torch.randn(2, 6, 21, dtype=F64)
    assert_close(layer(x), expected_of(expected_layer, x))


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("method", ["auto", "fft", "direct"])
def test_lengths_and_methods(length, causal, method):
    layer, x = gated_layer(causal=causal), torch.randn(2, 6, length, dtype=F64)
    assert_close(layer(x, method=method), expected_of(layer, x))
    if length > 1:
        layer.train()
        expected = expected_of(layer, x)
        assert_close(layer(x, method=method), expected)


@pytest.mark.parametrize("num_heads", [1, 2, 3, 6])
@pytest.mark.parametrize("skip", [True, False])
def test_groups_of_channels_share_gates(num_heads, skip):
    layer = gated_layer(num_heads=num_heads, skip=skip)
    x = torch.randn(2, 6, 21, dtype=F64)
    gates = layer.gate(x)
    assert gates.shape == (3, 2, num_heads, 21)
    assert ((gates > 0) & (gates < 2)).all()
    assert_close(layer(x), expected_of(layer, x))


@EACH
@NORMS
@pytest.mark.parametrize("training", [False, True])
def test_a_new_layer_is_an_mrconv(kernel, norm, training):
    settings = {"kernel_size": 4, "kernel": kernel, "norm": norm, "dtype": F64}
    torch.manual_seed(1)
    plain = MRConv(6, 32, **settings).train(training)
    torch.manual_seed(1)
    layer = GatedMRConv(6, 32, num_heads=2, **settings).train(training)
    x, lengths = torch.randn(3, 6, 40, dtype=F64), torch.tensor([40, 7, 0])
    assert (layer.gate(x) == 1).all()
    assert_close(layer(x, lengths), plain(x, lengths))
    for name, value in plain.state_dict().items():
        assert_close(layer.state_dict()[name].double(), value.double())


def test_parameters_beside_those_of_an_mrconv():
    layer, plain = GatedMRConv(6, 16, kernel_size=4, num_heads=3), MRConv(6, 16, kernel_size=4)
    more = set(layer.state_dict()) - set(plain.state_dict())
    assert more == {"gate.weight", "gate.bias"}
    assert set(plain.state_dict()) <= set(layer.state_dict())
    count = [sum(p.numel() for p in each.parameters()) for each in (layer, plain)]
    assert count[0] - count[1] == 3 * 3 * (6 + 1)  # R H (D + 1)


def test_reset_makes_it_new():
    layer = gated_layer()
    layer.reset_parameters()
    assert (layer.gate(torch.randn(1, 6, 9, dtype=F64)) == 1).all()
    assert (layer.running_var == 1).all()
    assert layer.num_batches_tracked == 0


@pytest.mark.parametrize("training", [False, True])
def test_ragged(training):
    layer = gated_layer(num_heads=2).train(training)
    x, lengths = torch.randn(4, 6, 21, dtype=F64), torch.tensor([21, 9, 1, 0])
    behind = (torch.arange(21) >= lengths[:, None])[:, None]
    expected = expected_of(layer, x, lengths)
    filled = x.masked_fill(behind, float("nan")).requires_grad_()
    y = layer(filled, lengths)
    assert (y.masked_select(behind) == 0).all()
    assert_close(y, expected)
    (gradient,) = torch.autograd.grad(y.square().sum(), filled)
    assert gradient.isfinite().all()
    assert (gradient.masked_select(behind) == 0).all()


def test_running_statistics_are_those_of_valid_positions():
    layer = gated_layer(norm=BranchNorm(momentum=1.0)).train()
    x, lengths = torch.randn(2, 6, 21, dtype=F64), torch.tensor([21, 9])
    layer(x, lengths)
    for i, taps in enumerate(branch_taps(layer)):
        met = [direct_convolution(x[b : b + 1, :, :n], taps)[0] for b, n in enumerate(lengths)]
        assert_close(layer.running_mean[i], torch.cat(met, -1).mean(-1))
        assert_close(layer.running_var[i], torch.cat(met, -1).var(-1))
    assert layer.num_batches_tracked == 1


def test_the_future_is_not_seen():
    layer, x = gated_layer(), torch.randn(1, 6, 30, dtype=F64)
    other = x.clone()
    other[..., 12:] = float("nan")
    assert torch.equal(layer(other, method="direct")[..., :12], layer(x, method="direct")[..., :12])


# ----------------------------------------------------------------------------------- gradients


@EACH
@pytest.mark.parametrize("training", [False, True])
def test_gradients_are_those_of_the_equation(kernel, training):
    layer = gated_layer(kernel=kernel, num_heads=2).train(training)
    other = copy.deepcopy(layer)
    lengths, weights = torch.tensor([21, 9]), torch.linspace(-1, 1, 21, dtype=F64)
    results = []
    x = torch.randn(2, 6, 21, dtype=F64, requires_grad=True)
    for one, y in ((layer, layer(x, lengths)), (other, expected_of(other, x, lengths))):
        loss = (y * weights).square().sum()
        results.append(torch.autograd.grad(loss, (x, *one.parameters())))
    for got, expected in zip(*results, strict=True):
        assert_close(got, expected)
    assert results[0][0].abs().sum() > 0


def test_gradcheck():
    layer = gated_layer(2, 8, kernel="dilated").train()
    x = torch.randn(2, 2, 5, dtype=F64, requires_grad=True)

    def mix(x, *parameters):
        return layer(x, torch.tensor([5, 2]))

    assert torch.autograd.gradcheck(mix, (x, *layer.parameters()))


def test_gates_train_from_their_start():
    layer = GatedMRConv(6, 16, kernel_size=4, num_heads=2)
    layer(torch.randn(2, 6, 20)).square().sum().backward()
    assert (layer.gate.weight.grad != 0).all()
    assert (layer.gate.bias.grad != 0).all()


# ----------------------------------------------------------------------------------- precision


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(dtype):
    layer = gated_layer(dtype=torch.float32).to(dtype)
    assert layer.running_mean.dtype == layer.running_var.dtype == torch.float32
    x = torch.randn(2, 6, 30).to(dtype)
    y = layer(x)
    assert y.dtype == dtype
    assert_close(y, expected_of(layer, x), TOLERANCES[dtype])


def test_autocast():
    layer, x = gated_layer(dtype=torch.float32), torch.randn(2, 6, 30)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y, low = layer(x), layer(x.bfloat16())
    assert (y.dtype, low.dtype) == (torch.float32, torch.bfloat16)
    assert_close(y, expected_of(layer, x), 1e-5)
    assert_close(low, expected_of(layer, x), 2e-2)


def test_copies_and_meta_device():
    layer, x = gated_layer(), torch.randn(2, 6, 9, dtype=F64)
    assert torch.equal(copy.deepcopy(layer)(x), layer(x))
    meta = GatedMRConv(6, 16, kernel_size=4, num_heads=2, device="meta")
    assert meta(torch.empty(2, 6, 9, device="meta")).shape == (2, 6, 9)
    real = meta.to_empty(device="cpu")
    real.reset_parameters()
    real.eval()
    assert_close(real(x.float()), expected_of(real, x), 1e-5)


# ------------------------------------------------------------------------------ other forms


REASON = "gains must not depend on the input, because those of one convolution do not; got gates in"


def test_it_does_not_merge(says):
    layer = gated_layer()
    keep = "Keep the branches, and stream the model exactly with mrconv.Streamer(model)."
    with says(MergeError, f"reparameterize: {REASON} GatedMRConv. {keep}"):
        layer.reparameterize()
    with says(MergeError, f"merge: {REASON} GatedMRConv. {keep}"):
        mrconv.merge(layer)
    block = mrconv.nn.ResidualBlock(layer, 6, dtype=F64).eval()
    model = torch.nn.Sequential(settled(MRConv(6, 16, dtype=F64)), block).eval()
    for form in ("merged", "recurrence"):
        with says(MergeError, f"merge: {REASON} 1.mixer. {keep}"):
            mrconv.merge(model, form=form)


def test_it_is_not_distilled(says):
    model = torch.nn.Sequential(
        settled(MRConv(6, 16, kernel_size=4, kernel="modal", dtype=F64)), gated_layer()
    ).eval()
    with says(
        MergeError,
        f"distill: {REASON} 1. Keep such layers with on_failure='exact', and stream the model "
        "exactly with mrconv.Streamer(model).",
    ):
        mrconv.distill(model, order=4)
    small, report = mrconv.distill(model, order=4, fir_head=8, on_failure="exact")
    assert [layer.name for layer in report.layers] == ["0"]
    assert [type(layer).__name__ for layer in small] == ["ModalRecurrence", "GatedMRConv"]
    x = torch.randn(1, 6, 20, dtype=F64)
    assert torch.equal(small[1](x), model[1](x))


def test_two_sided_layers_do_not_stream(says):
    with says(
        MergeError,
        "Streamer: every layer must be causal, because a stream has no future; got causal=False. "
        "Build the model with causal=True.",
    ):
        mrconv.Streamer(gated_layer(causal=False))


def test_its_stream_has_the_rate_of_training(says):
    with says(
        ArgumentError,
        "Streamer: rate must be 1, because a layer of GatedMRConv works at the rate it was trained "
        "at; got rate=2. Resample the stream to that rate with mrconv.streaming.Resampler.",
    ):
        mrconv.Streamer(gated_layer(), rate=2)


def test_cost_of_a_stream():
    layer = gated_layer(kernel="dilated", num_heads=2)
    explained = mrconv.Streamer(layer).explain()
    (line,) = explained.rows
    assert line.method == "gates of 3 x gather, 4 taps"
    # taps, bias and skip of each branch, then gates and their products
    assert line.operations == 3 * (2 * 6 * 4 + 2 * 6) + 2 * 3 * 2 * 6 + 2 * 6 * 3
    assert line.merged is None


# -------------------------------------------------------------------------------------- errors


def test_repr():
    text = repr(GatedMRConv(6, 16, kernel_size=4, num_heads=2))
    assert text.startswith("GatedMRConv(\n  6, length=16, kernel_size=4, kernel='fourier', ")
    assert "(gate): ResolutionGates(6, resolutions=3, num_heads=2)" in text


def test_errors(says):
    with says(
        ArgumentError,
        "GatedMRConv: num_heads must divide channels=6; got num_heads=4. Use num_heads=3.",
    ):
        GatedMRConv(6, 16, num_heads=4)
    with says(
        ArgumentError,
        "GatedMRConv: kernel_size must be at most length; got kernel_size=16, length=8. "
        "Lower kernel_size or pass a longer length.",
    ):
        GatedMRConv(6, 8)
    with says(
        ArgumentError,
        "GatedMRConv: norm must be mergeable into the kernel; got 'layer', whose statistics change "
        "with every input. Use norm='batch', and LayerNorm in the block if you need it.",
    ):
        GatedMRConv(6, 16, norm="layer")
    layer = gated_layer()
    with says(
        ShapeError,
        "GatedMRConv: input must be (batch, 6, length); got (2, 8, 6). "
        "Did you mean x.transpose(1, 2)?",
    ):
        layer(torch.zeros(2, 8, 6, dtype=F64))
    with says(
        DtypeError,
        "GatedMRConv: input must have the dtype of the parameters, torch.float64; got "
        "torch.float32. Convert the input with x.to(torch.float64) or the layer with "
        "layer.to(torch.float32).",
    ):
        layer(torch.zeros(2, 6, 8))
    layer.train()
    with says(
        ArgumentError,
        "GatedMRConv: training needs at least 2 valid samples over batch and time; got 1. "
        "Pass a longer batch, or call .eval() first.",
    ):
        layer(torch.zeros(1, 6, 1, dtype=F64))
