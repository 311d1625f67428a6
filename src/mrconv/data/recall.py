"""Multi-query associative recall, generated: which value stood behind this key?"""

from dataclasses import dataclass

import torch
from torch import Tensor

from .._checks import check_count
from ..errors import ArgumentError
from .contract import InputContract
from .splits import IGNORED, Examples, SplitName, Splits

__all__ = ["Recall"]

#: Added to the seed of each split.
STREAMS: dict[SplitName, int] = {"train": 0, "validation": 1, "test": 2}


@dataclass(frozen=True)
class Recall:
    """Key and value pairs, then queries: each key again somewhere behind them, to be answered.

    x = (k_1, v_1, ..., k_P, v_P, filling and keys),  y[t] = v_i where x[t] = k_i is a query

    Keys are the tokens 1 to vocabulary / 2 - 1, no two of a row alike; values the tokens from
    vocabulary / 2 on, the filling 0. Each of ``queries`` different keys comes once more, at places
    drawn without preference among those behind the pairs. Only queries are scored: every other
    target is -100. Guessing among the row's values is right once in ``pairs``.

    Args:
        vocabulary: Number of tokens, even.
        length: L, tokens a row.
        pairs: P, pairs a row.
        queries: Keys asked for in each row; None: all.
        train: Rows for training.
        held: Rows for validation, and as many for the test.
        seed: Of the random numbers; the splits are drawn apart.

    Raises:
        ArgumentError: If a number is below 1, the vocabulary is odd or has too few keys, or pairs
            and queries do not fit into the length.

    Source: the task of Arora et al. 2023 (Zoology), queries without preference for near ones.

    Example:
        >>> from mrconv.data import Recall
        >>> splits = Recall(vocabulary=8, length=6, pairs=2, train=1, held=1).load()
        >>> splits.train.x[0].tolist(), splits.train.y[0].tolist()
        ([3, 4, 1, 7, 3, 1], [-100, -100, -100, -100, 4, 7])
    """

    vocabulary: int = 128
    length: int = 128
    pairs: int = 8
    queries: int | None = None
    train: int = 20_000
    held: int = 1_000
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("vocabulary", "length", "pairs", "train", "held"):
            check_count("Recall", name, getattr(self, name))
        check_count("Recall", "queries", self._queries)
        check_count("Recall", "seed", self.seed, least=0)
        keys = self.vocabulary // 2 - 1
        if self.vocabulary % 2 or keys < self.pairs:
            raise ArgumentError(
                "Recall: vocabulary must be even and at least 2 * pairs + 2 = "
                f"{2 * self.pairs + 2}; got {self.vocabulary}. Use more tokens or fewer pairs."
            )
        if self._queries > self.pairs or 2 * self.pairs + self._queries > self.length:
            raise ArgumentError(
                f"Recall: queries must be at most pairs={self.pairs}, and 2 * pairs + queries at "
                f"most length={self.length}; got queries={self._queries}. "
                "Use fewer of them or longer rows."
            )

    @property
    def _queries(self) -> int:
        return self.pairs if self.queries is None else self.queries

    def load(self) -> Splits:
        """Draws the rows.

        Returns:
            Tokens x (N, L) and targets y (N, L), int64, for a ``SequenceLabeller``.
        """
        counts: dict[SplitName, int] = {
            "train": self.train,
            "validation": self.held,
            "test": self.held,
        }
        parts = {name: self._rows(rows, STREAMS[name]) for name, rows in counts.items()}
        contract = InputContract("tokens", self.length, vocabulary=self.vocabulary)
        return Splits(parts["train"], parts["validation"], parts["test"], contract)

    def _rows(self, rows: int, stream: int) -> Examples:
        generator = torch.Generator().manual_seed(len(STREAMS) * self.seed + stream)
        half, pairs, behind = self.vocabulary // 2, self.pairs, 2 * self.pairs
        keys = 1 + _chosen(rows, half - 1, pairs, generator)
        values = half + torch.randint(half, (rows, pairs), generator=generator)
        x = torch.zeros(rows, self.length, dtype=torch.int64)
        y = torch.full_like(x, IGNORED)
        x[:, 0:behind:2], x[:, 1:behind:2] = keys, values
        places = behind + _chosen(rows, self.length - behind, self._queries, generator)
        asked = _chosen(rows, pairs, self._queries, generator)
        x.scatter_(1, places, keys.gather(1, asked))
        y.scatter_(1, places, values.gather(1, asked))
        return Examples(x, y)


def _chosen(rows: int, among: int, count: int, generator: torch.Generator) -> Tensor:
    """Different numbers below ``among``, in random order.             (rows, count)."""
    return torch.rand(rows, among, generator=generator).argsort(1)[:, :count]
