"""MultiresNet's kernel against the product of its filters' z-transforms, and against its tree."""

import pytest
import torch
from torch.nn import functional

from mrconv.errors import ArgumentError
from mrconv.kernels import MultiresKernel
from mrconv.testing import assert_close, direct_convolution

F64 = torch.float64
SIZES = [(1, 2), (2, 2), (5, 2), (16, 2), (100, 2), (37, 3), (64, 4), (3, 8)]


def by_transforms(kernel):
    """The class's equation at roots of unity, as many as the whole tree reaches."""
    h0, h1, w = (one.detach().to(torch.complex128) for one in kernel.parameters())
    size = (kernel.filter_size - 1) * (2**kernel.levels - 1) + 1
    n = max(size, kernel.span)
    z = torch.exp(-2j * torch.pi * torch.arange(n, dtype=F64) / n)

    def at(filters, power):
        return filters @ z[None] ** (power * torch.arange(filters.shape[1])[:, None])

    average, total = torch.ones_like(at(h0, 1)), w[:, -1:]
    for j in range(kernel.levels):
        total = total + w[:, j, None] * at(h1, 2**j) * average
        average = average * at(h0, 2**j)
    return torch.fft.ifft(total + w[:, -2, None] * average).real[:, : kernel.span]


def by_the_tree(kernel, u):
    """Level by level on a signal, with torch's dilated convolution."""
    h0, h1, w = (one.detach() for one in kernel.parameters())
    average, y = u, w[:, -1:] * u
    for j in range(kernel.levels):
        padded = functional.pad(average, ((kernel.filter_size - 1) * 2**j, 0))
        detail, average = (
            functional.conv1d(padded, h.flip(-1)[:, None], dilation=2**j, groups=len(h))
            for h in (h1, h0)
        )
        y = y + w[:, j, None] * detail
    return y + w[:, -2, None] * average


@pytest.mark.parametrize(("span", "filter_size"), SIZES)
def test_taps(span, filter_size):
    kernel = MultiresKernel(3, span, 0, filter_size=filter_size, dtype=F64)
    assert_close(kernel.taps(), by_transforms(kernel), 1e-10)


@pytest.mark.parametrize("levels", [1, 2, 5])
def test_taps_of_few_levels(levels):
    kernel = MultiresKernel(2, 10, 1, filter_size=3, levels=levels, dtype=F64)
    assert_close(kernel.taps(), by_transforms(kernel), 1e-10)
    reach = 2 * (2**levels - 1) + 1
    assert (kernel.taps()[:, reach:] == 0).all()


def test_levels_beyond_the_span_cost_no_memory():
    """A delay of 2^j >= span leaves of each filter its first tap only."""
    kernel = MultiresKernel(2, 10, 0, filter_size=3, levels=60, dtype=F64)
    short = MultiresKernel(2, 10, 0, filter_size=3, levels=4, dtype=F64)
    h0, h1, w = (one.detach() for one in kernel.parameters())
    with torch.no_grad():  # four levels, the last average weighed as by all those behind it
        short.average.copy_(h0)
        short.detail.copy_(h1)
        rest = sum(w[:, j] * h1[:, 0] * h0[:, 0] ** (j - 4) for j in range(4, 60))
        rest = rest + w[:, 60] * h0[:, 0] ** 56
        short.weight.copy_(torch.cat([w[:, :4], rest[:, None], w[:, -1:]], 1))
    assert_close(kernel.taps(), by_transforms(short), 1e-10)


@pytest.mark.parametrize(("span", "filter_size"), SIZES)
def test_the_tree_on_a_signal_of_the_span(span, filter_size):
    kernel = MultiresKernel(2, span, 0, filter_size=filter_size, dtype=F64)
    u = torch.randn(2, 2, span, dtype=F64)
    assert_close(direct_convolution(u, kernel.taps()), by_the_tree(kernel, u), 1e-10)


@pytest.mark.parametrize(
    ("span", "filter_size", "levels"),
    [(1024, 2, 10), (1025, 2, 11), (2, 2, 1), (3, 2, 2), (1, 2, 1), (4, 4, 1), (5, 4, 2)],
)
def test_as_few_levels_as_reach_over_the_span(span, filter_size, levels):
    kernel = MultiresKernel(2, span, 0, filter_size=filter_size)
    assert kernel.levels == levels
    assert (filter_size - 1) * (2**levels - 1) + 1 >= span


def test_start_values():
    kernel = MultiresKernel(1000, 64, 0, filter_size=4)
    for parameter, bound in ((kernel.average, 0.5), (kernel.detail, 0.5), (kernel.weight, 7**-0.5)):
        assert 0.98 * bound < float(parameter.detach().abs().max()) <= bound
        assert float(parameter.detach().mean()) == pytest.approx(0, abs=0.02)
    assert [tuple(p.shape) for p in kernel.parameters()] == [(1000, 4), (1000, 4), (1000, 7)]


def test_refuses_sizes(says):
    with says(
        ArgumentError,
        "MultiresKernel: filter_size must be at least 2; got filter_size=1. "
        "Pass a larger filter_size.",
    ):
        MultiresKernel(2, 8, 0, filter_size=1)
    with says(
        ArgumentError,
        "MultiresKernel: levels must be at least 1; got levels=0. Pass a larger levels.",
    ):
        MultiresKernel(2, 8, 0, levels=0)


def test_repr():
    sizes = "channels=2, kernel_size=8, span=16, filter_size=3, levels=4"
    assert repr(MultiresKernel(2, 8, 1, filter_size=3)) == f"MultiresKernel({sizes})"
