"""What is to be said of each filter of a distilled layer."""

import torch
from torch import Tensor

from ..nn.recurrence import ModalRecurrence
from .measure import Errors
from .orders import Chosen
from .report import FAR, FilterReport, Verdict

__all__ = ["filter_reports"]

#: With an order asked for, a lower bound above this calls the filter incompressible.
INCOMPRESSIBLE = 0.05
#: Share of the energy in the last tenth of the taps above which they have not decayed.
UNDECAYED = 1e-3
#: Relative errors that rounding leaves, in units of the stored numbers' precision.
ROUNDING = 100
#: Singular values kept in a report.
SPECTRUM = 65


@torch.no_grad()
def filter_reports(
    layer: ModalRecurrence,
    chosen: Chosen,
    errors: Errors,
    tolerance: float | None,
    own_poles: bool,
) -> tuple[FilterReport, ...]:
    """One report a channel.

    Args:
        layer: The new layer.
        chosen: Spectrum and bounds of its filters.
        errors: As measured.
        tolerance: As asked, or None.
        own_poles: Whether the poles are the kernel's own.

    Returns:
        D reports.
    """
    scale = torch.where(errors.norm > 0, errors.norm, 1)
    orders = layer.order.clamp_max(chosen.bounds.shape[-1] - 1)
    bounds = chosen.bounds.gather(-1, orders[:, None])[:, 0] / scale
    first = chosen.spectrum[:, :1]
    spectrum = (chosen.spectrum / torch.where(first > 0, first, 1))[:, :SPECTRUM]
    radius = torch.where((layer.residue != 0).any(-1), layer.radius, 0)
    slowest = radius.amax(-1) if layer.modes else torch.zeros_like(scale)
    rounding = ROUNDING * torch.finfo(layer.residue.dtype).eps
    reports = []
    for d in range(layer.channels):
        error, bound = float(errors.relative[d]), float(bounds[d])
        verdict: Verdict = "converted"
        if not own_poles:
            enough = INCOMPRESSIBLE if tolerance is None else tolerance
            verdict = _verdict(error, bound, enough, rounding, float(errors.end[d]))
        reports.append(
            FilterReport(
                d,
                int(layer.order[d]),
                error,
                bound,
                (float(errors.gain_least[d]), float(errors.gain_most[d])),
                float(slowest[d]),
                verdict,
                _numbers(spectrum[d]),
            )
        )
    return tuple(reports)


def _verdict(error: float, bound: float, enough: float, rounding: float, end: float) -> Verdict:
    if bound > enough:
        return "incompressible"
    if error > FAR * max(bound, rounding):
        return "window too short" if end > UNDECAYED else "could be better"
    return "good"


def _numbers(values: Tensor) -> tuple[float, ...]:
    return tuple(float(f"{value:.4g}") for value in values.tolist())
