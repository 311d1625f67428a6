"""Models that stream sound: faster than real time, and for as long as one likes."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch

from ..merging import merge
from ..models import SequenceBackbone, SequenceClassifier
from ..streaming import Streamer
from .cases import Case, Options
from .record import Row
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
PIECES, QUICK_PIECES = 500, 3
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
        model = spoken_model(QUICK_CHANNELS if options.quick else load.channels, options.seed)
        branches = Streamer(model, window=LENGTH)
        advised = branches.explain()
        cheaper = all(row.merged is None or row.operations < row.merged for row in advised.rows)
        streams = {"branches": branches, "merged": Streamer(merge(model), window=LENGTH)}
        for form, stream in streams.items():
            yield from _real_time(load, form, stream, advised=cheaper == (form == "branches"))

    def _real_time(load: Load, form: str, stream: Streamer, *, advised: bool) -> Iterator[Row]:
        size, count = round(PIECE * load.rate), options.repeats or PIECES
        x = torch.randn(1, size, 1, generator=torch.Generator().manual_seed(options.seed))
        state = stream.init_state(1)

        def call() -> None:
            nonlocal state
            _, state = stream.chunk(x, state)

        with on_threads(load.cores):
            each_seconds(call, 10)
            taken = each_seconds(call, QUICK_PIECES if options.quick else count)
        name = f"{load}, {form}{' (as explain() advises)' if advised else ''}"
        low, middle, high = (PIECE / one for one in np.quantile(taken, [0.75, 0.5, 0.25]))
        yield Row(f"{name}: faster than real time, median chunk", middle, "times", (low, high))
        bar, better = (load.bar, "higher") if advised else (None, None)
        yield Row(
            f"{name}: faster than real time", PIECE / taken.mean(), "times", None, bar, better
        )
        bar = load.latency_bar if advised else None
        slow = 1000 * float(np.percentile(taken, 99))
        better = None if bar is None else "lower"
        yield Row(f"{name}: 99th percentile of a chunk", slow, "ms", None, bar, better)

    return Case(str(load), measure)


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
