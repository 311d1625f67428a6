"""One forward pass of a form, with all that is needed to hold other forms against it."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from ..distillation.outputs import Inputs
from ..merging import MERGEABLE, UNMERGEABLE
from ..nn.gated_mr_conv import GatedMRConv
from ..nn.long_conv import LongConv
from ..nn.recurrence import ModalRecurrence
from ..nn.reparameterize import narrowest
from ..nn.response import Convolution
from ..nn.s5 import S5
from .inputs import LAYERS

__all__ = ["Given", "Run", "carried_on", "input_and_lengths"]

#: Arguments by position and by name.
Given = tuple[tuple[Any, ...], Mapping[str, Any]]


class Run:
    """One forward pass: the module, what each long convolution met and gave, and the outputs."""

    def __init__(self, module: nn.Module, batch: Inputs) -> None:
        self.layers: dict[str, Convolution | GatedMRConv | S5] = {
            name: layer
            for name, layer in module.named_modules()
            if isinstance(layer, (*MERGEABLE, *UNMERGEABLE, LongConv, ModalRecurrence))
        }
        self.met: dict[str, Given] = {}
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
        self.given: Given = (), {}
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


def input_and_lengths(given: Given) -> tuple[Tensor | None, Tensor | None]:
    """The arguments x and lengths, however they were passed."""
    values = {**dict(zip(("x", "lengths"), given[0], strict=False)), **given[1]}
    return values.get("x"), values.get("lengths")


def carried_on(layer: nn.Module, given: Given) -> Tensor:
    """A layer's output; a recurrence carries its state on, as a stream does, without an FFT."""
    x, lengths = input_and_lengths(given)
    if isinstance(layer, ModalRecurrence) and x is not None:
        return layer.chunk(x, layer.init_state(len(x)), lengths)[0]
    output: Tensor = layer(*given[0], **given[1])
    return output
