import re
import sys
from pathlib import Path

import pytest
import torch

import mrconv
from mrconv.data import Recall, Shakespeare, SpokenDigits, Text
from mrconv.errors import FileError, MissingExtraError, RecipeError
from mrconv.train import read_recipe, recipe_names, recipe_scales
from mrconv.train.recipe_check import check_recipe


def test_mnist_is_the_recipe_of_the_demo() -> None:
    recipe = read_recipe("mnist")
    assert (recipe.seed, recipe.epochs, recipe.batch_size) == (0, 5, 32)
    assert recipe.schedule == "one_cycle"
    model = recipe.make_model()
    assert isinstance(model, mrconv.SequenceClassifier)
    backbone = model.backbone
    assert (backbone.depth, backbone.channels, backbone.dropout) == (4, 64, 0.1)
    assert backbone.blocks[0].mixer.kernel_size == 8
    assert recipe.make_loss().label_smoothing == 0.05
    groups = {group["name"]: group for group in recipe.make_optimizer(model).param_groups}
    rates = {name: (group["lr"], group["weight_decay"]) for name, group in groups.items()}
    assert rates == {"kernels": (1e-3, 0.0), "scales": (6e-3, 0.0), "weights": (6e-3, 0.05)}


def test_speech_is_the_model_that_is_streamed() -> None:
    recipe = read_recipe("speech", ["data.path=anywhere"])
    assert recipe.data.construct() == SpokenDigits("anywhere", 4096, (0.9, 1.0, 1.1))
    plain = read_recipe("speech", ["data.path=anywhere", "data.speeds=[1]"])
    assert plain.data.construct().speeds == (1.0,)
    model = recipe.make_model()
    assert isinstance(model, mrconv.SequenceClassifier)
    assert model.classes == 10
    backbone = model.backbone
    assert (backbone.depth, backbone.channels, backbone.features) == (6, 64, 1)
    assert {block.mixer.causal for block in backbone.blocks} == {True}
    assert {block.mixer.num_taps for block in backbone.blocks} == {4096}


def test_shakespeare_is_a_language_model_of_bytes() -> None:
    recipe = read_recipe("shakespeare")
    assert recipe.data.construct() == Shakespeare(length=512)
    model = recipe.make_model()
    assert isinstance(model, mrconv.LanguageModel)
    assert (model.vocabulary, model.start, model.backbone.length) == (256, 256, 512)
    other = read_recipe("shakespeare", ["data.class=mrconv.data.Text", "data.path=anywhere"])
    assert other.data.construct() == Text("anywhere", length=512)


def test_recall_is_answered_by_multihyena() -> None:
    recipe = read_recipe("recall")
    assert recipe.data.construct() == Recall(32, 32, 8, train=80_000, held=500)
    model = recipe.make_model()
    assert isinstance(model, mrconv.SequenceLabeller)
    assert model.classes == model.backbone.features == 32
    assert model.backbone.blocks[0].mixer.width == 8


def test_models_of_the_paper_have_its_numbers_of_parameters() -> None:
    def count(name: str, *overrides: str) -> int:
        model = read_recipe(name, overrides).make_model()
        return sum(parameter.numel() for parameter in model.parameters())

    assert count("listops") == 332_298
    assert f"{count('image') / 1e6:.2f}" == "3.55"  # the paper prints 3.5
    fourier = ["model.backbone.mixer.kernel=fourier", "model.backbone.mixer.kernel_size=32"]
    assert f"{count('image', *fourier) / 1e6:.1f}" == "3.8"
    both = ["model.backbone.mixer.kernel=fourier+sparse", "model.backbone.mixer.kernel_size=16"]
    assert f"{count('image', *both) / 1e6:.1f}" == "4.0"
    assert f"{count('scifar') / 1e6:.1f}" == "5.7"


def test_resolutions_of_the_paper() -> None:
    blocks = read_recipe("listops").make_model().backbone.blocks
    assert {block.mixer.resolutions for block in blocks} == {10}
    pathx = read_recipe("pathx", ["model.backbone.depth=1"]).make_model().backbone.blocks[0].mixer
    assert (pathx.causal, pathx.num_taps) == (False, 16384)


