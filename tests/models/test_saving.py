"""A saved model gives the same bits when it is opened, and is whole or not there."""

import json
import os
import re
import stat
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open

import mrconv
from mrconv.data import InputContract
from mrconv.errors import ArgumentError, FileError
from mrconv.kernels import DenseKernel
from mrconv.models import saving

FORMS = pytest.mark.parametrize("form", ["branches", "merged"])
KERNELS = ["dense", "fourier", "dilated", "sparse", "implicit", "modal", "fourier+sparse"]
FILES = ["README.md", "config.json", "model.safetensors"]


def in_form(model, form):
    return mrconv.merge(model) if form == "merged" else model


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def assert_same(loaded, model, outputs):
    """Equal class, configuration, bits of every tensor, and bits of the outputs."""
    assert type(loaded) is type(model)
    assert not loaded.training
    assert saving.configuration(loaded) == saving.configuration(model)
    kept, found = model.state_dict(), loaded.state_dict()
    assert list(found) == list(kept)
    for name, tensor in kept.items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name], tensor)
        if name.endswith("coefficients"):
            # an FFT of complex float64 at another address ends the whole process
            assert found[name].data_ptr() % 16 == 0, f"{name} is not aligned"
    for one, two in zip(model.parameters(), loaded.parameters(), strict=True):
        assert one.requires_grad == two.requires_grad
    assert torch.equal(outputs(loaded), outputs(model))


@FORMS
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_every_head_in_every_form_and_precision(make_model, run, tmp_path, form, dtype):
    model = in_form(make_model().to(dtype), form)
    x, lengths = torch.randn(3, 40, 2).to(dtype), torch.tensor([40, 17, 1])
    loaded = mrconv.load(model.save_pretrained(tmp_path / "model"))
    assert_same(loaded, model, lambda one: run(one, x, lengths))
    running = {t.dtype for name, t in loaded.state_dict().items() if "running" in name}
    assert running == {torch.float64 if dtype == torch.float64 else torch.float32}


@FORMS
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel(small_backbone, settle, tmp_path, form, causal, kernel):
    mixer = {"kernel": kernel, "kernel_size": 4, "causal": causal}
    model = settle(mrconv.SequenceRegressor(small_backbone(mixer=mixer), dtype=torch.float64))
    model = in_form(model, form)
    x = torch.randn(2, 40, 2, dtype=torch.float64)
    assert_same(mrconv.load(model.save_pretrained(tmp_path)), model, lambda one: one(x))


@FORMS
@pytest.mark.parametrize(
    "settings",
    [
        {"mixer": {"combine": "concat", "gains": "fixed", "kernel_size": 4}},
        {"mixer": {"norm": "constant", "kernel_size": 4, "skip": False}},
        {"mixer": {"norm": "none", "kernel_size": 4}},
        {"mixer": {"norm": mrconv.BranchNorm(None, 1e-3), "kernel_size": 4}},
        {"mixer": [{"name": "long_conv", "bias": False}, {"kernel_size": 8}]},
        {"mixer": {"name": "long_conv", "causal": False}, "pre_norm": True, "norm": "layer"},
        {"mixer": {"name": "s4d", "order": 6, "skip": False}},
        {"mixer": {"name": "sgconv", "points": 4, "decay": 0.8, "causal": False}},
        {"mixer": [{"name": "attention", "num_heads": 2}, {"name": "s4d"}]},
        {"mixer": [{"name": "hyena"}, {"name": "multihyena", "num_filters": 4}]},
        {"mixer": {"name": "hyena", "kernel_size": 4, "norm": mrconv.BranchNorm(None, 1e-3)}},
        {"tokens": True, "features": 5},
    ],
    ids=str,
)
def test_every_setting(small_backbone, settle, tmp_path, form, settings):
    if form == "merged" and settings.get("mixer") == {"name": "long_conv", "causal": False}:
        pytest.skip("has no other form")
    model = settle(mrconv.SequenceLabeller(small_backbone(**settings), 3, dtype=torch.float64))
    model = in_form(model, form)
    x = torch.randn(2, 40, 2, dtype=torch.float64)
    x = torch.randint(5, (2, 40)) if model.backbone.tokens else x
    assert_same(mrconv.load(model.save_pretrained(tmp_path)), model, lambda one: one(x))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_recurrences(small_backbone, settle, tmp_path, dtype):
    mixer = [{"kernel": "modal", "kernel_size": 4}, {"name": "s4d", "order": 6, "skip": False}]
    model = settle(mrconv.SequenceRegressor(small_backbone(mixer=mixer), dtype=torch.float64))
    model = model.to(dtype)
    x = torch.randn(2, 40, 2).to(dtype)
    for new in (
        mrconv.merge(model, form="recurrence"),
        mrconv.distill(model, order=4, fir_head=3)[0],
    ):
        loaded = mrconv.load(new.save_pretrained(tmp_path))
        assert_same(loaded, new, lambda one: one(x))
        assert loaded.backbone.blocks[0].mixer.windows == new.backbone.blocks[0].mixer.windows
        angle = loaded.backbone.blocks[0].mixer.angle
        assert angle.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
        assert json.loads((tmp_path / "config.json").read_text())["form"] == "recurrence"


