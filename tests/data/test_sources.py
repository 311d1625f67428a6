"""Sources of a stream: blocks of files and pipes, their pace, and one sentence for each mistake."""

import io
import wave

import numpy as np
import pytest

from mrconv.data import InputContract
from mrconv.data.sources import file_source, paced, pipe_source
from mrconv.errors import ArgumentError, FileError

ONE = InputContract("series", 8)
TWO = InputContract("series", 8, channels=2)
SOUND = InputContract("audio", 8, sample_rate=8000.0)
TOKENS = InputContract("tokens", 8, vocabulary=9)
SAMPLES = np.array([0, 8192, -16384, 32767, -32768], "<i2")


def wave_bytes(samples, rate=8000, channels=1):
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setparams((channels, 2, rate, 0, "NONE", ""))
        out.writeframes(samples.tobytes())
    return file.getvalue()


def blocks_of(source, size):
    return [block.ravel().tolist() for block in source.blocks(size)]


@pytest.fixture
def written(tmp_path):
    """Writes bytes, text or an array under a name and gives the path."""

    def write(name, content):
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif isinstance(content, str):
            path.write_text(content)
        else:
            np.save(path, content)
        return path

    return write


# what comes out


def test_sound_file(written):
    with file_source(written("a.wav", wave_bytes(SAMPLES)), SOUND) as source:
        assert (source.rate, source.channels) == (8000.0, 1)
        parts = blocks_of(source, 2)
    assert parts == [[0.0, 0.25], [-0.5, 32767 / 32768], [-1.0]]


@pytest.mark.parametrize("name", ["a.npy", "a.csv"])
def test_series(written, name):
    content = np.arange(10.0).reshape(5, 2) if name == "a.npy" else "x,y\n0,1\n2,3\n4,5\n6,7\n8,9\n"
    with file_source(written(name, content), TWO, rate=12.5) as source:
        assert (source.rate, source.channels) == (12.5, 2)
        assert blocks_of(source, 2) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_tokens(written):
    with file_source(written("a.csv", "3\n1\n4\n"), TOKENS) as source:
        assert (source.rate, source.channels) == (None, 1)
        assert blocks_of(source, 5) == [[3, 1, 4]]


@pytest.mark.parametrize("form", ["s16le", "f32le", "wav"])
def test_pipe(form):
    content = {
        "s16le": SAMPLES.tobytes(),
        "f32le": (SAMPLES / 32768).astype("<f4").tobytes(),
        "wav": wave_bytes(SAMPLES),
    }[form]
    rate = None if form == "wav" else 8000.0
    source = pipe_source(io.BytesIO(content), form, SOUND, rate=rate)
    assert (source.rate, source.channels) == (8000.0, 1)
    assert blocks_of(source, 3) == [[0.0, 0.25, -0.5], [32767 / 32768, -1.0]]


def test_a_model_without_a_rate_takes_raw_samples_of_any():
    source = pipe_source(io.BytesIO(SAMPLES[:4].tobytes()), "s16le", TWO)
    assert (source.rate, source.channels) == (None, 2)
    assert blocks_of(source, 1) == [[0.0, 0.25], [-0.5, 32767 / 32768]]


def test_pace():
    """Each block is given when its last sample is due; a late one at once."""
    now, slept = [5.0], []

    def sleep(seconds):
        slept.append(seconds)
        now[0] += seconds

    def blocks():
        yield np.zeros(4)
        yield np.zeros(4)
        now[0] += 2.0  # the reading itself is late
        yield np.zeros(4)
        yield np.zeros(2)

    given = [now[0] for _ in paced(blocks(), 4.0, now=lambda: now[0], sleep=sleep)]
    assert given == [6.0, 7.0, 9.0, 9.0]
    assert slept == [1.0, 1.0]


# mistakes


def test_another_kind_of_file(says, written):
    path = written("a.mp3", b"x")
    sentence = (
        f"{path}: files must end in .wav, .npy, .npz, .csv; got '.mp3'. Convert the file first."
    )
    with says(FileError, sentence), file_source(path, ONE):
        pass


@pytest.mark.parametrize("name", ["a.wav", "a.csv"])
def test_a_file_that_is_not_there(written, tmp_path, name):
    with pytest.raises(FileError, match="must be a file"), file_source(tmp_path / name, SOUND):
        pass


def test_other_channels(says, written):
    path = written("a.wav", wave_bytes(SAMPLES[:4], channels=2))
    sentence = (
        f"{path}: must have as many channels as the model was trained with, 1; got 2. Choose or "
        "mix channels first, for sound with: ffmpeg -i IN -ac 1 OUT.wav"
    )
    with says(FileError, sentence), file_source(path, SOUND):
        pass


def test_more_than_one_series(says, written):
    path = written("a.npy", np.zeros((3, 5)))
    sentence = (
        f"{path}: must hold one series, a line a sample and a column a channel; got 3 series. "
        "Pass each in a file of its own."
    )
    with says(FileError, sentence), file_source(path, ONE):
        pass


def test_a_rate_that_the_header_has_already(says, written):
    path = written("a.wav", wave_bytes(SAMPLES))
    sentence = (
        f"{path}: the rate must be left out, because the header has it, 8000 Hz; got 16000. "
        "Remove --rate."
    )
    with says(ArgumentError, sentence), file_source(path, SOUND, rate=16000.0):
        pass


def test_raw_samples_of_unknown_rate(says):
    sentence = (
        "standard input: the rate of raw samples must be given, because the model runs at "
        "8000 Hz; got none. Add --rate, in Hz."
    )
    with says(ArgumentError, sentence):
        pipe_source(io.BytesIO(b""), "s16le", SOUND)


@pytest.mark.parametrize("form", ["s16le", "wav"])
def test_sound_for_a_model_of_tokens(says, form):
    sentence = (
        "standard input: a model of tokens must be given whole numbers; got sound. "
        "Pass a CSV or NPY file of tokens."
    )
    with says(FileError, sentence):
        pipe_source(io.BytesIO(wave_bytes(SAMPLES)), form, TOKENS, rate=8000.0)
