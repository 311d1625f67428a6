"""Shares of the resolutions against finite differences of the decision's score."""

import copy

import pytest
import torch

import mrconv
from mrconv.errors import ArgumentError
from mrconv.models.attribution import resolution_shares
from mrconv.testing import assert_close


@pytest.fixture
def model(small_backbone, settle):
    return settle(mrconv.SequenceClassifier(small_backbone(), 3, dtype=torch.float64))


def scaled(model, resolution, factor):
    """A copy in which every layer's part of one resolution is multiplied by a factor."""
    model = copy.deepcopy(model)
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, mrconv.MRConv):
                module.gain[resolution] *= factor
    return model


def without_means(model):
    """Branches without constants, so that a gain scales the part and nothing else."""
    for module in model.modules():
        if isinstance(module, mrconv.MRConv):
            module.running_mean.zero_()
    return model


def scores(model, x, window):
    return model.head(model.backbone(x)[:, -(window or x.shape[1]) :].mean(1))


@pytest.mark.parametrize("window", [None, 7])
def test_equal_finite_differences(model, window):
    model, step = without_means(model), 1e-5
    x = torch.randn(3, 40, 2, dtype=torch.float64)
    with torch.no_grad():
        decided = scores(model, x, window).argmax(-1, keepdim=True)
        expected = torch.stack(
            [
                (
                    scores(scaled(model, i, 1 + step), x, window).gather(1, decided)
                    - scores(scaled(model, i, 1 - step), x, window).gather(1, decided)
                )[:, 0]
                / (2 * step)
                for i in range(4)
            ],
            -1,
        )
    shares = resolution_shares(model, x, window)
    assert shares.shape == (3, 4)
    assert_close(shares, expected / expected.abs().sum(-1, keepdim=True), 1e-7)
    assert (shares < 0).any()  # the sign was compared too
    assert (shares > 0).any()


def test_shares_sum_to_one_in_size(model):
    shares = resolution_shares(model, torch.randn(5, 40, 2, dtype=torch.float64))
    assert_close(shares.abs().sum(-1), torch.ones(5, dtype=torch.float64), 1e-12)


def test_a_resolution_without_gain_has_no_share(model):
    shares = resolution_shares(scaled(model, 2, 0.0), torch.randn(2, 40, 2, dtype=torch.float64))
    assert (shares[:, 2] == 0).all()
    assert (shares[:, [0, 1, 3]] != 0).all()


def test_rows_do_not_mix(model):
    x = torch.randn(3, 40, 2, dtype=torch.float64)
    alone = torch.cat([resolution_shares(model, row[None]) for row in x])
    assert_close(resolution_shares(model, x), alone, 1e-9)


def test_tokens_and_no_traces(small_backbone, settle):
    backbone = small_backbone(5, tokens=True)
    model = settle(mrconv.SequenceClassifier(backbone, 3, dtype=torch.float64))
    with torch.no_grad():
        shares = resolution_shares(model, torch.randint(5, (2, 40)))
    assert shares.shape == (2, 4)
    assert not shares.requires_grad
    assert all(parameter.grad is None for parameter in model.parameters())
    assert not any(module._forward_hooks for module in model.modules())


REFUSED = (
    "resolution_shares: the model must be in eval mode, in branches form, with equal "
    "resolutions in all layers; got training={}, resolutions {}. Load the unmerged model."
)


@pytest.mark.parametrize("part", ["", "backbone.blocks.1.norm"])
def test_training_is_refused(model, says, part):
    model.get_submodule(part).train()
    with says(ArgumentError, REFUSED.format(True, [4, 4])):
        resolution_shares(model, torch.zeros(1, 40, 2, dtype=torch.float64))


def test_a_merged_model_is_refused(model, says):
    with says(ArgumentError, REFUSED.format(False, [])):
        resolution_shares(mrconv.merge(model), torch.zeros(1, 40, 2, dtype=torch.float64))


def test_layers_of_unequal_resolutions_are_refused(small_backbone, says):
    backbone = small_backbone(mixer=[{"kernel_size": 4}, {"kernel_size": 8}])
    model = mrconv.SequenceClassifier(backbone, 3).eval()
    with says(ArgumentError, REFUSED.format(False, [4, 3])):
        resolution_shares(model, torch.zeros(1, 40, 2, dtype=torch.float64))
