"""Input for a model that comes without any."""

from typing import Any

import torch
from torch import Tensor, nn

from ..distillation.outputs import Inputs
from ..errors import ArgumentError
from ..merging import MERGEABLE, UNMERGEABLE
from ..nn.gated_conv import GatedConv
from ..nn.kernel_conv import KernelConv
from ..nn.long_conv import LongConv
from ..nn.mr_branches import MRBranches
from ..nn.recurrence import ModalRecurrence
from ..nn.reparameterize import narrowest
from ..nn.s5 import S5

__all__ = ["LAYERS", "made_up"]

#: Reach, in samples, that input is made up for where a recurrence never ends.
ENDLESS = 1024
#: Modules (B, D, L) -> (B, D, L) for which input can be made up.
LAYERS = (*MERGEABLE, *UNMERGEABLE, GatedConv, LongConv, ModalRecurrence)


def made_up(model: nn.Module) -> Inputs:
    """Two random sequences that the model takes, or two pairs of them; always the same.

    Args:
        model: A layer, a backbone or a model with one.

    Returns:
        Input of the length that it was made for; of a layer half as much again.

    Raises:
        ArgumentError: For any other module.
    """
    seeded = torch.Generator().manual_seed(0)
    like = narrowest(model)
    if isinstance(model, LAYERS):
        length = _reach(model)
        size = (2, model.channels, length + length // 2 + 1)
        return torch.randn(size, generator=seeded).to(like)
    backbone: Any = getattr(model, "backbone", model)
    if not all(hasattr(backbone, name) for name in ("features", "length", "tokens")):
        raise ArgumentError(
            f"verify: inputs must be given for a {type(model).__name__}; got None. "
            "Pass a batch that the module takes."
        )
    shape = (2, backbone.length)

    def drawn() -> Tensor:
        if backbone.tokens:
            return torch.randint(backbone.features, shape, generator=seeded).to(like.device)
        return torch.randn((*shape, backbone.features), generator=seeded).to(like)

    return {"x": drawn(), "pair": drawn()} if getattr(model, "pair", False) else drawn()


def _reach(layer: MRBranches | KernelConv | GatedConv | S5 | LongConv | ModalRecurrence) -> int:
    if isinstance(layer, (MRBranches, KernelConv, GatedConv, S5)):
        return layer.length
    return layer.num_taps or ENDLESS
