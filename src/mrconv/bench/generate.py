"""``mrconv bench generate``: tokens per second and memory of language models of equal size."""

from collections.abc import Iterator
from dataclasses import replace

from ..report.generation_panels import generation_by_context
from .cases import Case, Options
from .generate_models import FULL, KINDS, QUICK, Sizes, make_model, parameters
from .generate_rows import Bars, Curves, context_rows
from .picture import check_picture, write_picture
from .record import Row

__all__ = ["generate_cases"]

CONTEXTS, QUICK_CONTEXTS = (512, 2048, 8192, 16384), (32, 64)
BATCHES, QUICK_BATCHES = (1, 16, 64), (1, 2)
#: By context and batch.
BARS = {(8192, 64): Bars(speed=10.0, memory=0.1)}
PARAMETERS_BAR = 1.02  # the largest model over the smallest


def generate_cases(options: Options) -> list[Case]:
    """The cases of the bench.

    Args:
        options: Seed, pace, picture.

    Returns:
        A case for the sizes of the models, one for each context, and one that draws the picture.

    Raises:
        ArgumentError: If the picture is neither SVG nor PNG.
        MissingExtraError: If a picture is wanted and matplotlib is not installed.
    """
    if options.device != "cpu":
        sentence = "  generation skipped, it is measured on the CPU only"
        return [Case("generation", lambda: [sentence])]
    if options.picture is not None:
        check_picture(options.picture)
    curves: Curves = {}
    sizes = replace(QUICK if options.quick else FULL, seed=options.seed)
    contexts = QUICK_CONTEXTS if options.quick else CONTEXTS
    return [
        Case("parameters", lambda: _parameter_rows(sizes, options)),
        *(_context_case(tokens, sizes, options, curves) for tokens in contexts),
        Case("picture", lambda: _drawn(curves, options), closing=True),
    ]


def _parameter_rows(sizes: Sizes, options: Options) -> Iterator[Row]:
    counts = {kind: parameters(make_model(kind, sizes)) for kind in KINDS}
    for kind, count in counts.items():
        yield Row(f"parameters: {kind}", count, "numbers")
    ratio = max(counts.values()) / min(counts.values())
    what = "parameters: largest / smallest"
    if options.quick:
        yield Row(what, ratio, "times")
    else:
        yield Row(what, ratio, "times", bar=PARAMETERS_BAR, better="lower")


def _context_case(tokens: int, sizes: Sizes, options: Options, curves: Curves) -> Case:
    batches = {
        batch: BARS.get((tokens, batch), Bars())
        for batch in (QUICK_BATCHES if options.quick else BATCHES)
    }
    return Case(f"{tokens} tokens", lambda: context_rows(tokens, batches, sizes, options, curves))


def _drawn(curves: Curves, options: Options) -> Iterator[str]:
    if options.picture is not None and curves:
        write_picture(options.picture, generation_by_context(curves))
        yield f"picture: {options.picture}"
