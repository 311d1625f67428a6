"""The allow list of pickles: what published files hold is read, everything else is refused."""

import collections
import io
import os
import pickle

import numpy as np
import pytest

from mrconv.data.unpickling import ALLOWED, load_object_array, load_pickle
from mrconv.errors import FileError

AGAIN = "Get it again."
VALUES = {
    "plain": [1, 2.5, "text", None, True, (3, b"\x00\xff", b"")],
    "float": np.array([[1.5, -2.0], [0.1, 3e300]]),
    "bytes": np.arange(256, dtype=np.uint8),
    "big": np.arange(3, dtype=">i4"),
    "none": np.zeros((0, 3)),
    "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "text": np.array(["a", "bc"]),
    "type": np.dtype(">f4"),
    "scalar": np.float32(0.1),
    "objects": np.array([np.arange(2), np.arange(3)], dtype=object),
}


def as_numpy_1(pickled: bytes) -> bytes:
    """The same pickle with the names that numpy had before its version 2."""
    return pickled.replace(b"numpy._core.multiarray", b"numpy.core.multiarray")


def assert_same(got, expected):
    assert type(got) is type(expected)
    if isinstance(expected, dict):
        assert list(got) == list(expected)
        for key, value in expected.items():
            assert_same(got[key], value)
    elif isinstance(expected, np.ndarray) and expected.dtype == object:
        assert len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, np.ndarray):
        assert got.dtype == expected.dtype
        assert got.tolist() == expected.tolist()
    else:
        assert got == expected


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4])
def test_arrays_and_plain_values(protocol, old):
    pickled = pickle.dumps(VALUES, protocol)
    if old and protocol < 4:  # behind the length of the name from protocol 4 on
        pickled = as_numpy_1(pickled)
        assert b"numpy.core.multiarray" in pickled
    assert_same(load_pickle("a", pickled, AGAIN), VALUES)


#: As Python 2 and an old numpy write {"data": array([[1, 254]], uint8), "labels": [7]}: strings
#: of bytes, and 0 and 1 for the booleans of a dtype.
PYTHON_2 = (
    b"\x80\x02}q\x01(U\x04dataq\x02cnumpy.core.multiarray\n_reconstruct\nq\x03cnumpy\nndarray\n"
    b"q\x04K\x00\x85U\x01b\x87Rq\x05(K\x01K\x01K\x02\x86cnumpy\ndtype\nq\x06U\x02u1K\x00K\x01\x87"
    b"Rq\x07(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89U\x02\x01\xfetbU\x06labels"
    b"]q\x08K\x07au."
)


def test_a_pickle_of_python_2():
    expected = {"data": np.array([[1, 254]], np.uint8), "labels": [7]}
    assert_same(load_pickle("a", PYTHON_2, AGAIN), expected)


# what is refused


