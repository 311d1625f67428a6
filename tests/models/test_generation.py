"""Generated text against a model that is run anew for every token."""

import pytest
import torch

import mrconv
from mrconv.errors import ArgumentError, DtypeError, MergeError
from mrconv.models import generation
from mrconv.models.sampling import Sampling

F64 = torch.float64
PROMPTS = [b"", b"T", b"To be, or not to be, that is the question: whether", b"of"]


@pytest.fixture
def make(small_backbone, settle):
    def build(mixer=None, vocabulary=256, **settings):
        mixer = mixer or {"kernel": "dilated", "kernel_size": 4}
        backbone = small_backbone(vocabulary + 1, tokens=True, mixer=mixer, **settings)
        return settle(mrconv.LanguageModel(backbone, vocabulary, dtype=F64))

    return build


@pytest.fixture
def model(make):
    return make()


@torch.no_grad()
def run_anew(model, prompt, count, choose):
    """Tokens that follow a prompt, the whole sequence through the model for each."""
    tokens = [model.start, *prompt]
    for place in range(count):
        tokens.append(choose(model(torch.tensor([tokens]))[0, -1], place))
    return tokens[1 + len(prompt) :]


def lists(rows):
    return [row.tolist() for row in rows]


@pytest.mark.parametrize("kernel", ["dilated", "fourier", "modal", "dense"])
def test_greedy_text(make, kernel):
    model = make({"kernel": kernel, "kernel_size": 4})
    expected = [run_anew(model, p, 50, lambda scores, _: int(scores.argmax())) for p in PROMPTS]
    assert lists(model.generate(PROMPTS, 50, temperature=0)) == expected


def test_drawn_text(model):
    """The first token, likeliest first, whose cumulated share passes the row's own number."""
    numbers = Sampling(seed=3).numbers(4, 40).double()

    def chooser(row):
        def choose(scores, place):
            shares = (scores / 2.0).exp()
            order = sorted(range(256), key=lambda token: -float(scores[token]))[:20]
            u = float(numbers[row, place]) * sum(float(shares[token]) for token in order)
            for token in order:
                u -= float(shares[token])
                if u < 0:
                    break
            return token

        return choose

    expected = [run_anew(model, prompt, 40, chooser(row)) for row, prompt in enumerate(PROMPTS)]
    drawn = model.generate(PROMPTS, 40, temperature=2.0, top_k=20, seed=3)
    assert lists(drawn) == expected
    assert len({token for row in expected for token in row}) > 20


def test_rows_do_not_depend_on_each_other(model):
    together = lists(model.generate(PROMPTS, 30, seed=1))
    for row in range(4):
        others = [b"x" * 9 if other != row else PROMPTS[row] for other in range(row + 1)]
        assert lists(model.generate(others, 30, seed=1))[row] == together[row]


def test_the_same_seed_gives_the_same_text(model):
    first, again, other = (lists(model.generate(b"a", 30, seed=seed)) for seed in (1, 1, 2))
    assert first == again != other


def test_long_prompts_are_taken_in_pieces(model, monkeypatch):
    whole = lists(model.generate(PROMPTS, 20))
    for piece in (1, 7, 50):
        monkeypatch.setattr(generation, "PIECE", piece)
        assert lists(model.generate(PROMPTS, 20)) == whole


@pytest.mark.parametrize("prompt", [b"To be", "To be", torch.tensor([84, 111, 32, 98, 101])])
def test_kinds_of_prompts(model, prompt):
    expected = lists(model.generate([b"To be"], 5))
    assert lists(model.generate(prompt, 5)) == expected
    assert lists(model.generate([prompt], 5)) == expected


def test_text_beyond_ascii_is_utf8_and_odd_bytes_come_through(model):
    word = "\u00e9"
    assert lists(model.generate(word, 5)) == lists(model.generate(b"\xc3\xa9", 5))
    assert lists(model.generate("\udcff", 5)) == lists(model.generate(b"\xff", 5))


def test_a_vocabulary_of_its_own(make):
    model = make(vocabulary=5)
    prompts = torch.tensor([[0, 4, 2], [1, 1, 1]])
    expected = [run_anew(model, p, 9, lambda s, _: int(s.argmax())) for p in prompts.tolist()]
    assert lists(model.generate(prompts, 9, temperature=0)) == expected


def test_a_row_ends_behind_a_stop(model):
    free = model.generate(PROMPTS, 40, temperature=9.0, seed=2)
    stop = bytes(free[1][10:12].tolist())  # two tokens of the second row
    told = []
    ended = model.generate(
        PROMPTS,
        40,
        temperature=9.0,
        seed=2,
        stop=[b"never written", stop],
        callback=lambda *one: told.append(one),
    )
    for row, tokens in enumerate(free):
        whole = bytes(tokens.tolist())
        end = whole.find(stop)
        expected = whole if end < 0 else whole[: end + 2]
        assert bytes(ended[row].tolist()) == expected
        assert bytes(token for at, token in told if at == row) == expected
    assert len(ended[1]) == 12


