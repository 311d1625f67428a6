"""Spoken digits: split, padding, scaling and labels on made recordings, and the real ones."""

import wave
from pathlib import Path

import numpy as np
import pytest
import torch

from mrconv.data import InputContract, SpokenDigits
from mrconv.errors import ArgumentError, FileError

REAL = Path(__file__).parents[3] / "shared" / "data" / "fsdd"
ROWS = {"test": (0, 5), "validation": (5, 10), "train": (10, 50)}
GET = "Get it: git clone https://github.com/Jakobovski/free-spoken-digit-dataset"
needs_real = pytest.mark.skipif(
    not (REAL / "recordings").is_dir(), reason="needs the recordings in ../shared/data/fsdd"
)


def write(path: Path, integers, rate: int = 8000, channels: int = 1) -> None:
    with wave.open(str(path), "wb") as file:
        file.setparams((channels, 2, rate, 0, "NONE", ""))
        file.writeframes(np.asarray(integers, "<i2").tobytes())


def content(digit: int, speaker: str, index: int) -> list[int]:
    """A recording that tells which one it is; lengths from 1 to 50."""
    return [100 * digit + (speaker == "bo")] * index + [-1000 - index]


@pytest.fixture
def made(tmp_path) -> Path:
    """Two digits by two speakers, with a gap in the digits and files beside the recordings."""
    (tmp_path / "recordings").mkdir()
    for digit in (7, 0):
        for speaker in ("ann", "bo"):
            for index in range(50):
                name = f"{digit}_{speaker}_{index}.wav"
                write(tmp_path / "recordings" / name, content(digit, speaker, index))
    (tmp_path / "recordings" / "README.md").write_text("no recording")
    (tmp_path / "metadata.py").write_text("no recording")
    return tmp_path


def levels(x):
    """The 16-bit values of a row as the model is given it."""
    companded = x.double() * 0.332
    return companded.sign() * (256.0 ** companded.abs() - 1) / 255 * 32768


@pytest.mark.parametrize("part", ROWS)
@pytest.mark.parametrize("length", [60, 20, 1])
def test_rows_of_each_split(made, part, length):
    examples = SpokenDigits(str(made), length).load()[part]
    expected = [
        (digit, content(digit, speaker, index)[:length])
        for digit in (0, 7)
        for speaker in ("ann", "bo")
        for index in range(*ROWS[part])
    ]
    assert examples.x.dtype == torch.float32
    assert examples.x.shape == (len(expected), length, 1)
    assert examples.y.dtype == examples.lengths.dtype == torch.int64
    assert examples.y.tolist() == [digit for digit, _ in expected]
    assert examples.lengths.tolist() == [len(kept) for _, kept in expected]
    for row, (_, kept) in enumerate(expected):
        values = levels(examples.x[row, :, 0])
        padded = torch.tensor(kept + [0] * (length - len(kept)), dtype=torch.float64)
        torch.testing.assert_close(values, padded, rtol=3e-6, atol=1e-12)


def test_what_describes_it(made):
    splits = SpokenDigits(str(made), 30).load()
    assert splits.contract == InputContract(
        "audio", 30, sample_rate=8000.0, std=0.332, companding=255.0
    )
    assert splits.labels == tuple("0123456789")
    assert SpokenDigits(str(made)).load().contract.length == 4096


def test_the_contract_prepares_a_file_as_the_examples(made):
    splits = SpokenDigits(str(made), 30).load()
    raw = np.array(content(7, "bo", 12)) / 32768
    row = 3 * 40 + 2  # digit 7 and speaker bo come last; training starts with index 10
    prepared = torch.from_numpy(splits.contract.prepare(raw))
    assert torch.equal(splits.train.x[row, :13], prepared)


