"""The figure of answers over time draws the numbers it is given."""

import numpy as np
import pytest

from mrconv.errors import ShapeError

pytest.importorskip("matplotlib", reason="needs: pip install 'mrconv[report]'")

from mrconv.report.stream_panels import streamed


def test_lines_are_the_probabilities_over_time():
    times = [[0.5, 1.0, 1.5], [0.5, 1.0]]
    parts = [[[0.7, 0.3], [0.4, 0.6], [0.2, 0.8]], [[0.9, 0.1], [0.8, 0.2]]]
    figure = streamed([[0, 1, 2], [3, 4]], times, parts, [1, 1], ["low", "high"], rate=2.0)
    waves, lines = figure.axes[:2], figure.axes[2:]
    assert [ax.get_title() for ax in waves] == ["high", "high, taken for low"]
    assert waves[0].lines[0].get_xdata().tolist() == [0.0, 0.5, 1.0]
    assert waves[0].lines[0].get_ydata().tolist() == [0, 1, 2]
    for ax, time, part in zip(lines, times, parts, strict=True):
        for line, drawn in zip(np.transpose(part), ax.lines, strict=True):
            assert drawn.get_xdata().tolist() == time
            assert drawn.get_ydata().tolist() == line.tolist()
        widths = [drawn.get_linewidth() for drawn in ax.lines]
        assert widths[1] > widths[0]  # the true class stands out


@pytest.mark.parametrize("parts", [[], [[[0.5, 0.5]]], [[[1.0], [1.0]]]])
def test_sizes_that_do_not_fit(parts):
    with pytest.raises(ShapeError, match=r"^streamed: every recording must have signal, times"):
        streamed([[0, 1]], [[0.5, 1.0]], parts, [0], ["low", "high"], rate=2.0)
