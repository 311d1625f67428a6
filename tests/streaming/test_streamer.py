"""Streamer: what it refuses, what it says, rates, dtypes, and rows."""

import pytest
import torch
from torch import nn

import mrconv
from mrconv.errors import ArgumentError, DtypeError, MergeError, ShapeError
from mrconv.streaming import State, Stepper, make_stepper
from mrconv.testing import assert_close, direct_convolution, layer_output, settled

F64 = torch.float64


def whole(module, x, **settings):
    stream = mrconv.Streamer(module, **settings)
    return stream.chunk(x, stream.init_state(len(x)))[0]


# ---------------------------------------------------------------------------------------- oracles


@pytest.mark.parametrize("kernel", ["fourier", "dilated", "sparse", "dense", "fourier+sparse"])
def test_against_the_direct_sum(kernel):
    layer = settled(mrconv.MRConv(3, 64, kernel_size=4, kernel=kernel, dtype=F64))
    x = torch.randn(2, 3, 150, dtype=F64)
    assert_close(whole(layer, x), layer_output(layer, x), 1e-12)


@pytest.mark.parametrize("rate", [2, 4])
@pytest.mark.parametrize("combine", ["sum", "concat"])
def test_rate(rate, combine):
    layer = settled(mrconv.MRConv(2, 64, kernel_size=8, combine=combine, dtype=F64))
    x = torch.randn(1, 2, 90, dtype=F64)
    expected = layer(x, rate=rate)
    assert_close(whole(layer, x, rate=rate), expected, 1e-12)
    assert_close(whole(mrconv.merge(layer, rate=rate), x), expected, 1e-12)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(dtype):
    """The memory is float32, outputs have the input's dtype."""
    layer = settled(mrconv.MRConv(3, 32, kernel_size=4)).to(dtype)
    x = torch.randn(2, 3, 60).to(dtype)
    y = whole(layer, x)
    assert y.dtype == dtype
    assert_close(y, layer(x))


def test_nan_behind_a_rows_length_is_not_read():
    layer = mrconv.LongConv(2, 600).eval()
    stream, x = mrconv.Streamer(layer), torch.full((1, 2, 9), float("nan"))
    x[:, :, :4] = 1.0
    y, state = stream.chunk(x, stream.init_state(1), torch.tensor([4]))
    assert_close(y[..., :4], layer(x[..., :4]), 2e-6)
    assert (y[..., 4:] == 0).all()
    assert all(tensor.isfinite().all() for _, tensor in state.named_tensors())


def test_a_bias_is_there_from_the_first_sample():
    layer = settled(mrconv.MRConv(2, 16, kernel_size=4, kernel="dilated"))
    stream = mrconv.Streamer(layer)
    y, _ = stream.step(torch.zeros(1, 2), stream.init_state(1))
    torch.testing.assert_close(y[0], layer.factors()[1])


def test_rows_may_be_none():
    stream = mrconv.Streamer(mrconv.MRConv(2, 16, kernel_size=4).eval())
    y, state = stream.chunk(torch.zeros(0, 2, 5), stream.init_state(0))
    assert y.shape == (0, 2, 5)
    assert stream.step(torch.zeros(0, 2), state)[0].shape == (0, 2)


def test_branches_with_many_few_taps_become_one_dense_kernel():
    layer = settled(
        mrconv.MRConv(2, 800, kernel_size=100, kernel="dense", combine="concat", dtype=F64)
    )
    stream = mrconv.Streamer(layer)
    assert [row.method for row in stream.explain().rows] == ["relaxed tiling, 800 taps"]
    x = torch.randn(1, 2, 900, dtype=F64)
    assert_close(whole(layer, x), layer(x), 1e-12)


# ---------------------------------------------------------------------------------- your own module


class Difference(nn.Module):
    """y[t] = x[t] - x[t - 1], known to no table."""

    def forward(self, x):
        return x.diff(dim=-1, prepend=torch.zeros_like(x[..., :1]))


class DifferenceStepper(Stepper):
    time_axis = 2

    def init_state(self, batch_size):
        return State({"last": torch.zeros(batch_size, 2, dtype=F64)})

    def step(self, x, state):
        return x - state.tensors["last"], State({"last": x.clone()})

    def chunk(self, x, state, lengths=None):
        whole = torch.cat([state.tensors["last"][..., None], x], -1)
        return whole.diff(dim=-1), State({"last": whole[..., -1]})


