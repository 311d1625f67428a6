"""MRConvNeXt under its names in timm, and timm's scripts that know it."""

import doctest
import importlib
import subprocess
import sys
import warnings

import pytest
import torch

timm = pytest.importorskip("timm", reason="needs timm: make test-vision", exc_type=ImportError)

from timm.optim import create_optimizer_v2  # noqa: E402

import mrconv  # noqa: E402
from mrconv.models.convnext import MRConvNeXt, entrypoints, register  # noqa: E402
from mrconv.models.convnext.__main__ import main  # noqa: E402

pytestmark = pytest.mark.vision

NARROW = {"depths": (1, 1, 1, 1), "dims": (8, 8, 16, 16), "img_size": 64}


def python(*words):
    return subprocess.run([sys.executable, *words], capture_output=True, text=True)


def test_importing_registers_nothing():
    code = (
        "import timm, mrconv.models.convnext as c; print(timm.is_model('mrconvnext_tiny')); "
        "c.register(); print(timm.list_models('mrconvnext*'))"
    )
    result = python("-c", code)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [
        "False",
        "['mrconvnext_base', 'mrconvnext_small', 'mrconvnext_tiny']",
    ]


def test_registering_twice_says_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert register() == register()


@pytest.mark.parametrize("size", ["tiny", "small", "base"])
def test_depths_and_channels_are_those_of_convnext(size, monkeypatch):
    def arguments(kind, name, pretrained, **given):
        return {word: tuple(given[word]) for word in ("depths", "dims")}

    for module in (entrypoints, timm.models.convnext):
        monkeypatch.setattr(module, "build_model_with_cfg", arguments)
    ours = getattr(entrypoints, f"mrconvnext_{size}")()
    assert ours == getattr(timm.models.convnext, f"convnext_{size}")()


def test_create_model_passes_arguments_on():
    register()
    assert MRConvNeXt in type(timm.create_model("mrconvnext_tiny", **NARROW)).__mro__
    model = timm.create_model(
        "mrconvnext_tiny", num_classes=7, in_chans=1, kernel="dilated", causal=True, **NARROW
    )
    layer = model.stages[1].blocks[0].conv_dw.conv
    assert (layer.kernel, layer.causal, layer.length) == ("dilated", True, 64)
    assert model(torch.randn(2, 1, 64, 64)).shape == (2, 7)
    assert timm.data.resolve_data_config({}, model=model)["crop_pct"] == 0.875
    with pytest.raises(TypeError, match="kernal"):
        timm.create_model("mrconvnext_tiny", kernal="dilated")
    with pytest.raises(RuntimeError, match="No pretrained weights"):
        timm.create_model("mrconvnext_tiny", pretrained=True, **NARROW)


def test_features_are_those_of_the_whole_model():
    register()
    torch.manual_seed(1)
    features = timm.create_model("mrconvnext_tiny", features_only=True, **NARROW).eval()
    torch.manual_seed(1)
    model = timm.create_model("mrconvnext_tiny", **NARROW).eval()
    x = torch.randn(2, 3, 64, 64)
    with torch.no_grad():
        found = features(x)
        expected = model.forward_intermediates(x, intermediates_only=True)
    assert features.feature_info.channels() == [8, 8, 16, 16]
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("merged", [False, True])
def test_kernels_and_gains_have_no_weight_decay(merged):
    register()
    model = timm.create_model("mrconvnext_tiny", **NARROW).eval()
    model = mrconv.merge(model) if merged else model
    named = {id(parameter): name for name, parameter in model.named_parameters()}
    optimizer = create_optimizer_v2(model, opt="adamw", weight_decay=0.05)
    decayed = {
        named[id(parameter)]
        for group in optimizer.param_groups
        if group["weight_decay"]
        for parameter in group["params"]
    }
    assert "stages.0.blocks.0.mlp.fc1.weight" in decayed
    assert not [name for name in decayed if "conv_dw" in name]


def test_a_script_knows_the_names(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        "import sys, timm, neighbour\n"
        "print(__name__, sys.argv[1:], timm.is_model('mrconvnext_base'), neighbour.WORD)\n"
    )
    (tmp_path / "neighbour.py").write_text("WORD = 'found'\n")
    result = python("-m", "mrconv.models.convnext", str(script), "--epochs", "3")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "__main__ ['--epochs', '3'] True found\n"


@pytest.mark.parametrize(("words", "got"), [((), "nothing"), (("absent.py",), "absent.py")])
def test_no_script(words, got, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["convnext", *words])
    assert main() == 2
    assert capsys.readouterr().err == (
        f"error: convnext: the first word must be a script; got {got}. "
        "Run: python -m mrconv.models.convnext train.py ...\n"
    )


MODULES = [
    "mrconv.models.convnext.convert",
    "mrconv.models.convnext.entrypoints",
    "mrconv.models.convnext.operations",
    "mrconv.models.convnext.sizes",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    results = doctest.testmod(importlib.import_module(name))
    assert results.attempted > 0
    assert results.failed == 0
