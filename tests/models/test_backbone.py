"""SequenceBackbone against its forward pass written out in float64, and its errors."""

import copy
import pickle

import pytest
import torch

import mrconv
from mrconv.errors import ArgumentError, DtypeError, ShapeError
from mrconv.kernels import DenseKernel
from mrconv.testing import assert_close

NORMS = pytest.mark.parametrize("norm", ["batch", "layer"])
PLACES = pytest.mark.parametrize("pre_norm", [False, True])
MIXERS = [
    {"kernel": "fourier", "kernel_size": 8},
    {"kernel": "dense", "kernel_size": 4, "causal": False},
    {"kernel": "sparse+dilated", "kernel_size": 4, "combine": "concat"},
    {"kernel_size": 4, "norm": {"momentum": None, "eps": 1e-3}, "gains": "fixed"},
    {"kernel": DenseKernel, "kernel_size": 4, "skip": False},
    {"name": "long_conv"},
    {"name": "long_conv", "causal": False},
    [{"name": "long_conv"}, {"kernel": "implicit", "kernel_size": 4}],
    {"kernel": "modal", "kernel_size": 8},
    {"name": "s4d", "skip": False},
    {"name": "sgconv", "points": 4, "causal": False},
    [{"name": "attention"}, {"name": "attention", "num_heads": 2, "causal": False}],
]


def values(*shape):
    return torch.randn(shape, dtype=torch.float64)


@NORMS
@PLACES
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("lengths", [None, torch.tensor([40, 13, 1])])
def test_values(small_backbone, settle, written_out, norm, pre_norm, training, lengths):
    backbone = settle(small_backbone(norm=norm, pre_norm=pre_norm, dropout=0.0)).train(training)
    x = values(3, 40, 2)
    expected = written_out(backbone, x, lengths)
    assert_close(backbone(x, lengths), expected, 1e-9)


@pytest.mark.parametrize("mixer", MIXERS, ids=str)
def test_values_with_every_mixer(small_backbone, settle, written_out, mixer):
    backbone = settle(small_backbone(mixer=mixer))
    x = values(2, 37, 2)
    assert_close(backbone(x), written_out(backbone, x), 1e-9)


@pytest.mark.parametrize("lengths", [None, torch.tensor([40, 13, 1])])
def test_values_of_tokens(small_backbone, settle, written_out, lengths):
    backbone = settle(small_backbone(11, tokens=True))
    tokens = torch.randint(11, (3, 40))
    assert_close(backbone(tokens, lengths), written_out(backbone, tokens, lengths), 1e-9)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32])
def test_tokens_of_every_whole_dtype(small_backbone, settle, dtype):
    backbone = settle(small_backbone(11, tokens=True))
    tokens = torch.randint(11, (2, 9))
    assert torch.equal(backbone(tokens.to(dtype)), backbone(tokens))


def test_dropout_works_in_training_only(small_backbone, settle, written_out):
    backbone = settle(small_backbone(dropout=0.5))
    x = values(3, 32, 2)
    assert torch.equal(backbone(x), backbone(x))
    backbone.train()
    assert not torch.allclose(backbone(x), written_out(backbone, x))


@pytest.mark.parametrize("length", [0, 1, 2, 31, 33, 100])
def test_every_length(small_backbone, settle, written_out, length):
    backbone = settle(small_backbone())
    x = values(2, length, 2)
    assert_close(backbone(x), written_out(backbone, x), 1e-9)


def test_no_rows(small_backbone, settle):
    assert settle(small_backbone())(values(0, 5, 2)).shape == (0, 5, 8)


def test_length_0_in_training_says_why(small_backbone, says):
    sentence = (
        "MRConv: training needs at least 2 valid samples over batch and time; got 0. "
        "Pass a longer batch, or call .eval() first."
    )
    with says(ArgumentError, sentence):
        small_backbone()(values(2, 0, 2))


def test_a_list_gives_each_layer_its_own_mixer(small_backbone):
    backbone = small_backbone(mixer=[{"kernel": "dense", "kernel_size": 2}, {"name": "long_conv"}])
    first, second = (block.mixer for block in backbone.blocks)
    assert (first.kernel, first.kernel_size) == ("dense", 2)
    assert (type(second), second.num_taps) == (mrconv.LongConv, 32)


