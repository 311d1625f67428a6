"""The picture of a model: its axes in hertz and samples, whatever one step of the model is."""

import pytest

import mrconv
from mrconv.data import InputContract

pytest.importorskip("matplotlib", reason="needs: pip install 'mrconv[report]'")

from mrconv.experiments.portrait import time_scales_of


@pytest.mark.parametrize("frame", [1, 4])
def test_frequencies_end_at_half_the_rate_of_the_steps(frame):
    mixer = {"kernel": "dense", "kernel_size": 8}
    backbone = mrconv.SequenceBackbone(frame, 32, channels=4, depth=2, mixer=mixer)
    model = mrconv.SequenceClassifier(backbone, 3).eval()
    model.contract = InputContract("audio", 32 * frame, sample_rate=8000.0, frame=frame)
    gains, spectra = time_scales_of(model).axes
    for line in spectra.lines:
        assert line.get_xdata()[-1] == pytest.approx(4000 / frame)
    labels = [tick.get_text() for tick in gains.get_xticklabels()]
    assert labels == [str(frame * length) for length in (8, 16, 32)]
