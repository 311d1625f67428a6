"""Files that are either whole or not there: written aside, then moved into place."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["write_text", "written_aside"]


@contextmanager
def written_aside(path: Path | str) -> Iterator[Path]:
    """A temporary path in the same folder that becomes ``path`` when the block ends without error.

    Args:
        path: Where the file will stand; its folder is made.

    Yields:
        The path to write to.

    Example:
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> with written_aside(folder / "a.txt") as aside:
        ...     _ = aside.write_text("whole")
        >>> (folder / "a.txt").read_text()
        'whole'
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    aside = Path(name)
    try:
        yield aside
        aside.chmod(0o644)
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def write_text(path: Path | str, text: str) -> None:
    """Writes a UTF-8 file whole.

    Args:
        path: Where it will stand; its folder is made.
        text: Its content.
    """
    with written_aside(path) as aside:
        aside.write_text(text, encoding="utf-8")
