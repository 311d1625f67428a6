"""SGConv's kernel against pieces interpolated by numpy, laid end to end value by value."""

import numpy as np
import pytest
import torch

from mrconv.errors import ArgumentError
from mrconv.kernels import InterpolatedKernel
from mrconv.testing import assert_close

SIZES = [(1, 64), (5, 64), (64, 64), (65, 64), (100, 16), (128, 16), (37, 3), (9, 1), (16, 2)]


def written_out(kernel):
    """Taps before the norm, from the class's equation."""
    rows = []
    for values in kernel.weight.detach().double().numpy():
        row, size = [], kernel.points
        for i, piece in enumerate(values):
            at = [(j + 0.5) * kernel.points / size - 0.5 for j in range(size)]
            interpolated = np.interp(at, np.arange(kernel.points), piece)
            row += [kernel.decay**i * value for value in interpolated]
            size = size if i == 0 else 2 * size
        rows.append(row[: kernel.span])
    return torch.tensor(np.array(rows))


@pytest.mark.parametrize(("length", "points"), SIZES)
@pytest.mark.parametrize("decay", [0.5, 0.8, 1])
def test_taps_are_the_pieces_end_to_end(length, points, decay):
    kernel = InterpolatedKernel(3, length, 0, points=points, decay=decay, dtype=torch.float64)
    expected = written_out(kernel)
    assert expected.shape == (3, length)
    assert_close(kernel.taps(), expected / expected.square().sum(-1, keepdim=True).sqrt())


def test_the_norm_is_that_of_the_start_values():
    kernel = InterpolatedKernel(3, 40, 0, points=8, dtype=torch.float64)
    norm = written_out(kernel).square().sum(-1).sqrt()
    assert_close(kernel.taps().square().sum(-1), torch.ones(3, dtype=torch.float64))
    with torch.no_grad():
        kernel.weight.normal_(std=3)
    assert_close(kernel.norm, norm)
    assert_close(kernel.taps(), written_out(kernel) / norm[:, None])


def test_a_loaded_kernel_has_the_norm_it_was_saved_with():
    kernel, other = (InterpolatedKernel(2, 40, 0, points=8) for _ in range(2))
    assert set(kernel.state_dict()) == {"weight", "norm"}
    other.load_state_dict(kernel.state_dict())
    assert torch.equal(other.taps(), kernel.taps())


@pytest.mark.parametrize(
    ("length", "points", "pieces"),
    [(1, 64, 1), (64, 64, 1), (65, 64, 2), (128, 64, 2), (129, 64, 3), (784, 64, 5), (16, 1, 5)],
)
def test_pieces(length, points, pieces):
    kernel = InterpolatedKernel(2, length, 0, points=points)
    assert kernel.pieces == pieces
    assert kernel.weight.shape == (2, pieces, min(points, length))
    covered = kernel.points * 2 ** (pieces - 1)
    assert covered >= length and (pieces == 1 or covered < 2 * length)


def test_start_values():
    kernel = InterpolatedKernel(500, 200, 0)
    assert (kernel.points, kernel.decay) == (64, 0.5)
    assert float(kernel.weight.detach().std()) == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("decay", [0, -0.5, 1.5, float("nan")])
def test_refuses_decays(says, decay):
    with says(
        ArgumentError,
        f"InterpolatedKernel: decay must be above 0 and at most 1; got {decay}. Use 0.5.",
    ):
        InterpolatedKernel(2, 8, 0, decay=decay)


def test_refuses_points(says):
    with says(
        ArgumentError,
        "InterpolatedKernel: points must be at least 1; got points=0. Pass a larger points.",
    ):
        InterpolatedKernel(2, 8, 0, points=0)


def test_repr():
    kernel = InterpolatedKernel(2, 100, 0, points=16)
    sizes = "channels=2, kernel_size=100, span=100, points=16, decay=0.5"
    assert repr(kernel) == f"InterpolatedKernel({sizes})"
