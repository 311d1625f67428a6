"""Pickled arrays of published files, read through an allow list: nothing else is ever called.

A pickle is a program. This one may name the constructors of numpy's arrays, types and scalars and
of bytes, and gets stand-ins for them, which only note what they are given. Arrays are made of it
afterwards: numpy's own unpickling would take a pickle's word for where objects lie in memory.
"""

import io
import pickle
import re
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..errors import FileError

__all__ = ["load_object_array", "load_pickle"]

#: Types of an array: numbers, text, and "O" for objects.
_TYPE = re.compile(r"[biufcSU]\d+|O\d*")
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class _Dtype:
    """Notes a type by its name; a pickle then tells its byte order."""

    __slots__ = ("dtype",)

    def __init__(self, name: str, align: object = False, copy: object = True) -> None:
        if not isinstance(name, str) or not _TYPE.fullmatch(name):
            raise pickle.UnpicklingError(f"the type {name!r}")
        self.dtype: np.dtype[Any] = np.dtype(name[:1] if name[0] == "O" else name)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, order, *structure = state
        if any(part is not None for part in structure[:3]):
            raise pickle.UnpicklingError("a type with parts")
        self.dtype = self.dtype if order == "|" else self.dtype.newbyteorder(order)


class _Array:
    """Notes shape, type and content of an array."""

    __slots__ = ("content", "dtype", "fortran", "shape")

    def __init__(self, *_: object) -> None:  # of an empty array, which the state replaces
        self.__setstate__((0, (0,), _Dtype("i1"), False, b""))

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, self.shape, noted, self.fortran, self.content = state
        self.dtype = noted.dtype

    def array(self) -> NDArray[Any]:
        """The array; of objects, with all that they hold."""
        if self.dtype.hasobject:
            values = np.empty(len(self.content), object)
            for i, value in enumerate(self.content):
                values[i] = _made(value)
        else:
            values = np.frombuffer(_as_bytes(self.content), self.dtype).copy()
        return values.reshape(self.shape, order="F" if self.fortran else "C")


class _Scalar:
    """Notes type and content of one number."""

    __slots__ = ("content", "dtype")

    def __init__(self, noted: _Dtype, content: bytes | str) -> None:
        self.dtype, self.content = noted.dtype, content

    def value(self) -> Any:
        """The number, of numpy's type."""
        (value,) = np.frombuffer(_as_bytes(self.content), self.dtype)
        return value


class _Bytes:
    """``bytes``, and ``codecs.encode`` to latin1: bytes as Python 3 writes them in protocol 2."""

    __slots__ = ()

    def __call__(self, text: str = "", encoding: str = "latin1") -> bytes:
        if encoding != "latin1":
            raise pickle.UnpicklingError(f"bytes in {encoding!r}")
        return _as_bytes(text)


def _as_bytes(content: bytes | str) -> bytes:
    return content.encode("latin1") if isinstance(content, str) else content


def _made(value: Any) -> Any:
    """The value with arrays and scalars in place of what was noted."""
    if isinstance(value, _Array):
        return value.array()
    if isinstance(value, _Scalar):
        return value.value()
    if isinstance(value, _Dtype):
        return value.dtype
    if isinstance(value, dict):
        return {_made(key): _made(one) for key, one in value.items()}
    return type(value)(map(_made, value)) if isinstance(value, list | tuple) else value


_ARRAY_MODULES = ("numpy.core.multiarray", "numpy._core.multiarray")
#: What a pickle may name, and the stand-in that it gets.
ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): object(),  # an argument of _reconstruct
    ("numpy", "dtype"): _Dtype,
    ("_codecs", "encode"): _Bytes(),
    ("builtins", "bytes"): _Bytes(),
    ("__builtin__", "bytes"): _Bytes(),
    **{(module, "_reconstruct"): _Array for module in _ARRAY_MODULES},
    **{(module, "scalar"): _Scalar for module in _ARRAY_MODULES},
}


class _Refused(pickle.UnpicklingError):
    """A name that is not on the list."""


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """The stand-in for a name of the list."""
        if (module, name) not in ALLOWED:
            raise _Refused(f"{module}.{name}")
        return ALLOWED[module, name]

    def persistent_load(self, pid: Any) -> Any:
        """Refuses references to things outside the pickle."""
        raise _Refused(f"a reference to {pid!r}")


def load_pickle(name: str, stream: BinaryIO | bytes, remedy: str) -> Any:
    """Arrays and plain values of a pickle that may construct nothing else.

    Text of Python 2 is read as latin1, which keeps every byte.

    Args:
        name: Of the file, the first words of messages.
        stream: The pickle.
        remedy: Last sentence of messages, such as where to get the file.

    Returns:
        What the pickle holds.

    Raises:
        FileError: If the pickle is damaged, or names anything but the allowed constructors.

    Example:
        >>> import numpy as np, pickle
        >>> load_pickle("a.pkl", pickle.dumps({"x": np.arange(3)}), "Get it again.")
        {'x': array([0, 1, 2])}
    """
    file = io.BytesIO(stream) if isinstance(stream, bytes) else stream
    try:
        return _made(_Unpickler(file, encoding="latin1").load())
    except _Refused as refused:
        raise FileError(
            f"{name}: must hold arrays and plain values only; got {refused}, which is not called. "
            f"{remedy}"
        ) from None
    except Exception as error:  # whatever pickle and numpy raise on damaged bytes
        got = str(error) or type(error).__name__
        raise FileError(f"{name}: must be a whole pickle of arrays; got {got}. {remedy}") from None


def load_object_array(name: str, stream: BinaryIO, remedy: str) -> NDArray[Any]:
    """The array of objects of an NPY file, which numpy keeps as a pickle behind a header.

    Args:
        name: Of the file, the first words of messages.
        stream: The file, at its start.
        remedy: Last sentence of messages.

    Returns:
        The array; its objects are arrays and plain values.

    Raises:
        FileError: If the file is damaged, holds numbers instead, or as ``load_pickle``.
    """
    try:
        version = np.lib.format.read_magic(stream)
        _, _, dtype = _HEADERS[version](stream)
    except (ValueError, KeyError, EOFError, OSError) as error:
        raise FileError(f"{name}: must be a whole NPY file; got {error}. {remedy}") from None
    array = load_pickle(name, stream, remedy) if dtype.hasobject else None
    if not isinstance(array, np.ndarray):
        got = dtype if array is None else type(array).__name__
        raise FileError(f"{name}: must hold an array of objects; got {got}. {remedy}")
    return array
