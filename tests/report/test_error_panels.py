"""Errors by order: one panel a family, all on one scale."""

import pytest

from mrconv.errors import ArgumentError
from mrconv.report.error_panels import errors_by_order

pytest.importorskip("matplotlib", reason="needs: pip install 'mrconv[report]'")

LINES = {
    "error": {16: 0.01, 4: 0.1},
    "lower bound": {4: 0.05, 16: 0.0},
    "gradient": {16: 0.02},
}


def test_lines_hold_the_numbers():
    (ax,) = errors_by_order({"dilated": LINES}).axes
    assert ax.get_title(loc="left") == "dilated"
    assert [line.get_label() for line in ax.lines] == list(LINES)
    error, bound, gradient = ax.lines
    assert (list(error.get_xdata()), list(error.get_ydata())) == ([4, 16], [0.1, 0.01])
    assert list(bound.get_ydata()) == [0.05, 1e-5]  # what is smaller is drawn at the foot
    assert list(gradient.get_xdata()) == [16]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["4", "16"]


def test_panels_share_their_scale_and_one_legend_names_all_lines():
    families = {str(i): {"error": {4: 0.1**i}} for i in range(1, 7)}
    families["7"] = LINES
    figure = errors_by_order(families)
    assert [ax.get_title(loc="left") for ax in figure.axes] == list("1234567")
    assert len({ax.get_ylim() for ax in figure.axes}) == 1
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == list(LINES)
    named = [ax.get_title(loc="left") for ax in figure.axes if ax.get_xlabel()]
    assert named == list("34567")  # those with no panel below


def test_nothing_to_draw(says):
    with says(
        ArgumentError,
        "errors_by_order: families must hold at least one; got none. Measure at least one.",
    ):
        errors_by_order({})
