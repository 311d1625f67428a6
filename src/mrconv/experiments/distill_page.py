"""The page of a distillation: what was asked and found, layer by layer, with pictures."""

import importlib.util
from pathlib import Path

import torch
from torch import nn

from .._version import __version__
from ..data.writing import write_text
from ..distillation import DistillReport, FilterReport, LayerReport
from ..distillation.report import REMARKS
from ..nn import ModalRecurrence
from ..nn.response import impulse_response
from ..report import Page, write_page
from ..report.recurrence_panels import RecurrenceFit, recurrence_fits

__all__ = ["add_distillation", "write_report"]

JSON, HTML = "report.json", "report.html"


def write_report(
    folder: Path, original: nn.Module, small: nn.Module, report: DistillReport, command: str
) -> list[Path]:
    """Writes report.json and, where matplotlib is installed, report.html.

    Args:
        folder: Of both; made if it is not there.
        original: What was distilled.
        small: What came of it.
        report: Of both.
        command: Shown on the page.

    Returns:
        The files written.
    """
    written = [folder / JSON]
    write_text(written[0], report.to_json() + "\n")
    if importlib.util.find_spec("matplotlib") is not None:
        versions = {"mrconv": __version__, "torch": str(torch.__version__)}
        asked = ", ".join(f"{key} {value}" for key, value in report.settings.items())
        page = Page("Distilled to recurrences", f"{type(original).__name__}; {asked}.", versions)
        add_distillation(page, original, small, report)
        page.section("Repeat", "The command that made this page.").code(command)
        written.append(write_page(folder / HTML, page))
    return written


def add_distillation(
    page: Page, original: nn.Module, small: nn.Module, report: DistillReport
) -> Page:
    """Adds key numbers, a table of the layers, and the pictures of each layer.

    Args:
        page: Where they are added.
        original: What was distilled, in eval mode.
        small: What came of it.
        report: Of both.

    Returns:
        The page.
    """
    _add_tiles(page, report)
    _add_layers(page, report)
    for layer in report.layers:
        _add_filters(page, layer, original, small)
    return page


def _add_tiles(page: Page, report: DistillReport) -> None:
    filters = [one for layer in report.layers for one in layer.filters]
    if filters:
        worst = max(filters, key=lambda one: one.error)
        page.tile("Largest error", f"{worst.error:.2g}", "of a filter's taps, relative, in norm")
        page.tile("Its lower bound", f"{worst.lower_bound:.2g}", "for any fit of this order")
        page.tile("Order", _span([one.order for one in filters]), "real states a filter")
    if report.output_change is not None:
        page.tile("Outputs change by", f"{report.output_change:.2g}", "relative, on the inputs met")
    page.tile("Seconds", f"{report.seconds:.1f}", f"{len(filters):,} filters")


def _add_layers(page: Page, report: DistillReport) -> None:
    page.section(
        "Layers",
        "Error and bound of each layer's worst filter. The worst gain of the error is how much "
        "louder than an input the error of the output can be: at least the first number, at most "
        "the second. Where inputs were given, the largest change of a layer's output on what it "
        "met stands beside what bounds it.",
    )
    columns, *rows = report.table()
    page.table(columns, rows)
    met = {one.verdict for layer in report.layers for one in layer.filters}
    for verdict, remark in REMARKS.items():
        if verdict in met and remark:
            page.text(f"{verdict.capitalize()}: {remark}.")


def _short(value: float) -> float:
    """Two digits are enough to compare errors."""
    return float(f"{value:.1e}")


def _span(values: list[int]) -> str:
    return str(min(values)) if min(values) == max(values) else f"{min(values)} to {max(values)}"


def _add_filters(page: Page, layer: LayerReport, original: nn.Module, small: nn.Module) -> None:
    new = small.get_submodule(layer.name)
    page.section(layer.name or "The layer")
    if not isinstance(new, ModalRecurrence):
        page.text("Kept in its exact form: the tolerance could not be met. Stream it exactly.")
        return
    chosen = _best_middle_worst(layer)
    page.text(
        "The filters of the smallest, the middle and the largest error. A dot on a spectrum stands "
        "at the order: what lies right of it is lost."
    )
    fits = _fits(chosen, original.get_submodule(layer.name), new)
    page.figure(recurrence_fits(fits), f"spectra, taps and poles of three filters of {layer.name}")
    page.table(
        ("channel", "order", "error", "bound", "radius", "verdict"),
        [
            (
                one.channel,
                one.order,
                _short(one.error),
                _short(one.lower_bound),
                f"{one.radius:.6f}",
                one.verdict,
            )
            for one in chosen
        ],
    )


def _best_middle_worst(layer: LayerReport) -> list[FilterReport]:
    ranked = sorted(layer.filters, key=lambda one: one.error)
    places = dict.fromkeys((0, len(ranked) // 2, len(ranked) - 1))
    return [ranked[place] for place in places]


def _fits(chosen: list[FilterReport], old: nn.Module, new: ModalRecurrence) -> list[RecurrenceFit]:
    taps, _ = impulse_response(old)  # type: ignore[arg-type]
    fit, _ = impulse_response(new, taps.shape[-1])
    used = (new.residue != 0).any(-1)
    poles = torch.polar(new.radius, new.angle.double())
    return [
        RecurrenceFit(
            f"channel {one.channel}",
            one.spectrum,
            one.order,
            new.fir_head,
            taps[one.channel].numpy(),
            fit[one.channel].numpy(),
            poles[one.channel][used[one.channel]].detach().numpy(),
        )
        for one in chosen
    ]
