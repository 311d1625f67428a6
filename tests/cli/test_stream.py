"""``mrconv stream``: the answers of the parallel model, for every kind of input and chunk."""

import io
import json
import subprocess
import sys
import wave

import numpy as np
import pytest
import torch
from scipy.signal import resample_poly

import mrconv
from mrconv.data import InputContract

RATE = 8000
SAMPLES = np.random.default_rng(0).integers(-9000, 9000, 150).astype("<i2")


def wave_bytes(samples=SAMPLES, rate=RATE, channels=1):
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setparams((channels, 2, rate, 0, "NONE", ""))
        out.writeframes(samples.tobytes())
    return file.getvalue()


@pytest.fixture
def sound(model):
    """The small model as one of sound."""
    model.contract = InputContract("audio", 32, sample_rate=float(RATE), mean=0.1, std=0.2)
    return model


@pytest.fixture
def saved(sound, tmp_path):
    return sound.save_pretrained(tmp_path / "model")


@pytest.fixture
def recording(tmp_path):
    path = tmp_path / "a.wav"
    path.write_bytes(wave_bytes())
    return path


def prepared(samples=SAMPLES):
    """What the model is given of the samples.                        (1, L, 1)"""
    return torch.from_numpy(((samples / 32768 - 0.1) / 0.2).astype(np.float32))[None, :, None]


def rows_of(told):
    """The answers and the summary that were printed."""
    *rows, last = map(json.loads, told.out.splitlines())
    return rows, last["summary"]


def probabilities(model, row):
    """In the order of the classes."""
    found = {one["label"]: one["probability"] for one in row["leading"]}
    return [found[label] for label in model.labels]


@torch.no_grad()
def assert_rows(model, rows, x):
    """Every row is the model's answer to the samples up to it."""
    for row in rows:
        expected = model(x[:, : row["samples"]]).softmax(-1)[0].tolist()
        assert probabilities(model, row) == pytest.approx(expected, abs=2e-5)


# the same answers


@pytest.mark.parametrize("chunk", [1, 7, 32, 100, 1000])
def test_rows_are_the_models_answers(mrconv_command, sound, saved, recording, chunk):
    told = mrconv_command("stream", saved, recording, "--window", 0, "--chunk", chunk)
    assert (told.code, told.err) == (0, "")
    rows, summary = rows_of(told)
    ends = [min(end, 150) for end in range(chunk, 150 + chunk, chunk)]
    assert [row["samples"] for row in rows] == ends
    assert [row["time"] for row in rows] == [round(end / RATE, 6) for end in ends]
    assert_rows(sound, rows, prepared())
    assert (summary["chunks"], summary["chunk_samples"]) == (len(ends), chunk)
    assert (summary["samples"], summary["seconds"]) == (150, 150 / RATE)
    assert (summary["input"], summary["window"]) == ("taken at 8000 Hz", None)


@torch.no_grad()
def test_default_window_and_chunk(mrconv_command, sound, saved, tmp_path):
    samples = np.random.default_rng(1).integers(-9000, 9000, 1000).astype("<i2")
    (tmp_path / "b.wav").write_bytes(wave_bytes(samples))
    rows, summary = rows_of(mrconv_command("stream", saved, tmp_path / "b.wav"))
    assert [row["samples"] for row in rows] == [160, 320, 480, 640, 800, 960, 1000]
    assert summary["window"] == 32
    features = sound.backbone(prepared(samples))
    for row in rows:
        end = row["samples"]
        expected = sound.head(features[:, end - 32 : end].mean(1)).softmax(-1)[0].tolist()
        assert probabilities(sound, row) == pytest.approx(expected, abs=2e-5)


def test_latency_is_that_of_the_chunks(mrconv_command, saved, recording):
    rows, summary = rows_of(mrconv_command("stream", saved, recording, "--chunk", 50))
    taken = sorted(row["latency_ms"] for row in rows)
    assert summary["latency_ms"] == {"median": taken[1], "p99": taken[2]}
    faster = 1000 * summary["seconds"] / sum(taken)
    assert summary["times_real_time"] == pytest.approx(faster, rel=0.01, abs=0.01)


