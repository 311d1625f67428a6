import csv
import json
import sys
import warnings
from pathlib import Path

import pytest
import torch

import mrconv
from mrconv.errors import ArgumentError, FileError, MissingExtraError
from mrconv.train import (
    EpochRow,
    Recipe,
    SilentProgress,
    TrainingInterrupted,
    evaluate,
    read_recipe,
    train,
)
from mrconv.train.checkpoints import read_checkpoint

pytest.importorskip("lightning")


class Interrupt(SilentProgress):
    """Presses Ctrl-C at one step, or behind one epoch."""

    def __init__(self, epoch: int, batch: int | None) -> None:
        self.at = (epoch, batch)

    def step(self, epoch: int, batch: int, loss: torch.Tensor) -> None:
        if (epoch, batch) == self.at:
            raise KeyboardInterrupt

    def epoch(self, row: EpochRow) -> None:
        if (row.epoch, None) == self.at:
            raise KeyboardInterrupt


def recipe(toy: Path, *overrides: str) -> Recipe:
    return read_recipe(toy, overrides, allow=["toy_data"])


def assert_equal(first: torch.nn.Module, second: torch.nn.Module) -> None:
    ours, theirs = first.state_dict(), second.state_dict()
    assert ours.keys() == theirs.keys()
    for name in ours:
        assert torch.equal(ours[name], theirs[name]), name


def test_a_training_leaves_model_numbers_and_recipe(toy: Path, tmp_path: Path, capfd) -> None:
    out = tmp_path / "run"
    done = recipe(toy)
    capfd.readouterr()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = train(done, out, command="mrconv train toy")
    assert capfd.readouterr() == ("", "")

    model = mrconv.load(out / "model")
    assert_equal(model, result.model)
    assert not result.model.training
    assert model.labels == ("noise", "wave")
    assert model.contract == result.splits.contract
    measured = evaluate(model, result.splits.test, done.make_loss())
    metrics = json.loads((out / "metrics.json").read_text())
    assert metrics == result.metrics
    assert metrics["test_accuracy"] == pytest.approx(measured["accuracy"])
    assert metrics["test_loss"] == pytest.approx(measured["loss"])
    assert model.metrics == {
        name: metrics[name] for name in ("test_accuracy", "validation_accuracy")
    }
    assert model.made == ({"step": "train", "recipe": "toy", "epochs": 3, "seed": 0},)
    assert metrics["command"] == "mrconv train toy"
    assert metrics["parameters"] == sum(parameter.numel() for parameter in model.parameters())
    assert set(metrics["versions"]) == {"mrconv", "torch", "lightning", "numpy", "python"}

    with (out / "metrics.csv").open() as file:
        table = list(csv.DictReader(file))
    assert [row["epoch"] for row in table] == ["1", "2", "3"]
    assert float(table[-1]["validation_accuracy"]) == metrics["validation_accuracy"]
    assert float(table[-1]["learning_rate"]) < 1e-4
    assert float(table[-1]["train_loss"]) < float(table[0]["train_loss"])
    assert read_recipe(out / "recipe.yaml", allow=["toy_data"]).identity() == done.identity()
    assert [file.name for file in (out / "checkpoints").iterdir()] == ["last.ckpt"]


@pytest.mark.parametrize(
    ("at", "kept"),
    [((1, 2), 0), ((2, 1), 1), ((2, 2), 1), ((2, None), 2), ((3, 3), 2), ((3, None), 3)],
)
def test_a_resumed_training_equals_an_uninterrupted_one(
    toy: Path, tmp_path: Path, at: tuple[int, int | None], kept: int
) -> None:
    # ragged rows in buckets, dropout, momentum that cycles: all must come back
    settings = ["data.ragged=true", "batches=bucketed", "workers=1", "model.backbone.dropout=0.3"]
    whole = train(recipe(toy, *settings), tmp_path / "whole")
    torch.rand(7)
    with pytest.raises(TrainingInterrupted) as stop:
        train(recipe(toy, *settings), tmp_path / "run", progress=Interrupt(*at))
    path = tmp_path / "run" / "checkpoints" / "last.ckpt"
    assert stop.value.kept == (path, kept)
    assert not (tmp_path / "run" / "metrics.json").exists()
    torch.rand(3)
    resumed = train(recipe(toy, *settings), tmp_path / "run", resume=True)
    assert_equal(whole.model, resumed.model)
    assert [row.train_loss for row in whole.history] == [row.train_loss for row in resumed.history]
    assert resumed.metrics["epochs"] == 3
    assert len((tmp_path / "run" / "metrics.csv").read_text().splitlines()) == 4


