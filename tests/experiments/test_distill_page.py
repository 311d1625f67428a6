"""The page of a distillation: every layer with three filters, and what is said of them."""

import re

import pytest
import torch

import mrconv
from mrconv.experiments.distill_page import add_distillation, write_report
from mrconv.nn.response import impulse_response
from mrconv.report import Page
from mrconv.testing import settled

pytest.importorskip("matplotlib", reason="needs: pip install 'mrconv[report]'")


def model_of(**mixer):
    backbone = mrconv.SequenceBackbone(1, 64, channels=5, depth=2, mixer=mixer)
    model = mrconv.SequenceClassifier(backbone, 3)
    for block in model.backbone.blocks:
        settled(block.mixer)
    return model.eval()


def words(html):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def test_every_layer_has_its_pictures_and_numbers(tmp_path):
    model = model_of(kernel="dense", kernel_size=4)
    small, report = mrconv.distill(model, order=4, fir_head=4, inputs=torch.randn(1, 64, 1))
    written = write_report(tmp_path, model, small, report, "mrconv distill a <b>")
    assert [path.name for path in written] == ["report.json", "report.html"]
    assert written[0].read_text() == report.to_json() + "\n"
    html = written[1].read_text()
    text = words(html)
    assert html.count("</svg>") == 2
    assert "mrconv distill a &lt;b&gt;" in html
    for layer in report.layers:
        assert f"<h2>{layer.name}</h2>" in html
        errors = sorted((one.error, one.channel) for one in layer.filters)
        for error, channel in (errors[0], errors[2], errors[4]):
            assert f"channel {channel}" in text
            assert f"{float(f'{error:.1e}'):.4g}" in text
    assert f"Outputs change by {report.output_change:.2g}" in text
    assert "Incompressible: no recurrence of this order" in text


def test_pictures_show_the_taps_behind_the_head(monkeypatch):
    shown = []
    monkeypatch.setattr(
        "mrconv.experiments.distill_page.recurrence_fits", lambda fits: shown.append(fits)
    )
    layer = settled(mrconv.MRConv(2, 64, kernel="dense", kernel_size=4))
    small, report = mrconv.distill(layer, order=3, fir_head=8)
    monkeypatch.setattr(Page, "figure", lambda page, *words: page)
    add_distillation(Page("a"), layer, small, report)
    ((best, worst),) = shown
    ranked = sorted(report.layers[0].filters, key=lambda one: one.error)
    for fit, told in zip((best, worst), ranked, strict=True):
        taps = impulse_response(layer)[0][told.channel].numpy()
        error = ((fit.fit - fit.taps) ** 2).sum() / (taps**2).sum()
        assert (fit.taps == taps).all()
        assert error**0.5 == pytest.approx(told.error, rel=1e-6)
        assert (fit.name, fit.order, fit.fir_head) == (f"channel {told.channel}", told.order, 8)
        assert abs(fit.poles).max() == pytest.approx(told.radius)
        assert sum(2 if abs(pole.imag) > 1e-9 else 1 for pole in fit.poles) == told.order


def test_layers_kept_exact_are_said_to_be():
    model = model_of(kernel="dense", kernel_size=4)
    small, report = mrconv.distill(
        model, tolerance=1e-6, max_order=2, fir_head=4, on_failure="exact"
    )
    html = add_distillation(Page("a"), model, small, report).html()
    assert html.count("Kept in its exact form: the tolerance could not be met.") == 2
    assert "</svg>" not in html
