import math

import pytest
import torch

from mrconv.train.schedule import make_schedule, warmup_cosine


def run(name: str, steps: int, optimizer: torch.optim.Optimizer, warmup: float = 0.1) -> list:
    schedule = make_schedule(name, optimizer, steps, warmup)
    rates = []
    for _ in range(steps):
        rates.append([group["lr"] for group in optimizer.param_groups])
        optimizer.step()
        if schedule:
            schedule.step()
    return rates


def adam(*rates: float) -> torch.optim.Optimizer:
    groups = [{"params": [torch.zeros(1, requires_grad=True)], "lr": rate} for rate in rates]
    return torch.optim.AdamW(groups)


def test_one_cycle_peaks_at_three_tenths_in_every_group() -> None:
    rates = run("one_cycle", 100, adam(1.0, 0.1))
    peak = max(range(100), key=lambda step: rates[step][0])
    assert peak == 29
    assert rates[0] == pytest.approx([1 / 25, 0.1 / 25])
    assert rates[peak] == pytest.approx([1.0, 0.1])
    assert rates[-1][0] < 1e-5


def test_one_cycle_moves_momentum_only_where_there_is_one() -> None:
    optimizer = adam(1.0)
    run("one_cycle", 10, optimizer)
    assert optimizer.param_groups[0]["betas"][0] == pytest.approx(0.95, abs=0.01)
    plain = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    run("one_cycle", 10, plain)
    assert plain.param_groups[0]["momentum"] == 0


def test_cosine_follows_its_formula() -> None:
    rates = [rate for (rate,) in run("cosine", 50, adam(2.0))]
    assert rates[:5] == pytest.approx([2 * (s + 1) / 6 for s in range(5)])
    expected = [1 + math.cos(math.pi * (s - 5) / 45) for s in range(5, 50)]
    assert rates[5:] == pytest.approx(expected)
    assert warmup_cosine(10, 0)(0) == 1.0
    assert warmup_cosine(1, 0.5)(1) == pytest.approx(0.0)


def test_constant_stays_and_one_step_is_enough() -> None:
    assert run("constant", 3, adam(0.5)) == [[0.5]] * 3
    for name in ("one_cycle", "cosine"):
        assert len(run(name, 1, adam(0.5))) == 1
