"""The streaming example on a few made recordings: what it measures, streams and writes."""

import json
import wave

import numpy as np
import pytest
import torch

import mrconv
from mrconv.data import SpokenDigits
from mrconv.data.wave import read_wave
from mrconv.experiments.spoken import hear, one_of_each, run_spoken_demo

pytest.importorskip("lightning", reason="the demo trains with Lightning")
pytest.importorskip("matplotlib", reason="the demo writes a page with pictures")

SMALL = [
    "epochs=1",
    "data.length=512",
    "data.speeds=[1.0]",
    "model.backbone.length=512",
    "model.backbone.channels=8",
    "model.backbone.depth=1",
]


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """A folder of two speakers; every digit has a pitch of its own."""
    folder = tmp_path_factory.mktemp("fsdd")
    (folder / "recordings").mkdir()
    for digit in range(10):
        for speaker in ("anna", "bert"):
            for index in (*range(5), 5, 10):
                tone = 8000 * np.sin(np.arange(400 + 40 * index) * (digit + 1) / 8)
                with wave.open(f"{folder}/recordings/{digit}_{speaker}_{index}.wav", "wb") as file:
                    file.setparams((1, 2, 8000, 0, "NONE", ""))
                    file.writeframes(tone.astype("<i2").tobytes())
    return folder


@pytest.fixture(scope="module")
def demo(digits, tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "spoken"
    return run_spoken_demo(digits, out, SMALL, command="mrconv demo --audio PATH")


def test_one_of_each(digits):
    names = [file.stem for file in one_of_each(SpokenDigits(str(digits)))]
    assert names == [f"{i}_{('anna', 'bert')[i % 2]}_0" for i in range(10)]


@torch.no_grad()
def test_answers_are_the_models(demo, digits):
    model = mrconv.load(demo.folder / "model")
    file = digits / "recordings" / "3_anna_4.wav"
    heard = hear(model, file)
    samples, _ = read_wave(file)
    x = torch.from_numpy(model.contract.prepare(samples))[None]
    assert [answer.samples for answer in heard.answers] == [160, 320, 480, 560]
    features = model.backbone(x)
    for answer in heard.answers:
        pooled = features[:, : answer.samples][:, -512:].mean(1)
        torch.testing.assert_close(answer.outputs, model.head(pooled)[0], rtol=1e-4, atol=1e-5)


def test_metrics(demo, digits):
    metrics = json.loads((demo.folder / "metrics.json").read_text())
    assert metrics["merge_holds"]
    assert metrics["merge_difference"] < 1e-5
    model, stream = mrconv.load(demo.folder / "model"), metrics["stream"]
    right = 0
    for digit, file in enumerate(one_of_each(SpokenDigits(str(digits)))):
        x = torch.from_numpy(model.contract.prepare(read_wave(file)[0]))[None]
        right += int(model.predict(x)) == digit
    assert (stream["recordings"], stream["right"]) == (10, right)
    assert stream["chunk_seconds"] == 0.02
    assert 0 < stream["latency_ms"]["median"] <= stream["latency_ms"]["p99"]
    assert stream["times_real_time"] > 0
    assert model.metrics["test_accuracy"] == metrics["test_accuracy"]


def test_page(demo):
    page = (demo.folder / "report.html").read_text()
    headings = ["While they come in", "Which time scales decided", "Training", "Layers", "Kernels"]
    for heading in [*headings, "Mistakes", "Merged against branches", "Repeat"]:
        assert f">{heading}<" in page
    assert "mrconv demo --audio PATH" in page
    assert page.count("<figure") >= 6


def test_command_line(demo, digits, monkeypatch, capsys):
    from mrconv.cli import main

    asked = []

    def run(*words, **options):
        asked.append((words, options["command"]))
        return demo

    monkeypatch.setattr("mrconv.experiments.spoken.run_spoken_demo", run)
    assert main(["demo", "--audio", str(digits), "--epochs", "2"]) == 0
    command = f"mrconv demo --audio {digits} --out runs/spoken --seed 0 --epochs 2"
    assert asked == [((str(digits), "runs/spoken", ["seed=0", "epochs=2"]), command)]
    out = capsys.readouterr().out
    stream = demo.metrics["stream"]
    assert f"streamed                {stream['right']} of 10 recordings right at their end" in out
    assert f"{stream['times_real_time']:.1f} times as fast as real time" in out
    assert f"  mrconv stream {demo.folder / 'model'} " in out


def test_a_folder_without_recordings(tmp_path, says):
    from mrconv.errors import FileError

    with says(
        FileError,
        f"SpokenDigits: path must be a folder with recordings/*.wav; got {tmp_path}, which has "
        "none. Get it: git clone https://github.com/Jakobovski/free-spoken-digit-dataset",
    ):
        run_spoken_demo(tmp_path, tmp_path / "out", SMALL)