def test_every_task_of_the_paper_has_a_recipe_in_three_sizes() -> None:
    tasks = "listops text retrieval image pathfinder pathx scifar speech-commands".split()
    for task in tasks:
        assert recipe_scales(task) == ["small", "large"]
        sizes = [
            read_recipe(task, scale=scale).values["model"]["backbone"]
            for scale in ("small", None, "large")
        ]
        widths = [size["channels"] * size["depth"] for size in sizes]
        assert widths == sorted(widths) and len({*widths}) == 3
    assert {*tasks, "mnist", "smartwatch", "nucleosomes", "speech"} < {*recipe_names()}


def test_every_recipe_opens_with_command_and_notes() -> None:
    for name in recipe_names():
        lines = (Path(mrconv.__path__[0]) / "recipes" / f"{name}.yaml").read_text().splitlines()
        head = "\n".join(lines[: lines.index("")])
        for word in ("Assumes:", f"mrconv train {name}", "Override:"):
            assert word in head
        if "large" in recipe_scales(name):  # a task of the paper
            for word in ("torchrun", "--nnodes=2", "precision=bf16-mixed", "--dry-run", "--scale"):
                assert word in head
        body = lines[len(head.splitlines()) :]
        scales = body.index("scales:") if "scales:" in body else len(body)
        for line in body[:scales]:
            key, _, value = line.partition(":")
            is_knob = value.split("#")[0].strip() and key.strip() != "class"
            assert "#" in line or not is_knob, line
        for line in body[scales + 1 :]:  # a scale says what it is for, its values speak
            assert "#" in line or not re.match(r"  \w", line), line


def test_every_scale_of_every_recipe_is_clean() -> None:
    for name in recipe_names():
        plain = read_recipe(name)
        for scale in recipe_scales(name):
            recipe = read_recipe(name, scale=scale)
            assert recipe.scale == scale and recipe.identity() != plain.identity()


SCALES = """scales:
  small: {epochs: 2, model.backbone.channels: 2, optimizer.lr: 3e-3}
  wide: {model.backbone.mixer: {kernel: fourier, kernel_size: 4}}
  lost: {seed.x: 1}
"""


def test_a_scale_is_applied_before_the_overrides(toy: Path) -> None:
    toy.write_text(toy.read_text() + SCALES)
    assert recipe_scales(toy) == ["small", "wide", "lost"]
    allow = ["toy_data"]
    assert read_recipe(toy, allow=allow).epochs == 3
    small = read_recipe(toy, ["epochs=7"], scale="small", allow=allow)
    assert (small.epochs, small.scale) == (7, "small")
    assert small.optimizer.arguments["lr"] == 3e-3
    assert small.make_model().backbone.channels == 2
    wide = read_recipe(toy, scale="wide", allow=allow)
    assert wide.values["model"]["backbone"]["mixer"] == {"kernel": "fourier", "kernel_size": 4}
    # what a run keeps is the recipe that it ran
    assert "scales" not in small.values
    toy.write_text(small.text())
    again = read_recipe(toy, allow=allow)
    assert again.identity() == small.identity() and again.scale is None


def test_a_scale_that_is_not_there(says, toy: Path) -> None:
    with says(
        RecipeError,
        "recipe toy: scale must be left out, as the recipe has none; got 'small'. "
        "Change single values by key=value.",
    ):
        read_recipe(toy, scale="small", allow=["toy_data"])
    toy.write_text(toy.read_text() + SCALES)
    with says(
        RecipeError,
        "recipe toy: scale must be one of small, wide, lost; got 'smal'. Name one of these.",
    ):
        read_recipe(toy, scale="smal", allow=["toy_data"])
    with says(
        RecipeError,
        "recipe toy: 1 mistake\n  seed: holds 0; got the key 'x' below it. Shorten the key.",
    ):
        toy.write_text("seed: 0\n" + toy.read_text())
        read_recipe(toy, scale="lost", allow=["toy_data"])
    toy.write_text("scales: [small]\n")
    with says(
        RecipeError,
        "recipe toy: scales must hold names, and each of them dotted keys with values; "
        "got ['small']. Write it like small: {epochs: 2}.",
    ):
        read_recipe(toy, allow=["toy_data"])


