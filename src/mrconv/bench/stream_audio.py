"""Models that stream sound: faster than real time, and for as long as one likes."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ..merging import merge
from ..models import SequenceBackbone, SequenceClassifier
from ..streaming import Streamer
from .cases import Case, Options
from .record import Better, Row
from .stream_clock import each_seconds
from .stream_contestants import FORMS, make_layer, make_stream
from .threads import on_threads

__all__ = ["audio_cases", "spoken_model"]

LENGTH, CLASSES, BLOCKS = 4096, 10, 6  # as in the recipe for speech
PIECE = 0.02  # seconds of sound in a chunk


class Load(NamedTuple):
    """A model, its sampling rate and the cores it may use."""

    channels: int
    rate: int
    cores: int
    bar: float
    latency_bar: float | None

    def __str__(self) -> str:
        cores = "one core" if self.cores == 1 else f"{self.cores} cores"
        return f"{BLOCKS} blocks of {self.channels} channels at {self.rate:,} Hz, {cores}"


LOADS = (Load(64, 8000, 1, 3.0, 1000 * PIECE), Load(128, 16000, 2, 1.0, None))
PIECES, QUICK_PIECES, WARM = 500, 3, 10
QUICK_CHANNELS = 4

# A long stream: channels, length, samples, samples of a chunk
LONG, QUICK_LONG = (2, 4096, 10_000_000, 65536), (2, 512, 2000, 300)


def audio_cases(options: Options) -> list[Case]:
    """Real time and endurance.

    Args:
        options: Seed and pace.

    Returns:
        A case for each load, and one for the state behind many samples.
    """
    cases = [_load_case(load, options) for load in LOADS]
    return [*cases, Case("a long stream", lambda: _long_rows(options))]


def spoken_model(channels: int, seed: int = 0) -> SequenceClassifier:
    """The classifier of the recipe for speech, untrained.

    Args:
        channels: Width; 64 in the recipe.
        seed: Of the parameters.

    Returns:
        The model, in eval mode.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        mixer = {"kernel": "dilated", "kernel_size": 16}
        backbone = SequenceBackbone(
            1, LENGTH, channels=channels, depth=BLOCKS, mixer=mixer, dropout=0.1
        )
        return SequenceClassifier(backbone, CLASSES).eval()


def _load_case(load: Load, options: Options) -> Case:
    def measure() -> Iterator[Row]:
        channels = QUICK_CHANNELS if options.quick else load.channels
        model = spoken_model(channels, options.seed)
        branches = Streamer(model, window=LENGTH)
        costs = branches.explain().rows
        cheaper = all(row.merged is None or row.operations < row.merged for row in costs)
        forms = {"branches": branches, "merged": Streamer(merge(model), window=LENGTH)}
        advised = "branches" if cheaper else "merged"
        for form, stream in forms.items():
            taken = _piece_seconds(load, stream, options)
            if form == advised:
                form = f"{form} (as explain() advises)"
                yield from _real_time_rows(f"{load}, {form}", taken, load.bar, load.latency_bar)
            else:
                yield from _real_time_rows(f"{load}, {form}", taken)

    return Case(str(load), measure)


def _piece_seconds(load: Load, stream: Streamer, options: Options) -> NDArray[np.float64]:
    """What every piece takes, the first ten left out."""
    size = round(PIECE * load.rate)
    count = QUICK_PIECES if options.quick else options.repeats or PIECES
    x = torch.randn(1, size, 1, generator=torch.Generator().manual_seed(options.seed))
    state = stream.init_state(1)

    def call() -> None:
        nonlocal state
        _, state = stream.chunk(x, state)

    with on_threads(load.cores):
        return each_seconds(call, WARM + count)[WARM:]


def _real_time_rows(
    name: str,
    taken: NDArray[np.float64],
    bar: float | None = None,
    latency_bar: float | None = None,
) -> Iterator[Row]:
    low, middle, high = (PIECE / float(one) for one in np.quantile(taken, [0.75, 0.5, 0.25]))
    yield Row(f"{name}: sound over median time of a chunk", middle, "times", (low, high))
    mean = PIECE / float(taken.mean())
    better: Better | None = None if bar is None else "higher"
    yield Row(f"{name}: faster than real time", mean, "times", None, bar, better)
    slow = 1000 * float(np.percentile(taken, 99))
    better = None if latency_bar is None else "lower"
    yield Row(f"{name}: 99th percentile of a chunk", slow, "ms", None, latency_bar, better)


def _long_rows(options: Options) -> Iterator[Row]:
    channels, length, samples, size = QUICK_LONG if options.quick else LONG
    x = torch.randn(1, channels, size, generator=torch.Generator().manual_seed(options.seed))
    for form in FORMS:
        stream = make_stream(form, make_layer(form, channels, length, options.seed))
        state, finite = stream.init_state(1), True
        before, seen = state.nbytes, 0
        while seen < samples:
            y, state = stream.chunk(x[..., : samples - seen], state)
            finite, seen = finite and bool(y.isfinite().all()), seen + min(size, samples - seen)
        tensors = [tensor for _, tensor in state.named_tensors()]
        finite = finite and all(bool(tensor.isfinite().all()) for tensor in tensors)
        name = f"state behind {samples:,} samples: {form}"
        yield Row(f"{name}, size over fresh", state.nbytes / before, "times", None, 1.0, "lower")
        yield Row(f"{name}, all finite", float(finite), "yes is 1", None, 1.0, "higher")
