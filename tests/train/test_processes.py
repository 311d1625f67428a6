"""Several processes train as one with the joined batch: the same loss at every step."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from mrconv.data import Grammar, MNIST5k, generate_listops
from mrconv.errors import FileError

pytest.importorskip("lightning")

STEPS, PROCESSES = 50, 2
SCRIPT = """
import sys

import torch

from mrconv.train import SilentProgress, read_recipe
from mrconv.train.fitting import make_trainer, run_fit
from mrconv.train.module import TrainingModule

torch.set_num_threads(1)
out, steps, name, *overrides = sys.argv[1:]


class Recorded(TrainingModule):
    losses = []

    def training_step(self, batch, batch_idx):
        loss = super().training_step(batch, batch_idx)
        self.losses.append(float(loss.detach()))
        return loss


recipe = read_recipe(name, overrides)
trainer = make_trainer(recipe, 1, batches=int(steps))
module = Recorded(recipe, recipe.load_data(), SilentProgress())
run_fit(trainer, module)
torch.save({"losses": module.losses, "validation": module.validation_means()[0],
            "state": module.model.state_dict()}, f"{out}.{trainer.global_rank}")
"""
SMALL = ["model.backbone.channels=16", "model.backbone.depth=2", "model.backbone.dropout=0"]


def trained(folder: Path, processes: int, *words: str) -> list[dict]:
    """What every process recorded."""
    (folder / "script.py").write_text(SCRIPT)
    launch = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    place = str(folder / f"of{processes}")
    options = ["script.py", place, str(STEPS), *words, f"devices={processes}"]
    command = [sys.executable, *(launch if processes > 1 else []), *options]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=900, env=dict(os.environ)
    )
    assert done.returncode == 0, done.stderr
    return [torch.load(f"{place}.{rank}", weights_only=True) for rank in range(processes)]


def assert_same_curve(folder: Path, *words: str) -> None:
    ones = trained(folder, PROCESSES, *words, "batch_size=8")
    (joined,) = trained(folder, 1, *words, f"batch_size={8 * PROCESSES}")
    curve = torch.tensor([one["losses"] for one in ones]).double().mean(0)
    wanted = torch.tensor(joined["losses"]).double()
    assert len(curve) == STEPS
    assert wanted[-5:].mean() < wanted[:5].mean()  # it learns, so that the curve says something
    assert (curve - wanted).abs().max() < 1e-4
    # and all processes end with the same weights
    for name, tensor in ones[0]["state"].items():
        assert torch.equal(tensor, ones[1]["state"][name]), name


@pytest.mark.distributed
@pytest.mark.parametrize("kernel", ["dilated", "fourier"])
def test_two_processes_train_on_digits_as_one(tmp_path: Path, kernel: str) -> None:
    try:
        MNIST5k().load()
    except FileError as error:
        pytest.skip(str(error))
    assert_same_curve(tmp_path, "mnist", *SMALL, f"model.backbone.mixer.kernel={kernel}")


@pytest.mark.distributed
def test_two_processes_train_on_rows_of_unequal_length_as_one(tmp_path: Path) -> None:
    generate_listops(tmp_path / "listops", 900, grammar=Grammar(min_length=16, max_length=128))
    changes = ["data.path=listops", "data.length=128", "model.backbone.length=128", "warmup=0.02"]
    assert_same_curve(tmp_path, "listops", *SMALL, *changes)