def test_a_training_never_reads_behind_a_rows_length(toy: Path, tmp_path: Path) -> None:
    paddings = ("null", "0.0", "1e30", ".nan")
    results = [
        train(recipe(toy, "data.ragged=true", f"data.padding={one}", "epochs=2"), tmp_path / one)
        for one in paddings
    ]
    for other in results[1:]:
        assert_equal(results[0].model, other.model)
        for name in ("test_loss", "test_accuracy", "validation_accuracy"):
            assert other.metrics[name] == results[0].metrics[name]
    whole = train(recipe(toy, "epochs=2"), tmp_path / "whole")
    assert whole.metrics["test_loss"] != results[0].metrics["test_loss"]


def test_a_training_can_be_interrupted_again_and_again(toy: Path, tmp_path: Path) -> None:
    whole = train(recipe(toy), tmp_path / "whole")
    resume = False
    for at in ((1, 1), (1, 3), (2, 2), (3, 1)):
        with pytest.raises(TrainingInterrupted):
            train(recipe(toy), tmp_path / "run", resume=resume, progress=Interrupt(*at))
        resume = True
    assert_equal(whole.model, train(recipe(toy), tmp_path / "run", resume=True).model)


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        ["schedule=cosine", "warmup=0.5", "gradient_clip=0.1"],
        ["schedule=constant", "optimizer={class: torch.optim.SGD, lr: 0.1, momentum: 0.9}"],
        ["precision=64-true"],
        ["precision=bf16-true"],
        ["precision=bf16-mixed"],
        ["data.kind=samples", "model.class=mrconv.SequenceLabeller", "data.ragged=true"],
    ],
)
def test_every_setting_resumes_to_the_bit(toy: Path, tmp_path: Path, settings: list[str]) -> None:
    whole = train(recipe(toy, *settings), tmp_path / "whole")
    with pytest.raises(TrainingInterrupted):
        train(recipe(toy, *settings), tmp_path / "run", progress=Interrupt(3, 2))
    resumed = train(recipe(toy, *settings), tmp_path / "run", resume=True)
    assert_equal(whole.model, resumed.model)


def test_values_are_trained_by_error(toy: Path, tmp_path: Path) -> None:
    settings = [
        "data.kind=values",
        "model={class: mrconv.SequenceRegressor, targets: 1, backbone: {class: "
        "mrconv.SequenceBackbone, features: 1, length: 16, channels: 4, depth: 1}}",
        "loss.class=torch.nn.MSELoss",
        "epochs=1",
    ]
    result = train(recipe(toy, *settings), tmp_path / "run")
    assert set(result.model.metrics) == {"test_error", "validation_error"}
    head = (tmp_path / "run" / "metrics.csv").read_text().splitlines()[0]
    assert head == "epoch,train_loss,validation_loss,validation_error,seconds,learning_rate"


