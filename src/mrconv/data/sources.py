"""Where the samples of a stream come from: a file or a pipe, block by block."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, FileError
from .contract import InputContract
from .files import SUFFIXES, raw_series
from .samples import RAW_FORMATS, raw_blocks
from .wave import WaveReader

__all__ = ["PipeFormat", "Source", "file_source", "paced", "pipe_source"]

#: What a pipe may hold; "wav" brings its own rate and channels.
PipeFormat = Literal["s16le", "f32le", "wav"]
WAVE = ".wav"


@dataclass(frozen=True)
class Source:
    """Samples of one recording, read once and forward only."""

    name: str
    """First words of messages."""
    rate: float | None
    """In Hz; None where it is not known."""
    channels: int
    """Values a sample."""
    blocks: Callable[[int], Iterator[NDArray[Any]]]
    """From samples a block, of which the last may have fewer, to the blocks.  (size, channels)"""

    def check(self, contract: InputContract) -> None:
        """Raises unless a model with this contract can take the samples.

        Raises:
            FileError: For another number of channels.
        """
        wanted = 1 if contract.kind == "tokens" else contract.channels
        if self.channels != wanted:
            raise FileError(
                f"{self.name}: must have as many channels as the model was trained with, "
                f"{wanted}; got {self.channels}. Choose or mix channels first, for sound with: "
                f"ffmpeg -i IN -ac {wanted} OUT.wav"
            )


@contextmanager
def file_source(
    path: str | Path, contract: InputContract, rate: float | None = None
) -> Iterator[Source]:
    """The one recording that a file holds; a sound file is read block by block.

    Args:
        path: A .wav, .csv, .npy or .npz file.
        contract: What the model expects.
        rate: Of a file that states none, in Hz; None: not known.

    Yields:
        The source, while the file is open.

    Raises:
        FileError: If the file is missing, damaged or of another kind, does not hold one series,
            or has other channels than the model.
        ArgumentError: If a rate is given for a file that states its own.

    Example:
        >>> import numpy as np
        >>> from mrconv.data import InputContract
        >>> np.save("a.npy", np.arange(5.0))
        >>> with file_source("a.npy", InputContract("series", 8)) as source:
        ...     [block.ravel().tolist() for block in source.blocks(2)]
        [[0.0, 1.0], [2.0, 3.0], [4.0]]
    """
    path = Path(path)
    if path.suffix not in (WAVE, *SUFFIXES):
        raise FileError(
            f"{path}: files must end in {', '.join((WAVE, *SUFFIXES))}; "
            f"got {path.suffix or 'no ending'!r}. Convert the file first."
        )
    if path.suffix != WAVE:
        source = _series_source(path, contract, rate)
        source.check(contract)
        yield source
        return
    try:
        file = path.open("rb")
    except OSError as error:
        raise FileError(
            f"{path}: must be a file that can be read; got {error.strerror}. "
            "Check the path and its permissions."
        ) from None
    with file:
        source = _wave_source(file, str(path), contract, rate)
        source.check(contract)
        yield source


def pipe_source(
    stream: BinaryIO,
    form: PipeFormat,
    contract: InputContract,
    *,
    rate: float | None = None,
    channels: int | None = None,
    name: str = "standard input",
) -> Source:
    """The recording that comes through a pipe.

    Args:
        stream: Binary.
        form: How samples are written; "wav" begins with a header.
        contract: What the model expects.
        rate: Of samples without a header, in Hz.
        channels: Of samples without a header, interleaved; None: as the model expects.
        name: First words of messages.

    Raises:
        FileError: If a header cannot be read, or the channels are not the model's.
        ArgumentError: If the rate is not known where the model has one, or is given twice.
    """
    if form == "wav":
        source = _wave_source(stream, name, contract, rate)
    else:
        _refuse_tokens(name, contract)
        if rate is None and contract.sample_rate is not None:
            raise ArgumentError(
                f"{name}: the rate of raw samples must be given, because the model runs at "
                f"{contract.sample_rate:g} Hz; got none. Add --rate, in Hz."
            )
        count = contract.channels if channels is None else channels

        def blocks(size: int) -> Iterator[NDArray[Any]]:
            return raw_blocks(stream, RAW_FORMATS[form], channels=count, size=size, name=name)

        source = Source(name, rate, count, blocks)
    source.check(contract)
    return source


def paced(
    blocks: Iterable[NDArray[Any]],
    rate: float,
    *,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[NDArray[Any]]:
    """Blocks at the pace at which they would be recorded: each when its last sample is due.

    Args:
        blocks: Of samples on their first axis.
        rate: In Hz.
        now: A clock, in seconds.
        sleep: Waits some seconds.
    """
    start, seen = now(), 0
    for block in blocks:
        seen += len(block)
        ahead = start + seen / rate - now()
        if ahead > 0:
            sleep(ahead)
        yield block


def _wave_source(
    stream: BinaryIO, name: str, contract: InputContract, rate: float | None
) -> Source:
    _refuse_tokens(name, contract)
    reader = WaveReader(stream, name)
    if rate is not None:
        raise ArgumentError(
            f"{name}: the rate must be left out, because the header has it, {reader.rate} Hz; "
            f"got {rate:g}. Remove --rate."
        )
    return Source(name, float(reader.rate), reader.channels, reader.blocks)


def _refuse_tokens(name: str, contract: InputContract) -> None:
    if contract.kind == "tokens":
        raise FileError(
            f"{name}: a model of tokens must be given whole numbers; got sound. "
            "Pass a CSV or NPY file of tokens."
        )


def _series_source(path: Path, contract: InputContract, rate: float | None) -> Source:
    series = raw_series(path, contract)
    if len(series) != 1:
        raise FileError(
            f"{path}: must hold one series, a line a sample and a column a channel; "
            f"got {len(series)} series. Pass each in a file of its own."
        )
    values = series[0]

    def blocks(size: int) -> Iterator[NDArray[Any]]:
        return (values[start : start + size] for start in range(0, len(values), size))

    channels = 1 if values.ndim == 1 else int(np.prod(values.shape[1:]))
    return Source(str(path), rate, channels, blocks)
