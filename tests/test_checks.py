"""Checks of arguments word for word, and the helpers for padded batches."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import mrconv
from mrconv import _checks
from mrconv.errors import ArgumentError, DtypeError, ShapeError


def test_choice(says):
    _checks.check_choice("Layer", "mode", "left", ["left", "right"])
    with says(
        ArgumentError,
        "Layer: mode must be one of 'left', 'right'; got 'lft'. Did you mean 'left'?",
    ):
        _checks.check_choice("Layer", "mode", "lft", ["left", "right"])
    with says(
        ArgumentError, "Layer: mode must be one of 'left', 'right'; got None. Known: left, right."
    ):
        _checks.check_choice("Layer", "mode", None, ["left", "right"])


@pytest.mark.parametrize("value", [1.0, "1", None, True])
def test_count_refuses_other_types(says, value):
    with says(
        DtypeError,
        f"Layer: size must be a whole number; got {value!r}. Pass an int of at least 2.",
    ):
        _checks.check_count("Layer", "size", value, least=2)


@pytest.mark.parametrize("value", [1, 0, -3])
def test_count_refuses_low_values(says, value):
    with says(
        ArgumentError, f"Layer: size must be at least 2; got size={value}. Pass a larger size."
    ):
        _checks.check_count("Layer", "size", value, least=2)
    _checks.check_count("Layer", "size", 2, least=2)


@pytest.mark.parametrize(
    ("shape", "remedy"),
    [
        ((2, 7, 3), "Did you mean x.transpose(1, 2)?"),
        ((2, 4, 5), "Pass a tensor of (batch, channels, length)."),
        ((3, 7), "Pass a tensor of (batch, channels, length)."),
        ((1, 2, 3, 7), "Pass a tensor of (batch, channels, length)."),
    ],
)
def test_layer_input_refuses_shapes(says, shape, remedy):
    with says(ShapeError, f"Layer: input must be (batch, 3, length); got {shape}. {remedy}"):
        _checks.check_layer_input("Layer", torch.zeros(shape), 3, torch.float32)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.int64, torch.complex64])
def test_layer_input_refuses_dtypes(says, dtype):
    with says(
        DtypeError,
        f"Layer: input must have the dtype of the parameters, torch.float32; got {dtype}. "
        f"Convert the input with x.to(torch.float32) or the layer with layer.to({dtype}).",
    ):
        _checks.check_layer_input("Layer", torch.zeros(2, 3, 7, dtype=dtype), 3, torch.float32)


def test_layer_input_under_autocast():
    x = torch.zeros(2, 3, 7, dtype=torch.bfloat16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        _checks.check_layer_input("Layer", x, 3, torch.float32)
        with pytest.raises(DtypeError):
            _checks.check_layer_input("Layer", x.long(), 3, torch.float32)


LENGTHS_REMEDY = "Pass the number of valid samples of each row, or mrconv.lengths_from_mask(mask)."


@pytest.mark.parametrize("dtype", [torch.bool, torch.float32])
def test_lengths_refuse_dtypes(says, dtype):
    with says(
        DtypeError,
        f"Layer: lengths must be a tensor of whole numbers; got {dtype}. {LENGTHS_REMEDY}",
    ):
        _checks.check_lengths("Layer", torch.ones(2, dtype=dtype), 2, 5)


@pytest.mark.parametrize("shape", [(3,), (2, 1), ()])
def test_lengths_refuse_shapes(says, shape):
    with says(
        ShapeError, f"Layer: lengths must be (2,), one per row; got {shape}. {LENGTHS_REMEDY}"
    ):
        _checks.check_lengths("Layer", torch.ones(shape, dtype=torch.int64), 2, 5)


@pytest.mark.parametrize("lengths", [[0, 6], [-1, 5]])
def test_lengths_refuse_values(says, lengths):
    low, high = lengths
    with says(
        ArgumentError,
        f"Layer: lengths must lie between 0 and the input's length 5; got {low} to {high}. "
        "Pad the input on the right with mrconv.pad.",
    ):
        _checks.check_lengths("Layer", torch.tensor(lengths), 2, 5)


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8])
def test_lengths_of_every_integer_type(dtype):
    _checks.check_lengths("Layer", torch.tensor([0, 5], dtype=dtype), 2, 5)
    x = torch.full((2, 1, 5), float("nan"))
    masked = _checks.mask_invalid(x, torch.tensor([0, 3], dtype=dtype))
    assert masked[0].tolist() == [[0] * 5]
    assert masked[1, 0].isnan().tolist() == [True] * 3 + [False] * 2


def test_mask_invalid_without_lengths_is_the_input():
    x = torch.randn(2, 1, 5)
    assert _checks.mask_invalid(x, None) is x


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_mask_invalid_keeps_the_dtype(dtype):
    masked = _checks.mask_invalid(torch.ones(1, 1, 3, dtype=dtype), torch.tensor([2]))
    assert masked.dtype == dtype
    assert masked.tolist() == [[[1, 1, 0]]]


def test_widened():
    wide = {torch.bfloat16: torch.float32, torch.float16: torch.float32}
    for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.float64):
        assert _checks.widened(torch.zeros(1, dtype=dtype)).dtype == wide.get(dtype, dtype)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=5))
def test_pad_and_mask_are_inverse(sizes):
    sequences = [torch.randn(size, 2) for size in sizes]
    x, lengths = mrconv.pad(sequences)
    assert x.shape == (len(sizes), max(sizes), 2)
    assert lengths.tolist() == sizes
    for row, sequence in zip(x, sequences, strict=True):
        assert torch.equal(row[: len(sequence)], sequence)
        assert (row[len(sequence) :] == 0).all()
    mask = torch.arange(max(sizes)) < lengths[:, None]
    assert mrconv.lengths_from_mask(mask).tolist() == sizes


def test_pad_of_tokens_keeps_their_type():
    x, lengths = mrconv.pad([torch.tensor([3]), torch.tensor([4, 5])])
    assert x.tolist() == [[3, 0], [4, 5]]
    assert x.dtype == lengths.dtype == torch.int64


def test_pad_refuses_nothing(says):
    with says(
        ArgumentError, "pad: sequences must hold at least one tensor; got none. Pass a list."
    ):
        mrconv.pad([])


def test_lengths_from_mask_of_numbers():
    assert mrconv.lengths_from_mask(torch.tensor([[1, 1, 0], [0, 0, 0]])).tolist() == [2, 0]


def test_lengths_from_mask_refuses_shapes(says):
    with says(
        ShapeError,
        "lengths_from_mask: mask must be (batch, length); got (3,). Pass one row per sequence.",
    ):
        mrconv.lengths_from_mask(torch.ones(3))


@pytest.mark.parametrize("row", [[False, True], [True, False, True]])
def test_lengths_from_mask_refuses_other_paddings(says, row):
    with says(
        ArgumentError,
        "lengths_from_mask: valid positions must come first in each row (right padding); "
        "got left padding or a scattered mask. Shift each row's samples to the left with "
        "mrconv.pad([x[b][mask[b]] for b in range(len(x))]).",
    ):
        mrconv.lengths_from_mask(torch.tensor([row]))


def test_the_remedy_of_lengths_from_mask_works():
    x, mask = torch.randn(2, 4, 1), torch.tensor([[0, 1, 1, 1], [1, 0, 1, 0]]).bool()
    moved, lengths = mrconv.pad([x[b][mask[b]] for b in range(len(x))])
    assert lengths.tolist() == [3, 2]
    assert torch.equal(moved[1, :2], x[1, [0, 2]])
