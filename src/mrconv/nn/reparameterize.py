"""Structural reparameterization of one layer: many branches in, one checked convolution out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor, nn

from .._checks import check_choice, widened
from ..errors import MergeError
from ..kernels import Kernel
from .long_conv import LongConv
from .modal_branches import recurrence_of
from .recurrence import ModalRecurrence

if TYPE_CHECKING:
    from .kernel_conv import KernelConv
    from .mr_conv import MRConv

__all__ = [
    "TOLERANCES",
    "Check",
    "Form",
    "in_training",
    "narrowest",
    "refuse_training",
    "reparameterize",
    "with_skip",
]

Form = Literal["merged", "recurrence"]

#: Largest relative difference, in norm, that a conversion may show in each precision.
TOLERANCES = {
    torch.float64: 1e-10,
    torch.float32: 1e-5,
    torch.bfloat16: 2e-2,
    torch.float16: 2e-2,
}


@dataclass(frozen=True)
class Check:
    """What a conversion measured of its own result on random input."""

    difference: float
    """Relative difference, ||new - old|| / ||old||."""
    inputs: tuple[int, ...]
    """Shape of the random input."""
    dtype: torch.dtype
    """Precision of the parameters."""

    def __str__(self) -> str:
        dtype = str(self.dtype).removeprefix("torch.")
        return f"differs by {self.difference:.1e} on {self.inputs} {dtype}"


def in_training(module: nn.Module) -> bool:
    """Whether a module or any part of it is in training mode.

    Lists do not count: they compute nothing, and a slice of one starts in training mode.
    """
    lists = (nn.ModuleList, nn.ModuleDict)
    return any(part.training for part in module.modules() if not isinstance(part, lists))


def refuse_training(what: str, module: nn.Module) -> None:
    """Raises a MergeError if the module's BatchNorm statistics are still changing."""
    if in_training(module):
        raise MergeError(
            f"{what}: BatchNorm statistics are still changing (training mode); got training=True. "
            "Call model.eval() first."
        )


def narrowest(module: nn.Module) -> Tensor:
    """The parameter of least precision, which has a layer's own dtype.

    A kernel may keep some of its parameters in float32 inside a layer of half precision.
    """
    first, *others = module.parameters()
    for parameter in others:  # min with a key is more than torch.compile follows
        first = parameter if parameter.dtype.itemsize < first.dtype.itemsize else first
    return first


def with_skip(taps: Tensor, skip: Tensor | None, causal: bool) -> Tensor:
    """Taps of k * u + skip u: the factors (D,) added in the column of lag 0.

    Args:
        taps: Causal (D, K), two-sided (D, 2 K).
        skip: One factor a channel, or None.                              (D,)
        causal: Which of the two.

    Returns:
        New taps of the same shape.
    """
    if skip is None:
        return taps
    present = 0 if causal else taps.shape[-1] // 2  # the column of lag 0
    ends = (present, taps.shape[-1] - present - 1)
    return taps + nn.functional.pad(widened(skip)[:, None], ends)


def reparameterize(
    layer: "MRConv | KernelConv", rate: int = 1, form: Form = "merged"
) -> LongConv | ModalRecurrence:
    """The layer of another form that equals an MRConv or KernelConv in eval mode, by the sample.

    taps = sum_i s_i pad(k_i) with skip added at lag 0,  bias = sum_i (shift_i - s_i mean_i),
    s_i = gain_i / sqrt(var_i + eps). A KernelConv has one kernel, s = 1 and no bias. The form
    "recurrence" has the poles of all kernels, which must be sums of damped exponentials, and their
    residues times s_i; see ``nn.ModalRecurrence``.

    The result is compared with the branches, convolved one by one, on random input, and keeps the
    difference in ``checked``. Its parameters train on.

    Args:
        layer: In eval mode.
        rate: Samples of the training rate per sample of the new layer's input.
        form: "merged" or "recurrence".

    Returns:
        A new layer in eval mode; the old one stays as it is.

    Raises:
        MergeError: In training mode, for a form that the kernels cannot have, or if the comparison
            fails.
        ArgumentError: If the form is unknown or the kernels cannot be thinned by ``rate``.

    Source: the paper's appendix A.1, with the bias that its equation (14) leaves out.
    """
    refuse_training("reparameterize", layer)
    check_choice("reparameterize", "form", form, FORMS)
    like = narrowest(layer)
    with torch.no_grad():
        new = FORMS[form](layer, rate, like)
        if not like.is_meta:
            new.checked = compared(lambda x: layer.by_branches(widened(x), rate), new)
    return new


def _merged(layer: "MRConv | KernelConv", rate: int, like: Tensor) -> LongConv:
    taps, bias = layer.merged_taps(rate)
    columns = taps.shape[-1]
    merged = (
        LongConv(
            layer.channels,
            columns if layer.causal else columns // 2,
            causal=layer.causal,
            bias=bias is not None,
            device="meta",
            dtype=like.dtype,
        )
        .to_empty(device=like.device)
        .eval()
    )
    merged.taps.copy_(taps)
    if merged.bias is not None and bias is not None:
        merged.bias.copy_(bias)
    return merged


def _recurrence(layer: "MRConv | KernelConv", rate: int, like: Tensor) -> ModalRecurrence:
    new = recurrence_of(layer, like)
    for kernel in layer.modules():
        if isinstance(kernel, Kernel):
            kernel.check_rate(rate)
    return new


FORMS: dict[Form, Callable[["MRConv | KernelConv", int, Tensor], LongConv | ModalRecurrence]] = {
    "merged": _merged,
    "recurrence": _recurrence,
}


def compared(old: Callable[[Tensor], Tensor], new: LongConv | ModalRecurrence) -> Check:
    """Measures a converted layer against the function it replaces.

    Args:
        old: The function, (B, D, L) -> (B, D, L).
        new: The layer made from it, of finite reach.

    Returns:
        The relative difference in norm on white noise half as long again as the kernel.

    Raises:
        MergeError: If it is above the tolerance of the layer's precision, or not a number.
    """
    like = narrowest(new)
    num_taps = new.num_taps or 1
    shape = (2, new.channels, num_taps + num_taps // 2 + 1)
    seeded = torch.Generator().manual_seed(0)  # leaves the user's random numbers alone
    x = torch.randn(shape, generator=seeded).to(like)
    expected, got = old(x).double(), new(x).double()
    difference = float((got - expected).norm() / expected.norm().clamp_min(1e-300))
    if not difference <= TOLERANCES[like.dtype]:
        raise MergeError(
            f"reparameterize: the new layer must equal the old one to {TOLERANCES[like.dtype]:.0e};"
            f" got a relative difference of {difference:.1e}. "
            "Look for values that are not finite, or convert in float64."
        )
    return Check(difference, shape, like.dtype)