@pytest.mark.parametrize("head", [mrconv.SequenceClassifier, mrconv.LanguageModel])
def test_gated_branches(small_backbone, settle, tmp_path, head):
    mixers = [
        {"name": "gated_mrconv", "kernel": "dilated", "kernel_size": 4, "num_heads": 2},
        {"name": "gated_mrconv", "kernel_size": 4, "norm": mrconv.BranchNorm(None, 1e-3)},
    ]
    tokens = head is mrconv.LanguageModel
    sizes = {"tokens": True, "features": 6} if tokens else {}
    model = settle(head(small_backbone(mixer=mixers, **sizes), 5, dtype=torch.float64))
    for block in model.backbone.blocks:
        torch.nn.init.normal_(block.mixer.gate.weight)
    x = torch.randint(5, (2, 40)) if tokens else torch.randn(2, 40, 2, dtype=torch.float64)
    loaded = mrconv.load(model.save_pretrained(tmp_path))
    assert_same(loaded, model, lambda one: one(x))
    assert loaded.backbone.blocks[0].mixer.gate.num_heads == 2
    assert json.loads((tmp_path / "config.json").read_text())["form"] == "branches"


def test_filters_of_hyena_as_recurrences(small_backbone, settle, tmp_path):
    mixer = {"num_filters": 2, "kernel": "modal", "kernel_size": 4}
    mixers = [{"name": name, **mixer} for name in ("hyena", "multihyena")]
    model = settle(mrconv.SequenceRegressor(small_backbone(mixer=mixers), dtype=torch.float64))
    x = torch.randn(2, 40, 2, dtype=torch.float64)
    for new in (
        mrconv.merge(model, form="recurrence"),
        mrconv.distill(model, order=4, fir_head=3)[0],
    ):
        loaded = mrconv.load(new.save_pretrained(tmp_path))
        assert_same(loaded, new, lambda one: one(x))
        for block in loaded.backbone.blocks:
            assert type(block.mixer.filter) is mrconv.nn.ModalRecurrence
            assert block.mixer.filter.channels == 2


def test_a_merged_model_trains_on_after_loading(make_model, run, tmp_path):
    model = mrconv.load(mrconv.merge(make_model()).save_pretrained(tmp_path)).train()
    run(model, torch.randn(3, 40, 2, dtype=torch.float64)).sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


# what the folder holds


@pytest.fixture
def model(small_backbone, settle):
    """A classifier that knows everything a folder can hold."""
    model = settle(mrconv.SequenceClassifier(small_backbone(1), 3, dtype=torch.float64))
    model.contract = InputContract("audio", 32, sample_rate=8000.0, mean=0.5, std=2.0)
    model.labels = ("yes", "no", "other")
    model.metrics = {"test_accuracy": 0.9375, "merge_difference": 1.25e-15}
    model.made = ({"step": "train", "recipe": "yes-no", "epochs": 3},)
    return model


