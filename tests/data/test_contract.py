"""What a model expects of its input, and what is refused."""

import json

import numpy as np
import pytest

from mrconv.data import InputContract
from mrconv.errors import ArgumentError, DtypeError, ShapeError

CONTINUOUS = pytest.mark.parametrize("kind", ["series", "audio", "image"])


def tokens(vocabulary=5):
    return InputContract("tokens", 8, vocabulary=vocabulary)


@CONTINUOUS
def test_values_are_scaled(kind):
    contract = InputContract(kind, 3, channels=2, mean=1.5, std=0.25)
    values = np.array([[1.0, 2.0], [1.5, 0.0], [-3.0, 7.0]])
    prepared = contract.prepare(values)
    assert prepared.dtype == np.float32
    assert prepared.tolist() == [[-2.0, 2.0], [0.0, -6.0], [-18.0, 22.0]]


@CONTINUOUS
def test_one_channel_may_come_flat(kind):
    contract = InputContract(kind, 3, std=2.0)
    assert contract.prepare(np.array([2, 4, 5])).tolist() == [[1.0], [2.0], [2.5]]
    assert contract.prepare(np.array([[2], [4], [5]])).tolist() == [[1.0], [2.0], [2.5]]


def test_values_are_companded():
    contract = InputContract("audio", 4, mean=0.5, std=0.25, companding=255.0)
    # |v| = (256^c - 1) / 255 is the value whose companded one is c
    companded = np.array([0.0, 0.5, -0.25, 1.0, -1.0])
    values = np.sign(companded) * (256.0 ** np.abs(companded) - 1) / 255
    expected = (companded - 0.5) / 0.25
    np.testing.assert_allclose(contract.prepare(values)[:, 0], expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["u1", "i2", "i8", "f4", "f8", "?"])
def test_every_kind_of_number(dtype):
    values = np.array([0, 1, 1, 0]).astype(dtype)
    prepared = InputContract("series", 4, mean=0.5, std=0.5).prepare(values)
    assert prepared[:, 0].tolist() == [-1.0, 1.0, 1.0, -1.0]


def test_half_precision_is_scaled_in_full():
    values = np.array([1000.0, 1001.0, 60000.0], dtype=np.float16)
    prepared = InputContract("series", 3, mean=-9000.0, std=3.0).prepare(values)
    expected = (values.astype(np.float64) + 9000) / 3
    np.testing.assert_allclose(prepared[:, 0], expected, rtol=1e-6)


@pytest.mark.parametrize("length", [0, 1, 100])
def test_any_length(length):
    assert InputContract("series", 8).prepare(np.zeros(length)).shape == (length, 1)
    assert tokens().prepare(np.zeros(length, dtype=int)).shape == (length,)


def test_input_is_left_as_it_was():
    values = np.array([1.0, 2.0], dtype=np.float32)
    InputContract("series", 2, mean=1.0).prepare(values)
    assert values.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("dtype", ["u1", "i4", "i8", "f8"])
def test_tokens(dtype):
    prepared = tokens().prepare(np.array([0, 4, 2]).astype(dtype))
    assert prepared.dtype == np.int64
    assert prepared.tolist() == [0, 4, 2]


# what is refused


@pytest.mark.parametrize(
    ("channels", "shape", "remedy"),
    [
        (2, (2, 7), "Did you mean values.T?"),
        (2, (7, 3), "One row a sample, one column each."),
        (1, (1, 7), "Did you mean values.T?"),
        (1, (7, 1, 1), "One row a sample, one column each."),
        (1, (), "One row a sample, one column each."),
    ],
)
def test_shape(says, channels, shape, remedy):
    sentence = f"input: values must be (length, {channels}); got {shape}. {remedy}"
    with says(ShapeError, sentence):
        InputContract("series", 8, channels=channels).prepare(np.zeros(shape))


def test_flat_values_for_several_channels(says):
    sentence = "input: values must be (length, 3); got (7, 1). One row a sample, one column each."
    with says(ShapeError, sentence):
        InputContract("series", 8, channels=3).prepare(np.zeros(7))


@pytest.mark.parametrize("contract", [InputContract("series", 8), tokens()])
@pytest.mark.parametrize(
    ("values", "dtype"),
    [(["a", "b"], "<U1"), ([{}, None], "object"), ([1j], "complex128")],
)
def test_no_numbers(says, contract, values, dtype):
    with says(DtypeError, f"input: values must be numbers; got {dtype}. Remove text columns."):
        contract.prepare(np.array(values))


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_not_finite(says, wrong):
    values = np.zeros((5, 2))
    values[3, 1] = wrong
    sentence = (
        f"input: values must be finite; got {[0.0, wrong]} at sample 3. "
        "Fill or remove missing values first."
    )
    with says(ArgumentError, sentence):
        InputContract("series", 8, channels=2).prepare(values)


def test_too_large_for_float32_once_scaled(says):
    sentence = (
        "input: values must be finite; got [1e+30] at sample 1. "
        "Fill or remove missing values first."
    )
    with says(ArgumentError, sentence):
        InputContract("series", 8, std=1e-10).prepare(np.array([1.0, 1e30]))


