"""The streaming example: a model of spoken digits is trained, then hears recordings in chunks."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data import SpokenDigits
from ..data.sources import file_source
from ..models import SequenceModel
from ..models.live import Answer, Latency, LiveModel, training_window
from ..train import Progress, read_recipe
from .forms import DemoResult, TrainedForms, train_and_merge

__all__ = ["CHUNK_SECONDS", "Heard", "hear", "run_spoken_demo"]

RECIPE = "speech"
CHUNK_SECONDS = 0.02


class Heard(NamedTuple):
    """One recording, and what the model said while it came in."""

    file: Path
    samples: NDArray[np.float32]
    """(L,)"""
    rate: float
    """In Hz."""
    answers: list[Answer]


def hear(model: SequenceModel, file: Path) -> Heard:
    """Streams one recording through a model, as ``mrconv stream`` does by default.

    Args:
        model: In eval mode; its contract has a rate.
        file: A .wav file.

    Returns:
        The answers behind every 20 ms.
    """
    with file_source(file, model.expects) as source:
        rate = source.rate or 0.0
        live = LiveModel(model, rate=rate, window=training_window(model))
        chunk = round(CHUNK_SECONDS * rate)
        blocks = list(source.blocks(chunk))
        live.warm_up(chunk)
        answers = [one for one in live.answers(blocks) if one.outputs is not None]
    return Heard(file, np.concatenate(blocks)[:, 0], rate, answers)


def run_spoken_demo(
    path: str | Path,
    out: str | Path,
    overrides: list[str],
    *,
    progress: Progress | None = None,
    command: str = "mrconv demo --audio PATH",
) -> DemoResult:
    """Trains the recipe "speech", merges and verifies the model, and streams test recordings.

    Args:
        path: Folder of the Free Spoken Digit Dataset, which holds ``recordings``.
        out: Folder; an earlier demo in it is replaced.
        overrides: Changes of the recipe, ``key=value``.
        progress: Told about steps and epochs.
        command: Kept in metrics.json and on the page.

    Returns:
        The numbers, the proof and the folder.

    Raises:
        FileError: If the recordings are not there.
        MissingExtraError: If Lightning or matplotlib is not installed.
    """
    from .spoken_page import write_spoken_page

    recipe = read_recipe(RECIPE, [f"data.path={json.dumps(str(path))}", *overrides])
    forms = train_and_merge(recipe, out, progress=progress, command=command)
    heard = [hear(forms.model, file) for file in one_of_each(SpokenDigits(str(path)))]
    metrics = {**forms.metrics, "stream": stream_metrics(forms, heard)}

    def write_page(file: Path, forms: TrainedForms, metrics: dict[str, Any]) -> Path:
        return write_spoken_page(file, forms, heard, metrics)

    return forms.written(metrics, write_page)


def one_of_each(digits: SpokenDigits) -> list[Path]:
    """A test recording of each digit, by speakers in turn."""
    files = digits.files("test")
    names = sorted({file.name[0] for file in files})
    groups = [[file for file in files if file.name[0] == name] for name in names]
    return [group[5 * i % len(group)] for i, group in enumerate(groups)]


def stream_metrics(forms: TrainedForms, heard: list[Heard]) -> dict[str, Any]:
    """Latency of all answers, how many times as fast as real time, and how many were right."""
    latency = Latency.of([answer.seconds for one in heard for answer in one.answers])
    seconds = sum(len(one.samples) / one.rate for one in heard)
    return {
        "recordings": len(heard),
        "right": sum(forms.model.labels[decided(one)] == one.file.name[0] for one in heard),
        "chunk_seconds": CHUNK_SECONDS,
        "latency_ms": {
            "median": round(1000 * latency.median, 3),
            "p99": round(1000 * latency.percentile_99, 3),
        },
        "times_real_time": round(seconds / latency.total, 2),
    }


def decided(heard: Heard) -> int:
    """The class that the last answer gives."""
    outputs = heard.answers[-1].outputs
    return -1 if outputs is None else int(outputs.argmax())
