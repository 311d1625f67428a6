"""``mrconv.verify``: every form of a model against every other."""

import copy
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import nn

from ..branch_statistics import BranchNorm
from ..distillation.outputs import Inputs
from ..errors import ArgumentError
from ..merging import MERGEABLE, UNMERGEABLE, merge
from ..nn.mr_conv import MRConv
from ..nn.recurrence import ModalRecurrence
from ..nn.reparameterize import refuse_training
from .comparison import compared, streamed
from .inputs import made_up
from .proof import Proof, Row
from .runs import Run

__all__ = ["verify"]


def verify(model: nn.Module, *others: nn.Module, inputs: Inputs | None = None) -> Proof:
    """Every form of a model against every other, layer by layer and as a whole, and its streams.

    Forms are the branches, convolved one by one as the equation of MRConv has it, the merged
    model, and the ``others``; a recurrence carries its state from block to block. Each long
    convolution of the first form hands the input it met to the same layer of the other forms, so
    that a small mistake in one layer is not washed out by the rest; then features and outputs of
    the whole models are compared. A form that can be streamed is also run in random cuts, single
    samples and empty chunks among them, and compared with itself as a whole; of pooled outputs the
    last.

    A distilled layer is no equal form. Its difference is held against what the difference of its
    taps allows on that input, and is told for the whole model without a bound; its own stream must
    equal it like any other.

    Args:
        model: In eval mode: a layer (B, D, L), or a model (B, L, F).
        *others: Other forms of the same model. None: the merge of ``model``, or its streams alone
            where a GatedMRConv or an S5 has no merge.
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
    batch = inputs if inputs is not None else made_up(model)
    rows: list[Row] = []
    with torch.no_grad():
        runs = [(name, Run(form, batch)) for name, form in forms]
        for i, (name, run) in enumerate(runs):
            for other_name, other in runs[i + 1 :]:
                rows += compared((name, other_name), run, other)
        for (name, form), (_, run) in zip(forms, runs, strict=True):
            rows += streamed(name, form, run)
    return Proof(tuple(rows))


def _forms(model: nn.Module, others: Sequence[nn.Module]) -> list[tuple[str, nn.Module]]:
    if not others:
        if not _has_forms(model):
            raise ArgumentError(
                f"verify: there must be two forms; got one {_form(model)} model. "
                "Pass the model it was merged from as well."
            )
        others = [] if _has_no_merge(model) else [merge(model)]
    forms: list[tuple[str, nn.Module]] = []
    for one in (model, *others):
        form = _form(one)
        same = sum(name.split(" ")[0] == form for name, _ in forms)
        forms.append((f"{form} {same + 1}" if same else form, _by_branches(one)))
    return forms


def _has_forms(model: nn.Module) -> bool:
    mergeable = any(isinstance(module, MERGEABLE) for module in model.modules())
    return mergeable or _has_no_merge(model)


def _has_no_merge(model: nn.Module) -> bool:
    return any(isinstance(module, UNMERGEABLE) for module in model.modules())


def _form(model: nn.Module) -> str:
    if _has_forms(model):
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
