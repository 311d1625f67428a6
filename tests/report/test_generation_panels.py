"""Speed and memory of generation: one line a contestant, one column a batch."""

import pytest

from mrconv.errors import ArgumentError
from mrconv.report.generation_panels import generation_by_context

pytest.importorskip("matplotlib", reason="needs: pip install 'mrconv[report]'")

PANELS = {
    "tokens per second, batch 1": {"attention": {512: 9.0, 64: 20.0}, "distilled": {64: 7.0}},
    "peak memory, batch 1": {"attention": {64: 2.0}},
    "tokens per second, batch 16": {"distilled": {64: 70.0}},
}


def test_lines_hold_the_numbers():
    figure = generation_by_context(PANELS)
    speed, many, memory = figure.axes  # without the one that has no line
    assert [line.get_label() for line in speed.lines] == ["attention", "distilled"]
    assert list(speed.lines[0].get_xdata()) == [64, 512]
    assert list(speed.lines[0].get_ydata()) == [20.0, 9.0]
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["batch 1", "batch 16", ""]
    assert (speed.get_ylabel(), memory.get_ylabel()) == ("tokens per second", "peak memory (MB)")
    assert [line.get_label() for line in memory.lines] == ["attention"]
    assert many.lines[0].get_color() == speed.lines[1].get_color()
    assert memory.get_xlabel() == "context (tokens)"
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["attention", "distilled"]


def test_nothing_to_draw(says):
    with says(
        ArgumentError,
        "generation_by_context: panels must hold at least one line; got none. "
        "Measure at least one contestant.",
    ):
        generation_by_context({})
