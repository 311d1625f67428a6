"""The table of models that hear speech at half the sampling rate, without retraining."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from ..bench.record import Row
from ..bench.table import markdown
from .ablation import Ablation, Variant
from .ablation_rows import Found, prefix
from .grid import Numbers
from .half_rate import half_rate_measured
from .published import MODELS, quoted
from .small_tasks import TaskName

__all__ = ["SPEECH_RATE", "SpeechRate"]

TASK: TaskName = "speech"
#: What a row says, and the key of the cell's number.
ACCURACIES = {
    "8 kHz": "value",
    "8 kHz, low-passed": "low-passed",
    "4 kHz": "half rate",
    "4 kHz, low-passed": "half rate, low-passed",
    "4 kHz, kernels of 8 kHz": "unadapted",
}
LOST, ENERGY, REFUSED = "points lost at 4 kHz", "energy above 2 kHz", "refuses half the rate"
FOURIER = "Fourier"
#: Points that the Fourier model may lose.
MOST = 3.0


@dataclass(frozen=True)
class SpeechRate(Ablation):
    """An ablation whose models are tested at half the rate too."""

    def rows(self, numbers: Mapping[str, Numbers]) -> list[Row]:
        """Accuracies at both rates, behind the rows of an ablation.

        Args:
            numbers: By the name of the cell.
        """
        found = self.found(numbers).get(TASK, {})
        return [*super().rows(numbers), *_rate_rows(prefix(self.name, TASK), found)]

    def markdown(self, rows: Sequence[Row]) -> str:
        """The table of an ablation, and one of both rates.

        Args:
            rows: Of the record.
        """
        values, start = {row.name: row for row in rows}, prefix(self.name, TASK)
        names = [one.name for one in self.variants[TASK] if f"{start}, 8 kHz: {one.name}" in values]
        lines = [
            [name, *(_cell(values, start, what, name) for what in ACCURACIES)] for name in names
        ]
        published = MODELS["MRConv, Fourier"], MODELS["S5"]
        quotes = [
            f"{name} {quoted(one['speech'])} at 16 kHz and {quoted(one['speech, half rate'])} at 8"
            for name, one in zip(("MRConv, Fourier", "S5, the best other"), published, strict=True)
        ]
        head = ["test accuracy (%)", *ACCURACIES]
        told = (
            "At 4 kHz every second sample is taken, without a filter unless one is named. The "
            "kernels are made anew for half the rate, without retraining, but in the last column. "
            f"Published, Speech Commands of 35 words: {'; '.join(quotes)} kHz.\n"
        )
        share = next((row for row in rows if row.name.startswith(f"{start}, {ENERGY}")), None)
        tail = "" if share is None else f"Share of the {ENERGY}: {share.value:.1f} %.\n"
        return "\n".join([super().markdown(rows), markdown(head, lines), told, tail])


def _cell(values: Mapping[str, Row], start: str, what: str, name: str) -> str:
    row = values.get(f"{start}, {what}: {name}")
    if row is not None:
        return f"{row.value:.2f}"
    return "refused" if f"{start}, {REFUSED}: {name}" in values else "-"


def _rate_rows(start: str, found: Found) -> Iterator[Row]:
    for name, seeds in found.items():
        cells = list(seeds.values())
        for what, key in ACCURACIES.items():
            values = [100 * one[key] for one in cells if key in one]
            if values:
                yield Row(f"{start}, {what}: {name}", mean(values), "%")
        if refused := sum("refused" in one for one in cells):
            yield Row(f"{start}, {REFUSED}: {name}", refused, f"of {len(cells)} seeds")
        else:
            yield _lost(start, name, cells)
        share = 100 * mean(one["energy above"] for one in cells)
        yield Row(f"{start}, {ENERGY}: {name}", share, "%")


def _lost(start: str, name: str, cells: Sequence[Numbers]) -> Row:
    """Points lost by every second sample; the bar is the Fourier model's."""
    lost = 100 * mean(one["value"] - one["half rate"] for one in cells)
    smooth = 100 * mean(one["value"] - one["half rate, low-passed"] for one in cells)
    share = 100 * mean(one["energy above"] for one in cells)
    why = (
        f"{share:.1f} % of the energy of what the model hears lies above 2 kHz and folds over "
        f"without a filter; after a low-pass the model loses {smooth:.1f} points"
    )
    bar = MOST if name == FOURIER else None
    return Row(
        f"{start}, {LOST}: {name}",
        lost,
        "points",
        None,
        bar,
        None if bar is None else "lower",
        why,
    )


SPEECH_RATE = SpeechRate(
    "speech-rate",
    {
        TASK: (
            Variant(FOURIER, {"kernel": "fourier", "kernel_size": 16}),
            Variant("dilated", {"kernel": "dilated", "kernel_size": 16}),
        )
    },
    {TASK: {FOURIER: MODELS["MRConv, Fourier"]["speech"]}},
    measure=half_rate_measured,
)
