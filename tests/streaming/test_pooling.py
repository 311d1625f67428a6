"""Pooling at every sample, against slices."""

import pytest
import torch

from mrconv.streaming.pooling import pooling_stepper
from mrconv.testing import assert_close

F64 = torch.float64
POOL = {
    "mean": lambda part: part.mean(-1),
    "max": lambda part: part.amax(-1),
    "last": lambda part: part[..., -1],
}


@pytest.mark.parametrize("window", [None, 1, 2, 3, 64, 255, 256, 257, 300])
@pytest.mark.parametrize("name", POOL)
@torch.no_grad()
def test_against_slices(name, window):
    stepper = pooling_stepper(name, torch.zeros(2, dtype=F64), window)
    x = torch.randn(2, 2, 700, dtype=F64) - 3  # a largest value below 0 must not lose to silence
    state, outputs = stepper.init_state(2), []
    for piece in x[..., :660].split([0, 1, 5, 300, 0, 257, 97], -1):
        y, state = stepper.chunk(piece, state)
        outputs.append(y)
    for t in range(660, 700):
        y, state = stepper.step(x[..., t], state)
        outputs.append(y[..., None])
    y, starts = torch.cat(outputs, -1), range(700)
    expected = [
        POOL[name](x[..., 0 if window is None else max(0, t + 1 - window) : t + 1]) for t in starts
    ]
    assert_close(y, torch.stack(expected, -1), 1e-12)


@torch.no_grad()
def test_the_mean_does_not_drift():
    stepper = pooling_stepper("mean", torch.zeros(1), 100)
    x = torch.randn(1, 1, 50_000) + 100
    y, _ = stepper.chunk(x, stepper.init_state(1))
    assert_close(y[..., -1], x[..., -100:].double().mean(-1), 1e-6)
