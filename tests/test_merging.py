"""Merging of whole models."""

import copy

import pytest
import torch
from torch import nn

import mrconv
from mrconv import LongConv, MRConv, merge
from mrconv.errors import ArgumentError, MergeError
from mrconv.nn import ResidualBlock
from mrconv.testing import assert_close, settled


class Stack(nn.Module):
    def __init__(self, dtype=torch.float64, **settings):
        super().__init__()
        mixers = [
            settled(MRConv(4, 24, kernel_size=4, dtype=dtype, **settings), seed)
            for seed in range(3)
        ]
        self.blocks = nn.ModuleList(
            ResidualBlock(mixer, 4, dtype=dtype, pre_norm=bool(i % 2))
            for i, mixer in enumerate(mixers)
        )

    def forward(self, x, lengths=None):
        for block in self.blocks:
            x = block(x, lengths)
        return x


def trained(dtype=torch.float64, **settings):
    model = Stack(dtype, **settings)
    for _ in range(3):
        model(torch.randn(3, 4, 20, dtype=dtype))
    return model.eval()


def ragged(dtype=torch.float64):
    return torch.randn(3, 4, 20, dtype=dtype), torch.tensor([20, 7, 1])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("settings", [{}, {"causal": False}, {"combine": "concat"}])
def test_equal(dtype, settings):
    model = trained(dtype, **settings)
    merged = merge(model)
    x, lengths = ragged(dtype)
    assert_close(merged(x, lengths), model(x, lengths))
    assert all(type(block.mixer) is LongConv for block in merged.blocks)
    assert all(block.mixer.checked is not None for block in merged.blocks)


@pytest.mark.parametrize("causal", [True, False])
def test_a_model_of_many_kinds_of_layers(causal):
    mixers = [
        {"name": name, "causal": causal} for name in ("s4d", "sgconv", "attention", "long_conv")
    ]
    backbone = mrconv.SequenceBackbone(
        2, 20, channels=4, depth=5, mixer=[*mixers, {"kernel_size": 4}], dtype=torch.float64
    )
    model = mrconv.SequenceLabeller(backbone, 3, dtype=torch.float64).eval()
    merged = merge(model)
    kinds = [type(block.mixer).__name__ for block in merged.backbone.blocks]
    assert kinds == ["LongConv", "LongConv", "Attention", "LongConv", "LongConv"]
    x, lengths = torch.randn(3, 30, 2, dtype=torch.float64), torch.tensor([30, 7, 0])
    assert_close(merged(x, lengths), model(x, lengths))
    proof = mrconv.verify(model)
    assert proof.holds
    places = [f"backbone.blocks.{i}.mixer" for i in (0, 1, 3, 4)]
    in_whole = [row for row in proof.rows if not row.forms[1].endswith(" streamed")]
    assert [row.place for row in in_whole] == [*places, "features", "output"]


def test_the_model_stays_and_shares_nothing():
    model = trained()
    before = copy.deepcopy(model.state_dict())
    merged = merge(model)
    assert not {id(p) for p in model.parameters()} & {id(p) for p in merged.parameters()}
    with torch.no_grad():
        for parameter in merged.parameters():
            parameter.zero_()
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(type(block.mixer) is MRConv for block in model.blocks)


def test_merging_twice_changes_nothing():
    merged = merge(trained())
    again = merge(merged)
    assert repr(again) == repr(merged)
    for name, value in merged.state_dict().items():
        assert torch.equal(again.state_dict()[name], value)


def test_a_layer_becomes_a_layer():
    layer = settled(MRConv(4, 24, kernel_size=4, dtype=torch.float64))
    merged = merge(layer)
    assert type(merged) is LongConv
    assert torch.equal(merged.taps, layer.reparameterize().taps)


def test_a_shared_layer_stays_shared():
    layer = settled(MRConv(4, 24, kernel_size=4, dtype=torch.float64))
    model = nn.Sequential(layer, nn.GELU(), layer).eval()
    merged = merge(model)
    assert merged[0] is merged[2]
    x, _ = ragged()
    assert_close(merged(x), model(x))


def test_a_model_without_layers_is_copied():
    model = nn.Sequential(nn.Linear(2, 2)).eval()
    merged = merge(model)
    assert merged is not model
    assert torch.equal(merged[0].weight, model[0].weight)


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.AdamW])
def test_merged_models_train_on(optimizer):
    merged = merge(trained()).train()
    taps = [block.mixer.taps.detach().clone() for block in merged.blocks]
    x, lengths = ragged()
    target = torch.zeros_like(x)
    moved = optimizer(merged.parameters(), lr=1e-2)
    losses = []
    for _ in range(5):
        moved.zero_grad()
        loss = (merged(x, lengths) - target).square().mean()
        loss.backward()
        assert all(p.grad is not None for p in merged.parameters())
        moved.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0]
    for block, before in zip(merged.blocks, taps, strict=True):
        assert (block.mixer.taps != before).any()


def test_a_merged_model_reloads():
    model = trained()
    merged = merge(model)
    other = merge(Stack().eval())
    other.load_state_dict(merged.state_dict())
    x, lengths = ragged()
    assert torch.equal(other(x, lengths), merged(x, lengths))


def test_rate():
    model = settled(MRConv(4, 24, kernel_size=4, dtype=torch.float64))
    merged = merge(nn.Sequential(model).eval(), rate=2)
    x, _ = ragged()
    assert_close(merged(x), model(x, rate=2))
    assert merged[0].num_taps == 8


def test_average_models_merge():
    model = trained()
    average = torch.optim.swa_utils.AveragedModel(model).eval()
    x, lengths = ragged()
    assert_close(merge(average)(x, lengths), model(x, lengths))


def test_names_are_exported():
    assert mrconv.merge is merge


def test_errors(says):
    model = trained()
    with says(
        MergeError,
        "merge: BatchNorm statistics are still changing (training mode); got training=True. "
        "Call model.eval() first.",
    ):
        merge(model.train())
    for part in ("blocks.1", "blocks.0.norm"):
        model.eval().get_submodule(part).train()
        with says(
            MergeError,
            "merge: BatchNorm statistics are still changing (training mode); got training=True. "
            "Call model.eval() first.",
        ):
            merge(model)
    with says(
        MergeError,
        "reparameterize: form='recurrence' needs kernels that are sums of damped exponentials; "
        "got FourierKernel in MRConv. Train with kernel='modal', or use "
        "mrconv.distill(model, tolerance=1e-3).",
    ):
        merge(model.eval(), form="recurrence")
    with says(
        ArgumentError,
        "DenseKernel: rate must be 1, because its taps are not band-limited; got rate=2. "
        "Use kernel='fourier', or resample the input to the training rate.",
    ):
        merge(trained(kernel="dense"), rate=2)
