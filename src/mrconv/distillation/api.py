"""``mrconv.distill``: a model whose long convolutions are small diagonal recurrences."""

import copy
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor, nn

from .._checks import check_choice, check_count
from ..errors import ArgumentError, MergeError
from ..nn.gated_mr_conv import refuse_gates
from ..nn.kernel_conv import KernelConv
from ..nn.long_conv import LongConv
from ..nn.mr_conv import MRConv
from ..nn.recurrence import ModalRecurrence
from ..nn.reparameterize import refuse_training
from ..nn.response import impulse_response
from .build import Layer, converted, fitted_layer, modal_order, rounding
from .measure import measure
from .orders import METHODS, Chosen, MethodName, choose
from .outputs import Inputs, layer_changes, output_change
from .report import DistillReport, LayerReport
from .verdict import filter_reports

__all__ = ["distill"]

Module = TypeVar("Module", bound=nn.Module)
OnFailure = Literal["raise", "exact"]


@dataclass(frozen=True)
class Settings:
    """What ``distill`` was asked for."""

    tolerance: float | None
    order: int | None
    fir_head: int
    max_order: int
    method: MethodName
    on_failure: OnFailure

    def __post_init__(self) -> None:
        if (self.tolerance is None) == (self.order is None):
            raise ArgumentError(
                "distill: exactly one of tolerance and order must be given; "
                f"got tolerance={self.tolerance}, order={self.order}. Pass tolerance=1e-3."
            )
        if self.tolerance is not None and not 0 < self.tolerance < 1:
            raise ArgumentError(
                "distill: tolerance must lie between 0 and 1, a relative error; "
                f"got tolerance={self.tolerance}. Pass tolerance=1e-3."
            )
        if self.order is not None:
            check_count("distill", "order", self.order)
        check_count("distill", "fir_head", self.fir_head)
        check_count("distill", "max_order", self.max_order)
        check_choice("distill", "method", self.method, METHODS)
        check_choice("distill", "on_failure", self.on_failure, ("raise", "exact"))


def distill(
    model: Module,
    *,
    tolerance: float | None = None,
    order: int | None = None,
    fir_head: int = 32,
    max_order: int = 128,
    method: MethodName = "hankel",
    on_failure: OnFailure = "raise",
    inputs: Inputs | None = None,
) -> tuple[Module, DistillReport]:
    """A copy of a model with each long convolution replaced by explicit taps and a recurrence.

    Of the taps h of each channel the first ``fir_head`` stay explicit; those behind become
    Re sum_m residue_m pole_m^t. Poles come from the Hankel matrix of the taps (Kung's method) or
    vector fitting, whichever ends better after variable projection; residues from least squares. A
    KernelConv whose kernel is a sum of exponentials (S4D) keeps its own poles where the order
    allows. The original has no taps from K on, the recurrence has: the report bounds them.

    Args:
        model: In eval mode; a layer, a block or a whole model.
        tolerance: Largest relative error | h - taps | / | h | of each channel, on 0..K-1; the order
            is found, per channel.
        order: Largest number of real states of each channel, instead of a tolerance.
        fir_head: H, explicit taps; at least 1.
        max_order: Largest order that a tolerance may take.
        method: "hankel", or "gradient": Adam on poles and residues, as in the paper.
        on_failure: Where a tolerance cannot be met, or gains depend on the input (GatedMRConv):
            "raise", or "exact", to leave that layer as it is; exact streams of structured kernels
            cost little. Layers with gates have no row in the report.
        inputs: A batch as the model takes it, to measure the change of outputs on.

    Returns:
        The new model in eval mode, and the report.

    Raises:
        MergeError: In training mode, for two-sided layers, taps that are not finite, or a tolerance
            that cannot be met or a GatedMRConv, unless ``on_failure`` allows it.
        ArgumentError: If not exactly one of tolerance and order is given, or one is out of range.

    Cost: about 0.1 s a channel at K = 1,024 and order 16.
    Source: after Massaroli et al. 2023; order, fit and bound are ours.

    Example:
        >>> import mrconv
        >>> layer = mrconv.nn.KernelConv(2, 200, kernel="s4d").eval()
        >>> small, report = mrconv.distill(layer, order=64)
        >>> type(small).__name__, report.layers[0].filters[0].verdict
        ('ModalRecurrence', 'converted')
    """
    settings = Settings(tolerance, order, fir_head, max_order, method, on_failure)
    refuse_training("distill", model)
    if on_failure == "raise":
        refuse_gates("distill", model, "Keep such layers with on_failure='exact'")
    started = time.perf_counter()
    layers = {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, (MRConv, KernelConv, LongConv))
    }
    made = {name: _distilled(name, layer, settings) for name, layer in layers.items()}
    swaps = {name: new for name, (new, _) in made.items() if isinstance(new, ModalRecurrence)}
    # deepcopy takes the replacement for every object that its memo already holds
    small = copy.deepcopy(model, {id(layers[name]): new for name, new in swaps.items()})
    reports = tuple(report for _, report in made.values())
    change = None
    if inputs is not None:
        reports = _with_outputs(reports, layer_changes(model, swaps, inputs))
        change = output_change(model, small, inputs)
    seconds = time.perf_counter() - started
    return small, DistillReport(reports, _told(settings), seconds, change)


