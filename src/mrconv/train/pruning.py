"""Pruning: resolutions that carry little of a layer's output are dropped, their mean is kept."""

import copy
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from .._checks import mask_invalid, widened
from ..data import Examples
from ..errors import ArgumentError, MergeError
from ..models.base import SequenceModel
from ..nn.keep_resolutions import keep_resolutions
from ..nn.mr_conv import MRConv
from ..nn.reparameterize import refuse_training
from ..streaming import Streamer
from .batches import Batches, moved
from .evaluation import evaluate
from .objective import metric_name

__all__ = ["Measured", "PruneReport", "PrunedLayer", "prune"]

Model = TypeVar("Model", bound=SequenceModel)


@dataclass(frozen=True)
class PrunedLayer:
    """What was dropped of one layer."""

    name: str
    spans: tuple[int, ...]
    """l_i of every resolution, in samples."""
    kept: tuple[int, ...]
    """Those of the resolutions that are left."""
    shares: tuple[float, ...]
    """Output power of each resolution alone, relative to that of the layer."""
    dropped_power: float
    """Output power of the dropped resolutions together, relative to that of the layer."""


@dataclass(frozen=True)
class Measured:
    """A model on the data."""

    taps: int
    """Of all layers together, a side."""
    state_bytes: int | None
    """Memory of a stream of one row; None where the model cannot be streamed."""
    metric: float
    """Accuracy for classes, mean absolute error for values."""


@dataclass(frozen=True)
class PruneReport:
    """All layers, and the model before and after; prints as a table."""

    layers: tuple[PrunedLayer, ...]
    before: Measured
    after: Measured
    metric: str
    """What ``Measured.metric`` is: "accuracy" or "error"."""
    tolerance: float

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [
            f"{one.name}: keeps {_joined(one.kept)} of {_joined(one.spans)}, "
            f"power dropped {one.dropped_power:.1e}"
            for one in self.layers
        ]
        for name in ("taps", "state_bytes", "metric"):
            first, second = getattr(self.before, name), getattr(self.after, name)
            shown = "{:.4f}" if name == "metric" else "{}"
            word = self.metric if name == "metric" else name.replace("_", " ")
            lines.append(f"{word}: {shown.format(first)} before, {shown.format(second)} after")
        return "\n".join(lines)


def prune(
    model: Model, data: Examples, tolerance: float, *, batch_size: int = 32
) -> tuple[Model, PruneReport]:
    """A copy of a model in which each MRConv has lost the resolutions that it hardly hears.

    With part_i = scale_i (k_i * u), as ``MRConv.contributions`` gives it, and S the dropped ones,

    power(S) = sum_d Var(sum_{i in S} part_i[d]) / sum_d Var(y[d])  <=  tolerance

    for every layer, mean and variance over the valid samples of ``data``, the input u being what
    the layer meets in the original model. Var(part_i) is close to gain_i^2, since branches are
    normalised; here it is measured, and so is how far branches cancel each other. The resolution
    that adds least is dropped first, then the next, and at least one stays. The mean of what is
    dropped, over the same samples, moves into a shift that is kept: the mean of the layer's output
    does not change. (On the training data it is the branch's own shift.)

    Args:
        model: In eval mode and branches form.
        data: Examples to measure on, such as the validation split.
        tolerance: Largest share of a layer's output power that may be dropped; 0 to below 1.
        batch_size: Rows run at a time.

    Returns:
        A new model in eval mode, which trains, merges, streams and is saved like any other, and
        the report.

    Raises:
        MergeError: In training mode, or if no layer has branches.
        ArgumentError: If a layer is concatenated, the tolerance is out of range, or there is no
            example.

    Cost: three passes over the data, one of them at R convolutions a layer.
    Source: ours; structured pruning by the scale behind BatchNorm is Liu et al. 2017.

    Example:
        >>> import torch, mrconv
        >>> backbone = mrconv.SequenceBackbone(1, length=64, channels=4, depth=1)
        >>> model = mrconv.SequenceClassifier(backbone, classes=2).eval()
        >>> data = mrconv.data.Examples(torch.randn(6, 64, 1), torch.tensor([0, 1] * 3))
        >>> small, report = mrconv.prune(model, data, tolerance=0.1)
        >>> report.layers[0].dropped_power <= 0.1
        True
    """
    refuse_training("prune", model)
    layers = {name: one for name, one in model.named_modules() if isinstance(one, MRConv)}
    _check(layers, tolerance)
    before = _measured(model, data, batch_size)
    found = _moments(model, layers, data, batch_size)
    replaced, reports = {}, []
    for name, layer in layers.items():
        dropped = _dropped(found[name].covariance(), layer.resolutions, tolerance)
        replaced[id(layer)] = _without(layer, dropped, found[name].mean())
        reports.append(_report(name, layer, dropped, found[name].covariance()))
    # deepcopy takes the replacement for every object that its memo already holds
    small = copy.deepcopy(model, replaced)
    kept = {one.name: list(one.kept) for one in reports}
    small.note_origin(model, {"step": "prune", "tolerance": tolerance, "kept": kept})
    after = _measured(small, data, batch_size)
    return small, PruneReport(tuple(reports), before, after, metric_name(model, data.y), tolerance)


