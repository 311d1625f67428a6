"""Series from NPY, NPZ and CSV files, and one sentence for every file that cannot be read."""

import contextlib
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from mrconv.data import InputContract
from mrconv.data.files import read_series
from mrconv.errors import FileError

ONE = InputContract("series", 8)
TWO = InputContract("series", 8, channels=2)
TOKENS = InputContract("tokens", 8, vocabulary=9)


def values(*shape):
    return np.arange(np.prod(shape), dtype=np.float64).reshape(shape)


def assert_series(got, expected):
    assert [series.tolist() for series in got] == [np.asarray(one).tolist() for one in expected]


@pytest.fixture
def written(tmp_path):
    """Writes an array or text under a name and gives the path."""

    def write(name: str, content) -> Path:
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif isinstance(content, str):
            path.write_text(content, encoding="utf-8")
        elif isinstance(content, dict):
            np.savez(path, **content)
        else:
            np.save(path, content)
        return path

    return write


# what files hold


@pytest.mark.parametrize(
    ("contract", "array", "expected"),
    [
        (ONE, values(5), [values(5, 1)]),
        (ONE, values(5, 1), [values(5, 1)]),
        (ONE, values(2, 5), [[[0], [1], [2], [3], [4]], [[5], [6], [7], [8], [9]]]),
        (ONE, values(2, 3, 1), values(2, 3, 1)),
        (TWO, values(5, 2), [values(5, 2)]),
        (TWO, values(3, 4, 2), values(3, 4, 2)),
        (TOKENS, values(5), [[0, 1, 2, 3, 4]]),
        (TOKENS, values(2, 4), [[0, 1, 2, 3], [4, 5, 6, 7]]),
    ],
)
def test_npy(written, contract, array, expected):
    assert_series(read_series(written("a.npy", array), contract), expected)


def test_npy_is_prepared(written):
    contract = InputContract("series", 8, mean=1.0, std=2.0)
    (series,) = read_series(str(written("a.npy", values(3).astype(np.int16))), contract)
    assert series.dtype == np.float32
    assert series.tolist() == [[-0.5], [0.0], [0.5]]


def test_npz_holds_series_of_unequal_length(written):
    path = written("a.npz", {"b": values(3), "a": values(2, 2)})
    assert_series(read_series(path, ONE), [values(3, 1), [[0], [1]], [[2], [3]]])


@pytest.mark.parametrize("head", ["", "value\n", "\ufeffvalue\n"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
def test_csv_of_one_column_is_one_series(written, head, end):
    path = written("a.csv", head + end.join(["1", "2.5", "-3e2"]) + end)
    assert_series(read_series(path, ONE), [[[1.0], [2.5], [-300.0]]])


@pytest.mark.parametrize("head", ["", "t0,t1,t2\n", '"t 0","t,1",t2\n'])
def test_csv_of_one_channel_has_a_series_a_line(written, head):
    path = written("a.csv", head + "1,2,3\n4,5,6\n")
    assert_series(read_series(path, ONE), [[[1], [2], [3]], [[4], [5], [6]]])
    assert_series(read_series(path, TOKENS), [[1, 2, 3], [4, 5, 6]])


@pytest.mark.parametrize("head", ["", "x,y\n"])
def test_csv_of_several_channels_is_one_series(written, head):
    path = written("a.csv", head + "1,2\n3,4\n5,6\n")
    assert_series(read_series(path, TWO), [[[1, 2], [3, 4], [5, 6]]])


# files that cannot be read


@pytest.mark.parametrize(
    ("name", "ending"), [("a.txt", "'.txt'"), ("a", "'no ending'"), ("a.npy.gz", "'.gz'")]
)
def test_wrong_ending(written, says, name, ending):
    path = written(name, "1,2")
    sentence = f"{path}: files must end in .npy, .npz, .csv; got {ending}. Convert the file first."
    with says(FileError, sentence):
        read_series(path, ONE)


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.csv"])
@pytest.mark.parametrize("a_folder", [False, True])
def test_missing(tmp_path, says, name, a_folder):
    path = tmp_path / name
    if a_folder:
        path.mkdir()
    with says(FileError, f"{path}: must be a file; got nothing of that name. Check the path."):
        read_series(path, ONE)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.npy", values(0)),
        ("a.npy", values(0, 4)),
        ("a.npy", values(2, 0, 1)),
        ("a.npz", {}),
        ("a.npz", {"a": values(3), "b": values(0)}),
        ("a.csv", ""),
        ("a.csv", "\n\n"),
        ("a.csv", "x,y\n"),
    ],
)
def test_empty(written, says, name, content):
    path = written(name, content)
    sentence = f"{path}: must hold at least one sample; got none. Remove the file."
    with says(FileError, sentence):
        read_series(path, ONE)


