"""Merging of a whole model: every layer that makes its taps becomes one of another form."""

import copy
from typing import TypeVar

from torch import nn

from .errors import ArgumentError
from .nn.gated_conv import GatedConv
from .nn.gated_mr_conv import GatedMRConv, refuse_gates
from .nn.kernel_conv import KernelConv
from .nn.mr_conv import MRConv
from .nn.reparameterize import Form, refuse_training
from .nn.s5 import S5, refuse_s5

__all__ = ["MERGEABLE", "UNMERGEABLE", "merge"]

Module = TypeVar("Module", bound=nn.Module)

#: Layers that a merge replaces by one convolution with explicit taps.
MERGEABLE = (MRConv, KernelConv)
#: Layers that no convolution equals; a model with one streams, but has no merge.
UNMERGEABLE = (GatedMRConv, S5)


def merge(model: Module, *, rate: int = 1, form: Form = "merged") -> Module:
    """A copy of a model in which each MRConv and KernelConv is replaced by an equal layer.

    The form "merged" makes each one LongConv; "recurrence" makes layers of modal kernels one
    ModalRecurrence each.

    Every new layer has compared itself with its branches and keeps the difference in
    ``checked``; ``mrconv.verify`` compares the models. Other modules are copied as they are, so a
    merged model merges to an equal one. Merged models train on.

    Args:
        model: In eval mode; a layer, a block or a whole model.
        rate: Samples of the training rate per sample of the merged model's input.
        form: "merged" or "recurrence".

    Returns:
        A new model in eval mode; an MRConv or KernelConv gives a LongConv or ModalRecurrence.

    Raises:
        MergeError: In training mode, for a form that kernels cannot have, if a comparison fails, or
            if the model holds a GatedMRConv or an S5, which no convolution equals.
        ArgumentError: If the form is unknown, kernels cannot be thinned by ``rate``, a Hyena layer
            stands around them, whose short convolution has the rate of training, or the model takes
            frames of samples.

    Cost: one making of the taps and one comparison a layer.

    Example:
        >>> import mrconv
        >>> model = mrconv.nn.ResidualBlock(mrconv.MRConv(4, 32), 4).eval()
        >>> type(mrconv.merge(model).mixer).__name__
        'LongConv'
    """
    refuse_training("merge", model)
    refuse_gates("merge", model)
    refuse_s5("merge", model)
    _refuse_rate(model, rate)
    layers = [module for module in model.modules() if isinstance(module, MERGEABLE)]
    # deepcopy takes the replacement for every object that its memo already holds, however often
    # the object is shared.
    replaced = {id(layer): layer.reparameterize(rate, form) for layer in layers}
    return copy.deepcopy(model, replaced)


def _refuse_rate(model: nn.Module, rate: int) -> None:
    gated = [type(one).__name__ for one in model.modules() if isinstance(one, GatedConv)]
    if gated and rate != 1:
        raise ArgumentError(
            f"merge: rate must be 1, because the short convolution of a {gated[0]} has the rate of "
            f"training; got rate={rate}. Resample the input to that rate."
        )
    frame = getattr(getattr(model, "contract", None), "frame", 1)
    if frame != 1 and rate != 1:
        raise ArgumentError(
            f"merge: rate must be 1 for a model of frames, {frame} samples side by side; "
            f"got rate={rate}. Resample the input to the rate of training."
        )
