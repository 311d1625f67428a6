"""Examples hold their signals and the shares of their resolutions."""

import re

import numpy as np
import pytest

from mrconv.errors import ArgumentError, ShapeError
from mrconv.report import contributions


def heights(ax):
    return [float(bar.get_height()) for bar in ax.patches]


def pairs(figure, count):
    """Signal panels and bar panels, in the order of the examples, of at most one block."""
    return figure.axes[:count], figure.axes[count : 2 * count]


def test_images_and_bars_hold_the_numbers():
    rng = np.random.default_rng(0)
    signals, shares = rng.random((3, 784)), rng.normal(size=(3, 4))
    figure = contributions(signals, shares, ["0", "1", "2"], [8, 16, 32, 64], kind="image")
    for picture, bars, signal, share in zip(*pairs(figure, 3), signals, shares, strict=True):
        painted = picture.images[0].get_array()
        assert painted.shape == (28, 28, 4)
        opacity = (signal - signal.min()) / (signal.max() - signal.min())
        np.testing.assert_allclose(painted[..., 3], opacity.reshape(28, 28))
        assert heights(bars) == share.tolist()
        labels = [label.get_text() for label in bars.get_xticklabels()]
        assert labels == ["8", "16", "32", "64"]
        assert bars.get_xlabel() == "kernel length (samples)"


def test_ten_examples_stand_in_two_blocks_with_one_scale():
    shares = np.linspace(0.05, 0.95, 20).reshape(10, 2)
    figure = contributions(np.ones((10, 4)), shares, list("0123456789"), [8, 16], kind="image")
    assert len(figure.axes) == 20
    titles = [ax.get_title() for ax in [*figure.axes[:5], *figure.axes[10:15]]]
    assert titles == list("0123456789")
    bars = [*figure.axes[5:10], *figure.axes[15:20]]
    assert [heights(ax) for ax in bars] == shares.tolist()
    assert len({ax.get_ylim() for ax in bars}) == 1
    assert bars[0].get_ylim()[1] >= 0.95


def test_traces_keep_their_own_lengths():
    signals = [np.arange(5.0), np.arange(9.0) ** 2]
    traces, _ = pairs(contributions(signals, np.ones((2, 1)), ["a", "b"], [4]), 2)
    for ax, signal in zip(traces, signals, strict=True):
        assert ax.lines[0].get_ydata().tolist() == signal.tolist()
        assert ax.get_xlabel() == "time (samples)"


def test_a_wrong_answer_is_said():
    figure = contributions([[1.0]], [[1.0]], ["4"], [8], predicted=["9"])
    assert figure.axes[0].get_title() == "4, taken for 9"
    figure = contributions([[1.0]], [[1.0]], ["4"], [8], predicted=["4"])
    assert figure.axes[0].get_title() == "4"


def test_pictures_need_not_be_square_when_given_as_such():
    figure = contributions([np.eye(2, 3)], [[1.0]], ["a"], [8], kind="image")
    assert figure.axes[0].images[0].get_array().shape == (2, 3, 4)


def test_what_cannot_be_drawn_is_refused():
    sentence = (
        "contributions: an image must be (H, W), or a row whose length is a square number; "
        'got (5,). Pass kind="trace" for other sequences.'
    )
    with pytest.raises(ShapeError, match=re.escape(sentence)):
        contributions([np.ones(5)], [[1.0]], ["a"], [8], kind="image")
    sentence = (
        "contributions: 2 signals and 1 kernel lengths must have shares of shape (2, 1) and 2 "
        "labels; got shares of shape (2, 2), 2 labels and 2 predicted ones. "
        "Pass one row of shares and one label a signal."
    )
    with pytest.raises(ShapeError, match=re.escape(sentence)):
        contributions([[1.0], [2.0]], np.ones((2, 2)), ["a", "b"], [8])
    sentence = "contributions: kind must be one of 'image', 'trace'; got 'picture'. Known: "
    with pytest.raises(ArgumentError, match=re.escape(sentence)):
        contributions([[1.0]], [[1.0]], ["a"], [8], kind="picture")
