"""2,000 film reviews as bytes, by path: praise or blame, with a validation of its own."""

import re
from dataclasses import dataclass

import torch

from .._checks import check_count
from ..errors import FileError
from .archives import Reader, data_files
from .contract import InputContract
from .splits import Examples, SplitName, Splits
from .symbols import byte_alphabet, padded

__all__ = ["MovieReviews"]

FOLDERS, LABELS = ("neg", "pos"), ("negative", "positive")
#: Reviews of each class, by their number.
NUMBERS: dict[SplitName, range] = {
    "train": range(0, 800),
    "validation": range(800, 900),
    "test": range(900, 1000),
}
GET = (
    "Get it: https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora/"
    "movie_reviews.zip."
)
_NAME = re.compile(r"(neg|pos)/cv(\d{3})_\d+[.]txt")


@dataclass(frozen=True)
class MovieReviews:
    """1,000 good and 1,000 bad reviews of films, 7.8 MB: does the writer like the film?

    A smaller stand-in for the task Text of the Long Range Arena. Reviews are bytes, median 3,622,
    cut at ``length``; rows are padded on the right, and ``lengths`` tells where each ends. Of
    either class the reviews cv000 to cv799 train, cv800 to cv899 validate, and cv900 to cv999 are
    the test. A linear classifier on runs of three to five letters gives 89 % there at 4,096 bytes.

    Args:
        path: The archive ``movie_reviews.zip``, or a folder of its files.
        length: Bytes kept of each review, at most.

    Raises:
        ArgumentError: If length is below 1.

    Source: Pang and Lee 2004, by way of the corpora of NLTK (CC BY 4.0).

    Example:
        >>> from mrconv.data import MovieReviews
        >>> MovieReviews("movie_reviews.zip").length
        4096
    """

    path: str
    length: int = 4096

    def __post_init__(self) -> None:
        check_count("MovieReviews", "length", self.length)

    def load(self) -> Splits:
        """Reads the reviews.

        Returns:
            1,600, 200 and 200 examples of x (N, length) uint8, y (N,), 1 for praise, and lengths
            (N,).

        Raises:
            FileError: If the path is missing, an archive is damaged, or a review is missing.
        """
        reviews = self._reviews()
        alphabet, parts = byte_alphabet(), {}
        for split, numbers in NUMBERS.items():
            keys = [(label, number) for label in range(len(FOLDERS)) for number in numbers]
            rows = (alphabet.encoded(reviews[k]().decode("latin1"), self.length) for k in keys)
            x, lengths = padded(rows, len(keys), self.length, alphabet.dtype)
            parts[split] = Examples(x, torch.tensor([label for label, _ in keys]), lengths)
        contract = InputContract("tokens", self.length, vocabulary=alphabet.size)
        return Splits(**parts, contract=contract, labels=LABELS)

    def _reviews(self) -> dict[tuple[int, int], Reader]:
        """Every review, by its class and number."""
        found = {}
        for name, read in data_files("MovieReviews", self.path, _NAME.pattern, GET).items():
            if match := _NAME.fullmatch(name):
                found[FOLDERS.index(match[1]), int(match[2])] = read
        count = NUMBERS["test"].stop
        for label, folder in enumerate(FOLDERS):
            for number in range(count):
                if (label, number) not in found:
                    raise FileError(
                        f"MovieReviews: {self.path} must hold the reviews 000 to {count - 1:03} of "
                        f"{folder}; got no {folder}/cv{number:03}_*.txt. {GET}"
                    )
        return found
