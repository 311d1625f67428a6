"""A data set as tensors."""

import torch

from mrconv.data import Examples, InputContract, Splits


def test_parts_by_name():
    parts = [Examples(torch.zeros(n, 4, 1), torch.zeros(n)) for n in (3, 2, 1)]
    splits = Splits(*parts, contract=InputContract("series", 4))
    assert splits["train"] is parts[0]
    assert splits["validation"] is parts[1]
    assert splits["test"] is parts[2]
    assert [len(part) for part in parts] == [3, 2, 1]
    assert splits.labels == ()
