"""Speech Commands: splits, padding, scaling and rates on made clips and on the real layout."""

import gzip
import io
import wave
from hashlib import md5
from pathlib import Path

import numpy as np
import pytest
import torch

from mrconv.data import SpeechCommands, commands
from mrconv.errors import ArgumentError, FileError

LAYOUT = Path(__file__).parents[3] / "shared" / "data" / "speech_commands_layout"
COMMANDS, SECOND = commands.WORDS[10], commands.SAMPLES
GET = "Get it: http://download.tensorflow.org/data/speech_commands_v0.02.tar.gz."
WORDS = ("no", "yes", "go")
VALIDATION, TEST = "a1_nohash_0", "b2_nohash_1"


def sound(values, rate: int = 16000, channels: int = 1) -> bytes:
    stream = io.BytesIO()
    with wave.open(stream, "wb") as file:
        file.setparams((channels, 2, rate, 0, "NONE", ""))
        file.writeframes(np.asarray(values, "<i2").tobytes())
    return stream.getvalue()


def content() -> dict[str, np.ndarray]:
    """Four clips a word of 8 and fewer samples, 16 bits."""
    noise = np.random.default_rng(0)
    names = [VALIDATION, TEST, "c3_nohash_0", "d4_nohash_0"]
    return {
        f"{word}/{name}.wav": noise.integers(-9000, 9000, 8 - 2 * (i == 3))
        for word in WORDS
        for i, name in enumerate(names)
    }


def files() -> dict[str, bytes]:
    lists = {"validation_list.txt": VALIDATION, "testing_list.txt": TEST}
    return {
        **{name: sound(values) for name, values in content().items()},
        **{
            name: "".join(f"{word}/{clip}.wav\n" for word in (*WORDS, "bed")).encode()
            for name, clip in lists.items()
        },
        "_background_noise_/white.wav": sound([1]),
        "zero/e5_nohash_0.wav": sound([1]),
        "README.md": b"no sound",
    }


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """A second of 8 samples, and three words under the number 10."""
    monkeypatch.setattr(commands, "SAMPLES", 8)
    monkeypatch.setitem(commands.WORDS, 10, WORDS)


def write(folder: Path, held: dict[str, bytes]) -> Path:
    for name, one in held.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(one)
    return folder


@pytest.fixture(params=["folder", "archive"])
def made(tmp_path, request, tar_of):
    if request.param == "folder":
        return write(tmp_path / "sounds", files())
    path = tmp_path / "sounds.tar.gz"
    path.write_bytes(gzip.compress(tar_of({f"./{name}": one for name, one in files().items()})))
    return path


def clips_of(part: str) -> list[tuple[int, np.ndarray]]:
    """Word and padded values of every clip of a split, in order."""
    kept = {"validation": [VALIDATION], "test": [TEST]}.get(part, ["c3_nohash_0", "d4_nohash_0"])
    return [
        (y, np.pad(values := content()[f"{word}/{name}.wav"] / 32768, (0, 8 - len(values))))
        for y, word in enumerate(WORDS)
        for name in kept
    ]