class Bomb:
    """Makes a folder where it is unpickled."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (str(self.marker),)


@pytest.mark.parametrize("name", ["a.npy", "a.npz"])
def test_objects_are_refused_and_not_unpickled(written, tmp_path, says, name):
    marker = tmp_path / "marker"
    array = np.array([Bomb(marker)], dtype=object)
    path = written(name, {"a": array} if name == "a.npz" else array)
    sentence = (
        f"{path}: must be a whole {name[2:].upper()} file of numbers; got Object arrays cannot be "
        "loaded when allow_pickle=False. Write it again with numpy.save."
    )
    with says(FileError, sentence):
        read_series(path, ONE)
    assert not marker.exists()


@pytest.mark.parametrize("array", [values(3), np.array([None])])
def test_no_file_stays_open(written, monkeypatch, array):
    opened, load = [], np.load
    monkeypatch.setattr(np, "load", lambda *a, **k: opened.append(load(*a, **k)) or opened[-1])
    path = written("a.npz", {"a": array})
    with contextlib.suppress(FileError):
        read_series(path, ONE)
    still_open = [file for file in opened if file.zip is not None]
    for file in still_open:
        file.close()
    assert not still_open


def test_a_bare_pickle_is_refused_and_not_unpickled(written, tmp_path):
    marker = tmp_path / "marker"
    path = written("a.npy", pickle.dumps(Bomb(marker)))
    with pytest.raises(FileError, match="must be a whole NPY file of numbers; got"):
        read_series(path, ONE)
    assert not marker.exists()


@pytest.mark.parametrize("name", ["a.npy", "a.npz"])
@pytest.mark.parametrize("keep", [0, 5, 100, -1])
def test_truncated(written, name, keep):
    whole = written(name, values(500) if name == "a.npy" else {"a": values(500)}).read_bytes()
    path = written(name, whole[:keep])
    with pytest.raises(FileError) as told:
        read_series(path, ONE)
    start = f"{path}: must be a whole {name[2:].upper()} file of numbers; got "
    assert str(told.value).startswith(start)
    assert str(told.value).endswith(". Write it again with numpy.save.")


def test_damaged_inside(written):
    whole = bytearray(written("a.npz", {"a": values(500)}).read_bytes())
    whole[1000:1100] = b"\x55" * 100
    with pytest.raises(FileError, match="must be a whole NPZ file of numbers; got"):
        read_series(written("a.npz", bytes(whole)), ONE)


def test_npz_under_the_name_of_an_npy(written):
    whole = written("a.npz", {"a": values(5)}).read_bytes()
    with pytest.raises(FileError, match=r"a\.npy: "):
        read_series(written("a.npy", whole), ONE)


def test_npy_under_the_name_of_an_npz(written):
    whole = written("a.npy", values(5)).read_bytes()
    with pytest.raises(FileError, match=r"a\.npz: "):
        read_series(written("a.npz", whole), ONE)


def test_what_an_archive_or_a_name_promises(written, tmp_path, says):
    whole = "must be a whole {} file of numbers; got {}. Write it again with numpy.save."
    npz, npy = (written(*one) for one in (("b.npz", {"a": values(5)}), ("b.npy", values(5))))
    path = written("a.npy", npz.read_bytes())
    with says(FileError, f"{path}: {whole.format('NPY', 'the content of a file .npz')}"):
        read_series(path, ONE)
    path = written("a.npz", npy.read_bytes())
    with says(FileError, f"{path}: {whole.format('NPZ', 'the content of a file .npy')}"):
        read_series(path, ONE)
    with zipfile.ZipFile(tmp_path / "c.npz", "w") as file:
        file.writestr("a.txt", "no array")
    path = tmp_path / "c.npz"
    with says(FileError, f"{path}: {whole.format('NPZ', 'an archive of other files')}"):
        read_series(path, ONE)


def test_damaged_inside_where_compressed(tmp_path):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, a=np.random.default_rng(0).normal(size=500))
    whole = bytearray(path.read_bytes())
    whole[300:400] = b"\x55" * 100
    path.write_bytes(whole)
    with pytest.raises(FileError, match="must be a whole NPZ file of numbers; got"):
        read_series(path, ONE)


def test_a_single_number(written):
    with pytest.raises(FileError, match=r"a\.npy: "):
        read_series(written("a.npy", np.float64(3.0)), ONE)


RAGGED = (
    "{path}: every line must hold as many numbers as the first; got {what}. "
    "Remove text columns and fill missing values."
)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("1,2\n3,x\n", "could not convert string to float: 'x'"),
        ("1,2\n3,\n", "could not convert string to float: ''"),
        ("name,value\nyes,1\nno,2\n", "could not convert string to float: 'yes'"),
        ("1;2\n3;4\n", "could not convert string to float: '3;4'"),
    ],
)
def test_csv_with_text(written, says, text, what):
    path = written("a.csv", text)
    with says(FileError, RAGGED.format(path=path, what=what)):
        read_series(path, TWO)


@pytest.mark.parametrize("text", ["1,2\n3\n", "1,2\n3,4,5\n", "1\n2,3\n"])
def test_ragged_csv(written, text):
    path = written("a.csv", text)
    start, end = RAGGED.format(path=path, what="|").split("|")
    with pytest.raises(FileError) as told:
        read_series(path, TWO)
    assert str(told.value).startswith(start)
    assert str(told.value).endswith(end)


def test_csv_that_is_no_text(written, says):
    path = written("a.csv", b"\xff\xfe1,2\n")
    sentence = (
        f"{path}: must be a text table; got 'utf-8' codec can't decode byte 0xff in position 0: "
        "invalid start byte. Save it as CSV in UTF-8."
    )
    with says(FileError, sentence):
        read_series(path, ONE)


def test_csv_with_an_endless_cell(written, says):
    path = written("a.csv", "1" * 200_000)
    sentence = (
        f"{path}: must be a text table; got field larger than field limit (131072). "
        "Save it as CSV in UTF-8."
    )
    with says(FileError, sentence):
        read_series(path, ONE)


@pytest.mark.parametrize("name", ["a.npy", "a.csv"])
def test_no_permission(written, monkeypatch, name):
    path = written(name, "1\n" if name == "a.csv" else values(3))

    def forbidden(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", forbidden)
    monkeypatch.setattr(Path, "open", forbidden)
    with pytest.raises(FileError, match="Permission denied"):
        read_series(path, ONE)


@pytest.mark.parametrize(
    ("name", "content", "contract", "sentence"),
    [
        (
            "a.npy",
            values(2, 7),
            TWO,
            "input: values must be (length, 2); got (2, 7). Did you mean values.T?",
        ),
        (
            "a.csv",
            "1\n\nnan\n",
            ONE,
            "input: values must be finite; got [nan] at sample 1. "
            "Fill or remove missing values first.",
        ),
        (
            "a.npy",
            np.array(["yes", "no"]),
            ONE,
            "input: values must be numbers; got <U3. Remove text columns.",
        ),
        (
            "a.csv",
            "1,9\n",
            TOKENS,
            "input: tokens must lie between 0 and 8; got 1 to 9. Use the model's own vocabulary.",
        ),
        (
            "a.csv",
            "1,0.5\n",
            TOKENS,
            "input: tokens must be whole numbers; got fractions. Round them.",
        ),
        (
            "a.npy",
            values(2, 3, 4, 1),
            ONE,
            "input: values must be (length, 1); got (2, 3, 4, 1). "
            "One row a sample, one column each.",
        ),
    ],
)
def test_what_the_model_does_not_take(written, says, name, content, contract, sentence):
    path = written(name, content)
    with says(FileError, f"{path}: {sentence}"):
        read_series(path, contract)
