"""Pairs of papers, the task Retrieval of the Long Range Arena: does one cite the other?"""

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

import torch

from .._checks import check_count
from ..errors import FileError
from .archives import Reader, data_files
from .cache import cached
from .contract import InputContract
from .splits import Examples, SplitName, Splits
from .symbols import Alphabet, alphabet_of, padded

__all__ = ["AAN"]

GET = "Get it: lra_release.gz of https://github.com/google-research/long-range-arena."
FILES: dict[SplitName, str] = {
    "train": "new_aan_pairs.train.tsv",
    "validation": "new_aan_pairs.eval.tsv",
    "test": "new_aan_pairs.test.tsv",
}
COLUMNS = 5

Pair = tuple[int, str, str]


@dataclass(frozen=True)
class AAN:
    """Pairs of papers on computational linguistics: are they linked by a citation?

    Both texts are read character by character and cut at ``length``; the end is put behind each.
    Characters are numbered as in S4: all that come in the training texts, cut as they are, by
    falling frequency, behind padding, any other, and the end; about 98 tokens. Models take both
    texts at once: ``mrconv.SequenceClassifier(..., pair=True)``.

    Args:
        path: Folder of ``new_aan_pairs.train.tsv``, ``.eval.tsv`` and ``.test.tsv``; or an archive
            of them, read in memory.
        length: Tokens of a text at most, the end included.
        cache: Folder that keeps what was prepared, for the next time; None: nothing is kept.

    Raises:
        ArgumentError: If length is below 1.

    Cost: 8 kB of memory a pair, 1.5 GB in all, and as much again while the files are read.

    Source: Radev et al. 2013; Tay et al. 2021 (the task); preparation as in S4 (Gu et al. 2022),
    but quotation marks are letters like any other, as in the task's own reader.

    Example:
        >>> from mrconv.data import AAN
        >>> AAN("lra_release/tsv_data").length
        4000
    """

    path: str
    length: int = 4000
    cache: str | None = None

    def __post_init__(self) -> None:
        check_count("AAN", "length", self.length)

    def load(self) -> Splits:
        """Reads the three files.

        Returns:
            147,086, 18,090 and 17,437 examples of x (N, 2, length) uint8, y (N,), 1 for a citation,
            and lengths (N, 2).

        Raises:
            FileError: If the path or a file is missing, or a line is not label, two names and two
                texts with tabs between.
        """
        return cached(self, self._prepare)

    def _prepare(self) -> Splits:
        pattern = "|".join(name.replace(".", "[.]") for name in FILES.values())
        files = data_files("AAN", self.path, pattern, GET)
        for name in FILES.values():
            if name not in files:
                raise FileError(f"AAN: {self.path} must hold {name}; got no such file. {GET}")
        texts = chain.from_iterable(texts for _, *texts in _pairs(files, FILES["train"]))
        alphabet = alphabet_of((text[: self.length - 1] for text in texts), 1)
        parts = {split: self._examples(files, name, alphabet) for split, name in FILES.items()}
        contract = InputContract("tokens", self.length, vocabulary=alphabet.size)
        return Splits(**parts, contract=contract, labels=("unrelated", "cited"))

    def _examples(self, files: Mapping[str, Reader], name: str, alphabet: Alphabet) -> Examples:
        labels = [label for label, *_ in _pairs(files, name)]
        if not labels:
            raise FileError(f"AAN: {name} must hold at least one pair; got none. {GET}")
        rows = (
            alphabet.encoded(text, self.length) for _, *both in _pairs(files, name) for text in both
        )
        x, lengths = padded(rows, 2 * len(labels), self.length, alphabet.dtype)
        x, lengths = x.reshape(len(labels), 2, -1), lengths.reshape(-1, 2)
        return Examples(x, torch.tensor(labels), lengths)


def _pairs(files: Mapping[str, Reader], name: str) -> Iterator[Pair]:
    """Label and texts of every line. Only a line feed ends one, or CRLF."""
    for number, line in enumerate(io.BytesIO(files[name]()), 1):
        content = line.removesuffix(b"\n").removesuffix(b"\r")
        if not content:
            continue
        try:
            label, _, _, first, second = content.decode("utf-8").split("\t")
            yield {0.0: 0, 1.0: 1}[float(label)], first, second
        except (ValueError, KeyError) as error:
            got = str(error) if isinstance(error, UnicodeDecodeError) else ascii(content[:40])
            raise FileError(
                f"AAN: {name}, line {number}, must be a label 0.0 or 1.0, two names and two texts, "
                f"{COLUMNS} columns with tabs between; got {got}. {GET}"
            ) from None