def test_a_module_without_a_stepper(says):
    sentence = (
        "Streamer: every module must have a stepper; got Bilinear. Register one with "
        "mrconv.streaming.make_stepper.register(Bilinear, lambda module, settings: "
        "YourStepper(module))."
    )
    with says(MergeError, sentence):
        mrconv.Streamer(nn.Sequential(nn.Identity(), nn.Bilinear(2, 2, 2)).eval())


def test_a_module_of_ones_own_is_registered():
    with pytest.raises(MergeError, match="got Difference"):
        mrconv.Streamer(Difference().eval())
    make_stepper.register(Difference, lambda module, settings: DifferenceStepper())
    module = nn.Sequential(Difference(), mrconv.LongConv(2, 5, dtype=F64)).eval()
    stream, x = mrconv.Streamer(module), torch.randn(1, 2, 12, dtype=F64)
    y, state = stream.chunk(x[..., :7], stream.init_state(1))
    rest = []
    for t in range(7, 12):
        sample, state = stream.step(x[..., t], state)
        rest.append(sample)
    assert_close(torch.cat([y, torch.stack(rest, -1)], -1), module(x), 1e-12)


# ----------------------------------------------------------------------------------------- refusals


def test_two_sided_layers(says):
    sentence = (
        "Streamer: every layer must be causal, because a stream has no future; got causal=False. "
        "Build the model with causal=True."
    )
    for layer in (
        mrconv.MRConv(2, 16, causal=False),
        mrconv.LongConv(2, 16, causal=False),
        mrconv.nn.KernelConv(2, 16, causal=False),
        nn.Conv1d(2, 2, 5, padding=2, groups=2),
    ):
        with says(MergeError, sentence):
            mrconv.Streamer(layer.eval())


def test_training_mode_of_one_part(says):
    block = mrconv.nn.ResidualBlock(mrconv.MRConv(2, 16), 2).eval()
    block.norm.train()
    sentence = (
        "Streamer: BatchNorm statistics are still changing (training mode); got training=True. "
        "Call model.eval() first."
    )
    with says(MergeError, sentence):
        mrconv.Streamer(block)


def test_pairs(says):
    backbone = mrconv.SequenceBackbone(1, 16, channels=4, depth=1)
    sentence = (
        "Streamer: a classifier must take one sequence; got pair=True. "
        "Stream its backbone over each of the two."
    )
    with says(MergeError, sentence):
        mrconv.Streamer(mrconv.SequenceClassifier(backbone, 2, pair=True).eval())


def test_a_rate_of_fixed_taps(says):
    for name, layer in (
        ("LongConv", mrconv.LongConv(2, 16)),
        ("Conv1d", nn.Conv1d(2, 2, 3, groups=2)),
    ):
        sentence = (
            f"Streamer: rate must be 1, because the taps of a {name} are fixed; got rate=2. "
            "Stream the model of branches, or merge it with rate=2 first."
        )
        with says(ArgumentError, sentence):
            mrconv.Streamer(layer.eval(), rate=2)


def test_a_rate_of_kernels_that_are_not_band_limited():
    with pytest.raises(ArgumentError, match="DilatedKernel: rate must be 1"):
        mrconv.Streamer(mrconv.MRConv(2, 16, kernel="dilated").eval(), rate=2)


def test_a_window_without_pooling(says):
    sentence = (
        "Streamer: window must be None, because a LongConv does not pool; got window=5. "
        "Leave it out."
    )
    with says(ArgumentError, sentence):
        mrconv.Streamer(mrconv.LongConv(2, 16).eval(), window=5)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"window": 0}, "Streamer: window must be at least 1; got window=0. Pass a larger window."),
        ({"rate": 0}, "Streamer: rate must be at least 1; got rate=0. Pass a larger rate."),
        (
            {"dense": "tile"},
            "Streamer: dense must be one of 'tiled', 'partitioned', 'flat'; got 'tile'. "
            "Did you mean 'tiled'?",
        ),
    ],
)
def test_settings(says, settings, sentence):
    with says(ArgumentError, sentence):
        mrconv.Streamer(mrconv.LongConv(2, 16).eval(), **settings)


