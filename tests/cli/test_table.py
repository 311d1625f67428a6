"""``mrconv table``: cells are run, kept and told."""

from pathlib import Path

import pytest

from mrconv.bench import read_record
from mrconv.experiments.filter_contestants import ABLATION, SHARED
from mrconv.experiments.filter_training import corpus

FOUR = ABLATION[3].name


def test_a_quick_round_and_its_files(mrconv_command, tmp_path):
    out, text = tmp_path / "out", corpus().name
    words = ["table", "filters", "--quick", "--out", out, "--threads", 1]
    only = ["--only", f"seed 0: {SHARED}", "--only", f"{text}: {FOUR}"]
    told = mrconv_command(*words, *only, "--only", f"distillation: {FOUR}")
    assert (told.code, told.err) == (0, "")
    lines = told.out.splitlines()
    assert lines[:3] == [
        f"cell 1 of 3: recall, seed 0: {SHARED}",
        f"cell 2 of 3: bits per byte, {text}: {FOUR}",
        f"cell 3 of 3: distillation: {FOUR}",
    ]
    assert f"table: {out / 'table.md'}" in lines
    assert (out / "table.md").read_text() in told.out
    files = ["--json", tmp_path / "a.json", "--picture", tmp_path / "a.svg"]
    again = mrconv_command(*words, *only, *files)
    assert again.code == 0
    assert [line for line in again.out.splitlines() if line.startswith("cell")] == [
        f"cell 1 of 2: recall, seed 0: {SHARED}, kept",
        f"cell 2 of 2: bits per byte, {text}: {FOUR}, kept",
    ]
    record = read_record(tmp_path / "a.json")
    assert (record.bench, record.command) == ("language", "mrconv table filters --quick")
    values = {row.name: row.value for row in record.rows}
    assert 4 < values[f"bits per byte, {text}: {FOUR}"] < 10
    assert values[f"filters to distil: {FOUR}"] == 8  # two layers of 16 / 4
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")


def test_a_cell_that_fails_makes_the_exit_code_1(mrconv_command, tmp_path):
    only = f"distillation: {FOUR}"
    told = mrconv_command("table", "filters", "--quick", "--out", tmp_path, "--only", only)
    assert (told.code, told.err) == (1, "")
    text = corpus().name
    assert told.out.splitlines()[-1] == (
        f"failed: {only}: table: '{only}' must run after 'bits per byte, {text}: {FOUR}'; got no "
        "result of that cell with these settings. Run it first."
    )


def test_cells_are_named_without_running(mrconv_command, tmp_path):
    words = ["table", "filters", "--out", tmp_path / "none", "--list", "--only", "speed"]
    told = mrconv_command(*words)
    assert (told.code, told.out) == (0, "speed\n")
    assert not (tmp_path / "none").exists()


def test_mistakes_are_one_line(mrconv_command, tmp_path):
    told = mrconv_command("table", "filters", "--out", tmp_path, "--picture", "a.pdf")
    assert (told.code, told.err) == (
        2,
        "error: bench: picture must end in .svg or .png; got 'a.pdf'. Name it bench.svg.\n",
    )
    told = mrconv_command("table", "filters", "--out", tmp_path, "--threads", 0)
    assert told.code == 2
    assert mrconv_command("table", "nothing").code == 2


@pytest.mark.slow
def test_the_whole_grid_on_tiny_models(mrconv_command, tmp_path):
    told = mrconv_command("table", "filters", "--quick", "--out", tmp_path, "--threads", 1)
    assert told.code == 0
    head, _, *lines = (tmp_path / "table.md").read_text().split("\n\n")[0].splitlines()
    assert len(lines) >= 7
    assert {line.count("|") for line in (head, *lines)} == {head.count("|")}
    for line in lines[:5]:  # of the ablation nothing is missing
        assert " - " not in line


def test_an_ablation_runs_and_shares_its_cells(mrconv_command, tmp_path):
    pytest.importorskip("matplotlib", reason="needs: pip install 'mrconv[report]'")
    common = ["--quick", "--threads", 1, "--cells", tmp_path / "cells"]
    words = ["table", "norm", *common, "--out", tmp_path / "norm", "--only", "seed 0: fourier 2,"]
    change = ["--set", "listops.optimizer.lr=1e-3"]
    files = ["--json", tmp_path / "norm.json", "--picture", tmp_path / "norm.svg"]
    told = mrconv_command(*words, *change, *files)
    assert (told.code, told.err) == (0, "")
    lines = told.out.splitlines()
    assert [line for line in lines if line.startswith("cell")] == [
        "cell 1 of 2: listops, seed 0: fourier 2, norm constant",
        "cell 2 of 2: listops, seed 0: fourier 2, norm none",
    ]
    assert "| batch | - | 62.40 | - | - | - | - |" in lines
    assert (tmp_path / "norm" / "table.md").read_text() in told.out
    assert (tmp_path / "norm.svg").read_text().startswith("<?xml")
    record = read_record(tmp_path / "norm.json")
    assert record.bench == "norm"
    assert record.command == "mrconv table norm --quick --set listops.optimizer.lr=1e-3"
    values = {row.name: row.value for row in record.rows}
    start = "norm, ListOps up to 256"
    assert values[f"{start}: training examples"] == 64
    assert values[f"{start}, merged inference: none"] > 0
    shared = mrconv_command("table", "norm", *common, *change, "--out", tmp_path, *words[-2:])
    assert [line for line in shared.out.splitlines() if line.startswith("cell")] == [
        "cell 1 of 2: listops, seed 0: fourier 2, norm constant, kept",
        "cell 2 of 2: listops, seed 0: fourier 2, norm none, kept",
    ]


def test_filters_have_no_tasks_to_change(mrconv_command, tmp_path):
    told = mrconv_command("table", "filters", "--set", "listops.epochs=1", "--out", tmp_path)
    assert told.code == 2
    assert told.err == (
        "error: table: set must be left out for filters, which has no such tasks; "
        "got 'listops.epochs=1'. Leave it out.\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "cell"),
    [
        ("design", "listops, seed 0: dense 256"),
        ("kernel-size", "listops, seed 0: fourier 8"),
        ("kernels", "image, seed 0: dilated 16"),
        ("norm", "listops, seed 0: fourier 2, norm constant"),
        ("combine", "listops, seed 0: fourier 2, combine concat, gains fixed"),
        ("baselines", "listops, seed 0"),
        ("speech-rate", "speech"),
    ],
)
def test_a_tiny_real_cell_of_every_table(mrconv_command, tmp_path, table, cell):
    words = ["table", table, "--quick", "--threads", 1, "--out", tmp_path, "--only", cell]
    if table == "speech-rate":
        recordings = Path(__file__).resolve().parents[3] / "shared" / "data" / "fsdd"
        if not recordings.is_dir():
            pytest.skip("the spoken digits are not in ../shared/data")
        words += ["--set", f"speech.data.path={recordings}"]
    told = mrconv_command(*words)
    assert (told.code, told.err) == (0, "")
    assert "failed" not in told.out
    assert (tmp_path / "table.md").read_text().startswith("Ours: ")
    if table == "speech-rate":
        assert "| refused | refused |" in told.out