def test_overrides_change_values_of_any_depth() -> None:
    recipe = read_recipe(
        "mnist",
        [
            "optimizer.lr=3e-3",
            "model.backbone.mixer=[{kernel: dense}, {name: long_conv, bias: false}]",
            "model.backbone.mixer.0.kernel=fourier",
            "model.backbone.depth=2",
            "loss.label_smoothing=0",
            "gradient_clip=null",
        ],
    )
    assert recipe.values["optimizer"]["lr"] == 3e-3
    assert recipe.values["model"]["backbone"]["mixer"][0] == {"kernel": "fourier"}
    smoothing = recipe.make_loss().label_smoothing
    assert smoothing == 0 and isinstance(smoothing, float)
    assert recipe.gradient_clip is None


def test_overrides_that_lead_nowhere_are_listed(says) -> None:
    report = """recipe mnist: 5 mistakes
  override: must be key=value; got 'epochs'. Write it like epochs=3.
  override: must be key=value; got 'a..b=1'. Write it like epochs=3.
  seed: holds 0; got the key 'x' below it. Shorten the key.
  override epochs: must be plain YAML; got a mistake at line 1, column 2: expected the node \
content, but found '<stream end>'. Correct that line.
  model.backbone.mixer: holds a list of 1; got the entry '1'. Use a number from 0 to 0."""
    with says(RecipeError, report):
        read_recipe(
            "mnist",
            [
                "epochs",
                "a..b=1",
                "seed.x=1",
                "epochs=[",
                "model.backbone.mixer=[{}]",
                "model.backbone.mixer.1.kernel=dense",
            ],
        )


def test_every_mistake_is_in_one_report(says) -> None:
    report = """recipe mnist: 20 mistakes
  data.class: must be inside mrconv, torch.nn, torch.optim; got 'os.system'. If you trust that \
code, add: --allow os
  seed: must be at least 0; got -1. Change the value.
  epochs: must be a whole number; got 'six'. Write it like 4.
  batch_size: must be a whole number; got 1.5. Write it like 4.
  model.pooling: must be 'mean', 'last' or 'max'; got 'men'. Did you mean 'mean'?
  model.backbone.features: must be a whole number; got True. Write it like 4.
  model.backbone.depth: must be a whole number; got '4'. Write it like 4.
  model.backbone.mixer.kernel: must be text; got 3. Put it in quotes.
  model.backbone.mixer.kernel_sise: unknown key; got 'kernel_sise'. Did you mean 'kernel_size'?
  model.backbone.mixer.norm.momentun: unknown key; got 'momentun'. Did you mean 'momentum'?
  model.backbone.channel: unknown key; got 'channel'. Did you mean 'channels'?
  model.clases: unknown key; got 'clases'. Did you mean 'classes'?
  loss.class: must be a class of torch.nn; got 'torch.nn.CrossEntropLoss'. Did you mean \
'CrossEntropyLoss'?
  optimizer.lr: must be a number; got 'fast'. Write it like 0.5.
  optimizer.kernel_lr: must be at least 0; got -1.0. Change the value.
  optimizer.betas: must be a list of 2; got 1 values. Write 2 values.
  optimizer.kernellr: unknown key; got 'kernellr'. Did you mean 'kernel_lr'?
  schedule: must be 'one_cycle', 'cosine' or 'constant'; got 'onecycle'. Did you mean 'one_cycle'?
  epoch: unknown key; got 'epoch'. Did you mean 'epochs'?
  gradient_clip: must be above 0, or null for none; got 0.0. Change the value."""
    with says(RecipeError, report):
        read_recipe(
            "mnist",
            [
                "data.class=os.system",
                "seed=-1",
                "epochs=six",
                "batch_size=1.5",
                "model.pooling=men",
                "model.backbone.features=true",
                "model.backbone.depth='4'",
                "model.backbone.mixer.kernel=3",
                "model.backbone.mixer.kernel_sise=3",
                "model.backbone.mixer.norm={momentun: 0.1}",
                "model.backbone.channel=3",
                "model.clases=3",
                "loss.class=torch.nn.CrossEntropLoss",
                "optimizer.lr=fast",
                "optimizer.kernel_lr=-1",
                "optimizer.betas=[0.9]",
                "optimizer.kernellr=1",
                "schedule=onecycle",
                "epoch=3",
                "gradient_clip=0",
            ],
        )


