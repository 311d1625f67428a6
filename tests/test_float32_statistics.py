"""The exact statistics in float32, measured against textbook branches in float64.

Inputs are rounded to float32 before both, so that only the computation differs.
"""

import copy

import pytest
import torch
from torch.nn import functional

import mrconv
from mrconv.branch_statistics import normalized_branches
from mrconv.testing import relative_difference

EXACT, TEXTBOOK = mrconv.BranchNorm(), mrconv.BranchNorm(statistics="textbook")
VARIANCE = 2e-6  # largest relative error of a branch's variance
TIMES = 20  # the most by which an error may exceed that of float32 textbook
# Half a unit in the last place: the float32 textbook is below it by luck only, in tensors of a few
# numbers, such as the skips.
ROUNDING = 2.0**-24

SIGNALS = {
    "white": lambda x: x,
    "random walk": lambda x: x.cumsum(-1),
    "low-passed": lambda x: functional.avg_pool1d(x, 65, 1, 32),
    "mean of 1e3 standard deviations": lambda x: x + 1e3,
}
each_signal = pytest.mark.parametrize("signal", SIGNALS)
each_kernel = pytest.mark.parametrize("kernel", ["dilated", "fourier", "sparse", "dense"])
each_trained = pytest.mark.parametrize("kernel", ["dilated", "fourier", "fourier+sparse", "dense"])
each_side = pytest.mark.parametrize("causal", [True, False], ids=["causal", "two-sided"])


def lengths(quick, slow):
    return pytest.mark.parametrize("length", [quick, pytest.param(slow, marks=pytest.mark.slow)])


def drawn(signal, batch, channels, length):
    return SIGNALS[signal](torch.randn(batch, channels, length, dtype=torch.float64)).float()


def layers(kernel, channels, length, causal=True, skip=True):
    """One layer three times: float32 exact, float32 textbook, float64 textbook."""
    options = {"kernel_size": 8, "kernel": kernel, "causal": causal, "skip": skip}
    exact = mrconv.MRConv(channels, length, norm=EXACT, **options)
    textbook = copy.deepcopy(exact)
    textbook.norm = TEXTBOOK
    return exact, textbook, copy.deepcopy(textbook).double()


def worst_variance(signal, kernel, causal, channels, length):
    """The largest relative error of a branch's variance."""
    layer, _, _ = layers(kernel, channels, length, causal)
    x = drawn(signal, 2, channels, length)
    branches, gain, shift = layer._branches(1), layer.gain, layer.shift
    wide = [branch._replace(values=branch.values.double()) for branch in branches]
    with torch.no_grad():
        _, _, got = normalized_branches(x, branches, gain, shift, EXACT, causal=causal)
        _, _, expected = normalized_branches(
            x.double(), wide, gain.double(), shift.double(), TEXTBOOK, causal=causal
        )
    return float(((got - expected).abs() / expected).max())


@each_signal
@each_kernel
@each_side
@lengths(4096, 65_536)
def test_variances(signal, kernel, causal, length):
    assert worst_variance(signal, kernel, causal, 2, length) < VARIANCE


@each_kernel
def test_variances_of_many_two_sided_branches_under_an_offset(kernel):
    # their outputs are large at both ends, so that the square of their mean costs digits
    error = worst_variance("mean of 1e3 standard deviations", kernel, False, 32, 4096)
    assert error < VARIANCE / 2  # 2.6e-7 with sums in float64


@pytest.mark.slow
@each_signal
@each_kernel
def test_running_statistics_over_200_batches(signal, kernel):
    exact, _, reference = layers(kernel, 2, 4096)
    with torch.no_grad():
        for _ in range(200):
            x = drawn(signal, 2, 2, 4096)
            exact(x)
            reference(x.double())
    assert int(exact.num_batches_tracked) == int(reference.num_batches_tracked) == 200
    error = (exact.running_var - reference.running_var).abs() / reference.running_var
    assert float(error.max()) < VARIANCE
    # a mean is known to the digits of the outputs whose mean it is
    scale = (reference.running_var + reference.running_mean.square()).sqrt()
    error = (exact.running_mean - reference.running_mean).abs() / scale
    assert float(error.max()) < VARIANCE


def results(layer, x, weights):
    """Outputs and all gradients, by name."""
    x = x.clone().requires_grad_()
    y = layer(x)
    (y * weights).sum().backward()
    gradients = {name: parameter.grad for name, parameter in layer.named_parameters()}
    return {"y": y.detach(), "x": x.grad, **gradients}


@each_signal
@each_trained
@each_side
@lengths(1024, 16_384)
@pytest.mark.parametrize("skip", [True, False])  # an offset's skip hides the branches in the norm
def test_outputs_and_gradients(signal, kernel, causal, length, skip):
    exact, textbook, reference = layers(kernel, 4, length, causal, skip)
    x, weights = drawn(signal, 2, 4, length), torch.randn(2, 4, length)
    expected = results(reference, x.double(), weights.double())
    got, plain = results(exact, x, weights), results(textbook, x, weights)
    for name, value in expected.items():
        allowed = TIMES * max(relative_difference(plain[name], value), ROUNDING)
        assert relative_difference(got[name], value) < allowed, name
