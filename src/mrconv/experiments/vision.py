"""The small experiment on images: its cells, its rows beside their bars, its table."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import torch

from ..bench.record import Row
from ..bench.table import markdown
from ..bench.timing import Pace, spread, take_turns
from ..merging import merge
from .grid import Cell, Grid, Numbers
from .table import TableOptions, refuse_changes
from .vision_fields import vision_picture
from .vision_training import DATA, NETS, QUICK, STANDARD, DataName, Sizes, make_net, training_cells

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["VISION", "Vision", "vision_rows", "vision_table"]

BAR = -0.5  # points of accuracy below the 7 x 7 network
BATCH = 16


class Vision:
    """Narrow networks with 7 x 7 and with long convolutions, on MNIST-5k and on digits."""

    record = "vision-small"

    def grid(self, folder: Path, options: TableOptions) -> tuple[Grid, str]:
        """Trainings, and speeds side by side.

        Args:
            folder: For results.
            options: The user's.

        Returns:
            The grid, and no sentence.

        Raises:
            ArgumentError: If there are changes.
        """
        refuse_changes("vision", options)
        sizes = QUICK if options.quick else STANDARD
        sizes = replace(sizes, seeds=options.seeds or sizes.seeds)
        speeds = [_speed_cell(name, sizes, options.quick) for name in DATA]
        return Grid([*training_cells(sizes), *speeds], folder), ""

    def rows(self, numbers: Mapping[str, Numbers]) -> list[Row]:
        """What finished cells found; see ``vision_rows``.

        Args:
            numbers: By the name of the cell.
        """
        return vision_rows(numbers)

    def markdown(self, rows: Sequence[Row]) -> str:
        """One line a data set and network.

        Args:
            rows: Of the record.
        """
        return vision_table(rows)

    def picture(self, numbers: Mapping[str, Numbers]) -> "Figure":
        """Receptive fields and kernels of the first seed on MNIST-5k.

        Args:
            numbers: By the name of the cell.

        Raises:
            ArgumentError: If neither network was trained.
        """
        cells = {net: numbers.get(f"MNIST-5k, seed 0: {net}") for net in NETS}
        return vision_picture({net: one for net, one in cells.items() if one is not None})


VISION = Vision()


def _speed_cell(data: DataName, sizes: Sizes, quick: bool) -> Cell:
    settings = {"data": data, "batch": BATCH, "depths": sizes.depths, "dims": sizes.dims}

    def run() -> dict[str, Any]:
        pixels = DATA[data]().pixels
        x = torch.randn(BATCH, 1, pixels, pixels)
        models = {net: merge(make_net(net, pixels, sizes, 0).eval()) for net in NETS}

        def call(net: str) -> None:
            with torch.no_grad():
                models[net](x)  # type: ignore[index]

        calls = {str(net): (lambda net=net: call(net)) for net in NETS}
        turns = take_turns(calls, Pace(0.1, 3, 5) if quick else Pace(10.0))
        ratio = turns.ratio("ConvNeXt", "MRConvNeXt")
        speeds = {net: [BATCH / one for one in turns.seconds[net]] for net in NETS}
        return {**{net: list(spread(one)) for net, one in speeds.items()}, "ratio": list(ratio)}

    return Cell(f"{data}, images per second", settings, run)


def vision_rows(cells: Mapping[str, Mapping[str, Any]]) -> list[Row]:
    """What the finished cells say.

    Args:
        cells: Numbers by cell.

    Returns:
        Rows; means over the seeds that are there, with their quartiles.
    """
    rows: list[Row] = []
    for data in DATA:
        found = {
            net: [
                one
                for name, one in cells.items()
                if name.startswith(data) and name.endswith(f": {net}")
            ]
            for net in NETS
        }
        rows += [row for net in NETS if found[net] for row in _net_rows(data, net, found[net])]
        if all(found.values()):
            ours, theirs = (_accuracy(found[net]) for net in ("MRConvNeXt", "ConvNeXt"))
            name = f"{data}: accuracy of MRConvNeXt less ConvNeXt's"
            rows.append(Row(name, ours - theirs, "points", bar=BAR, better="higher"))
        rows += _speed_rows(data, cells.get(f"{data}, images per second"))
    return rows


def _accuracy(cells: Sequence[Mapping[str, Any]]) -> float:
    return fmean(one["accuracy"] for one in cells)


def _net_rows(data: str, net: str, cells: Sequence[Mapping[str, Any]]) -> list[Row]:
    what = f"{data}: {{}}, {net}"
    _, low, high = spread([one["accuracy"] for one in cells])
    mean = Row(what.format(f"accuracy, mean of {len(cells)}"), _accuracy(cells), "%", (low, high))
    return [
        mean,
        Row(what.format("parameters"), cells[0]["parameters"], "numbers"),
        Row(what.format("operations, merged"), cells[0]["operations"] / 1e6, "million"),
    ]


def _speed_rows(data: str, found: Mapping[str, Any] | None) -> list[Row]:
    if found is None:
        return []
    what = f"{data}: images per second, batch {BATCH}, merged"
    rows = []
    for net in NETS:
        median, low, high = found[net]
        rows.append(Row(f"{what}, {net}", median, "images/s", (low, high)))
    median, low, high = found["ratio"]
    return [*rows, Row(f"{what}, MRConvNeXt / ConvNeXt", median, "times", (low, high))]


def vision_table(rows: Sequence[Row]) -> str:
    """One line a data set and network; a dash where nothing was measured.

    Args:
        rows: Of the experiment.

    Returns:
        Lines of markdown.

    Example:
        >>> from mrconv.bench import Row
        >>> rows = [Row("digits: parameters, ConvNeXt", 1234, "numbers")]
        >>> print(vision_table(rows).splitlines()[-1])
        | digits | ConvNeXt | - | 1,234 | - | - |
    """
    columns = (
        ("accuracy, mean of", "{:.2f} %"),
        ("parameters", "{:,.0f}"),
        ("operations", "{:.2f} million"),
        ("images per second", "{:,.0f}"),
    )
    lines = []
    for data in DATA:
        for net in NETS:
            mine = [
                row for row in rows if row.name.startswith(data) and row.name.endswith(f", {net}")
            ]
            cells = [
                next(
                    (
                        form.format(row.value)
                        for row in mine
                        if row.name.startswith(f"{data}: {word}")
                    ),
                    "-",
                )
                for word, form in columns
            ]
            if set(cells) != {"-"}:
                lines.append([data, net, *cells])
    head = ["images", "network", "accuracy", "parameters", "operations", "images per second"]
    return markdown(head, lines)
