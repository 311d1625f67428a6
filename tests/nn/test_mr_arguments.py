"""The arguments of MRConv: what they mean, and what is refused word for word."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import mrconv
from mrconv.errors import ArgumentError, DtypeError, ShapeError
from mrconv.kernels import DenseKernel
from mrconv.nn import num_resolutions

# notes of the published models: length, then R for kernel sizes 1, 2, 4, 8, 16, 32
TABLE = {
    1024: [11, 10, 9, 8, 7, 6],
    2000: [11, 10, 9, 8, 7, 6],
    4000: [12, 11, 10, 9, 8, 7],
    4096: [13, 12, 11, 10, 9, 8],
    16000: [14, 13, 12, 11, 10, 9],
    16384: [15, 14, 13, 12, 11, 10],
}


@pytest.mark.parametrize("length", TABLE)
def test_published_numbers_of_resolutions(length):
    assert [num_resolutions(length, 2**i) for i in range(6)] == TABLE[length]


@given(st.integers(1, 50), st.integers(0, 2000))
def test_the_longest_kernel_fits_and_the_next_does_not(kernel_size, more):
    length = kernel_size + more
    resolutions = num_resolutions(length, kernel_size)
    assert kernel_size * 2 ** (resolutions - 1) <= length < kernel_size * 2**resolutions


@pytest.mark.parametrize("kernel_size", [1, 2, 4, 8])
def test_a_layer_has_that_many(kernel_size):
    layer = mrconv.MRConv(1, 100, kernel_size=kernel_size, kernel="dilated")
    assert len(layer.kernels) == layer.resolutions == num_resolutions(100, kernel_size)


def test_defaults():
    layer = mrconv.MRConv(1, 100)
    assert (layer.kernel_size, layer.kernel, layer.causal) == (16, "fourier", True)
    assert (layer.combine, layer.gains, layer.norm) == ("sum", "learned", mrconv.BranchNorm())
    assert layer.skip is not None


@pytest.mark.parametrize("name", ["channels", "length", "kernel_size"])
def test_refuses_low_counts(says, name):
    arguments = {"channels": 2, "length": 24, "kernel_size": 4}
    with says(
        ArgumentError, f"MRConv: {name} must be at least 1; got {name}=0. Pass a larger {name}."
    ):
        mrconv.MRConv(**arguments | {name: 0})
    with says(
        DtypeError,
        f"MRConv: {name} must be a whole number; got 2.5. Pass an int of at least 1.",
    ):
        mrconv.MRConv(**arguments | {name: 2.5})


def test_refuses_a_kernel_size_above_the_length(says):
    with says(
        ArgumentError,
        "MRConv: kernel_size must be at most length; got kernel_size=2048, length=1000. "
        "Lower kernel_size or pass a longer length.",
    ):
        mrconv.MRConv(2, 1000, kernel_size=2048)


@pytest.mark.parametrize(
    ("name", "value", "choices", "hint"),
    [
        ("combine", "add", "'sum', 'concat'", "Known: concat, sum."),
        ("combine", "concatt", "'sum', 'concat'", "Did you mean 'concat'?"),
        ("gains", "learn", "'learned', 'fixed'", "Did you mean 'learned'?"),
        ("norm", "btach", "'batch', 'constant', 'none'", "Did you mean 'batch'?"),
        ("norm", None, "'batch', 'constant', 'none'", "Did you mean 'none'?"),
    ],
)
def test_refuses_unknown_words(says, name, value, choices, hint):
    got = repr(value)
    with says(ArgumentError, f"MRConv: {name} must be one of {choices}; got {got}. {hint}"):
        mrconv.MRConv(2, 24, kernel_size=4, **{name: value})


def test_refuses_layer_norm_and_says_why(says):
    with says(
        ArgumentError,
        "MRConv: norm must be mergeable into the kernel; got 'layer', whose statistics change "
        "with every input. Use norm='batch', and LayerNorm in the block if you need it.",
    ):
        mrconv.MRConv(2, 24, kernel_size=4, norm="layer")


def test_refuses_unknown_kernels(says):
    with says(
        ArgumentError,
        "kernel: must be one of 'dense', 'fourier', 'dilated', 'sparse', 'implicit', 'modal', or "
        "several joined by +; got 'furier'. Did you mean 'fourier'?",
    ):
        mrconv.MRConv(2, 24, kernel_size=4, kernel="furier")


def test_refuses_what_is_no_kernel_or_has_another_span(says):
    def wrong(channels, kernel_size, resolution, **factory):
        return DenseKernel(channels, kernel_size, 0)

    sentence = (
        "MRConv: kernel must make a mrconv.kernels.Kernel of span {} at resolution {}; got {}. "
        "Pass the three sizes on to Kernel.__init__."
    )
    got = "DenseKernel(channels=2, kernel_size=4, span=4)"
    with says(DtypeError, sentence.format(8, 1, got)):
        mrconv.MRConv(2, 24, kernel_size=4, kernel=wrong)
    with says(DtypeError, sentence.format(4, 0, "'taps'")):
        mrconv.MRConv(2, 24, kernel_size=4, kernel=lambda *sizes, **factory: "taps")


def test_forward_refuses_wrong_input(says):
    layer = mrconv.MRConv(3, 24, kernel_size=4)
    x = torch.randn(2, 3, 10)
    with says(
        ShapeError,
        "MRConv: input must be (batch, 3, length); got (2, 10, 3). Did you mean x.transpose(1, 2)?",
    ):
        layer(x.transpose(1, 2))
    with says(
        ShapeError,
        "MRConv: input must be (batch, 3, length); got (3, 10). "
        "Pass a tensor of (batch, channels, length).",
    ):
        layer(x[0])
    with says(
        DtypeError,
        "MRConv: input must have the dtype of the parameters, torch.float32; got torch.float64. "
        "Convert the input with x.to(torch.float32) or the layer with layer.to(torch.float64).",
    ):
        layer(x.double())
    with says(
        ArgumentError,
        "MRConv: lengths must lie between 0 and the input's length 10; got 4 to 11. "
        "Pad the input on the right with mrconv.pad.",
    ):
        layer(x, torch.tensor([4, 11]))
    with says(
        ArgumentError,
        "long_convolution: method must be one of 'auto', 'fft', 'direct'; got 'slow'. "
        "Known: auto, direct, fft.",
    ):
        layer(x, method="slow")


@pytest.mark.parametrize(
    ("shape", "lengths", "count"),
    [((2, 3, 0), None, 0), ((1, 3, 1), None, 1), ((2, 3, 5), [1, 0], 1), ((0, 3, 5), None, 0)],
)
def test_training_refuses_fewer_than_two_samples(says, shape, lengths, count):
    layer = mrconv.MRConv(3, 24, kernel_size=4)
    lengths = None if lengths is None else torch.tensor(lengths)
    with says(
        ArgumentError,
        f"MRConv: training needs at least 2 valid samples over batch and time; got {count}. "
        "Pass a longer batch, or call .eval() first.",
    ):
        layer(torch.zeros(shape), lengths)
    assert int(layer.num_batches_tracked) == 0


def test_rate_is_for_eval_mode_and_band_limited_kernels(says):
    layer, x = mrconv.MRConv(3, 24, kernel_size=4), torch.randn(2, 3, 10)
    with says(ArgumentError, "MRConv: rate must be 1 in training; got rate=2. Call .eval() first."):
        layer(x, rate=2)
    dilated = mrconv.MRConv(3, 24, kernel_size=4, kernel="dilated").eval()
    with says(
        ArgumentError,
        "DilatedKernel: rate must be 1, because its taps are not band-limited; got rate=2. "
        "Use kernel='fourier', or resample the input to the training rate.",
    ):
        dilated(x, rate=2)
    odd = mrconv.MRConv(3, 24, kernel_size=5).eval()
    with says(
        ArgumentError,
        "FourierKernel: rate must divide the span of 5 taps at resolution 0; got rate=2. "
        "Choose a kernel_size divisible by 2.",
    ):
        odd(x, rate=2)


def test_contributions_are_for_eval_mode(says):
    layer = mrconv.MRConv(3, 24, kernel_size=4)
    with says(
        ArgumentError,
        "contributions: the layer must be in eval mode; got training=True. Call .eval() first.",
    ):
        layer.contributions(torch.randn(2, 3, 10))
    with says(
        ShapeError,
        "MRConv: input must be (batch, 3, length); got (2, 10, 3). Did you mean x.transpose(1, 2)?",
    ):
        layer.eval().contributions(torch.randn(2, 10, 3))
