"""Grey PNG files of eight bits, written and read with numpy alone."""

import struct
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import FileError

__all__ = ["encoded", "unfiltered", "unpacked"]

SIGNATURE = b"\x89PNG\r\n\x1a\n"
HEAD = struct.Struct(">II5B")
GREY = (8, 0, 0, 0, 0)  # bits, colour, compression, filter, interlace
NONE, SUB, UP, AVERAGE, PAETH = range(5)


def encoded(pixels: NDArray[np.uint8]) -> bytes:
    """A PNG file of a grey picture.

    Args:
        pixels: (height, width).

    Source: PNG specification, ISO/IEC 15948; every line by filter 0.

    Example:
        >>> data = encoded(np.array([[0, 255]], np.uint8))
        >>> unfiltered([unpacked("a.png", data, 1, 2)]).tolist()
        [[[0, 255]]]
    """
    height, width = pixels.shape
    lines = np.zeros((height, 1 + width), np.uint8)
    lines[:, 1:] = pixels
    return b"".join(
        [
            SIGNATURE,
            _chunk(b"IHDR", HEAD.pack(width, height, *GREY)),
            _chunk(b"IDAT", zlib.compress(lines.tobytes())),
            _chunk(b"IEND", b""),
        ]
    )


def unpacked(name: str, data: bytes, height: int, width: int) -> NDArray[np.uint8]:
    """The filtered lines of a grey PNG file, each behind the number of its filter.

    Args:
        name: Of the file, first word of a message.
        data: The file.
        height: Lines it must have.
        width: Pixels a line.

    Returns:
        (height, 1 + width), for ``unfiltered``.

    Raises:
        FileError: If the file is damaged, of another size, or not grey with eight bits.
    """
    try:
        head, packed = _chunks(data)
        found = HEAD.unpack(head)
        lines = zlib.decompress(packed) if found[2:] == GREY else b""
    except (ValueError, struct.error, zlib.error) as error:
        raise FileError(
            f"{name}: must be a whole PNG file; got {error}. Copy or generate it again."
        ) from None
    if found != (width, height, *GREY):
        raise FileError(
            f"{name}: must be grey, with 8 bits, {width} x {height} pixels and not interlaced; got "
            f"{found[0]} x {found[1]}, {found[2]} bits, colour type {found[3]}. "
            "Give the size that the images have, or convert them."
        )
    table = np.frombuffer(lines, np.uint8)
    if table.size != height * (1 + width) or table[:: 1 + width].max() > PAETH:
        raise FileError(
            f"{name}: must be a whole PNG file; got lines that do not fit. "
            "Copy or generate it again."
        )
    return table.reshape(height, 1 + width)


def unfiltered(pictures: Sequence[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """The pixels of many pictures of one size.

    Args:
        pictures: As ``unpacked`` gives them.

    Returns:
        (N, height, width).
    """
    lines = np.stack(pictures)
    filters, pixels = lines[:, :, 0], lines[:, :, 1:]
    above = np.zeros_like(pixels[:, 0])
    for row in range(pixels.shape[1]):
        line, kind = pixels[:, row], filters[:, row]
        line[kind == UP] += above[kind == UP]
        mine = kind == SUB
        line[mine] = np.cumsum(line[mine], axis=1, dtype=np.uint8)
        mine = np.flatnonzero(kind >= AVERAGE)
        if len(mine):
            line[mine] = _from_both(line[mine], above[mine], kind[mine])
        above = line
    return np.ascontiguousarray(pixels)


def _from_both(
    line: NDArray[np.uint8], above: NDArray[np.uint8], kind: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    """Lines that were predicted from the pixels before and above them."""
    left = corner = np.zeros(len(line), np.int16)
    for column in range(line.shape[1]):
        up = above[:, column].astype(np.int16)
        guess = np.where(kind == AVERAGE, (left + up) // 2, _paeth(left, up, corner))
        line[:, column] += guess.astype(np.uint8)
        left, corner = line[:, column].astype(np.int16), up
    return line


def _paeth(
    left: NDArray[np.int16], up: NDArray[np.int16], corner: NDArray[np.int16]
) -> NDArray[np.int16]:
    """Whichever of the three is nearest to left + up - corner."""
    by_left, by_up = np.abs(up - corner), np.abs(left - corner)
    by_corner = np.abs(left + up - 2 * corner)
    first = (by_left <= by_up) & (by_left <= by_corner)
    return np.where(first, left, np.where(by_up <= by_corner, up, corner))


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _chunks(data: bytes) -> tuple[bytes, bytes]:
    """The header, and the compressed lines."""
    if not data.startswith(SIGNATURE):
        raise ValueError("another signature")
    head, packed, place = b"", [], len(SIGNATURE)
    while place < len(data):
        (size,) = struct.unpack_from(">I", data, place)
        name, content = data[place + 4 : place + 8], data[place + 8 : place + 8 + size]
        (check,) = struct.unpack_from(">I", data, place + 8 + size)
        if check != zlib.crc32(name + content):
            raise ValueError(f"a wrong checksum at byte {place}")
        if name == b"IHDR":
            head = content
        elif name == b"IDAT":
            packed.append(content)
        elif name == b"IEND":
            return head, b"".join(packed)
        place += 12 + size
    raise ValueError("no end")
