"""Pruning against what the layers themselves do on the data."""

import json

import pytest
import torch

import mrconv
from mrconv.data import Examples
from mrconv.errors import ArgumentError, MergeError
from mrconv.testing import assert_close, settled

F64 = torch.float64


@torch.no_grad()
def make_model(*, gains=(1.0, 0.05, 0.5, 0.02), **settings):
    """Two layers of four resolutions (8, 16, 32, 64) that weigh them as told."""
    torch.manual_seed(1)
    options = {"kernel": "dilated", "kernel_size": 8, **settings}
    backbone = mrconv.SequenceBackbone(1, 64, channels=6, depth=2, mixer=options, dtype=F64)
    model = mrconv.SequenceClassifier(backbone, 3, dtype=F64)
    for module in model.modules():
        if isinstance(module, mrconv.MRConv):
            settled(module)
            module.gain.copy_(torch.tensor(gains, dtype=F64)[:, None].expand_as(module.gain))
            module.shift.normal_()
    model.head.weight *= 20
    return model.eval()


def make_data(ragged=False):
    draw = torch.Generator().manual_seed(2)
    x = torch.randn(12, 80, 1, generator=draw, dtype=F64) + 0.7
    lengths = torch.arange(12) * 5 + 20 if ragged else None
    if ragged:
        x[torch.arange(80) >= lengths[:, None]] = float("nan")
    return Examples(x, torch.arange(12) % 3, lengths)


def met_by_layers(model, data):
    """Input and lengths of every MRConv, and its name."""
    met = {}
    hooks = [
        module.register_forward_hook(lambda one, given, y, name=name: met.update({name: given}))
        for name, module in model.named_modules()
        if isinstance(module, mrconv.MRConv)
    ]
    with torch.no_grad():
        model(data.x, data.lengths)
    for hook in hooks:
        hook.remove()
    return met


def valid_rows(y, lengths):
    """(B, D, L) as (valid samples, D)."""
    rows = y.transpose(1, 2)
    if lengths is None:
        return rows.flatten(0, 1)
    return torch.cat([row[:n] for row, n in zip(rows, lengths.tolist(), strict=True)])


@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("settings", [{}, {"causal": False}, {"skip": False}, {"norm": "none"}])
@pytest.mark.parametrize("tolerance", [1e-12, 0.03, 0.4, 0.999])
def test_power_and_mean_of_every_layer(settings, ragged, tolerance):
    model, data = make_model(**settings), make_data(ragged)
    small, report = mrconv.prune(model, data, tolerance, batch_size=5)
    for layer in report.layers:
        x, lengths = met_by_layers(model, data)[layer.name]
        with torch.no_grad():
            old = valid_rows(model.get_submodule(layer.name)(x, lengths), lengths)
            new = valid_rows(small.get_submodule(layer.name)(x, lengths), lengths)
        assert_close(new.mean(0), old.mean(0), 1e-9)
        power = (new - old).square().mean(0).sum() / old.var(0, unbiased=False).sum()
        assert float(power) == pytest.approx(layer.dropped_power, rel=1e-6, abs=1e-12)
        assert layer.dropped_power <= tolerance
        assert small.get_submodule(layer.name).spans == list(layer.kept)


def test_the_weak_go_and_the_tolerance_decides():
    model, data = make_model(), make_data()
    kept = [mrconv.prune(model, data, one)[1].layers[0].kept for one in (0, 1e-3, 0.01, 0.5, 0.99)]
    assert kept[0] == (8, 16, 32, 64)
    assert kept[1] == (8, 16, 32)
    assert kept[2] == (8, 32)
    assert [len(one) for one in kept] == sorted((len(one) for one in kept), reverse=True)
    assert all(one for one in kept)


def test_resolutions_go_one_by_one_so_that_a_strong_pair_that_cancels_stays():
    # two equal branches of opposite gain: each alone is strong, together they are nothing
    model = make_model(kernel="dense", gains=(1.0, 1.0, 0.5, 0.5))
    layer = model.backbone.blocks[0].mixer
    with torch.no_grad():
        layer.kernels[1].weight.zero_()
        layer.kernels[1].weight[:, :8] = layer.kernels[0].taps()
        for row in (layer.running_mean, layer.running_var):
            row[1] = row[0]
        layer.gain[1] = -layer.gain[0]
    _, report = mrconv.prune(model, make_data(), 1e-9)
    assert report.layers[0].shares[0] == pytest.approx(report.layers[0].shares[1])
    assert report.layers[0].shares[0] > 0.1
    assert report.layers[0].kept == (8, 16, 32, 64)  # one at a time they cost too much


