"""Learning curves, gain norms and confusion matrix hold the numbers they were given."""

import re
import subprocess
import sys

import numpy as np
import pytest

from mrconv.errors import ArgumentError, MissingExtraError, ShapeError
from mrconv.report import confusion_matrix, gain_norms, learning_curves

HISTORY = [
    {"epoch": 1, "train_loss": 2.0, "validation_loss": 1.9, "validation_accuracy": 0.5},
    {"epoch": 2, "train_loss": 1.0, "validation_loss": None, "validation_accuracy": 0.75},
    {"epoch": 3, "train_loss": 0.5, "validation_loss": 0.9, "validation_accuracy": 0.625},
]


def cell_values(ax):
    return np.asarray(ax.collections[0].get_array())


def test_learning_curves_hold_the_history():
    losses, accuracy = learning_curves(HISTORY).axes
    train, validation = losses.lines
    assert train.get_xydata().tolist() == [[1, 2], [2, 1], [3, 0.5]]
    assert validation.get_xydata().tolist() == [[1, 1.9], [3, 0.9]]
    assert accuracy.lines[0].get_xydata().tolist() == [[1, 50], [2, 75], [3, 62.5]]
    assert [text.get_text() for text in accuracy.texts] == ["best 75.0 %"]
    assert accuracy.texts[0].xy == (2, 75)


def test_learning_curves_name_their_axes():
    losses, accuracy = learning_curves(HISTORY).axes
    assert (losses.get_xlabel(), losses.get_ylabel()) == ("epoch", "loss")
    assert (accuracy.get_xlabel(), accuracy.get_ylabel()) == ("epoch", "accuracy (%)")
    assert [text.get_text() for text in losses.get_legend().texts] == ["training", "validation"]


def test_learning_curves_draw_only_what_is_known():
    figure = learning_curves([{"epoch": 0, "train_loss": 1.5, "validation_accuracy": float("nan")}])
    (losses,) = figure.axes
    assert losses.lines[0].get_xydata().tolist() == [[0, 1.5]]
    (accuracy,) = learning_curves([{"epoch": 0, "validation_accuracy": 0.25}]).axes
    assert accuracy.get_ylabel() == "accuracy (%)"


@pytest.mark.parametrize(
    ("history", "got"), [([], "[]"), ([{"train_loss": 1.0}], "[{'train_loss': 1.0}]")]
)
def test_learning_curves_refuse_what_they_cannot_draw(history, got):
    sentence = (
        'learning_curves: history must hold one mapping an epoch with the key "epoch" and any of '
        f"train_loss, validation_loss, validation_accuracy; got {got}. "
        "Pass what was recorded for at least one epoch."
    )
    with pytest.raises(ArgumentError, match=re.escape(sentence)):
        learning_curves(history)


def test_gain_norms_hold_the_share_of_each_layer():
    squares = np.array([[1.0, 2.0, 5.0], [3.0, 3.0, 0.0], [0.0, 0.0, 0.0]])
    (ax,) = gain_norms(squares, [8, 16, 1024]).axes
    shares = np.array([[0.125, 0.25, 0.625], [0.5, 0.5, 0], [0, 0, 0]])
    np.testing.assert_allclose(cell_values(ax).reshape(3, 3), shares / 0.625)
    assert [text.get_text() for text in ax.texts] == [f"{share:.2f}" for share in shares.ravel()]
    assert [text.get_position() for text in ax.texts[:4]] == [(0, 0), (1, 0), (2, 0), (0, 1)]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["8", "16", "1,024"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["1", "2", "3"]
    assert ax.get_xlabel() == "kernel length (samples)"
    assert ax.yaxis_inverted()


def test_gain_norms_are_the_same_when_normalised_before():
    squares = np.array([[1.0, 3.0], [2.0, 2.0]])
    (raw,) = gain_norms(squares, [4, 8]).axes
    (shares,) = gain_norms(squares / squares.sum(1, keepdims=True), [4, 8]).axes
    np.testing.assert_array_equal(cell_values(raw), cell_values(shares))


def test_gain_norms_refuse_wrong_sizes_and_signs():
    sentence = (
        "gain_norms: squares must be (2, 3), layers by resolutions; got (2, 2). "
        "Pass one row a layer and one column a resolution."
    )
    with pytest.raises(ShapeError, match=re.escape(sentence)):
        gain_norms(np.ones((2, 2)), [1, 2, 4])
    sentence = (
        "gain_norms: squares must be 0 or more; got a smallest value of -1.0. "
        "Pass squared norms of the gains."
    )
    with pytest.raises(ArgumentError, match=re.escape(sentence)):
        gain_norms([[1, -1]], [4, 8])


def test_confusion_matrix_holds_the_counts():
    counts = np.array([[9, 1, 0], [0, 8, 2], [0, 0, 0]])
    (ax,) = confusion_matrix(counts, ["a", "b", "$c_d"]).axes
    shares = np.array([[0.9, 0.1, 0], [0, 0.8, 0.2], [0, 0, 0]])
    np.testing.assert_allclose(cell_values(ax).reshape(3, 3) ** 2, shares)
    assert [text.get_text() for text in ax.texts] == ["9", "1", "", "", "8", "2", "", "", ""]
    assert ax.get_title(loc="left") == "True against predicted class: 17 of 20 correct"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("predicted class", "true class")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "b", "$c_d"]


def test_confusion_matrix_of_many_classes_has_no_numbers():
    (ax,) = confusion_matrix(np.eye(40, dtype=int), [f"class {i}" for i in range(40)]).axes
    assert len(ax.texts) == 0
    assert len(cell_values(ax)) == 1600
    assert {label.get_rotation() for label in ax.get_xticklabels()} == {90}


def test_confusion_matrix_refuses_wrong_sizes():
    sentence = (
        "confusion_matrix: counts must be (2, 2), one row and one column a label; got (2, 3). "
        "Pass true classes as rows and predicted ones as columns."
    )
    with pytest.raises(ShapeError, match=re.escape(sentence)):
        confusion_matrix(np.ones((2, 3)), ["a", "b"])


def test_heat_maps_draw_into_given_axes():
    from matplotlib.figure import Figure

    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert gain_norms([[1, 3]], [4, 8], ["first"], ax=left) is figure
    assert confusion_matrix([[2]], ["only"], ax=right) is figure
    assert [text.get_text() for text in left.texts] == ["0.25", "0.75"]
    assert [text.get_text() for text in right.texts] == ["2"]


def test_missing_matplotlib_names_the_line_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    sentence = (
        "report: matplotlib must be installed to draw figures; got no module of that name. "
        'Run: pip install "mrconv[report]"'
    )
    with pytest.raises(MissingExtraError) as caught:
        learning_curves(HISTORY)
    assert str(caught.value) == sentence


def test_importing_and_drawing_leave_global_state_alone():
    code = (
        "import sys, mrconv.report as report\n"
        "assert 'matplotlib' not in sys.modules\n"
        "report.Page('t').figure(report.gain_norms([[1]], [8]), 'a').html()\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_heat_maps_draw_into_a_figure_within_a_figure():
    from matplotlib.figure import Figure

    figure = Figure()
    ax = figure.subfigures(1, 2)[0].subplots()
    assert gain_norms([[1, 3]], [4, 8], ax=ax) is figure


def test_a_removed_panel_is_refused():
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    ax.remove()
    sentence = "report: ax must belong to a figure; got one that was removed. Pass ax=None."
    with pytest.raises(ArgumentError, match=re.escape(sentence)):
        gain_norms([[1, 3]], [4, 8], ax=ax)
