"""Proof by experiment that all forms of a layer or model compute the same."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from .branch_statistics import BranchNorm
from .errors import ArgumentError, MergeError
from .merging import MERGEABLE, merge
from .nn.hyena import GatedConv
from .nn.kernel_conv import KernelConv
from .nn.long_conv import LongConv
from .nn.mr_conv import MRConv
from .nn.recurrence import ModalRecurrence
from .nn.reparameterize import TOLERANCES, narrowest, refuse_training
from .streaming.cuts import streamed_in_cuts

__all__ = ["Proof", "Row", "verify"]

Inputs = Tensor | tuple[Tensor, Tensor | None] | Mapping[str, Tensor | None]

#: Through a whole model rounding adds up; its output may differ by this many times a layer's bound.
DEPTH_FACTOR = 10
#: Reach, in samples, that input is made up for where a recurrence never ends.
ENDLESS = 1024
#: Modules (B, D, L) -> (B, D, L) for which input can be made up.
LAYERS = (*MERGEABLE, GatedConv, LongConv, ModalRecurrence)


@dataclass(frozen=True)
class Row:
    """One comparison of two forms at one place."""

    place: str
    """Name of the layer inside the model, "features" or "output"."""
    forms: tuple[str, str]
    largest: float
    """Largest difference, relative to the largest value of the first form."""
    mean: float
    """Mean difference, relative to the same value."""
    sample: int | None
    """Where in time the largest difference stands; None without a time axis."""
    bound: float
    holds: bool


@dataclass(frozen=True)
class Proof:
    """All comparisons; prints as a table."""

    rows: tuple[Row, ...]

    @property
    def holds(self) -> bool:
        """Whether every comparison stays within its bound."""
        return all(row.holds for row in self.rows)

    def __str__(self) -> str:
        head = ("place", "forms", "largest", "mean", "at sample", "bound", "holds")
        lines = [head, *(_cells(row) for row in self.rows)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )


def verify(model: nn.Module, *others: nn.Module, inputs: Inputs | None = None) -> Proof:
    """Every form of a model against every other, layer by layer and as a whole, and its streams.

    Forms are the branches, convolved one by one as the equation of MRConv has it, the merged
    model, and the ``others``; a recurrence carries its state from block to block. Each long
    convolution of the first form hands the input it met to the same layer of the other forms, so
    that a small mistake in one layer is not washed out by the rest; then features and outputs of
    the whole models are compared. A form that can be streamed is also run in random cuts, single
    samples and empty chunks among them, and compared with itself as a whole; of pooled outputs the
    last.

    Args:
        model: In eval mode: a layer (B, D, L), or a model (B, L, F).
        *others: Other forms of the same model. None: the merge of ``model``.
        inputs: A batch as the model takes it, a tuple of batch and lengths, or the model's
            arguments by name, such as ``{"x": x, "pair": z}``; None: random numbers of the length
            the model was made for.

    Returns:
        The comparisons; ``.holds``, ``.rows``, and a table when printed.

    Raises:
        MergeError: If a model is in training mode.
        ArgumentError: If there is only one form, or no input can be made up for the module.

    Cost: one forward pass a form, the branches at R convolutions a layer, and two streams of some
    twenty calls a form.

    Example:
        >>> import mrconv
        >>> mrconv.verify(mrconv.MRConv(4, 64).eval()).holds
        True
    """
    for one in (model, *others):
        refuse_training("verify", one)
    forms = _forms(model, others)
    batch = inputs if inputs is not None else _made_up(model)
    rows: list[Row] = []
    with torch.no_grad():
        runs = [(name, _Run(form, batch)) for name, form in forms]
        for i, (name, run) in enumerate(runs):
            for other_name, other in runs[i + 1 :]:
                rows += _compared((name, other_name), run, other)
        for (name, form), (_, run) in zip(forms, runs, strict=True):
            rows += _streamed(name, form, run)
    return Proof(tuple(rows))


def _forms(model: nn.Module, others: Sequence[nn.Module]) -> list[tuple[str, nn.Module]]:
    if not others:
        if not _has_branches(model):
            raise ArgumentError(
                f"verify: there must be two forms; got one {_form(model)} model. "
                "Pass the model it was merged from as well."
            )
        others = [merge(model)]
    forms: list[tuple[str, nn.Module]] = []
    for one in (model, *others):
        form = _form(one)
        same = sum(name.split(" ")[0] == form for name, _ in forms)
        forms.append((f"{form} {same + 1}" if same else form, _by_branches(one)))
    return forms


def _has_branches(model: nn.Module) -> bool:
    return any(isinstance(module, MERGEABLE) for module in model.modules())


def _form(model: nn.Module) -> str:
    if _has_branches(model):
        return "branches"
    recurrent = any(isinstance(module, ModalRecurrence) for module in model.modules())
    return "recurrence" if recurrent else "merged"


def _by_branches(model: nn.Module) -> nn.Module:
    """A copy whose MRConv layers convolve branch by branch, a route apart from the merge."""
    model = copy.deepcopy(model)
    for module in model.modules():
        if isinstance(module, MRConv) and isinstance(module.norm, BranchNorm):
            module.norm = replace(module.norm, statistics="textbook")
    return model


def _made_up(model: nn.Module) -> Inputs:
    """Two random sequences that the model takes, or two pairs of them."""
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


def _reach(layer: MRConv | KernelConv | GatedConv | LongConv | ModalRecurrence) -> int:
    if isinstance(layer, (MRConv, KernelConv, GatedConv)):
        return layer.length
    return layer.num_taps or ENDLESS


class _Run:
    """One forward pass: the module, what each long convolution met and gave, and the outputs."""

    def __init__(self, module: nn.Module, batch: Inputs) -> None:
        self.layers = {
            name: layer
            for name, layer in module.named_modules()
            if isinstance(layer, (*MERGEABLE, LongConv, ModalRecurrence))
        }
        self.met: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {}
        self.outputs: dict[str, Tensor] = {}
        self.dtype = narrowest(module).dtype
        self.time_axis = 2 if isinstance(module, LAYERS) else 1
        watched: dict[str, nn.Module] = {**self.layers}
        if isinstance(backbone := getattr(module, "backbone", None), nn.Module):
            watched["features"] = backbone
        hooks = [
            one.register_forward_hook(self._keep(name), with_kwargs=True)
            for name, one in watched.items()
        ]
        self.given: tuple[tuple[Any, ...], Mapping[str, Any]] = (), {}
        if isinstance(batch, Mapping):
            self.given = (), batch
        else:
            self.given = batch if isinstance(batch, tuple) else (batch,), {}
        whole = module(*self.given[0], **self.given[1])
        if "" not in self.layers:  # the module is not itself a layer
            self.outputs["output"] = whole
        for hook in hooks:
            hook.remove()

    def _keep(self, name: str):  # type: ignore[no-untyped-def]
        def hook(
            module: nn.Module, given: tuple[Any, ...], named: dict[str, Any], output: Tensor
        ) -> None:
            self.met[name] = given, named
            self.outputs[name] = output

        return hook


def _compared(forms: tuple[str, str], first: _Run, second: _Run) -> list[Row]:
    if first.outputs.keys() != second.outputs.keys():
        names = sorted(first.outputs.keys() ^ second.outputs.keys())
        raise MergeError(
            f"verify: forms must have the same layers; got {', '.join(names)} in one of "
            f"{forms[0]} and {forms[1]} only. Pass forms of one model."
        )
    bound = max(TOLERANCES[first.dtype], TOLERANCES[second.dtype])
    rows = []
    for name, layer in second.layers.items():
        given, named = first.met[name]
        ours, theirs = first.outputs[name], _apart(layer, *given, **named)
        rows.append(_row(name or "layer", forms, ours, theirs, bound, time_axis=2))
    for name in ("features", "output"):
        if name in first.outputs:
            pair = first.outputs[name], second.outputs[name]
            axis = first.time_axis if pair[0].ndim == 3 else None
            rows.append(_row(name, forms, *pair, bound * DEPTH_FACTOR, time_axis=axis))
    return rows


def _streamed(name: str, form: nn.Module, run: _Run) -> list[Row]:
    """Layers and whole of one form in random cuts; no rows for what has no stream."""
    forms, bound = (name, f"{name} streamed"), TOLERANCES[run.dtype]
    rows = []
    for place, layer in run.layers.items():
        if (result := _in_cuts(layer, *run.met[place])) is not None:
            ours, (theirs, _) = run.outputs[place], result
            rows.append(_row(place or "layer", forms, ours, theirs, bound, time_axis=2))
    if "output" in run.outputs and (result := _in_cuts(form, *run.given)) is not None:
        ours, (theirs, axis) = run.outputs["output"], result
        pooled = theirs.ndim > ours.ndim
        if pooled:
            ours, theirs = _last(ours, theirs, *run.given)
        time_axis = None if pooled else axis
        rows.append(_row("output", forms, ours, theirs, bound * DEPTH_FACTOR, time_axis=time_axis))
    return rows


def _in_cuts(
    module: nn.Module, given: tuple[Any, ...], named: Mapping[str, Any]
) -> tuple[Tensor, int] | None:
    x, lengths = _input_and_lengths(given, named)
    return None if x is None else streamed_in_cuts(module, x, lengths)


def _input_and_lengths(
    given: tuple[Any, ...], named: Mapping[str, Any]
) -> tuple[Tensor | None, Tensor | None]:
    values = {**dict(zip(("x", "lengths"), given, strict=False)), **named}
    return values.get("x"), values.get("lengths")


def _last(
    pooled: Tensor, stream: Tensor, given: tuple[Any, ...], named: Mapping[str, Any]
) -> tuple[Tensor, Tensor]:
    """One answer a row, and the stream's at the row's last sample; empty rows have none."""
    _, lengths = _input_and_lengths(given, named)
    ends = torch.full((len(stream),), stream.shape[1]) if lengths is None else lengths.cpu()
    rows = (ends > 0).nonzero()[:, 0]
    return pooled[rows], stream[rows, ends[rows].long() - 1]


def _apart(layer: nn.Module, x: Tensor, lengths: Tensor | None = None, **named: Any) -> Tensor:
    """A layer's output; a recurrence carries its state on, as a stream does, without an FFT."""
    if isinstance(layer, ModalRecurrence):
        return layer.chunk(x, layer.init_state(len(x)), lengths)[0]
    return layer(x, lengths, **named)


def _row(
    place: str,
    forms: tuple[str, str],
    first: Tensor,
    second: Tensor,
    bound: float,
    *,
    time_axis: int | None,
) -> Row:
    difference = (second.double() - first.double()).abs()
    scale = first.double().abs().max().clamp_min(1e-300) if first.numel() else 1.0
    if not difference.numel():
        return Row(place, forms, 0.0, 0.0, None, bound, True)
    largest, mean = float(difference.max() / scale), float(difference.mean() / scale)
    sample = None
    if time_axis is not None:
        others = [axis for axis in range(first.ndim) if axis != time_axis]
        sample = int(difference.amax(others).argmax())
    return Row(place, forms, largest, mean, sample, bound, largest <= bound)


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.place,
        " against ".join(row.forms),
        f"{row.largest:.1e}",
        f"{row.mean:.1e}",
        "-" if row.sample is None else str(row.sample),
        f"{row.bound:.0e}",
        "yes" if row.holds else "NO",
    )
