"""Which token is drawn, against shares counted by hand."""

import pytest
import torch

from mrconv.errors import ArgumentError, DtypeError
from mrconv.models.sampling import Sampling

#: Probabilities 0.5, 0.3, 0.15, 0.05, not in order.
SHARES = torch.tensor([0.15, 0.5, 0.05, 0.3], dtype=torch.float64)
GRID = (torch.arange(10_000) + 0.5) / 10_000


def counted(**settings):
    """Share of evenly spaced random numbers that choose each token."""
    logits = (3 * SHARES.log() + 7).expand(len(GRID), 4)
    tokens = Sampling(temperature=3.0, **settings).choose(logits, GRID)
    return torch.bincount(tokens, minlength=4) / len(GRID)


@pytest.mark.parametrize(
    ("settings", "shares"),
    [
        ({}, [0.15, 0.5, 0.05, 0.3]),
        ({"top_k": 1}, [0, 1, 0, 0]),
        ({"top_k": 2}, [0, 5 / 8, 0, 3 / 8]),
        ({"top_k": 9}, [0.15, 0.5, 0.05, 0.3]),
        ({"top_p": 0.4}, [0, 1, 0, 0]),
        ({"top_p": 0.51}, [0, 5 / 8, 0, 3 / 8]),
        ({"top_p": 0.81}, [0.15 / 0.95, 0.5 / 0.95, 0, 0.3 / 0.95]),
        ({"top_k": 2, "top_p": 0.62}, [0, 1, 0, 0]),  # 5 / 8 of what top_k left
    ],
    ids=str,
)
def test_shares(settings, shares):
    assert counted(**settings).tolist() == pytest.approx(shares, abs=2e-4)


def test_without_temperature_the_likeliest():
    logits = torch.randn(5, 9)
    assert torch.equal(Sampling(temperature=0).choose(logits, torch.rand(5)), logits.argmax(-1))


def test_a_low_temperature_is_almost_that():
    logits = torch.randn(5, 9)
    assert torch.equal(Sampling(temperature=1e-30).choose(logits, torch.rand(5)), logits.argmax(-1))


def test_the_largest_number_chooses_the_last_token():
    largest = torch.tensor([1 - 2**-24])
    for logits in (torch.zeros(1, 7), torch.randn(1, 7), torch.full((1, 7), -1e4)):
        token = Sampling().choose(logits, largest)
        assert 0 <= int(token) < 7
    assert int(Sampling(top_k=2).choose(torch.tensor([[0.0, 0.0, 0.0]]), largest)) == 1


def test_a_row_draws_the_same_numbers_in_any_batch():
    few, many = Sampling(seed=4).numbers(2, 30), Sampling(seed=4).numbers(5, 30)
    assert torch.equal(few, many[:2])
    assert len(many.unique()) > 140  # rows differ
    assert not torch.equal(Sampling(seed=5).numbers(2, 30), few)


def test_the_global_generator_is_left_alone():
    before = torch.random.get_rng_state()
    Sampling().numbers(3, 3)
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"temperature": -0.5},
            "generate: temperature must be at least 0 and finite; got -0.5. "
            "Use 1 for the model's own probabilities, 0 for the likeliest token.",
        ),
        (
            {"temperature": float("nan")},
            "generate: temperature must be at least 0 and finite; got nan. "
            "Use 1 for the model's own probabilities, 0 for the likeliest token.",
        ),
        ({"top_k": 0}, "generate: top_k must be at least 1; got top_k=0. Pass a larger top_k."),
        (
            {"top_p": 0.0},
            "generate: top_p must be above 0 and at most 1; got 0.0. Use 1 to keep all tokens.",
        ),
        (
            {"top_p": 1.1},
            "generate: top_p must be above 0 and at most 1; got 1.1. Use 1 to keep all tokens.",
        ),
        ({"seed": -1}, "generate: seed must be at least 0; got seed=-1. Pass a larger seed."),
    ],
    ids=str,
)
def test_numbers_out_of_range(says, settings, sentence):
    with says(ArgumentError, sentence):
        Sampling(**settings)


def test_numbers_of_another_kind(says):
    with says(
        DtypeError, "generate: top_k must be a whole number; got 2.5. Pass an int of at least 1."
    ):
        Sampling(top_k=2.5)