def test_norm_mapping_becomes_the_settings_of_the_norm(small_backbone):
    backbone = small_backbone(mixer={"norm": {"momentum": 0.3, "statistics": "textbook"}})
    expected = mrconv.BranchNorm(0.3, statistics="textbook")
    assert [block.mixer.norm for block in backbone.blocks] == [expected] * 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_lower_precisions(small_backbone, settle, written_out, dtype):
    backbone = settle(small_backbone()).to(dtype)
    x = values(2, 32, 2).to(dtype)
    y = backbone(x)
    assert y.dtype == dtype
    assert_close(y, written_out(backbone, x), 1e-5 if dtype == torch.float32 else 5e-2)


def test_autocast(small_backbone, settle, written_out):
    backbone = settle(small_backbone(dtype=torch.float32))
    x = torch.randn(2, 32, 2)
    with torch.autocast("cpu", torch.bfloat16):
        y = backbone(x)
    assert_close(y, written_out(backbone, x), 5e-2)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_compute_the_same(small_backbone, settle, copied):
    backbone = settle(small_backbone())
    x = values(2, 32, 2)
    assert torch.equal(copied(backbone)(x), backbone(x))


def test_meta_device(small_backbone):
    backbone = small_backbone(device="meta").eval()
    assert all(parameter.is_meta for parameter in backbone.parameters())
    assert backbone(torch.empty(2, 9, 2, device="meta", dtype=torch.float64)).shape == (2, 9, 8)


def test_compiles_whole_at_several_lengths(small_backbone, settle):
    backbone = settle(small_backbone(depth=1))
    compiled = torch.compile(backbone, fullgraph=True, backend="aot_eager")
    for length in (8, 33):
        x, lengths = values(2, length, 2), torch.tensor([length, 3])
        assert_close(compiled(x, lengths), backbone(x, lengths), 1e-12)


# errors


@pytest.mark.parametrize("name", ["features", "length", "channels", "depth"])
@pytest.mark.parametrize(
    ("value", "error", "sentence"),
    [
        (0, ArgumentError, "{0} must be at least 1; got {0}=0. Pass a larger {0}."),
        (2.0, DtypeError, "{0} must be a whole number; got 2.0. Pass an int of at least 1."),
    ],
)
def test_sizes_are_checked(says, name, value, error, sentence):
    sizes = {"features": 1, "length": 32, name: value}
    with says(error, "SequenceBackbone: " + sentence.format(name)):
        mrconv.SequenceBackbone(**sizes)


def test_norm_is_checked(says):
    sentence = (
        "SequenceBackbone: norm must be one of 'batch', 'layer'; got 'bach'. Did you mean 'batch'?"
    )
    with says(ArgumentError, sentence):
        mrconv.SequenceBackbone(1, 32, norm="bach")


@pytest.mark.parametrize("dropout", [-0.1, 1, 1.5, float("nan")])
def test_dropout_is_checked(says, dropout):
    sentence = f"ResidualBlock: dropout must be at least 0 and below 1; got {dropout}. Use 0.1."
    with says(ArgumentError, sentence):
        mrconv.SequenceBackbone(1, 32, dropout=dropout)


def test_kernel_size_above_length(says):
    sentence = (
        "MRConv: kernel_size must be at most length; got kernel_size=8, length=7. "
        "Lower kernel_size or pass a longer length."
    )
    with says(ArgumentError, sentence):
        mrconv.SequenceBackbone(1, 7)


@pytest.mark.parametrize(
    ("features", "shape", "remedy"),
    [
        (2, (3, 2, 32), "Did you mean x.transpose(1, 2)?"),
        (2, (3, 32, 5), "Pass a tensor of (batch, length, features)."),
        (2, (3, 32), "Pass a tensor of (batch, length, features)."),
        (1, (3, 32), "Did you mean x[..., None]?"),
        (1, (3, 1, 32), "Did you mean x.transpose(1, 2)?"),
    ],
)
def test_input_shape(small_backbone, says, features, shape, remedy):
    sentence = f"SequenceBackbone: input must be (batch, length, {features}); got {shape}. {remedy}"
    with says(ShapeError, sentence):
        small_backbone(features)(values(*shape))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64])