def test_an_earlier_training_is_not_replaced_by_accident(says, toy: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    remedy = "Add --resume to go on with it, --overwrite to replace it, or --out for another."
    with pytest.raises(TrainingInterrupted):
        train(recipe(toy), out, progress=Interrupt(1, 1))
    with says(
        FileError,
        f"train: the folder for results must be new; got {out}, which holds an unfinished "
        f"training. {remedy}",
    ):
        train(recipe(toy), out)
    (out / "notes.txt").write_text("mine")
    first = train(recipe(toy), out, overwrite=True)
    with says(
        FileError,
        f"train: the folder for results must be new; got {out}, which holds a finished "
        f"training. {remedy}",
    ):
        train(recipe(toy), out)
    assert_equal(first.model, train(recipe(toy), out, resume=True).model)
    assert_equal(first.model, train(recipe(toy), out, overwrite=True).model)
    assert (out / "notes.txt").read_text() == "mine"


def test_checkpoints_that_cannot_be_used_are_named(says, toy: Path, tmp_path: Path) -> None:
    out, trusted = tmp_path / "run", recipe(toy)
    path = out / "checkpoints" / "last.ckpt"
    with says(
        FileError,
        f"resume: {path} must be there; got no such file. Train without --resume first.",
    ):
        train(trusted, out, resume=True)
    with pytest.raises(TrainingInterrupted):
        train(trusted, out, progress=Interrupt(2, 1))
    with says(
        FileError,
        f"resume: {path} must be of the same recipe; got seed=0 there and seed=1 here. "
        f"Resume with {out / 'recipe.yaml'}, or train with --overwrite.",
    ):
        train(recipe(toy, "seed=1"), out, resume=True)
    whole = path.read_bytes()
    for damaged in (b"", b"text", whole[: len(whole) // 2], whole[:-100]):
        path.write_bytes(damaged)
        with pytest.raises(FileError, match="must be a whole checkpoint of mrconv; got "):
            read_checkpoint(path, trusted)
    torch.save({"state_dict": {}}, path)
    with says(
        FileError,
        f"resume: {path} must be a whole checkpoint of mrconv; got KeyError: 'mrconv'. "
        "Train again with --overwrite.",
    ):
        read_checkpoint(path, trusted)


class Bomb:
    def __reduce__(self) -> tuple:
        return (sys.exit, ("a checkpoint ran code",))


def test_checkpoints_hold_no_code_and_none_is_run(toy: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(TrainingInterrupted):
        train(recipe(toy), out, progress=Interrupt(2, 1))
    path = out / "checkpoints" / "last.ckpt"
    content = torch.load(path, weights_only=True)
    torch.save({**content, "extra": Bomb()}, path)
    with pytest.raises(FileError, match="must be a whole checkpoint of mrconv; got Unpickling"):
        train(recipe(toy), out, resume=True)


def test_curves_for_tensorboard_carry_the_epochs(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lightning.pytorch import loggers

    logged = []

    class Curves(loggers.CSVLogger):
        def log_metrics(self, metrics: dict, step: int | None = None) -> None:
            logged.append((step, sorted(metrics)))

    monkeypatch.setattr(loggers, "TensorBoardLogger", Curves)
    with pytest.raises(TrainingInterrupted):
        train(recipe(toy), tmp_path / "run", tensorboard=True, progress=Interrupt(2, 1))
    train(recipe(toy), tmp_path / "run", tensorboard=True, resume=True)
    names = ["learning_rate", "train_loss", "validation_accuracy", "validation_loss"]
    assert logged == [(1, names), (2, names), (3, names)]


def test_a_loss_that_is_no_longer_finite_stops_the_training(
    says, toy: Path, tmp_path: Path
) -> None:
    settings = ["optimizer.lr=1e30", "schedule=constant"]
    with pytest.raises(ArgumentError, match="train: the loss must stay finite; got nan in epoch"):
        train(recipe(toy, *settings), tmp_path / "run")


def test_classes_must_be_the_labels_of_the_data(says, toy: Path, tmp_path: Path) -> None:
    with says(
        ArgumentError,
        "model.classes: must be the number of labels of the data, 2; got 3. Set model.classes=2.",
    ):
        train(recipe(toy, "model.classes=3"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_vocabulary_that_is_too_small_is_refused_before_it_is_trained(
    says, toy: Path, tmp_path: Path
) -> None:
    data = (
        "data={class: mrconv.data.Recall, vocabulary: 8, length: 16, pairs: 3, train: 8, held: 4}"
    )
    with says(
        ArgumentError,
        "model.backbone.features: must be at least the vocabulary of the data, 8; got 7. "
        "Set model.backbone.features=8.",
    ):
        settings = ["model.backbone.tokens=true", "model.backbone.features=7"]
        train(recipe(toy, data, "model.classes=8", *settings), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_model_that_could_not_be_saved_is_refused_before_it_is_trained(
    says, toy: Path, tmp_path: Path
) -> None:
    own = "class Own(__import__('mrconv').SequenceClassifier): pass"
    with (toy.parent / "toy_data.py").open("a") as file:
        file.write(own)
    with says(
        ArgumentError,
        "model.class: must be one of SequenceClassifier, SequenceRegressor, SequenceLabeller, "
        "Forecaster, LanguageModel, which can be saved; got Own. "
        "Train other modules with your own loop.",
    ):
        train(recipe(toy, "model.class=toy_data.Own"), tmp_path / "run")


@pytest.mark.parametrize("package", ["lightning", "tensorboard"])
def test_what_is_not_installed_is_named(
    says, toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    trusted = recipe(toy)
    remedy = 'got none. Run: pip install "mrconv[train]"'
    sentence = f"train: the package lightning must be installed; {remedy}"
    if package == "lightning":
        monkeypatch.delitem(sys.modules, "mrconv.train.module", raising=False)
        for name in [name for name in sys.modules if name.partition(".")[0] == "lightning"]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, "lightning", None)
    else:
        from lightning.pytorch import loggers

        def missing(*args: object, **kwargs: object) -> None:
            raise ModuleNotFoundError("no tensorboard")

        monkeypatch.setattr(loggers, "TensorBoardLogger", missing)
        sentence = (
            "train: the package tensorboard must be installed for --tensorboard; got none. "
            "Run: pip install tensorboard"
        )
    with says(MissingExtraError, sentence):
        train(trusted, tmp_path / "run", tensorboard=True)
    assert not (tmp_path / "run").exists()
