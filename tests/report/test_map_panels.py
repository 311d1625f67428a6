"""Maps as pictures."""

import numpy as np
import pytest

from mrconv.errors import ArgumentError, ShapeError
from mrconv.report.map_panels import map_panels

pytest.importorskip("matplotlib", reason="needs: pip install 'mrconv[report]'")

ROWS = [("one", [("a", [[0, 1], [2, 4]]), ("b", np.zeros((3, 5)))]), ("two", [("c", [[-3.0]])])]


def test_pictures_hold_the_values_from_their_largest():
    figure, lows = map_panels("maps", ROWS), (0, 0, -3)
    images = [ax.images[0] for ax in figure.axes if ax.images]
    assert len(figure.axes) == 4
    for image, (_, values), low in zip(images, [*ROWS[0][1], *ROWS[1][1]], lows, strict=True):
        np.testing.assert_array_equal(np.asarray(image.get_array()), values)
        assert image.get_clim()[0] == low
    assert [ax.get_title() for ax in figure.axes] == ["a", "b", "c", ""]
    assert [ax.get_ylabel() for ax in figure.axes] == ["one", "", "two", ""]


def test_zero_is_the_middle_of_two_signs():
    picture = map_panels("maps", [("row", [("a", [[-1.0, 0.0, 1.0]])])]).axes[0].images[0]
    below, middle, above = picture.to_rgba(picture.get_array())[0, :, :3]
    assert middle.min() > 0.9
    assert below[0] > below[2]
    assert above[2] > above[0]


def test_nothing_and_wrong_shapes(says):
    with says(
        ArgumentError,
        "map_panels: rows must hold at least one picture; got 1 rows. "
        "Pass (name, [(name, values), ...]).",
    ):
        map_panels("maps", [("row", [])])
    with says(ShapeError, "map_panels: a picture must be (height, width); got (3,). Pass one map."):
        map_panels("maps", [("row", [("a", [1, 2, 3])])])
