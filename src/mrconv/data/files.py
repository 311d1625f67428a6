"""Series from people's own files: NPY, NPZ and CSV, each one series or many."""

import csv
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, DtypeError, FileError, ShapeError
from .contract import InputContract

__all__ = ["SUFFIXES", "raw_series", "read_series"]

SUFFIXES = (".npy", ".npz", ".csv")


def read_series(path: str | Path, contract: InputContract) -> list[NDArray[Any]]:
    """Every series of a file, as a model with this contract takes it.

    Args:
        path: An .npy, .npz or .csv file; see ``raw_series``.
        contract: What the model expects.

    Returns:
        Prepared series, (L, F) float32 or (L,) tokens; each of its own length.

    Raises:
        FileError: As ``raw_series``, or if the file holds values that the contract does not take.
    """
    try:
        return [contract.prepare(series) for series in raw_series(path, contract)]
    except (ArgumentError, DtypeError, ShapeError) as error:
        raise FileError(f"{path}: {error}") from None


def raw_series(path: str | Path, contract: InputContract) -> list[NDArray[Any]]:
    """Every series of a file as its values stand there.

    NPY holds one series (L,) or (L, F), or many (N, L, F); an NPZ holds such arrays under any
    names. A CSV holds numbers, with or without a line of names: F columns are one series, one line
    a sample; otherwise, for one channel, every line is a series of its own.

    Args:
        path: An .npy, .npz or .csv file.
        contract: What the model expects; its kind and channels tell series apart.

    Returns:
        Series (L, F) or (L,); each of its own length.

    Raises:
        FileError: If the file is missing, empty, damaged or of another kind.
    """
    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise FileError(
            f"{path}: files must end in {', '.join(SUFFIXES)}; got {path.suffix or 'no ending'!r}. "
            "Convert the file first."
        )
    if not path.is_file():
        raise FileError(f"{path}: must be a file; got nothing of that name. Check the path.")
    arrays = _csv_arrays(path) if path.suffix == ".csv" else _numpy_arrays(path)
    raw = [series for array in arrays for series in _separated(array, contract)]
    if not raw or not all(series.size for series in raw):
        raise FileError(f"{path}: must hold at least one sample; got none. Remove the file.")
    return raw


def _numpy_arrays(path: Path) -> list[NDArray[Any]]:
    # what numpy, zipfile and zlib raise for damaged files
    damage = (ValueError, OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)
    try:
        with path.open("rb") as file:
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                found, arrays = ".npy", [loaded]
            else:
                with loaded:
                    found, arrays = ".npz", [loaded[name] for name in loaded.files]
    except damage as error:
        raise FileError(_not_whole(path, error)) from None
    if found != path.suffix:
        raise FileError(_not_whole(path, f"the content of a file {found}"))
    if not all(isinstance(array, np.ndarray) for array in arrays):
        raise FileError(_not_whole(path, "an archive of other files"))
    return arrays


def _not_whole(path: Path, got: object) -> str:
    return (
        f"{path}: must be a whole {path.suffix[1:].upper()} file of numbers; got {got}. "
        "Write it again with numpy.save."
    )


def _csv_arrays(path: Path) -> list[NDArray[Any]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise FileError(
            f"{path}: must be a text table; got {error}. Save it as CSV in UTF-8."
        ) from None
    except OSError as error:
        raise FileError(
            f"{path}: must be a file that can be read; got {error.strerror}. Check its permissions."
        ) from None
    if rows and not _is_number(rows[0][0]):
        rows = rows[1:]  # names of the columns
    try:
        return [np.array([[float(cell) for cell in row] for row in rows])] if rows else []
    except ValueError as error:
        raise FileError(
            f"{path}: every line must hold as many numbers as the first; got {error}. "
            "Remove text columns and fill missing values."
        ) from None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _separated(array: NDArray[Any], contract: InputContract) -> list[NDArray[Any]]:
    """One array as the series it holds."""
    if array.ndim == 3:
        return list(array)
    one_channel = contract.kind == "tokens" or contract.channels == 1
    if array.ndim == 2 and one_channel:
        return [array[:, 0]] if array.shape[1] == 1 else list(array)
    return [array]
