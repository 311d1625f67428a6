"""What the base class checks, and how two sides become one branch."""

import pytest
import torch

from mrconv.errors import ArgumentError, DtypeError
from mrconv.kernels import DenseKernel, DilatedKernel, FourierKernel, ImplicitKernel, SparseKernel
from mrconv.kernels import branch as make_branch

NOT_BAND_LIMITED = [DenseKernel, DilatedKernel, ImplicitKernel, SparseKernel]


@pytest.mark.parametrize("kind", [*NOT_BAND_LIMITED, FourierKernel])
def test_refuses_wrong_sizes(says, kind):
    name = kind.__name__
    low = "{}: {} must be at least {}; got {}={}. Pass a larger {}."
    for sizes, bad in {
        (0, 4, 0): ("channels", 1, 0),
        (2, 0, 0): ("kernel_size", 1, 0),
        (2, 4, -1): ("resolution", 0, -1),
    }.items():
        argument, least, got = bad
        sentence = low.format(name, argument, least, argument, got, argument)
        with says(ArgumentError, sentence):
            kind(*sizes)
    with says(
        DtypeError,
        f"{name}: channels must be a whole number; got 2.0. Pass an int of at least 1.",
    ):
        kind(2.0, 4, 0)


@pytest.mark.parametrize("kind", NOT_BAND_LIMITED)
def test_refuses_a_rate(says, kind):
    kernel = kind(2, 4, 1)
    sentence = (
        f"{kind.__name__}: rate must be 1, because its taps are not band-limited; got rate=2. "
        "Use kernel='fourier', or resample the input to the training rate."
    )
    with says(ArgumentError, sentence):
        kernel.taps(2)
    with says(ArgumentError, sentence):
        kernel.future_taps(2)
    with says(
        ArgumentError,
        f"{kind.__name__}: rate must be at least 1; got rate=0. Pass a larger rate.",
    ):
        kernel.taps(0)
    with says(
        DtypeError,
        f"{kind.__name__}: rate must be a whole number; got 0.5. Pass an int of at least 1.",
    ):
        kernel.taps(0.5)


def test_a_branch_of_one_side():
    kernel = DilatedKernel(2, 3, 2)
    one = make_branch(kernel)
    assert torch.equal(one.taps, kernel.taps())
    assert torch.equal(one.values, kernel.weight)
    assert one.spacing == 4


def test_a_branch_of_two_sides_has_the_future_first_and_reversed():
    past, future = DenseKernel(1, 3, 0), DenseKernel(1, 3, 0)
    taps = make_branch(past, future).taps
    f, p = future.weight[0].tolist(), past.weight[0].tolist()
    assert taps[0].tolist() == [f[2], f[1], f[0], *p]  # lags -3, -2, -1, 0, 1, 2


@pytest.mark.parametrize("rate", [1, 2])
def test_both_sides_of_a_fourier_branch_are_one_series(rate):
    kernel = FourierKernel(2, 4, 2, dtype=torch.float64)
    taps = make_branch(kernel, kernel, rate).taps
    period = kernel.span // rate
    past, future = taps[:, period:], taps[:, :period].flip(-1)
    # the future side at positions 1..span of the periodic series
    torch.testing.assert_close(future, past.roll(-1, -1))


def test_repr_shows_the_sizes():
    assert repr(DenseKernel(2, 3, 1)) == "DenseKernel(channels=2, kernel_size=3, span=6)"
