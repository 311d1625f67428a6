"""``mrconv distill``, and that the distilled model loads and predicts."""

import json

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
