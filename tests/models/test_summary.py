"""What a model is made of, against counting and against perturbation."""

import functools
import math

import pytest
import torch

import mrconv
from mrconv.models.summary import LayerSummary, summarize
from mrconv.nn import GatedConv, MRBranches

CAUSAL = {"kernel": "dense", "kernel_size": 4}
TWO_SIDED = {"kernel": "dense", "kernel_size": 4, "causal": False}
SHAPES = [
    [CAUSAL, CAUSAL],
    [TWO_SIDED, TWO_SIDED],
    [CAUSAL, TWO_SIDED],
    [{"name": "long_conv"}, CAUSAL],
    [{"name": "long_conv", "causal": False}, {"kernel_size": 8, "kernel": "fourier"}],
    [{"combine": "concat", "kernel": "dense", "kernel_size": 2}, CAUSAL],
    [{"name": "s4d"}, {"name": "sgconv", "points": 4}],
    [{"name": "s4", "order": 4}, {"name": "multires", "causal": False}],
    [{"name": "ckconv"}, {"name": "dilated", "kernel_size": 3}],
    [{"name": "hyena", "kernel": "dense"}, {"name": "multihyena", "num_filters": 4}],
    [{"name": "sgconv", "points": 4, "causal": False}, {"name": "s4d", "causal": False}],
]


@pytest.fixture
def model_of(small_backbone, settle):
    def make(mixer, features=1, length=10):
        backbone = mrconv.SequenceBackbone(
            features, length, channels=8, depth=2, mixer=mixer, dtype=torch.float64
        )
        return settle(mrconv.SequenceLabeller(backbone, 3, dtype=torch.float64))

    return make


