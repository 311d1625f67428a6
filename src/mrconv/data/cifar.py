"""CIFAR-10 as sequences of 1,024 pixels, in colour or grey, from the published archives."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from ..errors import FileError
from .archives import Reader, check_digest, data_files
from .cache import cached
from .contract import InputContract
from .splits import Examples, Splits
from .unpickling import load_pickle

__all__ = ["SequentialCIFAR10"]

PIXELS, COLOURS, CLASSES, PER_FILE = 1024, 3, 10, 10_000
LABELS = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)
BATCHES = [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]
#: Of cifar-10-python.tar.gz and cifar-10-binary.tar.gz.
MD5 = ("c58f30108f718f92721af3b95e74349a", "c32a1d4ab5d03f1284b67883e8d87530")
GET = "Get it: https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz."
#: Of pixels over 255: red, green and blue; and their luma, whose published numbers are of 0 to 255.
COLOUR_SCALE = ((0.4914, 0.4822, 0.4465), (0.247, 0.243, 0.261))
GREY_SCALE = (122.6 / 255, 61.0 / 255)
#: Sixteen-bit weights of red, green and blue (ITU-R 601), and what rounds their sum.
LUMA, HALF = (19595, 38470, 7471), 1 << 15

Table = tuple[NDArray[np.uint8], NDArray[np.int64]]  # (N, 3 * 1024) colour by colour, labels (N,)


@dataclass(frozen=True)
class SequentialCIFAR10:
    """60,000 small photographs in ten classes, each read row by row as 1,024 pixels.

    In colour (sCIFAR) a sample has three channels; in grey, the task Image of the Long Range Arena,
    it has the luma. Both are scaled by the published means and deviations. The first 45,000 of a
    random order of the 50,000 training images train and the other 5,000 validate: the order that
    torch draws from seed 42, as in the published trainings.

    Args:
        path: The archive ``cifar-10-python.tar.gz`` or ``cifar-10-binary.tar.gz``, read in memory;
            or a folder of its files.
        grey: Whether colours are joined to their luma.
        verify: Whether an archive must have the published MD5 sum.
        cache: Folder that keeps what was prepared, for the next time; None: nothing is kept.

    Source: Krizhevsky 2009. Preparation as in S4 (Gu et al. 2022).

    Example:
        >>> from mrconv.data import SequentialCIFAR10
        >>> SequentialCIFAR10("cifar-10-python.tar.gz", grey=True).grey
        True
    """

    path: str
    grey: bool = False
    verify: bool = True
    cache: str | None = None

    def load(self) -> Splits:
        """Reads the six files.

        Returns:
            45,000, 5,000 and 10,000 examples of x (N, 1024, 3), in grey (N, 1024, 1), and y (N,).

        Raises:
            FileError: If the path or a file is missing, an archive is damaged or not the published
                one, or a file does not hold 10,000 images and labels.
        """
        return cached(self, self._prepare)

    def _prepare(self) -> Splits:
        if self.verify:
            check_digest("SequentialCIFAR10", self.path, MD5, GET)
        pattern = rf"({'|'.join(BATCHES)})([.]bin)?"
        files = data_files("SequentialCIFAR10", self.path, pattern, GET)
        tables = [_table(files, batch, self.path) for batch in BATCHES]
        channels, (mean, std) = (1, GREY_SCALE) if self.grey else (COLOURS, COLOUR_SCALE)
        contract = InputContract("image", PIXELS, channels, mean=mean, std=std)
        pixels, labels = (np.concatenate(part) for part in zip(*tables, strict=True))
        x, y = self._prepared(pixels, contract), torch.from_numpy(labels)
        known = len(y) - PER_FILE
        order = torch.randperm(known, generator=torch.Generator().manual_seed(42))
        kept, held = order[: known * 9 // 10], order[known * 9 // 10 :]
        parts = (Examples(x[rows], y[rows]) for rows in (kept, held, slice(known, None)))
        train, validation, test = parts
        return Splits(train, validation, test, contract, LABELS)

    def _prepared(self, pixels: NDArray[np.uint8], contract: InputContract) -> torch.Tensor:
        """Pixels (N, 3 * 1024), colour by colour, as the model takes them.   (N, 1024, F)."""
        images = pixels.reshape(-1, COLOURS, PIXELS).transpose(0, 2, 1)
        if self.grey:
            images = _luma(images)
        # 256 levels a channel: each is scaled once, in float64
        levels = contract.scaled(np.arange(256)[:, None] / 255)
        levels = np.broadcast_to(levels, (256, contract.channels)).astype(np.float32)
        x = np.empty(images.shape, np.float32)
        for channel in range(contract.channels):
            x[..., channel] = levels[images[..., channel], channel]
        return torch.from_numpy(x)


def _luma(images: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Brightness of colours (N, 1024, 3), by whole numbers as in Pillow.   (N, 1024, 1)."""
    total = np.full(images.shape[:2], HALF, np.uint32)
    for channel, weight in enumerate(LUMA):
        total += images[..., channel].astype(np.uint32) * np.uint32(weight)
    return (total >> 16).astype(np.uint8)[..., None]


def _table(files: Mapping[str, Reader], batch: str, path: str) -> Table:
    """Images and labels of one file, of the one or the other archive."""
    if f"{batch}.bin" in files:
        pixels, labels = _binary(files[f"{batch}.bin"]())
    elif batch in files:
        pixels, labels = _pickled(f"SequentialCIFAR10: {batch}", files[batch]())
    else:
        raise FileError(
            f"SequentialCIFAR10: {path} must hold {batch} or {batch}.bin; got neither. {GET}"
        )
    rows = (PER_FILE, COLOURS * PIXELS)
    if pixels.shape != rows or labels.shape != rows[:1] or not np.isin(labels, range(10)).all():
        raise FileError(
            f"SequentialCIFAR10: {batch} must hold {PER_FILE} images of {rows[1]} bytes, and for "
            f"each a label from 0 to {CLASSES - 1}; got {pixels.shape} and {labels.shape}. {GET}"
        )
    return pixels, labels


def _binary(content: bytes) -> Table:
    """A label and the pixels, image by image; a rest is left as a row that is too short."""
    width = 1 + COLOURS * PIXELS
    table = np.frombuffer(content, np.uint8)
    table = table.reshape(-1, width) if len(table) % width == 0 else table[None]
    return table[:, 1:], table[:, 0].astype(np.int64)


def _pickled(name: str, content: bytes) -> Table:
    """The keys data and labels of a pickle of Python 2."""
    held = load_pickle(name, content, GET)
    try:
        return np.asarray(held["data"], np.uint8), np.asarray(held["labels"], np.int64)
    except (KeyError, TypeError, ValueError, OverflowError, IndexError) as error:
        raise FileError(f"{name} must hold data and labels; got {error!r}. {GET}") from None
