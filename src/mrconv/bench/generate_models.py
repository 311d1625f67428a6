"""What generates in turn: whole language models of equal parameters, each in its own form."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import torch

from ..distillation import distill
from ..kernels import S4DKernel
from ..merging import merge
from ..models import LanguageModel, SequenceBackbone
from ..streaming import Streamer

__all__ = [
    "FULL",
    "KINDS",
    "QUICK",
    "STREAMS",
    "VOCABULARY",
    "Kind",
    "Sizes",
    "StreamName",
    "distilled",
    "make_model",
    "make_stream",
    "merged_hyena",
    "parameters",
]

Kind = Literal["attention", "Hyena", "MultiHyena"]
StreamName = Literal[
    "attention", "Hyena, exact stream", "Hyena, distilled", "MultiHyena, distilled"
]

VOCABULARY = 256  # bytes
#: Reach of the model that is distilled: taps are then cheap to judge, and the poles are the same.
SHORT = 64


@dataclass(frozen=True)
class Sizes:
    """Sizes that all models share, and those of the long filters.

    Args:
        channels: D.
        depth: Blocks.
        length: Reach of the long filters, in tokens.
        order: N, real states of each filter.
        filters: Long filters of a Hyena layer.
        heads: Long filters of a MultiHyena layer.
        seed: Of the parameters.
    """

    channels: int
    depth: int
    length: int
    order: int
    filters: int
    heads: int
    seed: int = 0


# Four channels of Hyena share a filter, and MultiHyena has outer products of 8 x 8: more filters
# would take the parameters more than 2 % above attention's
FULL = Sizes(channels=256, depth=2, length=16384, order=16, filters=64, heads=32)
QUICK = Sizes(channels=16, depth=1, length=64, order=4, filters=4, heads=4)


def _hyena(sizes: Sizes) -> Mapping[str, Any]:
    kernel = partial(S4DKernel, order=sizes.order)
    return {"name": "hyena", "num_filters": sizes.filters, "kernel": kernel}


def _multihyena(sizes: Sizes) -> Mapping[str, Any]:
    return {**_hyena(sizes), "name": "multihyena", "num_filters": sizes.heads}


KINDS: dict[Kind, Callable[[Sizes], Mapping[str, Any]]] = {
    "attention": lambda sizes: {"name": "attention"},
    "Hyena": _hyena,
    "MultiHyena": _multihyena,
}


def make_model(kind: Kind, sizes: Sizes) -> LanguageModel:
    """A language model of bytes with fresh weights, blocks as in the recipe for texts.

    Args:
        kind: What mixes over time.
        sizes: Of the model.

    Returns:
        The model, in eval mode.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(sizes.seed)
        backbone = SequenceBackbone(
            VOCABULARY + 1,
            sizes.length,
            channels=sizes.channels,
            depth=sizes.depth,
            mixer=KINDS[kind](sizes),
            norm="layer",
            pre_norm=True,
            dropout=0.0,
            tokens=True,
        )
        return LanguageModel(backbone, VOCABULARY).eval()


def parameters(model: LanguageModel) -> int:
    """How many numbers are trained."""
    return sum(one.numel() for one in model.parameters())


def distilled(kind: Kind, sizes: Sizes) -> LanguageModel:
    """The model whose long filters are recurrences, which their own poles give exactly.

    No parameter of an S4D kernel depends on its reach, so the model of a short reach has the same
    poles, and judging its taps takes a thousandth of the time.

    Args:
        kind: "Hyena" or "MultiHyena".
        sizes: Of the model.

    Returns:
        The model, in eval mode.
    """
    model = make_model(kind, sizes)
    short = make_model(kind, replace(sizes, length=min(SHORT, sizes.length)))
    short.load_state_dict(model.state_dict())
    return distill(short, order=sizes.order, fir_head=1)[0]


def merged_hyena(sizes: Sizes) -> LanguageModel:
    """Hyena with explicit taps, for running it over a context again."""
    return merge(make_model("Hyena", sizes))


def _attention(sizes: Sizes, capacity: int) -> Streamer:
    return Streamer(make_model("attention", sizes), capacity=capacity)


#: By form; each takes sizes and the tokens that a row will hold at most, which attention must know.
STREAMS: dict[StreamName, Callable[[Sizes, int], Streamer]] = {
    "attention": _attention,
    "Hyena, exact stream": lambda sizes, capacity: Streamer(make_model("Hyena", sizes)),
    "Hyena, distilled": lambda sizes, capacity: Streamer(distilled("Hyena", sizes)),
    "MultiHyena, distilled": lambda sizes, capacity: Streamer(distilled("MultiHyena", sizes)),
}


def make_stream(name: StreamName, sizes: Sizes, capacity: int) -> Streamer:
    """The stream of a model.

    Args:
        name: Model and form.
        sizes: Of the model.
        capacity: Tokens that a row will hold at most.

    Returns:
        The stream.
    """
    return STREAMS[name](sizes, capacity)
