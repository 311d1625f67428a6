"""Losses by epoch: what is drawn, and of which seeds."""

import numpy as np
import pytest

from mrconv.errors import ArgumentError

pytest.importorskip("matplotlib", reason="needs: pip install 'mrconv[report]'")

from mrconv.report.convergence_panels import Curves, convergence


def test_a_column_a_task_and_a_line_through_the_means():
    two = Curves([[2.0, 1.0], [1.0, 0.5, 0.1]], [[3.0, 2.0], [2.0, 2.0]])
    figure = convergence(
        {"a": {"dense": two}, "b": {"dense": two, "other": Curves([[1.0]], [[1]])}}
    )
    assert [ax.get_ylabel() for ax in figure.axes] == [
        *("training loss",) * 2,
        *("validation loss",) * 2,
    ]
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["a", "b", "", ""]
    named = {line.get_label(): line for line in figure.axes[0].lines}
    # one seed is ahead: the mean ends where the shorter does
    np.testing.assert_allclose(named["dense"].get_ydata(), [1.5, 0.75])
    assert [len(line.get_ydata()) for line in figure.axes[0].lines] == [2, 3, 2]
    np.testing.assert_allclose(figure.axes[2].lines[-1].get_ydata(), [2.5, 2.0])
    assert [text.get_text() for text in figure.legends[0].texts] == ["dense", "other"]


def test_nothing_to_draw(says):
    sentence = "convergence: tasks must hold the losses of a variant; got none. Train at least one."
    with says(ArgumentError, sentence):
        convergence({})
