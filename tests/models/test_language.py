"""The language model against its equation, and its stream against whole sequences."""

import json

import pytest
import torch

import mrconv
from mrconv.data import InputContract
from mrconv.errors import ArgumentError, DtypeError
from mrconv.testing import assert_close

F64 = torch.float64
VOCABULARY, REACH = 11, 32
MIXERS = {
    "dilated": {"kernel": "dilated", "kernel_size": 4},
    "fourier": {"kernel": "fourier", "kernel_size": 4},
    "modal": {"kernel": "modal", "kernel_size": 4},
    "s4d": {"name": "s4d", "order": 6},
}


@pytest.fixture
def make(small_backbone, settle):
    """A settled model in eval mode, its bias not 0."""

    def build(mixer="dilated", vocabulary=VOCABULARY, **settings):
        options = {"mixer": MIXERS[mixer], "tokens": True, **settings}
        backbone = small_backbone(vocabulary + 1, **options)
        model = mrconv.LanguageModel(backbone, vocabulary, dtype=F64)
        with torch.no_grad():
            model.bias.copy_(torch.randn(vocabulary))
        return settle(model)

    return build


def text(length, rows=2):
    """Random tokens with the start before the first one.              (rows, length)."""
    tokens = torch.randint(VOCABULARY, (rows, length))
    tokens[:, :1] = VOCABULARY
    return tokens


@pytest.mark.parametrize("lengths", [None, torch.tensor([30, 11, 0])])
@torch.no_grad()
def test_scores_are_products_with_the_embedding(make, written_out, lengths):
    model, x = make(), text(30, rows=3)
    h = written_out(model.backbone, x, lengths)
    embedding = model.backbone.encoder.weight
    expected = torch.stack([(h * embedding[token]).sum(-1) for token in range(VOCABULARY)], -1)
    expected += model.bias
    for row, n in enumerate([] if lengths is None else lengths.tolist()):
        expected[row, n:] = 0
    assert_close(model(x, lengths), expected, 1e-9)
    assert torch.equal(model.predict(x, lengths), model(x, lengths).argmax(-1))


def test_first_scores_are_near_one_in_size(small_backbone):
    backbone = small_backbone(257, tokens=True, channels=64, pre_norm=True, norm="layer")
    model = mrconv.LanguageModel(backbone, 256, dtype=F64)
    assert 0.8 < model.backbone.encoder.weight.std() * 8 < 1.2
    x = torch.randint(256, (8, 30))
    assert 0.7 < model(x).std() < 1.4


@torch.no_grad()
def test_a_text_is_learned_by_the_probabilities_that_generation_draws_from(make):
    """The loss of (start, y[:-1]) against y: every token from the tokens before it, one by one."""
    model, y = make(), torch.randint(VOCABULARY, (9,))
    x = torch.cat([torch.tensor([model.start]), y[:-1]])
    loss = torch.nn.functional.cross_entropy(model(x[None])[0], y)
    alone = [model(x[None, : t + 1])[0, -1].softmax(-1)[y[t]].log() for t in range(9)]
    assert float(loss) == pytest.approx(-float(torch.stack(alone).mean()), rel=1e-12)


def test_the_start_is_learned_by_the_first_token_alone(make):
    model = make()
    model(torch.tensor([[model.start]])).square().sum().backward()
    gradient = model.backbone.encoder.weight.grad
    assert gradient[model.start].abs().sum() > 0
    model.zero_grad()
    model(torch.tensor([[0, 1]])).square().sum().backward()
    assert model.backbone.encoder.weight.grad[model.start].abs().sum() == 0


@torch.no_grad()
def test_nothing_leaks_from_the_future(make):
    model, x = make(), text(40)
    changed = x.clone()
    changed[:, 25:] = (changed[:, 25:] + 1) % VOCABULARY
    assert_close(model(changed)[:, :25], model(x)[:, :25], 1e-12)
    assert not torch.allclose(model(changed)[:, 25], model(x)[:, 25])