def test_rows_and_axes_of_the_input(says):
    stream = mrconv.Streamer(mrconv.LongConv(2, 16).eval())
    state = stream.init_state(3)
    for verb, call, shape in (("step", stream.step, (2, 2)), ("chunk", stream.chunk, (1, 2, 5))):
        sentence = (
            f"{verb}: input must have one row for each of the state's 3; got {shape}. "
            "Pass all rows, or take some with state.rows(index)."
        )
        with says(ShapeError, sentence):
            call(torch.zeros(shape), state)
    sentence = (
        "chunk: input must have time on axis 2; got (3, 2). "
        "Use step for one sample without a time axis."
    )
    with says(ShapeError, sentence):
        stream.chunk(torch.zeros(3, 2), state)
    assert stream.init_state(0).num_rows == 0


def test_lengths_beyond_the_chunk():
    stream = mrconv.Streamer(mrconv.LongConv(2, 16).eval())
    with pytest.raises(ArgumentError, match="chunk: lengths must lie between 0 and the input's"):
        stream.chunk(torch.zeros(1, 2, 4), stream.init_state(1), torch.tensor([5]))


# ------------------------------------------------------------------------------------------ explain


def test_explanation():
    layer = mrconv.MRConv(64, 1024, kernel_size=16, kernel="dilated").eval()
    explanation = mrconv.Streamer(layer).explain()
    (row,) = explanation.rows
    lags = len({q << i for i in range(7) for q in range(16)})
    assert row.method == f"gather, {lags} taps"
    assert row.operations == 2 * 64 * (lags + 1)
    assert row.merged > row.operations == explanation.operations
    lines = str(explanation).splitlines()
    assert lines[0].split() == [
        "place",
        "method",
        "operations",
        "a",
        "sample",
        "merged",
        "state",
        "bytes",
    ]
    assert lines[1].startswith(f"layer  gather, {lags} taps")
    assert lines[2].startswith("total")
    assert lines[3] == "Streaming the branches is cheaper in 1 layer."


def test_explanation_of_a_model():
    mixer = [{"kernel": "fourier"}, {"name": "long_conv"}]
    backbone = mrconv.SequenceBackbone(1, 512, channels=4, depth=2, mixer=mixer)
    rows = mrconv.Streamer(mrconv.SequenceLabeller(backbone, 2).eval()).explain().rows
    assert [row.place for row in rows] == ["backbone.blocks.0.mixer", "backbone.blocks.1.mixer"]
    assert rows[0].method == "sliding DFT, 6 windows of 9 modes"
    assert rows[1].method == "relaxed tiling, 512 taps"
    assert rows[1].merged is None


def test_repr():
    stream = mrconv.Streamer(mrconv.LongConv(2, 16).eval(), dense="flat")
    settings = "Settings(window=None, rate=1, dense='flat', capacity=None)"
    assert repr(stream) == f"Streamer(LongConv, {settings})"


def test_direct_sum_of_a_depthwise_conv1d():
    conv = nn.Conv1d(3, 3, 4, padding=3, groups=3, dtype=F64).eval()
    x = torch.randn(1, 3, 20, dtype=F64)
    expected = direct_convolution(x, conv.weight[:, 0].flip(-1)) + conv.bias[:, None]
    assert_close(whole(conv, x), expected, 1e-12)


def test_channels_and_dtype_of_a_layer(says):
    stream = mrconv.Streamer(mrconv.LongConv(2, 16).eval())
    start = "Streamer: samples of a layer must be (batch, 2), and chunks (batch, 2, samples); "
    with says(ShapeError, start + "got (1, 3). Pass one value a channel."):
        stream.step(torch.zeros(1, 3), stream.init_state(1))
    with says(ShapeError, start + "got (1, 7, 2). Did you mean x.transpose(1, 2)?"):
        stream.chunk(torch.zeros(1, 7, 2), stream.init_state(1))
    sentence = (
        "Streamer: samples must have the dtype of the parameters, torch.float32; "
        "got torch.float64. Convert them with x.to(torch.float32)."
    )
    with says(DtypeError, sentence):
        stream.step(torch.zeros(1, 2, dtype=F64), stream.init_state(1))


def test_samples_of_a_model():
    model = mrconv.SequenceBackbone(3, 16, channels=4, depth=1).eval()
    stream = mrconv.Streamer(model)
    with pytest.raises(ShapeError, match=r"SequenceBackbone: input must be \(batch, length, 3\)"):
        stream.chunk(torch.zeros(1, 5, 2), stream.init_state(1))
    tokens = mrconv.SequenceBackbone(3, 16, channels=4, depth=1, tokens=True).eval()
    stream = mrconv.Streamer(tokens)
    with pytest.raises(ArgumentError, match="SequenceBackbone: tokens must lie between 0 and 2"):
        stream.step(torch.tensor([3]), stream.init_state(1))
