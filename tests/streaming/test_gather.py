"""Gathers: exact products at any lags, and what counts as few."""

import pytest
import torch

from mrconv.kernels import DenseKernel, DilatedKernel, Kernel, SparseKernel, kernel_factory
from mrconv.streaming import Dense, GatherStepper, Spikes, kernel_pieces
from mrconv.streaming.pieces import FEW, taps_pieces
from mrconv.testing import assert_close, direct_convolution

F64 = torch.float64


@torch.no_grad()
def test_whole_numbers_come_out_exactly():
    lags, values = torch.tensor([0, 3, 70, 1000]), torch.tensor([[1.0, -2.0, 4.0, 8.0]])
    taps = torch.zeros(1, 1001).index_copy(1, lags, values)
    x = torch.randint(-9, 9, (2, 1, 2500)).float()
    stepper = GatherStepper(lags, values)
    y, state = stepper.chunk(x[..., :2400], stepper.init_state(2))
    last = []
    for t in range(2400, 2500):
        sample, state = stepper.step(x[..., t], state)
        last.append(sample)
    whole = torch.cat([y, torch.stack(last, -1)], -1).double()
    assert torch.equal(whole, direct_convolution(x, taps))


@pytest.mark.parametrize("sizes", [(1, 2, 3), (700, 1300), (40, 1, 900, 0, 1059)])
@pytest.mark.parametrize("apart", [False, True])
def test_lags_in_any_order_by_runs_and_one_by_one(sizes, apart):
    lags = torch.tensor([900, 5, 0, 17, 1, 2, 3, 8, 300, 600, 14, 11, 901])
    taps, x = torch.zeros(2, 902, dtype=F64), torch.randn(2, 2, 2000, dtype=F64)
    taps[:, lags] = torch.randn(2, 13, dtype=F64)
    stepper = GatherStepper(lags, taps[:, lags])
    state = stepper.init_state(2)
    if apart:  # the second row starts 7 samples later
        stepper.chunk(x[:, :, :7], state, torch.tensor([7, 0]))
    outputs = []
    for piece in x.split((*sizes, 2000 - sum(sizes)), -1):
        y, state = stepper.chunk(piece, state)
        outputs.append(y)
    got = torch.cat(outputs, -1)
    expected = direct_convolution(x, taps)
    first = torch.cat([x[:1, :, :7], x[:1]], -1) if apart else x[:1]
    assert_close(got[1], expected[1], 1e-14)
    assert_close(got[0], direct_convolution(first, taps)[0, :, -2000:], 1e-14)


def test_a_cut_changes_nothing_but_rounding():
    stepper = GatherStepper(torch.arange(0, 300, 7), torch.randn(3, 43))
    x = torch.randn(1, 3, 500)
    whole, _ = stepper.chunk(x, stepper.init_state(1))
    state, outputs = stepper.init_state(1), []
    for piece in x.split([1, 99, 0, 64, 65, 271], -1):
        y, state = stepper.chunk(piece, state)
        outputs.append(y)
    torch.testing.assert_close(torch.cat(outputs, -1), whole, rtol=1e-6, atol=1e-6)


def test_no_taps_at_all():
    stepper = GatherStepper(torch.zeros(0, dtype=torch.int64), torch.zeros(2, 0))
    y, _ = stepper.chunk(torch.randn(1, 2, 9), stepper.init_state(1))
    assert torch.equal(y, torch.zeros(1, 2, 9))


def test_taps_with_few_values_are_gathered():
    taps = torch.zeros(2, 5000, dtype=F64)
    taps[0, 4000], taps[1, 7] = 1.0, 2.0
    (piece,) = taps_pieces(taps)
    assert isinstance(piece, Spikes)
    assert piece.lags.tolist() == [7, 4000]
    assert piece.values.tolist() == [[0.0, 1.0], [2.0, 0.0]]
    assert isinstance(taps_pieces(torch.ones(1, FEW))[0], Spikes)
    assert isinstance(taps_pieces(torch.ones(1, FEW + 1))[0], Dense)


def test_pieces_of_kernels():
    for kernel, kind in (
        (DilatedKernel(2, 5, 9), Spikes),
        (SparseKernel(2, 5, 9), Spikes),
        (DenseKernel(2, 5, 2), Spikes),
        (DenseKernel(2, 5, 9), Dense),
    ):
        (piece,) = kernel_pieces(kernel, 1)
        assert isinstance(piece, kind)
        taps = piece.taps if kind is Dense else torch.zeros(2, kernel.span)
        if kind is Spikes:
            taps = taps.index_copy(1, piece.lags, piece.values.detach())
        torch.testing.assert_close(taps, kernel.taps())


def test_pieces_of_a_mixture_hold_its_factors():
    make = kernel_factory("dilated+sparse")
    mixture = make(2, 4, 3, device=None, dtype=F64)
    torch.nn.init.normal_(mixture.factor)
    total = torch.zeros(2, mixture.span, dtype=F64)
    for piece in kernel_pieces(mixture, 1):
        total.index_add_(1, piece.lags, piece.values.detach())
    torch.testing.assert_close(total, mixture.taps().detach())


class TwoSpikes(Kernel):
    """A kernel that no table knows and that names its lags."""

    def reset_parameters(self):
        pass

    def taps(self, rate=1):
        return torch.zeros(self.channels, self.span).index_fill(1, self.positions(), 1.0)

    def positions(self):
        return torch.tensor([0, self.span - 1])


def test_a_kernel_of_ones_own_that_names_its_lags():
    (piece,) = kernel_pieces(TwoSpikes(1, 1000, 2), 1)
    assert piece.lags.tolist() == [0, 3999]
