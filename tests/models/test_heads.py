"""Every head against its equation in float64, row by row, and its errors."""

import math

import pytest
import torch

import mrconv
from mrconv.errors import ArgumentError, DtypeError, ShapeError
from mrconv.testing import assert_close

POOLINGS = pytest.mark.parametrize("pooling", ["mean", "last", "max"])
LENGTHS = pytest.mark.parametrize("lengths", [None, torch.tensor([30, 11, 0])])
POOLED = {
    "mean": lambda row: row.mean(0),
    "last": lambda row: row[-1],
    "max": lambda row: row.max(0).values,
}
F64 = torch.float64


def values(*shape):
    return torch.randn(shape, dtype=F64)


def pooled(pooling, h, lengths):
    """(B, D) from features (B, L, D), one row at a time; 0 for an empty row."""
    ends = [h.shape[1]] * len(h) if lengths is None else lengths.tolist()
    zero = torch.zeros(h.shape[-1], dtype=F64)
    return torch.stack(
        [POOLED[pooling](row[:n]) if n else zero for row, n in zip(h, ends, strict=True)]
    )


def linear(layer, x):
    return x @ layer.weight.T + layer.bias


@POOLINGS
@LENGTHS
def test_classifier(small_backbone, settle, written_out, pooling, lengths):
    model = settle(mrconv.SequenceClassifier(small_backbone(), 3, pooling=pooling, dtype=F64))
    x = values(3, 30, 2)
    expected = linear(model.head, pooled(pooling, written_out(model.backbone, x, lengths), lengths))
    assert_close(model(x, lengths), expected, 1e-9)
    assert torch.equal(model.answer(expected), expected.argmax(-1))


@POOLINGS
@LENGTHS
def test_regressor(small_backbone, settle, written_out, pooling, lengths):
    model = settle(mrconv.SequenceRegressor(small_backbone(), 2, pooling=pooling, dtype=F64))
    x = values(3, 30, 2)
    expected = linear(model.head, pooled(pooling, written_out(model.backbone, x, lengths), lengths))
    assert_close(model(x, lengths), expected, 1e-9)
    assert model.answer(expected) is expected


@LENGTHS
def test_labeller(small_backbone, settle, written_out, lengths):
    model = settle(mrconv.SequenceLabeller(small_backbone(), 3, dtype=F64))
    x = values(3, 30, 2)
    expected = linear(model.head, written_out(model.backbone, x, lengths))
    for row, n in enumerate([] if lengths is None else lengths.tolist()):
        expected[row, n:] = 0
        assert (model(x, lengths)[row, n:] == 0).all()
    assert_close(model(x, lengths), expected, 1e-9)
    assert torch.equal(model.answer(expected), expected.argmax(-1))


@LENGTHS
def test_forecaster(small_backbone, settle, written_out, lengths):
    model = settle(mrconv.Forecaster(small_backbone(), 5, features=2, dtype=F64))
    x = values(3, 30, 2)
    flat = linear(model.head, pooled("last", written_out(model.backbone, x, lengths), lengths))
    expected = torch.stack([flat[:, 2 * step : 2 * step + 2] for step in range(5)], 1)
    assert_close(model(x, lengths), expected, 1e-9)


# pairs


def score_of_pair(model, e, f):
    hidden = linear(model.head[0], torch.cat([e, f, e - f, e * f], -1))
    return linear(model.head[2], hidden * (1 + torch.erf(hidden / math.sqrt(2))) / 2)


@POOLINGS
@pytest.mark.parametrize("other_length", [30, 17, 45])
@pytest.mark.parametrize(
    ("lengths", "pair_lengths"),
    [
        (None, None),
        (torch.tensor([30, 4]), None),
        (None, torch.tensor([3, 17])),
        (torch.tensor([30, 4]), torch.tensor([3, 17])),
    ],
)
def test_pair_equals_both_encoded_apart(
    small_backbone, settle, written_out, pooling, other_length, lengths, pair_lengths
):
    model = settle(
        mrconv.SequenceClassifier(small_backbone(), 3, pooling=pooling, pair=True, dtype=F64)
    )
    x, z = values(2, 30, 2), values(2, other_length, 2)
    e = pooled(pooling, written_out(model.backbone, x, lengths), lengths)
    f = pooled(pooling, written_out(model.backbone, z, pair_lengths), pair_lengths)
    got = model(x, lengths, pair=z, pair_lengths=pair_lengths)
    assert_close(got, score_of_pair(model, e, f), 1e-9)


def test_pair_of_tokens(small_backbone, settle, written_out):
    backbone = small_backbone(7, tokens=True)
    model = settle(mrconv.SequenceClassifier(backbone, 3, pair=True, dtype=F64))
    x, z = torch.randint(7, (2, 20)), torch.randint(7, (2, 31))
    e, f = (pooled("mean", written_out(backbone, side), None) for side in (x, z))
    assert_close(model(x, pair=z), score_of_pair(model, e, f), 1e-9)


@pytest.mark.parametrize("tokens", [False, True])
@pytest.mark.parametrize("lengths", [None, torch.tensor([[20, 4], [3, 17], [20, 20]])])
def test_both_sequences_in_one_tensor(small_backbone, settle, tokens, lengths):
    backbone = small_backbone(7, tokens=True) if tokens else small_backbone()
    model = settle(mrconv.SequenceClassifier(backbone, 3, pair=True, dtype=F64))
    x = torch.randint(7, (3, 2, 20)) if tokens else values(3, 2, 20, 2)
    sides = {} if lengths is None else {"lengths": lengths[:, 0], "pair_lengths": lengths[:, 1]}
    expected = model(x[:, 0], pair=x[:, 1], **sides)
    assert torch.equal(model(x, lengths), expected)
    assert torch.equal(model.predict(x, lengths, batch_size=2), expected.argmax(-1))


