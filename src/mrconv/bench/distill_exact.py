"""Filters that are recurrences: found again by the fit, or converted without one."""

from collections.abc import Iterator

import torch
from torch import nn

from ..distillation import FilterReport, distill
from ..nn import ModalRecurrence, MRConv
from .filters import conv_of, pair_taps, s4d_conv
from .record import Better, Row

__all__ = ["modal_rows", "pair_rows", "s4d_rows"]

RADII, PAIR_TAPS, PAIR_ORDER = (0.98, 0.95, 0.9, 0.8), 512, 8
PRECISIONS = ((torch.float64, 1e-8), (torch.float32, 1e-5))

# S4D's order, and the time steps whose memory the window holds and does not hold
S4D_ORDER, FAST, SLOW = 64, (0.1, 0.03, 0.01, 7e-3), (3e-3, 1e-3)
CONVERTED_BAR, FITTED_BAR = 1e-12, 1e-8

MODAL_SIZE, MODAL_CHANNELS, MODAL_BAR = 16, 8, 1e-10
SETTLING, BATCH = 5, 4  # training passes that give the branches their statistics, rows of each


def pair_rows(seed: int) -> Iterator[Row]:
    """Four conjugate pairs, without being told how many.

    Args:
        seed: Of the residues.

    Yields:
        In each precision, with its bar as the tolerance: the order found, and the error.
    """
    taps = pair_taps(RADII, PAIR_TAPS, seed)[None]
    for dtype, bar in PRECISIONS:
        _, report = distill(conv_of(taps.to(dtype)), tolerance=bar, fir_head=1)
        (one,) = report.layers[0].filters
        what = f"4 conjugate pairs, {PAIR_TAPS} taps, {str(dtype).removeprefix('torch.')}"
        yield Row(f"{what}: order found", one.order, "states", bar=PAIR_ORDER, better="lower")
        yield Row(f"{what}: error", one.error, "relative", bar=bar, better="lower")


def s4d_rows(length: int, seed: int) -> Iterator[Row]:
    """S4D, 32 complex modes: by its own poles, and fitted to the taps alone.

    Args:
        length: K, in samples.
        seed: Of the coefficients.

    Yields:
        Errors of both by time step; of slow ones, how many are fitted as well or reported as what
        the window is too short for.
    """
    said = 0
    for timestep in FAST + SLOW:
        what, layer = f"S4D, time step {timestep:g}", s4d_conv(timestep, length, seed)
        converted, fitted = _filter(layer), _filter(layer.reparameterize())
        yield _error_row(f"{what}, converted", converted, CONVERTED_BAR)
        yield _error_row(f"{what}, fitted", fitted, FITTED_BAR if timestep in FAST else None)
        known = fitted.error <= FITTED_BAR or fitted.verdict == "window too short"
        said += timestep in SLOW and known
    name = "S4D, slower time steps: fitted as well, or reported as a window too short"
    yield Row(name, said, f"of {len(SLOW)}", bar=len(SLOW), better="higher")


def _filter(layer: nn.Module) -> FilterReport:
    _, report = distill(layer, order=S4D_ORDER)
    return report.layers[0].filters[0]


def _error_row(what: str, found: FilterReport, bar: float | None) -> Row:
    better: Better | None = None if bar is None else "lower"
    return Row(f"{what}: error", found.error, "relative", bar=bar, better=better)


def modal_rows(length: int, seed: int) -> Iterator[Row]:
    """Modal branches against the recurrence that they merge to, float64.

    Args:
        length: L, in samples; the input is longer.
        seed: Of parameters and inputs.

    Yields:
        The largest difference of a stream of the recurrence, carried by its state, from the
        branches, relative to their largest output.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layer = MRConv(MODAL_CHANNELS, length, kernel="modal", kernel_size=MODAL_SIZE).double()
        for _ in range(SETTLING):
            layer(torch.randn(BATCH, MODAL_CHANNELS, length, dtype=torch.float64))
        x = torch.randn(1, MODAL_CHANNELS, 2 * length, dtype=torch.float64)
    recurrence = layer.eval().reparameterize(form="recurrence")
    if not isinstance(recurrence, ModalRecurrence):
        raise TypeError(f"modal branches must become a recurrence; got {type(recurrence).__name__}")
    with torch.no_grad():
        branches = layer(x)
        stepped, _ = recurrence.chunk(x, recurrence.init_state(1))
    difference = float((stepped - branches).abs().max() / branches.abs().max())
    name = "modal branches against their recurrence, float64: difference"
    yield Row(name, difference, "relative", bar=MODAL_BAR, better="lower")