def test_on_training_statistics_power_is_squared_gain_and_the_mean_is_the_shift():
    model, data = make_model(gains=(1.0, 0.3, 0.5, 0.2)), make_data()
    layer = model.backbone.blocks[0].mixer
    x, _ = met_by_layers(model, data)["backbone.blocks.0.mixer"]
    layer.norm = mrconv.BranchNorm(momentum=1.0)
    layer.train()(x)
    layer.eval()
    count = x.shape[0] * x.shape[2]
    layer.running_var *= (count - 1) / count  # torch's running variance is the unbiased one
    small, report = mrconv.prune(model, data, 0.05)
    shares = torch.tensor(report.layers[0].shares, dtype=F64)
    squares = layer.gain.square() * layer.running_var / (layer.running_var + layer.norm.eps)
    squares = squares.sum(1).detach()
    assert_close(shares / shares[0], squares / squares[0], 1e-9)
    dropped = [i for i, span in enumerate(layer.spans) if span not in report.layers[0].kept]
    assert dropped
    moved = small.backbone.blocks[0].mixer.shift[0] - layer.shift[0]
    assert_close(moved.detach(), layer.shift[dropped].sum(0).detach(), 1e-9)


def test_what_is_reported():
    model, data = make_model(), make_data()
    model.metrics, model.made = {"test_accuracy": 0.5}, ({"step": "train"},)
    small, report = mrconv.prune(model, data, 0.01)
    for one, told in ((model, report.before), (small, report.after)):
        accuracy = float((one.predict(data.x) == data.y).double().mean())
        assert told.metric == pytest.approx(accuracy)
        assert told.state_bytes == mrconv.Streamer(one).init_state(1).nbytes
        assert told.taps == sum(block.mixer.num_taps for block in one.backbone.blocks)
    assert (report.before.taps, report.after.taps) == (128, 64)
    assert report.after.state_bytes < report.before.state_bytes
    assert report.metric == "accuracy"
    names = [f"backbone.blocks.{i}.mixer" for i in (0, 1)]
    assert small.made[1] == {
        "step": "prune",
        "tolerance": 0.01,
        "kept": {name: [8, 32] for name in names},
    }
    assert small.metrics == {"original_test_accuracy": 0.5}
    lines = str(report).splitlines()
    assert lines[0].startswith("backbone.blocks.0.mixer: keeps 8, 32 of 8, 16, 32, 64, power dr")
    assert lines[2] == "taps: 128 before, 64 after"
    assert lines[4].startswith("accuracy: 0.")
    assert json.loads(json.dumps(report.as_dict()))["after"]["taps"] == 64


def test_a_pruned_model_is_saved_merged_streamed_and_pruned_again(tmp_path):
    model, data = make_model(), make_data()
    small, _ = mrconv.prune(model, data, 0.01)
    assert mrconv.verify(small).holds
    loaded = mrconv.load(small.save_pretrained(tmp_path / "pruned"))
    config = json.loads((tmp_path / "pruned" / "config.json").read_text())
    assert config["form"] == "branches"
    assert config["layers"] == {
        f"backbone.blocks.{i}.mixer": {"resolutions": [0, 2]} for i in (0, 1)
    }
    assert mrconv.verify(small, loaded).holds
    merged = mrconv.merge(loaded)
    again = mrconv.load(merged.save_pretrained(tmp_path / "merged"))
    assert again.backbone.blocks[0].mixer.num_taps == 32
    assert_close(again(data.x), small(data.x))
    tiny, report = mrconv.prune(loaded, data, 0.9)
    assert report.layers[0].spans == (8, 32)
    assert_close(mrconv.load(tiny.save_pretrained(tmp_path / "tiny"))(data.x), tiny(data.x))
    loaded.train()(data.x).sum().backward()
    assert all(parameter.grad is not None for parameter in loaded.parameters())


def test_two_sided_models_have_no_stream():
    _, report = mrconv.prune(make_model(causal=False), make_data(), 0.01)
    assert (report.before.state_bytes, report.after.state_bytes) == (None, None)


def test_what_cannot_be_pruned(says):
    model, data = make_model(), make_data()
    with says(
        MergeError,
        "prune: BatchNorm statistics are still changing (training mode); got training=True. "
        "Call model.eval() first.",
    ):
        mrconv.prune(make_model().train(), data, 0.01)
    with says(
        MergeError,
        "prune: the model must have layers with branches; got none, so it is merged or has other "
        "layers. Prune before merging.",
    ):
        mrconv.prune(mrconv.merge(model), data, 0.01)
    for wrong in (-0.1, 1.0, float("nan")):
        with says(
            ArgumentError,
            "prune: tolerance must be at least 0 and below 1, a share of the output power; "
            f"got {wrong}. Pass tolerance=0.01.",
        ):
            mrconv.prune(model, data, wrong)
    backbone = mrconv.SequenceBackbone(1, 64, channels=4, depth=1, mixer={"combine": "concat"})
    with says(
        ArgumentError,
        "prune: layers must sum their resolutions, because pieces laid end to end share one norm; "
        "got combine='concat' in backbone.blocks.0.mixer. Merge the model instead.",
    ):
        mrconv.prune(mrconv.SequenceClassifier(backbone, 3).eval(), data, 0.01)
    with says(ArgumentError, "evaluate: examples must not be empty; got 0. Use another split."):
        mrconv.prune(model, Examples(data.x[:0], data.y[:0]), 0.01)
