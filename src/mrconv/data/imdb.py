"""IMDB film reviews, the task Text of the Long Range Arena: praise or blame, letter by letter."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import torch

from .._checks import check_choice, check_count
from ..errors import FileError
from .archives import Reader, check_digest, data_files
from .cache import cached
from .contract import InputContract
from .splits import Examples, Splits, tenth_of
from .symbols import Alphabet, Symbols, alphabet_of, byte_alphabet, padded

__all__ = ["IMDB"]

#: Of aclImdb_v1.tar.gz.
MD5 = ("7c2ac02c03563afcf9b574c7e56c153a",)
GET = "Get it: https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz."
FOLDERS, LABELS = ("neg", "pos"), ("negative", "positive")
#: How often a character must come in the training reviews to have a token of its own.
LEAST = 15

Reviews = list[tuple[str, int]]


@dataclass(frozen=True)
class IMDB:
    """50,000 film reviews, half for training and half the test: does the writer like the film?

    A review is read letter by letter and cut at ``length``; what it holds of "<br />" is kept. Rows
    are padded on the right, and ``lengths`` tells where each ends.

    As published, the task Text of the Long Range Arena has no validation of its own: the test
    reviews serve for both, so that a model chosen by them looks better than it is.

    Characters are numbered as in S4: those that come 15 times and more in the training reviews, cut
    as they are, by falling frequency, behind padding, any other, and the end, which is put behind
    every review; about 135 tokens. Bytes are their own tokens, without an end.

    Args:
        path: The archive ``aclImdb_v1.tar.gz``, read in memory; or the folder ``aclImdb``.
        length: Tokens of a review at most, the end included.
        symbols: "characters" or "bytes".
        validation: "test", as published; or "train", which holds out a tenth of the training
            reviews, those whose MD5 modulo 10 is 9.
        verify: Whether an archive must have the published MD5 sum.
        cache: Folder that keeps what was prepared, for the next time; None: nothing is kept.

    Raises:
        ArgumentError: If length is below 1, or symbols or validation are unknown.

    Source: Maas et al. 2011; Tay et al. 2021 (the task); preparation as in S4 (Gu et al. 2022).

    Example:
        >>> from mrconv.data import IMDB
        >>> IMDB("aclImdb").length
        4096
    """

    path: str
    length: int = 4096
    symbols: Symbols = "characters"
    validation: Literal["test", "train"] = "test"
    verify: bool = True
    cache: str | None = None

    def __post_init__(self) -> None:
        check_count("IMDB", "length", self.length)
        check_choice("IMDB", "symbols", self.symbols, get_args(Symbols))
        check_choice("IMDB", "validation", self.validation, ("test", "train"))

    def load(self) -> Splits:
        """Reads the reviews.

        Returns:
            25,000, 25,000 and 25,000 examples of x (N, length) uint8, y (N,), 1 for praise, and
            lengths (N,).

        Raises:
            FileError: If the path or a folder of reviews is missing, an archive is damaged or not
                the published one, or a review is no UTF-8.
        """
        return cached(self, self._prepare)

    def _prepare(self) -> Splits:
        if self.verify:
            check_digest("IMDB", self.path, MD5, GET)
        files = data_files("IMDB", self.path, r"(train|test)/(neg|pos)/\d+_\d+[.]txt", GET)
        train, test = (self._reviews(files, part) for part in ("train", "test"))
        held = test
        if self.validation == "train":
            tenths = [tenth_of(text.encode(self._encoding)) for text, _ in train]
            held = [row for row, tenth in zip(train, tenths, strict=True) if tenth == 9]
            train = [row for row, tenth in zip(train, tenths, strict=True) if tenth < 9]
        alphabet = self._alphabet(train)
        parts = [self._examples(rows, alphabet) for rows in (train, held)]
        parts += [parts[1] if held is test else self._examples(test, alphabet)]
        contract = InputContract("tokens", self.length, vocabulary=alphabet.size)
        return Splits(parts[0], parts[1], parts[2], contract, LABELS)

    @property
    def _encoding(self) -> str:
        """Of bytes latin1, in which every byte is one character."""
        return "utf-8" if self.symbols == "characters" else "latin1"

    def _reviews(self, files: Mapping[str, Reader], part: str) -> Reviews:
        """Texts of one part, blame first, and their classes."""
        reviews: Reviews = []
        for label, folder in enumerate(FOLDERS):
            names = [name for name in files if name.startswith(f"{part}/{folder}/")]
            if not names:
                raise FileError(
                    f"IMDB: {self.path} must hold reviews {part}/{folder}/ID_RATING.txt; got none. "
                    f"{GET}"
                )
            for name in names:
                try:
                    reviews.append((files[name]().decode(self._encoding), label))
                except UnicodeDecodeError as error:
                    raise FileError(
                        f"IMDB: {name} must be UTF-8; got {error}. {GET} Or pass symbols='bytes'."
                    ) from None
        return reviews

    def _alphabet(self, train: Reviews) -> Alphabet:
        if self.symbols == "bytes":
            return byte_alphabet()
        return alphabet_of((text[: self.length - 1] for text, _ in train), LEAST)

    def _examples(self, reviews: Reviews, alphabet: Alphabet) -> Examples:
        rows = (alphabet.encoded(text, self.length) for text, _ in reviews)
        x, lengths = padded(rows, len(reviews), self.length, alphabet.dtype)
        return Examples(x, torch.tensor([label for _, label in reviews]), lengths)
