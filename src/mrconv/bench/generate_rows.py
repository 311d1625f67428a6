"""Rows of generation at one context: times, tokens per second, memory, and their bars."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch

from .cases import Options
from .generate_memory import AGAIN, EXACT, Memory, RunName, peak_bytes, rise
from .generate_models import VOCABULARY, Sizes, StreamName, make_stream, merged_hyena
from .generate_runs import ROOM, Again, Generating, Prompt, mean_seconds
from .memory import available_memory
from .record import Row
from .timing import Turns, spread, take_turns

__all__ = ["Bars", "Curves", "context_rows"]

#: Tokens per second, and bytes at the peak, by batch, contestant and context.
Curves = dict[str, dict[str, dict[int, float]]]

ATTENTION: StreamName = "attention"
SMALL: tuple[StreamName, ...] = ("Hyena, distilled", "MultiHyena, distilled")
READ = "memory read"
#: Numbers that are read to learn how fast memory is: more than any cache holds.
NUMBERS, QUICK_NUMBERS = 1 << 26, 1 << 18
SHARE = 0.8  # of the available memory that a contestant may take
SECONDS, LEAST = 4.0, 5  # of one measurement
SLOW, SLOW_LEAST = 2.0, 2  # of those whose calls take seconds
MEGA = 1e6


@dataclass(frozen=True)
class Bars:
    """What distilled models must reach against attention at one context and batch.

    Args:
        speed: Tokens per second over attention's, at least.
        memory: Bytes of the state over those of the cache, at most.
    """

    speed: float | None = None
    memory: float | None = None


@dataclass
class Context:
    """All that is measured at one context.

    Args:
        tokens: L.
        sizes: Of the models.
        options: Seed and pace.
        curves: Filled with what is measured.
    """

    tokens: int
    sizes: Sizes
    options: Options
    curves: Curves
    prompts: dict[StreamName, Prompt] = field(default_factory=dict)

    def named(self, batch: int) -> str:
        """How a batch at this context is called."""
        return f"batch {batch}, {self.tokens} tokens"

    def keep(self, what: str, batch: int, name: str, value: float) -> None:
        """Puts a number into the curve of a contestant."""
        panel = self.curves.setdefault(f"{what}, batch {batch}", {})
        panel.setdefault(name, {})[self.tokens] = value


def context_rows(
    tokens: int, batches: Mapping[int, Bars], sizes: Sizes, options: Options, curves: Curves
) -> Iterator[Row | str]:
    """Everything at one context: prompts, then each batch.

    Args:
        tokens: L of the prompts.
        batches: Their sizes, with the bars of each.
        sizes: Of the models.
        options: Seed and pace.
        curves: Filled with tokens per second and peak memory.

    Yields:
        Rows, and a sentence for each cell that is skipped.
    """
    context = Context(tokens, sizes, options, curves)
    for name in (ATTENTION, EXACT, *SMALL):
        stream = make_stream(name, sizes, tokens + ROOM)
        prompt = Prompt(stream, tokens, VOCABULARY, options.seed)
        context.prompts[name] = prompt
        yield Row(f"prompt of one row, {tokens} tokens: {name}", prompt.seconds, "s")
    for batch, bars in batches.items():
        fitting = []
        for name in (ATTENTION, EXACT, *SMALL):
            words = _too_large(context, name, batch)
            if words is None:
                fitting.append(name)
            else:
                yield words
        yield from _steady_rows(context, batch, fitting, bars)
        yield from _slow_rows(context, batch, fitting)
        yield from _state_rows(context, batch, bars)
        yield from _peak_rows(context, batch, [*fitting, AGAIN])


def needed(context_tokens: int, channels: int, name: StreamName, row_bytes: int, batch: int) -> int:
    """Bytes that a batch takes: its state, and for the exact stream the FFT of its largest tile.

    Args:
        context_tokens: L.
        channels: D.
        name: Whose.
        row_bytes: State of one row.
        batch: B.

    Returns:
        Bytes.
    """
    # input, spectrum, product and result of an FFT of 2 L
    tile = 4 * 4 * 2 * context_tokens * channels if name == EXACT else 0
    return batch * (row_bytes + tile)


def _too_large(context: Context, name: StreamName, batch: int) -> str | None:
    """The sentence for a batch that would not fit."""
    row_bytes = context.prompts[name].state.nbytes
    wanted = needed(context.tokens, context.sizes.channels, name, row_bytes, batch)
    free = available_memory()
    if free is None or wanted <= SHARE * free:
        return None
    return (
        f"  {context.named(batch)}: {name} skipped, it needs {wanted / 1e9:.1f} GB of the "
        f"{free / 1e9:.1f} GB that are free"
    )


def cache_read(generating: Generating) -> float:
    """Bytes of keys and values that one step at the context reads.

    Args:
        generating: Of attention.

    Returns:
        Bytes.
    """
    total = 0.0
    for name, tensor in generating.state.named_tensors():
        if name.rpartition(".")[2] in ("keys", "values"):
            total += tensor.nbytes * (generating.context + 1) / tensor.shape[2]
    return total


def _steady_rows(
    context: Context, batch: int, fitting: Sequence[StreamName], bars: Bars
) -> Iterator[Row]:
    """Attention and the recurrences in turns, with a large read of memory among them."""
    options, what = context.options, context.named(batch)
    names = [name for name in (ATTENTION, *SMALL) if name in fitting]
    running = {name: Generating(context.prompts[name], batch) for name in names}
    # ones: fresh zeros are one page of memory, read from the cache
    numbers = torch.ones(QUICK_NUMBERS if options.quick else NUMBERS)
    calls: dict[str, Callable[[], object]] = {name: one.step for name, one in running.items()}
    turns = take_turns({**calls, READ: numbers.sum}, options.pace(SECONDS, LEAST))
    for name in names:
        yield from _speed_rows(context, batch, name, turns.seconds[name])
        if name == ATTENTION:
            yield from bandwidth_rows(what, turns, cache_read(running[name]), numbers.nbytes)
    for name in SMALL if ATTENTION in running else ():
        yield turns.ratio_row(f"step, {what}", ATTENTION, name, bar=bars.speed)


def bandwidth_rows(what: str, turns: Turns, cache: float, read: int) -> Iterator[Row]:
    """How long attention's step would take if it did nothing but read its cache.

    Args:
        what: Batch and context.
        turns: Of attention, and of reading ``read`` bytes.
        cache: Bytes of the cache that a step reads.
        read: Bytes.

    Yields:
        The speed of memory, the estimate, and the step in units of the estimate.
    """
    speeds = [read / seconds for seconds in turns.seconds[READ]]
    median, low, high = spread([speed / 1e9 for speed in speeds])
    yield Row(f"{READ}, {what}", median, "GB/s", (low, high))
    estimates = [cache / speed for speed in speeds]
    both = Turns({ATTENTION: turns.seconds[ATTENTION], "cache read": estimates})
    yield both.time_row(f"bandwidth estimate, {what}", "cache read")
    yield both.ratio_row(f"bandwidth estimate, {what}", ATTENTION, "cache read")


def _speed_rows(
    context: Context, batch: int, name: RunName, seconds: Sequence[float]
) -> Iterator[Row]:
    """Milliseconds of a step, and tokens of all rows per second."""
    what = context.named(batch)
    yield Turns({name: seconds}).time_row(f"step, {what}", name)
    median, low, high = spread([batch / one for one in seconds])
    yield Row(f"tokens per second, {what}: {name}", median, "tokens/s", (low, high))
    context.keep("tokens per second", batch, name, median)


def _slow_rows(context: Context, batch: int, fitting: Sequence[StreamName]) -> Iterator[Row | str]:
    """The exact stream, whose steps differ, and the model run again."""
    options, pace = context.options, context.options.pace(SLOW, SLOW_LEAST)
    if EXACT in fitting:
        generating = Generating(context.prompts[EXACT], batch)
        yield from _speed_rows(context, batch, EXACT, mean_seconds(generating, pace))
        del generating  # as large as attention's cache
    again = Again(merged_hyena(context.sizes), context.tokens, batch, options.seed)
    turns = take_turns({AGAIN: again.step}, pace)
    if again.pieces > 1:
        yield (
            f"  {context.named(batch)}: {AGAIN} in {again.pieces} pieces of {again.rows} rows, "
            "one of which is timed"
        )
    whole = [again.pieces * seconds for seconds in turns.seconds[AGAIN]]
    yield from _speed_rows(context, batch, AGAIN, whole)


def _state_rows(context: Context, batch: int, bars: Bars) -> Iterator[Row]:
    """Bytes that the streams keep, as the library counts them, and those over the cache's."""
    what = f"state, {context.named(batch)}"
    sizes = {name: batch * prompt.state.nbytes for name, prompt in context.prompts.items()}
    for name, size in sizes.items():
        yield Row(f"{what}: {name}", size / MEGA, "MB")
    for name in SMALL:
        yield Row(
            f"{what}: {name} / {ATTENTION}",
            sizes[name] / sizes[ATTENTION],
            "times",
            None,
            bars.memory,
            None if bars.memory is None else "lower",
        )


def _peak_rows(context: Context, batch: int, names: Sequence[RunName]) -> Iterator[Row]:
    """Peak memory, in a fresh process each; in quick mode in this one."""
    setting = Memory(context.sizes, context.tokens, batch)
    for name in names:
        size = rise(name, setting) if context.options.quick else peak_bytes(name, setting)
        yield Row(f"peak memory, {context.named(batch)}: {name}", size / MEGA, "MB")
        context.keep("peak memory", batch, name, size / MEGA)
