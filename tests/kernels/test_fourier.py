"""Fourier kernels against their series, evaluated cosine by cosine."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mrconv.errors import ArgumentError
from mrconv.kernels import FourierKernel
from mrconv.testing import assert_close, fourier_series

SIZES = [(1, 0), (1, 3), (2, 0), (2, 1), (2, 4), (4, 0), (4, 1), (4, 3), (5, 2), (7, 0), (8, 3)]


@pytest.mark.parametrize(("kernel_size", "resolution"), SIZES)
def test_taps_are_the_series(kernel_size, resolution):
    kernel = FourierKernel(3, kernel_size, resolution, dtype=torch.float64)
    lags = torch.arange(kernel.span)
    expected = fourier_series(kernel.coefficients, kernel.span, lags)
    assert_close(kernel.taps(), expected)
    ahead = fourier_series(kernel.coefficients, kernel.span, lags + 1)
    assert_close(kernel.future_taps(), ahead)


@given(st.integers(1, 6), st.integers(1, 4), st.sampled_from([2, 4]))
def test_a_lower_rate_samples_the_same_series(half, resolution, rate):
    kernel = FourierKernel(2, 2 * half, resolution, dtype=torch.float64)
    if 2 ** (resolution + 1) < 2 * rate or kernel.span % rate:
        return  # modes fall away, tested below
    lags = torch.arange(0, kernel.span, rate)
    expected = rate * fourier_series(kernel.coefficients, kernel.span, lags)
    assert_close(kernel.taps(rate), expected)
    ahead = rate * fourier_series(kernel.coefficients, kernel.span, lags + rate)
    assert_close(kernel.future_taps(rate), ahead)


@pytest.mark.parametrize("kernel_size", [2, 4, 6, 8, 12])
def test_modes_above_the_new_nyquist_frequency_fall_away_at_the_first_resolution(kernel_size):
    kernel = FourierKernel(2, kernel_size, 0, dtype=torch.float64)
    kept = kernel.coefficients.detach().clone()
    kept[:, kernel_size // 4 + 1 :] = 0
    expected = 2 * fourier_series(kept, kernel_size, torch.arange(0, kernel_size, 2))
    assert_close(kernel.taps(2), expected)


@pytest.mark.parametrize("resolution", [2, 3, 5])
def test_half_rate_keeps_every_other_tap_from_the_third_resolution(resolution):
    kernel = FourierKernel(2, 4, resolution, dtype=torch.float64)
    plain = torch.view_as_complex(kernel.coefficients.detach())
    thinned = torch.fft.irfft(plain, kernel.span // 2) * kernel.span**0.5
    assert_close(kernel.taps(2), thinned)
    assert_close(kernel.taps(2), 2 * kernel.taps()[:, ::2])


@pytest.mark.parametrize(("size", "modes"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (16, 9)])
def test_modes(size, modes):
    kernel = FourierKernel(3, size, 2)
    assert kernel.modes == modes
    assert kernel.coefficients.shape == (3, modes, 2)


@pytest.mark.parametrize("size", [1, 2, 4, 5])
def test_starts_as_the_spectrum_of_real_numbers(size):
    kernel = FourierKernel(500, size, 1, dtype=torch.float64)
    spectrum = torch.view_as_complex(kernel.coefficients.detach())
    assert (spectrum[:, 0].imag == 0).all()
    if size % 2 == 0:
        assert (spectrum[:, -1].imag == 0).all()
    values = torch.fft.irfft(spectrum, size)
    assert_close(torch.fft.rfft(values).abs(), spectrum.abs())
    assert abs(float(values.mean())) < 0.15
    assert float(values.std()) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("resolution", [0, 3, 6])
def test_energy_does_not_fall_with_the_span(resolution):
    energy = FourierKernel(2000, 16, resolution).taps().detach().square().sum(-1).mean()
    assert float(energy) == pytest.approx(16 * 16.5, rel=0.06)


@pytest.mark.parametrize(("size", "resolution", "rate"), [(1, 0, 2), (5, 0, 2), (3, 1, 4)])
def test_refuses_a_rate_that_does_not_divide_the_span(says, size, resolution, rate):
    kernel = FourierKernel(2, size, resolution)
    with says(
        ArgumentError,
        f"FourierKernel: rate must divide the span of {kernel.span} taps at resolution "
        f"{resolution}; got rate={rate}. Choose a kernel_size divisible by {rate}.",
    ):
        kernel.taps(rate)
