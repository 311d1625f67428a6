import argparse
import json
import runpy
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import mrconv
from mrconv.cli import evaluate as verb
from mrconv.errors import ArgumentError, FileError
from mrconv.train import read_recipe, train

pytest.importorskip("lightning")
TOY = runpy.run_path(str(Path(__file__).parents[1] / "train" / "conftest.py"))


def run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    verb.add_arguments(parser)
    return verb.run(parser.parse_args([*words, "--allow", "toy_data"]))


@pytest.fixture
def trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A finished training."""
    (tmp_path / "toy_data.py").write_text(TOY["MODULE"].replace('print("toy was imported")', ""))
    (tmp_path / "toy.yaml").write_text(TOY["RECIPE"])
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "toy_data", raising=False)
    return train(read_recipe("toy.yaml", ["epochs=1"], allow=["toy_data"]), "run")


def test_the_test_split_gives_the_numbers_of_the_training(trained, capsys) -> None:
    assert run("run/model", "--batch-size", "3", "--json", "numbers.json") == 0
    accuracy, loss = trained.metrics["test_accuracy"], trained.metrics["test_loss"]
    out = f"test: accuracy {accuracy:.4f}, loss {loss:.4f} on 8 examples\nnumbers: numbers.json\n"
    assert capsys.readouterr().out == out
    numbers = json.loads(Path("numbers.json").read_text())
    assert numbers == {
        "model": "run/model",
        "recipe": str(Path("run/recipe.yaml").resolve()),
        "split": "test",
        "examples": 8,
        "accuracy": accuracy,
        "loss": pytest.approx(loss),
    }


def test_a_model_beside_its_original(trained, capsys) -> None:
    other = mrconv.load("run/model")
    with torch.no_grad():
        other.head.weight.mul_(0.5)
    other.save_pretrained("half")
    assert run("half", "--against", "run/model", "--json", "numbers.json") == 0
    lines, numbers = (
        capsys.readouterr().out.splitlines(),
        json.loads(Path("numbers.json").read_text()),
    )
    loss, original = numbers["loss"], trained.metrics["test_loss"]
    assert loss != pytest.approx(original)
    assert numbers["against"]["loss"] == pytest.approx(original)
    assert lines[0].startswith("test: accuracy ") and lines[1].startswith("run/model: accuracy ")
    assert f"loss: {loss / original - 1:+.3%} of that of run/model" in lines
    assert "greedy_text" not in numbers


def test_other_splits_and_recipes(trained, capsys) -> None:
    assert run("run/model", "toy.yaml", "--split", "validation") == 0
    row = trained.history[-1]
    assert capsys.readouterr().out == (
        f"validation: accuracy {row.validation_metric:.4f}, loss {row.validation_loss:.4f} "
        "on 8 examples\n"
    )
    assert run("run/model", "--split", "train") == 0
    assert capsys.readouterr().out.endswith(" on 22 examples\n")


def test_what_does_not_belong_together_is_refused(says, trained) -> None:
    model = trained.model
    model.save_pretrained("alone/model")
    path = Path("alone/recipe.yaml").resolve()
    with says(
        FileError,
        f"evaluate: the recipe must be named or stand at {path}; got neither. "
        "Name it: mrconv evaluate alone/model mnist",
    ):
        run("alone/model")
    with says(
        ArgumentError,
        "evaluate: batch_size must be at least 1; got batch_size=0. Pass a larger batch_size.",
    ):
        run("run/model", "--batch-size", "0")
    model.contract = replace(model.contract, std=2.0)
    model.save_pretrained("run/model")
    with says(
        ArgumentError,
        "evaluate: the data must be prepared as the model expects, std=2.0; got std=1.0. "
        "Use the recipe that the model was trained by.",
    ):
        run("run/model")
    model.contract = None
    model.save_pretrained("run/model")
    assert run("run/model") == 0
    merged = mrconv.merge(model)
    merged.save_pretrained("run/merged")
    assert run("run/merged") == 0
