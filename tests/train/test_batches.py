import itertools
import threading

import pytest
import torch

import mrconv
from mrconv.data import Examples
from mrconv.train import evaluate
from mrconv.train.batches import Batches, BucketedBatches
from mrconv.train.objective import score
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


def ragged(count: int, longest: int = 40, seed: int = 0) -> Examples:
    """Rows that hold their number up to their length, and NaN behind it."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, longest + 1, (count,), generator=generator)
    x = torch.arange(count)[:, None, None].float().repeat(1, longest, 1)
    x[torch.arange(longest) >= lengths[:, None]] = float("nan")
    return Examples(x, torch.arange(count), lengths)


@pytest.mark.parametrize("count", [1, 7, 64, 1003])
@pytest.mark.parametrize("processes", [1, 3])
def test_buckets_hold_every_row_once_and_near_lengths(count: int, processes: int) -> None:
    examples = ragged(count)
    order = epoch_order(0, 1, count)
    parts = [
        list(BucketedBatches(examples, 4, lambda: order, rank=rank, processes=processes))
        for rank in range(processes)
    ]
    assert len({len(part) for part in parts}) == 1
    seen = torch.cat([y for part in parts for _, y, _ in part])
    # some are visited again, so that all processes have as many
    visited = torch.cat([order, order[torch.arange(-count % processes) % count]])
    assert torch.equal(seen.sort().values, visited.sort().values)
    for together in zip(*parts, strict=True):
        assert len({x.shape[1] for x, *_ in together}) == 1
        assert together[0][0].shape[1] == max(int(lengths.max()) for *_, lengths in together)
        for x, y, lengths in together:
            assert torch.equal(x[:, 0, 0], y.float())
            assert torch.equal(lengths, examples.lengths[y])


def test_the_processes_batches_together_are_those_of_one_process() -> None:
    examples, order = ragged(120), epoch_order(3, 0, 120)
    for kind in (Batches, BucketedBatches):
        whole = [y.sort().values for _, y, _ in kind(examples, 8, lambda: order)]
        halves = [
            [y for _, y, _ in kind(examples, 4, lambda: order, rank=rank, processes=2)]
            for rank in range(2)
        ]
        joined = [torch.cat(both).sort().values for both in zip(*halves, strict=True)]
        assert [one.tolist() for one in joined] == [one.tolist() for one in whole]


def test_buckets_pad_less_and_still_mix() -> None:
    examples, order = ragged(1000, 400), epoch_order(0, 0, 1000)

    def cells(kind: type[Batches]) -> int:
        return sum(x.shape[0] * x.shape[1] for x, *_ in kind(examples, 10, lambda: order))

    valid = int(examples.lengths.sum())
    assert cells(BucketedBatches) < 1.05 * valid
    assert cells(Batches) == 400 * 1000 > 1.9 * valid
    # short and long batches alternate, and the next epoch has others together
    sizes = [x.shape[1] for x, *_ in BucketedBatches(examples, 10, lambda: order)]
    half = len(sizes) // 2
    assert abs(sum(sizes[:half]) - sum(sizes[half:])) < 0.2 * sum(sizes)
    rises = sum(after > before for before, after in itertools.pairwise(sizes))
    assert 0.3 * len(sizes) < rises < 0.7 * len(sizes)
    other = epoch_order(0, 1, 1000)
    first, second = (
        {
            tuple(y.sort().values.tolist())
            for _, y, _ in BucketedBatches(examples, 10, lambda o=o: o)
        }
        for o in (order, other)
    )
    assert len(first & second) < 5


def test_rows_of_one_length_stay_in_their_order() -> None:
    plain = Examples(torch.ones(23, 5, 1), torch.arange(23), torch.full((23,), 5))
    order = epoch_order(0, 0, 23)
    for examples in (plain, Examples(plain.x, plain.y)):
        ours, theirs = (
            [y.tolist() for _, y, _ in kind(examples, 4, lambda: order)]
            for kind in (Batches, BucketedBatches)
        )
        assert ours == theirs


def test_what_is_cut_with_the_inputs() -> None:
    lengths = torch.tensor([2, 3])
    samples = Examples(torch.ones(2, 5, 1), torch.arange(10).reshape(2, 5), lengths)
    ((x, y, _),) = BucketedBatches(samples, 2)
    assert (x.shape, y.tolist()) == ((2, 3, 1), [[0, 1, 2], [5, 6, 7]])
    values = Examples(torch.ones(2, 5, 1), torch.ones(2, 5), lengths)
    ((x, y, _),) = BucketedBatches(values, 2)
    assert (x.shape, y.shape) == ((2, 3, 1), (2, 5))
    pairs = Examples(torch.ones(2, 2, 5), torch.zeros(2), torch.tensor([[1, 4], [2, 0]]))
    batches = [(x.shape, lengths.tolist()) for x, _, lengths in BucketedBatches(pairs, 1)]
    assert batches == [((1, 2, 2), [[2, 0]]), ((1, 2, 4), [[1, 4]])]


@pytest.mark.parametrize("kernel", ["fourier", "dilated", "dense"])
@pytest.mark.parametrize("causal", [True, False])
def test_a_cut_batch_gives_the_same_outputs_and_gradients(kernel: str, causal: bool) -> None:
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    lengths = torch.tensor([9, 14, 23, 11])
    x = torch.randn(4, 64, 2, generator=generator, dtype=torch.float64)
    mixer = {"kernel": kernel, "kernel_size": 4, "causal": causal}
    backbone = mrconv.SequenceBackbone(
        2, 64, channels=6, depth=2, mixer=mixer, dropout=0.0, dtype=torch.float64
    )
    model = mrconv.SequenceClassifier(backbone, 3, dtype=torch.float64)
    results = []
    for batch in (
        (x, torch.tensor([0, 1, 2, 0]), lengths),
        next(iter(BucketedBatches(Examples(x, torch.tensor([0, 1, 2, 0]), lengths), 4))),
    ):
        model.zero_grad()
        scored = score(model, torch.nn.CrossEntropyLoss(), batch)
        scored.loss.backward()
        grads = torch.cat([one.grad.flatten() for one in model.parameters()])
        results.append((scored.loss.detach(), grads))
    (whole, wholes), (cut, cuts) = results
    assert abs(whole - cut) < 1e-12
    assert (wholes - cuts).norm() < 1e-10 * wholes.norm()


def test_an_evaluation_of_buckets_is_that_of_plain_batches() -> None:
    examples = ragged(30)
    examples = Examples(examples.x / 30, examples.y % 2, examples.lengths)
    backbone = mrconv.SequenceBackbone(1, 40, channels=4, depth=1)
    model = mrconv.SequenceClassifier(backbone, 2)
    loss = torch.nn.CrossEntropyLoss()
    plain = evaluate(model, examples, loss, batch_size=7, batches="plain")
    assert evaluate(model, examples, loss, batch_size=7) == pytest.approx(plain, rel=1e-6)


def test_batches_fetched_ahead_are_the_same_in_the_same_order() -> None:
    examples, order = ragged(50), epoch_order(0, 0, 50)
    for kind in (Batches, BucketedBatches):
        plain = list(kind(examples, 4, lambda: order))
        ahead = list(kind(examples, 4, lambda: order, workers=3))
        assert len(plain) == len(ahead)
        for ours, theirs in zip(plain, ahead, strict=True):
            assert all(
                map(
                    torch.equal,
                    (ours[0].nan_to_num(), *ours[1:]),
                    (theirs[0].nan_to_num(), *theirs[1:]),
                )
            )


def test_a_pass_that_is_left_early_leaves_no_thread() -> None:
    before = threading.active_count()
    batches = iter(Batches(ragged(500), 2, workers=2))
    next(batches)
    assert threading.active_count() > before
    batches.close()
    assert threading.active_count() == before
    broken = Examples(torch.ones(2, 3, 1), torch.arange(9))
    with pytest.raises(IndexError):
        list(Batches(broken, 2, workers=1))
    assert threading.active_count() == before
