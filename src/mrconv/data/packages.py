"""Files that travel inside installed packages, found without importing the package."""

import importlib.util
from pathlib import Path

from ..errors import FileError

__all__ = ["folder_or_package_file", "install_again", "package_file"]


def install_again(requirement: str) -> str:
    """The sentence for a damaged file of a package.

    Args:
        requirement: What pip installs the package by.
    """
    return f"Install it again: pip install --no-deps --force-reinstall {requirement}"


def folder_or_package_file(
    owner: str, folder: str | None, package: str, path: str, requirement: str
) -> Path:
    """Path of a data file in a folder of one's own, or of an installed package.

    Args:
        owner: First word of messages.
        folder: Folder that holds the file directly; None: the package's.
        package: As ``package_file``.
        path: As ``package_file``.
        requirement: As ``package_file``.

    Returns:
        Path of an existing file.

    Raises:
        FileError: If it is not there.
    """
    if folder is None:
        return package_file(package, path, requirement)
    file = Path(folder) / Path(path).name
    if file.is_file():
        return file
    raise FileError(
        f"{owner}: path must be a folder that holds {file.name}; got {folder}, which does not. "
        f"Run: pip install --no-deps {requirement}"
    )


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
