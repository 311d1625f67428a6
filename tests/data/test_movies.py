"""Film reviews: bytes and splits on made reviews, and counts on the real ones."""

import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from mrconv.data import InputContract, MovieReviews, movies
from mrconv.errors import ArgumentError, FileError

REAL = Path(__file__).parents[3] / "shared" / "data" / "movie_reviews.zip"
GET = (
    "Get it: https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora/"
    "movie_reviews.zip."
)
REAL_ROWS = {"train": (0, 800), "validation": (800, 900), "test": (900, 1000)}
ROWS = {"train": (0, 16), "validation": (16, 18), "test": (18, 20)}


def review(folder: str, number: int) -> bytes:
    return f"{folder} {number}".encode() + bytes([number]) * (number % 7) + b"\r\n\xff"


def files() -> dict[str, bytes]:
    found = {
        f"movie_reviews/{folder}/cv{n:03}_{n * 7}.txt": review(folder, n)
        for folder in ("neg", "pos")
        for n in range(20)
    }
    return found | {"movie_reviews/README": b"no review", "movie_reviews/pos/notes.txt": b"no"}


def write(path, held):
    with zipfile.ZipFile(path, "w") as archive:
        for name, one in held.items():
            archive.writestr(name, one)
    return str(path)


@pytest.fixture
def small(monkeypatch):
    """20 reviews of each class in place of 1,000."""
    numbers = {part: range(*rows) for part, rows in ROWS.items()}
    monkeypatch.setattr(movies, "NUMBERS", numbers)


@pytest.fixture(params=["zip", "folder"])
def made(tmp_path, request, small):
    path = write(tmp_path / "movie_reviews.zip", files())
    if request.param == "folder":
        with zipfile.ZipFile(path) as archive:
            archive.extractall(tmp_path)
        return str(tmp_path / "movie_reviews")
    return path


@pytest.mark.parametrize("part", ROWS)
@pytest.mark.parametrize("length", [32, 8])
def test_rows_of_each_split(made, part, length):
    examples = MovieReviews(made, length).load()[part]
    expected = [review(folder, n)[:length] for folder in ("neg", "pos") for n in range(*ROWS[part])]
    assert examples.x.dtype == torch.uint8
    assert examples.x.shape == (len(expected), length)
    rows = zip(examples.x, examples.lengths, strict=True)
    assert [bytes(x[:end].tolist()) for x, end in rows] == expected
    behind = torch.arange(length) >= examples.lengths[:, None]
    assert not examples.x[behind].any()
    half = len(expected) // 2
    assert examples.y.tolist() == [0] * half + [1] * half


def test_what_describes_it(made):
    splits = MovieReviews(made).load()
    assert splits.contract == InputContract("tokens", 4096, vocabulary=256)
    assert splits.labels == ("negative", "positive")


def test_numbers_of_the_set():
    assert movies.NUMBERS == {part: range(*rows) for part, rows in REAL_ROWS.items()}


# what is refused


def test_length(says):
    sentence = "MovieReviews: length must be at least 1; got length=0. Pass a larger length."
    with says(ArgumentError, sentence):
        MovieReviews("anywhere", 0)


@pytest.mark.parametrize(("folder", "number"), [("neg", 0), ("pos", 19), ("neg", 17)])
def test_a_missing_review(tmp_path, small, says, folder, number):
    gone = f"{folder}/cv{number:03}"
    path = write(tmp_path / "a.zip", {n: one for n, one in files().items() if gone not in n})
    sentence = (
        f"MovieReviews: {path} must hold the reviews 000 to 019 of {folder}; got no {gone}_*.txt. "
        f"{GET}"
    )
    with says(FileError, sentence):
        MovieReviews(path).load()


def test_a_damaged_archive(tmp_path, says):
    path = Path(write(tmp_path / "a.zip", files()))
    path.write_bytes(path.read_bytes()[:-100])
    sentence = (
        "MovieReviews: path must be a folder or a whole .tar, .tar.gz or .zip file; got "
        f"{path}, File is not a zip file. {GET}"
    )
    with says(FileError, sentence):
        MovieReviews(str(path)).load()


# the real reviews


@pytest.mark.skipif(not REAL.is_file(), reason="needs ../shared/data/movie_reviews.zip")
def test_real_reviews():
    splits = MovieReviews(str(REAL), 15000).load()
    lengths = torch.cat([splits[part].lengths for part in REAL_ROWS])
    assert len(lengths) == 2000
    assert (int(lengths.min()), int(lengths.max())) == (91, 14957)
    assert int(np.median(lengths.numpy())) == 3622
    assert float((lengths <= 4096).double().mean()) == pytest.approx(0.62, abs=0.01)
    for part, (start, end) in REAL_ROWS.items():
        assert np.bincount(splits[part].y.numpy()).tolist() == [end - start] * 2