def test_what_is_known_of_the_model_comes_back(model, tmp_path):
    loaded = mrconv.load(model.save_pretrained(tmp_path))
    assert loaded.contract == model.contract
    assert loaded.labels == model.labels
    assert loaded.metrics == model.metrics
    assert loaded.made == model.made


def test_files(model, tmp_path):
    folder = model.save_pretrained(str(tmp_path / "new" / "folder"))
    assert folder == tmp_path / "new" / "folder"
    assert names(folder) == FILES
    for file in folder.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o644
    with safe_open(folder / "model.safetensors", "pt") as file:
        assert file.metadata() == {"format": "pt"}
        assert sorted(file.keys()) == sorted(model.state_dict())


def test_configuration(model, tmp_path):
    config = json.loads((model.save_pretrained(tmp_path) / "config.json").read_text())
    assert config == {
        "format": 1,
        "model": "SequenceClassifier",
        "form": "branches",
        "arguments": {
            "backbone": model.backbone.arguments,
            "classes": 3,
            "pooling": "mean",
            "pair": False,
        },
        "layers": {},
        "input": {
            "kind": "audio",
            "length": 32,
            "channels": 1,
            "sample_rate": 8000.0,
            "mean": 0.5,
            "std": 2.0,
            "vocabulary": None,
            "companding": None,
            "frame": 1,
        },
        "labels": ["yes", "no", "other"],
        "metrics": {"test_accuracy": 0.9375, "merge_difference": 1.25e-15},
        "made": [{"step": "train", "recipe": "yes-no", "epochs": 3}],
        "versions": {"mrconv": mrconv.__version__, "torch": torch.__version__},
    }
    assert list(config)[:4] == ["format", "model", "form", "arguments"]


def test_configuration_of_a_merged_model(model, tmp_path):
    config = json.loads((mrconv.merge(model).save_pretrained(tmp_path) / "config.json").read_text())
    sizes = {"num_taps": 32, "causal": True, "bias": True}
    assert config["form"] == "merged"
    assert config["layers"] == {
        "backbone.blocks.0.mixer": sizes,
        "backbone.blocks.1.mixer": sizes,
    }


def test_a_layer_that_was_a_long_convolution_is_no_conversion(small_backbone):
    backbone = small_backbone(mixer={"name": "long_conv"})
    config = saving.configuration(mrconv.SequenceClassifier(backbone, 3))
    assert (config["form"], config["layers"]) == ("merged", {})


def test_weights_and_configuration_are_reproducible(model, tmp_path):
    first, second = (model.save_pretrained(tmp_path / name) for name in "ab")
    for name in FILES:
        assert (first / name).read_bytes() == (second / name).read_bytes()


# a save that fails


class DiskFull(OSError):
    def __init__(self, *_, **__):
        super().__init__(28, "No space left on device")


def fail(*_, **__):
    raise DiskFull


def fail_halfway(weights, path, metadata):
    Path(path).write_bytes(b"half of it")
    raise DiskFull


