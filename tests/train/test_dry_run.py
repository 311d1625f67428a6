"""Dry runs: of a toy, and of every recipe at its true length, width and depth."""

import math
import re
import runpy
from pathlib import Path

import numpy as np
import pytest
import torch

from mrconv.data import Examples, cifar
from mrconv.errors import ArgumentError, FileError
from mrconv.train import dry_run, read_recipe, recipe_names
from mrconv.train.batches import Batches, BucketedBatches
from mrconv.train.dry_run import _largest, _longest

pytest.importorskip("lightning")
FILES = runpy.run_path(str(Path(__file__).with_name("made_files.py")))["FILES"]
#: Inputs of a batch of two, and the steps of an epoch that the made files give.
RUNS = {
    "listops": ((2, None), 48),
    "text": ((2, 4096), 4),
    "retrieval": ((2, 2, 4000), 3),
    "image": ((2, 1024, 1), 23),
    "scifar": ((2, 1024, 3), 23),
    "pathfinder": ((2, 1024, 1), 16),
    "pathx": ((2, 16384, 1), 16),
    "speech-commands": ((2, 16000, 1), 18),
}


def test_a_dry_run_takes_steps_and_writes_nothing(toy: Path, tmp_path: Path, monkeypatch) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    recipe = read_recipe(toy, ["data.ragged=true", "batches=bucketed"], allow=["toy_data"])
    told = dry_run(recipe)
    assert list(folder.iterdir()) == []
    assert told.shape == (8, 13, 1)  # of 20 rows the four longest are a batch of their own
    assert told.parameters == sum(one.numel() for one in recipe.make_model().parameters())
    assert told.steps == 3
    assert 0 < told.step_seconds < 60
    assert math.isfinite(told.loss) and math.isfinite(told.validation_loss)
    # the process with torch in it, and no more than the machine has
    assert 2**26 < told.peak_bytes < 2**40
    pattern = (
        r"toy: \d+ parameters; a batch of 8 x 13 x 1, its longest rows\n"
        r"loss \d\.\d{4}, validation loss \d\.\d{4}\n"
        r"\S+ s a step on cpu; 3 steps an epoch, at most \d+ s\n"
        r"peak memory \d+\.\d\d GiB"
    )
    if told.device == "cpu":
        assert re.fullmatch(pattern, str(told))


def test_the_longest_rows_are_tried() -> None:
    lengths = torch.tensor([3, 9, 1, 7])
    few = _longest(Examples(torch.arange(4)[:, None].repeat(1, 9), torch.arange(4), lengths), 2)
    assert (few.y.tolist(), few.lengths.tolist(), few.x[:, 0].tolist()) == ([1, 3], [9, 7], [1, 3])
    pairs = Examples(torch.zeros(2, 2, 9), torch.arange(2), torch.tensor([[2, 3], [9, 1]]))
    assert _longest(pairs, 1).y.tolist() == [1]
    assert len(_longest(Examples(torch.zeros(5, 3), torch.arange(5)), 2)) == 2


def test_the_shape_told_is_that_of_the_batch_that_runs() -> None:
    rows = Examples(torch.zeros(5, 9, 2), torch.arange(5), torch.tensor([3, 7, 1, 2, 5]))
    assert _largest(BucketedBatches(rows, 2)) == (2, 5, 2)  # 3 and 5 samples; 7 is alone
    assert _largest(Batches(rows, 2)) == (2, 9, 2)


def test_a_dry_run_tells_what_a_training_would_refuse(toy: Path, says) -> None:
    recipe = read_recipe(toy, ["model.classes=3"], allow=["toy_data"])
    with says(
        ArgumentError,
        "model.classes: must be the number of labels of the data, 2; got 3. Set model.classes=2.",
    ):
        dry_run(recipe)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*RUNS])
def test_every_task_of_the_paper_runs_at_full_size(name: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(cifar, "PER_FILE", 10)
    paths = FILES[name](tmp_path / "data", np.random.default_rng(0))
    recipe = read_recipe(name, ["batch_size=2", *(f"{key}={one}" for key, one in paths.items())])
    told = dry_run(recipe, batches=2)
    shape, steps = RUNS[name]
    assert all(one == (wanted or one) for one, wanted in zip(told.shape, shape, strict=True))
    assert told.steps == steps
    assert math.isfinite(told.loss) and math.isfinite(told.validation_loss)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*recipe_names()} - {*RUNS}))
def test_every_other_recipe_runs_where_its_data_are(name: str) -> None:
    try:
        told = dry_run(read_recipe(name, ["batch_size=2"]), batches=2)
    except FileError as error:
        pytest.skip(str(error))
    assert math.isfinite(told.loss) and math.isfinite(told.validation_loss)
