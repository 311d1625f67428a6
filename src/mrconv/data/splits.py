"""A data set as tensors: training, validation and test examples, and what describes them."""

from dataclasses import dataclass
from hashlib import md5
from typing import Literal, Protocol

from torch import Tensor

from .contract import InputContract

__all__ = ["IGNORED", "DataSource", "Examples", "SplitName", "Splits", "tenth_of"]

SplitName = Literal["train", "validation", "test"]
#: Target of a sample that is never scored, as torch's losses have it.
IGNORED = -100


@dataclass(frozen=True)
class Examples:
    """Inputs and targets of one split."""

    x: Tensor
    """Prepared inputs, (N, L, F) float32; tokens (N, L), int64 or, to save memory, any smaller
    type of whole numbers; pairs of sequences (N, 2, L, F) or (N, 2, L).
    """
    y: Tensor
    """Targets: classes (N,), values (N, T), classes a sample (N, L), or futures (N, H, F).

    Classes a sample may be ``IGNORED``, -100, where none is asked for.
    """
    lengths: Tensor | None = None
    """Valid samples of each row, (N,), or of both of a pair, (N, 2); None: all."""

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True)
class Splits:
    """A whole data set in memory."""

    train: Examples
    validation: Examples
    test: Examples
    contract: InputContract
    """What a model trained on it expects of its input."""
    labels: tuple[str, ...] = ()
    """Names of the classes, in the order of their numbers; empty where targets are no classes."""

    def __getitem__(self, name: SplitName) -> Examples:
        return {"train": self.train, "validation": self.validation, "test": self.test}[name]


class DataSource(Protocol):
    """What a recipe names under ``data``: settings now, tensors on ``load``."""

    def load(self) -> Splits:
        """Reads the files and gives the three splits."""
        ...


def tenth_of(content: bytes) -> int:
    """A number from 0 to 9 that follows from the content alone, by which examples are shared out.

    Args:
        content: What must not be in two splits, such as a text.

    Returns:
        MD5 of the content, modulo 10.

    Example:
        >>> tenth_of(b"ACGT")
        8
    """
    return int(md5(content, usedforsecurity=False).hexdigest(), 16) % 10
