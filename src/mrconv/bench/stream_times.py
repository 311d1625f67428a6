"""Time of a step and of a chunk by length, against all products and against the parallel layer."""

from collections.abc import Callable, Iterator, Mapping

from .cases import Case, Options
from .record import Row
from .stream_clock import percentile_over_median, period_seconds, worst_step
from .stream_contestants import (
    CHUNK,
    FORMS,
    FormName,
    NaiveDot,
    Rerun,
    Running,
    dense_layer,
    make_layer,
    make_stream,
)
from .threads import on_threads
from .timing import Turns, spread, take_turns

__all__ = ["CHANNELS", "QUICK_CHANNELS", "Curves", "time_cases"]

#: Milliseconds by what was timed, contestant and length.
Curves = dict[str, dict[str, dict[int, float]]]

LENGTHS, QUICK_LENGTHS = (1024, 4096, 16384, 65536, 262144), (512, 1024)
CHANNELS, QUICK_CHANNELS = 64, 4

NAIVE, AGAIN = "all products", "parallel again"
STEP, PIECE = "step", f"chunk of {CHUNK}"
SECONDS, LEAST = 3.0, 5  # of one measurement

# Structured kernels: a step at the longer length over one at the shorter, at most
GROWTH: tuple[FormName, ...] = ("Fourier by windows", "dilated by gather", "sparse by gather")
GROWTH_LENGTHS, QUICK_GROWTH, GROWTH_BAR = (1024, 65536), (512, 1024), 2.0

# Dense taps: all products over tiles in the mean, at least; 99.9th percentile over median, at most
DENSE_LENGTH, QUICK_DENSE = 32768, 1024
TILES_BAR, FLAT_BAR = 5.0, 5.0
ROUNDS, NAIVE_STEPS, FLAT_STEPS = 3, 1000, 10_000


def time_cases(curves: Curves, options: Options) -> list[Case]:
    """Times by length, their growth, and the two bars of dense taps.

    Args:
        curves: Filled with what is measured.
        options: Seed and pace.

    Returns:
        A case for each length, one for the growth and one for dense taps.
    """
    lengths = QUICK_LENGTHS if options.quick else LENGTHS
    cases = [_length_case(length, curves, options) for length in lengths]
    return [
        *cases,
        Case("growth of a step", lambda: _growth_rows(options)),
        Case("dense taps", lambda: _dense_rows(options)),
    ]


def _running(form: FormName, length: int, options: Options) -> Running:
    """A stream whose memory is full but for the last few samples."""
    channels = _channels(options)
    stream = make_stream(form, make_layer(form, channels, length, options.seed))
    return Running(stream, channels, length - length // 16, options.seed)


def _length_case(length: int, curves: Curves, options: Options) -> Case:
    def measure() -> Iterator[Row | str]:
        with on_threads(1):
            streams = {form: _running(form, length, options) for form in FORMS}
            yield from _step_rows(streams, length, curves, options)
            yield from _chunk_rows(streams, length, curves, options)
            for form, running in streams.items():
                worst = worst_step(running, length)
                yield Row(f"worst step, {length} samples: {form}", 1000 * worst, "ms")
            for form, running in streams.items():
                yield Row(f"state, {length} samples: {form}", running.state.nbytes / 1e3, "kB")

    return Case(f"{length} samples", measure)


def _step_rows(
    streams: Mapping[FormName, Running], length: int, curves: Curves, options: Options
) -> Iterator[Row]:
    calls: dict[str, Callable[[], object]] = {form: one.step for form, one in streams.items()}
    calls |= {NAIVE: _naive(length, options).step, AGAIN: _again(length, options).step}
    turns = take_turns(calls, options.pace(SECONDS, LEAST))
    yield from _kept(turns, STEP, length, curves)
    for form in streams:
        yield turns.ratio_row(f"step, {length} samples", NAIVE, form)
    for form in streams:
        yield turns.ratio_row(f"step, {length} samples", AGAIN, form)


def _chunk_rows(
    streams: Mapping[FormName, Running], length: int, curves: Curves, options: Options
) -> Iterator[Row]:
    calls: dict[str, Callable[[], object]] = {form: one.chunk for form, one in streams.items()}
    calls[AGAIN] = _again(length, options).step
    turns = take_turns(calls, options.pace(SECONDS, LEAST))
    yield from _kept(turns, PIECE, length, curves)
    for form in streams:
        yield turns.ratio_row(f"chunk of {CHUNK}, {length} samples", AGAIN, form)


def _kept(turns: Turns, what: str, length: int, curves: Curves) -> Iterator[Row]:
    for name in turns.seconds:
        row = turns.time_row(f"{what}, {length} samples", name)
        curves.setdefault(what, {}).setdefault(name, {})[length] = row.value
        yield row


def _naive(length: int, options: Options) -> NaiveDot:
    layer = dense_layer(_channels(options), length)
    return NaiveDot(layer.taps.detach(), options.seed)


def _again(length: int, options: Options) -> Rerun:
    return Rerun(dense_layer(_channels(options), length), options.seed)


def _channels(options: Options) -> int:
    return QUICK_CHANNELS if options.quick else CHANNELS


def _growth_rows(options: Options) -> Iterator[Row]:
    short, long = QUICK_GROWTH if options.quick else GROWTH_LENGTHS
    with on_threads(1):
        for form in GROWTH:
            pair = {
                f"{length} samples": _running(form, length, options).step
                for length in (short, long)
            }
            turns = take_turns(pair, options.pace(SECONDS))
            names = f"{long} samples", f"{short} samples"
            yield turns.ratio_row(f"step, {form}", *names, bar=GROWTH_BAR, better="lower")


def _dense_rows(options: Options) -> Iterator[Row]:
    length = QUICK_DENSE if options.quick else DENSE_LENGTH
    steps = 100 if options.quick else NAIVE_STEPS
    rounds = options.repeats or ROUNDS
    what = f"mean step over a period of the tiles, {length} samples"
    with on_threads(1):
        naive, tiles = _naive(length, options), _running("dense by tiles", length, options)
        seconds: dict[str, list[float]] = {NAIVE: [], "dense by tiles": []}
        for _ in range(rounds):
            seconds[NAIVE].append(period_seconds(naive.step, steps))
            seconds["dense by tiles"].append(period_seconds(tiles.step, length))
        turns = Turns(seconds)
        yield from (turns.time_row(what, name) for name in seconds)
        yield turns.ratio_row(what, NAIVE, "dense by tiles", bar=TILES_BAR)
        flat = _running("dense, flat", length, options)
        many = 200 if options.quick else FLAT_STEPS
        found = spread([percentile_over_median(flat.step, many) for _ in range(rounds)])
        yield Row(
            f"step, dense, flat, {length} samples: 99.9th percentile / median",
            found.median,
            "times",
            (found.low, found.high),
            FLAT_BAR,
            "lower",
        )
