"""A trained model at half the sampling rate, without retraining: what it still gets right."""

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from .._checks import mask_invalid
from ..bench.timing import Pace
from ..convolution import long_convolution
from ..data import Examples
from ..errors import ArgumentError
from ..merging import merge
from ..models import SequenceModel
from ..train import Recipe, TrainingResult, evaluate
from .cell_numbers import measured
from .grid import Numbers
from .training_cell import tested_metric

__all__ = ["RATE", "energy_above", "half_rate_measured", "low_passed", "thinned"]

RATE = 2
#: Samples that the low-pass reaches to either side, and the middle of its edge as a share of the
#: new Nyquist frequency, above which less than a thousandth passes.
REACH, EDGE = 128, 0.94


def half_rate_measured(result: TrainingResult, recipe: Recipe, pace: Pace) -> Numbers:
    """What ``measured`` gives, and accuracies of the test examples at half the rate.

    Args:
        result: Of the training.
        recipe: By which it was trained.
        pace: How long the speeds are measured.

    Returns:
        Further "low-passed" (at the old rate), "unadapted" (every second sample, kernels as they
        are), "energy above" (share of the inputs' energy that half the rate cannot carry), and
        either "half rate" and "half rate, low-passed", or "refused", the sentence of the refusal.
    """
    numbers = measured(result, recipe, pace)
    model, test = result.model.eval(), result.splits.test
    smooth = low_passed(test)

    def quality(one: SequenceModel, examples: Examples) -> float:
        found = evaluate(one, examples, recipe.make_loss(), batch_size=recipe.batch_size)
        return found[tested_metric(result.metrics)]

    numbers |= {
        "low-passed": quality(model, smooth),
        "unadapted": quality(model, thinned(test)),
        "energy above": energy_above(test.x),
    }
    try:
        half = merge(model, rate=RATE)
    except ArgumentError as refusal:
        return {**numbers, "refused": str(refusal)}
    numbers["half rate"] = quality(half, thinned(test))
    numbers["half rate, low-passed"] = quality(half, thinned(smooth))
    return numbers


def thinned(examples: Examples) -> Examples:
    """Every second sample, nothing filtered.

    Args:
        examples: Values (N, L, F).

    Example:
        >>> x = torch.arange(5.0)[None, :, None]
        >>> found = thinned(Examples(x, torch.tensor([0]), torch.tensor([5])))
        >>> found.x.flatten().tolist(), found.lengths.tolist()
        ([0.0, 2.0, 4.0], [3])
    """
    lengths = examples.lengths
    halved = None if lengths is None else -(-lengths // RATE)
    return replace(examples, x=examples.x[:, ::RATE].contiguous(), lengths=halved)


def low_passed(examples: Examples) -> Examples:
    """The examples without what half the rate cannot carry, unshifted in time.

    Args:
        examples: Values (N, L, F), 0 behind each length.

    Returns:
        The examples through a windowed sinc of Hann's form, with a gain of 1 at frequency 0.
    """
    lags = np.arange(-REACH, REACH)  # the first one's window is 0
    window = 0.5 + 0.5 * np.cos(np.pi * lags / REACH)
    taps = np.sinc(EDGE / RATE * lags) * window
    x = examples.x.transpose(1, 2)  # (N, F, L)
    filters = torch.as_tensor(taps / taps.sum(), dtype=x.dtype).expand(x.shape[1], -1)
    smooth = mask_invalid(long_convolution(x, filters, causal=False), examples.lengths)
    return replace(examples, x=smooth.transpose(1, 2).contiguous())


def energy_above(x: Tensor) -> float:
    """Share of the energy of values (N, L, F) above a quarter of their rate.

    Args:
        x: Values.

    Example:
        >>> t = torch.arange(64.0)
        >>> slow, fast = torch.cos(torch.pi * t / 8), torch.cos(3 * torch.pi * t / 4)
        >>> round(energy_above((2 * slow + fast)[None, :, None]), 6)
        0.2
    """
    length = x.shape[1]
    energy = torch.fft.rfft(x.double(), dim=1).abs().square().sum((0, 2))
    # all bins but the first, and of even lengths the last, stand for two
    energy[1 : (length + 1) // 2] *= 2
    above = torch.arange(len(energy)) * 2 * RATE > length
    return float(energy[above].sum() / energy.sum())
