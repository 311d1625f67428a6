"""What sounds behind the window of a recurrence, against the sum of very many taps."""

import pytest
import torch

import mrconv
from mrconv.distillation.tail import tail_sum


def recurrence(modes: int, fir_head: int = 7) -> mrconv.nn.ModalRecurrence:
    torch.manual_seed(modes)
    return mrconv.nn.ModalRecurrence(4, modes, fir_head=fir_head, dtype=torch.float64).eval()


@pytest.mark.parametrize("modes", [1, 3, 16])
@pytest.mark.parametrize("start", [1, 5, 100])
def test_the_tail_is_never_below_the_sum_of_all_taps(modes, start):
    layer = recurrence(modes)
    with torch.no_grad():
        exact = layer.taps(60_000)[:, start:].abs().sum(-1)  # memories of 1,000 samples at most
    found = tail_sum(layer, start)
    assert (found >= exact * (1 - 1e-12)).all()
    if start == 100:
        assert (found <= exact * 1.001).all()


def test_close_poles_that_cancel_are_not_counted_apart():
    layer = mrconv.nn.ModalRecurrence(1, 2, dtype=torch.float64)
    with torch.no_grad():
        layer.head.zero_()
        layer.angle.zero_()
        layer.log_decay.copy_(torch.tensor([[0.01, 0.01 * (1 + 1e-8)]], dtype=torch.float64).log())
        layer.residue.copy_(torch.tensor([[[1e6, 0.0], [-1e6, 0.0]]], dtype=torch.float64))
        exact = layer.taps(20_000)[:, 50:].abs().sum(-1)
    apart = 2e6 * torch.exp(torch.tensor(-0.01 * 49)) / 0.01
    assert exact <= tail_sum(layer, 50) <= 1.01 * exact
    assert apart > 1e6 * exact


def test_a_recurrence_without_modes_has_the_rest_of_its_head():
    layer = recurrence(0)
    expected = layer.head.detach()[:, 3:].abs().sum(-1)
    torch.testing.assert_close(tail_sum(layer, 3), expected)
    assert (tail_sum(layer, 7) == 0).all()
