"""Every parameter in exactly one group, and in the right one."""

import pytest
import torch
from torch import nn

import mrconv
from mrconv.errors import ArgumentError

RATES = {"lr": 6e-3, "kernel_lr": 1e-3, "weight_decay": 0.05}
SETTINGS = {
    "kernels": {"lr": 1e-3, "weight_decay": 0.0},
    "scales": {"lr": 6e-3, "weight_decay": 0.0},
    "weights": {"lr": 6e-3, "weight_decay": 0.05},
}
MIXERS = [
    {"kernel": "dense", "kernel_size": 4},
    {"kernel": "fourier", "kernel_size": 4, "causal": False},
    {"kernel": "sparse+dilated", "kernel_size": 4},
    {"kernel": "implicit", "kernel_size": 4, "combine": "concat"},
    {"kernel": "dilated", "kernel_size": 4, "gains": "fixed", "skip": False},
    {"kernel": "modal", "kernel_size": 4},
    {"name": "gated_mrconv", "num_heads": 2, "kernel": "fourier", "kernel_size": 4},
    {"name": "long_conv"},
    {"name": "s4d", "causal": False},
    {"name": "sgconv"},
    {"name": "attention"},
    {"name": "hyena", "num_filters": 4},
    {"name": "multihyena", "num_filters": 4, "kernel": "dilated", "kernel_size": 4},
]


def expected_group(name: str) -> str:
    """From the parameter's name alone."""
    owner, _, last = name.rpartition(".")
    places = {"kernels", "future_kernels", "past", "future"}
    if places & set(name.split(".")) or last == "taps":
        return "kernels"
    if last in ("gain", "shift", "skip", "bias") or "norm" in owner:
        return "scales"
    return "weights"


def model_of(mixer, **settings):
    backbone = mrconv.SequenceBackbone(3, 32, channels=8, depth=2, mixer=mixer, **settings)
    return mrconv.SequenceClassifier(backbone, 3, pair=True)


def assert_grouped(model, groups, expected):
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    found = [(names[id(p)], group["name"]) for group in groups for p in group["params"]]
    assert sorted(found) == sorted((name, expected(name)) for name in names.values())
    for group in groups:
        settings = {key: value for key, value in group.items() if key not in ("name", "params")}
        assert settings == SETTINGS[group["name"]]


@pytest.mark.parametrize("norm", ["batch", "layer"])
@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("mixer", MIXERS, ids=str)
def test_every_parameter_in_its_group(mixer, norm, merged):
    if merged and mixer.get("name") == "gated_mrconv":
        pytest.skip("has no other form")
    model = model_of(mixer, norm=norm, pre_norm=True)
    model = mrconv.merge(model.eval()) if merged else model
    assert_grouped(model, mrconv.param_groups(model, **RATES), expected_group)


def test_an_embedding_has_no_weight_decay():
    model = model_of({}, tokens=True)

    def expected(name):
        return "scales" if name == "backbone.encoder.weight" else expected_group(name)

    assert_grouped(model, mrconv.param_groups(model, **RATES), expected)


def test_modules_of_torch():
    model = nn.Sequential(nn.Linear(2, 3), nn.LayerNorm(3), nn.Conv1d(3, 3, 2, bias=False))
    expected = {"0.weight": "weights", "2.weight": "weights"}
    groups = mrconv.param_groups(model, **RATES)
    assert_grouped(model, groups, lambda name: expected.get(name, "scales"))
    assert [group["name"] for group in groups] == ["scales", "weights"]


def test_a_layer_alone_and_a_kernel_alone():
    layer = mrconv.MRConv(4, 32)
    names = [group["name"] for group in mrconv.param_groups(layer, **RATES)]
    assert names == ["kernels", "scales"]
    (group,) = mrconv.param_groups(layer.kernels[0], **RATES)
    assert group["name"] == "kernels"


def test_a_shared_parameter_comes_once():
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    second.weight = first.weight
    groups = mrconv.param_groups(nn.Sequential(first, second), **RATES)
    assert sum(len(group["params"]) for group in groups) == 3


@pytest.mark.parametrize(
    "optimizer", [torch.optim.AdamW, torch.optim.SGD, torch.optim.Adam, torch.optim.RMSprop]
)
@pytest.mark.parametrize("merged", [False, True])
def test_optimizers_take_them(optimizer, merged):
    torch.manual_seed(0)
    model = model_of({"kernel": "fourier", "kernel_size": 4})
    model = mrconv.merge(model.eval()).train() if merged else model
    made = optimizer(mrconv.param_groups(model, **RATES))
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    x = torch.randn(4, 32, 3)
    model(x, pair=x.flip(0)).square().sum().backward()
    made.step()
    moved = {n for n, p in model.named_parameters() if not torch.equal(p, before[n])}
    assert {expected_group(name) for name in moved} == {"kernels", "scales", "weights"}


def test_recurrences_learn_like_kernels():
    layer = mrconv.nn.ModalRecurrence(2, 3)
    groups = {group["name"]: group["params"] for group in mrconv.param_groups(layer, **RATES)}
    assert {id(p) for p in groups["scales"]} == {id(layer.bias)}
    assert {id(p) for p in groups["kernels"]} == {
        id(p) for p in (layer.log_decay, layer.angle, layer.residue, layer.head)
    }


def test_zero_switches_off():
    groups = mrconv.param_groups(model_of({}), lr=0, kernel_lr=0, weight_decay=0)
    assert {(group["lr"], group["weight_decay"]) for group in groups} == {(0, 0)}


@pytest.mark.parametrize("name", RATES)
@pytest.mark.parametrize("value", [-1e-3, float("nan")])
def test_negative_numbers(says, name, value):
    sentence = f"param_groups: {name} must be at least 0; got {value}. Use 0 to switch it off."
    with says(ArgumentError, sentence):
        mrconv.param_groups(nn.Linear(2, 2), **{**RATES, name: value})
