"""Layers with fewer resolutions against sums of branches convolved one by one."""

import pytest
import torch

import mrconv
from mrconv import BranchNorm, MRConv
from mrconv.errors import ArgumentError
from mrconv.nn import keep_resolutions
from mrconv.testing import assert_close, settled

F64 = torch.float64
KINDS = [
    {"kernel": "dilated"},
    {"kernel": "fourier+sparse", "causal": False},
    {"kernel": "dense", "gains": "fixed", "skip": False},
    {"kernel": "implicit", "norm": "constant"},
    {"kernel": "modal", "norm": "none"},
]
each_kind = pytest.mark.parametrize("settings", KINDS, ids=str)
each_choice = pytest.mark.parametrize("kept", [[0], [1, 3], [0, 2], [0, 1, 2, 3]])


def layer(**settings):
    torch.manual_seed(0)
    made = MRConv(3, 64, kernel_size=8, dtype=F64, **settings)
    torch.nn.init.normal_(made.shift)
    return settled(made).eval() if made.norm != "constant" else made.eval()


@each_kind
@each_choice
def test_it_is_the_sum_of_what_is_left(settings, kept):
    made, x = layer(**settings), torch.randn(2, 3, 90, dtype=F64)
    small = keep_resolutions(made, kept)
    expected = made.contributions(x)[kept].sum(0)
    scale = torch.ones_like(made.gain)
    if made.norm != "none":
        eps = made.norm.eps if isinstance(made.norm, BranchNorm) else 0.0
        scale = made.gain / (made.running_var + eps).sqrt()
        expected = expected - (scale * made.running_mean)[kept].sum(0)[:, None]
    expected = expected + made.shift[kept].sum(0)[:, None]
    if made.skip is not None:
        expected = expected + made.skip[:, None] * x
    assert_close(small(x), expected)
    assert small.spans == [made.spans[i] for i in kept]
    assert small.num_taps == max(small.spans)
    assert_close(small.reparameterize()(x), expected)
    if made.causal:
        state = mrconv.Streamer(small).init_state(2)
        assert_close(mrconv.Streamer(small).chunk(x, state)[0], expected)


@each_choice
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("kernel", ["dilated", "fourier", "sparse"])
def test_training_equals_textbook_branches(kept, causal, kernel):
    x = torch.randn(4, 3, 150, dtype=F64)
    results = []
    for statistics in ("exact", "textbook"):
        norm = BranchNorm(statistics=statistics)
        small = keep_resolutions(layer(kernel=kernel, causal=causal, norm=norm), kept).train()
        y = small(x)
        y.square().sum().backward()
        results.append([y, *(one.grad for one in small.parameters()), *small.buffers()])
    for ours, theirs in zip(*results, strict=True):
        assert_close(ours, theirs, 1e-10)


def test_state_dict_names_and_mode():
    small = keep_resolutions(MRConv(3, 64, kernel_size=8), [1, 3])
    assert small.training
    kernels = {"kernels.0.coefficients", "kernels.1.coefficients"}
    statistics = {"running_mean", "running_var", "num_batches_tracked"}
    assert set(small.state_dict()) == {"gain", "shift", "skip", *kernels, *statistics}
    assert small.gain.shape == small.running_var.shape == (2, 3)
    assert all(isinstance(one, torch.nn.Parameter) for one in (small.gain, small.shift))


def test_the_old_layer_stays():
    made = layer(kernel="dilated")
    before = {name: one.clone() for name, one in made.state_dict().items()}
    small = keep_resolutions(made, [2])
    with torch.no_grad():
        for parameter in small.parameters():
            parameter.add_(1)
    after = made.state_dict()
    assert all(torch.equal(after[name], before[name]) for name in before)
    assert made.resolutions == 4


@pytest.mark.parametrize("wrong", [[], [4], [-1], [1, 1], [2, 0]])
def test_numbers_must_be_there_and_ascend(wrong, says):
    with says(
        ArgumentError,
        "keep_resolutions: resolutions must be ascending numbers from 0 to 3, at least one; "
        f"got {wrong}. Leave out those to be dropped.",
    ):
        keep_resolutions(MRConv(3, 64, kernel_size=8), wrong)


def test_pieces_cannot_be_dropped(says):
    with says(
        ArgumentError,
        "keep_resolutions: combine must be 'sum', because pieces laid end to end share one norm; "
        "got 'concat'. Merge the layer instead.",
    ):
        keep_resolutions(MRConv(3, 64, kernel_size=8, combine="concat"), [0])
