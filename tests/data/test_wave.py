"""WAV files: every format, in any order of chunks, in any cut, and what is refused."""

import io
import struct
import wave
from pathlib import Path

import numpy as np
import pytest

from mrconv.data.wave import WaveReader, read_wave
from mrconv.errors import ArgumentError, FileError

AGAIN = "Record or convert it again."
FORMATS = [(1, 8), (1, 16), (1, 24), (1, 32), (3, 32), (3, 64)]
REAL = Path(__file__).parents[3] / "shared" / "data" / "fsdd" / "recordings"


def chunk(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack("<I", len(content)) + content + bytes(len(content) % 2)


def form(tag=1, channels=1, rate=8000, bits=16, *, frame=None, extensible=False) -> bytes:
    frame = channels * bits // 8 if frame is None else frame
    head = (0xFFFE if extensible else tag, channels, rate, rate * frame, frame, bits)
    content = struct.pack("<HHIIHH", *head)
    if extensible:
        guid = struct.pack("<H", tag) + bytes.fromhex("000000001000800000aa00389b71")
        content += struct.pack("<HHI", 22, bits, 0) + guid
    return chunk(b"fmt ", content)


def riff(*chunks: bytes) -> bytes:
    body = b"WAVE" + b"".join(chunks)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def packed(values: np.ndarray, tag: int, bits: int) -> bytes:
    """Values in [-1, 1) as the samples of a file; integers by Python's own arithmetic."""
    if tag == 3:
        return values.astype(f"<f{bits // 8}").tobytes()
    if bits == 8:
        return bytes(int(value * 128) + 128 for value in values.ravel())
    integers = [int(value * 2 ** (bits - 1)) for value in values.ravel()]
    return b"".join(integer.to_bytes(bits // 8, "little", signed=True) for integer in integers)


def samples(length: int, channels: int) -> np.ndarray:
    """Multiples of 1/128, which every format holds exactly."""
    return np.random.default_rng(0).integers(-128, 128, (length, channels)) / 128


def simple(values=(0, 16384, -32768)) -> bytes:
    return riff(form(), chunk(b"data", struct.pack(f"<{len(values)}h", *values)))


@pytest.fixture
def written(tmp_path):
    def write(content: bytes) -> Path:
        path = tmp_path / "a.wav"
        path.write_bytes(content)
        return path

    return write


# what is read


@pytest.mark.parametrize(("tag", "bits"), FORMATS)
@pytest.mark.parametrize("channels", [1, 2, 5])
@pytest.mark.parametrize("extensible", [False, True])
def test_formats(written, tag, bits, channels, extensible):
    values = samples(101, channels)
    head = form(tag, channels, 44100, bits, extensible=extensible)
    path = written(riff(head, chunk(b"data", packed(values, tag, bits))))
    got, rate = read_wave(path)
    assert rate == 44100
    assert got.dtype == np.float32
    assert got.tolist() == values.tolist()


def test_what_the_standard_library_writes(tmp_path):
    integers = np.random.default_rng(1).integers(-32768, 32768, (77, 2), dtype=np.int16)
    path = tmp_path / "a.wav"
    with wave.open(str(path), "wb") as file:
        file.setparams((2, 2, 16000, 0, "NONE", ""))
        file.writeframes(integers.astype("<i2").tobytes())
    got, rate = read_wave(str(path))
    assert rate == 16000
    assert got.tolist() == (integers / 32768).tolist()


def test_what_scipy_reads(tmp_path):
    wavfile = pytest.importorskip("scipy.io.wavfile")
    path = tmp_path / "a.wav"
    for dtype in ("f4", "i4", "i2", "u1"):
        values = np.random.default_rng(2).integers(0, 100, (50, 3)).astype(dtype)
        wavfile.write(path, 11025, values)
        rate, expected = wavfile.read(path)
        scaled = {
            "f4": expected,
            "i4": expected / 2**31,
            "i2": expected / 2**15,
            "u1": (expected.astype(float) - 128) / 128,
        }[dtype]
        got, own = read_wave(path)
        assert own == rate
        assert got.tolist() == scaled.astype(np.float32).tolist()


def test_other_chunks_are_passed_over(written):
    data = chunk(b"data", struct.pack("<2h", 1, 2))
    longer = chunk(b"fmt ", form()[8:] + bytes(60))  # with bytes that no format has
    for chunks in (
        (chunk(b"LIST", b"odd"), form(), chunk(b"fact", bytes(4)), data, chunk(b"LIST", b"end")),
        (chunk(b"junk", bytes(200_001)), longer, data),
    ):
        got, _ = read_wave(written(riff(*chunks)))
        assert (got * 32768).ravel().tolist() == [1, 2]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_blocks(size):
    values = samples(7, 2)
    content = riff(form(channels=2), chunk(b"data", packed(values, 1, 16)))
    reader = WaveReader(io.BytesIO(content + b"LIST"))
    assert (reader.rate, reader.channels, reader.samples) == (8000, 2, 7)
    blocks = list(reader.blocks(size))
    assert [len(block) for block in blocks[:-1]] == [size] * (len(blocks) - 1)
    assert np.concatenate(blocks).tolist() == values.tolist()


@pytest.mark.parametrize("size", [0xFFFF_FFFF, 0x7FFF_F000, 0x8000_0000])
def test_a_pipe_whose_header_leaves_the_size_open(size):
    content = simple((1, 2, 3)).replace(
        struct.pack("<4sI", b"data", 6), b"data" + size.to_bytes(4, "little")
    )
    reader = WaveReader(io.BytesIO(content))
    assert reader.samples is None
    blocks = [(block * 32768).ravel().tolist() for block in reader.blocks(2)]
    assert blocks == [[1, 2], [3]]
    cut = WaveReader(io.BytesIO(content[:-1]), "a pipe").blocks(2)
    assert (next(cut) * 32768).ravel().tolist() == [1, 2]
    with pytest.raises(FileError, match=r"^a pipe: must end with a whole sample of 2 bytes; got 1"):
        next(cut)


@pytest.mark.skipif(not REAL.is_dir(), reason="needs the recordings in ../shared/data/fsdd")
def test_a_real_recording():
    path = REAL / "7_theo_3.wav"
    with wave.open(str(path)) as file:
        expected = np.frombuffer(file.readframes(file.getnframes()), "<i2") / 32768
    got, rate = read_wave(path)
    assert rate == 8000
    assert got[:, 0].tolist() == expected.tolist()


# what is refused


def refuses(says, path, sentence):
    with says(FileError, f"{path}: {sentence}"):
        read_wave(path)


def test_missing(says, tmp_path):
    sentence = "must be a file that can be read; got {}. Check the path and its permissions."
    refuses(says, tmp_path / "none.wav", sentence.format("No such file or directory"))
    refuses(says, tmp_path, sentence.format("Is a directory"))


@pytest.mark.parametrize(
    ("content", "got"),
    [
        (b"", "an empty file"),
        (b"RIFF", "bytes b'RIFF'"),
        (b"ID3\x04not a wav file", "bytes b'ID3\\x04not a wa'"),
        (b"RIFX" + simple()[4:], "bytes b'RIFX*\\x00\\x00\\x00WAVE'"),
        (b"RIFF\x00\x00\x00\x00AVI LIST", "bytes b'RIFF\\x00\\x00\\x00\\x00AVI '"),
    ],
)
def test_no_wav(says, written, content, got):
    sentence = f"must be a WAV file, which begins with RIFF and WAVE; got {got}. Convert it first: "
    refuses(says, written(content), sentence + "ffmpeg -i IN OUT.wav")


@pytest.mark.parametrize("keep", [12, 15, 20, 30, 36, 43])
def test_a_header_that_ends_early(says, written, keep):
    path = written(simple()[:keep])
    refuses(says, path, f"must hold a whole header; got an early end. {AGAIN}")


def test_a_chunk_that_claims_gigabytes(says, written):
    content = riff(b"LIST" + struct.pack("<I", 0xFFFF_FFF0) + b"short")
    refuses(says, written(content), f"must hold a whole header; got an early end. {AGAIN}")


@pytest.mark.parametrize(("keep", "got"), [(44, 0), (45, 0), (46, 1), (49, 2)])
def test_cut_off(says, written, keep, got):
    sentence = (
        f"must hold 3 samples as its header says; got {got}. "
        "The file is cut off: copy or record it again."
    )
    refuses(says, written(simple()[:keep]), sentence)


def test_blocks_before_the_cut_are_given():
    blocks = WaveReader(io.BytesIO(simple((1, 2, 3, 4))[:-1])).blocks(2)
    got = [(next(blocks) * 32768).ravel().tolist() for _ in range(2)]
    assert got == [[1, 2], [3]]
    with pytest.raises(FileError, match="must hold 4 samples as its header says; got 3"):
        next(blocks)


@pytest.mark.parametrize("data", [b"", b"\x00"])
def test_no_samples(says, written, data):
    path = written(riff(form(), chunk(b"data", data)))
    refuses(says, path, f"must hold at least one sample; got none. {AGAIN}")


def test_no_format(says, written):
    sentence = f"the format must stand before the samples; got no chunk 'fmt '. {AGAIN}"
    refuses(says, written(riff(chunk(b"data", bytes(4)), form())), sentence)


def test_a_format_that_is_too_short(says, written):
    sentence = f"the chunk 'fmt ' must have at least 16 bytes; got 14. {AGAIN}"
    refuses(says, written(riff(chunk(b"fmt ", bytes(14)), chunk(b"data", bytes(4)))), sentence)


@pytest.mark.parametrize(
    ("tag", "bits", "got"),
    [
        (1, 12, "integers of 12 bits"),
        (3, 16, "floats of 16 bits"),
        (2, 4, "ADPCM of 4 bits"),
        (7, 8, "mu-law of 8 bits"),
        (85, 0, "MP3 of 0 bits"),
        (999, 16, "format 999 of 16 bits"),
    ],
)
@pytest.mark.parametrize("extensible", [False, True])
def test_unknown_format(says, written, tag, bits, got, extensible):
    head = form(tag, bits=bits, extensible=extensible)
    sentence = (
        "samples must be integers of 8, 16, 24 or 32 bits or floats of 32 or 64; "
        f"got {got}. Convert them: ffmpeg -i IN -c:a pcm_s16le OUT.wav"
    )
    refuses(says, written(riff(head, chunk(b"data", bytes(4)))), sentence)


@pytest.mark.parametrize(
    ("channels", "rate", "frame"), [(0, 8000, 0), (1, 0, 2), (2, 8000, 2), (1, 8000, 0)]
)
def test_inconsistent_header(says, written, channels, rate, frame):
    head = form(channels=channels, rate=rate, frame=frame)
    sentence = (
        f"the header must be consistent; got {channels} channels of 16 bits in {frame} bytes "
        f"at {rate} Hz. {AGAIN}"
    )
    refuses(says, written(riff(head, chunk(b"data", bytes(4)))), sentence)


def test_size_of_blocks(says):
    sentence = "WaveReader: size must be at least 1; got size=0. Pass a larger size."
    with says(ArgumentError, sentence):
        list(WaveReader(io.BytesIO(simple())).blocks(0))
