"""Raw samples: every format against struct, blocks in any cut, and what is refused."""

import io
import os
import struct
import threading

import numpy as np
import pytest

from mrconv.data.samples import RAW_FORMATS, SampleFormat, raw_blocks, read_exactly
from mrconv.errors import ArgumentError, FileError

S16 = RAW_FORMATS["s16le"]


class Dripping(io.RawIOBase):
    """A stream that gives at most 3 bytes a call, as a pipe may."""

    def __init__(self, data: bytes):
        self.data = io.BytesIO(data)

    def read(self, size=-1):
        return self.data.read(min(size, 3))


@pytest.mark.parametrize(
    ("bits", "values", "packed"),
    [
        (8, [-1.0, 0.0, 127 / 128], bytes([0, 128, 255])),
        (16, [-1.0, 0.0, 0.5, 32767 / 32768], struct.pack("<4h", -32768, 0, 16384, 32767)),
        (24, [-1.0, -(2**-23), 2**-23, 0.5], bytes.fromhex("000080 ffffff 010000 000040")),
        (32, [-1.0, 0.0, 2**-31, 0.75], struct.pack("<4i", -(2**31), 0, 1, 3 * 2**29)),
    ],
)
def test_integers(bits, values, packed):
    decoded = SampleFormat(bits).decode(packed)
    assert decoded.dtype == np.float32
    assert decoded.tolist() == values


@pytest.mark.parametrize("bits", [16, 24, 32])
def test_integers_by_another_route(bits):
    integers = np.random.default_rng(bits).integers(-(2 ** (bits - 1)), 2 ** (bits - 1), 500)
    packed = b"".join(int(i).to_bytes(bits // 8, "little", signed=True) for i in integers)
    expected = [np.float32(int(i) / 2 ** (bits - 1)) for i in integers]
    assert SampleFormat(bits).decode(packed).tolist() == expected


def test_the_largest_integer_of_32_bits_is_rounded():
    assert SampleFormat(32).decode(struct.pack("<i", 2**31 - 1)).tolist() == [1.0]


@pytest.mark.parametrize(("bits", "code"), [(32, "f"), (64, "d")])
def test_floats_stand_as_they_are(bits, code):
    values = [-2.5, 0.0, 0.25, 1e-3]
    decoded = SampleFormat(bits, floating=True).decode(struct.pack(f"<4{code}", *values))
    assert decoded.dtype == np.float32
    assert decoded.tolist() == [np.float32(value) for value in values]


@pytest.mark.parametrize(
    ("bits", "floating", "known"),
    [(12, False, "8, 16, 24, 32 for integers"), (16, True, "32, 64 for floats")],
)
def test_unknown_bits(says, bits, floating, known):
    sentence = f"SampleFormat: bits must be one of {known}; got {bits}. Convert the samples first."
    with says(ArgumentError, sentence):
        SampleFormat(bits, floating)


@pytest.mark.parametrize("size", [1, 2, 7, 10, 1000])
@pytest.mark.parametrize("stream", [io.BytesIO, Dripping])
def test_blocks_hold_every_sample_once(size, stream):
    integers = np.arange(-10, 10, dtype="<i2").reshape(10, 2)
    blocks = list(raw_blocks(stream(integers.tobytes()), S16, channels=2, size=size))
    assert [len(block) for block in blocks[:-1]] == [size] * (len(blocks) - 1)
    assert (np.concatenate(blocks) * 32768).tolist() == integers.tolist()


def test_blocks_of_a_pipe_come_before_it_ends():
    source, sink = os.pipe()
    with os.fdopen(source, "rb") as reading, os.fdopen(sink, "wb", buffering=0) as writing:
        blocks = raw_blocks(reading, S16, size=2)
        writing.write(struct.pack("<2h", 16384, -16384))
        got = []
        thread = threading.Thread(target=lambda: got.append(next(blocks).ravel().tolist()))
        thread.start()
        thread.join(10)
        assert got == [[0.5, -0.5]]


def test_a_stream_that_ends_inside_a_sample(says):
    blocks = raw_blocks(io.BytesIO(bytes(11)), S16, channels=2, size=2)
    assert len(next(blocks)) == 2
    sentence = (
        "standard input: must end with a whole sample of 4 bytes; got 3 bytes behind sample 2. "
        "Check the format and the number of channels, or record again."
    )
    with says(FileError, sentence):
        next(blocks)


def test_an_empty_stream(says):
    with says(FileError, "a pipe: must hold at least one sample; got none. Record again."):
        list(raw_blocks(io.BytesIO(), S16, name="a pipe"))


@pytest.mark.parametrize("name", ["channels", "size"])
def test_sizes(says, name):
    sentence = f"raw_blocks: {name} must be at least 1; got {name}=0. Pass a larger {name}."
    with says(ArgumentError, sentence):
        list(raw_blocks(io.BytesIO(bytes(4)), S16, **{name: 0}))


def test_read_exactly():
    stream = Dripping(b"0123456789")
    assert [read_exactly(stream, count) for count in (0, 4, 5, 4, 4)] == [
        b"",
        b"0123",
        b"45678",
        b"9",
        b"",
    ]
