"""What mixes over time: settings in, layer out, and one sentence for every mistake."""

import pytest
import torch

import mrconv
from mrconv.errors import ArgumentError, DtypeError
from mrconv.models.mixers import MIXERS, make_mixer, mixer_per_layer


def test_mrconv_is_the_default():
    layer = make_mixer({"kernel": "dense", "kernel_size": 4}, 3, 20, dtype=torch.float64)
    assert isinstance(layer, mrconv.MRConv)
    assert (layer.channels, layer.length, layer.kernel_size) == (3, 20, 4)
    assert layer.shift.dtype == torch.float64


@pytest.mark.parametrize("name", MIXERS)
def test_names(name):
    layer = make_mixer({"name": name, "causal": False}, 3, 20, device="meta")
    assert type(layer) is MIXERS[name]
    assert not layer.causal
    assert all(parameter.is_meta for parameter in layer.parameters())


def test_settings_are_left_as_they_were():
    settings = {"name": "mrconv", "kernel_size": 4, "norm": {"eps": 0.1}}
    make_mixer(settings, 3, 20)
    assert settings == {"name": "mrconv", "kernel_size": 4, "norm": {"eps": 0.1}}


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"name": "mrcov"},
            "name must be one of 'mrconv', 'long_conv'; got 'mrcov'. Did you mean 'mrconv'?",
        ),
        (
            {"name": None},
            "name must be one of 'mrconv', 'long_conv'; got None. Known: long_conv, mrconv.",
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