@pytest.mark.parametrize(
    ("owner", "name", "replacement"),
    [(os, "replace", fail), (saving, "save_file", fail), (saving, "save_file", fail_halfway)],
)
@pytest.mark.parametrize("there_before", [False, True])
def test_nothing_is_half_written(
    model, tmp_path, monkeypatch, owner, name, replacement, there_before
):
    if there_before:
        model.save_pretrained(tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    with torch.no_grad():
        model.head.weight.add_(1)
    monkeypatch.setattr(owner, name, replacement)
    with pytest.raises((OSError, FileError), match="No space left on device"):
        model.save_pretrained(tmp_path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_value_that_json_cannot_hold_leaves_the_old_model_whole(model, tmp_path):
    model.save_pretrained(tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    with torch.no_grad():
        model.head.weight.add_(1)
    model.metrics = {"test_accuracy": np.float32(0.5)}
    try:
        model.save_pretrained(tmp_path)
    except (TypeError, ArgumentError):
        assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
    else:
        assert mrconv.load(tmp_path).metrics == {"test_accuracy": 0.5}


def test_numbers_of_numpy_and_torch_are_kept_as_numbers(model, tmp_path):
    model.metrics = {"a": np.float32(0.5), "b": torch.tensor(0.25), "c": 3}
    model.contract = InputContract("series", 32, mean=np.float32(0.5))
    loaded = mrconv.load(model.save_pretrained(tmp_path))
    assert loaded.metrics == {"a": 0.5, "b": 0.25, "c": 3.0}
    assert loaded.contract == model.contract


@pytest.mark.parametrize("value", ["good", None, [0.5], torch.zeros(2)], ids=str)
def test_a_metric_that_is_no_number(model, says, tmp_path, value):
    model.save_pretrained(tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    model.metrics = {"test_accuracy": value}
    sentence = (
        f"save_pretrained: settings and metrics must be plain values; got {value!r}. "
        "Convert it to a number, or leave it out."
    )
    with says(ArgumentError, sentence):
        model.save_pretrained(tmp_path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


@pytest.mark.parametrize("name", ["MyClassifier", "SequenceClassifier"])
def test_a_class_that_load_does_not_build(small_backbone, says, tmp_path, name):
    mine = type(name, (mrconv.SequenceClassifier,), {})(small_backbone(), 3)
    sentence = (
        "save_pretrained: the model's class must be one of SequenceClassifier, SequenceRegressor, "
        f"SequenceLabeller, Forecaster, LanguageModel; got {name}. Save model.state_dict() instead."
    )
    with says(ArgumentError, sentence):
        mine.save_pretrained(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_file_that_cannot_be_written_aside_leaves_all_as_they_were(model, tmp_path, monkeypatch):
    model.save_pretrained(tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    model.metrics, write = {"test_accuracy": 0.5}, Path.write_text

    def fail_for_the_card(path, *arguments, **options):
        return (fail if "README" in path.name else write)(path, *arguments, **options)

    monkeypatch.setattr(Path, "write_text", fail_for_the_card)
    with pytest.raises(FileError, match="No space left on device"):
        model.save_pretrained(tmp_path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_callable_kernel_is_refused_before_anything_is_written(small_backbone, says, tmp_path):
    backbone = small_backbone(mixer={"kernel": DenseKernel, "kernel_size": 4})
    sentence = (
        "save_pretrained: mixer settings must be plain values; "
        "got kernel=<class 'mrconv.kernels.dense.DenseKernel'>. Save model.state_dict() instead, "
        "or register the kernel in mrconv.kernels.KERNELS under a name."
    )
    with says(ArgumentError, sentence):
        mrconv.SequenceClassifier(backbone, 3).save_pretrained(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_folder_that_cannot_be_made(model, tmp_path):
    (tmp_path / "file").write_text("in the way")
    start = f"save_pretrained: {tmp_path / 'file'} must be a folder that can be written; got "
    with pytest.raises(FileError, match=f"^{re.escape(start)}.*File exists"):
        model.save_pretrained(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "in the way"


def test_files_in_place_are_replaced_not_written_into(model, tmp_path):
    folder = model.save_pretrained(tmp_path)
    with (folder / "model.safetensors").open("rb") as reader:
        before = reader.read(100)
        with torch.no_grad():
            model.head.weight.add_(1)
        model.save_pretrained(tmp_path)
        reader.seek(0)
        assert reader.read(100) == before  # the old file, still whole for who had it open
    assert torch.equal(mrconv.load(folder).head.weight, model.head.weight)


def test_a_header_size_may_look_like_a_pickle(tmp_path):
    # the file begins with the size of its header, here padded to 128 modulo 256, b"\x80"
    from safetensors.torch import load_file, save_file

    backbone = mrconv.SequenceBackbone(1, 16, channels=4, depth=1)
    model = mrconv.SequenceClassifier(backbone, classes=2).eval()
    folder = model.save_pretrained(tmp_path / "model")
    file, tensors = folder / "model.safetensors", load_file(folder / "model.safetensors")
    for padding in range(1, 300):
        save_file(tensors, file, metadata={"format": "pt", "note": "x" * padding})
        if file.read_bytes()[:1] == b"\x80":
            break
    assert file.read_bytes()[:1] == b"\x80"
    x = torch.randn(2, 16, 1)
    assert torch.equal(mrconv.load(folder)(x), model(x))
