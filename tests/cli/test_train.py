import argparse
import json
import os
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mrconv.cli import train as verb
from mrconv.errors import FileError, RecipeError
from mrconv.train import SilentProgress

pytest.importorskip("lightning")
TOY = runpy.run_path(str(Path(__file__).parents[1] / "train" / "conftest.py"))
ALLOW = ["--allow", "toy_data"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a recipe and the module of its data, which nothing else finds."""
    (tmp_path / "toy_data.py").write_text(TOY["MODULE"].replace('print("toy was imported")', ""))
    (tmp_path / "toy.yaml").write_text(TOY["RECIPE"])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "toy_data", raising=False)
    return tmp_path


def options(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    verb.add_arguments(parser)
    return parser.parse_args(words)


def run(*words: str) -> int:
    return verb.run(options(*words))


def test_a_training_ends_with_numbers_and_next_commands(folder: Path, capsys) -> None:
    assert run("toy.yaml", "epochs=2", *ALLOW) == 0
    *epochs, numbers, model, files, head, first, second, third = (
        capsys.readouterr().out.splitlines()
    )
    assert [line.split("  ")[0] for line in epochs] == ["epoch 1/2", "epoch 2/2"]
    assert (
        numbers.startswith("test accuracy ") and " on 8 examples, validation accuracy " in numbers
    )
    assert model == "model: runs/toy/model"
    assert files == "numbers: runs/toy/metrics.json, runs/toy/metrics.csv"
    assert head == "next:"
    assert first == "  mrconv evaluate runs/toy/model --allow toy_data"
    assert second == "  mrconv merge runs/toy/model --out runs/toy/merged"
    assert third == "  mrconv verify runs/toy/model"
    assert (folder / "runs" / "toy" / "model" / "config.json").is_file()


def test_a_scale_is_told_by_folder_numbers_and_model(folder: Path) -> None:
    (folder / "toy.yaml").write_text(
        TOY["RECIPE"] + "scales: {small: {epochs: 1, model.backbone.channels: 2}}\n"
    )
    assert run("toy.yaml", "--scale", "small", "seed=3", *ALLOW) == 0
    out = folder / "runs" / "toy-small"
    metrics = json.loads((out / "metrics.json").read_text())
    assert (metrics["scale"], metrics["epochs"]) == ("small", 1)
    assert metrics["command"] == (
        "mrconv train toy.yaml --scale small seed=3 --out runs/toy-small --allow toy_data"
    )
    assert json.loads((out / "model" / "config.json").read_text())["made"] == [
        {"step": "train", "recipe": "toy", "scale": "small", "epochs": 1, "seed": 3}
    ]
    assert "scales" not in (out / "recipe.yaml").read_text()


def test_a_dry_run_tells_and_leaves_no_folder(folder: Path, capsys) -> None:
    assert run("toy.yaml", "--dry-run", *ALLOW) == 0
    size, losses, times, memory = capsys.readouterr().out.splitlines()
    assert size.startswith("toy: ") and " a batch of 8 x 16 x 1, " in size
    assert losses.startswith("loss ") and " s a step on " in times
    assert memory.startswith("peak memory ")
    assert not (folder / "runs").exists()


def test_overrides_may_stand_behind_options() -> None:
    args = options("mnist", "epochs=2", "--out", "a", "seed=3", "--resume", "optimizer.lr=1")
    assert args.recipe == "mnist"
    assert args.overrides == ["epochs=2", "seed=3", "optimizer.lr=1"]
    assert args.resume and args.out == "a"
    with pytest.raises(SystemExit):
        options("mnist", "--out", "a", "--unknown=3")


def test_an_interruption_gives_the_command_that_goes_on(
    folder: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stop(SilentProgress):
        def __init__(self, stream: object) -> None:
            pass

        def step(self, epoch: int, batch: int, loss: object) -> None:
            if (epoch, batch) == at:
                raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("mrconv.train.TextProgress", Stop)
        at = (1, 2)
        words = ["toy.yaml", "epochs=2", "data.ragged=true", "--out", "a b", *ALLOW]
        assert run(*words) == 130
        command = "mrconv train toy.yaml epochs=2 data.ragged=true --out 'a b' --allow toy_data"
        assert capsys.readouterr().err == (
            "interrupted in epoch 1 of 2: the checkpoint of the start is kept. "
            f"Go on with: {command} --resume\n"
        )
        at = (2, 1)
        assert run(*words, "--resume") == 130
        assert capsys.readouterr().err == (
            "interrupted in epoch 2 of 2: the checkpoint of epoch 1 is kept. "
            f"Go on with: {command} --resume\n"
        )
    assert run(*words, "--resume") == 0
    assert capsys.readouterr().out.startswith("epoch 2/2  loss ")


def test_an_interruption_before_the_training_keeps_nothing(
    folder: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*args: object, **settings: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mrconv.train.loop._fit", stop)
    assert run("toy.yaml", *ALLOW) == 130
    assert capsys.readouterr().err == (
        "interrupted before the training began. Run the same command again.\n"
    )


def test_mistakes_come_before_any_work(says, folder: Path) -> None:
    with says(
        RecipeError,
        "recipe toy: 1 mistake\n  data.class: must be inside mrconv, torch.nn, torch.optim; got "
        "'toy_data.Toy'. If you trust that code, add: --allow toy_data",
    ):
        run("toy.yaml")
    with says(
        FileError,
        "recipe: must be a file or the name of a recipe of mrconv; got 'mnit'. "
        "Did you mean 'mnist'?",
    ):
        run("mnit")
    assert not (folder / "runs").exists()


@pytest.mark.slow
def test_ctrl_c_in_a_process_of_its_own(folder: Path) -> None:
    # a shell's background job ignores Ctrl-C, and its children inherit that
    script = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from mrconv.cli import main; sys.exit(main())"
    )
    words = ["train", "toy.yaml", "epochs=400", "schedule=constant", "--out", "run", *ALLOW]
    command = [sys.executable, "-c", script, *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, cwd=folder, env=dict(os.environ), **pipes)
    table = folder / "run" / "metrics.csv"
    deadline = time.monotonic() + 120
    while not table.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert out.startswith("epoch 1/400  loss ")
    done = len(table.read_text().splitlines()) - 1
    assert err in (
        f"interrupted in epoch {n + 1} of 400: the checkpoint of epoch {n} is kept. Go on with: "
        "mrconv train toy.yaml epochs=400 schedule=constant --out run --allow toy_data --resume\n"
        for n in (done, done + 1)
    )
    assert sorted(file.name for file in (folder / "run" / "checkpoints").iterdir()) == ["last.ckpt"]


@pytest.mark.distributed
def test_two_processes_write_one_folder(folder: Path) -> None:
    script = "import sys; from mrconv.cli import main; sys.exit(main())"
    (folder / "main.py").write_text(script)
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    words = ["main.py", "train", "toy.yaml", "devices=2", "--out", "run", *ALLOW]
    done = subprocess.run(
        [*launch, *words], cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    heads = [line.split("  ")[0] for line in done.stdout.splitlines()]
    assert heads[:3] == ["epoch 1/3", "epoch 2/3", "epoch 3/3"]
    assert sum(line.startswith("test accuracy ") for line in heads) == 1
    files = {file.name for file in (folder / "run").iterdir()}
    assert files == {"checkpoints", "metrics.csv", "metrics.json", "model", "recipe.yaml"}
    assert [file.name for file in (folder / "run" / "checkpoints").iterdir()] == ["last.ckpt"]
