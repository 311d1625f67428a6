"""Relaxed tiling: rows at positions of their own, tiles of every size, and its parts spoilt."""

import pytest
import torch

import mrconv
from mrconv.streaming import TiledStepper
from mrconv.streaming.tiled import equal_rows
from mrconv.testing import assert_close, direct_convolution

F64 = torch.float64


@pytest.mark.parametrize("num_taps", [1, 31, 32, 33, 64, 100, 256])
@torch.no_grad()
def test_rows_started_apart_step_together(num_taps):
    """Each row meets its own tiles, all rows of one size at once."""
    taps = torch.randn(2, num_taps, dtype=F64)
    stepper, apart = TiledStepper(taps), [0, 1, 5, 32, 33, 64]
    x = torch.randn(len(apart), 2, 400, dtype=F64)
    expected = direct_convolution(x, taps)
    lengths = torch.tensor(apart)
    y, state = stepper.chunk(x[..., :64], stepper.init_state(len(apart)), lengths)
    for _ in range(330):
        sample = x[torch.arange(len(apart)), :, lengths]
        y, state = stepper.step(sample, state)
        assert_close(y, expected[torch.arange(len(apart)), :, lengths], 1e-12)
        lengths += 1


@pytest.mark.parametrize("start", [0, 1, 31, 32, 96, 128, 255])
@torch.no_grad()
def test_a_chunk_from_any_position(start):
    taps = torch.randn(2, 120, dtype=F64)
    stepper, x = TiledStepper(taps), torch.randn(1, 2, 900, dtype=F64)
    _, state = stepper.chunk(x[..., :start], stepper.init_state(1))
    y, _ = stepper.chunk(x[..., start:], state)
    assert_close(y, direct_convolution(x, taps)[..., start:], 1e-12)


def test_rows_of_equal_position_and_length_go_together():
    position = torch.tensor([3, 7, 3, 11, 0])
    groups = [
        (None if rows is None else rows.tolist(), count)
        for rows, count in equal_rows(position, 4, 9, torch.tensor([5, 5, 5, 2, 0]))
    ]
    assert groups == [([0, 1, 2], 5), ([3], 2)]
    assert [rows for rows, _ in equal_rows(position % 1, 4, 9, None)] == [None]


def test_a_missing_tile_is_noticed(monkeypatch):
    layer = mrconv.LongConv(2, 600, dtype=F64).eval()
    stream, x = mrconv.Streamer(layer), torch.randn(1, 2, 700, dtype=F64)
    tile = TiledStepper._tile
    monkeypatch.setattr(
        TiledStepper,
        "_tile",
        lambda self, state, rows, size: tile(self, state, rows, size) if size != 64 else None,
    )
    y, state = stream.chunk(x[..., :65], stream.init_state(1))
    y, _ = stream.chunk(x[..., 65:], state)
    assert float((y - layer(x)[..., 65:]).detach().norm()) > 0.1
