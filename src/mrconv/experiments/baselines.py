"""Every mixer of the library in one backbone, beside all that is published on such models."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..bench.record import Row
from ..bench.table import markdown
from ..models.mixers import MIXERS
from .ablation import Ablation, Variant
from .ablation_table import UNCHECKED
from .ablations import sum_of_fourier
from .published import LONG_RANGE_ARENA, MODELS, OTHER_TASKS, quoted
from .small_tasks import TaskName

__all__ = ["BASELINES", "Baselines"]

#: Name of the line, which is that of its published numbers; name of the mixer. Those that the
#: library does not have are shown with published numbers only.
LAYERS: tuple[tuple[str, str], ...] = (
    ("one dense kernel", "long_conv"),
    ("plain dilated net", "dilated"),
    ("Transformer", "attention"),
    ("S4D", "s4d"),
    ("S4", "s4"),
    ("S5", "s5"),
    ("SGConv", "sgconv"),
    ("MultiresNet", "multires"),
    ("CKConv", "ckconv"),
    ("Hyena", "hyena"),
    ("MultiHyena", "multihyena"),
)
#: In the literature only.
PUBLISHED_ONLY = (
    "Liquid-S4",
    "CCNN",
    "FlexConv",
    "Long Conv",
    "MEGA",
    "MEGA-Chunk",
    "SPADE-Chunk",
    "BST",
)
#: Of the mixers, by name and then of one task only. Four plain dilated layers reach over 256 and
#: 766 samples.
SETTINGS: dict[str, dict[str, Any]] = {
    "multihyena": {"num_filters": 8},
    "dilated": {"dilation": [1, 4, 16, 64]},
    "dilated, listops": {"kernel_size": 4},
    "dilated, image": {"kernel_size": 10},
}
#: Attention does not learn at the rates of the convolutions.
CHANGES: dict[str, dict[str, Any]] = {
    "attention": {"optimizer.lr": 1e-3, "optimizer.kernel_lr": 1e-3}
}


def _variants(task: TaskName) -> tuple[Variant, ...]:
    mrconv = sum_of_fourier(task)
    dilated = {"kernel": "dilated", "kernel_size": 16 if task == "image" else 2}
    return (
        Variant("MRConv, Fourier", mrconv),
        Variant("MRConv, dilated", dilated),
        Variant("GatedMRConv", {"name": "gated_mrconv", **mrconv}),
        *(_layer(title, name, task) for title, name in LAYERS),
        *(Variant(title, None) for title in PUBLISHED_ONLY),
    )


def _layer(title: str, name: str, task: TaskName) -> Variant:
    if name not in MIXERS:
        return Variant(title, None)
    settings = {**SETTINGS.get(f"{name}, {task}", {}), **SETTINGS.get(name, {})}
    return Variant(title, {"name": name, **settings}, CHANGES.get(name, {}))


@dataclass(frozen=True)
class Baselines(Ablation):
    """An ablation that ends in a table of all published numbers."""

    def markdown(self, rows: Sequence[Row]) -> str:
        """Ours beside the published numbers, then the published ones of every task.

        Args:
            rows: Of the record.
        """
        columns = {**LONG_RANGE_ARENA, **OTHER_TASKS}
        lines = [
            [name, *(quoted(values.get(task)) for task in columns)]
            for name, values in MODELS.items()
        ]
        ours = super().markdown(rows).removesuffix(f"\n{UNCHECKED}\n")
        published = markdown(["published only, full size (%)", *columns.values()], lines)
        return f"{ours}\n{published}\n{UNCHECKED} chance: no better than chance.\n"


BASELINES = Baselines(
    "baselines",
    {"listops": _variants("listops"), "image": _variants("image")},
    {
        task: {name: values[task] for name, values in MODELS.items() if task in values}
        for task in ("listops", "image")
    },
    remarks=(
        "S4D starts here with the poles of S4D-Lin; the published line is S4D-LegS. S4 is S4-LegS "
        "in both.",
    ),
)
