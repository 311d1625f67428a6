"""The spectra of kernels against sums written out, and which panels a picture has."""

import numpy as np
import pytest

from mrconv.errors import ArgumentError, ShapeError

pytest.importorskip("matplotlib", reason="needs: pip install 'mrconv[report]'")

from mrconv.report.spectrum_panels import MOST_POINTS, kernel_spectra, time_scales


def test_a_line_is_the_mean_power_of_the_channels_in_decibels():
    taps = np.random.default_rng(0).normal(size=(3, 50))
    (line,) = kernel_spectra([taps], sample_rate=100.0).axes[0].lines
    x, y = line.get_xdata(), line.get_ydata()
    frequencies = np.arange(51) / 100
    waves = np.exp(-2j * np.pi * frequencies[:, None] * np.arange(50))
    power = (np.abs(waves @ taps.T) ** 2).mean(1)
    np.testing.assert_allclose(x[1:], 100 * frequencies[1:])
    assert 0 < x[0] < x[1]  # stands for the frequency 0
    np.testing.assert_allclose(y, 10 * np.log10(power / power.max()), atol=1e-9)


def test_long_kernels_are_thinned_to_means_of_neighbours():
    delta = np.zeros((2, 5000))
    delta[:, 7] = 3.0
    (line,) = kernel_spectra([delta]).axes[0].lines
    assert len(line.get_xdata()) <= MOST_POINTS
    np.testing.assert_allclose(line.get_ydata(), 0, atol=1e-9)  # a delta holds all alike
    assert (np.diff(line.get_xdata()) > 0).all()
    assert line.get_xdata()[-1] == pytest.approx(0.5, rel=0.02)


def test_gains_stand_beside_the_spectra_where_there_are_any():
    taps = [np.ones((2, 8)), np.ones((2, 8))]
    both = time_scales(taps, [[3.0, 1.0], [1.0, 1.0]], [4, 8])
    assert [cell.get_text() for cell in both.axes[0].texts] == ["0.75", "0.25", "0.50", "0.50"]
    assert [line.get_label() for line in both.axes[1].lines] == ["1", "2"]
    assert len(time_scales(taps).axes) == 1


@pytest.mark.parametrize(
    ("error", "taps", "names", "sentence"),
    [
        (
            ArgumentError,
            [],
            None,
            "kernel_spectra: taps must hold those of at least one layer; got none. "
            "Pass (channels, taps) of each.",
        ),
        (
            ShapeError,
            [np.ones(4)],
            None,
            "kernel_spectra: taps must be (channels, taps) of each layer; got (4,). "
            "Pass one array a layer.",
        ),
        (
            ShapeError,
            [np.ones((1, 4))],
            ["a", "b"],
            "kernel_spectra: layer_names must be one a layer, 1; got 2. Name each layer once.",
        ),
    ],
)
def test_sentences(says, error, taps, names, sentence):
    with says(error, sentence):
        kernel_spectra(taps, names)