@pytest.mark.parametrize(("rate", "up", "down"), [(16000, 1, 2), (11025, 320, 441)])
def test_another_rate_is_resampled(mrconv_command, sound, saved, tmp_path, rate, up, down):
    (tmp_path / "b.wav").write_bytes(wave_bytes(rate=rate))
    words = ["stream", saved, tmp_path / "b.wav", "--window", 0]
    x = torch.from_numpy(resample_poly(prepared().double().numpy(), up, down, axis=1)).float()
    for options in ([], ["--chunk", 7]):
        rows, summary = rows_of(mrconv_command(*words, *options))
        assert summary["input"] == f"resampled from {rate} Hz to 8000 Hz"
        assert rows[-1]["samples"] == x.shape[1] == summary["samples"]
        assert rows[-1]["time"] == round(x.shape[1] / RATE, 6)
        assert_rows(sound, rows, x)
    assert len(rows) > 10


def test_half_the_rate_by_the_kernels(mrconv_command, make_model, tmp_path, recording):
    model = make_model(kernel="fourier", kernel_size=8)
    model.contract = InputContract("audio", 32, sample_rate=2.0 * RATE, mean=0.1, std=0.2)
    saved = model.save_pretrained(tmp_path / "half")
    words = [saved, recording, "--window", 0, "--chunk", 30]
    rows, summary = rows_of(mrconv_command("stream", *words))
    assert summary["input"] == "taken at 8000 Hz by kernels thinned by 2"
    assert rows[-1]["time"] == 150 / RATE
    assert_rows(mrconv.merge(model, rate=2), rows, prepared())
    told = mrconv_command("predict", saved, recording)
    best = rows[-1]["leading"][0]
    assert told.out.splitlines()[1] == f"{recording},0,{best['label']},{best['probability']:.4f}"


@pytest.mark.parametrize("form", ["s16le", "f32le", "wav"])
def test_a_pipe_equals_the_file(mrconv_command, saved, recording, form):
    content = {"s16le": SAMPLES, "f32le": (SAMPLES / 32768).astype("<f4")}
    data = wave_bytes() if form == "wav" else content[form].tobytes()
    words = ["stream", str(saved), "-", "--format", form, "--chunk", "40"]
    words += [] if form == "wav" else ["--rate", str(RATE)]
    command = [sys.executable, "-m", "mrconv", *words]
    told = subprocess.run(command, input=data, capture_output=True, check=True)
    assert told.stderr == b""
    rows = [json.loads(line) for line in told.stdout.splitlines()[:-1]]
    expected, _ = rows_of(mrconv_command("stream", saved, recording, "--chunk", 40))
    assert len(rows) == len(expected) == 4
    for row, other in zip(rows, expected, strict=True):
        del row["latency_ms"], other["latency_ms"]
        assert row == other


@pytest.mark.parametrize("name", ["a.npy", "a.csv"])
def test_series_equal_the_recording(mrconv_command, sound, saved, tmp_path, name):
    path, values = tmp_path / name, SAMPLES / 32768
    if name == "a.npy":
        np.save(path, values)
    else:
        np.savetxt(path, values, fmt="%.9f")
    rows, summary = rows_of(mrconv_command("stream", saved, path, "--chunk", 50, "--window", 0))
    assert summary["input"] == "taken at 8000 Hz"
    assert_rows(sound, rows, prepared())
    told = mrconv_command("stream", saved, path, "--rate", 16000)
    assert rows_of(told)[1]["input"] == "resampled from 16000 Hz to 8000 Hz"


def test_a_model_without_a_rate(mrconv_command, make_model, tmp_path):
    model = make_model()
    model.contract = InputContract("series", 600)
    np.save(tmp_path / "a.npy", np.arange(20.0))
    saved = model.save_pretrained(tmp_path / "plain")
    rows, summary = rows_of(mrconv_command("stream", saved, tmp_path / "a.npy"))
    assert [row["samples"] for row in rows] == [6, 12, 18, 20]  # a hundredth of the length
    assert {row["time"] for row in rows} == {None}
    assert (summary["seconds"], summary["times_real_time"]) == (None, None)
    assert summary["input"] == "taken as they come"


