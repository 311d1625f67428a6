"""predict, predict_proba, and what a model expects of its input."""

import pytest
import torch

import mrconv
from mrconv.data import InputContract
from mrconv.errors import ArgumentError
from mrconv.testing import assert_close

F64 = torch.float64
LENGTHS = torch.tensor([30, 7, 0, 30, 12, 1, 29])


@pytest.fixture
def single(make_model):
    """Every head that predicts from single sequences."""
    model = make_model()
    if getattr(model, "pair", False):
        pytest.skip("a model of pairs is called as model(x, pair=z)")
    return model


@pytest.mark.parametrize("batch_size", [1, 2, 3, 7, 64])
@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_predict_in_batches_of_any_size(single, lengths, batch_size):
    x = torch.randn(7, 30, 2, dtype=F64)
    with torch.no_grad():
        outputs = single(x, lengths)
    got = single.predict(x, lengths, batch_size)
    assert not got.requires_grad
    if got.is_floating_point():
        assert_close(got, outputs, 1e-12)
    else:
        assert torch.equal(got, outputs.argmax(-1))


@pytest.mark.parametrize("batch_size", [1, 3, 64])
@pytest.mark.parametrize("head", [mrconv.SequenceClassifier, mrconv.SequenceLabeller])
def test_predict_proba(small_backbone, settle, head, batch_size):
    model = settle(head(small_backbone(), 3, dtype=F64))
    x = torch.randn(7, 30, 2, dtype=F64)
    scores = model(x, LENGTHS).exp()
    got = model.predict_proba(x, LENGTHS, batch_size)
    assert_close(got, scores / scores.sum(-1, keepdim=True), 1e-12)
    assert torch.equal(got.argmax(-1), model.predict(x, LENGTHS))
    assert not got.requires_grad


def test_predict_of_no_sequences(single):
    assert len(single.predict(torch.zeros(0, 30, 2, dtype=F64))) == 0


def test_predict_refuses_training(single, says):
    sentence = (
        "predict: the model must be in eval mode; got training=True. Call model.eval() first."
    )
    with says(ArgumentError, sentence):
        single.train().predict(torch.zeros(1, 30, 2, dtype=F64))


@pytest.mark.parametrize("part", ["backbone", "backbone.blocks.1.norm"])
def test_predict_refuses_a_part_in_training(single, says, part):
    single.get_submodule(part).train()
    before = {name: value.clone() for name, value in single.state_dict().items()}
    sentence = (
        "predict: the model must be in eval mode; got training=True. Call model.eval() first."
    )
    with says(ArgumentError, sentence):
        single.predict(torch.zeros(1, 30, 2, dtype=F64))
    assert all(torch.equal(value, before[name]) for name, value in single.state_dict().items())


@pytest.mark.parametrize("size", [0, -1])
def test_batch_size_is_checked(small_backbone, says, size):
    model, x = mrconv.SequenceClassifier(small_backbone(), 3).eval(), torch.zeros(1, 30, 2)
    for verb in ("predict", "predict_proba"):
        sentence = (
            f"{verb}: batch_size must be at least 1; got batch_size={size}. "
            "Pass a larger batch_size."
        )
        with says(ArgumentError, sentence):
            getattr(model, verb)(x, batch_size=size)


@pytest.mark.parametrize("head", [mrconv.SequenceClassifier, mrconv.SequenceLabeller])
def test_predict_proba_refuses_training(small_backbone, says, head):
    sentence = (
        "predict_proba: the model must be in eval mode; got training=True. Call model.eval() first."
    )
    with says(ArgumentError, sentence):
        head(small_backbone(), 3, dtype=F64).predict_proba(torch.zeros(1, 30, 2, dtype=F64))


def test_expects_follows_from_the_backbone(small_backbone):
    model = mrconv.SequenceClassifier(small_backbone(3), 2)
    assert model.expects == InputContract("series", 32, channels=3)
    model = mrconv.SequenceClassifier(small_backbone(11, tokens=True), 2)
    assert model.expects == InputContract("tokens", 32, vocabulary=11)


def test_expects_the_contract_where_there_is_one(small_backbone):
    model = mrconv.SequenceClassifier(small_backbone(1), 2)
    model.contract = InputContract("audio", 32, sample_rate=8000.0)
    assert model.expects is model.contract


def test_a_model_knows_nothing_at_first(single):
    assert (single.contract, single.labels, single.metrics, single.made) == (None, (), {}, ())