def test_input_dtype(small_backbone, says, dtype):
    sentence = (
        "SequenceBackbone: input must have the dtype of the parameters, torch.float64; "
        f"got {dtype}. Convert the input with x.to(torch.float64) or the model with "
        f"model.to({dtype})."
    )
    with says(DtypeError, sentence):
        small_backbone()(torch.zeros(2, 32, 2, dtype=dtype))


def test_token_shape(small_backbone, says):
    sentence = (
        "SequenceBackbone: tokens must be (batch, length); got (2, 32, 1). "
        "Pass one row of token numbers a sequence."
    )
    with says(ShapeError, sentence):
        small_backbone(5, tokens=True)(torch.zeros(2, 32, 1, dtype=torch.int64))


def test_token_dtype(small_backbone, says):
    sentence = (
        "SequenceBackbone: tokens must be whole numbers; got torch.float32. "
        "Convert them with x.long()."
    )
    with says(DtypeError, sentence):
        small_backbone(5, tokens=True)(torch.zeros(2, 32))


@pytest.mark.parametrize(("wrong", "found"), [(-1, "-1 to 0"), (5, "0 to 5")])
def test_tokens_outside_the_vocabulary(small_backbone, says, wrong, found):
    tokens = torch.zeros(2, 32, dtype=torch.int64)
    tokens[1, 7] = wrong
    sentence = (
        f"SequenceBackbone: tokens must lie between 0 and 4; got {found}. "
        "Use the vocabulary the model was made for."
    )
    with says(ArgumentError, sentence):
        small_backbone(5, tokens=True)(tokens)


@pytest.mark.parametrize("tokens", [False, True])
def test_lengths_are_checked_against_the_input(small_backbone, says, tokens):
    x = torch.zeros(2, 32, dtype=torch.int64) if tokens else values(2, 32, 2)
    sentence = (
        "SequenceBackbone: lengths must lie between 0 and the input's length 32; "
        "got 3 to 33. Pad the input on the right with mrconv.pad."
    )
    with says(ArgumentError, sentence):
        small_backbone(2, tokens=tokens)(x, torch.tensor([33, 3]))
    sentence = (
        "SequenceBackbone: lengths must be (2,), one per row; got (3,). "
        "Pass the number of valid samples of each row, or mrconv.lengths_from_mask(mask)."
    )
    with says(ShapeError, sentence):
        small_backbone(2, tokens=tokens)(x, torch.tensor([3, 3, 3]))


# what is saved


def test_arguments_rebuild_the_backbone(small_backbone):
    backbone = small_backbone(pre_norm=True, norm="layer", dropout=0.25)
    assert backbone.arguments == {
        "features": 2,
        "length": 32,
        "channels": 8,
        "depth": 2,
        "norm": "layer",
        "pre_norm": True,
        "dropout": 0.25,
        "tokens": False,
        "mixer": {"kernel": "dilated", "kernel_size": 4},
    }
    twin = mrconv.SequenceBackbone(**backbone.arguments, dtype=torch.float64)
    twin.load_state_dict(backbone.state_dict())
    x = values(2, 32, 2)
    assert torch.equal(twin.eval()(x), backbone.eval()(x))


def test_arguments_hold_plain_values_of_each_layer(small_backbone):
    mixers = [{"norm": mrconv.BranchNorm(0.2)}, {"name": "long_conv"}]
    assert small_backbone(mixer=mixers).arguments["mixer"] == [
        {"norm": {"momentum": 0.2, "eps": 1e-5, "statistics": "exact"}},
        {"name": "long_conv"},
    ]
    alike = [{"kernel_size": 4}, {"kernel_size": 4}]
    assert small_backbone(mixer=alike).arguments["mixer"] == {"kernel_size": 4}


def test_arguments_refuse_a_callable(small_backbone, says):
    sentence = (
        "save_pretrained: mixer settings must be plain values; "
        "got kernel=<class 'mrconv.kernels.dense.DenseKernel'>. Save model.state_dict() instead, "
        "or register the kernel in mrconv.kernels.KERNELS under a name."
    )
    backbone = small_backbone(mixer={"kernel": DenseKernel, "kernel_size": 4})
    with says(ArgumentError, sentence):
        _ = backbone.arguments
