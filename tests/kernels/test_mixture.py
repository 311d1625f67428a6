"""Mixtures, and the names that kernels are known by."""

import pytest
import torch

from mrconv.errors import ArgumentError, DtypeError
from mrconv.kernels import (
    KERNELS,
    DenseKernel,
    FourierKernel,
    MixtureKernel,
    SparseKernel,
    kernel_factory,
)
from mrconv.testing import assert_close

KNOWN = "Known: dense, dilated, fourier, implicit, modal, sparse."
NAMES = "'dense', 'fourier', 'dilated', 'sparse', 'implicit', 'modal'"


def test_taps_are_the_weighted_sum():
    parts = [FourierKernel(2, 4, 1), SparseKernel(2, 4, 1), DenseKernel(2, 4, 1)]
    kernel = MixtureKernel(parts)
    assert_close(kernel.taps(), sum(part.taps() for part in parts))
    with torch.no_grad():
        kernel.factor.copy_(torch.randn(3, 2))
    for side in ("taps", "future_taps"):
        expected = sum(
            factor[:, None] * getattr(part, side)()
            for factor, part in zip(kernel.factor, parts, strict=True)
        )
        assert_close(getattr(kernel, side)(), expected)


def test_reset_sets_the_factors_to_one_and_draws_the_parts_anew():
    kernel = kernel_factory("fourier+sparse")(2, 4, 1, device=None, dtype=None)
    before = kernel.parts[1].weight.detach().clone()
    with torch.no_grad():
        kernel.factor.fill_(3)
    kernel.reset_parameters()
    assert (kernel.factor == 1).all()
    assert (kernel.parts[1].weight != before).all()


@pytest.mark.parametrize(
    ("make", "got"),
    [
        (lambda: [], "0 parts of 0 sizes"),
        (lambda: [DenseKernel(2, 4, 1)], "1 parts of 1 sizes"),
        (lambda: [DenseKernel(2, 4, 1), DenseKernel(2, 4, 2)], "2 parts of 2 sizes"),
        (lambda: [DenseKernel(2, 8, 0), DenseKernel(2, 4, 1)], "2 parts of 2 sizes"),
    ],
)
def test_refuses_parts_that_do_not_fit(says, make, got):
    with says(
        ArgumentError,
        "MixtureKernel: parts must be two or more kernels of equal channels, kernel_size and "
        f"resolution; got {got}. Make every part with the same three numbers.",
    ):
        MixtureKernel(make())


@pytest.mark.parametrize("name", KERNELS)
def test_names(name):
    assert kernel_factory(name) is KERNELS[name]


def test_a_callable_is_its_own_factory():
    assert kernel_factory(DenseKernel) is DenseKernel


def test_names_joined_by_plus():
    kernel = kernel_factory("fourier+sparse+dense")(2, 4, 1, device=None, dtype=torch.float64)
    assert [type(part) for part in kernel.parts] == [FourierKernel, SparseKernel, DenseKernel]
    assert all(p.dtype == torch.float64 for p in kernel.parameters())


@pytest.mark.parametrize(
    ("name", "part", "hint"),
    [
        ("forier", "forier", "Did you mean 'fourier'?"),
        ("fourier+spars", "spars", "Did you mean 'sparse'?"),
        ("wavelet", "wavelet", KNOWN),
        ("fourier+", "", KNOWN),
        ("", "", KNOWN),
    ],
)
def test_refuses_unknown_names(says, name, part, hint):
    with says(
        ArgumentError,
        f"kernel: must be one of {NAMES}, or several joined by +; got {part!r}. {hint}",
    ):
        kernel_factory(name)


def test_refuses_what_is_no_name(says):
    with says(
        DtypeError,
        "kernel: must be a name or a callable; got int. "
        "Pass a name such as 'fourier', or a Kernel class.",
    ):
        kernel_factory(3)