def samples_that_matter(model, length=101, at=50):
    """Input samples on which one output depends, by gradients in the direct mode."""
    for module in model.modules():
        if isinstance(module, (MRBranches, mrconv.nn.KernelConv, GatedConv, mrconv.LongConv)):
            module.forward = functools.partial(module.forward, method="direct")
    x = torch.randn(1, length, model.backbone.features, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(model(x)[0, at].sum(), x)
    return gradient[0].abs().sum(-1).nonzero().flatten()


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("mixer", SHAPES, ids=str)
def test_receptive_field(model_of, mixer, merged):
    model = mrconv.merge(model_of(mixer)) if merged else model_of(mixer)
    summary = summarize(model)
    matter = samples_that_matter(model)
    assert (summary.past, summary.future) == (50 - int(matter.min()), int(matter.max()) - 50)
    assert summary.receptive_field == int(matter.max()) - int(matter.min()) + 1


def test_receptive_field_by_hand(model_of):
    summary = summarize(model_of([CAUSAL, TWO_SIDED]))  # 8 taps each
    assert (summary.past, summary.future, summary.receptive_field) == (14, 8, 23)
    assert summary.length == 10


def test_layers(model_of):
    model = model_of([{"kernel": "fourier", "kernel_size": 2}, {"name": "long_conv"}])
    first, second = summarize(model).layers
    mixers = [block.mixer for block in model.backbone.blocks]
    assert first == LayerSummary(
        name="backbone.blocks.0.mixer",
        kind="MRConv",
        kernel="fourier",
        resolutions=3,
        num_taps=8,
        causal=True,
        # two coefficients of two numbers, gain and shift at 3 resolutions; the skip
        parameters=8 * (3 * (4 + 2) + 1),
        operations=first.operations,
    )
    assert first.parameters == sum(parameter.numel() for parameter in mixers[0].parameters())
    assert (second.kind, second.kernel, second.resolutions) == ("LongConv", "taps", None)
    assert (second.num_taps, second.parameters) == (10, 8 * 11)


def test_parameters(model_of):
    model = model_of(CAUSAL)
    assert summarize(model).parameters == sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize(
    ("length", "num_taps", "size"), [(100, 64, 192), (784, 512, 1536), (10, 10, 20)]
)
def test_operations(length, num_taps, size):
    mixer = {"name": "long_conv"} if length == num_taps else {"kernel_size": num_taps}
    backbone = mrconv.SequenceBackbone(1, length, channels=6, depth=3, mixer=mixer)
    summary = summarize(mrconv.SequenceClassifier(backbone, 2))
    fft = 2.5 * size * math.log2(size)
    convolution = 2 * fft + 6 * size / 2
    one = 6 * convolution + length * 2 * (2 * 6) * 6
    assert [layer.operations for layer in summary.layers] == pytest.approx([one] * 3)
    assert summary.operations == pytest.approx(3 * one)


@pytest.mark.parametrize("causal", [True, False])
def test_attention_sees_the_length_of_the_model(model_of, causal):
    model = model_of([{"name": "attention", "causal": causal}, {"kernel_size": 4}], length=10)
    first, _ = summarize(model).layers
    assert (first.kind, first.kernel, first.resolutions) == ("Attention", "softmax", None)
    assert (first.num_taps, first.causal, first.parameters) == (10, causal, 4 * 8**2)
    products = 4 * 8**2 * 10 + 2 * 8 * 10**2  # projections; scores and their weighted sum
    assert first.operations == 2 * products + 2 * (2 * 8) * 8 * 10
    summary = summarize(model)
    assert (summary.past, summary.future) == (9 + 7, 0 if causal else 9)
    last, head = samples_that_matter(model, 10, 9), samples_that_matter(model, 10, 0)
    assert last.tolist() == list(range(10))
    assert head.tolist() == ([0] if causal else list(range(10)))


def test_gated_branches(model_of):
    mixer = {"name": "gated_mrconv", "kernel": "dense", "kernel_size": 5, "num_heads": 4}
    model = model_of([mixer, CAUSAL])
    first, _ = summarize(model).layers
    assert (first.kind, first.kernel) == ("GatedMRConv", "dense")
    assert (first.resolutions, first.num_taps, first.causal) == (2, 10, True)
    # kernels, gains, shifts and skip; gates
    assert first.parameters == 8 * (5 + 10) + (2 + 2 + 1) * 8 + 2 * 4 * (8 + 1)
    ffts = [2 * 2.5 * n * math.log2(n) + 6 * n / 2 for n in (15, 20)]
    gates, pointwise = 2 * 2 * 4 * 8 * 10, 2 * (2 * 8) * 8 * 10
    assert first.operations == pytest.approx(8 * sum(ffts) + gates + pointwise)
    matter = samples_that_matter(model)
    assert summarize(model).past == 50 - int(matter.min())


def test_gated_layers(model_of):
    mixers = [
        {"name": "hyena", "kernel": "dense"},
        {"name": "multihyena", "num_filters": 4, "kernel": "dilated", "kernel_size": 5},
    ]
    model = model_of(mixers)
    first, second = summarize(model).layers
    assert (first.kind, first.kernel, first.resolutions) == (
        "Hyena",
        "8 filters, DenseKernel",
        None,
    )
    assert (second.kind, second.kernel) == ("MultiHyena", "4 filters, dilated")
    assert (second.resolutions, second.num_taps) == (2, 12)
    # projections, 3 taps of 24 channels, filters and skips
    assert first.parameters == 24 * 9 + 24 * 4 + 8 * 9 + 8 * 11
    projections, pointwise = 2 * 4 * 8**2 * 10, 2 * (2 * 8) * 8 * 10
    one = 2 * 2.5 * 20 * math.log2(20) + 6 * 20 / 2  # an FFT of 10 + 10 samples
    assert first.operations == pytest.approx(projections + 8 * one + pointwise)
    assert second.operations == pytest.approx(projections + 8 * 2 * one + pointwise)
    after = summarize(mrconv.merge(model))
    assert [layer.operations for layer in after.layers] == [first.operations, second.operations]
    assert after.past == 11 + 11


def test_layers_of_one_kernel(model_of):
    first, second = summarize(model_of([{"name": "s4d"}, {"name": "sgconv"}])).layers
    assert (first.kind, first.kernel, first.resolutions) == ("S4D", "S4DKernel", None)
    assert (second.kind, second.kernel) == ("SGConv", "InterpolatedKernel")
    assert (first.num_taps, second.num_taps) == (10, 10)
    assert (first.parameters, second.parameters) == (8 * (1 + 4 * 32 + 1), 8 * 11)


@pytest.mark.parametrize("mixer", [{"name": "s4d"}, {"name": "sgconv", "causal": False}])
def test_merging_layers_of_one_kernel_keeps_everything(model_of, mixer):
    model = model_of(mixer)
    before, after = summarize(model), summarize(mrconv.merge(model))
    assert (after.past, after.future) == (before.past, before.future)
    assert after.operations == before.operations
    assert [layer.kind for layer in after.layers] == ["LongConv", "LongConv"]


def test_merging_keeps_receptive_field_and_operations(model_of):
    model = model_of([CAUSAL, TWO_SIDED])
    before, after = summarize(model), summarize(mrconv.merge(model))
    assert (after.past, after.future) == (before.past, before.future)
    assert after.operations == before.operations
    assert [layer.kernel for layer in after.layers] == ["taps", "taps"]


def test_the_example_of_the_demo():
    model = mrconv.SequenceClassifier(mrconv.SequenceBackbone(1, 784), 10)
    summary = summarize(model)
    assert summary.past == 4 * 511
    assert summary.future == 0


def test_recurrences_are_counted():
    backbone = mrconv.SequenceBackbone(
        1, 64, channels=4, depth=2, mixer={"kernel": "modal", "kernel_size": 8}
    )
    model = mrconv.SequenceClassifier(backbone, 3).eval()
    ending, endless = mrconv.merge(model, form="recurrence"), mrconv.distill(model, order=4)[0]
    assert [layer.num_taps for layer in summarize(ending).layers] == [64, 64]
    assert summarize(ending).layers[0].kernel == "1 taps, 8 modes"
    first = summarize(endless).layers[0]
    assert (first.kind, first.num_taps) == ("ModalRecurrence", 64)
    assert first.kernel.startswith("32 taps, ")