@pytest.mark.parametrize("part", ["train", "validation", "test"])
@pytest.mark.parametrize("rate", [16000, 8000])
@pytest.mark.parametrize("deviation", [1.0, 0.2])
def test_clips_of_each_split(made, part, rate, deviation):
    source = SpeechCommands(str(made), 10, rate, deviation=deviation, verify=False)
    splits = source.load()
    train = np.stack([values for _, values in clips_of("train")])
    mean, std = train.mean(), (train.std() + 1e-5) / deviation
    examples, expected = splits[part], clips_of(part)
    assert examples.x.dtype == torch.float32
    assert examples.lengths is None
    assert examples.y.tolist() == [y for y, _ in expected]
    values = np.stack([values for _, values in expected])[:, :: 16000 // rate, None]
    scaled = torch.from_numpy((values - mean) / std)
    torch.testing.assert_close(examples.x.double(), scaled, rtol=1e-6, atol=1e-6)
    contract = splits.contract
    assert (contract.mean, contract.std) == pytest.approx((mean, std))
    assert (contract.kind, contract.length) == ("audio", rate * 8 // 16000)
    assert contract.sample_rate == rate
    assert splits.labels == WORDS


def test_words_of_the_set():
    assert COMMANDS == ("yes", "no", "up", "down", "left", "right", "on", "off", "stop", "go")
    assert SECOND == 16000
    assert len(set(commands.WORDS[35])) == 35
    assert commands.WORDS[35][:5] == ("bed", "cat", "down", "five", "forward")
    assert commands.WORDS[35][-2:] == ("wow", "zero")


# settings


@pytest.mark.parametrize(
    ("name", "value", "known"), [("words", 12, "35 or 10"), ("rate", 4000, "16000 or 8000")]
)
def test_choices(says, name, value, known):
    sentence = f"SpeechCommands: {name} must be {known}; got {value}. Use {known.split()[0]}."
    with says(ArgumentError, sentence):
        SpeechCommands("anywhere", **{name: value})


@pytest.mark.parametrize("deviation", [0.0, -1.0, float("nan")])
def test_deviation(says, deviation):
    sentence = f"SpeechCommands: deviation must be positive; got {deviation}. Use 1."
    with says(ArgumentError, sentence):
        SpeechCommands("anywhere", deviation=deviation)


# what is refused


@pytest.fixture
def refuses(says, tmp_path):
    """Reads changed files from a folder."""

    def check(changed: dict[str, bytes], sentence: str) -> None:
        folder = write(tmp_path / "changed", changed)
        with says(FileError, sentence.format(folder=folder)):
            SpeechCommands(str(folder), 10).load()

    return check


@pytest.mark.parametrize("name", ["validation_list.txt", "testing_list.txt"])
def test_a_missing_split_list(refuses, name):
    held = {key: one for key, one in files().items() if key != name}
    sentence = f"SpeechCommands: {{folder}} must hold the list {name}; got no such file. {GET}"
    refuses(held, sentence)


def test_a_listed_clip_is_missing(refuses):
    held = files()
    held.pop(f"go/{TEST}.wav")
    sentence = (
        "SpeechCommands: {folder} must hold every clip that its lists name; got no "
        f"go/{TEST}.wav. {GET}"
    )
    refuses(held, sentence)


def test_a_word_is_missing(refuses):
    held = {name: one for name, one in files().items() if not name.startswith("yes/c3")}
    held.pop("yes/d4_nohash_0.wav")
    sentence = (
        "SpeechCommands: {folder} must hold clips of every word for the split train; got none of "
        f"'yes'. {GET}"
    )
    refuses(held, sentence)


@pytest.mark.parametrize(
    ("clip", "got"),
    [
        (sound([1] * 9), "16000 Hz, 1 and 9"),
        (sound([1] * 8, 8000), "8000 Hz, 1 and 8"),
        (sound([1] * 8, channels=2), "16000 Hz, 2 and 4"),
    ],
)
def test_other_sound(refuses, clip, got):
    sentence = (
        "SpeechCommands: no/c3_nohash_0.wav must have 16000 Hz, 1 channel and at most 8 samples; "
        f"got {got}. {GET}"
    )
    refuses(files() | {"no/c3_nohash_0.wav": clip}, sentence)


def test_a_damaged_clip(refuses):
    sentence = (
        "SpeechCommands: no/c3_nohash_0.wav: must hold 8 samples as its header says; got 7. "
        "The file is cut off: copy or record it again."
    )
    refuses(files() | {"no/c3_nohash_0.wav": sound([1] * 8)[:-1]}, sentence)


def test_a_truncated_archive(tmp_path, says, tar_of):
    path = tmp_path / "sounds.tar"
    path.write_bytes(tar_of(files())[:2200])
    sentence = (
        "SpeechCommands: path must be a folder or a whole .tar, .tar.gz or .zip file; got "
        f"{path}, unexpected end of data. {GET}"
    )
    with says(FileError, sentence):
        SpeechCommands(str(path), 10, verify=False).load()


def test_the_wrong_checksum(tmp_path, says, tar_of):
    path = tmp_path / "sounds.tar"
    path.write_bytes(tar_of(files()))
    digest = md5(path.read_bytes()).hexdigest()
    sentence = (
        f"SpeechCommands: {path} must have the published MD5 sum "
        f"6b74f3901214cb2c2934e98196829835; got {digest}. {GET} "
        "Or pass verify=False for an archive of your own."
    )
    with says(FileError, sentence):
        SpeechCommands(str(path), 10).load()


# the real layout, with synthetic speech


@pytest.mark.skipif(
    not LAYOUT.is_dir(), reason="needs the clips in ../shared/data/speech_commands_layout"
)
@pytest.mark.parametrize(("rate", "length"), [(16000, 16000), (8000, 8000)])
def test_the_layout_of_the_set(monkeypatch, rate, length):
    monkeypatch.setattr(commands, "SAMPLES", 16000)
    splits = SpeechCommands(str(LAYOUT), rate=rate).load()
    for part in ("train", "validation", "test"):
        assert splits[part].x.shape == (35, length, 1)
        assert splits[part].y.tolist() == list(range(35))
    with wave.open(str(LAYOUT / "zero" / "83eff5bb_nohash_0.wav")) as file:
        raw = np.frombuffer(file.readframes(16000), "<i2") / 32768
    prepared = splits.contract.prepare(raw[:: 16000 // rate])
    got = splits.test.x[34, : len(prepared)]
    torch.testing.assert_close(got, torch.from_numpy(prepared), rtol=1e-6, atol=1e-6)
    if rate == 16000:
        assert float(splits.train.x.double().std()) == pytest.approx(1, abs=1e-3)
