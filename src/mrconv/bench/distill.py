"""``mrconv bench distill``: errors of small recurrences beside what is possible, and their time."""

from collections.abc import Iterator

import torch
from torch import Tensor

from ..report.error_panels import errors_by_order
from .cases import Case, Options
from .distill_errors import FIR_HEAD, Bars, ErrorCurves, error_rows
from .distill_exact import modal_rows, pair_rows, s4d_rows
from .distill_gradient import Race, gradient_rows
from .distill_limits import bad_fit_rows, endless_rows, many_filters_rows, special_rows
from .distill_models import trained_taps
from .filters import FAMILIES, Family, family_taps
from .picture import check_picture, write_picture
from .record import Row

__all__ = ["distill_cases"]

Curves = dict[str, ErrorCurves]

LENGTH, FILTERS, ORDERS = 1024, 6, (4, 8, 16, 32, 64)
QUICK_LENGTH, QUICK_FILTERS, QUICK_ORDERS = 128, 2, (2, 4)
FAR = 5.0  # error / lower bound, at most
BARS: dict[Family, Bars] = {
    "Fourier, size 1": Bars(error={16: 2e-3}),
    "Fourier, size 8": Bars(ratio={16: FAR, 32: FAR, 64: FAR}),
    "Fourier, size 16": Bars(ratio={16: FAR, 32: FAR, 64: FAR}),
}

# One filter of every family in one batch: a filter by itself would take Adam ten times as long
RACE_ORDER, RACE_STEPS, QUICK_STEPS = 16, 20_000, 20
MANY, QUICK_MANY = 64, 4
SAMPLES, QUICK_SAMPLES = 1_000_000, 20_000


def distill_cases(options: Options) -> list[Case]:
    """The cases of the bench.

    Args:
        options: Seed, pace, folders of trained models, picture.

    Returns:
        A case for each kernel family and each kernel of the trained models, for filters that are
        recurrences, the gradient route, and the limits; one that draws the picture.

    Raises:
        ArgumentError: If the picture is neither SVG nor PNG, or a model has nothing to distil.
        FileError: If a folder holds no model.
        MissingExtraError: If a picture is wanted and matplotlib is not installed.
    """
    if options.picture is not None:
        check_picture(options.picture)
    curves: Curves = {}
    return [
        *_exact_cases(options.seed),
        *(_family_case(family, curves, options) for family in FAMILIES),
        *(
            _errors_case(name, taps, Bars(), curves, options)
            for name, taps in trained_taps(options.models).items()
        ),
        Case("gradient", lambda: gradient_rows(_race(options), curves)),
        *_limit_cases(options),
        Case("picture", lambda: _closing(curves, options), closing=True),
    ]


def _exact_cases(seed: int) -> list[Case]:
    return [
        Case("4 conjugate pairs", lambda: pair_rows(seed)),
        Case("S4D converted", lambda: s4d_rows(LENGTH, seed)),
        Case("modal branches", lambda: modal_rows(LENGTH, seed)),
    ]


def _limit_cases(options: Options) -> list[Case]:
    length, seed = _length(options), options.seed
    many, samples = (QUICK_MANY, QUICK_SAMPLES) if options.quick else (MANY, SAMPLES)
    return [
        Case("many filters", lambda: many_filters_rows(length, many, seed)),
        Case("white noise", lambda: endless_rows(length, samples, seed)),
        Case("special kernels", special_rows),
        Case("bad fit", bad_fit_rows),
    ]


def _length(options: Options) -> int:
    return QUICK_LENGTH if options.quick else LENGTH


def _family_case(family: Family, curves: Curves, options: Options) -> Case:
    filters = QUICK_FILTERS if options.quick else FILTERS
    taps = family_taps(family, _length(options), filters, options.seed)
    bars = Bars() if options.quick else BARS.get(family, Bars())
    return _errors_case(family, taps, bars, curves, options)


def _errors_case(name: str, taps: Tensor, bars: Bars, curves: Curves, options: Options) -> Case:
    orders = QUICK_ORDERS if options.quick else ORDERS

    def measure() -> Iterator[Row]:
        return error_rows(name, taps, orders, curves.setdefault(name, {}), bars)

    return Case(name, measure)


def _race(options: Options) -> Race:
    length = _length(options)
    taps = torch.cat([family_taps(family, length, 1, options.seed) for family in FAMILIES])
    steps = QUICK_STEPS if options.quick else RACE_STEPS
    norms = taps.norm(dim=-1)
    return Race(tuple(FAMILIES), taps[:, FIR_HEAD:], norms, RACE_ORDER, steps, options.seed)


def _closing(curves: Curves, options: Options) -> Iterator[str]:
    if options.picture is not None and curves:
        write_picture(options.picture, errors_by_order(curves))
        yield f"picture: {options.picture}"
