"""``mrconv distill``, and that the distilled model loads and predicts."""

import json
import sys

import numpy as np
import pytest
import torch

import mrconv
from mrconv.nn import ModalRecurrence


def test_writes_the_distilled_model(mrconv_command, saved, model, tmp_path):
    out, file = tmp_path / "small", tmp_path / "report.json"
    told = mrconv_command(
        "distill", saved, "--order", 12, "--fir-head", 4, "-o", out, "--json", file
    )
    assert (told.code, told.err) == (0, "")
    lines = told.out.splitlines()
    assert lines[0].startswith("layer ")
    assert [line.split()[0] for line in lines[1:3]] == [
        "backbone.blocks.0.mixer",
        "backbone.blocks.1.mixer",
    ]
    assert lines[-3:] == [
        f"report: {out / 'report.json'}, {out / 'report.html'}",
        f"distilled model: {out}",
        f"next: mrconv predict {out} FILE",
    ]
    assert (out / "report.json").read_text() == file.read_text()
    command = f"mrconv distill {saved} --out {out} --order 12 --fir-head 4 --max-order 128"
    assert command in (out / "report.html").read_text()
    small = mrconv.load(out)
    assert all(isinstance(block.mixer, ModalRecurrence) for block in small.backbone.blocks)
    assert (small.contract, small.labels) == (model.contract, model.labels)
    read = json.loads(file.read_text())
    x = torch.randn(2, 32, 1)
    with torch.no_grad():
        change = float((small(x) - model(x)).norm() / model(x).norm())
    assert change < 10 * read["output_change"] + 1e-5
    assert json.loads((out / "config.json").read_text())["form"] == "recurrence"