@pytest.mark.parametrize("rate", [8000, 16000, 11025])
def test_predict_gives_the_last_answer(mrconv_command, saved, tmp_path, rate):
    path, stereo = tmp_path / "b.wav", tmp_path / "stereo.wav"
    path.write_bytes(wave_bytes(rate=rate))
    stereo.write_bytes(wave_bytes(channels=2))
    rows, _ = rows_of(mrconv_command("stream", saved, path, "--window", 0))
    best = rows[-1]["leading"][0]
    told = mrconv_command("predict", saved, stereo, path)
    answer = f"{path},0,{best['label']},{best['probability']:.4f}"
    assert told.out.splitlines() == ["file,series,label,probability", answer]
    assert told.code == 1
    assert told.err == (
        f"unreadable: {stereo}: must have as many channels as the model was trained with, 1; "
        "got 2. Choose or mix channels first, for sound with: ffmpeg -i IN -ac 1 OUT.wav\n"
    )


# every head


def head(name, tokens=False):
    torch.manual_seed(5)
    features = 5 if tokens else 1
    backbone = mrconv.SequenceBackbone(features, 32, channels=4, depth=1, tokens=tokens)
    return {
        "classifier": lambda: mrconv.SequenceClassifier(backbone, 4),
        "regressor": lambda: mrconv.SequenceRegressor(backbone, 2),
        "labeller": lambda: mrconv.SequenceLabeller(backbone, 4),
        "forecaster": lambda: mrconv.Forecaster(backbone, 3, features=2),
    }[name]().eval()


@pytest.mark.parametrize("name", ["regressor", "labeller", "forecaster"])
@torch.no_grad()
def test_values_of_other_heads(mrconv_command, tmp_path, name):
    model, values = head(name), np.random.default_rng(2).normal(size=30)
    np.save(tmp_path / "a.npy", values)
    words = [model.save_pretrained(tmp_path / "model"), tmp_path / "a.npy", "--chunk", 7]
    told = mrconv_command("stream", *words, "--top", 4)
    assert (told.code, told.err) == (0, "")
    x = torch.from_numpy(values).float()[None, :, None]
    rows, summary = rows_of(told)
    assert [row["samples"] for row in rows] == [7, 14, 21, 28, 30]
    assert summary["window"] == (32 if name == "regressor" else None)
    for row in rows:
        outputs = model(x[:, : row["samples"]])[0]
        if name == "labeller":
            expected = outputs[-1].softmax(-1)
            for one in row["leading"]:
                wanted = float(expected[int(one["label"])])
                assert one["probability"] == pytest.approx(wanted, abs=1e-5)
        else:
            torch.testing.assert_close(torch.tensor(row["values"]), outputs, rtol=1e-4, atol=1e-5)


def test_tokens(mrconv_command, tmp_path):
    model = head("classifier", tokens=True)
    model.labels = ("a", "b", "c", "d")
    (tmp_path / "a.csv").write_text("1\n4\n0\n2\n3\n")
    saved = model.save_pretrained(tmp_path / "model")
    told = mrconv_command("stream", saved, tmp_path / "a.csv", "--chunk", 2, "--top", 9)
    rows, _ = rows_of(told)
    assert [row["samples"] for row in rows] == [2, 4, 5]
    assert_rows(model, rows, torch.tensor([[1, 4, 0, 2, 3]]))


def test_the_leading_classes(mrconv_command, sound, saved, recording):
    for top, shown in ((1, 1), (2, 2), (9, 3)):
        rows, _ = rows_of(mrconv_command("stream", saved, recording, "--top", top))
        leading = [one["probability"] for one in rows[0]["leading"]]
        assert len(leading) == shown
        assert leading == sorted(leading, reverse=True)


def test_explain(mrconv_command, sound, saved, recording):
    from mrconv.models.attribution import resolution_shares

    told = mrconv_command("stream", saved, recording, "--explain", "--chunk", 50, "--window", 20)
    rows, _ = rows_of(told)
    for row in rows:
        expected = resolution_shares(sound, prepared()[:, : row["samples"]], 20)[0].tolist()
        assert list(row["scales"]) == ["4", "8", "16", "32"]
        assert list(row["scales"].values()) == pytest.approx(expected, abs=1e-4)


