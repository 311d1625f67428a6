"""Raw samples as sound files and pipes hold them: bytes to floats, block by block."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from .._checks import check_count
from ..errors import ArgumentError, FileError

__all__ = ["RAW_FORMATS", "SampleFormat", "raw_blocks", "read_exactly"]


@dataclass(frozen=True)
class SampleFormat:
    """How one sample is written: little-endian integers or floats.

    Args:
        bits: 8 (unsigned), 16, 24 or 32 for integers; 32 or 64 for floats.
        floating: Whether samples are floats.

    Raises:
        ArgumentError: For another number of bits.

    Example:
        >>> SampleFormat(16).decode(bytes([0, 64, 0, 128]))
        array([ 0.5, -1. ], dtype=float32)
    """

    bits: int
    floating: bool = False

    def __post_init__(self) -> None:
        known = (32, 64) if self.floating else (8, 16, 24, 32)
        if self.bits not in known:
            raise ArgumentError(
                f"SampleFormat: bits must be one of {', '.join(map(str, known))} for "
                f"{'floats' if self.floating else 'integers'}; got {self.bits}. "
                "Convert the samples first."
            )

    @property
    def width(self) -> int:
        """Bytes a sample."""
        return self.bits // 8

    def decode(self, data: bytes) -> NDArray[np.float32]:
        """Samples from bytes: integers over their largest magnitude, floats as they stand.

        Integers come into [-1, 1); those of 32 bits are rounded, so that the largest become 1.

        Args:
            data: Whole samples.
        """
        if self.floating:
            return np.frombuffer(data, f"<f{self.width}").astype(np.float32)
        if self.bits == 8:
            return _over_largest(np.frombuffer(data, np.uint8).astype(np.int16) - 128, 8)
        if self.bits == 24:
            # as the upper three bytes of 32 bits, which brings the sign along
            wide = np.zeros((len(data) // 3, 4), np.uint8)
            wide[:, 1:] = np.frombuffer(data, np.uint8).reshape(-1, 3)
            return _over_largest(wide.reshape(-1).view("<i4"), 32)
        return _over_largest(np.frombuffer(data, f"<i{self.width}"), self.bits)


#: Samples without a header, by the names that ffmpeg and sox users know.
RAW_FORMATS = {"s16le": SampleFormat(16), "f32le": SampleFormat(32, floating=True)}


def _over_largest(integers: NDArray[np.signedinteger], bits: int) -> NDArray[np.float32]:
    # a power of two: the quotient is exact but for the rounding to float32
    return (integers / 2.0 ** (bits - 1)).astype(np.float32)


def raw_blocks(
    stream: BinaryIO,
    form: SampleFormat,
    *,
    channels: int = 1,
    size: int = 65536,
    name: str = "standard input",
) -> Iterator[NDArray[np.float32]]:
    """Samples of a stream without a header, as they come, until it ends.

    Args:
        stream: Binary; a pipe will do.
        form: How a sample is written.
        channels: Values a sample, interleaved.
        size: Samples a block; the last one may have fewer.
        name: First words of messages.

    Yields:
        One block after the other.                       (size, channels)

    Raises:
        ArgumentError: If channels or size is below 1.
        FileError: If the stream is empty or ends inside a sample, behind the last whole block.

    Example:
        >>> import io
        >>> stream = io.BytesIO(bytes([0, 64, 0, 192, 0, 32]))
        >>> [block.ravel().tolist() for block in raw_blocks(stream, RAW_FORMATS["s16le"], size=2)]
        [[0.5, -0.5], [0.25]]
    """
    check_count("raw_blocks", "channels", channels)
    check_count("raw_blocks", "size", size)
    frame, seen = channels * form.width, 0
    while data := read_exactly(stream, size * frame):
        whole = len(data) // frame
        seen += whole
        if whole:
            yield form.decode(data[: whole * frame]).reshape(whole, channels)
        if len(data) > whole * frame:
            raise FileError(
                f"{name}: must end with a whole sample of {frame} bytes; got "
                f"{len(data) - whole * frame} bytes behind sample {seen}. "
                "Check the format and the number of channels, or record again."
            )
    if not seen:
        raise FileError(f"{name}: must hold at least one sample; got none. Record again.")


def read_exactly(stream: BinaryIO, count: int) -> bytes:
    """Bytes of a stream, fewer than asked for only at its end.

    Args:
        stream: Binary; one that gives less than it has, such as an unbuffered pipe, is asked again.
        count: Number of bytes.
    """
    parts = []
    while count and (part := stream.read(count)):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
