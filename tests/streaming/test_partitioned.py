"""Partitioned FFT convolution: blocks of any size, rows apart, and the even spread of work."""

import pytest
import torch

from mrconv.streaming import FlatStepper, PartitionedStepper
from mrconv.testing import assert_close, direct_convolution

F64 = torch.float64
STEPPERS = [PartitionedStepper, FlatStepper]


@pytest.mark.parametrize("stepper", STEPPERS)
@pytest.mark.parametrize(("num_taps", "block"), [(1, 16), (16, 16), (17, 16), (33, 4), (200, 8)])
@torch.no_grad()
def test_any_number_of_taps_and_block(stepper, num_taps, block):
    taps = torch.randn(3, num_taps, dtype=F64)
    made, x = stepper(taps, block), torch.randn(2, 3, 500, dtype=F64)
    expected = direct_convolution(x, taps)
    y, state = made.chunk(x[..., :251], made.init_state(2))
    assert_close(y, expected[..., :251], 1e-12)
    for t in range(251, 251 + 5 * block):
        y, state = made.step(x[..., t], state)
        assert_close(y, expected[..., t], 1e-12)


@pytest.mark.parametrize("stepper", STEPPERS)
@torch.no_grad()
def test_rows_started_apart_step_together(stepper):
    taps = torch.randn(2, 150, dtype=F64)
    made, lengths = stepper(taps, 16), torch.tensor([0, 3, 16, 35, 160])
    x, rows = torch.randn(5, 2, 420, dtype=F64), torch.arange(5)
    expected = direct_convolution(x, taps)
    _, state = made.chunk(x[..., :160], made.init_state(5), lengths)
    for _ in range(250):
        y, state = made.step(x[rows, :, lengths], state)
        assert_close(y, expected[rows, :, lengths], 1e-12)
        lengths += 1


@torch.no_grad()
def test_flat_work_is_spread_evenly(monkeypatch):
    """No step has more than one spectral product above its share."""
    made, counts = FlatStepper(torch.randn(1, 1000), 16), []
    add = FlatStepper._add

    def counted(self, state, rows, parts):
        counts.append(len(parts))
        add(self, state, rows, parts)

    monkeypatch.setattr(FlatStepper, "_add", counted)
    state = made.init_state(1)
    for sample in torch.randn(64, 1, 1):
        _, state = made.step(sample, state)
    share = (made.blocks - 1) / 16
    assert len(counts) == 64
    assert sum(counts) == 4 * (made.blocks - 1)
    assert share - 1 < min(counts) <= max(counts) < share + 1


@torch.no_grad()
def test_partitioned_work_comes_at_the_ends_of_blocks(monkeypatch):
    made, at = PartitionedStepper(torch.randn(1, 100), 16), []
    add = PartitionedStepper._add

    def noted(self, state, rows, parts):
        at.append(int(state.tensors["position"]))
        add(self, state, rows, parts)

    monkeypatch.setattr(PartitionedStepper, "_add", noted)
    state = made.init_state(1)
    for sample in torch.randn(40, 1, 1):
        _, state = made.step(sample, state)
    assert at == [16, 32]
