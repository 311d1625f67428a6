"""``mrconv merge``, and that the merged model verifies and predicts the same."""

import json

import numpy as np
import pytest
import torch

import mrconv
from mrconv.data import InputContract


def test_writes_the_merged_model(mrconv_command, saved, model, tmp_path):
    out = tmp_path / "merged"
    told = mrconv_command("merge", saved, "-o", out)
    assert (told.code, told.err) == (0, "")
    first, second, *rest = told.out.splitlines()
    for i, line in enumerate((first, second)):
        start = f"backbone.blocks.{i}.mixer: 32 taps, differs by "
        assert line.startswith(start)
        assert line.endswith(" on (2, 8, 49) float32")
        assert float(line.removeprefix(start).split()[0]) < 1e-5
    assert rest == [f"merged model: {out}", f"next: mrconv verify {saved} {out}"]
    merged = mrconv.load(out)
    assert isinstance(merged.backbone.blocks[0].mixer, mrconv.LongConv)
    assert (merged.contract, merged.labels) == (model.contract, model.labels)
    x = torch.randn(2, 32, 1)
    torch.testing.assert_close(merged(x), model(x), rtol=1e-4, atol=1e-5)


def test_merge_verify_predict(mrconv_command, saved, tmp_path):
    out, data = tmp_path / "merged", tmp_path / "a.npy"
    np.save(data, np.random.default_rng(0).normal(0.5, 3.0, size=(20, 32)))
    assert mrconv_command("merge", saved, "-o", out).code == 0
    assert mrconv_command("verify", saved, out, "--data", data).code == 0
    tables = [mrconv_command("predict", folder, data).out for folder in (saved, out)]
    labels = [[line.split(",")[:3] for line in table.splitlines()] for table in tables]
    assert labels[0] == labels[1]
    assert len({label for _, _, label in labels[0][1:]}) > 1


def test_merging_twice_changes_nothing(mrconv_command, saved, tmp_path):
    once, twice = tmp_path / "once", tmp_path / "twice"
    mrconv_command("merge", saved, "-o", once)
    told = mrconv_command("merge", once, "-o", twice)
    assert told.code == 0
    assert told.out.splitlines()[0] == "backbone.blocks.0.mixer: 32 taps, was merged already"
    for name in ("model.safetensors", "config.json"):
        assert (once / name).read_bytes() == (twice / name).read_bytes()


def test_half_the_rate(mrconv_command, make_model, tmp_path):
    model = make_model(kernel="fourier", kernel_size=8)
    model.contract = InputContract("audio", 32, sample_rate=16000.0)
    saved, out = model.save_pretrained(tmp_path / "model"), tmp_path / "half"
    told = mrconv_command("merge", saved, "--out", out, "--rate", 2)
    assert told.code == 0
    assert told.out.startswith("backbone.blocks.0.mixer: 16 taps, ")
    merged = mrconv.load(out)
    assert merged.contract.sample_rate == 8000.0
    expected = model.backbone.blocks[0].mixer.reparameterize(rate=2).taps
    torch.testing.assert_close(merged.backbone.blocks[0].mixer.taps, expected)
    assert json.loads((out / "config.json").read_text())["input"]["sample_rate"] == 8000.0


def test_no_other_rate_of_frames(mrconv_command, make_model, tmp_path):
    model = make_model(kernel="fourier", kernel_size=8)
    model.contract = InputContract("audio", 32, sample_rate=16000.0, frame=8)
    saved, out = model.save_pretrained(tmp_path / "model"), tmp_path / "half"
    told = mrconv_command("merge", saved, "--out", out, "--rate", 2)
    assert (told.code, told.out) == (2, "")
    assert told.err == (
        "error: merge: rate must be 1 for a model of frames, 8 samples side by side; got rate=2. "
        "Resample the input to the rate of training.\n"
    )


def test_a_rate_that_the_kernels_cannot_have(mrconv_command, saved, tmp_path):
    told = mrconv_command("merge", saved, "-o", tmp_path / "half", "--rate", 2)
    assert (told.code, told.out) == (2, "")
    assert told.err == (
        "error: DenseKernel: rate must be 1, because its taps are not band-limited; got rate=2. "
        "Use kernel='fourier', or resample the input to the training rate.\n"
    )
    assert not (tmp_path / "half").exists()


@pytest.mark.parametrize("rate", ["two", "1.5", ""])
def test_a_rate_that_is_no_number(mrconv_command, saved, tmp_path, rate):
    told = mrconv_command("merge", saved, "-o", tmp_path / "half", "--rate", rate)
    assert told.code == 2
    assert f"argument --rate: invalid int value: {rate!r}" in told.err


def test_a_folder_that_cannot_be_made(mrconv_command, saved, tmp_path):
    (tmp_path / "file").write_text("in the way")
    told = mrconv_command("merge", saved, "-o", tmp_path / "file")
    assert told.code in (1, 2)
    assert told.err.startswith("error: ")
