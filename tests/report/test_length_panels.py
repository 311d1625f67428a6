"""Times by length: one line a layer."""

import pytest

from mrconv.errors import ArgumentError
from mrconv.report.length_panels import times_by_length

pytest.importorskip("matplotlib", reason="needs: pip install 'mrconv[report]'")

NAMES = "abcde"
PANELS = {
    "forward": {name: {256: i + 1.0, 64: i + 0.5} for i, name in enumerate(NAMES)},
    "step": {name: {64: i + 2.0} for i, name in enumerate(NAMES[1:])},
}


def test_lines_hold_the_numbers():
    forward, step = times_by_length(PANELS).axes
    assert [line.get_label() for line in forward.lines] == list(NAMES)
    for i, line in enumerate(forward.lines):
        assert list(line.get_xdata()) == [64, 256]
        assert list(line.get_ydata()) == [i + 0.5, i + 1.0]
    assert [line.get_label() for line in step.lines] == list(NAMES[1:])
    assert forward.get_title(loc="left") == "forward"
    assert (forward.get_xscale(), forward.get_yscale()) == ("log", "log")
    assert [label.get_text() for label in forward.get_xticklabels()] == ["64", "256"]


def test_a_name_looks_the_same_in_every_panel_and_unlike_all_others():
    looks = [
        {line.get_label(): (line.get_color(), line.get_linestyle()) for line in ax.lines}
        for ax in times_by_length(PANELS).axes
    ]
    assert all(looks[0][name] == look for name, look in looks[1].items())
    assert len(set(looks[0].values())) == len(NAMES)


def test_nothing_to_draw(says):
    with says(
        ArgumentError,
        "times_by_length: panels must hold at least one line; got none. "
        "Measure at least one layer.",
    ):
        times_by_length({"forward": {}})
