"""Panels of kernels hold the taps at their lags."""

import re

import numpy as np
import pytest

from mrconv.errors import ArgumentError, ShapeError
from mrconv.report import layer_kernels


def points(ax):
    """Markers or line of a panel, without the line at 0: one (points, 2) array a channel."""
    return [np.asarray(line.get_xydata()) for line in ax.lines[1:]]


def panels(figure, rows):
    """Panels by row and column."""
    return np.array(figure.axes).reshape(rows, -1)


def padded(taps, size):
    return np.pad(taps, (0, size - len(taps)))


def test_rows_are_resolutions_and_columns_are_layers():
    rng = np.random.default_rng(0)
    layers = []
    for name in ("first", "second", "third"):
        parts = [padded(rng.normal(size=4 * 2**i), 16) for i in range(3)]
        layers.append((name, parts, sum(parts)))
    grid = panels(layer_kernels(layers), 4)
    for column, (name, parts, merged) in zip(grid.T, layers, strict=True):
        assert column[0].get_title() == name
        for i, (ax, taps) in enumerate(zip(column, [*parts, merged], strict=True)):
            span = min(4 * 2**i, 16)
            (drawn,) = points(ax)
            np.testing.assert_array_equal(drawn, np.stack([np.arange(span), taps[:span]], 1))
        assert column[-1].get_xlabel() == "lag (samples)"
    names = [ax.texts[0].get_text() for ax in grid[:, 0]]
    assert names == ["4\nsamples", "8\nsamples", "16\nsamples", "merged\nsum"]


def test_sparse_taps_are_stems_at_their_lags():
    taps = np.zeros(512)
    taps[[0, 64, 448]] = 1.0, -2.0, 0.5
    (ax, _) = layer_kernels([("layer", [taps], taps)], [512]).axes
    (drawn,) = points(ax)
    assert drawn.tolist() == [[0, 1], [64, -2], [448, 0.5]]
    stems = [segment.tolist() for segment in ax.collections[0].get_segments()]
    assert stems == [[[0, 0], [0, 1]], [[64, 0], [64, -2]], [[448, 0], [448, 0.5]]]
    assert ax.lines[1].get_linestyle() == "None"
    assert ax.get_xlim()[1] > 511


def test_dense_taps_are_a_line():
    taps = np.sin(np.arange(300) / 7) + 0.1
    (ax, _) = layer_kernels([("layer", [taps], taps)]).axes
    (drawn,) = points(ax)
    np.testing.assert_array_equal(drawn, np.stack([np.arange(300), taps], 1))
    assert ax.lines[1].get_linestyle() == "-"
    assert not ax.collections


def test_very_many_taps_keep_every_peak():
    rng = np.random.default_rng(1)
    taps = rng.normal(size=50_021)
    taps[[7, 31_001, 50_020]] = 99, -50, 40
    (ax, _) = layer_kernels([("layer", [taps], taps)]).axes
    (drawn,) = points(ax)
    assert len(drawn) <= 600
    assert (np.diff(drawn[:, 0]) >= 0).all()
    np.testing.assert_array_equal(drawn[:, 1], taps[drawn[:, 0].astype(int)])
    assert {7, 31_001, 50_020} <= set(drawn[:, 0].astype(int))


def test_two_sided_taps_stand_at_both_signs_of_lag():
    taps = np.zeros(16)
    taps[[5, 8, 10]] = 1.0, 2.0, 3.0  # lags -3, 0 and 2
    (ax, merged) = layer_kernels([("layer", [taps], taps)], causal=False).axes
    assert points(ax)[0].tolist() == [[-3, 1], [0, 2], [2, 3]]
    assert ax.texts[0].get_text() == "3\nsamples"
    first, last = merged.get_xlim()
    assert first < -8 and last > 7


def test_a_few_channels_share_a_panel():
    taps = np.arange(1.0, 7).reshape(2, 3)
    (ax, _) = layer_kernels([("layer", [taps], taps)]).axes
    assert [drawn[:, 1].tolist() for drawn in points(ax)] == [[1, 2, 3], [4, 5, 6]]
    colors = [line.get_color() for line in ax.lines[1:]]
    assert len(set(colors)) == 2


def test_layers_may_have_fewer_resolutions():
    short, long = np.ones(2), np.ones(4)
    figure = layer_kernels([("a", [short], short), ("b", [short, long], long)])
    grid = panels(figure, 3)
    assert not grid[1, 0].axison
    assert grid[1, 1].axison
    assert grid[1, 0].texts[0].get_text() == "4\nsamples"


def test_a_kernel_of_zeros_is_drawn():
    (ax, _) = layer_kernels([("layer", [np.zeros(4)], np.zeros(4))]).axes
    assert ax.texts[0].get_text() == "1\nsamples"


def test_what_cannot_be_drawn_is_refused():
    sentence = (
        "layer_kernels: layers must hold at least one layer with one resolution; got 0 layers. "
        "Pass (name, [taps, ...], merged taps) of each."
    )
    with pytest.raises(ArgumentError, match=re.escape(sentence)):
        layer_kernels([])
    sentence = (
        "layer_kernels: kernel_lengths must be (1,), one a resolution; got 2 values. "
        "Pass l_i of the layer with most resolutions."
    )
    with pytest.raises(ShapeError, match=re.escape(sentence)):
        layer_kernels([("layer", [[1.0]], [1.0])], [1, 2])
    sentence = (
        "layer_kernels: taps must be (2 K,) or (channels, 2 K); got (3,). "
        "Pass the taps of one channel or of a few."
    )
    with pytest.raises(ShapeError, match=re.escape(sentence)):
        layer_kernels([("layer", [np.ones(3)], np.ones(3))], causal=False)