@pytest.mark.parametrize("mixer", MIXERS)
@pytest.mark.parametrize("prompt", [0, 1, 2, 3, REACH - 1, REACH + 1])
@torch.no_grad()
def test_prompt_then_fifty_steps(make, mixer, prompt):
    model, x = make(mixer), text(1 + prompt + 50)
    stream = mrconv.Streamer(model)
    y, state = stream.chunk(x[:, : 1 + prompt], stream.init_state(2))
    steps = [y]
    for t in range(1 + prompt, x.shape[1]):
        logits, state = stream.step(x[:, t], state)
        steps.append(logits[:, None])
    assert_close(torch.cat(steps, 1), model(x), 1e-9)


@torch.no_grad()
def test_every_form_agrees(make):
    model = make("modal")
    recurrence = mrconv.merge(model, form="recurrence")
    proof = mrconv.verify(model, mrconv.merge(model), recurrence)
    assert proof.holds, str(proof)
    assert sum("streamed" in row.forms[1] and row.place == "output" for row in proof.rows) == 3


@pytest.mark.parametrize("form", ["branches", "merged", "recurrence"])
def test_saved_and_loaded(make, tmp_path, form):
    model = make("modal")
    model = model if form == "branches" else mrconv.merge(model, form=form)
    model.contract = InputContract("tokens", REACH, vocabulary=VOCABULARY)
    model.metrics = {"test_bits_per_token": 2.0}
    loaded = mrconv.load(model.save_pretrained(tmp_path))
    assert type(loaded) is mrconv.LanguageModel
    assert (loaded.contract, loaded.metrics) == (model.contract, model.metrics)
    x = text(40)
    assert torch.equal(loaded(x), model(x))
    config = json.loads((tmp_path / "config.json").read_text())
    assert (config["model"], config["form"]) == ("LanguageModel", form)
    assert config["arguments"]["vocabulary"] == VOCABULARY
    others = [name for name in loaded.state_dict() if not name.startswith("backbone.")]
    assert others == ["bias"]  # the embedding is stored once


def test_what_it_expects_when_nothing_is_known(make):
    assert make().expects == InputContract("tokens", REACH, vocabulary=VOCABULARY)


# errors


def test_tokens_outside_the_vocabulary(make, says):
    sentence = (
        "SequenceBackbone: tokens must lie between 0 and 11; got 0 to 12. "
        "Use the vocabulary the model was made for."
    )
    with says(ArgumentError, sentence):
        make()(torch.tensor([[0, 12]]))


@pytest.mark.parametrize(
    ("features", "tokens", "got"),
    [(11, True, "11 tokens"), (12, False, "12 values")],
)
def test_a_backbone_that_does_not_fit(small_backbone, says, features, tokens, got):
    sentence = (
        "LanguageModel: backbone must take vocabulary + 1 = 12 tokens, the last of them the "
        f"start; got {got}. Build SequenceBackbone(12, ..., tokens=True)."
    )
    with says(ArgumentError, sentence):
        mrconv.LanguageModel(small_backbone(features, tokens=tokens), 11)


def test_a_backbone_that_looks_ahead(small_backbone, says):
    mixer = [MIXERS["dilated"], {**MIXERS["dilated"], "causal": False}]
    sentence = (
        "LanguageModel: every mixer must be causal, or it would see what it predicts; got "
        "causal=False in block 1. Leave causal out of its settings."
    )
    with says(ArgumentError, sentence):
        mrconv.LanguageModel(small_backbone(12, tokens=True, mixer=mixer), 11)


def test_vocabulary_is_checked(small_backbone, says):
    with says(
        ArgumentError,
        "LanguageModel: vocabulary must be at least 1; got vocabulary=0. Pass a larger vocabulary.",
    ):
        mrconv.LanguageModel(small_backbone(1, tokens=True), 0)
    with says(
        DtypeError,
        "LanguageModel: vocabulary must be a whole number; got '3'. Pass an int of at least 1.",
    ):
        mrconv.LanguageModel(small_backbone(4, tokens=True), "3")


def test_device_and_dtype(small_backbone):
    backbone = small_backbone(4, tokens=True)
    made = mrconv.LanguageModel(backbone, 3, device="meta", dtype=torch.bfloat16)
    assert (made.bias.device.type, made.bias.dtype) == ("meta", torch.bfloat16)