def test_without_matplotlib_there_is_no_page(mrconv_command, saved, tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    out = tmp_path / "small"
    told = mrconv_command("distill", saved, "--order", 4, "--fir-head", 4, "-o", out)
    assert told.code == 0
    assert f"report: {out / 'report.json'}\n" in told.out
    assert 'report.html needs matplotlib: pip install "mrconv[report]"\n' in told.out
    assert not (out / "report.html").exists()


def test_distil_predict_verify(mrconv_command, saved, tmp_path):
    out, data = tmp_path / "small", tmp_path / "a.npy"
    np.save(data, np.random.default_rng(0).normal(0.5, 3.0, size=(20, 32)))
    # 32 taps all stand in the head: nothing is left to fit
    assert mrconv_command("distill", saved, "--tolerance", 1e-3, "-o", out).code == 0
    assert mrconv_command("verify", saved, out, "--data", data).code == 0
    tables = [mrconv_command("predict", folder, data).out for folder in (saved, out)]
    labels = [[line.split(",")[:3] for line in table.splitlines()] for table in tables]
    assert labels[0] == labels[1]


def test_exact_where_the_tolerance_cannot_be_met(mrconv_command, saved, tmp_path):
    words = ("distill", saved, "--tolerance", 1e-6, "--max-order", 2, "--fir-head", 1)
    out = tmp_path / "small"
    told = mrconv_command(*words, "-o", out)
    assert told.code == 2
    assert told.err.startswith("error: distill: order ")
    assert told.err.endswith(
        "Raise max_order or fir_head, or keep such layers with on_failure='exact'.\n"
    )
    assert not out.exists()
    told = mrconv_command(*words, "--on-failure", "exact", "-o", out)
    assert told.code == 0
    assert "kept exact" in told.out
    assert isinstance(mrconv.load(out).backbone.blocks[0].mixer, mrconv.MRConv)


@pytest.mark.parametrize("words", [(), ("--order", 4, "--tolerance", 1e-3)])
def test_one_of_order_and_tolerance(mrconv_command, saved, tmp_path, words):
    told = mrconv_command("distill", saved, *words, "-o", tmp_path / "small")
    assert told.code == 2
    assert "--tolerance" in told.err


def test_modal_branches_merge_to_recurrences(mrconv_command, make_model, tmp_path):
    model = make_model(kernel="modal", kernel_size=8)
    saved, out = model.save_pretrained(tmp_path / "model"), tmp_path / "recurrence"
    told = mrconv_command("merge", saved, "--form", "recurrence", "-o", out)
    assert told.code == 0
    first = told.out.splitlines()[0]
    assert first.startswith("backbone.blocks.0.mixer: 6 modes, differs by ")
    again = mrconv_command("merge", out, "-o", tmp_path / "twice")
    assert again.out.splitlines()[0] == "backbone.blocks.0.mixer: 6 modes, was a recurrence already"
    assert mrconv_command("verify", saved, out).code == 0


# training on


@pytest.fixture
def waves(model, tmp_path, monkeypatch):
    """A recipe on data that the saved model fits: three classes of waves in noise."""
    (tmp_path / "waves.py").write_text(WAVES)
    (tmp_path / "waves.yaml").write_text(RECIPE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "waves", raising=False)
    return tmp_path / "waves.yaml"


WAVES = """
import torch

from mrconv.data import Examples, InputContract, Splits


class Waves:
    def load(self):
        draw, parts = torch.Generator().manual_seed(1), {}
        for name, count in (("train", 24), ("validation", 9), ("test", 6)):
            y = torch.arange(count) % 3
            x = torch.randn(count, 32, 1, generator=draw)
            x += 2 * (y[:, None, None] * torch.arange(32)[:, None] * 0.4).sin()
            parts[name] = Examples(x, y)
        contract = InputContract("series", 32, mean=0.5, std=2.0)
        return Splits(**parts, contract=contract, labels=("low", "middle", "high"))
"""
RECIPE = """
epochs: 9
batch_size: 8
data: {class: waves.Waves}
model:
  class: mrconv.SequenceClassifier
  classes: 3
  backbone: {class: mrconv.SequenceBackbone, features: 1, length: 32}
loss: {class: torch.nn.CrossEntropyLoss}
optimizer: {class: torch.optim.AdamW, lr: 6e-2}
"""


@pytest.fixture
def finetune(mrconv_command, saved, waves, tmp_path):
    """Runs ``mrconv distill ... --finetune`` and gives what it told, and the folder."""

    def run(*words):
        pytest.importorskip("lightning")
        size = ("--order", 3, "--fir-head", 2)
        settings = ("--finetune", waves, "--allow", "waves", "-o", tmp_path / "tuned")
        return mrconv_command("distill", saved, *size, *settings, *words), tmp_path / "tuned"

    return run


def test_finetune_writes_a_training_with_all_three_models_measured(finetune, model):
    told, out = finetune("--epochs", 2, "seed=5", "--matching-weight", 3)
    assert (told.code, told.err) == (0, "")
    lines = told.out.splitlines()
    assert f"distilled model: {out / 'distilled'}" in lines
    assert [line.split("  ")[0] for line in lines if line.startswith("epoch")] == [
        "epoch 1/2",
        "epoch 2/2",
    ]
    assert lines[-2:] == [
        f"fine-tuned model: {out / 'model'}",
        f"next: mrconv predict {out / 'model'} FILE",
    ]
    distilled, tuned = mrconv.load(out / "distilled"), mrconv.load(out / "model")
    metrics = json.loads((out / "metrics.json").read_text())
    assert "--order 3 --fir-head 2" in metrics["command"]
    assert metrics["epochs"] == 2
    splits = sys.modules["waves"].Waves().load()
    for line, name, one in zip(
        lines[-5:-2],
        ("original", "distilled", "fine-tuned"),
        (model, distilled, tuned),
        strict=True,
    ):
        shares = [
            float((one.predict(split.x) == split.y).double().mean())
            for split in (splits.test, splits.validation)
        ]
        assert line.startswith(
            f"{name:<10}  test accuracy {shares[0]:.4f}  validation accuracy {shares[1]:.4f}  "
        )
        assert metrics[f"{name}_test_accuracy"] == pytest.approx(shares[0])
        with torch.no_grad():
            wanted, got = model(splits.validation.x), one(splits.validation.x)
        change = float((got - wanted).norm() / wanted.norm())
        assert metrics[f"{name}_output_change"] == pytest.approx(change, rel=1e-4, abs=1e-9)
    steps = [(step["step"], step.get("seed"), step.get("order")) for step in tuned.made]
    assert steps == [("distill", None, 3), ("finetune", 5, None)]
    assert tuned.made[1]["matching_weight"] == 3
    assert all(isinstance(block.mixer, ModalRecurrence) for block in tuned.backbone.blocks)


def test_a_fine_tuned_model_streams_and_verifies(finetune, mrconv_command):
    _, out = finetune()
    assert mrconv_command("verify", out / "model", out / "model").code == 0
    stream = mrconv.Streamer(mrconv.load(out / "model"))
    state = stream.init_state(1)
    before = state.nbytes
    _, state = stream.chunk(torch.randn(1, 5000, 1), state)
    assert state.nbytes == before


def test_finetune_refuses_a_used_folder_before_it_distils(finetune):
    first, out = finetune()
    assert first.code == 0
    told, _ = finetune()
    assert (told.code, told.out) == (2, "")
    assert told.err.startswith(
        f"error: train: the folder for results must be new; got {out}, which holds a finished"
    )
    assert finetune("--overwrite")[0].code == 0


def test_an_interrupted_fine_tuning_goes_on(finetune, monkeypatch):
    import mrconv.train.progress as progress

    _, out = finetune("--epochs", 2)
    weights = mrconv.load(out / "model").state_dict()
    step = progress.TextProgress.step

    def stop(self, epoch, batch, loss):
        step(self, epoch, batch, loss)
        if (epoch, batch) == (2, 1):
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(progress.TextProgress, "step", stop)
        told, _ = finetune("--epochs", 2, "--overwrite")
    assert told.code == 130
    assert told.err.startswith(
        "interrupted in epoch 2 of 2: the checkpoint of epoch 1 is kept. Go on with: mrconv distill"
    )
    assert told.err.endswith(" --resume\n")
    told, _ = finetune("--epochs", 2, "--resume")
    assert told.code == 0
    assert "incompressible" not in told.out  # it was not distilled again
    resumed = mrconv.load(out / "model").state_dict()
    assert all(torch.equal(weights[name], resumed[name]) for name in weights)


@pytest.mark.parametrize(
    "words",
    [("--epochs", 0), ("--matching-weight", 0), ("seed=1",), ("--resume",), ("--overwrite",)],
)
def test_settings_of_a_training_need_a_recipe(mrconv_command, saved, tmp_path, words):
    told = mrconv_command("distill", saved, "--order", 2, "-o", tmp_path / "small", *words)
    assert told.code == 2
    assert told.err == (
        "error: distill: settings of a training need --finetune; got "
        f"{words[0]}. Add --finetune mnist, or leave them out.\n"
    )


def test_the_original_numbers_are_called_so(mrconv_command, model, tmp_path):
    model.metrics = {"test_accuracy": 0.75}
    saved, out = model.save_pretrained(tmp_path / "model"), tmp_path / "small"
    assert mrconv_command("distill", saved, "--order", 2, "-o", out).code == 0
    small = mrconv.load(out)
    assert small.metrics == {"original_test_accuracy": 0.75}
    assert small.made[0]["step"] == "distill" and small.made[0]["order"] == 2
