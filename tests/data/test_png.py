"""Grey PNG files, against Pillow and against filters applied pixel by pixel."""

import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrconv.data.png import SIGNATURE, encoded, unfiltered, unpacked
from mrconv.errors import FileError


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def guess(kind: int, left: int, up: int, corner: int) -> int:
    near = left + up - corner
    paeth = min(
        (abs(near - left), 0, left), (abs(near - up), 1, up), (abs(near - corner), 2, corner)
    )
    return (0, left, up, (left + up) // 2, paeth[2])[kind]


def filtered(pixels: np.ndarray, kinds: list[int]) -> bytes:
    """A file whose lines are filtered each by its own filter, in two pieces."""
    height, width = pixels.shape
    framed = np.zeros((height + 1, width + 1), int)
    framed[1:, 1:] = pixels
    lines = bytearray()
    for row in range(height):
        lines.append(kinds[row])
        for column in range(width):
            left, up, corner = framed[row + 1, column], framed[row, column + 1], framed[row, column]
            value = framed[row + 1, column + 1] - guess(kinds[row], left, up, corner)
            lines.append(int(value) % 256)
    packed = zlib.compress(bytes(lines))
    head = struct.pack(">II5B", width, height, 8, 0, 0, 0, 0)
    parts = [chunk(b"IDAT", part) for part in (packed[:5], packed[5:])]
    parts = [chunk(b"IHDR", head), chunk(b"tEXt", b"Comment\0dashes"), *parts]
    return SIGNATURE + b"".join(parts) + chunk(b"IEND", b"")


def noise(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).integers(0, 256, shape, dtype=np.uint8)


@given(st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3), min_size=1, max_size=6))
def test_every_filter(kinds):
    pixels = noise(len(kinds), 3, 17)
    pixels[: len(kinds) // 2 + 1] %= 5  # neighbours that are equally near
    files = [filtered(one, rows) for one, rows in zip(pixels, kinds, strict=True)]
    lines = [unpacked("a.png", data, 3, 17) for data in files]
    assert unfiltered(lines).tolist() == pixels.tolist()


@pytest.mark.parametrize("shape", [(1, 1), (32, 32), (3, 50)])
def test_written_files_are_read_by_pillow_too(shape):
    image = pytest.importorskip("PIL.Image")
    pixels = noise(*shape)
    data = encoded(pixels)
    found = image.open(io.BytesIO(data))
    assert (found.mode, found.size) == ("L", shape[::-1])
    assert np.asarray(found).tolist() == pixels.tolist()
    assert unfiltered([unpacked("a.png", data, *shape)])[0].tolist() == pixels.tolist()


def test_files_of_pillow():
    image = pytest.importorskip("PIL.Image")
    smooth = np.add.outer(np.arange(40), np.arange(40) ** 2 // 9).astype(np.uint8)
    file = io.BytesIO()
    image.fromarray(smooth).save(file, "png", optimize=True)
    lines = unpacked("a.png", file.getvalue(), 40, 40)
    assert lines[:, 0].any()  # it has filtered them
    assert unfiltered([lines])[0].tolist() == smooth.tolist()


# what is refused

WHOLE = encoded(noise(4, 4))
AGAIN = "Copy or generate it again."


def test_damaged_files(says):
    flipped = bytearray(WHOLE)
    flipped[45] ^= 255
    for data, what in (
        (b"", "another signature"),
        (b"GIF89a", "another signature"),
        (SIGNATURE, "no end"),
        (WHOLE[:-12], "no end"),
        (bytes(flipped), "a wrong checksum at byte 33"),
        (
            WHOLE[:33] + chunk(b"IEND", b""),
            "Error -5 while decompressing data: incomplete or truncated stream",
        ),
    ):
        with says(FileError, f"a.png: must be a whole PNG file; got {what}. {AGAIN}"):
            unpacked("a.png", data, 4, 4)
    with pytest.raises(FileError, match=r"^a\.png: must be a whole PNG file; got "):
        unpacked("a.png", WHOLE[:40], 4, 4)


@pytest.mark.parametrize("lines", [bytes(19), bytes(21), b"\x05" + bytes(19)])
def test_lines_that_do_not_fit(says, lines):
    head = chunk(b"IHDR", struct.pack(">II5B", 4, 4, 8, 0, 0, 0, 0))
    data = SIGNATURE + head + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    with says(FileError, f"a.png: must be a whole PNG file; got lines that do not fit. {AGAIN}"):
        unpacked("a.png", data, 4, 4)


def test_another_kind(says):
    sentence = (
        "a.png: must be grey, with 8 bits, 32 x 8 pixels and not interlaced; got 4 x 4, 8 bits, "
        "colour type 0. Give the size that the images have, or convert them."
    )
    with says(FileError, sentence):
        unpacked("a.png", WHOLE, 8, 32)
    head = chunk(b"IHDR", struct.pack(">II5B", 4, 4, 8, 2, 0, 0, 0))
    with pytest.raises(FileError, match=r"got 4 x 4, 8 bits, colour type 2\. "):
        unpacked("a.png", SIGNATURE + head + chunk(b"IEND", b""), 4, 4)
