"""``mrconv inspect`` prints what ``summarize`` counts."""

import re

import pytest

import mrconv
from mrconv.data import InputContract
from mrconv.models.summary import summarize


def cells(line):
    return re.split(r"\s{2,}", line.strip())


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("causal", [True, False])
def test_table(mrconv_command, make_model, tmp_path, merged, causal):
    model = make_model(causal=causal)
    model = mrconv.merge(model) if merged else model
    summary = summarize(model)
    told = mrconv_command("inspect", model.save_pretrained(tmp_path / "model"))
    assert (told.code, told.err) == (0, "")
    head, *rows = told.out.splitlines()
    assert cells(head) == [
        "layer",
        "form",
        "kernel",
        "resolutions",
        "taps",
        "parameters",
        "operations (M)",
    ]
    for layer, row in zip(summary.layers, rows[:2], strict=True):
        assert cells(row) == [
            layer.name,
            "LongConv" if merged else "MRConv",
            "taps" if merged else "dense",
            "-" if merged else "4",
            "32" if causal else "32 a side",
            f"{layer.parameters:,}",
            f"{layer.operations / 1e6:.2f}",
        ]
    reach = "63 samples (62 past, 0 future)" if causal else "127 samples (62 past, 64 future)"
    assert rows[2:] == [
        f"parameters: {summary.parameters:,}",
        f"receptive field: {reach}",
        f"operations: {summary.operations / 1e6:,.1f} million for 32 samples",
    ]


def test_a_model_of_frames_is_told_in_steps(mrconv_command, make_model, tmp_path):
    model = make_model()
    model.contract = InputContract("audio", 128, channels=1, sample_rate=8000.0, frame=4)
    told = mrconv_command("inspect", model.save_pretrained(tmp_path / "model"))
    reach, operations = told.out.splitlines()[-2:]
    assert reach == "receptive field: 63 steps of 4 samples (62 past, 0 future)"
    assert operations.endswith(" million for 32 steps of 4 samples")


@pytest.mark.parametrize("merged", [False, True])
def test_html(mrconv_command, model, tmp_path, merged):
    pytest.importorskip("matplotlib", reason="needs: pip install 'mrconv[report]'")
    model = mrconv.merge(model) if merged else model
    saved, page = model.save_pretrained(tmp_path / "model"), tmp_path / "new" / "page.html"
    told = mrconv_command("inspect", saved, "--html", page)
    assert told.code == 0
    assert told.out.splitlines()[-1] == f"page: {page}"
    text = page.read_text()
    assert text.lstrip().lower().startswith("<!doctype html>")
    assert f"mrconv inspect {saved} --html {page}" in text
    assert "backbone.blocks.1.mixer" in text
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", text)  # nothing from outside


@pytest.mark.parametrize("merged", [False, True])
def test_picture(mrconv_command, model, tmp_path, merged):
    pytest.importorskip("matplotlib", reason="needs: pip install 'mrconv[report]'")
    model = mrconv.merge(model) if merged else model
    saved, picture = model.save_pretrained(tmp_path / "model"), tmp_path / "new" / "scales.svg"
    told = mrconv_command("inspect", saved, "--picture", picture)
    assert told.code == 0
    assert told.out.splitlines()[-1] == f"picture: {picture}"
    text = picture.read_text()
    assert "Frequency content of the kernels, by layer" in text
    assert ("Weight of each time scale, by layer" in text) is not merged


def test_no_page_of_a_network_of_images(mrconv_command):
    told = mrconv_command("inspect", "mrconvnext_tiny", "--html", "a.html")
    assert (told.code, told.out) == (2, "")
    assert told.err == (
        "error: inspect: html must be left out for a network of images, which has no trained "
        "kernels to draw; got --html a.html. Leave it out.\n"
    )