def test_missing_values_are_listed(says) -> None:
    report = """recipe mnist: 7 mistakes
  loss.class: must be the dotted path of a class; got None. Write it like \
torch.nn.CrossEntropyLoss.
  epochs: must be a whole number; got None. Write it like 4.
  data: must be a DataSource; got None. Write a mapping with the key class and its arguments.
  model.backbone.class: must be given; got nothing. Name a SequenceBackbone.
  model.classes: must be given; got nothing. Add it: a whole number.
  optimizer.class: must be given; got nothing. Name an Optimizer.
  batch_size: must be given; got nothing. Add it: a whole number."""
    values = {
        "epochs": None,
        "data": None,
        "model": {"class": "mrconv.SequenceClassifier", "backbone": {"features": 1}},
        "loss": {"class": None},
        "optimizer": {"lr": 1},
    }
    with says(RecipeError, report):
        check_recipe("recipe mnist", values)
    with says(
        RecipeError,
        "toy: must be a mapping of settings; got [1]. Write one 'key: value' a line.",
    ):
        check_recipe("toy", [1])


def test_mixers_of_a_list_are_checked_one_by_one(says) -> None:
    report = """recipe mnist: 3 mistakes
  model.backbone.mixer.0.kernel_size: must be a whole number; got 8.0. Write it like 4.
  model.backbone.mixer.1.nam: unknown key; got 'nam'. Did you mean 'name'?
  model.backbone.mixer.2.name: must be 'mrconv', 'gated_mrconv', 'long_conv', 's4d', 'sgconv', \
'attention', 'hyena', 'multihyena', 's4', 's5', 'multires', 'ckconv' or 'dilated'; got 'long_con'. \
Did you mean 'long_conv'?"""
    with says(RecipeError, report):
        read_recipe(
            "mnist",
            ["model.backbone.mixer=[{kernel_size: 8.0}, {nam: x}, {name: long_con}]"],
        )


def test_a_class_must_be_what_its_place_asks_for(says) -> None:
    report = """recipe mnist: 4 mistakes
  data.class: must be a DataSource; got 'torch.nn.MSELoss'. Name another class here.
  model.backbone.class: must be a SequenceBackbone; got 'torch.nn.Linear'. Name another class here.
  loss.class: must be a Module; got 'torch.optim.AdamW'. Name another class here.
  optimizer.class: must be an Optimizer; got 'torch.nn.Linear'. Name another class here."""
    with says(RecipeError, report):
        read_recipe(
            "mnist",
            [
                "data.class=torch.nn.MSELoss",
                "model.backbone.class=torch.nn.Linear",
                "loss.class=torch.optim.AdamW",
                "optimizer.class=torch.nn.Linear",
            ],
        )


def test_names_cannot_reach_through_allowed_modules(says) -> None:
    report = """recipe mnist: 4 mistakes
  optimizer.class: must be the dotted path of a class; got 'torch.optim._multi_tensor.X'. Write it \
like torch.nn.CrossEntropyLoss.
  data.class: must be defined inside an allowed module; got 'mrconv.data.mnist.Path', which is \
from pathlib. If you trust that code, add: --allow pathlib
  model.class: mrconv.modls must be importable; got No module named 'mrconv.modls'. Check the \
spelling.
  loss.class: torch.nn.functional.os must be importable; got No module named \
'torch.nn.functional.os'; 'torch.nn.functional' is not a package. Check the spelling."""
    with says(RecipeError, report):
        read_recipe(
            "mnist",
            [
                "data.class=mrconv.data.mnist.Path",
                "model.class=mrconv.modls.SequenceClassifier",
                "loss.class=torch.nn.functional.os.system",
                "optimizer.class=torch.optim._multi_tensor.X",
            ],
        )


