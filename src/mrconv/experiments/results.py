"""The table of results: every task that two cores can train, beside what it is to reach."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ..bench.record import Row
from ..train import TrainingResult
from .goals import GOALS
from .grid import Cell, Grid, Numbers
from .results_rows import results_markdown, results_rows
from .small_tasks import task_changes
from .table import TableOptions
from .training_cell import tested_metric, training_cell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["RESULTS", "Results"]


class Results:
    """Every goal's trainings, and their mean."""

    record = "results"

    def grid(self, folder: Path, options: TableOptions) -> tuple[Grid, str]:
        """A cell for every training of every goal.

        Args:
            folder: For results, models and generated data.
            options: The user's; ``seeds`` takes so many trainings of each goal, the first ones.

        Returns:
            The grid, and nothing to remark.
        """
        changes = task_changes(options.changes, GOALS)
        cells = [
            _cell(name, run, folder, changes[name], options.quick)
            for name, goal in GOALS.items()
            for run in list(goal.runs)[: options.seeds]
        ]
        return Grid(cells, folder), ""

    def rows(self, numbers: Mapping[str, Numbers]) -> list[Row]:
        """What the finished cells found; see ``results_rows``.

        Args:
            numbers: By the name of the cell.
        """
        return results_rows(_by_goal(numbers))

    def markdown(self, rows: Sequence[Row]) -> str:
        """A line a task; see ``results_markdown``.

        Args:
            rows: Of the record.
        """
        return results_markdown(rows)

    def picture(self, numbers: Mapping[str, Numbers]) -> "Figure":
        """Losses by epoch, a panel a task.

        Args:
            numbers: By the name of the cell.
        """
        from ..report.convergence_panels import convergence, curves

        return convergence(
            {
                GOALS[name].title: {"MRConv": curves([one["history"] for one in runs.values()])}
                for name, runs in _by_goal(numbers).items()
            }
        )


RESULTS = Results()


def _by_goal(numbers: Mapping[str, Numbers]) -> dict[str, dict[str, Numbers]]:
    """Numbers by goal and training."""
    found: dict[str, dict[str, Numbers]] = {}
    for cell, one in numbers.items():
        name, _, run = cell.partition(", ")
        found.setdefault(name, {})[run] = one
    return found


def _cell(name: str, run: str, folder: Path, further: Sequence[str], quick: bool) -> Cell:
    goal = GOALS[name]
    recipe = goal.make_recipe(run, folder, further, quick=quick)
    return training_cell(
        f"{name}, {run}",
        recipe,
        folder,
        _measured,
        drawn=goal.drawn(quick),
    )


def _measured(result: TrainingResult) -> Numbers:
    metric = tested_metric(result.metrics)
    return {
        "value": result.metrics[f"test_{metric}"],
        "validation": result.metrics[f"validation_{metric}"],
        "parameters": result.metrics["parameters"],
        "seconds": result.metrics["train_seconds"],
        "examples": {
            "training": len(result.splits.train),
            "test": len(result.splits.test),
        },
        "history": [asdict(row) for row in result.history],
    }
