"""What distillation must survive: kernels without structure, bad fits, streams without an end."""

from collections.abc import Iterator

import torch
from torch import Tensor

from ..distillation import distill
from ..distillation.build import fitted_layer
from ..distillation.fit import Fitted
from ..distillation.measure import measure
from ..distillation.orders import choose
from ..distillation.report import FAR
from ..distillation.verdict import filter_reports
from ..nn import ModalRecurrence
from .distill_errors import FIR_HEAD
from .filters import FAMILIES, conv_of, family_taps
from .record import Row

__all__ = ["bad_fit_rows", "endless_rows", "many_filters_rows", "special_rows"]

SPECIAL_TAPS, SPECIAL_ORDER, SPECIAL_BAR = 64, 4, 1e-3
BAD_TAPS, BAD_HEAD = 256, 8
MANY, MANY_BAR, ORDER = 64, 20.0, 16
BLOCK = 10_000  # samples of a call
LEAST_DECAY = 9e-8  # a sample; recurrences cannot express less than 1e-7


def special_rows() -> Iterator[Row]:
    """Kernels without decay, without energy, of one tap, in both precisions.

    Yields:
        Errors; NaN would hold no bar.
    """
    kernels = {
        "constant": torch.ones(1, SPECIAL_TAPS),
        "zero": torch.zeros(1, SPECIAL_TAPS),
        "one tap": torch.eye(1, SPECIAL_TAPS),
        "length 1": torch.ones(1, 1),
    }
    for dtype in (torch.float32, torch.float64):
        for name, taps in kernels.items():
            _, report = distill(conv_of(taps.to(dtype)), order=SPECIAL_ORDER, fir_head=1)
            what = f"{name} kernel, {str(dtype).removeprefix('torch.')}: error"
            yield Row(what, report.error, "relative", bar=SPECIAL_BAR, better="lower")


def bad_fit_rows() -> Iterator[Row]:
    """Two real poles fitted by one in the wrong place.

    Yields:
        Error over lower bound, NaN where the report does not say that it could be better.
    """
    t = torch.arange(BAD_TAPS, dtype=torch.float64)
    taps = (0.97**t + 0.1 * 0.9**t)[None]
    conv, behind, norms = conv_of(taps), taps[:, BAD_HEAD:], taps.norm(dim=-1)
    chosen = choose(behind, norms, tolerance=None, order=2, max_order=2, method=_careless)
    layer = fitted_layer(conv, taps, None, chosen.fitted, BAD_HEAD)
    (one,) = filter_reports(layer, chosen, measure(taps, layer), None, own_poles=False)
    told = one.verdict == "could be better"
    ratio = one.error / max(one.lower_bound, torch.finfo(torch.float64).eps)
    name = "a deliberately bad fit, called one that could be better: error / lower bound"
    yield Row(name, ratio if told else torch.nan, "times", bar=FAR, better="higher")


def _careless(taps: Tensor, order: int, vectors: Tensor, *, ridge: float) -> Fitted:
    decay = torch.full((len(taps), 1), 0.5, dtype=taps.dtype)
    return Fitted(decay, torch.zeros_like(decay), 0.9 * taps.norm(dim=-1))


def many_filters_rows(length: int, filters: int, seed: int) -> Iterator[Row]:
    """A layer's worth of filters at once.

    Args:
        length: K, in samples.
        filters: F.
        seed: Of the first.

    Yields:
        Seconds, everything that the report holds included.
    """
    taps = family_taps("Fourier, size 8", length, filters, seed)
    _, report = distill(conv_of(taps), order=ORDER)
    name = f"{filters} filters, {length:,} taps, order {ORDER}: time"
    yield Row(name, report.seconds, "s", bar=MANY_BAR, better="lower")


def endless_rows(length: int, samples: int, seed: int) -> Iterator[Row]:
    """One filter of every family, distilled, on a stream of white noise, in float32.

    Args:
        length: K of the kernels, in samples.
        samples: Of the stream.
        seed: Of kernels and noise.

    Yields:
        Distance of the slowest pole from the circle; the largest state in units of what its pole
        allows, max |u| / (1 - |pole|); how many outputs are finite; the power of the last tenth of
        the outputs over that of the first.
    """
    taps = torch.cat([family_taps(family, length, 1, seed) for family in FAMILIES]).float()
    layer, _ = distill(conv_of(taps), order=ORDER, fir_head=FIR_HEAD)
    if not isinstance(layer, ModalRecurrence):
        raise TypeError(f"a LongConv must become a ModalRecurrence; got {type(layer).__name__}")
    radius = layer.radius.detach()
    noise, state = torch.Generator().manual_seed(seed), layer.init_state(1)
    largest, met, finite, power = 0.0, 0.0, 0, []
    for _ in range(samples // BLOCK):
        u = torch.randn(1, layer.channels, BLOCK, generator=noise)
        y, state = layer.chunk(u, state)
        met = max(met, float(u.abs().max()))
        reached = state.modes.norm(dim=-1) * (1 - radius)
        largest, finite = max(largest, float(reached.max())), finite + int(y.isfinite().sum())
        power.append(float(y.double().square().mean()))
    what, slowest = f"{samples:,} samples of white noise", 1 - float(radius.max())
    name = f"{what}: distance of the slowest pole from the circle"
    yield Row(name, slowest, "", bar=LEAST_DECAY, better="higher")
    yield Row(f"{what}: largest state / bound", largest / met, "times", bar=1.0, better="lower")
    share = 100 * finite / (len(power) * BLOCK * layer.channels)
    yield Row(f"{what}: outputs that are finite", share, "%", bar=100.0, better="higher")
    tenth = max(1, len(power) // 10)
    drift = sum(power[-tenth:]) / sum(power[:tenth])
    yield Row(f"{what}: power of the last tenth / first", drift, "times")
