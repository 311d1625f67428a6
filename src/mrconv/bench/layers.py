"""``mrconv bench layers``: a block around MRConv against blocks around other sequence layers."""

from collections.abc import Iterator

import torch
from torch import Tensor

from ..report.length_panels import times_by_length
from .cases import Case, Options
from .crossover import crossover
from .layer_contestants import LAYERS, LayerName, Pass, layers_of, make_block, make_call
from .picture import check_picture, write_picture
from .record import Row
from .timing import take_turns

__all__ = ["Curves", "layer_cases"]

#: Milliseconds by pass, layer and length.
Curves = dict[Pass, dict[LayerName, dict[int, float]]]

LENGTHS, QUICK_LENGTHS = (256, 1024, 4096, 16384, 65536), (32, 64)
CHANNELS, BATCH, SAMPLES = 64, 4, 65536  # batch times length stays at or below SAMPLES
QUICK_CHANNELS = 4

# attention / another layer, at least
BARS: dict[tuple[Pass, LayerName], dict[int, float]] = {
    ("forward", "merged MRConv"): {4096: 5.0, 16384: 20.0},
    ("forward", "MRConv branches"): {4096: 1.0, 16384: 1.0},
    ("training step", "MRConv branches"): {4096: 1.0, 16384: 1.0},
}
RIVALS: tuple[LayerName, LayerName] = ("merged MRConv", "MRConv branches")

# Shapes of ListOps and images, and S4's inference time in units of merged MRConv's that the paper's
# first version gives, on a GPU
PAPER = (((50, 128, 2048), 1.5), ((50, 512, 1024), 1.3))
QUICK_PAPER = (((2, 4, 64), 1.5),)

# Operations a second that attention reaches on two cores, and the longest call worth waiting for
ATTENTION_RATE, LONGEST = 1e11, 30.0
ATTENTION_COST: dict[Pass, float] = {"forward": 4.0, "training step": 7.0}  # B L^2 D of these

SECONDS, LEAST = 4.0, 3  # of one measurement


def layer_cases(options: Options) -> list[Case]:
    """The cases of the bench.

    Args:
        options: Seed, device, pace, picture.

    Returns:
        A case for each length and each of the paper's shapes, and one that finds where the curves
        cross and draws them.

    Raises:
        ArgumentError: If the picture is neither SVG nor PNG.
        MissingExtraError: If a picture is wanted and matplotlib is not installed.
    """
    if options.picture is not None:
        check_picture(options.picture)
    curves: Curves = {"forward": {}, "training step": {}}
    cases = [
        _length_case(length, curves, options)
        for length in (QUICK_LENGTHS if options.quick else LENGTHS)
    ]
    cases += [
        _paper_case(shape, published, options)
        for shape, published in (QUICK_PAPER if options.quick else PAPER)
    ]
    return [*cases, Case("crossovers", lambda: _closing(curves, options), closing=True)]


def _length_case(length: int, curves: Curves, options: Options) -> Case:
    batch = max(1, min(BATCH, SAMPLES // length))
    channels = QUICK_CHANNELS if options.quick else CHANNELS
    shape = (batch, channels, length)

    def measure() -> Iterator[Row | str]:
        x = _noise(shape, options)
        for passed in curves:
            names = layers_of(passed)
            if options.device == "cpu" and _attention_seconds(shape, passed) > LONGEST:
                names.remove("attention")
                seconds = _attention_seconds(shape, passed)
                yield f"  {passed} {shape}: attention skipped, about {seconds:.0f} s expected"
            yield from _pass_rows(names, passed, x, curves, options)

    return Case(f"block {shape}", measure)


def _noise(shape: tuple[int, int, int], options: Options) -> Tensor:
    noise = torch.Generator().manual_seed(options.seed)
    return torch.randn(shape, generator=noise).to(options.device)


def _attention_seconds(shape: tuple[int, int, int], passed: Pass) -> float:
    batch, channels, length = shape
    return ATTENTION_COST[passed] * batch * length**2 * channels / ATTENTION_RATE


def _pass_rows(
    names: list[LayerName], passed: Pass, x: Tensor, curves: Curves, options: Options
) -> Iterator[Row]:
    _, channels, length = x.shape
    calls = {}
    for name in names:
        block = make_block(name, channels, length, options.seed).to(options.device)
        calls[str(name)] = make_call(block, x, passed)
    turns = take_turns(calls, options.pace(SECONDS, LEAST), finish=options.finish)
    what = f"block {tuple(x.shape)}, {passed}"
    for name in names:
        row = turns.time_row(what, name)
        curves[passed].setdefault(name, {})[length] = row.value
        yield row
    for rival in RIVALS if "attention" in names else ():
        bar = BARS.get((passed, rival), {}).get(length)
        yield turns.ratio_row(what, "attention", rival, bar=bar)


def _paper_case(shape: tuple[int, int, int], published: float, options: Options) -> Case:
    what = f"paper's shape {shape}, layer, forward"
    names: tuple[LayerName, ...] = ("merged MRConv", "S4D", "S4D, kernel cached")

    def measure() -> Iterator[Row]:
        x = _noise(shape, options)
        calls = {}
        for name in names:
            layer = LAYERS[name](*shape[1:]).to(options.device)
            calls[str(name)] = make_call(layer, x, "forward")
        turns = take_turns(calls, options.pace(SECONDS), finish=options.finish)
        yield from (turns.time_row(what, name) for name in names)
        published_name = f"{what} (published: {published})"
        yield turns.ratio_row(published_name, "S4D", "merged MRConv")
        yield turns.ratio_row(published_name, "S4D, kernel cached", "merged MRConv")

    return Case(what, measure)


def _closing(curves: Curves, options: Options) -> Iterator[Row | str]:
    for passed, lines in curves.items():
        for rival in RIVALS:
            found = crossover(lines.get("attention", {}), lines.get(rival, {}))
            name = f"{passed}: attention against {rival}"
            yield f"  {name}: attention is {found.words}"
            if found.length is not None:
                yield Row(f"crossover, {name}", found.length, "samples")
    if options.picture is not None and curves["forward"]:
        panels = {
            str(passed): {str(name): line for name, line in lines.items()}
            for passed, lines in curves.items()
        }
        write_picture(options.picture, times_by_length(panels))
        yield f"picture: {options.picture}"
