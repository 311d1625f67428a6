"""Fine-tuning after distillation: what is lowered, what trains, and what the folder holds."""

import copy
import json

import pytest
import torch

import mrconv
from mrconv.data import InputContract
from mrconv.errors import ArgumentError, ShapeError
from mrconv.nn import ModalRecurrence
from mrconv.testing import assert_close
from mrconv.train import MatchingRecipe, TrainingInterrupted, read_matching_recipe, train
from mrconv.train.matching import Matching, output_distance
from mrconv.train.progress import SilentProgress

pytest.importorskip("lightning")


@pytest.fixture
def make(toy):
    """A matching recipe on toy data, from a fresh original distilled to two states a channel."""

    def made(*overrides: str, weight: float = 1.0, **settings) -> MatchingRecipe:
        settings = {"order": 2, "fir_head": 2, **settings}
        recipe = read_matching_recipe(toy, overrides, epochs=2, allow=["toy_data"])
        original = recipe.make_model().eval()
        original.head.weight.data.mul_(20)  # fresh scores are so small that all models agree
        small, _ = mrconv.distill(original, **settings)
        return MatchingRecipe(**vars(recipe), small=small, original=original, weight=weight)

    return made


def changed(first: torch.nn.Module, second: torch.nn.Module) -> set[str]:
    ours, theirs = first.state_dict(), second.state_dict()
    assert ours.keys() == theirs.keys()
    return {name for name in ours if not torch.equal(ours[name], theirs[name])}


def test_rates_are_a_sixth_but_for_those_given(toy) -> None:
    recipe = read_matching_recipe(toy, allow=["toy_data"])
    assert (recipe.epochs, recipe.values["optimizer"]["lr"]) == (1, 0.00166667)
    assert recipe.values["optimizer"]["kernel_lr"] == 0.000166667
    recipe = read_matching_recipe(toy, ["optimizer.lr=0.5", "epochs=7"], allow=["toy_data"])
    assert (recipe.epochs, recipe.values["optimizer"]["lr"]) == (7, 0.5)
    assert recipe.values["optimizer"]["kernel_lr"] == 0.000166667


def test_distance_of_class_scores_is_the_divergence() -> None:
    p, q = torch.randn(5, 3).double(), torch.randn(5, 3).double()
    wanted = sum(
        a * (a.log() - b.log())
        for a, b in zip(p.softmax(-1).flatten(), q.softmax(-1).flatten(), strict=True)
    )
    assert_close(output_distance(q, p, classes=True), wanted / 5)
    assert float(output_distance(p, p + 3, classes=True)) == pytest.approx(0, abs=1e-12)


def test_distance_of_values_is_relative() -> None:
    wanted, outputs = torch.randn(5, 3).double() + 4, torch.randn(5, 3).double()
    expected = ((outputs - wanted) ** 2).mean() / wanted.var(unbiased=False)
    assert_close(output_distance(outputs, wanted, classes=False), expected)
    same = torch.ones(4)
    assert float(output_distance(same, same, classes=False)) == 0


@pytest.mark.parametrize("kind", ["classes", "samples"])
def test_the_objective_is_task_and_weighted_distance(make, kind) -> None:
    head = ["model.class=mrconv.SequenceLabeller"] if kind == "samples" else []
    recipe = make(f"data.kind={kind}", "data.ragged=true", "data.padding=.nan", *head)
    examples = recipe.load_data().train
    batch = (examples.x[:5], examples.y[:5], examples.lengths[:5])
    loss = recipe.make_loss()
    got = Matching(loss, recipe.original, 0.25)(recipe.small, batch)
    outputs, wanted, targets = [], [], []
    for x, y, n in zip(*batch, strict=True):  # row by row, without padding
        rows = [model(x[None, :n])[0] for model in (recipe.small, recipe.original)]
        for one, found in zip(rows, (outputs, wanted), strict=True):
            found.append(one if kind == "samples" else one[None])
        targets.append(y[:n] if kind == "samples" else y[None])
    q, p, y = torch.cat(outputs), torch.cat(wanted), torch.cat(targets)
    expected = loss(q, y) + 0.25 * output_distance(q, p, classes=True)
    assert_close(got.loss, expected, 1e-5)
    assert got.sums[1:].tolist() == [float((q.argmax(-1) == y).sum()), len(y)]


def test_the_objective_of_values_is_relative_to_the_originals_power(make) -> None:
    head = "{class: mrconv.SequenceRegressor, targets: 1, backbone: %s}"
    body = "{class: mrconv.SequenceBackbone, features: 1, length: 16, channels: 4, depth: 1}"
    model, loss = f"model={head % body}", "loss={class: torch.nn.MSELoss}"
    recipe = make("data.kind=values", model, loss)
    examples = recipe.load_data().train
    got = Matching(recipe.make_loss(), recipe.original, 2.0)(
        recipe.small, (examples.x, examples.y, None)
    )
    outputs, wanted = recipe.small(examples.x), recipe.original(examples.x)
    distance = (outputs - wanted).square().mean() / wanted.var(unbiased=False)
    assert_close(got.loss, (outputs - examples.y).square().mean() + 2 * distance, 1e-5)


