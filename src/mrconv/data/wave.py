"""WAV files and streams, read with numpy alone, whole or block by block."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from .._checks import check_count
from ..errors import FileError
from .samples import SampleFormat, raw_blocks, read_exactly

__all__ = ["WaveReader", "read_wave"]

PCM, FLOAT, EXTENSIBLE = 1, 3, 0xFFFE
#: Programs that write into a pipe cannot know the size; they write this much or more.
UNKNOWN_SIZE = 0x7FFF_0000
_NAMES = {2: "ADPCM", 6: "A-law", 7: "mu-law", 17: "ADPCM", 85: "MP3"}


class WaveReader:
    """A WAV stream, its header read and its samples not yet.

    Integers of 8, 16, 24 and 32 bits and floats of 32 and 64 bits, any number of channels. The
    stream is read forward only, so that a pipe will do. Where the header leaves the size open,
    samples are read until the stream ends.

    Args:
        stream: Binary.
        name: First words of messages, such as the file's path.

    Raises:
        FileError: If the stream is no WAV, its header is damaged, or its samples are of a format
            that cannot be read.

    Example:
        >>> import io, struct
        >>> form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 8000, 16000, 2, 16)
        >>> data = struct.pack("<4sI3h", b"data", 6, 0, 16384, -32768)
        >>> reader = WaveReader(io.BytesIO(b"RIFF" + bytes(4) + b"WAVE" + form + data))
        >>> reader.rate, reader.channels, reader.samples
        (8000, 1, 3)
        >>> [block.ravel().tolist() for block in reader.blocks(2)]
        [[0.0, 0.5], [-1.0]]
    """

    rate: int
    """In Hz."""
    channels: int
    """Values a sample."""
    form: SampleFormat
    """How a sample is written."""
    samples: int | None
    """Samples a channel as the header has it; None where it leaves that open."""

    def __init__(self, stream: BinaryIO, name: str = "standard input") -> None:
        self.name, self._stream, described = name, stream, False
        self._check_start(read_exactly(stream, 12))
        while True:
            kind, size = struct.unpack("<4sI", self._header_bytes(8))
            if kind == b"data":
                break
            rest = size + size % 2  # chunks begin at even places
            if kind == b"fmt ":
                chunk = self._header_bytes(min(size, 40))
                rest -= len(chunk)
                self._describe(chunk)
                described = True
            self._skip(rest)
        if not described:
            raise FileError(
                f"{name}: the format must stand before the samples; got no chunk 'fmt '. {_AGAIN}"
            )
        self._left: int | None = None if size >= UNKNOWN_SIZE else size
        frame = self.channels * self.form.width
        self.samples = None if self._left is None else self._left // frame

    def blocks(self, size: int = 65536) -> Iterator[NDArray[np.float32]]:
        """The samples, once, as they come.

        Args:
            size: Samples a block; the last one may have fewer.

        Yields:
            Values in [-1, 1), of float files as they stand.         (size, channels)

        Raises:
            ArgumentError: If size is below 1.
            FileError: If there is no sample, or the stream ends before its header says; behind
                the last block that could be read.
        """
        check_count("WaveReader", "size", size)
        form, channels = self.form, self.channels
        if self._left is None:
            yield from raw_blocks(self._stream, form, channels=channels, size=size, name=self.name)
            return
        if not self.samples:
            raise FileError(f"{self.name}: must hold at least one sample; got none. {_AGAIN}")
        frame, seen = channels * form.width, 0
        while seen < self.samples:
            wanted = min(size, self.samples - seen)
            data = read_exactly(self._stream, wanted * frame)
            whole = len(data) // frame
            seen += whole
            if whole:
                yield form.decode(data[: whole * frame]).reshape(whole, channels)
            if whole < wanted:
                raise FileError(
                    f"{self.name}: must hold {self.samples} samples as its header says; "
                    f"got {seen}. The file is cut off: copy or record it again."
                )

    def _check_start(self, start: bytes) -> None:
        if start[:4] != b"RIFF" or start[8:] != b"WAVE":
            got = f"bytes {start!r}" if start else "an empty file"
            raise FileError(
                f"{self.name}: must be a WAV file, which begins with RIFF and WAVE; got {got}. "
                "Convert it first: ffmpeg -i IN OUT.wav"
            )

    def _header_bytes(self, count: int) -> bytes:
        data = read_exactly(self._stream, count)
        if len(data) < count:
            raise FileError(f"{self.name}: must hold a whole header; got an early end. {_AGAIN}")
        return data

    def _skip(self, count: int) -> None:
        while count > 0:  # in parts: a damaged size may claim gigabytes
            count -= len(self._header_bytes(min(count, 65536)))

    def _describe(self, chunk: bytes) -> None:
        if len(chunk) < 16:
            raise FileError(
                f"{self.name}: the chunk 'fmt ' must have at least 16 bytes; got {len(chunk)}. "
                f"{_AGAIN}"
            )
        tag, channels, rate, _, frame, bits = struct.unpack("<HHIIHH", chunk[:16])
        if tag == EXTENSIBLE and len(chunk) >= 26:
            (tag,) = struct.unpack("<H", chunk[24:26])  # of the sub-format
        known = {PCM: (8, 16, 24, 32), FLOAT: (32, 64)}.get(tag, ())
        if bits not in known:
            what = {PCM: "integers", FLOAT: "floats"}.get(tag, _NAMES.get(tag, f"format {tag}"))
            raise FileError(
                f"{self.name}: samples must be integers of 8, 16, 24 or 32 bits or floats of 32 or "
                f"64; got {what} of {bits} bits. Convert them: ffmpeg -i IN -c:a pcm_s16le OUT.wav"
            )
        if not (channels and rate and frame == channels * bits // 8):
            raise FileError(
                f"{self.name}: the header must be consistent; got {channels} channels of {bits} "
                f"bits in {frame} bytes at {rate} Hz. {_AGAIN}"
            )
        self.rate, self.channels = rate, channels
        self.form = SampleFormat(bits, floating=tag == FLOAT)


_AGAIN = "Record or convert it again."


def read_wave(path: str | Path) -> tuple[NDArray[np.float32], int]:
    """All samples of a WAV file, and its rate.

    Args:
        path: Integers of 8, 16, 24 or 32 bits or floats of 32 or 64, any number of channels.

    Returns:
        Values in [-1, 1), of float files as they stand, (L, channels); and the rate in Hz.

    Raises:
        FileError: If the file is missing, no WAV, damaged, cut off, empty, or of another format.

    Example:
        >>> import wave
        >>> with wave.open("tone.wav", "wb") as file:
        ...     file.setparams((1, 2, 8000, 0, "NONE", ""))
        ...     file.writeframes(bytes([0, 64, 0, 192]))
        >>> samples, rate = read_wave("tone.wav")
        >>> samples.ravel().tolist(), rate
        ([0.5, -0.5], 8000)
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            reader = WaveReader(file, str(path))
            return np.concatenate(list(reader.blocks())), reader.rate
    except OSError as error:
        raise FileError(
            f"{path}: must be a file that can be read; got {error.strerror}. "
            "Check the path and its permissions."
        ) from None
