"""What mixes over time: settings in, layer out, and one sentence for every mistake."""

import pytest
import torch

import mrconv
from mrconv.errors import ArgumentError, DtypeError
from mrconv.models.mixers import MIXERS, make_mixer, mixer_per_layer
from mrconv.testing import assert_close

NAMES = (
    "'mrconv', 'gated_mrconv', 'long_conv', 's4d', 'sgconv', 'attention', 'hyena', 'multihyena', "
    "'s4', 's5', 'multires', 'ckconv', 'dilated'"
)
REQUIRED = {"multihyena": {"num_filters": 3}}


def test_mrconv_is_the_default():
    layer = make_mixer({"kernel": "dense", "kernel_size": 4}, 3, 20, dtype=torch.float64)
    assert isinstance(layer, mrconv.MRConv)
    assert (layer.channels, layer.length, layer.kernel_size) == (3, 20, 4)
    assert layer.shift.dtype == torch.float64


@pytest.mark.parametrize("name", MIXERS)
def test_names(name):
    layer = make_mixer({"name": name, **REQUIRED.get(name, {})}, 3, 20, device="meta")
    assert type(layer) is MIXERS[name]
    assert layer.causal
    assert all(parameter.is_meta for parameter in layer.parameters())


@pytest.mark.parametrize(
    "name",
    [
        "mrconv",
        "gated_mrconv",
        "long_conv",
        "s4d",
        "sgconv",
        "attention",
        "s4",
        "s5",
        "multires",
        "ckconv",
        "dilated",
    ],
)
def test_two_sided_layers(name):
    assert not make_mixer({"name": name, "causal": False}, 3, 20, device="meta").causal


def test_settings_of_hyena_reach_it():
    settings = {"num_filters": 2, "kernel": "dilated", "kernel_size": 4, "norm": {"eps": 0.1}}
    for name in ("hyena", "multihyena"):
        layer = make_mixer({"name": name, **settings}, 6, 20, dtype=torch.float64)
        assert (layer.length, layer.width, layer.qkv.weight.dtype) == (20, 3, torch.float64)
        long = layer.filter
        assert (long.channels, long.kernel_size, long.kernel, long.norm.eps) == (
            2,
            4,
            "dilated",
            0.1,
        )


def test_settings_of_gated_branches_reach_them():
    settings = {"num_heads": 2, "kernel": "dilated", "kernel_size": 4, "norm": {"eps": 0.1}}
    layer = make_mixer({"name": "gated_mrconv", **settings}, 6, 20, dtype=torch.float64)
    assert (layer.gate.num_heads, layer.kernel, layer.spans) == (2, "dilated", [4, 8, 16])
    assert (layer.norm.eps, layer.gate.weight.dtype) == (0.1, torch.float64)


def test_settings_of_the_baselines_reach_their_layers():
    s4d = make_mixer({"name": "s4d", "order": 6, "skip": False}, 3, 20)
    assert s4d.past.coefficients.shape == (3, 3, 2)
    assert s4d.skip is None
    sgconv = make_mixer({"name": "sgconv", "points": 4, "decay": 0.8}, 3, 20, dtype=torch.float64)
    assert (sgconv.past.points, sgconv.past.decay, sgconv.past.pieces) == (4, 0.8, 4)
    assert sgconv.skip.dtype == torch.float64
    attention = make_mixer({"name": "attention", "num_heads": 3}, 6, 20)
    assert attention.num_heads == 3


@pytest.mark.parametrize("name", ["s4d", "sgconv"])
def test_baselines_are_the_layer_of_that_kernel(name):
    named = make_mixer({"name": name}, 3, 20)
    layer = mrconv.nn.KernelConv(3, 20, kernel=name)
    layer.load_state_dict(named.state_dict())
    x = torch.randn(2, 3, 30)
    assert_close(named(x), layer(x))


def test_settings_are_left_as_they_were():
    settings = {"name": "mrconv", "kernel_size": 4, "norm": {"eps": 0.1}}
    make_mixer(settings, 3, 20)
    assert settings == {"name": "mrconv", "kernel_size": 4, "norm": {"eps": 0.1}}


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"name": "mrcov"},
            f"name must be one of {NAMES}; got 'mrcov'. Did you mean 'mrconv'?",
        ),
        (
            {"name": None},
            f"name must be one of {NAMES}; got None. "
            "Known: attention, ckconv, dilated, gated_mrconv, hyena, long_conv, mrconv, "
            "multihyena, multires, s4, s4d, s5, sgconv.",
        ),
        (
            {"kernal": "dense"},
            "keys must be arguments of MRConv; got 'kernal'. Did you mean 'kernel'?",
        ),
        (
            {"dtype": "float64"},
            "keys must be arguments of MRConv; got 'dtype'. "
            "Known: causal, combine, gains, kernel, kernel_size, norm, skip.",
        ),
        (
            {"channels": 4},
            "keys must be arguments of MRConv; got 'channels'. "
            "Known: causal, combine, gains, kernel, kernel_size, norm, skip.",
        ),
        (
            {"name": "long_conv", "kernel_size": 4},
            "keys must be arguments of LongConv; got 'kernel_size'. Known: bias, causal.",
        ),
        (
            {"name": "s4d", "kernel": "sgconv"},
            "keys must be arguments of S4D; got 'kernel'. Known: causal, order, skip.",
        ),
        (
            {"name": "sgconv", "point": 16},
            "keys must be arguments of SGConv; got 'point'. Did you mean 'points'?",
        ),
        (
            {"name": "multihyena", "num_heads": 4},
            "keys must be arguments of MultiHyena; got 'num_heads'. Did you mean 'num_filters'?",
        ),
        (
            {"name": "multihyena", "kernel": "dense"},
            "a MultiHyena must be given num_filters; got ['kernel']. Add the key 'num_filters'.",
        ),
        (
            {"name": "attention", "heads": 4},
            "keys must be arguments of Attention; got 'heads'. Did you mean 'num_heads'?",
        ),
    ],
)
def test_misspelled_words(says, settings, sentence):
    with says(ArgumentError, f"mixer: {sentence}"):
        make_mixer(settings, 3, 20)


def test_one_mapping_serves_all_layers():
    settings = mixer_per_layer({"kernel_size": 4}, 3)
    assert settings == [{"kernel_size": 4}] * 3


def test_a_list_has_one_mapping_a_layer(says):
    assert mixer_per_layer(({"causal": True}, {}), 2) == [{"causal": True}, {}]
    sentence = (
        "mixer: a list must have one entry a layer, depth=3; got 2. "
        "Add the missing layers, or pass one mapping for all."
    )
    with says(ArgumentError, sentence):
        mixer_per_layer([{}, {}], 3)


@pytest.mark.parametrize("mixer", ["dilated", ["dilated", "dense"], [{}, None], "", 5, None])
def test_other_types(says, mixer):
    sentence = (
        f"mixer: must be a mapping of settings or a list of them; got {mixer!r}. "
        "Pass {'kernel': 'dilated', 'kernel_size': 8}."
    )
    with says(DtypeError, sentence):
        mixer_per_layer(mixer, 2)
