"""Associative recall, every row answered by a dictionary."""

import pytest
import torch

from mrconv.data import IGNORED, InputContract, Recall
from mrconv.errors import ArgumentError

SPLITS = ("train", "validation", "test")


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"vocabulary": 20, "length": 64, "pairs": 9},
        {"vocabulary": 20, "length": 27, "pairs": 9},
        {"vocabulary": 64, "length": 64, "pairs": 8, "queries": 3},
        {"vocabulary": 4, "length": 3, "pairs": 1},
    ],
    ids=str,
)
def test_every_query_is_answered_by_its_pair(settings):
    task = Recall(train=300, held=50, **settings)
    splits, half = task.load(), task.vocabulary // 2
    assert [len(splits[name]) for name in SPLITS] == [300, 50, 50]
    for name in SPLITS:
        for x, y in zip(splits[name].x.tolist(), splits[name].y.tolist(), strict=True):
            behind = 2 * task.pairs
            pairs = dict(zip(x[0:behind:2], x[1:behind:2], strict=True))
            assert len(pairs) == task.pairs  # no key twice
            assert all(0 < key < half <= value < task.vocabulary for key, value in pairs.items())
            assert y[:behind] == [IGNORED] * behind
            asked = [token for token in x[behind:] if token]
            assert len(asked) == len(set(asked)) == (task.queries or task.pairs)
            expected = [pairs[token] if token else IGNORED for token in x[behind:]]
            assert y[behind:] == expected
    assert splits.contract == InputContract("tokens", task.length, vocabulary=task.vocabulary)


def test_queries_stand_everywhere_behind_the_pairs():
    y = Recall(vocabulary=12, length=24, pairs=4, train=4000, held=1).load().train.y
    share = (y != IGNORED).float().mean(0)
    assert torch.equal(share[:8], torch.zeros(8))
    assert (share[8:] - 4 / 16).abs().max() < 0.04


def test_rows_come_from_the_seed_and_splits_differ():
    task = {"vocabulary": 64, "length": 40, "pairs": 6, "train": 20, "held": 20}
    one, same, other = (Recall(**task, seed=seed).load() for seed in (3, 3, 4))
    drawn = [splits[name].x for splits in (one, other) for name in SPLITS]
    for i, first in enumerate(drawn):
        assert not any(torch.equal(first, second) for second in drawn[:i])
    for name in SPLITS:
        assert torch.equal(one[name].x, same[name].x)
        assert torch.equal(one[name].y, same[name].y)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"vocabulary": 16},
            "Recall: vocabulary must be even and at least 2 * pairs + 2 = 18; got 16. "
            "Use more tokens or fewer pairs.",
        ),
        (
            {"vocabulary": 65},
            "Recall: vocabulary must be even and at least 2 * pairs + 2 = 18; got 65. "
            "Use more tokens or fewer pairs.",
        ),
        (
            {"queries": 9},
            "Recall: queries must be at most pairs=8, and 2 * pairs + queries at most length=128; "
            "got queries=9. Use fewer of them or longer rows.",
        ),
        (
            {"length": 23},
            "Recall: queries must be at most pairs=8, and 2 * pairs + queries at most length=23; "
            "got queries=8. Use fewer of them or longer rows.",
        ),
        ({"pairs": 0}, "Recall: pairs must be at least 1; got pairs=0. Pass a larger pairs."),
        ({"seed": -1}, "Recall: seed must be at least 0; got seed=-1. Pass a larger seed."),
    ],
    ids=str,
)
def test_what_cannot_be_drawn(says, settings, sentence):
    with says(ArgumentError, sentence):
        Recall(**settings)