def test_a_module_is_imported_only_if_it_is_allowed(says, toy: Path, capsys) -> None:
    report = """recipe toy: 2 mistakes
  data.class: must be inside mrconv, torch.nn, torch.optim; got 'toy_data.Toy'. If you trust that \
code, add: --allow toy_data
  seed: must be a whole number; got 'x'. Write it like 4."""
    with says(RecipeError, report):
        read_recipe(toy, ["seed=x"])
    assert "toy_data" not in sys.modules
    assert capsys.readouterr().out == ""
    recipe = read_recipe(toy, allow=["toy_data"])
    assert capsys.readouterr().out == "toy was imported\n"
    assert type(recipe.load_data()).__name__ == "Splits"


def test_nothing_is_constructed_before_the_report_is_clean(
    toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    constructed = []
    monkeypatch.setattr(torch.nn.Module, "__init__", lambda self: constructed.append(self))
    monkeypatch.setattr(torch.optim.Optimizer, "__init__", lambda *args: constructed.append(args))
    source = (
        toy.parent / "toy_data.py"
    ).read_text() + "\nToy.__new__ = lambda *args, **settings: 1 / 0\n"
    (toy.parent / "toy_data.py").write_text(source)
    with pytest.raises(RecipeError, match="schedule: must be"):
        read_recipe(toy, ["schedule=never"], allow=["toy_data"])
    recipe = read_recipe(toy, allow=["toy_data"])
    assert constructed == []
    with pytest.raises(RecipeError, match="division by zero"):
        recipe.load_data()


def test_what_a_constructor_refuses_is_one_sentence(says) -> None:
    recipe = read_recipe("mnist", ["optimizer.betas=[2, 0.9]"])
    with says(
        RecipeError,
        "optimizer: AdamW must take its arguments; got Invalid beta parameter at index 0: 2.0. "
        "Change the values.",
    ):
        recipe.make_optimizer(torch.nn.Linear(2, 2))


def test_lists_become_tensors_tuples_and_dtypes() -> None:
    recipe = read_recipe(
        "mnist",
        ["loss.weight=[1, 2.5]", "optimizer.betas=[0, 0.9]", "model.dtype=float64"],
    )
    assert torch.equal(recipe.make_loss().weight, torch.tensor([1, 2.5]))
    assert recipe.optimizer.arguments["betas"] == (0.0, 0.9)
    assert recipe.model.arguments["dtype"] is torch.float64


def test_text_of_a_recipe_gives_the_same_recipe(tmp_path: Path) -> None:
    recipe = read_recipe("mnist", ["epochs=2", "model.backbone.mixer.norm={momentum: 0.2}"])
    path = tmp_path / "again.yaml"
    path.write_text(recipe.text())
    assert read_recipe(path).identity() == recipe.identity()
    assert read_recipe(path, ["seed=1"]).identity() != recipe.identity()


def test_models_are_drawn_from_the_seed_alone() -> None:
    recipe = read_recipe("mnist", ["model.backbone.depth=1"])
    before = torch.random.get_rng_state()
    first, second = recipe.make_model().state_dict(), recipe.make_model().state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_files_that_are_no_recipes(says, tmp_path: Path) -> None:
    with says(
        FileError,
        "recipe: must be a file or the name of a recipe of mrconv; got 'mnits'. "
        "Did you mean 'mnist'?",
    ):
        read_recipe("mnits")
    with says(
        FileError,
        f"recipe: {tmp_path} must be a text file; got Is a directory. "
        "Pass the path of a YAML file.",
    ):
        read_recipe(tmp_path)
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with says(
        FileError,
        f"recipe: {tmp_path / 'binary.yaml'} must be a text file; got bytes that are no text. "
        "Pass the path of a YAML file.",
    ):
        read_recipe(tmp_path / "binary.yaml")


def test_a_missing_extra_names_the_pip_line(says, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    monkeypatch.delitem(sys.modules, "mrconv.train.yaml_reader", raising=False)
    with says(
        MissingExtraError,
        'recipe: the package yaml must be installed; got none. Run: pip install "mrconv[train]"',
    ):
        read_recipe("mnist")
