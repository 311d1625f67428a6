"""The streaming example's page: the training, the model, and what it said as recordings came in."""

from pathlib import Path
from typing import Any

import torch

from ..models.live import LiveModel, training_window
from ..report import Page, contributions
from ..report.stream_panels import streamed
from .forms import TrainedForms
from .page_sections import add_confusion, add_proof, add_training, finished
from .portrait import add_portrait
from .spoken import Heard, decided

__all__ = ["write_spoken_page"]


def write_spoken_page(
    path: Path, forms: TrainedForms, heard: list[Heard], metrics: dict[str, Any]
) -> Path:
    """Writes the page.

    Args:
        path: The HTML file.
        forms: The trained model and the merged one.
        heard: Test recordings with the answers to them.
        metrics: What metrics.json holds.

    Returns:
        The path.
    """
    page = Page(
        "MRConv on spoken digits",
        "Recordings of ten digits by six speakers, raw samples at 8 kHz; trained as branches, "
        "then answering every 20 ms while a recording comes in.",
        metrics["versions"],
    )
    _add_tiles(page, metrics, len(forms.result.splits.test))
    _add_answers(page, forms, heard)
    _add_scales(page, forms, heard)
    add_training(page, forms.result)
    add_portrait(page, forms.model)
    add_confusion(page, forms)
    add_proof(page, forms.proof)
    return finished(path, page, metrics)


def _add_tiles(page: Page, metrics: dict[str, Any], count: int) -> None:
    stream = metrics["stream"]
    latency = stream["latency_ms"]
    page.tile("Test accuracy", f"{100 * metrics['test_accuracy']:.1f} %", f"{count} recordings")
    page.tile("Merged against branches", f"{metrics['merge_difference']:.0e}", "largest difference")
    page.tile("Training", f"{metrics['train_seconds']:.0f} s", f"{metrics['epochs']} epochs")
    page.tile("Chunk of 20 ms", f"{latency['median']:.1f} ms", "median time to its answer")
    page.tile("99th percentile", f"{latency['p99']:.1f} ms", "of the same")
    page.tile("Speed", f"{stream['times_real_time']:.1f} x", "as fast as real time")


def _add_answers(page: Page, forms: TrainedForms, heard: list[Heard]) -> None:
    labels, window = forms.model.labels, forms.model.expects.length
    probabilities = [
        torch.stack([one.outputs for one in each.answers if one.outputs is not None]).softmax(-1)
        for each in heard
    ]
    page.section(
        "While they come in",
        "One test recording of each digit, in chunks of 20 ms. Each answer is what the model says "
        f"of the samples so far, of the last {window:,} at most.",
    )
    figure = streamed(
        [each.samples for each in heard],
        [[one.samples / each.rate for one in each.answers] for each in heard],
        [one.double().numpy() for one in probabilities],
        [labels.index(each.file.name[0]) for each in heard],
        labels,
        rate=heard[0].rate,
    )
    page.figure(figure, "ten recordings, and the probability of every digit over time")


def _add_scales(page: Page, forms: TrainedForms, heard: list[Heard]) -> None:
    model = forms.model
    window = training_window(model)
    live = LiveModel(model, rate=heard[0].rate, window=window, explain=True)
    shares = [next(live.answers([each.samples])).shares for each in heard]
    page.section(
        "Which time scales decided",
        "The share of every kernel length in the score of the class that the last answer gave: "
        "gradient of the score times what each resolution added, over all layers.",
    )
    figure = contributions(
        [each.samples for each in heard],
        torch.stack([one for one in shares if one is not None]).numpy(),
        [each.file.name[0] for each in heard],
        live.spans,
        predicted=[model.labels[decided(each)] for each in heard],
    )
    page.figure(figure, "ten recordings, and the share of each time scale in the decision")
