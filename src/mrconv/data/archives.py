"""Files of a folder or of an archive, read in memory: nothing is ever extracted to a disk."""

import gzip
import hashlib
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path
from typing import IO, cast

from ..errors import FileError

__all__ = ["Reader", "check_digest", "data_files"]

#: Gives the content of a file.
Reader = Callable[[], bytes]
_DAMAGE = (OSError, EOFError, RuntimeError, zlib.error, tarfile.TarError, zipfile.BadZipFile)
_GZIP, _ZIP = b"\x1f\x8b", b"PK"
_BLOCK = 1 << 20


def data_files(owner: str, path: str | Path, wanted: str, remedy: str) -> dict[str, Reader]:
    """The files that a data set is made of, wherever they lie below a folder or in an archive.

    Args:
        owner: First word of messages.
        path: A folder, searched to any depth; or a .tar, .tar.gz or .zip file.
        wanted: Pattern of the last parts of their paths, such as ``(pos|neg)/[0-9]+[.]txt``.
        remedy: Last sentence of messages, such as where to get the data.

    Returns:
        By what matched of the path, in its order. Files of an archive are in memory already.

    Raises:
        FileError: If nothing is there, an archive is damaged, or two paths match as the same.

    Example:
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> (folder / "pos").mkdir()
        >>> _ = (folder / "pos" / "1.txt").write_bytes(b"good")
        >>> files = data_files("Reviews", folder, r"(pos|neg)/[0-9]+[.]txt", "Get it.")
        >>> {name: read() for name, read in files.items()}
        {'pos/1.txt': b'good'}
    """
    path, pattern = Path(path), re.compile(rf"(?:^|/)({wanted})$")
    found: dict[str, Reader] = {}
    try:
        for name, read in (_in_folder if path.is_dir() else _in_archive)(path, pattern):
            if name in found:
                raise FileError(
                    f"{owner}: {path} must hold every file once; got {name} twice. "
                    "Name the folder of one data set."
                )
            found[name] = read
    except _DAMAGE as error:
        got = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise FileError(
            f"{owner}: path must be a folder or a whole .tar, .tar.gz or .zip file; got {path}, "
            f"{got}. {remedy}"
        ) from None
    return dict(sorted(found.items()))


def _in_folder(path: Path, pattern: re.Pattern[str]) -> Iterator[tuple[str, Reader]]:
    for file in path.rglob("*"):
        match = pattern.search(file.relative_to(path).as_posix())
        if match and file.is_file():
            yield match[1], file.read_bytes


def _in_archive(path: Path, pattern: re.Pattern[str]) -> Iterator[tuple[str, Reader]]:
    with path.open("rb") as file:
        start = file.read(2)
        file.seek(0)
        if start == _ZIP:
            contents = _in_zip(file, pattern)
        elif start == _GZIP:
            contents = _in_tar(cast(IO[bytes], gzip.GzipFile(fileobj=file)), pattern)
        else:
            contents = _in_tar(file, pattern)
        for name, content in contents:
            yield name, partial(bytes, content)


def _in_zip(file: IO[bytes], pattern: re.Pattern[str]) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(file) as archive:
        for name in archive.namelist():
            if match := pattern.search(name):
                yield match[1], archive.read(name)


class _Remembering:
    """A stream that keeps the last bytes that were read of it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self.last = stream, b""

    def read(self, size: int = -1) -> bytes:
        """As the stream's own."""
        data = self._stream.read(size)
        self.last = (self.last + data)[-tarfile.BLOCKSIZE :]
        return data


def _in_tar(file: IO[bytes], pattern: re.Pattern[str]) -> Iterator[tuple[str, bytes]]:
    """From the start to the end: members of a compressed file cannot be visited at will."""
    stream = _Remembering(file)
    with tarfile.open(fileobj=cast(IO[bytes], stream), mode="r|") as archive:
        for member in archive:
            match = pattern.search(member.name) if member.isfile() else None
            content = archive.extractfile(member) if match else None
            if match and content:
                yield match[1], content.read()
    while stream.read(_BLOCK):  # gzip compares its checksum at the very end
        pass
    # tarfile takes an end inside or before a header for the end of the archive
    if stream.last.strip(b"\0"):
        raise tarfile.ReadError("unexpected end of data")


def check_digest(owner: str, path: str | Path, known: Collection[str], remedy: str) -> None:
    """Raises unless a file has one of the MD5 sums that were published.

    Args:
        owner: First word of messages.
        path: The file; a folder is not checked.
        known: MD5 sums in hexadecimal digits.
        remedy: Where to get the file.

    Raises:
        FileError: If it has another sum.
    """
    path = Path(path)
    if not path.is_file():
        return
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, partial(hashlib.md5, usedforsecurity=False)).hexdigest()
    if digest not in known:
        raise FileError(
            f"{owner}: {path} must have the published MD5 sum {' or '.join(known)}; got {digest}. "
            f"{remedy} Or pass verify=False for an archive of your own."
        )
