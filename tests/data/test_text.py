"""Windows of text against the bytes they were cut from, and which files are held out."""

import hashlib

import pytest
import torch

from mrconv.data import IGNORED, InputContract, Text
from mrconv.errors import ArgumentError, DtypeError, FileError

SPLITS = ("train", "validation", "test")


def spelled(examples):
    """The scored bytes, in order."""
    y = examples.y.flatten()
    return bytes(y[y != IGNORED].tolist())


def random_bytes(count, seed):
    generator = torch.Generator().manual_seed(seed)
    return bytes(torch.randint(256, (count,), generator=generator).tolist())


@pytest.fixture
def folder(tmp_path):
    """Twelve files in folders of two depths, no byte value left out."""
    for number in range(12):
        file = tmp_path / "texts" / ("deep" if number % 3 else ".") / f"{number:02}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(random_bytes(40 + number, number))
    return tmp_path / "texts"


@pytest.mark.parametrize("length", [1, 7, 10, 1000])
def test_every_byte_is_predicted_once_from_what_stands_before_it(tmp_path, length):
    data = random_bytes(100, 1)
    (tmp_path / "a.bin").write_bytes(data)
    splits = Text(str(tmp_path / "a.bin"), length).load()
    assert [spelled(splits[name]) for name in SPLITS] == [data[:80], data[80:90], data[90:]]
    x, y = splits.train.x, splits.train.y
    assert x.shape == y.shape == (-(-80 // length), length)
    assert splits.train.lengths is None
    for place, byte in enumerate(data[:80]):
        row, column = divmod(place, length)
        assert y[row, column] == byte
        assert x[row, column] == (256 if column == 0 else data[place - 1])
    assert x.min() >= 0


def test_what_describes_it(folder):
    splits = Text(str(folder), 16).load()
    assert splits.contract == InputContract("tokens", 16, vocabulary=256)
    assert splits.labels == ()


def test_a_tenth_of_the_files_is_held_out_by_content(folder):
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    ranked = sorted(
        (file.read_bytes() for file in files), key=lambda data: hashlib.md5(data).hexdigest()
    )
    splits = Text(str(folder), 16).load()
    assert spelled(splits.test) == ranked[0]
    assert spelled(splits.validation) == ranked[1]
    assert spelled(splits.train) == b"".join(ranked[2:])
    files[0].rename(files[0].with_name("renamed.txt"))
    assert torch.equal(Text(str(folder), 16).load().train.y, splits.train.y)


def test_files_held_out_by_name(folder):
    splits = Text(str(folder), 16, validation=("deep/04.txt",), test=("00.txt", "03.txt")).load()
    read = {f"{n:02}": random_bytes(40 + n, n) for n in range(12)}
    assert spelled(splits.validation) == read["04"]
    assert spelled(splits.test) == read["00"] + read["03"]
    order = ["06", "09", "01", "02", "05", "07", "08", "10", "11"]  # by path
    assert spelled(splits.train) == b"".join(read[name] for name in order)


def test_pattern_and_folders_left_out(folder):
    (folder / "deep" / "code.py").write_bytes(b"pass " * 20)
    (folder / "code.py").write_bytes(b"None " * 20)
    splits = Text(str(folder), 16, pattern="*.py").load()
    assert b"".join(spelled(splits[name]) for name in SPLITS) == b"None " * 20 + b"pass " * 20
    splits = Text(str(folder), 16, pattern="*.py", without=("deep",)).load()
    assert b"".join(spelled(splits[name]) for name in SPLITS) == b"None " * 20


# errors


def test_nothing_there(tmp_path, says):
    path = tmp_path / "none"
    sentence = (
        f"Text: path must be a text file, or a folder of files *.txt; got {path}, where there is "
        "none. Check the path."
    )
    with says(FileError, sentence):
        Text(str(path), pattern="*.txt").load()


@pytest.mark.parametrize(
    ("content", "split"), [(b"", "train"), (b"a", "train"), (b"ab", "validation")]
)
def test_too_few_bytes(tmp_path, says, content, split):
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    sentence = (
        f"Text: {path} must hold text for the split {split}; got no byte. "
        "Add text, or name other files."
    )
    with says(FileError, sentence):
        Text(str(path)).load()


def test_a_name_that_is_not_there(folder, says):
    sentence = (
        f"Text: files for validation and test must be in {folder}; got 'deep/00.txt'. "
        "Did you mean 'deep/10.txt'?"
    )
    with says(FileError, sentence):
        Text(str(folder), validation=("00.txt",), test=("deep/00.txt",)).load()


def test_one_name_without_the_other(says):
    sentence = (
        "Text: validation and test must both be named, or neither; got validation=(), "
        "test=('a',). Name files for both."
    )
    with says(ArgumentError, sentence):
        Text("anywhere", test=("a",))


def test_length_is_checked(says):
    with says(
        ArgumentError, "Text: length must be at least 1; got length=0. Pass a larger length."
    ):
        Text("anywhere", 0)
    with says(
        DtypeError, "Text: length must be a whole number; got 1.5. Pass an int of at least 1."
    ):
        Text("anywhere", 1.5)
