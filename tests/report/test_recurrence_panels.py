"""Spectra, taps and poles of a few filters."""

import numpy as np
import pytest

from mrconv.errors import ArgumentError, ShapeError
from mrconv.report.palette import SERIES
from mrconv.report.recurrence_panels import RecurrenceFit, recurrence_fits

pytest.importorskip("matplotlib", reason="needs: pip install 'mrconv[report]'")

TAPS = 0.5 ** np.arange(6.0)


def fit(name="a", order=2, head=2, poles=(0.5 + 0.1j, -0.3 + 0j), taps=TAPS):
    return RecurrenceFit(name, [1.0, 0.1, 0.0], order, head, taps, taps + 0.01, list(poles))


def test_panels_hold_the_numbers():
    spectra, first, second, disc = recurrence_fits([fit("a"), fit("b", order=3)]).axes
    line, dot, other, _ = spectra.lines
    assert list(line.get_ydata()) == [1.0, 0.1, 1e-16]  # zero has no place on the axis
    assert (list(dot.get_xdata()), list(dot.get_ydata())) == ([2], [0.1])
    assert [line.get_color(), other.get_color()] == list(SERIES[:2])
    taps, made = first.lines[1:]
    assert list(taps.get_xdata()) == [2, 3, 4, 5]
    assert np.allclose(taps.get_ydata(), TAPS[2:])
    assert np.allclose(made.get_ydata(), TAPS[2:] + 0.01)
    assert first.get_title(loc="left") == "Taps behind the 2 explicit ones"
    assert (first.get_ylabel(), second.get_ylabel()) == ("a", "b")
    points = disc.lines[-1]
    found = set(zip(points.get_xdata().tolist(), points.get_ydata().tolist(), strict=True))
    assert found == {(0.5, 0.1), (0.5, -0.1), (-0.3, 0.0)}  # pairs are whole, a real pole is one


def test_taps_that_are_all_explicit_and_filters_without_poles():
    spectra, taps, disc = recurrence_fits([fit(order=0, head=9, poles=())]).axes
    assert taps.get_title(loc="left") == "Taps, all of them explicit"
    assert list(taps.lines[1].get_xdata()) == list(range(6))
    assert len(spectra.lines) == 1
    assert len(disc.lines[-1].get_xdata()) == 0


@pytest.mark.parametrize("count", [0, 5])
def test_refuses_other_numbers_of_filters(says, count):
    with says(
        ArgumentError,
        f"recurrence_fits: fits must be 1 to 4 filters; got {count}. "
        "Choose some, such as the best and the worst.",
    ):
        recurrence_fits([fit()] * count)


def test_refuses_other_lags(says):
    with says(
        ShapeError,
        "recurrence_fits: taps and fit must be (K,); got (6,) and (5,). "
        "Pass both over the same lags.",
    ):
        recurrence_fits([fit()._replace(fit=TAPS[1:])])