def test_token_shape(says):
    with says(ShapeError, "input: tokens must be (length,); got (3, 1). Pass one sequence."):
        tokens().prepare(np.zeros((3, 1), dtype=int))


@pytest.mark.parametrize("wrong", [1.5, np.nan, np.inf])
def test_tokens_that_are_not_whole(says, wrong):
    sentence = "input: tokens must be whole numbers; got fractions. Round them."
    with says(DtypeError, sentence):
        tokens().prepare(np.array([1.0, wrong]))


@pytest.mark.parametrize(("values", "found"), [([0, 5], "0 to 5"), ([-1, 2], "-1 to 2")])
def test_tokens_outside_the_vocabulary(says, values, found):
    sentence = (
        f"input: tokens must lie between 0 and 4; got {found}. Use the model's own vocabulary."
    )
    with says(ArgumentError, sentence):
        tokens().prepare(np.array(values))


# the contract itself


def test_kind_is_checked(says):
    sentence = (
        "InputContract: kind must be one of 'series', 'audio', 'image', 'tokens'; got 'sound'. "
        "Known: audio, image, series, tokens."
    )
    with says(ArgumentError, sentence):
        InputContract("sound", 8)


@pytest.mark.parametrize("name", ["length", "channels", "frame"])
def test_sizes_are_checked(says, name):
    sizes = {"length": 8, "channels": 1, name: 0}
    sentence = f"InputContract: {name} must be at least 1; got {name}=0. Pass a larger {name}."
    with says(ArgumentError, sentence):
        InputContract("series", **sizes)


@pytest.mark.parametrize("std", [0, 0.0, -1.0, float("nan")])
def test_std_is_checked(says, std):
    sentence = f"InputContract: std must be positive; got {std}. Use 1 for unscaled input."
    with says(ArgumentError, sentence):
        InputContract("series", 8, std=std)


def test_every_channel_has_its_own_scale():
    contract = InputContract("series", 4, 2, mean=(1.0, -2.0), std=(0.5, 4.0))
    values = np.array([[1.5, 2.0], [1.0, -2.0], [0.0, 0.0]])
    assert contract.prepare(values).tolist() == [[1.0, 1.0], [0.0, 0.0], [-2.0, 0.5]]
    assert contract.silence.tolist() == [1.0, -2.0]


@pytest.mark.parametrize("name", ["mean", "std"])
def test_a_scale_for_every_channel(says, name):
    sentence = (
        f"InputContract: {name} must be one number, or one for each of 3 channels; got 2. "
        "Pass a tuple of 3."
    )
    with says(ArgumentError, sentence):
        InputContract("series", 8, 3, **{name: (1.0, 2.0)})


def test_std_of_every_channel_is_checked(says):
    sentence = "InputContract: std must be positive; got (1.0, 0.0). Use 1 for unscaled input."
    with says(ArgumentError, sentence):
        InputContract("series", 8, 2, std=(1.0, 0.0))


@pytest.mark.parametrize("companding", [0, -1.0, float("nan")])
def test_companding_is_checked(says, companding):
    sentence = (
        f"InputContract: companding must be positive; got {companding}. "
        "Use 255, or None for values as they are."
    )
    with says(ArgumentError, sentence):
        InputContract("audio", 8, companding=companding)


def test_tokens_need_a_vocabulary(says):
    sentence = (
        "InputContract: vocabulary must be given for tokens; got None. Pass the number of tokens."
    )
    with says(ArgumentError, sentence):
        InputContract("tokens", 8)


def test_the_vocabulary_is_a_size(says):
    sentence = (
        "InputContract: vocabulary must be a whole number; got 2.5. Pass an int of at least 1."
    )
    with says(DtypeError, sentence):
        tokens(2.5)


@pytest.mark.parametrize(("length", "steps"), [(0, 0), (1, 1), (3, 1), (4, 2), (7, 3)])
def test_samples_stand_side_by_side(length, steps):
    values = np.arange(2 * length, dtype=float).reshape(length, 2) + 5
    prepared = InputContract("series", 8, channels=2, mean=4.0, std=2.0, frame=3).prepare(values)
    assert prepared.shape == (steps, 6)
    flat = prepared.reshape(-1, 2)
    assert (flat[:length] == (values - 4) / 2).all()
    assert not flat[length:].any()


def test_tokens_have_no_frames(says):
    sentence = "InputContract: frame must be 1 for tokens; got 2. Leave it out."
    with says(ArgumentError, sentence):
        InputContract("tokens", 8, vocabulary=5, frame=2)


@pytest.mark.parametrize(
    "contract",
    [
        InputContract("audio", 16000, 2, 16000.0, 0.1, 0.2, frame=4),
        InputContract("image", 9, 2, mean=(0.1, 0.2), std=(0.3, 0.4)),
        tokens(18),
    ],
)
def test_through_json(contract):
    assert InputContract.from_dict(json.loads(json.dumps(contract.as_dict()))) == contract


def test_unknown_key(says):
    sentence = "InputContract: keys must be known; got 'lenght'. Did you mean 'length'?"
    with says(ArgumentError, sentence):
        InputContract.from_dict({"kind": "series", "lenght": 8})