def test_what_trains_and_what_stays(make, tmp_path) -> None:
    recipe = make("model.backbone.dropout=0.3", order=4, fir_head=1)
    before = copy.deepcopy(recipe.small)
    result = train(recipe, tmp_path / "run", command="mrconv distill")
    assert changed(before, recipe.small) == set()
    assert changed(recipe.original, recipe.make_objective(recipe.make_loss()).original) == set()
    moved = changed(before, result.model)
    mixer = "backbone.blocks.0.mixer"
    assert {f"{mixer}.residue", f"{mixer}.head", f"{mixer}.bias", "head.weight"} <= moved
    # poles, and the running statistics of the norms: the model was never in training mode
    assert not {name for name in moved if "log_decay" in name or "angle" in name}
    assert not {name for name in moved if "running" in name or "num_batches" in name}
    assert all(parameter.requires_grad for parameter in result.model.parameters())
    orders = [
        [module.order.tolist() for module in model.modules() if isinstance(module, ModalRecurrence)]
        for model in (before, result.model)
    ]
    assert orders[0] == orders[1]


def test_it_comes_closer_to_the_original(make, tmp_path) -> None:
    rates = ["optimizer.lr=0.01", "optimizer.kernel_lr=0.01"]
    recipe = make("epochs=20", *rates, weight=100.0, order=1, fir_head=1)
    result = train(recipe, tmp_path / "run")
    x = result.splits.test.x
    with torch.no_grad():
        wanted, old, new = (one(x) for one in (recipe.original, recipe.small, result.model))
    before, after = (output_distance(one, wanted, classes=True) for one in (old, new))
    assert float(after) < 0.6 * float(before)
    assert result.history[-1].train_loss < result.history[0].train_loss


def test_the_saved_model_says_what_was_done(make, tmp_path) -> None:
    recipe = make(weight=0.5)
    recipe.small.metrics, recipe.small.made = {"original_test_accuracy": 0.5}, ({"step": "a"},)
    result = train(recipe, tmp_path / "run")
    config = json.loads((result.folder.model / "config.json").read_text())
    assert config["form"] == "recurrence"
    assert config["made"] == [
        {"step": "a"},
        {"step": "finetune", "recipe": "toy", "epochs": 2, "seed": 0, "matching_weight": 0.5},
    ]
    assert set(config["metrics"]) == {
        "original_test_accuracy",
        "test_accuracy",
        "validation_accuracy",
    }
    card = (result.folder.model / "README.md").read_text()
    assert "2. finetune: recipe toy, epochs 2, seed 0, matching_weight 0.5\n" in card
    loaded = mrconv.load(result.folder.model)
    assert loaded.made == result.model.made
    assert mrconv.verify(loaded, result.model).holds


def test_a_resumed_fine_tuning_equals_an_uninterrupted_one(make, tmp_path) -> None:
    class Stop(SilentProgress):
        def step(self, epoch, batch, loss):
            if (epoch, batch) == (2, 2):
                raise KeyboardInterrupt

    whole = train(make(), tmp_path / "whole")
    with pytest.raises(TrainingInterrupted):
        train(make(), tmp_path / "run", progress=Stop())
    resumed = train(make(), tmp_path / "run", resume=True)
    assert changed(whole.model, resumed.model) == set()
    with pytest.raises(mrconv.errors.FileError, match=r"matching_weight=1.0 there and .*=2.0 here"):
        train(make(weight=2.0), tmp_path / "run", resume=True)


def test_what_cannot_be_matched(make, says) -> None:
    recipe = make()
    plain = vars(recipe)
    sentence = (
        "MatchingRecipe: original must be in eval mode; got training=True. Call .eval() first."
    )
    with says(ArgumentError, sentence):
        MatchingRecipe(**{**plain, "original": copy.deepcopy(recipe.original).train()})
    sentence = "MatchingRecipe: weight must be at least 0; got -1. Use 0 for the task alone."
    with says(ArgumentError, sentence):
        MatchingRecipe(**{**plain, "weight": -1})
    recipe.original.contract = InputContract("series", 16, std=2.0)
    with says(
        ArgumentError,
        "finetune: the data must be prepared as the model expects, std=2.0; got std=1.0. "
        "Use the recipe that the model was trained by.",
    ):
        recipe.load_data()
    backbone = recipe.original.backbone
    other = mrconv.SequenceClassifier(copy.deepcopy(backbone), classes=3).eval()
    with says(
        ShapeError,
        "finetune: outputs must have the shape of the original's, (4, 3); got (4, 2). "
        "Distill the original itself.",
    ):
        Matching(recipe.make_loss(), other, 1.0)(
            recipe.small, (torch.randn(4, 16, 1), torch.zeros(4, dtype=torch.int64), None)
        )
