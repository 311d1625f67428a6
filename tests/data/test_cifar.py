"""CIFAR-10: both archives give the same, split and scaled as published; Pillow's grey."""

import gzip
import pickle
from hashlib import md5

import numpy as np
import pytest
import torch

from mrconv.data import SequentialCIFAR10, cifar
from mrconv.errors import FileError

BATCHES = ["data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5"]
GET = "Get it: https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz."
ROWS, PUBLISHED = 20, cifar.PER_FILE
WHOLE = "cifar-10-batches"


def content() -> tuple[np.ndarray, np.ndarray]:
    """6 files of 20 images, (6, 20, 3 * 1024), and labels."""
    noise = np.random.default_rng(0)
    return (
        noise.integers(0, 256, (6, ROWS, 3072), dtype=np.uint8),
        noise.integers(0, 10, (6, ROWS)),
    )


def pickled(pixels: np.ndarray, labels: np.ndarray) -> bytes:
    """As the published files: protocol 2 of Python 2, with the old names of numpy."""
    held = {"batch_label": "a batch", "labels": labels.tolist(), "data": pixels, "filenames": ["a"]}
    return pickle.dumps(held, 2).replace(b"numpy._core.multiarray", b"numpy.core.multiarray")


def binary(pixels: np.ndarray, labels: np.ndarray) -> bytes:
    return np.concatenate([labels[:, None].astype(np.uint8), pixels], 1).tobytes()


def files_of(form: str) -> dict[str, bytes]:
    names = [*BATCHES, "test_batch"]
    if form == "python":
        rows = {f"{WHOLE}-py/{n}": pickled(*r) for n, *r in zip(names, *content(), strict=True)}
        return rows | {f"{WHOLE}-py/batches.meta": b"not read", f"{WHOLE}-py/readme.html": b""}
    rows = {f"{WHOLE}-bin/{n}.bin": binary(*r) for n, *r in zip(names, *content(), strict=True)}
    return rows | {f"{WHOLE}-bin/batches.meta.txt": b"airplane"}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(cifar, "PER_FILE", ROWS)


@pytest.fixture(params=["python", "binary"])
def archive(tmp_path, request, tar_of):
    path = tmp_path / f"cifar-10-{request.param}.tar.gz"
    path.write_bytes(gzip.compress(tar_of(files_of(request.param))))
    return path


def rows_of(part: str) -> np.ndarray:
    """Numbers of a split's images among all 120."""
    order = torch.randperm(100, generator=torch.Generator().manual_seed(42)).numpy()
    return {"train": order[:90], "validation": order[90:], "test": np.arange(100, 120)}[part]


@pytest.mark.parametrize("part", ["train", "validation", "test"])
def test_colour(archive, part):
    examples = SequentialCIFAR10(str(archive), verify=False).load()[part]
    pixels, labels = (one.reshape(120, -1)[rows_of(part)] for one in content())
    # row by row, the three colours of a pixel side by side
    images = pixels.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1).reshape(-1, 1024, 3)
    mean, std = np.array([0.4914, 0.4822, 0.4465]), np.array([0.247, 0.243, 0.261])
    expected = torch.from_numpy((images / 255 - mean) / std)
    assert examples.x.dtype == torch.float32
    assert torch.equal(examples.x, expected.float())
    assert examples.y.tolist() == labels[:, 0].tolist()
    assert examples.lengths is None


@pytest.mark.parametrize("part", ["train", "validation", "test"])
def test_grey_is_pillows(archive, part):
    image = pytest.importorskip("PIL.Image")
    examples = SequentialCIFAR10(str(archive), grey=True, verify=False).load()[part]
    pixels, _ = (one.reshape(120, -1)[rows_of(part)] for one in content())
    images = pixels.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    grey = np.stack([np.asarray(image.fromarray(one).convert("L")) for one in images])
    expected = torch.from_numpy((grey.reshape(-1, 1024, 1) / 255 - 122.6 / 255) / (61.0 / 255))
    torch.testing.assert_close(examples.x.double(), expected, rtol=1e-6, atol=1e-7)


def test_what_describes_it(archive):
    colour = SequentialCIFAR10(str(archive), verify=False).load()
    grey = SequentialCIFAR10(str(archive), grey=True, verify=False).load()
    assert (colour.contract.channels, grey.contract.channels) == (3, 1)
    assert colour.contract.kind == grey.contract.kind == "image"
    assert colour.contract.length == grey.contract.length == 1024
    assert colour.labels[:3] == ("airplane", "automobile", "bird")
    assert len(colour.labels) == 10
    raw = content()[0][5, 3].reshape(3, 1024).T / 255
    assert torch.equal(torch.from_numpy(colour.contract.prepare(raw)), colour.test.x[3])