def _told(settings: Settings) -> dict[str, Any]:
    unused = ("order",) if settings.order is None else ("tolerance", "max_order", "on_failure")
    return {key: value for key, value in vars(settings).items() if key not in unused}


def _distilled(name: str, layer: Layer, settings: Settings) -> tuple[nn.Module, LayerReport]:
    started = time.perf_counter()
    taps, bias = _response(name, layer)
    own_poles = _keeps_its_poles(layer, settings)
    chosen = _choose(taps, settings, own_poles, rounding(layer))
    new: ModalRecurrence
    if own_poles and isinstance(layer, KernelConv):
        new = converted(layer, taps, bias, settings.fir_head)
    else:
        new = fitted_layer(layer, taps, bias, chosen.fitted, settings.fir_head)
    errors = measure(taps, new)
    filters = filter_reports(new, chosen, errors, settings.tolerance, own_poles)
    worst = max(filters, key=lambda one: one.error)
    failed = settings.tolerance is not None and worst.error > settings.tolerance
    if failed and settings.on_failure == "raise":
        place = f"channel {worst.channel}" + (f" of {name}" if name else "")
        raise MergeError(
            f"distill: order {worst.order} leaves a relative error of {worst.error:.1e} in {place},"
            f" above tolerance={settings.tolerance}; no recurrence of this order can be below "
            f"{worst.lower_bound:.1e}. Raise max_order or fir_head, or keep such layers with "
            "on_failure='exact'."
        )
    if failed:
        filters = tuple(replace(one, verdict="kept exact") for one in filters)
    seconds = time.perf_counter() - started
    report = LayerReport(name, filters, taps.shape[-1], seconds, exact=failed)
    return (layer if failed else new), report


def _response(name: str, layer: Layer) -> tuple[Tensor, Tensor | None]:
    """Taps (D, K) and bias (D,) of a causal layer, in float64."""
    place = name or type(layer).__name__
    if not layer.causal:
        raise MergeError(
            f"distill: layers must be causal; got causal=False in {place}. "
            "Keep the model merged, or train it with causal=True."
        )
    taps, bias = impulse_response(layer)
    bad = ~taps.isfinite().all(-1)
    if bad.any():
        raise MergeError(
            f"distill: taps must be finite; got NaN or infinity in channel "
            f"{int(bad.nonzero()[0, 0])} of {place}. Look for a training that diverged."
        )
    return taps, bias


def _keeps_its_poles(layer: Layer, settings: Settings) -> bool:
    allowed = settings.max_order if settings.order is None else settings.order
    own = modal_order(layer)
    return settings.method == "hankel" and own is not None and own <= allowed


def _choose(taps: Tensor, settings: Settings, own_poles: bool, ridge: float) -> Chosen:
    return choose(
        taps[:, settings.fir_head :],
        taps.norm(dim=-1),
        tolerance=settings.tolerance,
        order=settings.order,
        max_order=settings.max_order,
        method=None if own_poles else METHODS[settings.method],
        ridge=ridge,
    )


def _with_outputs(
    reports: tuple[LayerReport, ...], changes: Mapping[str, tuple[float, Tensor]]
) -> tuple[LayerReport, ...]:
    told = []
    for one in reports:
        if one.name in changes:
            change, met = changes[one.name]
            gains = torch.tensor([each.gain_error[1] for each in one.filters], dtype=met.dtype)
            bound = float((gains * met.cpu()).max())
            one = replace(one, output_error=change, output_bound=bound)
        told.append(one)
    return tuple(told)
