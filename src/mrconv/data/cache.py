"""Prepared data sets on a disk, so that slow files are read once: whole or not there at all."""

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import torch

from ..errors import FileError
from .contract import InputContract
from .splits import Examples, SplitName, Splits

__all__ = ["Cached", "cached"]

#: Goes up when a data set is prepared otherwise, so that what older versions kept is not used.
VERSION = 1
PARTS: tuple[SplitName, ...] = ("train", "validation", "test")
FIELDS = ("x", "y", "lengths")  # of Examples
DESCRIPTION = "splits.json"
#: Fields of a data set that do not change what is prepared.
NO_SETTINGS = ("cache", "workers")
#: Folders of this module, whole and aside.
_KEPT = re.compile(r"\w+-[0-9a-f]{20}|\.\w+-[0-9a-f]{20}\..*")


class Cached(Protocol):
    """A data set, a dataclass, that may keep what it has prepared."""

    @property
    def path(self) -> str:
        """File or folder that it is read from."""
        ...

    @property
    def cache(self) -> str | None:
        """Folder of prepared data; None: nothing is kept."""
        ...


def cached(source: Cached, prepare: Callable[[], Splits]) -> Splits:
    """What was prepared before from the same files by the same settings, or is prepared now.

    The key is the class, its settings, and name, size and time of change of every source file. A
    data set is written into a folder aside, which is then renamed: a run that is killed leaves a
    folder whose name begins with a dot, which may be deleted, and never half a data set. Arrays are
    mapped into memory, so that only what is used is read, and several processes share it.

    Args:
        source: Settings.
        prepare: Reads the files.

    Returns:
        The splits; of a kept data set, their tensors lie on the disk.

    Raises:
        FileError: If the folder cannot be written, or what was kept in it is damaged.
    """
    if source.cache is None:
        return prepare()
    name = type(source).__name__
    place = Path(source.cache) / f"{name.lower()}-{_key(source)}"
    if not place.is_dir():
        splits = prepare()
        try:
            _write(splits, place)
        except OSError as error:
            raise FileError(
                f"{name}: cache must be a folder that can be written; got {error.strerror} at "
                f"{source.cache}. Choose another folder, or free some space."
            ) from None
    try:
        return _read(place)
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise FileError(
            f"{name}: {place} must hold a whole prepared data set; got {error}. Delete the folder."
        ) from None


def _key(source: Cached) -> str:
    """Twenty digits that change with the settings and with the files."""
    settings = asdict(cast(Any, source))
    settings = {key: value for key, value in settings.items() if key not in NO_SETTINGS}
    path = Path(source.path)
    settings["path"] = str(path.resolve())
    digest = hashlib.sha256(json.dumps([VERSION, settings], sort_keys=True).encode())
    for stamp in _stamps(path):
        digest.update(repr(stamp).encode())
    return digest.hexdigest()[:20]


def _stamps(path: Path) -> Iterator[tuple[str, int, int]]:
    """Name, size and time of change, in nanoseconds, of a file or of all files of a folder."""
    files = [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file())
    for file in files:
        name = file.relative_to(path)
        if any(_KEPT.fullmatch(part) for part in name.parts[:-1]):
            continue  # the cache lies below the source
        state = file.stat()
        yield name.as_posix(), state.st_size, state.st_mtime_ns


def _write(splits: Splits, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(dir=place.parent, prefix=f".{place.name}."))
    try:
        # examples that are the same under two names are kept once
        first = {id(splits[part]): part for part in reversed(PARTS)}
        for part in first.values():
            for name in FIELDS:
                tensor = getattr(splits[part], name)
                if tensor is not None:
                    np.save(aside / f"{part}.{name}.npy", tensor.numpy(), allow_pickle=False)
        described = {
            "parts": {part: first[id(splits[part])] for part in PARTS},
            "contract": splits.contract.as_dict(),
            "labels": splits.labels,
        }
        (aside / DESCRIPTION).write_text(json.dumps(described), encoding="utf-8")
        aside.chmod(0o755)
        if not place.is_dir():  # another process may have been faster
            os.rename(aside, place)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _read(place: Path) -> Splits:
    described = json.loads((place / DESCRIPTION).read_text(encoding="utf-8"))
    parts = described["parts"]
    read = {
        name: Examples(*(_tensor(place / f"{name}.{field}.npy") for field in FIELDS))
        for name in set(parts.values())
    }
    examples = {part: read[parts[part]] for part in PARTS}
    contract = InputContract.from_dict(described["contract"])
    return Splits(**examples, contract=contract, labels=tuple(described["labels"]))


def _tensor(file: Path) -> Any:
    """The tensor of a file; None for lengths that were not given."""
    if file.name.endswith(".lengths.npy") and not file.is_file():
        return None
    # changes stay in memory and never reach the file
    return torch.from_numpy(np.load(file, mmap_mode="c", allow_pickle=False))
