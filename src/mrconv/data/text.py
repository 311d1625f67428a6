"""Text as bytes, cut into windows: any file or folder of one's own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import md5
from pathlib import Path

import numpy as np
import torch

from .._checks import check_count, nearest
from ..errors import ArgumentError, FileError
from .contract import InputContract
from .splits import IGNORED, Examples, SplitName, Splits

__all__ = ["START", "Text", "text_splits"]

#: Number of bytes, and the token that stands before the first one of a window.
START = BYTES = 256


@dataclass(frozen=True)
class Text:
    """The bytes of a text file, or of all files of a folder, for a language model.

    Bytes are taken as they stand, in whatever encoding: none is refused, changed or left out. Of
    each split the files are laid end to end and cut into windows of ``length`` bytes y; a window's
    input is x = (256, y[0], ..., y[length - 2]), 256 the start of a text. What is missing in the
    last window is never scored, so that every byte is predicted exactly once.

    Files are held out whole: those named, or else a tenth of them for the test and a tenth for
    validation, chosen by their content. Fewer than three files are cut instead: the last tenth of
    their bytes is for the test, the tenth before for validation.

    Args:
        path: A file; or a folder, searched to any depth.
        length: Bytes a window.
        pattern: Names of a folder's files.
        without: Names of folders inside it that are left out, at any depth.
        validation: Files for validation, by their path below the folder.
        test: Files for the test.

    Raises:
        ArgumentError: If length is below 1, or only one of validation and test is given.

    Example:
        >>> from pathlib import Path
        >>> from mrconv.data import Text
        >>> _ = Path("poem.txt").write_bytes(b"So long as men can breathe, or eyes can see")
        >>> splits = Text("poem.txt", length=10).load()
        >>> splits.train.x[0].tolist()[:4], bytes(splits.train.y[0].tolist())
        ([256, 83, 111, 32], b'So long as')
    """

    path: str
    length: int = 512
    pattern: str = "*"
    without: tuple[str, ...] = ()
    validation: tuple[str, ...] = ()
    test: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_count("Text", "length", self.length)
        if bool(self.validation) != bool(self.test):
            raise ArgumentError(
                "Text: validation and test must both be named, or neither; got "
                f"validation={self.validation}, test={self.test}. Name files for both."
            )

    def load(self) -> Splits:
        """Reads the files.

        Returns:
            Windows x (N, length) and y (N, length), int64; 16 bytes for each byte of text.

        Raises:
            FileError: If nothing is there, a file cannot be read, a named file is missing, or
                there are too few bytes for three splits.
        """
        files = _files(Path(self.path), self.pattern, self.without)
        if self.test:
            parts = self._named(files)
        elif len(files) >= 3:
            parts = _by_content(files)
        else:
            parts = _cut(b"".join(files.values()))
        return text_splits(f"Text: {self.path}", parts, self.length)

    def _named(self, files: Mapping[str, bytes]) -> dict[SplitName, list[bytes]]:
        for name in (*self.validation, *self.test):
            if name not in files:
                raise FileError(
                    f"Text: files for validation and test must be in {self.path}; got {name!r}. "
                    f"{nearest(name, files)}"
                )
        held = {*self.validation, *self.test}
        return {
            "train": [data for name, data in files.items() if name not in held],
            "validation": [files[name] for name in self.validation],
            "test": [files[name] for name in self.test],
        }


def text_splits(owner: str, parts: Mapping[SplitName, Sequence[bytes]], length: int) -> Splits:
    """Windows of all splits, and what describes them.

    Args:
        owner: First words of a message.
        parts: Works of each split, in order.
        length: Bytes a window.

    Returns:
        The three splits.

    Raises:
        FileError: If a split has no byte.
    """
    joined = {name: b"".join(works) for name, works in parts.items()}
    for name, data in joined.items():
        if not data:
            raise FileError(
                f"{owner} must hold text for the split {name}; got no byte. "
                "Add text, or name other files."
            )
    windows = {name: _windows(data, length) for name, data in joined.items()}
    contract = InputContract("tokens", length, vocabulary=BYTES)
    return Splits(windows["train"], windows["validation"], windows["test"], contract)


def _windows(data: bytes, length: int) -> Examples:
    rows = -(-len(data) // length)
    y = torch.full((rows * length,), IGNORED, dtype=torch.int64)
    y[: len(data)] = torch.from_numpy(np.frombuffer(data, np.uint8).astype(np.int64))
    y = y.reshape(rows, length)
    x = torch.full_like(y, START)
    x[:, 1:] = y[:, :-1].clamp_min(0)  # behind the end any byte will do
    return Examples(x, y)


def _files(path: Path, pattern: str, without: Sequence[str]) -> dict[str, bytes]:
    """Content of every file by its name below the folder, in the order of the names."""
    try:
        if path.is_file():
            return {path.name: path.read_bytes()}
        found = {
            file.relative_to(path).as_posix(): file.read_bytes()
            for file in sorted(path.rglob(pattern))
            if file.is_file() and not {*without} & {*file.relative_to(path).parts[:-1]}
        }
    except OSError as error:
        raise FileError(
            f"Text: {path} must be readable; got {error}. Check path and permissions."
        ) from None
    if not found:
        raise FileError(
            f"Text: path must be a text file, or a folder of files {pattern}; got {path}, where "
            "there is none. Check the path."
        )
    return found


def _by_content(files: Mapping[str, bytes]) -> dict[SplitName, list[bytes]]:
    """Files in the order of a hash of their content: a tenth, a tenth, and the rest."""
    ranked = sorted(files.values(), key=lambda data: md5(data, usedforsecurity=False).digest())
    held = max(1, len(ranked) // 10)
    return {
        "train": ranked[2 * held :],
        "validation": ranked[held : 2 * held],
        "test": ranked[:held],
    }


def _cut(data: bytes) -> dict[SplitName, list[bytes]]:
    first, second = len(data) * 8 // 10, len(data) * 9 // 10
    return {
        "train": [data[:first]],
        "validation": [data[first:second]],
        "test": [data[second:]],
    }