def test_samples_side_by_side(made):
    plain, framed = (SpokenDigits(str(made), 21, frame=n).load() for n in (1, 4))
    assert framed.contract.features == 4
    for part in ROWS:
        one, other = plain[part], framed[part]
        assert other.x.shape == (len(one), 6, 4)
        assert torch.equal(other.x.reshape(len(one), 24)[:, :21], one.x[..., 0])
        assert not other.x.reshape(len(one), 24)[:, 21:].any()
        assert torch.equal(other.lengths, -(-one.lengths // 4))
        assert torch.equal(other.y, one.y)


@pytest.mark.parametrize("speed", [0.9, 1.1, 1.07, 0.5])
def test_a_tone_at_another_speed(made, speed):
    time = np.arange(2001) / 8000
    tone = 10000 * np.sin(2 * np.pi * 500 * time)
    write(made / "recordings" / "7_bo_12.wav", np.rint(tone))
    plain, enlarged = (SpokenDigits(str(made), 5000, s).load() for s in ((1.0,), (1.0, speed)))
    count, row = len(plain.train), 3 * 40 + 2
    assert torch.equal(enlarged.train.x[:count], plain.train.x)
    assert torch.equal(enlarged.train.lengths[:count], plain.train.lengths)
    assert enlarged.train.y.tolist() == 2 * plain.train.y.tolist()
    for part in ("validation", "test"):
        assert torch.equal(enlarged[part].x, plain[part].x)
    length = int(enlarged.train.lengths[count + row])
    assert length == int(np.ceil(2001 / speed))
    got = levels(enlarged.train.x[count + row, :, 0]).numpy()
    assert not got[length:].any()
    expected = 10000 * np.sin(2 * np.pi * 500 * speed * np.arange(length) / 8000)
    middle = slice(50, length - 50)
    assert np.abs(got[middle] - expected[middle]).max() < 30


# what is refused


def refuses(says, path, sentence):
    with says(FileError, sentence):
        SpokenDigits(str(path)).load()


@pytest.mark.parametrize("name", ["nothing", "recordings"])
def test_no_recordings(says, made, name):
    path = made / name
    sentence = f"SpokenDigits: path must be a folder with recordings/*.wav; got {path}, which has "
    refuses(says, path, f"{sentence}none. {GET}")


@pytest.mark.parametrize(
    ("part", "indices"), [("test", "0 to 4"), ("validation", "5 to 9"), ("train", "10 to 49")]
)
def test_a_whole_split_is_missing(says, made, part, indices):
    for index in range(*ROWS[part]):
        for file in (made / "recordings").glob(f"*_{index}.wav"):
            file.unlink()
    sentence = f"SpokenDigits: {made} must hold recordings {indices} for the split {part}; got "
    refuses(says, made, f"{sentence}none of them. {GET}")


@pytest.mark.parametrize("name", ["noise.wav", "7_ann_50.wav", "12_ann_3.wav", "7_ann_1 (1).wav"])
def test_other_names(says, made, name):
    write(made / "recordings" / name, [1, 2])
    sentence = (
        "SpokenDigits: recordings must be named DIGIT_SPEAKER_INDEX.wav with an index below 50; "
        f"got {name}. Move other files elsewhere."
    )
    refuses(says, made, sentence)


@pytest.mark.parametrize(("rate", "channels"), [(16000, 1), (8000, 2)])
def test_other_sound(says, made, rate, channels):
    path = made / "recordings" / "7_ann_3.wav"
    write(path, [1, 2], rate, channels)
    sentence = (
        f"{path}: recordings must have 8000 Hz and 1 channel; got {rate} Hz and {channels}. {GET}"
    )
    refuses(says, made, sentence)


def test_a_damaged_recording(says, made):
    path = made / "recordings" / "0_bo_33.wav"
    path.write_bytes(path.read_bytes()[:-3])
    sentence = (
        f"{path}: must hold 34 samples as its header says; got 32. "
        "The file is cut off: copy or record it again."
    )
    refuses(says, made, sentence)


def test_length(says):
    sentence = "SpokenDigits: length must be at least 1; got length=0. Pass a larger length."
    with says(ArgumentError, sentence):
        SpokenDigits("anywhere", 0)


@pytest.mark.parametrize("speeds", [(), (0.4,), (1.0, 2.1), (float("nan"),)])
def test_speeds(says, speeds):
    sentence = (
        f"SpokenDigits: speeds must be numbers from 0.5 to 2; got {speeds}. "
        "Use (1.0,) for the recordings as they are."
    )
    with says(ArgumentError, sentence):
        SpokenDigits("anywhere", speeds=speeds)


# the real recordings


@needs_real
def test_real_recordings():
    splits = SpokenDigits(str(REAL)).load()
    for part, (start, end) in ROWS.items():
        examples = splits[part]
        assert examples.x.shape == (60 * (end - start), 4096, 1)
        assert np.bincount(examples.y.numpy()).tolist() == [6 * (end - start)] * 10
        behind = torch.arange(4096) >= examples.lengths[:, None]
        assert not examples.x[..., 0][behind].any()
    train = splits.train
    assert (int(train.lengths.min()), int((train.lengths == 4096).sum())) == (1288, 576)
    valid = train.x[..., 0][torch.arange(4096) < train.lengths[:, None]].double()
    assert abs(float(valid.mean())) < 0.02
    assert float(valid.std()) == pytest.approx(1, abs=2e-3)


@needs_real
def test_one_real_recording():
    splits = SpokenDigits(str(REAL), 3000).load()
    with wave.open(str(REAL / "recordings" / "7_theo_3.wav")) as file:
        raw = np.frombuffer(file.readframes(file.getnframes()), "<i2")[:3000]
    row = 7 * 30 + 4 * 5 + 3  # of 6 speakers in the order of their names
    got = levels(splits.test.x[row, : len(raw), 0]).numpy()
    assert np.rint(got).astype(int).tolist() == raw.tolist()