# the table


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_table_on_a_terminal(mrconv_command, saved, recording, monkeypatch):
    screen = Terminal()
    words = ["stream", saved, recording, "--chunk", 50, "--top", 2]
    rows, _ = rows_of(mrconv_command(*words))
    monkeypatch.setattr("mrconv.cli.stream_output.PAUSE", 1e9)  # the second answer is passed over
    monkeypatch.setattr(sys, "stdout", screen)
    assert mrconv_command(*words, "--json").code == 0
    assert len(screen.getvalue().splitlines()) == 4
    screen.truncate(0)
    screen.seek(0)
    assert mrconv_command(*words, "--explain").code == 0
    head, *drawn = screen.getvalue().split("\n")
    assert head == "taken at 8000 Hz, in chunks of 50 samples, a window of 32"
    assert drawn[0].startswith("0.01 s  sample 50  ")
    assert [float(line.split()[1]) for line in drawn[1:3]] == [
        pytest.approx(100 * one["probability"], abs=0.06) for one in rows[0]["leading"]
    ]
    assert [line.split()[:2] for line in drawn[3:7]] == [
        ["scale", span] for span in ("4", "8", "16", "32")
    ]
    assert drawn[7].startswith("\x1b[7F\x1b[J0.02 s  sample 150  ")  # redrawn in place
    assert "3 chunks, 150 samples; latency" in drawn[-2]
    assert drawn[-2].endswith("times as fast as real time")


# mistakes, each one sentence


def test_a_file_that_is_cut_off(mrconv_command, saved, tmp_path):
    path = tmp_path / "cut.wav"
    path.write_bytes(wave_bytes()[:-101])
    told = mrconv_command("stream", saved, path, "--chunk", 40)
    assert told.code == 2
    assert [json.loads(line)["samples"] for line in told.out.splitlines()] == [40, 80, 99]
    assert told.err == (
        f"error: {path}: must hold 150 samples as its header says; got 99. "
        "The file is cut off: copy or record it again.\n"
    )


