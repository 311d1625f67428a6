"""Half the sampling rate: what is taken, what is filtered, and which energy is lost."""

import numpy as np
import torch

from mrconv.data import Examples
from mrconv.experiments.half_rate import energy_above, low_passed, thinned


def examples(x, lengths=None):
    return Examples(x, torch.zeros(len(x), dtype=torch.int64), lengths)


def test_every_second_sample_and_half_the_lengths():
    x = torch.arange(14.0).reshape(2, 7, 1)
    found = thinned(examples(x, torch.tensor([7, 4])))
    assert found.x[1].flatten().tolist() == [7, 9, 11, 13]
    assert found.lengths.tolist() == [4, 2]
    assert thinned(examples(x)).lengths is None


def test_the_low_pass_keeps_slow_waves_in_place_and_stops_fast_ones():
    t = torch.arange(2048.0, dtype=torch.float64)
    slow, fast = torch.cos(2 * np.pi * 0.2 * t), torch.cos(2 * np.pi * 0.26 * t)
    x = torch.stack([slow, fast, slow + fast])[..., None]
    inside = slice(300, -300)
    found = low_passed(examples(x)).x[..., 0]
    assert (found[0] - slow)[inside].abs().max() < 5e-3
    assert found[1][inside].abs().max() < 5e-3
    assert (found[2] - slow)[inside].abs().max() < 1e-2
    ragged = low_passed(examples(x, torch.tensor([1000, 2048, 1])))
    assert not ragged.x[0, 1000:].any() and ragged.x[0, 999].any()


def test_the_energy_that_half_the_rate_cannot_carry():
    for length in (64, 65):
        x = torch.randn(3, length, 2, dtype=torch.float64)
        spectrum = np.abs(np.fft.fft(x.numpy(), axis=1)) ** 2
        above = np.abs(np.fft.fftfreq(length)) > 0.25
        share = spectrum[:, above].sum() / spectrum.sum()
        assert abs(energy_above(x) - share) < 1e-12
