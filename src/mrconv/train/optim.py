"""Parameter groups: kernels learn slower than the rest and without weight decay."""

from typing import Any

from torch import nn

from ..errors import ArgumentError
from ..kernels import Kernel
from ..nn.kernel_conv import KernelConv
from ..nn.long_conv import LongConv
from ..nn.mr_branches import MRBranches
from ..nn.recurrence import ModalRecurrence
from ..nn.s5 import S5

__all__ = ["param_groups"]


def param_groups(
    model: nn.Module, *, lr: float, kernel_lr: float, weight_decay: float
) -> list[dict[str, Any]]:
    """Every parameter of a model in one of three groups for an optimizer.

    kernels: kernel parameters, explicit taps and recurrences, ``kernel_lr``, no weight decay.
    scales:  gains, shifts, skips, norms, biases, embeddings, ``lr``, no weight decay.
    weights: the rest, ``lr`` and ``weight_decay``.

    Args:
        model: Any module.
        lr: Learning rate of all but the kernels.
        kernel_lr: Learning rate of the kernels.
        weight_decay: Of the weights.

    Returns:
        Groups with the keys name, params, lr and weight_decay; empty groups are left out.

    Raises:
        ArgumentError: If a number is negative.

    Source: the paper's appendix D.2.1; which parameters count as kernel is our reading.

    Example:
        >>> import torch, mrconv
        >>> groups = mrconv.param_groups(
        ...     mrconv.MRConv(4, 32), lr=6e-3, kernel_lr=1e-3, weight_decay=0.05)
        >>> [group["name"] for group in groups]
        ['kernels', 'scales']
        >>> optimizer = torch.optim.AdamW(groups)
    """
    for name, value in (("lr", lr), ("kernel_lr", kernel_lr), ("weight_decay", weight_decay)):
        if not value >= 0:
            raise ArgumentError(
                f"param_groups: {name} must be at least 0; got {value}. Use 0 to switch it off."
            )
    kernels, scales = _kernel_parameters(model), _scale_parameters(model)
    groups: dict[str, dict[str, Any]] = {
        "kernels": {"params": [], "lr": kernel_lr, "weight_decay": 0.0},
        "scales": {"params": [], "lr": lr, "weight_decay": 0.0},
        "weights": {"params": [], "lr": lr, "weight_decay": weight_decay},
    }
    for parameter in model.parameters():
        chosen = "weights"
        if id(parameter) in kernels:
            chosen = "kernels"
        elif id(parameter) in scales:
            chosen = "scales"
        groups[chosen]["params"].append(parameter)
    return [{"name": name, **group} for name, group in groups.items() if group["params"]]


def _kernel_parameters(model: nn.Module) -> set[int]:
    found: set[int] = set()
    for module in model.modules():
        if isinstance(module, Kernel):
            found |= {id(parameter) for parameter in module.parameters()}
        elif isinstance(module, LongConv):
            found.add(id(module.taps))
        elif isinstance(module, ModalRecurrence):
            kernel = (module.log_decay, module.angle, module.residue, module.head)
            found |= {id(parameter) for parameter in kernel}
        elif isinstance(module, S5):  # all but C, as its authors have it
            kernel = (module.log_timestep, module.log_decay, module.frequency, module.input)
            found |= {id(parameter) for parameter in kernel}
    return found


def _scale_parameters(model: nn.Module) -> set[int]:
    found: set[int] = set()
    for module in model.modules():
        own = dict(module.named_parameters(recurse=False))
        norm_like = "norm" in type(module).__name__.lower()
        if isinstance(module, (MRBranches, KernelConv, nn.Embedding)) or norm_like:
            found |= {id(parameter) for parameter in own.values()}
        elif isinstance(module, S5) and module.skip is not None:
            found.add(id(module.skip))
        elif own.get("bias") is not None:
            found.add(id(own["bias"]))
    return found
