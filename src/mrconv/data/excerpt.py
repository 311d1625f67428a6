"""A part of another data set, for trainings that must be short."""

from dataclasses import dataclass, replace

from .._checks import check_count
from .splits import DataSource, Examples, Splits

__all__ = ["Excerpt"]


@dataclass(frozen=True)
class Excerpt:
    """Some rows of another data set, evenly spread over it.

    Of N rows, row floor(i N / n) for i = 0, ..., n - 1; all of them where n >= N.

    Args:
        source: The data set.
        train: Rows for training; None: all.
        held: Rows for validation, and as many for the test; None: all.

    Raises:
        ArgumentError: If a number is below 1.

    Example:
        >>> from mrconv.data import Excerpt, Recall
        >>> splits = Excerpt(Recall(train=100, held=10), train=20).load()
        >>> len(splits.train), len(splits.test)
        (20, 10)
    """

    source: DataSource
    train: int | None = None
    held: int | None = None

    def __post_init__(self) -> None:
        for name in ("train", "held"):
            if getattr(self, name) is not None:
                check_count("Excerpt", name, getattr(self, name))

    def load(self) -> Splits:
        """Reads the data set and leaves rows out.

        Returns:
            The three splits, with the contract and labels of the data set.
        """
        splits = self.source.load()
        return replace(
            splits,
            train=_some(splits.train, self.train),
            validation=_some(splits.validation, self.held),
            test=_some(splits.test, self.held),
        )


def _some(examples: Examples, count: int | None) -> Examples:
    rows = len(examples)
    if count is None or count >= rows:
        return examples
    chosen = [i * rows // count for i in range(count)]
    lengths = None if examples.lengths is None else examples.lengths[chosen]
    return Examples(examples.x[chosen], examples.y[chosen], lengths)
