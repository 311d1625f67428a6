"""Part of a data set."""

from dataclasses import dataclass

import pytest
import torch

from mrconv.data import Examples, Excerpt, InputContract, Recall, Splits
from mrconv.errors import ArgumentError


@dataclass(frozen=True)
class Counted:
    """Rows that are their own numbers."""

    ragged: bool = False

    def load(self) -> Splits:
        def rows(count):
            x = torch.arange(count)
            return Examples(x[:, None], x, x + 1 if self.ragged else None)

        return Splits(rows(10), rows(4), rows(5), InputContract("tokens", 1, vocabulary=9), ("a",))


@pytest.mark.parametrize("ragged", [False, True])
def test_rows_are_evenly_spread(ragged):
    splits = Excerpt(Counted(ragged), train=4, held=2).load()
    assert splits.train.x.tolist() == [[0], [2], [5], [7]]
    assert splits.train.y.tolist() == [0, 2, 5, 7]
    assert splits.validation.y.tolist() == [0, 2]
    assert splits.test.y.tolist() == [0, 2]
    if ragged:
        assert splits.train.lengths.tolist() == [1, 3, 6, 8]
    else:
        assert splits.train.lengths is None
    assert (splits.labels, splits.contract.vocabulary) == (("a",), 9)


def test_all_rows_where_there_are_not_more():
    whole = Counted().load()
    for source in (Excerpt(Counted()), Excerpt(Counted(), train=10, held=99)):
        for name in ("train", "validation", "test"):
            assert torch.equal(source.load()[name].x, whole[name].x)


def test_counts_below_one(says):
    sentence = "Excerpt: held must be at least 1; got held=0. Pass a larger held."
    with says(ArgumentError, sentence):
        Excerpt(Recall(), held=0)
