"""The recipes for ImageNet: published settings, and a round of timm's parts by them on made images.

timm's train.py is no part of its package. Where MRCONV_TIMM_TRAIN names one, it runs as well.
"""

import os
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

timm = pytest.importorskip("timm", reason="needs timm: make test-vision", exc_type=ImportError)
yaml = pytest.importorskip("yaml", reason="needs: pip install 'mrconv[train]'")

from PIL import Image  # noqa: E402

import mrconv  # noqa: E402
from mrconv.models.convnext import NAMES  # noqa: E402
from mrconv.models.convnext.__main__ import RECIPES, run  # noqa: E402

# timm leaves closing its files to Python
pytestmark = [
    pytest.mark.vision,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

DROP_PATH = {"mrconvnext_tiny": 0.1, "mrconvnext_small": 0.4, "mrconvnext_base": 0.5}
SCRIPT = Path(__file__).parent / "timm_round.py"
TRAIN = os.environ.get("MRCONV_TIMM_TRAIN", "")


@pytest.fixture
def folder(tmp_path):
    """Two classes of noise, bright and dark, in ImageFolder layout."""
    drawn = np.random.default_rng(0)
    for split, count in (("train", 8), ("val", 4)):
        for label, light in (("bright", 160), ("dark", 0)):
            (tmp_path / split / label).mkdir(parents=True)
            for i in range(count):
                pixels = drawn.integers(light, light + 90, (48, 48, 3), dtype=np.uint8)
                Image.fromarray(pixels).save(tmp_path / split / label / f"{i}.png")
    return tmp_path


@pytest.mark.parametrize("name", NAMES)
def test_settings_are_the_published_ones(name):
    found = yaml.safe_load((RECIPES / f"{name}.yaml").read_text())
    assert found["model"] == name
    assert found["drop_path"] == DROP_PATH[name]
    assert 8 * found["batch_size"] * found["grad_accum_steps"] == 4096
    published = {
        "epochs": 300,
        "warmup_epochs": 20,
        "opt": "adamw",
        "lr": 4e-3,
        "weight_decay": 0.05,
        "aa": "rand-m9-mstd0.5-inc1",
        "mixup": 0.8,
        "cutmix": 1.0,
        "reprob": 0.25,
        "smoothing": 0.1,
        "model_ema": True,
        "model_ema_decay": 0.9999,
    }
    assert {key: found[key] for key in published} == published
    assert found.keys() == yaml.safe_load((RECIPES / f"{NAMES[0]}.yaml").read_text()).keys()


def test_a_round_of_timms_parts(folder, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setattr(sys, "path", list(sys.path))
    out = folder / "model.pt"
    run([str(SCRIPT), "--config", "mrconvnext_tiny", "--data-dir", str(folder), "--out", str(out)])
    assert "2 classes, 1 update, accuracy" in capsys.readouterr().out
    assert sys.argv[2] == str(RECIPES / "mrconvnext_tiny.yaml")
    model = timm.create_model(
        "mrconvnext_tiny", num_classes=2, img_size=32, depths=(1, 1, 1, 1), dims=(8, 8, 8, 8)
    ).eval()
    model.load_state_dict(torch.load(out, weights_only=True))
    assert int(model.stages[0].blocks[0].conv_dw.conv.num_batches_tracked) == 1
    x = torch.randn(2, 3, 32, 32)
    torch.testing.assert_close(mrconv.merge(model)(x), model(x), rtol=1e-4, atol=1e-4)


@pytest.mark.skipif(not TRAIN, reason="needs timm's train.py: set MRCONV_TIMM_TRAIN to its path")
def test_timms_own_script(folder, monkeypatch):
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setattr(sys, "path", list(sys.path))
    words = ["--config", "mrconvnext_tiny", "--data-dir", str(folder), "--num-classes", "2"]
    sizes = ["img_size=32", "depths=[1,1,1,1]", "dims=[8,8,8,8]"]
    small = ["--epochs", "1", "--warmup-epochs", "0", "-b", "4", "--workers", "0"]
    device = ["--device", "cpu", "--no-prefetcher", "--output", str(folder / "runs")]
    size = ["--img-size", "32", "--experiment", "dry", "--model-kwargs", *sizes]
    run([TRAIN, *words, *small, *device, *size])
    assert list((folder / "runs" / "dry").glob("model_best*"))