MISTAKES = {
    "stereo.wav": (
        wave_bytes(channels=2),
        "{}: must have as many channels as the model was trained with, 1; got 2. Choose or mix "
        "channels first, for sound with: ffmpeg -i IN -ac 1 OUT.wav",
    ),
    "empty.wav": (
        b"",
        "{}: must be a WAV file, which begins with RIFF and WAVE; got an empty file. "
        "Convert it first: ffmpeg -i IN OUT.wav",
    ),
    "silent.wav": (
        wave_bytes(SAMPLES[:0]),
        "{}: must hold at least one sample; got none. Record or convert it again.",
    ),
    "empty.csv": (b"", "{}: must hold at least one sample; got none. Remove the file."),
    "bad.csv": (
        b"1\n2\nx\n",
        "{}: every line must hold as many numbers as the first; got could not convert string to "
        "float: 'x'. Remove text columns and fill missing values.",
    ),
    "missing.csv": (
        b"1\n2\nnan\n4\n",
        "input: values must be finite; got [nan] at sample 2. Fill or remove missing values first.",
    ),
    "wide.csv": (
        b"1,2\n3,4\n5,6\n",
        "{}: must hold one series, a line a sample and a column a channel; got 3 series. "
        "Pass each in a file of its own.",
    ),
    "a.mp3": (
        b"",
        "{}: files must end in .wav, .npy, .npz, .csv; got '.mp3'. Convert the file first.",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_files_that_cannot_be_streamed(mrconv_command, saved, tmp_path, name):
    content, sentence = MISTAKES[name]
    path = tmp_path / name
    path.write_bytes(content)
    told = mrconv_command("stream", saved, path)
    assert (told.code, told.out) == (2, "")
    assert told.err == f"error: {sentence.format(path)}\n"


PIPES = {
    "rate": (
        b"",
        (),
        "standard input: the rate of raw samples must be given, because the model runs at 8000 "
        "Hz; got none. Add --rate, in Hz.",
    ),
    "channels": (
        b"",
        ("--rate", 8000, "--channels", 2),
        "standard input: must have as many channels as the model was trained with, 1; got 2. "
        "Choose or mix channels first, for sound with: ffmpeg -i IN -ac 1 OUT.wav",
    ),
    "empty": (
        b"",
        ("--rate", 8000),
        "standard input: must hold at least one sample; got none. Record again.",
    ),
    "half": (
        b"123",
        ("--rate", 8000, "--format", "f32le"),
        "standard input: must end with a whole sample of 4 bytes; got 3 bytes behind sample 0. "
        "Check the format and the number of channels, or record again.",
    ),
}


@pytest.mark.parametrize("name", PIPES)
def test_pipes_that_cannot_be_streamed(mrconv_command, saved, monkeypatch, name):
    content, words, sentence = PIPES[name]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    told = mrconv_command("stream", saved, "-", *words)
    assert (told.code, told.out) == (2, "")
    assert told.err == f"error: {sentence}\n"


WORDS = {
    ("--chunk", 0): "stream: chunk must be at least 1; got chunk=0. Pass a larger chunk.",
    ("--chunk-ms", 0): "stream: chunk-ms must be above 0; got 0. Pass a time in milliseconds.",
    ("--top", 0): "stream: top must be at least 1; got top=0. Pass a larger top.",
    ("--threads", 0): "stream: threads must be at least 1; got threads=0. Pass a larger threads.",
    ("--window", -1): "stream: window must be at least 0; got window=-1. Pass a larger window.",
    ("--rate", 100): "{}: the rate must be left out, because the header has it, 8000 Hz; got 100. "
    "Remove --rate.",
}


@pytest.mark.parametrize("words", WORDS)
def test_wrong_words(mrconv_command, saved, recording, words):
    told = mrconv_command("stream", saved, recording, *words)
    assert (told.code, told.out) == (2, "")
    assert told.err == f"error: {WORDS[words].format(recording)}\n"


@pytest.mark.parametrize("option", ["--realtime", "--chunk-ms"])
def test_an_unknown_rate(mrconv_command, tmp_path, option):
    np.save(tmp_path / "a.npy", np.zeros(20))
    saved = head("regressor").save_pretrained(tmp_path / "model")
    words = [option, 5] if option == "--chunk-ms" else [option]
    told = mrconv_command("stream", saved, tmp_path / "a.npy", *words)
    assert (told.code, told.out) == (2, "")
    assert told.err == (
        f"error: stream: the rate of the samples must be known for {option}; got none from the "
        "input or the model. Add --rate, in Hz.\n"
    )


def test_models_that_cannot_be_streamed_or_explained(
    mrconv_command, sound, make_model, tmp_path, recording
):
    two_sided = make_model(causal=False).save_pretrained(tmp_path / "two")
    assert mrconv_command("stream", two_sided, recording).err == (
        "error: Streamer: every layer must be causal, because a stream has no future; "
        "got causal=False. Build the model with causal=True.\n"
    )
    merged = mrconv.merge(sound).save_pretrained(tmp_path / "merged")
    assert mrconv_command("stream", merged, recording, "--explain").err == (
        "error: resolution_shares: the model must be in eval mode, in branches form, with equal "
        "resolutions in all layers; got training=False, resolutions []. Load the unmerged model.\n"
    )


# how it ends


def test_a_reader_that_left(saved, tmp_path):
    long = tmp_path / "long.wav"
    long.write_bytes(wave_bytes(np.tile(SAMPLES, 100)))
    command = [sys.executable, "-m", "mrconv", "stream", str(saved), str(long), "--chunk", "1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert json.loads(process.stdout.readline())["samples"] == 1
    process.stdout.close()
    told = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 1
    start, _, end = told.partition(" that left after ")
    assert start == "stream: the output must have a reader; got one"
    count, _, rest = end.partition(" ")
    assert 1 <= int(count) < 15000
    assert rest == "answers. What came before is whole.\n"


def test_interruption_ends_with_the_summary(mrconv_command, saved, recording, monkeypatch):
    from mrconv.models.live import LiveModel

    answers = LiveModel.answers

    def interrupted(self, blocks):
        for count, answer in enumerate(answers(self, blocks)):
            if count == 2:
                raise KeyboardInterrupt
            yield answer

    monkeypatch.setattr(LiveModel, "answers", interrupted)
    told = mrconv_command("stream", saved, recording, "--chunk", 10)
    assert told.code == 130
    rows, summary = rows_of(told)
    assert (len(rows), summary["chunks"]) == (2, 2)


def test_realtime(mrconv_command, saved, recording, monkeypatch):
    from mrconv.data import sources

    waited = []
    monkeypatch.setitem(sources.paced.__kwdefaults__, "sleep", waited.append)
    monkeypatch.setitem(sources.paced.__kwdefaults__, "now", lambda: 0.0)
    told = mrconv_command("stream", saved, recording, "--chunk", 50, "--realtime")
    assert told.code == 0
    assert waited == [50 / RATE, 100 / RATE, 150 / RATE]
