"""ListOps: nested minima, maxima, medians and sums of digits, read from the published files."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from .._checks import check_count
from ..errors import FileError
from .contract import InputContract
from .splits import Examples, SplitName, Splits

__all__ = ["FILES", "HEADER", "ListOps"]

#: In the order in which the generator deals examples out.
FILES: Mapping[SplitName, str] = {
    "test": "basic_test.tsv",
    "validation": "basic_val.tsv",
    "train": "basic_train.tsv",
}
HEADER = b"Source\tTarget\r\n"
SPECIAL = ("<pad>", "<unk>", "<eos>")
OPERATORS = ("[MIN", "[MAX", "[MED", "[SM")
TOKENS = (*SPECIAL, *OPERATORS, "X", *"0123456789")
PAD, UNKNOWN, END = range(3)
_GET = "Generate the set: mrconv data listops --out DIR"
#: One byte for each operator, none of which is ASCII.
SHORT = {name.encode(): bytes([0xF0 + number]) for number, name in enumerate(OPERATORS)}
_KNOWN = (*SHORT.values(), b"]", *(b"%d" % digit for digit in range(10)))
NUMBERS = np.full(256, UNKNOWN, np.uint8)
NUMBERS[list(b"".join(_KNOWN))] = np.arange(len(SPECIAL), len(TOKENS))


@dataclass(frozen=True)
class ListOps:
    """Expressions such as [MAX 4 [MIN 2 3 ] 1 ] and their values, 0 to 9: ten classes.

    Read from basic_train.tsv, basic_val.tsv and basic_test.tsv as Long Range Arena publishes them
    and ``mrconv data listops`` writes them: of 96,000, 2,000 and 2,000 examples. Parentheses are
    left out and "]" is named X. Each row ends in <eos> and is filled with <pad>; ``lengths`` tells
    where it ends, <eos> included. What is longer than ``length`` is cut there, <eos> last.

    ``vocabulary`` lists the 18 tokens by their numbers: <pad>, <unk>, <eos>, four operators, X and
    ten digits.

    Args:
        path: Folder with the three files.
        length: Tokens kept of each expression with its <eos>, at most; published ones have 2,000.
        limit: Examples kept of each split, its first ones; None: all.

    Raises:
        ArgumentError: If length or limit is below 1.

    Source: Tay et al. 2021 (Long Range Arena); tokens as in the code of S4 (Gu et al. 2022), in an
        order of our own.

    Example:
        >>> from mrconv.data import ListOps
        >>> ListOps("listops-1000").vocabulary[:8]
        ('<pad>', '<unk>', '<eos>', '[MIN', '[MAX', '[MED', '[SM', 'X')
    """

    path: str
    length: int = 2048
    limit: int | None = None

    def __post_init__(self) -> None:
        check_count("ListOps", "length", self.length)
        if self.limit is not None:
            check_count("ListOps", "limit", self.limit)

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The tokens by their numbers."""
        return TOKENS

    def load(self) -> Splits:
        """Reads the files.

        Returns:
            Tokens x (N, L) int64, y (N,) and lengths (N,); L is the longest row of the split. 8
            bytes a token, 1.5 GB for the published training examples.

        Raises:
            FileError: If a file is missing, or a line is no expression and value.
        """
        parts = {name: self._examples(Path(self.path) / file) for name, file in FILES.items()}
        contract = InputContract("tokens", self.length, vocabulary=len(TOKENS))
        return Splits(**parts, contract=contract, labels=tuple("0123456789"))

    def _examples(self, file: Path) -> Examples:
        rows: list[NDArray[np.uint8]] = []
        targets: list[int] = []
        try:
            with file.open("rb") as lines:
                _check_header(file, lines.readline())
                for number, line in enumerate(lines, 2):
                    if len(targets) == self.limit:
                        break
                    row, target = _parsed(f"{file}, line {number}", line.rstrip(b"\r\n"))
                    rows.append(_cut(row, self.length))
                    targets.append(target)
        except FileNotFoundError:
            raise FileError(
                f"ListOps: path must be a folder with {', '.join(sorted(FILES.values()))}; "
                f"got no file {file}. {_GET}"
            ) from None
        if not rows:
            raise FileError(f"{file}: must hold at least one example; got none. {_GET}")
        lengths = torch.tensor([len(row) for row in rows])
        x = torch.full((len(rows), int(lengths.max())), PAD)  # (N, L)
        for number, tokens in enumerate(rows):
            x[number, : len(tokens)] = torch.from_numpy(tokens)
        return Examples(x, torch.tensor(targets), lengths)


def _check_header(file: Path, line: bytes) -> None:
    if line.rstrip(b"\r\n") != HEADER.rstrip():
        raise FileError(
            f"{file}: the first line must be Source, a tab and Target; got {line[:40]!r}. {_GET}"
        )


def _parsed(where: str, line: bytes) -> tuple[NDArray[np.uint8], int]:
    """Tokens and value of a line."""
    source, tab, target = line.partition(b"\t")
    if not tab or len(target) != 1 or not target.isdigit():
        raise FileError(
            f"{where}: must be an expression, a tab and a digit; got {line[-40:]!r}. {_GET}"
        )
    text = source
    for name, short in SHORT.items():
        text = text.replace(name, short)
    words = text.translate(None, b"() ")
    tokens = NUMBERS[np.frombuffer(words, np.uint8)]
    # of right text every word has become one byte
    parentheses = source.count(b"(") + source.count(b")")
    blanks = source.count(b" ") + 1
    right = len(tokens) and source.isascii() and UNKNOWN not in tokens
    if not right or len(tokens) + parentheses != blanks:
        raise FileError(
            f"{where}: the expression must consist of digits, {', '.join(OPERATORS)}, ] and "
            f"parentheses with a blank between two; got {source[:40]!r}. {_GET}"
        )
    return tokens, int(target)


def _cut(tokens: NDArray[np.uint8], length: int) -> NDArray[np.uint8]:
    return np.append(tokens[: length - 1], np.uint8(END))
