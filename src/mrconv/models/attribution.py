"""Which time scales carried a decision."""

import torch
from torch import Tensor, nn

from ..errors import ArgumentError
from ..nn.mr_conv import MRConv
from ..nn.reparameterize import in_training
from .base import SequenceModel
from .classifier import SequenceClassifier
from .pooling import POOLINGS
from .summary import summarize

__all__ = ["WindowShares", "resolution_shares"]


def resolution_shares(model: SequenceClassifier, x: Tensor, window: int | None = None) -> Tensor:
    """First-order share of each resolution in the score of the class a model decides for.

    share[b, i] = sum over layers, channels d and time t of
                  (d score / d y[b, d, t]) * part_i[b, d, t],   divided by sum_i |share[b, i]|

    where y is a layer's output and part_i what ``MRConv.contributions`` gives for resolution i.

    Args:
        model: In eval mode and branches form, with the same resolutions in every layer.
        x: Values (N, L, F), or tokens (N, L).
        window: Last positions that are pooled over, in samples; None: all.

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
        >>> shares = resolution_shares(model, torch.randn(2, 64, 1))
        >>> shares.abs().sum(-1).round(decimals=4)
        tensor([1., 1.])
    """
    layers = _layers(model)
    met: list[tuple[MRConv, Tensor, Tensor]] = []

    def keep(layer: nn.Module, given: tuple[Tensor, ...], output: Tensor) -> None:
        met.append((layer, given[0].detach(), output))  # type: ignore[arg-type]

    hooks = [layer.register_forward_hook(keep) for layer in layers]
    with torch.enable_grad():
        # rows do not mix in eval mode
        scores = _scores(model, x, window).amax(-1).sum()
    for hook in hooks:
        hook.remove()
    gradients = torch.autograd.grad(scores, [output for _, _, output in met])
    with torch.no_grad():
        shares = sum(
            (layer.contributions(u) * gradient).sum((2, 3)).T
            for (layer, u, _), gradient in zip(met, gradients, strict=True)
        )
    return torch.nn.functional.normalize(torch.as_tensor(shares), p=1, dim=-1)


def _layers(model: nn.Module) -> list[MRConv]:
    layers = [module for module in model.modules() if isinstance(module, MRConv)]
    if in_training(model) or len({tuple(layer.spans) for layer in layers}) != 1:
        raise ArgumentError(
            "resolution_shares: the model must be in eval mode, in branches form, with equal "
            f"resolutions in all layers; got training={in_training(model)}, "
            f"resolutions {[layer.resolutions for layer in layers]}. Load the unmerged model."
        )
    return layers


def _scores(model: SequenceClassifier, x: Tensor, window: int | None) -> Tensor:
    if window is None:
        return model(x)
    return model.head(POOLINGS[model.pooling](model.backbone(x)[:, -window:], None))


class WindowShares:
    """``resolution_shares`` of the answers of a stream, each over all samples it depends on.

    Those are the last ``window`` samples and the receptive field before them, which are kept; with
    ``window=None`` all samples since the start, whose number grows.

    Args:
        model: A classifier in eval mode and branches form.
        window: Last positions that the answer pools over, in samples; None: all.

    Raises:
        ArgumentError: If the model is no classifier, or not as ``resolution_shares`` needs it.

    Cost: of each answer that of ``resolution_shares`` on the samples kept.

    Example:
        >>> import torch, mrconv
        >>> backbone = mrconv.SequenceBackbone(1, length=64, channels=8, depth=1)
        >>> model = mrconv.SequenceClassifier(backbone, classes=3).eval()
        >>> shares = WindowShares(model, window=16)
        >>> shares.spans
        [8, 16, 32, 64]
        >>> shares.after(torch.randn(1, 20, 1)).shape
        torch.Size([4])
    """

    def __init__(self, model: SequenceModel, window: int | None) -> None:
        if not isinstance(model, SequenceClassifier):
            raise ArgumentError(
                "resolution_shares: the model must be a classifier, whose leading score is "
                f"explained; got {type(model).__name__}. Leave the explanation out."
            )
        self.spans = _layers(model)[0].spans
        """l_i of each resolution, in samples.                              (R,)"""
        self.model, self.window = model, window
        self._past = summarize(model).past
        self._kept: Tensor | None = None

    def after(self, x: Tensor) -> Tensor:
        """Shares in the answer behind the next samples.

        Args:
            x: Values (1, n, F), or tokens (1, n); at least one sample.

        Returns:
            Shares; negative where a resolution spoke against the decision.   (R,)
        """
        kept = x if self._kept is None else torch.cat([self._kept, x], 1)
        self._kept = kept if self.window is None else kept[:, -(self.window + self._past) :]
        return resolution_shares(self.model, self._kept, self.window)[0]
