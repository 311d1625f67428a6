"""Greedy texts of two models, and where they part."""

import copy

import pytest
import torch

import mrconv
from mrconv.models.greedy import SameText, same_text


@pytest.fixture
def model(small_backbone, settle):
    mixer = {"kernel": "dilated", "kernel_size": 4}
    backbone = small_backbone(8, tokens=True, mixer=mixer)
    return settle(mrconv.LanguageModel(backbone, 7, dtype=torch.float64))


@torch.no_grad()
def likeliest(model, tokens):
    return model(torch.tensor([[model.start, *tokens]]))[0, -1].softmax(-1)


def test_equal_models_write_equal_texts(model):
    found = same_text(model, copy.deepcopy(model), torch.tensor([1, 2]), 30)
    assert found == SameText(30, 30)
    assert str(found) == "greedy text: equal for all 30 tokens"


def test_the_first_token_that_differs(model):
    other, prompt = copy.deepcopy(model), [3, 0, 1]
    with torch.no_grad():
        other.bias += torch.linspace(0, 0.3, 7, dtype=torch.float64)
    found = same_text(model, other, torch.tensor(prompt), 60)
    text = list(prompt)
    for _ in range(60):  # the same, by whole forward passes
        ours, theirs = likeliest(model, text), likeliest(other, text)
        if ours.argmax() != theirs.argmax():
            break
        text.append(int(ours.argmax()))
    assert found.equal == len(text) - len(prompt) < 60
    assert found.tokens == (int(ours.argmax()), int(theirs.argmax()))
    expected = [float(ours[token]) for token in found.tokens]
    assert found.shares == pytest.approx(expected, rel=1e-9)
    assert found.shares[0] > found.shares[1]
    assert str(found) == (
        f"greedy text: equal for {found.equal} of 60 tokens, then token {found.tokens[1]} in place "
        f"of {found.tokens[0]}; the original gives them {expected[1]:.4f} and {expected[0]:.4f}"
    )


def test_no_tokens(model):
    assert same_text(model, model, torch.tensor([1]), 0) == SameText(0, 0)
