"""From poles to a layer: residues for the numbers that will be stored, and the layer itself."""

import copy

import torch
from torch import Tensor, nn

from ..errors import MergeError
from ..kernels.exponentials import ExponentialKernel, complex_product
from ..nn.kernel_conv import KernelConv
from ..nn.long_conv import LongConv
from ..nn.mr_conv import MRConv
from ..nn.recurrence import ModalRecurrence
from ..nn.reparameterize import narrowest
from .fit import Fitted
from .poles import Poles
from .residues import fit_residues

__all__ = ["Layer", "converted", "fitted_layer", "modal_order", "rounding"]

Layer = MRConv | KernelConv | LongConv


def fitted_layer(
    layer: Layer, taps: Tensor, bias: Tensor | None, fitted: Fitted, fir_head: int
) -> ModalRecurrence:
    """The recurrence of the fitted poles in the precision of ``layer``.

    Poles are rounded first, so that the residues, fitted to the rounded ones, make up for it.

    Args:
        layer: What it replaces.
        taps: Its response, float64.                                 (D, K)
        bias: Its constant, float64, or None.                          (D,)
        fitted: Poles for the taps behind the head.
        fir_head: H.

    Returns:
        A new layer in eval mode.
    """
    groups = fitted.by_structure()
    modes = max(poles.decay.shape[-1] for _, poles in groups)
    new = _empty(layer, modes, fir_head, bias is not None)
    log_decay, angle = torch.zeros_like(fitted.decay[:, :modes]), fitted.angle[:, :modes].clone()
    residue = torch.zeros(*angle.shape, 2, dtype=angle.dtype, device=angle.device)
    ridge = rounding(layer)
    for index, poles in groups:
        count = poles.decay.shape[-1]
        if not count:
            angle[index] = 0
            continue
        stored = poles.decay.log().to(new.log_decay.dtype).double()
        turned = poles.angle.to(new.angle.dtype).double()
        rounded = Poles(
            stored.exp(), torch.where(turned > 3.1415926, torch.pi, turned), poles.reals
        )
        weights = fit_residues(taps[index, fir_head:], rounded, ridge)
        log_decay[index, :count], angle[index, :count] = stored, rounded.angle
        residue[index, :count, 0] = weights[:, :count]
        residue[index, poles.reals : count, 1] = -weights[:, count:]
    return _filled(new, log_decay, angle, residue, taps, bias)


def modal_order(layer: Layer) -> int | None:
    """N of a layer with one kernel that is a sum of exponentials, a pair each; None of others."""
    if isinstance(layer, KernelConv) and isinstance(layer.past, ExponentialKernel):
        return 2 * _modes(layer.past)[0].shape[-1]
    return None


def converted(
    layer: KernelConv, taps: Tensor, bias: Tensor | None, fir_head: int
) -> ModalRecurrence:
    """The endless recurrence whose taps on 0..K-1 are the kernel's, unfitted.

    Args:
        layer: Its kernel a sum of exponentials.
        taps: Its response, float64.                                 (D, K)
        bias: Its constant, float64, or None.                          (D,)
        fir_head: H.

    Returns:
        A new layer in eval mode.
    """
    decay, angle, residue = _modes(layer.past)
    new = _empty(layer, decay.shape[-1], fir_head, bias is not None)
    magnitude, turn = torch.exp(-decay * fir_head), angle * fir_head
    at_head = torch.stack([magnitude * turn.cos(), magnitude * turn.sin()], -1)
    return _filled(new, decay.log(), angle, complex_product(residue, at_head), taps, bias)


def _modes(kernel: nn.Module) -> tuple[Tensor, Tensor, Tensor]:
    kernel = copy.deepcopy(kernel).double()
    if not isinstance(kernel, ExponentialKernel):
        raise MergeError(
            f"distill: the kernel must be a sum of exponentials; got {type(kernel).__name__}. "
            "Fit its taps instead."
        )
    decay, angle, residue = kernel.modes()
    return decay.detach(), angle.detach(), residue.detach()


def rounding(layer: Layer) -> float:
    """Relative error of the numbers that a layer's recurrence is stored in; 0: float64."""
    dtype = narrowest(layer).dtype
    return 0.0 if dtype == torch.float64 else torch.finfo(dtype).eps / 2


def _empty(layer: Layer, modes: int, fir_head: int, bias: bool) -> ModalRecurrence:
    like = narrowest(layer)
    made = ModalRecurrence(
        layer.channels, modes, fir_head=fir_head, bias=bias, device="meta", dtype=like.dtype
    )
    return made.to_empty(device=like.device).eval()


@torch.no_grad()
def _filled(
    new: ModalRecurrence,
    log_decay: Tensor,
    angle: Tensor,
    residue: Tensor,
    taps: Tensor,
    bias: Tensor | None,
) -> ModalRecurrence:
    new.log_decay.copy_(log_decay)
    new.angle.copy_(angle)
    new.residue.copy_(residue)
    new.head.zero_()
    kept = min(taps.shape[-1], new.fir_head)
    new.head[:, :kept] = taps[:, :kept].to(new.head)
    if new.bias is not None and bias is not None:
        new.bias.copy_(bias)
    return new
