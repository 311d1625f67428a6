"""The demo on a few made digits: what it measures and what it writes."""

import json

import pytest
import torch

import mrconv
from mrconv.data import Examples, InputContract, MNIST5k, Splits
from mrconv.experiments.demo import run_demo

pytest.importorskip("lightning", reason="the demo trains with Lightning")
pytest.importorskip("matplotlib", reason="the demo writes a page with pictures")

SMALL = ["epochs=1", "model.backbone.channels=8", "model.backbone.depth=1"]


def made_digits(self):
    generator = torch.Generator().manual_seed(0)

    def examples(count):
        y = torch.arange(count) % 10
        x = torch.randn(count, 784, 1, generator=generator) + y[:, None, None] / 5
        return Examples(x, y)

    contract = InputContract("image", 784)
    return Splits(examples(40), examples(20), examples(20), contract, tuple("0123456789"))


@pytest.fixture
def demo(tmp_path, monkeypatch):
    monkeypatch.setattr(MNIST5k, "load", made_digits)
    return run_demo(tmp_path / "demo", SMALL, command="mrconv demo")


def test_metrics(demo):
    metrics = json.loads((demo.folder / "metrics.json").read_text())
    assert 0 <= metrics["test_accuracy"] <= 1
    assert 0 <= metrics["validation_accuracy"] <= 1
    assert metrics["merge_holds"]
    assert metrics["merge_difference"] == max(row.largest for row in demo.proof.rows) < 1e-5
    assert metrics["command"] == "mrconv demo"
    assert {"train_seconds", "versions"} <= metrics.keys()
    for times in (metrics["step_milliseconds"], metrics["predict_milliseconds"]):
        assert times.keys() == {"branches", "merged"}
        assert all(time > 0 for time in times.values())


def test_saved_models_answer_alike(demo):
    model, merged = (mrconv.load(demo.folder / name) for name in ("model", "merged"))
    x = made_digits(None).test.x
    torch.testing.assert_close(merged(x), model(x), rtol=1e-4, atol=1e-5)
    assert model.labels == tuple("0123456789")
    assert model.metrics["test_accuracy"] == demo.metrics["test_accuracy"]


def test_page(demo):
    page = (demo.folder / "report.html").read_text()
    headings = ["Training", "Layers", "Kernels", "Weight of each time scale", "Mistakes"]
    for heading in [*headings, "Which time scales decided", "Merged against branches", "Repeat"]:
        assert f">{heading}<" in page
    assert f"{100 * demo.metrics['test_accuracy']:.1f} %" in page
    assert "mrconv demo" in page
    assert page.count("<figure") >= 5


def test_both_statistics_learn_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(MNIST5k, "load", made_digits)
    textbook = [*SMALL, "model.backbone.mixer.norm={statistics: textbook}"]
    losses = [
        run_demo(tmp_path / name, overrides).metrics["test_loss"]
        for name, overrides in (("exact", SMALL), ("textbook", textbook))
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