def _check(layers: Mapping[str, MRConv], tolerance: float) -> None:
    if not 0 <= tolerance < 1:
        raise ArgumentError(
            "prune: tolerance must be at least 0 and below 1, a share of the output power; "
            f"got {tolerance}. Pass tolerance=0.01."
        )
    if not layers:
        raise MergeError(
            "prune: the model must have layers with branches; got none, so it is merged or has "
            "other layers. Prune before merging."
        )
    for name, layer in layers.items():
        if layer.combine != "sum":
            raise ArgumentError(
                "prune: layers must sum their resolutions, because pieces laid end to end share "
                f"one norm; got combine={layer.combine!r} in {name}. Merge the model instead."
            )


class _Moments:
    """Sums over samples of what each resolution, and the skip behind them, adds to an output."""

    def __init__(self) -> None:
        self.count = 0
        self.sums, self.products = torch.zeros(()), torch.zeros(())

    def add(self, layer: MRConv, x: Tensor, lengths: Tensor | None) -> None:
        parts = layer.contributions(x, lengths)  # (R, B, D, L)
        if layer.skip is not None:
            past = widened(layer.skip)[:, None] * mask_invalid(x, lengths)
            parts = torch.cat([parts, past[None].to(parts)])
        parts = parts.double()
        samples = x.shape[0] * x.shape[-1] if lengths is None else int(lengths.sum())
        flat = parts.flatten(1)  # (P, B D L)
        self.count += samples
        self.sums = self.sums.to(flat) + parts.sum((1, 3))  # (P, D)
        self.products = self.products.to(flat) + flat @ flat.T  # (P, P)

    def mean(self) -> Tensor:
        """Of every part.                                                          (P, D)."""
        return self.sums / self.count

    def covariance(self) -> Tensor:
        """Of the parts, summed over channels.                                     (P, P)."""
        mean = self.mean()
        return self.products / self.count - mean @ mean.T


@torch.no_grad()
def _moments(
    model: nn.Module, layers: Mapping[str, MRConv], data: Examples, batch_size: int
) -> dict[str, _Moments]:
    found = {name: _Moments() for name in layers}

    def watch(name: str) -> Any:
        def hook(layer: MRConv, given: tuple[Any, ...], named: dict[str, Any]) -> None:
            x, lengths, *_ = (*given, named.get("lengths"))
            found[name].add(layer, x, lengths)

        return hook

    hooks = [
        layer.register_forward_pre_hook(watch(name), with_kwargs=True)
        for name, layer in layers.items()
    ]
    try:
        for batch in Batches(data, batch_size):
            x, _, lengths = moved(batch, next(model.parameters()))
            model(x, lengths)
    finally:
        for hook in hooks:
            hook.remove()
    return found


def _dropped(covariance: Tensor, resolutions: int, tolerance: float) -> list[int]:
    """Resolutions whose sum has at most this share of the power: the cheapest first."""
    dropped: list[int] = []

    def power(which: list[int]) -> float:
        return float(covariance[which][:, which].sum())

    while len(dropped) < resolutions - 1:
        rest = [i for i in range(resolutions) if i not in dropped]
        best = min(rest, key=lambda i: power([*dropped, i]))
        if power([*dropped, best]) > tolerance * float(covariance.sum()):
            break
        dropped.append(best)
    return sorted(dropped)


@torch.no_grad()
def _without(layer: MRConv, dropped: list[int], mean: Tensor) -> MRConv:
    """The layer without some resolutions, the mean of its output on the data unchanged."""
    new = keep_resolutions(layer, [i for i in range(layer.resolutions) if i not in dropped])
    # what leaves: the dropped parts' mean, and the constants behind their norms
    constant = layer.factors()[1] - new.factors()[1] + mean[dropped].sum(0)
    new.shift[0] += constant.to(new.shift)
    return new


def _report(name: str, layer: MRConv, dropped: list[int], covariance: Tensor) -> PrunedLayer:
    total = float(covariance.sum()) or 1.0
    kept = tuple(span for i, span in enumerate(layer.spans) if i not in dropped)
    shares = tuple((covariance.diagonal()[: layer.resolutions] / total).tolist())
    power = float(covariance[dropped][:, dropped].sum()) / total
    return PrunedLayer(name, tuple(layer.spans), kept, shares, power)


def _measured(model: SequenceModel, data: Examples, batch_size: int) -> Measured:
    loss = nn.MSELoss() if data.y.is_floating_point() else nn.CrossEntropyLoss()
    numbers = evaluate(model, data, loss, batch_size=batch_size)
    layers = [one for one in model.modules() if isinstance(one, MRConv)]
    try:
        state_bytes = Streamer(model).init_state(1).nbytes
    except MergeError:  # two-sided, or a layer that has no stepper
        state_bytes = None
    taps = sum(layer.num_taps for layer in layers)
    return Measured(taps, state_bytes, numbers[metric_name(model, data.y)])


def _joined(spans: tuple[int, ...]) -> str:
    return ", ".join(map(str, spans))