def test_lengths_of_both_sequences(small_backbone, says):
    model = mrconv.SequenceClassifier(small_backbone(), 3, pair=True, dtype=F64)
    sentence = (
        "SequenceClassifier: lengths must be (3, 2), two for each pair; got (3,). "
        "Pass the valid samples of both sequences."
    )
    with says(ShapeError, sentence):
        model(values(3, 2, 20, 2), torch.tensor([4, 9, 20]))


def test_pair_statistics_see_both_sequences(small_backbone, written_out):
    model = mrconv.SequenceClassifier(small_backbone(dropout=0.0), 3, pair=True, dtype=F64)
    x, z = values(2, 20, 2), values(2, 31, 2)
    lengths, seen = torch.tensor([20, 20, 31, 31]), {}
    both = torch.cat([torch.nn.functional.pad(x, (0, 0, 0, 11)), z])
    written_out(model.backbone, both, lengths, seen)
    model(x, pair=z)
    norm = model.backbone.blocks[0].norm
    gathered = torch.cat([row[:n] for row, n in zip(seen[norm], lengths, strict=True)])
    assert_close(norm.running_mean, 0.1 * gathered.mean(0), 1e-9)


def test_pair_missing(small_backbone, says):
    model = mrconv.SequenceClassifier(small_backbone(), 3, pair=True, dtype=F64)
    sentence = (
        "SequenceClassifier: input must be two sequences, because pair=True; got pair=None. "
        "Call model(x, pair=z)."
    )
    with says(ArgumentError, sentence):
        model(values(2, 30, 2))


def test_pair_not_wanted(small_backbone, says):
    model = mrconv.SequenceClassifier(small_backbone(), 3, dtype=F64)
    sentence = (
        "SequenceClassifier: input must be one sequence, because pair=False; got pair=(2, 9, 2). "
        "Build it with pair=True."
    )
    with says(ArgumentError, sentence):
        model(values(2, 30, 2), pair=values(2, 9, 2))


@pytest.mark.parametrize(("rows", "pair_rows"), [(1, 3), (3, 1), (3, 2)])
def test_pair_of_unequal_batches_is_refused(small_backbone, rows, pair_rows):
    model = mrconv.SequenceClassifier(small_backbone(), 3, pair=True, dtype=F64).eval()
    with pytest.raises(ShapeError):
        model(values(rows, 9, 2), pair=values(pair_rows, 9, 2))


@pytest.mark.parametrize(
    ("shape", "other"),
    [((1, 9, 2), (3, 7, 2)), ((2, 9, 2), (2, 9, 3)), ((2, 9, 2), (2, 9)), ((5,), (5, 9))],
)
def test_pair_of_other_shapes(small_backbone, says, shape, other):
    model = mrconv.SequenceClassifier(small_backbone(), 3, pair=True, dtype=F64).eval()
    sentence = (
        "SequenceClassifier: the sequences of a pair must have equal shapes but for their length; "
        f"got {shape} and {other}. Pass one second sequence for every first one."
    )
    with says(ShapeError, sentence):
        model(values(*shape), pair=values(*other))


def test_lengths_of_a_pair_are_those_of_its_own_side(small_backbone, says):
    model = mrconv.SequenceClassifier(small_backbone(), 3, pair=True, dtype=F64).eval()
    x, z = values(2, 9, 2), values(2, 30, 2)
    sentence = (
        "SequenceClassifier: lengths must lie between 0 and the input's length 9; "
        "got 4 to 10. Pad the input on the right with mrconv.pad."
    )
    with says(ArgumentError, sentence):
        model(x, torch.tensor([4, 10]), pair=z)
    sentence = (
        "SequenceClassifier: lengths must be (2,), one per row; got (3,). "
        "Pass the number of valid samples of each row, or mrconv.lengths_from_mask(mask)."
    )
    with says(ShapeError, sentence):
        model(x, torch.tensor([4, 9]), pair=z, pair_lengths=torch.tensor([1, 2, 3]))


# errors of the constructors

COUNTS = [
    (mrconv.SequenceClassifier, "classes", {}),
    (mrconv.SequenceRegressor, "targets", {}),
    (mrconv.SequenceLabeller, "classes", {}),
    (mrconv.Forecaster, "horizon", {}),
    (mrconv.Forecaster, "features", {"horizon": 2}),
]


@pytest.mark.parametrize(("head", "name", "others"), COUNTS)
def test_counts_are_checked(small_backbone, says, head, name, others):
    owner = head.__name__
    sentence = f"{owner}: {name} must be at least 1; got {name}=0. Pass a larger {name}."
    with says(ArgumentError, sentence):
        head(small_backbone(), **{name: 0}, **others)
    sentence = f"{owner}: {name} must be a whole number; got '3'. Pass an int of at least 1."
    with says(DtypeError, sentence):
        head(small_backbone(), **{name: "3"}, **others)


@pytest.mark.parametrize("head", [mrconv.SequenceClassifier, mrconv.SequenceRegressor])
def test_pooling_is_checked(small_backbone, says, head):
    sentence = (
        f"{head.__name__}: pooling must be one of 'mean', 'last', 'max'; got 'men'. "
        "Did you mean 'mean'?"
    )
    with says(ArgumentError, sentence):
        head(small_backbone(), 2, pooling="men")


@pytest.mark.parametrize(("head", "name", "others"), COUNTS)
def test_device_and_dtype(small_backbone, head, name, others):
    made = head(small_backbone(), **{name: 2}, **others, device="meta", dtype=torch.bfloat16)
    assert {(p.device.type, p.dtype) for p in made.head.parameters()} == {("meta", torch.bfloat16)}
