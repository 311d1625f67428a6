"""Quality against the width of the outer product, as matplotlib has it."""

import pytest

from mrconv.errors import ArgumentError
from mrconv.report.ablation_panels import Panel, quality_by_outer_width

BITS = Panel(
    "bits", {"separate": {1: [2.5]}, "shared": {1: [2.6]}, "outer": {8: [2.3], 2: [2.4]}}, {}
)
RECALL = Panel("recall", {"outer": {2: [0.2, 0.6, 0.3]}}, {"attention": [0.9, 1.0, 0.5]})


def test_medians_are_joined_in_the_order_of_the_widths():
    ax = quality_by_outer_width([BITS]).axes[0]
    lines = {line.get_label(): line for line in ax.lines}
    assert list(lines["outer"].get_xdata()) == [2, 8]
    assert list(lines["outer"].get_ydata()) == [2.4, 2.3]
    separate, shared = (lines[name].get_xdata()[0] for name in ("separate", "shared"))
    assert separate < 1 < shared  # beside each other
    assert separate * shared == pytest.approx(1)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["none", "2", "8"]


def test_every_seed_is_a_dot_and_levels_stand_at_their_medians():
    ax = quality_by_outer_width([RECALL]).axes[0]
    assert [list(line.get_ydata()) for line in ax.lines] == [[0.3], [0.2, 0.6, 0.3], [0.9, 0.9]]
    assert list(ax.lines[1].get_xdata()) == [2, 2, 2]


def test_a_contestant_looks_the_same_in_every_panel():
    one, two = quality_by_outer_width([BITS, Panel("empty", {}, {}), RECALL]).axes
    looks = [
        next(
            (line.get_color(), line.get_marker())
            for line in ax.lines
            if line.get_label() == "outer"
        )
        for ax in (one, two)
    ]
    assert looks[0] == looks[1]


def test_nothing_to_draw(says):
    sentence = "quality_by_outer_width: panels must hold a value; got none. Measure at least one."
    with says(ArgumentError, sentence):
        quality_by_outer_width([Panel("a", {}, {})])
