"""The tables of ablations: cells, rows, and ours beside the published numbers."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from mrconv.errors import ArgumentError
from mrconv.experiments.ablation import mixer_label, per_layer
from mrconv.experiments.ablations import COMBINE, DESIGN, KERNEL_SIZE, KERNELS, NORM
from mrconv.experiments.baselines import BASELINES
from mrconv.experiments.small_tasks import TASKS, task_changes
from mrconv.experiments.speech_rate import SPEECH_RATE
from mrconv.experiments.table import TableOptions
from mrconv.experiments.tables import TABLES, table_named
from mrconv.models.mixers import MIXERS

QUICK, KINDS = TableOptions(quick=True), ("fourier", "dilated")
DENSE, MULTI = "listops, seed {}: dense 256, norm none", "listops, seed {}: dense 2, norm none"
MRCONV = "listops, seed {}: fourier 2"


def numbers(value, **more):
    return {
        "value": value,
        "validation": value,
        "history": [{"train_loss": 2.0, "validation_loss": 2.1}],
        "parameters": 12345,
        "operations": 2.5e6,
        "sizes": {
            "layers": 4,
            "channels": 64,
            "training examples": 6000,
            "test examples": 2000,
            "epochs": 3,
        },
        "seconds": 80.0,
        "training": [100.0, 90.0, 110.0],
        "inference": [1000.0, 900.0, 1100.0],
        **more,
    }


FOUND = {
    **{DENSE.format(i): numbers(v) for i, v in enumerate((0.30, 0.31, 0.33))},
    MULTI.format(1): numbers(0.35, operations=None),
    **{MRCONV.format(i): numbers(v) for i, v in enumerate((0.40, 0.38, 0.39))},
}


def test_every_table_has_a_grid_and_says_what_it_is(tmp_path):
    for name in TABLES:
        table = table_named(name)
        assert table.record == {"filters": "language", "vision": "vision-small"}.get(name, name)
        assert table.rows({}) == []
    grid, _ = SPEECH_RATE.grid(tmp_path, QUICK)
    assert [cell.name for cell in grid.cells] == [f"speech, seed 0: {k} 16" for k in KINDS]
    assert list(tmp_path.iterdir()) == []  # nothing is written before a cell runs


def test_cells_are_named_by_task_seed_and_mixer(tmp_path):
    grid, remark = DESIGN.grid(tmp_path, TableOptions())
    names = [cell.name for cell in grid.cells]
    assert remark == ""
    assert names[:5] == [
        "listops, seed 0: dense 256, norm none",
        "listops, seed 0: dense 2, norm none",
        "listops, seed 0: fourier 2, norm none",
        "listops, seed 0: fourier 2",
        "listops, seed 1: dense 256, norm none",
    ]
    assert len(names) == 3 * 4 + 4
    assert len(DESIGN.grid(tmp_path, TableOptions(seeds=2))[0].cells) == 2 * (4 + 4)


def test_equal_trainings_are_equal_cells_in_every_table(tmp_path):
    cells = {}
    for table in (KERNELS, COMBINE):
        for cell in table.grid(tmp_path / table.name, TableOptions())[0].cells:
            settings = json.dumps(cell.identity)
            # where the folder of a table stands makes no difference
            assert cells.setdefault(cell.name, settings) == settings
    assert "listops, seed 0: fourier 2, combine concat, gains fixed" in cells


def test_each_step_of_the_design_changes_one_setting():
    whole = {"norm": "batch"}
    for variants in DESIGN.variants.values():
        mixers = [{**whole, **variant.mixer} for variant in variants]
        changed = [
            [key for key in one if one[key] != other[key]] for one, other in pairwise(mixers)
        ]
        assert changed == [["kernel_size"], ["kernel"], ["norm"]]


def test_variants_have_the_names_of_the_published_numbers():
    for table in (DESIGN, KERNEL_SIZE, KERNELS, NORM, COMBINE):
        for task, variants in table.variants.items():
            assert set(table.published[task]) <= {variant.name for variant in variants}


def test_baselines_hold_every_mixer_of_the_library():
    mixers = {one.mixer.get("name", "mrconv") for one in BASELINES.variants["image"] if one.mixer}
    assert mixers == set(MIXERS)
    names = [one.name for one in BASELINES.variants["listops"]]
    assert {"MEGA", "MEGA-Chunk", "SPADE-Chunk", "BST", "Liquid-S4", "CCNN", "S5"} <= {*names}


def test_rows_of_all_seeds_and_the_bar():
    rows = {row.name: row for row in DESIGN.rows(FOUND)}
    start = "design, ListOps up to 256"
    mean = rows[f"{start}, mean test accuracy: dense"]
    assert (mean.value, mean.unit) == (pytest.approx(94 / 3), "%")
    assert rows[f"{start}, test accuracy, seed 2: dense"].value == 33
    assert rows[f"{start}, spread over seeds: dense"].value == pytest.approx(3)
    assert f"{start}, spread over seeds: + multi-resolution" not in rows
    assert rows[f"{start}, test accuracy, seed 1: + multi-resolution"].value == 35
    assert rows[f"{start}, parameters: + BatchNorm"].value == 12345
    assert rows[f"{start}, operations: dense"].value == 2.5
    assert f"{start}, operations: + multi-resolution" not in rows  # not countable
    speed = rows[f"{start}, training steps: dense"]
    assert (speed.value, speed.unit, speed.quartiles) == (100, "sequences/s", (90, 110))
    assert rows[f"{start}, merged inference: dense"].value == 1000
    assert rows[f"{start}: seeds"].value == 3
    bar = rows[f"{start}, mean difference: MRConv less one dense kernel"]
    # 10, 7 and 6 points; the seeds of one are 2 apart, of the other 3
    assert bar.value == pytest.approx(23 / 3)
    assert (bar.bar, bar.better, bar.holds) == (pytest.approx(3), "higher", True)
    assert [row.name for row in rows.values() if row.bar is not None] == [bar.name]
    assert len(rows) == len(DESIGN.rows(FOUND))


def test_too_few_seeds_have_no_bar():
    few = {name: one for name, one in FOUND.items() if "seed 2" not in name}
    rows = {row.name: row for row in DESIGN.rows(few)}
    bar = rows["design, ListOps up to 256, mean difference: MRConv less one dense kernel"]
    assert (bar.value, bar.bar) == (pytest.approx(8.5), None)


def test_ours_stands_beside_the_published_numbers_with_both_scales():
    lines = DESIGN.markdown(DESIGN.rows(FOUND)).splitlines()
    assert lines[:6] == [
        "Ours: ListOps up to 256, 4 x 64, 6,000 training and 2,000 test examples, epochs: 3, "
        "seeds: 3. Published: ListOps of 2,048 tokens, full size.",
        "",
        "| design | ours, test accuracy (%) | published: ListOps of 2,048 tokens (%) | parameters "
        "| operations, million | training steps, sequences/s | merged inference, sequences/s |",
        "|---|---|---|---|---|---|---|",
        "| dense | 31.33 (seeds within 3.00) | 49.25 | 12,345 | 2.5 | 100 | 1,000 |",
        "| + multi-resolution | 35.00 | 53.15 | 12,345 | - | 100 | 1,000 |",
    ]
    assert lines[6] == "| + Fourier | - | 57.05 | - | - | - | - |"
    assert (
        "design, ListOps up to 256, mean difference: MRConv less one dense kernel: +7.67 points, "
        "to be more than the spread of 3.00: holds." in lines
    )
    assert "MNIST" not in "\n".join(lines[:9])  # no cell of that task has run


def test_the_table_of_baselines_marks_what_is_only_published():
    rows = BASELINES.rows({MRCONV.format(0): numbers(0.4), "listops, seed 0: s4d": numbers(0.35)})
    lines = BASELINES.markdown(rows).splitlines()
    assert "| MRConv, Fourier | 40.00 | 62.40 | 12,345 | 2.5 | 100 | 1,000 |" in lines
    assert "| S4D | 35.00 | 60.47 | 12,345 | 2.5 | 100 | 1,000 |" in lines
    assert "| MEGA (published only) | - | 63.14* | - | - | - | - |" in lines
    assert "| BST | 61.49* | 87.63* | 90.51* | 91.07* | 95.75* | 95.28* | 86.96* | - | - | - |" in (
        lines
    )
    assert lines[-1] == "\\* not checked against the paper. chance: no better than chance."


COMMON = {"low-passed": 0.9, "energy above": 0.075}
RATES = {
    "speech, seed 0: fourier 16": numbers(
        0.95, unadapted=0.2, **COMMON, **{"half rate": 0.9, "half rate, low-passed": 0.94}
    ),
    "speech, seed 0: dilated 16": numbers(0.95, unadapted=0.3, refused="x", **COMMON),
}


def test_half_the_rate_beside_the_whole():
    rows = SPEECH_RATE.rows(RATES)
    found = {row.name: row for row in rows}
    start = "speech-rate, spoken digits at 8 kHz"
    lost = found[f"{start}, points lost at 4 kHz: Fourier"]
    assert (lost.value, lost.bar, lost.better, lost.holds) == (pytest.approx(5), 3, "lower", False)
    assert lost.explained == (
        "7.5 % of the energy of what the model hears lies above 2 kHz and folds over without a "
        "filter; after a low-pass the model loses 1.0 points"
    )
    assert found[f"{start}, refuses half the rate: dilated"].unit == "of 1 seeds"
    lines = SPEECH_RATE.markdown(rows).splitlines()
    assert "| Fourier | 95.00 | 96.82 | 12,345 | 2.5 | 100 | 1,000 |" in lines
    assert "| Fourier | 95.00 | 90.00 | 90.00 | 94.00 | 20.00 |" in lines
    assert "| dilated | 95.00 | 90.00 | refused | refused | 30.00 |" in lines
    assert lines[-1] == "Share of the energy above 2 kHz: 7.5 %."
    assert "points, to be" not in "\n".join(lines)


def test_changes_are_shared_out_by_task(says):
    given = ["listops.epochs=9", "image.optimizer.lr=1e-3", "listops.data.limit=5"]
    found = task_changes(given, TASKS)
    assert found == {
        "listops": ["epochs=9", "data.limit=5"],
        "image": ["optimizer.lr=1e-3"],
        "speech": [],
    }
    recipe = TASKS["listops"].make_recipe(Path("home"), {"seed": 4}, found["listops"], quick=False)
    assert (recipe.epochs, recipe.seed) == (9, 4)
    assert recipe.values["data"]["path"] == str(Path("home/data/listops-30-256-100000-0"))
    sentence = (
        "table: set must be TASK.KEY=VALUE with a task of listops, image, speech; "
        "got 'listop.epochs=9'. Did you mean 'listops'?"
    )
    with says(ArgumentError, sentence):
        task_changes(["listop.epochs=9"], TASKS)


def test_a_list_of_values_is_one_a_layer():
    mixer = {"name": "dilated", "kernel_size": 4, "dilation": [1, 4, 16]}
    assert mixer_label(mixer) == "dilated, kernel_size 4, dilation 1 4 16"
    assert [one["dilation"] for one in per_layer(mixer, 4)] == [1, 4, 16, 1]
    assert {one["kernel_size"] for one in per_layer(mixer, 4)} == {4}


def test_mixers_in_words():
    assert mixer_label({"kernel": "dilated", "kernel_size": 8}) == "dilated 8"
    assert mixer_label({"name": "multihyena", "num_filters": 8}) == "multihyena, num_filters 8"
