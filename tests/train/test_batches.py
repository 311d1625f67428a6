import torch

from mrconv.data import Examples
from mrconv.train.batches import Batches
from mrconv.train.seeding import epoch_order, seed_epoch


def examples(count: int, ragged: bool = False) -> Examples:
    y = torch.arange(count)
    x = y[:, None, None].float().expand(count, 3, 1)
    return Examples(x, y, y + 1 if ragged else None)


def test_rows_stay_together_in_any_order() -> None:
    order = torch.tensor([4, 2, 0, 1, 3])
    batches = list(Batches(examples(5, ragged=True), 2, lambda: order))
    assert [y.tolist() for _, y, _ in batches] == [[4, 2], [0, 1], [3]]
    for x, y, lengths in batches:
        assert torch.equal(x[:, 0, 0], y.float())
        assert torch.equal(lengths, y + 1)
    assert all(lengths is None for *_, lengths in Batches(examples(3), 2))


def test_processes_share_every_example() -> None:
    for count in (1, 5, 8):
        plain = [Batches(examples(count), 2, rank=r, processes=3) for r in range(3)]
        seen = [int(y) for part in plain for _, ys, _ in part for y in ys]
        assert sorted(seen) == list(range(count))
        shuffled = [
            Batches(examples(count), 2, lambda n=count: epoch_order(0, 0, n), rank=r, processes=3)
            for r in range(3)
        ]
        rows = [[int(y) for _, ys, _ in part for y in ys] for part in shuffled]
        assert len({len(row) for row in rows}) == 1
        assert {y for row in rows for y in row} == set(range(count))
        for part in (*plain, *shuffled):
            assert len(part) == len(list(part))


def test_order_is_a_function_of_seed_and_epoch() -> None:
    orders = {(s, e): tuple(epoch_order(s, e, 20).tolist()) for s in (0, 1) for e in (0, 1)}
    assert len(set(orders.values())) == 4
    torch.manual_seed(5)
    assert tuple(epoch_order(1, 1, 20).tolist()) == orders[1, 1]


def test_random_numbers_are_a_function_of_seed_epoch_and_rank() -> None:
    def drawn(*key: int) -> float:
        seed_epoch(*key)
        return float(torch.rand(()))

    assert drawn(0, 1) == drawn(0, 1, 0)
    assert len({drawn(0, 1), drawn(1, 0), drawn(0, 1, 1), drawn(0, -1)}) == 4
