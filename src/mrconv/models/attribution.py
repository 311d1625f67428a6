"""Which time scales carried a decision."""

import torch
from torch import Tensor, nn

from ..errors import ArgumentError
from ..nn.mr_conv import MRConv
from ..nn.reparameterize import in_training
from .classifier import SequenceClassifier

__all__ = ["resolution_shares"]


def resolution_shares(model: SequenceClassifier, x: Tensor) -> Tensor:
    """First-order share of each resolution in the score of the class a model decides for.

    share[b, i] = sum over layers, channels d and time t of
                  (d score / d y[b, d, t]) * part_i[b, d, t],   divided by sum_i |share[b, i]|

    where y is a layer's output and part_i what ``MRConv.contributions`` gives for resolution i.

    Args:
        model: In eval mode and branches form, with the same resolutions in every layer.
        x: Values (N, L, F), or tokens (N, L).

    Returns:
        Shares; negative where a resolution spoke against the decision.   (N, R)

    Raises:
        ArgumentError: In training mode, or if the layers differ or are merged.

    Cost: one forward and backward pass, and R convolutions a layer.

    Example:
        >>> import torch, mrconv
        >>> from mrconv.models.attribution import resolution_shares
        >>> backbone = mrconv.SequenceBackbone(1, length=64, channels=8, depth=1)
        >>> model = mrconv.SequenceClassifier(backbone, classes=3).eval()
        >>> resolution_shares(model, torch.randn(2, 64, 1)).abs().sum(-1)
        tensor([1.0000, 1.0000])
    """
    layers = [module for module in model.modules() if isinstance(module, MRConv)]
    if in_training(model) or len({tuple(layer.spans) for layer in layers}) != 1:
        raise ArgumentError(
            "resolution_shares: the model must be in eval mode, in branches form, with equal "
            f"resolutions in all layers; got training={in_training(model)}, "
            f"resolutions {[layer.resolutions for layer in layers]}. Load the unmerged model."
        )
    met: list[tuple[MRConv, Tensor, Tensor]] = []

    def keep(layer: nn.Module, given: tuple[Tensor, ...], output: Tensor) -> None:
        met.append((layer, given[0].detach(), output))  # type: ignore[arg-type]

    hooks = [layer.register_forward_hook(keep) for layer in layers]
    with torch.enable_grad():
        scores = model(x).amax(-1).sum()  # rows do not mix in eval mode
    for hook in hooks:
        hook.remove()
    gradients = torch.autograd.grad(scores, [output for _, _, output in met])
    with torch.no_grad():
        shares = sum(
            (layer.contributions(u) * gradient).sum((2, 3)).T
            for (layer, u, _), gradient in zip(met, gradients, strict=True)
        )
    return torch.nn.functional.normalize(torch.as_tensor(shares), p=1, dim=-1)
