import math

import pytest
import torch
from torch import nn

import mrconv
from mrconv.data import IGNORED, Examples
from mrconv.errors import ArgumentError, ShapeError
from mrconv.train import evaluate
from mrconv.train.objective import metric_name, score, summarise


class Fixed(nn.Module):
    """Gives what it was given, whatever comes in."""

    def __init__(self, outputs: torch.Tensor) -> None:
        super().__init__()
        self.outputs = nn.Parameter(outputs)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor | None = None) -> torch.Tensor:
        return self.outputs[x[:, 0, 0].long()]


def rows(count: int, length: int = 4) -> torch.Tensor:
    return torch.arange(count).float()[:, None, None].expand(count, length, 1)


def test_classes_are_scored_by_accuracy() -> None:
    logits = torch.tensor([[2.0, 0.0], [0.0, 1.0], [3.0, 0.0]])
    y = torch.tensor([0, 1, 1])
    scored = score(Fixed(logits), nn.CrossEntropyLoss(), (rows(3), y, None))
    by_hand = (torch.logsumexp(logits, -1) - logits[range(3), y]).mean()
    assert torch.allclose(scored.loss, by_hand)
    loss, accuracy = summarise(scored.sums)
    assert loss == pytest.approx(float(by_hand)) and accuracy == pytest.approx(2 / 3)
    assert metric_name(Fixed(logits), y) == "accuracy"


def test_samples_behind_a_length_are_never_scored() -> None:
    logits = torch.randn(2, 4, 3)
    lengths = torch.tensor([4, 1])
    y = torch.tensor([[0, 1, 2, 0], [1, -7, 99, -7]])
    broken = logits.clone()
    broken[1, 1:] = float("nan")
    first = score(Fixed(broken), nn.CrossEntropyLoss(), (rows(2), y, lengths))
    valid = torch.cat([logits[0], logits[1, :1]])
    expected = nn.functional.cross_entropy(valid, torch.tensor([0, 1, 2, 0, 1]))
    assert torch.allclose(first.loss, expected)
    assert first.sums[2] == 5
    right = (valid.argmax(-1) == torch.tensor([0, 1, 2, 0, 1])).sum()
    assert first.sums[1] == right
    whole = score(Fixed(logits), nn.CrossEntropyLoss(), (rows(2), y.clamp(0, 2), None))
    assert whole.sums[2] == 8


def test_values_are_scored_by_their_mean_absolute_error() -> None:
    outputs, y = torch.tensor([[[1.0], [2.0]], [[0.0], [0.0]]]), torch.zeros(2, 2, 1)
    scored = score(Fixed(outputs), nn.MSELoss(), (rows(2), y, None))
    assert summarise(scored.sums) == (pytest.approx(5 / 4), pytest.approx(3 / 4))
    assert metric_name(Fixed(outputs), y) == "error"


def test_samples_that_are_not_asked_for_are_never_scored() -> None:
    logits = torch.randn(2, 4, 3)
    y = torch.tensor([[0, IGNORED, 2, IGNORED], [IGNORED, 1, 0, 2]])
    lengths = torch.tensor([4, 3])
    broken = logits.clone()
    broken[0, 1] = broken[0, 3] = broken[1, 3] = float("nan")
    scored = score(Fixed(broken), nn.CrossEntropyLoss(), (rows(2), y, lengths))
    asked = torch.stack([logits[0, 0], logits[0, 2], logits[1, 1], logits[1, 2]])
    expected = nn.functional.cross_entropy(asked, torch.tensor([0, 2, 1, 0]))
    assert torch.allclose(scored.loss, expected)
    assert scored.sums[2] == 4


@pytest.mark.parametrize(("vocabulary", "name"), [(256, "bits_per_byte"), (5, "bits_per_token")])
def test_a_language_model_is_measured_in_bits(vocabulary: int, name: str) -> None:
    backbone = mrconv.SequenceBackbone(vocabulary + 1, 8, channels=4, depth=1, tokens=True)
    model = mrconv.LanguageModel(backbone, vocabulary).eval()
    x, y = torch.randint(vocabulary, (3, 8)), torch.randint(vocabulary, (3, 8))
    y[2, 5:] = IGNORED
    shares = model(x).detach().softmax(-1)
    by_hand = [
        -math.log2(float(shares[row, place, y[row, place]]))
        for row in range(3)
        for place in range(8)
        if y[row, place] != IGNORED
    ]
    smooth = nn.CrossEntropyLoss(label_smoothing=0.3)  # bits are those of the model, not the loss
    numbers = evaluate(model, Examples(x, y), smooth, batch_size=2)
    assert list(numbers) == ["loss", name]
    assert numbers[name] == pytest.approx(sum(by_hand) / len(by_hand), rel=1e-5)
    assert numbers["loss"] != pytest.approx(numbers[name] * math.log(2), rel=1e-3)


def test_outputs_of_another_shape_are_refused(says) -> None:
    with says(
        ShapeError,
        "loss: outputs must be (2,) for targets (2,) of torch.float32; got (2, 1). "
        "Use a model whose head fits the data.",
    ):
        score(Fixed(torch.zeros(2, 1)), nn.MSELoss(), (rows(2), torch.zeros(2), None))
    with says(
        ShapeError,
        "loss: outputs must be (batch, ..., classes) for targets (2, 4) of torch.int64; "
        "got (2, 3). Use a model whose head fits the data.",
    ):
        y = torch.zeros(2, 4, dtype=torch.long)
        score(Fixed(torch.zeros(2, 3)), nn.CrossEntropyLoss(), (rows(2), y, None))


def test_evaluation_does_not_depend_on_the_batch_size() -> None:
    model = Fixed(torch.randn(7, 3)).train()
    examples = Examples(rows(7), torch.arange(7) % 3)
    results = [evaluate(model, examples, nn.CrossEntropyLoss(), batch_size=n) for n in (1, 3, 7)]
    for result in results[1:]:
        assert result == pytest.approx(results[0])
    assert model.training


def test_evaluation_of_nothing_is_refused(says) -> None:
    with says(ArgumentError, "evaluate: examples must not be empty; got 0. Use another split."):
        evaluate(Fixed(torch.zeros(1, 2)), Examples(rows(0), torch.arange(0)), nn.MSELoss())
