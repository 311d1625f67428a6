"""What the cells of the experiment on filters found, as rows of a record."""

from collections.abc import Iterator, Mapping
from typing import Any

from ..bench.record import Row
from ..bench.timing import spread
from .filter_contestants import ABLATION, CONTESTANTS, GATED, MRCONV, SEPARATE
from .filter_distilling import FIR_HEAD, ORDER
from .grid import Numbers

__all__ = ["AFTER", "BITS", "RECALL", "filter_rows"]

BITS, RECALL = "bits per byte", "recall"
AFTER = f"bits per byte after distillation to order {ORDER} behind {FIR_HEAD} taps"
#: The contestant that recall is compared for, and has a bar: the widest outer product.
MULTIHYENA = ABLATION[-1].name


def filter_rows(cells: Mapping[str, Numbers]) -> list[Row]:
    """Rows of all finished cells.

    Args:
        cells: Numbers by the name of the cell.

    Returns:
        Qualities with the difference that the experiment is for, parameters, filters, times as
        ratios to separate filters, and distillation.
    """
    bits, seeds = _bits(cells), _recall(cells)
    return [
        *_bits_rows(bits),
        *_recall_rows(seeds),
        *_size_rows("language", {name: one for name, (_, one) in bits.items()}),
        *_size_rows("recall", {name: found[0] for name, found in seeds.items()}),
        *_time_rows(cells.get("speed", {})),
        *_distilling_rows(cells),
    ]


def _bits(cells: Mapping[str, Numbers]) -> dict[str, tuple[str, Numbers]]:
    """Text and numbers by contestant."""
    found = {}
    for name, numbers in cells.items():
        if name.startswith(BITS):
            what, contestant = name.split(": ", 1)
            found[contestant] = (what, numbers)
    return found


def _recall(cells: Mapping[str, Numbers]) -> dict[str, list[Numbers]]:
    """Numbers of each seed by contestant, in the order of the contestants."""
    found: dict[str, list[Numbers]] = {one.name: [] for one in CONTESTANTS}
    for name, numbers in cells.items():
        if name.startswith(f"{RECALL}, seed "):
            found[name.split(": ", 1)[1]].append(numbers)
    return {name: each for name, each in found.items() if each}


def _bits_rows(bits: Mapping[str, tuple[str, Numbers]]) -> Iterator[Row]:
    for name, (what, numbers) in bits.items():
        yield Row(f"{what}: {name}", numbers["value"], "bits")
    if {GATED, MRCONV} <= bits.keys():
        what, gated = bits[GATED]
        difference = gated["value"] - bits[MRCONV][1]["value"]
        yield Row(f"{what}, difference: {GATED} less {MRCONV}", difference, "bits")


def _recall_rows(seeds: Mapping[str, list[Numbers]]) -> Iterator[Row]:
    for name, found in seeds.items():
        values = [one["value"] for one in found]
        for seed, value in enumerate(values):
            yield Row(f"{RECALL}, seed {seed}: {name}", value, "accuracy")
        yield _middle(f"{RECALL}: {name}", values)
    for one in ABLATION[1:]:
        yield from _difference(seeds, one.name, SEPARATE, 0.0 if one.name == MULTIHYENA else None)
    yield from _difference(seeds, GATED, MRCONV, None)


def _difference(
    seeds: Mapping[str, list[Numbers]], name: str, other: str, bar: float | None
) -> Iterator[Row]:
    """Of the accuracies, seed by seed, where both have run with the same seeds."""
    if not {name, other} <= seeds.keys() or len(seeds[name]) != len(seeds[other]):
        return
    pairs = zip(seeds[name], seeds[other], strict=True)
    values = [one["value"] - two["value"] for one, two in pairs]
    yield _middle(f"{RECALL}, difference: {name} less {other}", values, bar)


def _middle(name: str, values: list[float], bar: float | None = None) -> Row:
    median, low, high = spread(values)
    better = None if bar is None else "higher"
    return Row(name, median, "accuracy", (low, high), bar, better)  # type: ignore[arg-type]


def _size_rows(task: str, found: Mapping[str, Numbers]) -> Iterator[Row]:
    for name, numbers in found.items():
        yield Row(f"parameters, {task}: {name}", numbers["parameters"], "parameters")
        yield Row(f"filters, {task}: {name}", numbers["filters"], "filters")


def _time_rows(speed: Mapping[str, Any]) -> Iterator[Row]:
    for what, contestants in speed.items():
        for name, taken in contestants.items():
            yield Row(f"{what}: {name}", taken["milliseconds"], "ms")
            median, low, high = taken["ratio"]
            yield Row(f"{what} / separate filters': {name}", median, "times", (low, high))


def _distilling_rows(cells: Mapping[str, Numbers]) -> Iterator[Row]:
    for one in ABLATION:
        numbers = cells.get(f"distillation: {one.name}")
        if numbers is None:
            continue
        yield Row(f"filters to distil: {one.name}", numbers["filters"], "filters")
        yield Row(f"distillation error, worst: {one.name}", numbers["worst"], "relative")
        yield Row(f"distillation error, median: {one.name}", numbers["median"], "relative")
        yield Row(f"lower bound, median: {one.name}", numbers["bound"], "relative")
        yield Row(f"distillation time: {one.name}", numbers["seconds"], "s")
        yield Row(f"{AFTER}: {one.name}", numbers["value"], "bits")
