"""Pooling over valid positions, row by row."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mrconv.models.pooling import POOLINGS, max_pooling
from mrconv.testing import assert_close

OF_ONE_ROW = {
    "mean": lambda row: row.mean(0),
    "last": lambda row: row[-1],
    "max": lambda row: row.max(0).values,
}


def pooled_row_by_row(name, h, lengths):
    empty = torch.zeros(h.shape[-1], dtype=h.dtype)
    return torch.stack(
        [OF_ONE_ROW[name](row[:n]) if n else empty for row, n in zip(h, lengths, strict=True)]
    )


@given(
    name=st.sampled_from(sorted(POOLINGS)),
    lengths=st.lists(st.integers(0, 7), min_size=1, max_size=4),
    dtype=st.sampled_from([torch.int64, torch.int32, torch.uint8]),
)
def test_equals_a_loop_over_rows(name, lengths, dtype):
    h = torch.randn(len(lengths), 7, 3, dtype=torch.float64)
    behind = torch.arange(7) >= torch.tensor(lengths)[:, None]
    h = h.masked_fill(behind[..., None], 0)  # as every backbone leaves it
    got = POOLINGS[name](h, torch.tensor(lengths, dtype=dtype))
    assert_close(got, pooled_row_by_row(name, h, lengths), 1e-14)


@pytest.mark.parametrize("name", POOLINGS)
@pytest.mark.parametrize("length", [0, 1, 6])
def test_without_lengths_all_are_valid(name, length):
    h = torch.randn(2, length, 3, dtype=torch.float64)
    expected = pooled_row_by_row(name, h, [length, length])
    assert_close(POOLINGS[name](h, None), expected, 1e-14)
    assert_close(POOLINGS[name](h, torch.full((2,), length)), expected, 1e-14)


def test_the_largest_of_negative_values_is_not_the_padding():
    h = torch.tensor([[[-3.0], [-1.0], [0.0]]])
    assert max_pooling(h, torch.tensor([2])).item() == -1.0


@pytest.mark.parametrize("name", POOLINGS)
def test_keeps_the_dtype(name):
    h = torch.randn(2, 5, 3).bfloat16()
    assert POOLINGS[name](h, torch.tensor([5, 2])).dtype == torch.bfloat16
