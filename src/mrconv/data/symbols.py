"""Characters or bytes of a text as tokens, and rows of unequal length in one tensor."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["Alphabet", "Symbols", "alphabet_of", "byte_alphabet", "padded"]

#: Characters of UTF-8 text, or its bytes.
Symbols = Literal["characters", "bytes"]
PADDING, OTHER, END, SPECIALS = 0, 1, 2, 3
BYTES, CODE_POINTS = 256, 0x110000


@dataclass(frozen=True)
class Alphabet:
    """Which token stands for a character or byte, and what stands behind the last one."""

    size: int
    """Number of tokens."""
    tokens: Callable[[str], NDArray[np.int64]]
    """Tokens of a text, without an end."""
    ends: bool
    """Whether the token ``END`` is put behind a text."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """A small type that holds every token."""
        return np.dtype(np.uint8 if self.size <= BYTES else np.int32)

    def encoded(self, text: str, length: int) -> NDArray[Any]:
        """The text's first symbols, with the end at most ``length`` tokens.

        Args:
            text: Any text; of bytes, as latin1.
            length: Tokens at most.
        """
        kept = self.tokens(text[: length - self.ends])
        return (np.append(kept, END) if self.ends else kept).astype(self.dtype)


def byte_alphabet() -> Alphabet:
    """Every byte is its own token, and nothing stands behind the last one."""
    return Alphabet(BYTES, lambda text: _codes(text).astype(np.int64), ends=False)


def alphabet_of(texts: Iterable[str], least: int) -> Alphabet:
    """The characters of the training texts, as published trainings number them.

    0 is padding, 1 any character that is not of the alphabet, 2 the end of a text; then come the
    characters by falling frequency, those of equal frequency by their code.

    Args:
        texts: Training texts, cut as they are trained on.
        least: How often a character must come, at least.
    """
    counts = np.zeros(CODE_POINTS, np.int64)
    for text in texts:
        own = np.bincount(_codes(text))
        counts[: len(own)] += own
    known = np.flatnonzero(counts >= max(1, least))
    known = known[np.argsort(-counts[known], kind="stable")]
    table = np.full(CODE_POINTS, OTHER, np.int64)
    table[known] = np.arange(len(known)) + SPECIALS
    return Alphabet(len(known) + SPECIALS, lambda text: table[_codes(text)], ends=True)


def _codes(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)


def padded(
    rows: Iterable[NDArray[Any]], count: int, length: int, dtype: np.dtype[Any]
) -> tuple[Tensor, Tensor]:
    """Rows of tokens in one tensor, padding on the right.

    Args:
        rows: Each of at most ``length`` tokens.
        count: Their number.
        length: Columns of the tensor.
        dtype: Of the tensor.

    Returns:
        Tokens (count, length), and lengths (count,).
    """
    x, lengths = np.zeros((count, length), dtype), np.zeros(count, np.int64)
    for i, row in enumerate(rows):
        x[i, : len(row)], lengths[i] = row, len(row)
    return torch.from_numpy(x), torch.from_numpy(lengths)
