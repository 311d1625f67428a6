"""The exact recurrence of a layer whose kernels are sums of damped exponentials."""

import copy
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn

from ..errors import MergeError
from ..kernels.exponentials import ExponentialKernel
from .combine import COMBINATIONS
from .recurrence import ModalRecurrence

if TYPE_CHECKING:
    from .kernel_conv import KernelConv
    from .mr_conv import MRConv

__all__ = ["recurrence_of"]


@torch.no_grad()
def recurrence_of(layer: "MRConv | KernelConv", like: Tensor) -> ModalRecurrence:
    """The recurrence that equals a causal layer of modal kernels, sample by sample.

    Its poles are those of all kernels. A kernel ends at its span, so each of its modes is the
    endless recurrence minus the same recurrence delayed by the span:

    x[t] = pole x[t - 1] + u[t - start] - pole^span u[t - start - span]

    Nothing is fitted; the state grows with the sum of the kernels' modes, and a ring buffer holds
    as many inputs as the layer reaches back.

    Args:
        layer: In eval mode.
        like: Gives dtype and device.

    Returns:
        A new layer in eval mode.

    Raises:
        MergeError: If the layer is two-sided or a kernel is no sum of exponentials.

    Source: the paper's appendix B.3, which has it for Fourier kernels; here poles lie inside the
    circle, so that rounding dies out.
    """
    exact = layer if like.is_meta else copy.deepcopy(layer).double()
    parts, bias = _parts(exact)
    modes = [_modes(exact, part.kernel) for part in parts]
    windows = [
        (part.start, part.start + part.span)
        for part, (decay, _, _) in zip(parts, modes, strict=True)
        for _ in range(decay.shape[-1])
    ]
    new = (
        ModalRecurrence(
            layer.channels,
            len(windows),
            windows=windows,
            bias=bias is not None,
            device="meta",
            dtype=like.dtype,
        )
        .to_empty(device=like.device)
        .eval()
    )
    new.log_decay.copy_(torch.cat([decay for decay, _, _ in modes], -1).log())
    new.angle.copy_(torch.cat([angle for _, angle, _ in modes], -1))
    residues = [
        part.weight[:, None, None] * residue
        for part, (_, _, residue) in zip(parts, modes, strict=True)
    ]
    new.residue.copy_(torch.cat(residues, 1))
    new.head.copy_(torch.zeros_like(new.head) if exact.skip is None else exact.skip[:, None])
    if new.bias is not None and bias is not None:
        new.bias.copy_(bias)
    return new


class _Part(NamedTuple):
    kernel: nn.Module
    span: int
    start: int
    weight: Tensor


def _parts(layer: "MRConv | KernelConv") -> tuple[list[_Part], Tensor | None]:
    """Every past kernel with its first lag and its factor (D,), and the bias (D,)."""
    from .mr_conv import MRConv  # which reaches this file through its own reparameterize

    if not isinstance(layer, MRConv):
        ones = torch.ones_like(layer.past.taps()[:, 0])
        return [_Part(layer.past, layer.length, 0, ones)], None
    weights, bias = layer.factors()
    starts = COMBINATIONS[layer.combine].starts(layer.spans)
    found = zip(layer.kernels, layer.spans, starts, weights, strict=True)
    return [_Part(*one) for one in found], bias


def _modes(layer: "MRConv | KernelConv", kernel: nn.Module) -> tuple[Tensor, Tensor, Tensor]:
    name = type(layer).__name__
    if not layer.causal:
        raise MergeError(
            f"reparameterize: a recurrence knows the past only; got causal=False in {name}. "
            "Use form='merged'."
        )
    if not isinstance(kernel, ExponentialKernel):
        raise MergeError(
            "reparameterize: form='recurrence' needs kernels that are sums of damped exponentials; "
            f"got {type(kernel).__name__} in {name}. Train with kernel='modal', or use "
            "mrconv.distill(model, tolerance=1e-3)."
        )
    return kernel.modes()
