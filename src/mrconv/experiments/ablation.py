"""A table of one backbone trained with several mixers, on small tasks, from several seeds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..bench.record import Row
from ..bench.timing import Pace
from ..train import Recipe, TrainingResult
from .ablation_rows import Bar, Found, ablation_rows
from .ablation_table import ablation_markdown
from .cell_numbers import STEADY, TRYING, measured
from .grid import Cell, Grid, Numbers
from .published import Published
from .small_tasks import TASKS, TaskName, task_changes
from .table import TableOptions
from .training_cell import training_cell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Ablation", "Variant", "mixer_label", "per_layer"]


#: (result, recipe, pace) to the numbers of a cell.
Measure = Callable[[TrainingResult, Recipe, Pace], Numbers]


@dataclass(frozen=True)
class Variant:
    """One line of a table.

    Args:
        name: In the table, unique.
        mixer: Settings of the layer; a list of values is one a layer, from the first on again
            where there are more. None: only published numbers are shown.
        changes: Of the recipe by dotted key, where it would not learn by the task's own settings.
    """

    name: str
    mixer: Mapping[str, Any] | None
    changes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Ablation:
    """Variants of the mixer by task; every other setting is the task's.

    Args:
        name: Of the table.
        variants: In the order of the lines, by task.
        published: By task and name of a variant.
        quoted: What the published numbers of a task were measured on, where that is another task.
        seeds: Trainings of each variant by task, where more than one.
        bar: What it must show.
        remarks: Sentences below the tables.
        measure: Gives a cell's numbers, those of ``measured`` and maybe more.
    """

    name: str
    variants: Mapping[TaskName, Sequence[Variant]]
    published: Mapping[str, Mapping[str, Published]]
    quoted: Mapping[TaskName, str] = field(default_factory=dict)
    seeds: Mapping[TaskName, int] = field(default_factory=dict)
    bar: Bar | None = None
    remarks: Sequence[str] = ()
    measure: Measure = measured

    @property
    def record(self) -> str:
        """Name of the record."""
        return self.name

    def grid(self, folder: Path, options: TableOptions) -> tuple[Grid, str]:
        """A cell for each task, seed and variant.

        Args:
            folder: For results, models and generated data.
            options: The user's.

        Returns:
            The grid, and nothing to remark.
        """
        changes = task_changes(options.changes, TASKS)
        cells = [
            self._cell(task, seed, variant, folder, changes[task], quick=options.quick)
            for task, variants in self.variants.items()
            for seed in range(options.seeds or self.seeds.get(task, 1))
            for variant in variants
            if variant.mixer is not None
        ]
        return Grid(cells, folder), ""

    def rows(self, numbers: Mapping[str, Numbers]) -> list[Row]:
        """What the finished cells found; see ``ablation_rows``.

        Args:
            numbers: By the name of the cell.
        """
        return ablation_rows(self.name, self.found(numbers), self.bar)

    def found(self, numbers: Mapping[str, Numbers]) -> dict[TaskName, Found]:
        """Numbers by task, name of the variant and seed.

        Args:
            numbers: By the name of the cell.
        """
        return {
            task: {
                variant.name: mine
                for variant in variants
                if (mine := _by_seed(task, variant, numbers))
            }
            for task, variants in self.variants.items()
        }

    def markdown(self, rows: Sequence[Row]) -> str:
        """Ours beside the published numbers, a table for each task.

        Args:
            rows: Of the record.
        """
        return ablation_markdown(self, rows)

    def picture(self, numbers: Mapping[str, Numbers]) -> "Figure":
        """Losses by epoch.

        Args:
            numbers: By the name of the cell.
        """
        from ..report.convergence_panels import convergence, curves

        found = self.found(numbers)
        return convergence(
            {
                TASKS[task].title: {
                    name: curves([one["history"] for one in seeds.values()])
                    for name, seeds in variants.items()
                }
                for task, variants in found.items()
                if variants
            }
        )

    def _cell(
        self,
        task: TaskName,
        seed: int,
        variant: Variant,
        folder: Path,
        further: Sequence[str],
        *,
        quick: bool,
    ) -> Cell:
        mixer, make = variant.mixer or {}, partial(TASKS[task].make_recipe, quick=quick)
        changes = {**variant.changes, "seed": seed}
        settings: Any = dict(mixer)
        if any(isinstance(one, list) for one in mixer.values()):
            backbone = make(folder, changes, further).values["model"]["backbone"]
            settings = per_layer(mixer, backbone["depth"])
        recipe = make(folder, {**changes, "model.backbone.mixer": settings}, further)
        drawn, pace = TASKS[task].drawn(quick), TRYING if quick else STEADY
        return training_cell(
            _name(task, seed, mixer),
            recipe,
            folder,
            lambda result: self.measure(result, recipe, pace),
            drawn=drawn,
            further={"pace": pace},
        )


def mixer_label(mixer: Mapping[str, Any]) -> str:
    """A mixer in a few words, equal for equal settings, which name its cells in every table.

    Args:
        mixer: Settings; those that are not said are the layer's own.

    Example:
        >>> mixer_label({"kernel": "fourier", "kernel_size": 2, "norm": "none"})
        'fourier 2, norm none'
        >>> mixer_label({"name": "s4d", "order": 16})
        's4d, order 16'
    """
    options = dict(mixer)
    name = options.pop("name", "mrconv")
    if name == "mrconv":
        name = f"{options.pop('kernel')} {options.pop('kernel_size')}"
    return ", ".join([name, *(f"{key} {_words(value)}" for key, value in options.items())])


def _words(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def per_layer(mixer: Mapping[str, Any], depth: int) -> list[dict[str, Any]]:
    """The settings of each layer.

    Args:
        mixer: Of a variant.
        depth: Number of layers.

    Example:
        >>> per_layer({"name": "dilated", "dilation": [1, 4]}, 2)[1]
        {'name': 'dilated', 'dilation': 4}
    """
    return [
        {key: one[i % len(one)] if isinstance(one, list) else one for key, one in mixer.items()}
        for i in range(depth)
    ]


def _name(task: TaskName, seed: int, mixer: Mapping[str, Any]) -> str:
    return f"{task}, seed {seed}: {mixer_label(mixer)}"


def _by_seed(
    task: TaskName, variant: Variant, numbers: Mapping[str, Numbers]
) -> dict[int, Numbers]:
    if variant.mixer is None:
        return {}
    start, end = f"{task}, seed ", f": {mixer_label(variant.mixer)}"
    return {
        int(name.removeprefix(start).removesuffix(end)): one
        for name, one in numbers.items()
        if name.startswith(start) and name.partition(":")[2] == end[1:]
    }