def test_a_folder_of_the_files(tmp_path, archive):
    form = archive.name.split("-")[2].split(".")[0]
    for name, one in files_of(form).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(one)
    archived = SequentialCIFAR10(str(archive), verify=False).load()
    archive.unlink()
    assert torch.equal(SequentialCIFAR10(str(tmp_path)).load().train.x, archived.train.x)


def test_the_published_order():
    """Of 50,000 images the first that train and that validate, as torch draws them from seed 42."""
    assert PUBLISHED == 10_000
    order = torch.randperm(50_000, generator=torch.Generator().manual_seed(42))
    assert order[:4].tolist() == [37542, 44491, 216, 43688]
    assert order[45_000:45_004].tolist() == [17408, 40845, 3378, 22188]


# what is refused


def refuses(says, path, sentence):
    with says(FileError, sentence):
        SequentialCIFAR10(str(path), verify=False).load()


def test_the_wrong_checksum(archive, says, monkeypatch):
    digest = md5(archive.read_bytes()).hexdigest()
    sentence = (
        f"SequentialCIFAR10: {archive} must have the published MD5 sum "
        "c58f30108f718f92721af3b95e74349a or c32a1d4ab5d03f1284b67883e8d87530; "
        f"got {digest}. {GET} Or pass verify=False for an archive of your own."
    )
    with says(FileError, sentence):
        SequentialCIFAR10(str(archive)).load()
    monkeypatch.setattr(cifar, "MD5", (digest,))
    assert len(SequentialCIFAR10(str(archive)).load().train) == 90


def test_a_truncated_archive(archive, says):
    archive.write_bytes(archive.read_bytes()[:-100])
    sentence = (
        "SequentialCIFAR10: path must be a folder or a whole .tar, .tar.gz or .zip file; got "
        f"{archive}, Compressed file ended before the end-of-stream marker was reached. {GET}"
    )
    refuses(says, archive, sentence)


@pytest.fixture
def repacked(archive, tar_of):
    """Writes the archive of Python anew, its files changed by a function."""

    def write(change):
        archive.write_bytes(gzip.compress(tar_of(change(files_of("python")))))

    return write


def test_a_missing_file(archive, repacked, says):
    repacked(lambda files: {n: one for n, one in files.items() if "batch_4" not in n})
    sentence = (
        f"SequentialCIFAR10: {archive} must hold data_batch_4 or data_batch_4.bin; got neither. "
        f"{GET}"
    )
    refuses(says, archive, sentence)


PIXELS, LABELS = (one[0] for one in content())


@pytest.mark.parametrize(
    ("name", "one", "got"),
    [
        ("test_batch.bin", binary(PIXELS[1:], LABELS[1:]), "(19, 3072) and (19,)"),
        ("test_batch.bin", binary(PIXELS, LABELS)[:-1], f"(1, {20 * 3073 - 2}) and (1,)"),
        ("test_batch.bin", binary(PIXELS, LABELS + 10), "(20, 3072) and (20,)"),
        ("test_batch", pickled(PIXELS[:, 1:], LABELS), "(20, 3071) and (20,)"),
        ("test_batch", pickled(PIXELS, LABELS[1:]), "(20, 3072) and (19,)"),
        ("test_batch", pickled(PIXELS, LABELS - 10), "(20, 3072) and (20,)"),
    ],
    ids=["few", "cut", "labels", "narrow", "few labels", "negative"],
)
def test_another_content(archive, repacked, says, name, one, got):
    repacked(lambda files: {**files, f"{WHOLE}-py/{name}": one})
    sentence = (
        "SequentialCIFAR10: test_batch must hold 20 images of 3072 bytes, and for each a label "
        f"from 0 to 9; got {got}. {GET}"
    )
    refuses(says, archive, sentence)


def test_other_keys(archive, repacked, says):
    repacked(lambda files: files | {f"{WHOLE}-py/test_batch": pickle.dumps({"data": []})})
    sentence = (
        f"SequentialCIFAR10: test_batch must hold data and labels; got KeyError('labels'). {GET}"
    )
    refuses(says, archive, sentence)


def test_a_program_in_a_file(archive, repacked, says):
    repacked(lambda files: files | {f"{WHOLE}-py/test_batch": pickle.dumps(print)})
    sentence = (
        "SequentialCIFAR10: test_batch: must hold arrays and plain values only; got "
        f"builtins.print, which is not called. {GET}"
    )
    refuses(says, archive, sentence)