class Bomb:
    """Makes a folder where it is unpickled."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (str(self.marker),)


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_calls_are_refused_and_not_made(tmp_path, says, protocol):
    marker = tmp_path / "marker"
    pickled = pickle.dumps([np.arange(2), Bomb(marker)], protocol)
    sentence = (
        f"a: must hold arrays and plain values only; got {os.mkdir.__module__}.mkdir, "
        f"which is not called. {AGAIN}"
    )
    with says(FileError, sentence):
        load_pickle("a", pickled, AGAIN)
    assert not marker.exists()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("numpy", "load"),
        ("numpy", "ndarray.tofile"),
        ("numpy.core.multiarray", "fromfile"),
        ("numpy.core", "multiarray"),
        ("builtins", "eval"),
        ("builtins", "getattr"),
        ("builtins", "bytearray"),
        ("_codecs", "decode"),
        ("collections", "OrderedDict"),
    ],
)
def test_no_other_name_is_looked_up(says, module, name):
    # protocol 4, where a name may be dotted
    pickled = pickle.dumps(0, 4)[:2] + b"".join(
        bytes([0x8C, len(part)]) + part.encode() for part in (module, name)
    )
    sentence = (
        f"a: must hold arrays and plain values only; got {module}.{name}, which is not called. "
        f"{AGAIN}"
    )
    with says(FileError, sentence):
        load_pickle("a", pickled + b"\x93.", AGAIN)


def test_outside_references_are_refused(says):
    sentence = (
        "a: must hold arrays and plain values only; got a reference to 'x', which is not called. "
        f"{AGAIN}"
    )
    with says(FileError, sentence):
        load_pickle("a", b"Px\n.", AGAIN)


@pytest.mark.parametrize(
    "pickled",
    [
        b"\x80\x02c_codecs\nencode\nX\x01\x00\x00\x00aX\x04\x00\x00\x00zlib\x86R.",
        b"\x80\x02cnumpy\ndtype\n]\x85R.",
        # setting attributes of what the list gives: none can be
        b"\x80\x02cnumpy\ndtype\n}X\x01\x00\x00\x00aK\x01sb.",
        b"\x80\x02c_codecs\nencode\nN}X\x01\x00\x00\x00aK\x01s\x86b.",
        b"\x80\x02cnumpy\nndarray\n}X\x01\x00\x00\x00aK\x01sb.",
    ],
)
def test_the_list_cannot_be_misused(pickled):
    with pytest.raises(FileError, match=r"^a: must be a whole pickle of arrays; got "):
        load_pickle("a", pickled, AGAIN)


@pytest.mark.parametrize("keep", [0, 1, 10, 200, -1])
def test_truncated(keep):
    with pytest.raises(FileError, match=r"^a: must be a whole pickle of arrays; got .*again\.$"):
        load_pickle("a", pickle.dumps(VALUES)[:keep], AGAIN)


def state_of(array) -> tuple:
    """Version, shape, type, order and content: what a pickle of an array sets."""
    return array.__reduce__()[2]


class Record:
    """A type whose pickle gives it parts."""

    def __reduce__(self):
        parts = (3, "<", None, ("a",), {"a": (np.dtype("O"), 0)}, 8, 8, 0)
        return np.dtype, ("f8", False, True), parts


class Forged:
    """An array whose pickle sets another state."""

    def __init__(self, state):
        self.state = state

    def __reduce__(self):
        return np.zeros(0).__reduce__()[0], (np.ndarray, (0,), b"b"), self.state


NUMBERS, OBJECTS = state_of(np.arange(4)), state_of(np.array([1, "a"], dtype=object))


@pytest.mark.parametrize(
    "state",
    [
        (*NUMBERS[:1], (5,), *NUMBERS[2:]),
        (*NUMBERS[:1], (2**62,), *NUMBERS[2:]),
        (*NUMBERS[:4], NUMBERS[4][:-1]),
        (*NUMBERS[:4], [1, 2, 3, 4]),
        # numbers in the place of objects would be taken for where they lie
        (*OBJECTS[:4], NUMBERS[4]),
        (*OBJECTS[:1], (3,), *OBJECTS[2:]),
        state_of(np.zeros(2, [("a", "f8"), ("b", "O")])),
        (*NUMBERS[:2], Record(), *NUMBERS[3:]),
        state_of(np.zeros(2, "M8[s]")),
        NUMBERS[:3],
    ],
    ids=["shape", "size", "short", "list", "forged", "few", "record", "parts", "dates", "state"],
)
def test_forged_arrays(state):
    with pytest.raises(FileError, match=r"^a: must be a whole pickle of arrays; got "):
        load_pickle("a", pickle.dumps(Forged(state), 2), AGAIN)


# NPY files of objects


def npy(array) -> io.BytesIO:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    stream.seek(0)
    return stream


def test_npy_of_objects():
    got = load_object_array("a", npy(np.array(VALUES, dtype=object)), AGAIN)
    assert got.shape == ()
    assert_same(got.item(), VALUES)


def test_npy_of_other_objects(says):
    sentence = (
        "a: must hold arrays and plain values only; got collections.Counter, which is not called. "
        f"{AGAIN}"
    )
    with says(FileError, sentence):
        load_object_array("a", npy(np.array(collections.Counter("ab"))), AGAIN)


def test_npy_of_numbers(says):
    with says(FileError, f"a: must hold an array of objects; got float64. {AGAIN}"):
        load_object_array("a", npy(np.zeros(2)), AGAIN)


def test_npy_of_a_bare_object(says):
    header = npy(np.array(None, dtype=object)).getvalue()
    start = header.index(b"\n") + 1
    with says(FileError, f"a: must hold an array of objects; got list. {AGAIN}"):
        load_object_array("a", io.BytesIO(header[:start] + pickle.dumps([1])), AGAIN)


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", b"no array at all", b"\x93NUMPY\x07\x00"])
def test_no_npy(content):
    with pytest.raises(FileError, match=r"^a: must be a whole NPY file; got .*\. Get it again\.$"):
        load_object_array("a", io.BytesIO(content), AGAIN)


def test_the_list_is_short():
    assert sorted({".".join(name) for name in ALLOWED}) == [
        "__builtin__.bytes",
        "_codecs.encode",
        "builtins.bytes",
        "numpy._core.multiarray._reconstruct",
        "numpy._core.multiarray.scalar",
        "numpy.core.multiarray._reconstruct",
        "numpy.core.multiarray.scalar",
        "numpy.dtype",
        "numpy.ndarray",
    ]