def test_it_leaves_once_all_rows_have_ended(model, monkeypatch):
    steps, step = [], mrconv.Streamer.step
    monkeypatch.setattr(
        mrconv.Streamer, "step", lambda self, x, state: steps.append(1) or step(self, x, state)
    )
    every = [bytes([token]) for token in range(256)]
    assert [len(row) for row in model.generate(PROMPTS, 40, stop=every)] == [1] * 4
    assert steps == []


def test_tokens_are_told_in_order(model):
    told = []
    rows = model.generate([b"a", b"b"], 3, callback=lambda row, token: told.append((row, token)))
    by_time = [(row, int(rows[row][place])) for place in range(3) for row in range(2)]
    assert told == by_time


def test_nothing_to_do(model):
    assert lists(model.generate([], 5)) == []
    assert lists(model.generate(PROMPTS, 0)) == [[], [], [], []]


def test_the_recurrence_of_modal_kernels_writes_the_same_text(make):
    model = make({"kernel": "modal", "kernel_size": 4})
    exact = model.generate(PROMPTS, 60, seed=1)
    recurrent = model.generate(PROMPTS, 60, seed=1, form="recurrence")
    assert lists(recurrent) == lists(exact)
    moved = generation.in_form(model, "recurrence")
    kinds = [type(block.mixer).__name__ for block in moved.backbone.blocks]
    assert kinds == ["ModalRecurrence"] * 2
    again = mrconv.merge(model, form="recurrence").generate(PROMPTS, 60, seed=1, form="recurrence")
    assert lists(again) == lists(exact)


def test_other_kernels_are_distilled(make):
    model = make([{"name": "s4d", "order": 6}, {"kernel": "modal", "kernel_size": 4}])
    moved = generation.in_form(model, "recurrence")
    kinds = [type(block.mixer).__name__ for block in moved.backbone.blocks]
    assert kinds == ["ModalRecurrence"] * 2
    x = torch.randint(256, (1, 30))
    assert (moved(x) - model(x)).norm() < 0.05 * model(x).norm()


# errors


def test_training_mode(model, says):
    sentence = (
        "generate: the model must be in eval mode; got training=True. Call model.eval() first."
    )
    with says(ArgumentError, sentence):
        model.train().generate(b"a", 1)


def test_tokens_outside_the_vocabulary(make, says):
    sentence = (
        "generate: tokens must lie between 0 and 4; got 0 to 5. "
        "Use the vocabulary the model was made for."
    )
    with says(ArgumentError, sentence):
        make(vocabulary=5).generate(torch.tensor([0, 5]), 1)


def test_bytes_for_a_model_of_other_tokens(make, says):
    sentence = (
        "generate: prompts must be tokens, because the vocabulary of 5 is not that of bytes; "
        "got bytes. Pass a tensor of tokens."
    )
    with says(ArgumentError, sentence):
        make(vocabulary=5).generate(b"a", 1)


@pytest.mark.parametrize(
    ("prompts", "got"),
    [
        ([torch.tensor([0.5])], "a tensor (1,) of torch.float32"),
        ([torch.tensor([[1]])], "a tensor (1, 1) of torch.int64"),
        ([[1, 2]], "list"),
        ([None], "NoneType"),
        (torch.tensor(3), "a tensor () of torch.int64"),
    ],
    ids=str,
)
def test_prompts_of_another_type(model, says, prompts, got):
    sentence = (
        "generate: every prompt must be bytes, text or a tensor (n,) of whole numbers; "
        f"got {got}. Pass one prompt, or a list of them."
    )
    with says(DtypeError, sentence):
        model.generate(prompts, 1)


def test_an_empty_stop(model, says):
    with says(
        ArgumentError, "generate: every stop must hold a token; got an empty one. Leave it out."
    ):
        model.generate(b"a", 1, stop=[b""])


def test_a_count_below_zero(model, says):
    with says(
        ArgumentError, "generate: count must be at least 0; got count=-1. Pass a larger count."
    ):
        model.generate(b"a", -1)


def test_an_unknown_form(model, says):
    sentence = (
        "generate: form must be one of 'exact', 'recurrence'; got 'recurrent'. "
        "Did you mean 'recurrence'?"
    )
    with says(ArgumentError, sentence):
        model.generate(b"a", 1, form="recurrent")


def test_scores_that_are_not_finite(model, says):
    with torch.no_grad():
        model.bias[3] = torch.nan
    sentence = (
        "generate: scores must be finite; got NaN or infinity. Train the model again, with a "
        "lower rate."
    )
    with says(ArgumentError, sentence):
        model.generate(b"a", 1)


def test_what_cannot_be_distilled_says_so():
    mixer = {"kernel": "dense", "kernel_size": 256}
    backbone = mrconv.SequenceBackbone(257, 256, channels=2, depth=1, tokens=True, mixer=mixer)
    model = mrconv.LanguageModel(backbone, 256).eval()
    with pytest.raises(MergeError, match=r"^distill: order \d+ leaves a relative error"):
        model.generate(b"a", 1, form="recurrence")
