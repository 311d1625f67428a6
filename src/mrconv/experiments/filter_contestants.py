"""Who is compared in the experiment on filters, at equal numbers of parameters."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..train import Recipe, read_recipe

__all__ = [
    "ABLATION",
    "CONTESTANTS",
    "CONVOLUTIONS",
    "GATED",
    "MRCONV",
    "SEPARATE",
    "SHARED",
    "Contestant",
    "Fitted",
    "fitted",
    "sized",
]


@dataclass(frozen=True)
class Contestant:
    """A mixer, for any width.

    Args:
        name: Unique.
        mixer: Settings of the layer, but for ``num_filters``.
        share: Channels to each long filter, which must divide the width; None: it has no filters.
        outer: Width of the outer product, 1 without one; None: not part of the ablation.
        overrides: Of the recipe, where it would not learn by the recipe's own settings.
    """

    name: str
    mixer: Mapping[str, Any]
    share: int | None = None
    outer: int | None = None
    overrides: tuple[str, ...] = ()

    @property
    def step(self) -> int:
        """What widths must be multiples of."""
        return self.share or 1

    def settings(self, width: int) -> dict[str, Any]:
        """The layer's settings.

        Args:
            width: D, a multiple of ``step``.
        """
        counted = {"num_filters": self.filters(width)} if self.outer is not None else {}
        return {**self.mixer, **counted}

    def filters(self, width: int) -> int:
        """Long filters of a layer of so many channels."""
        return 0 if self.share is None else width // self.share


SEPARATE, SHARED = "separate filters, no outer product", "shared filters, no outer product"
MRCONV, GATED = "MRConv", "GatedMRConv"
#: Of both, as the recipe ``shakespeare`` has them.
BRANCHES = {"kernel": "modal", "kernel_size": 16}
#: What the reviewer asked for. Four channels to a filter without an outer product have the filters
#: of the outer product of width 4.
ABLATION: tuple[Contestant, ...] = (
    Contestant(SEPARATE, {"name": "hyena"}, share=1, outer=1),
    Contestant(SHARED, {"name": "hyena"}, share=4, outer=1),
    *(
        Contestant(f"shared filters, outer width {n}", {"name": "multihyena"}, share=n, outer=n)
        for n in (2, 4, 8)
    ),
)
#: All that learn a language. A further one is one line.
CONVOLUTIONS: tuple[Contestant, ...] = (
    *ABLATION,
    Contestant(MRCONV, {"name": "mrconv", **BRANCHES}, share=1),
    Contestant(GATED, {"name": "gated_mrconv", **BRANCHES}, share=1),
)
#: All that learn to recall.
CONTESTANTS: tuple[Contestant, ...] = (
    *CONVOLUTIONS,
    # of 1e-3, 2e-3 and 5e-3 the rate at which attention learns to recall; the others want 5e-3
    Contestant(
        "attention",
        {"name": "attention"},
        overrides=("optimizer.lr=1e-3", "optimizer.kernel_lr=1e-3"),
    ),
)


class Fitted(NamedTuple):
    """A contestant at the width at which it has as many parameters as the others."""

    contestant: Contestant
    width: int
    parameters: int
    recipe: Recipe


def fitted(
    name: str, overrides: Sequence[str], width: int, contestants: Sequence[Contestant]
) -> list[Fitted]:
    """Recipes that differ in the mixer and, for equal parameters, in the width.

    The contestant of shared filters without outer product has ``width`` channels; the others have
    the number of channels, of those they can have, that brings their parameters closest to its.

    Args:
        name: Of the recipe.
        overrides: Changes of it, ``key=value``.
        width: D of the reference.
        contestants: Who is compared.

    Returns:
        One for each contestant.
    """
    target = sized(name, overrides, ABLATION[1], width).parameters
    return [_nearest(name, overrides, one, width, target) for one in contestants]


def sized(name: str, overrides: Sequence[str], contestant: Contestant, width: int) -> Fitted:
    """The recipe of one contestant at a width.

    Args:
        name: Of the recipe.
        overrides: Changes of it, ``key=value``.
        contestant: Whose mixer.
        width: D, a multiple of its ``step``.
    """
    settings = json.dumps(contestant.settings(width))
    changes = [f"model.backbone.mixer={settings}", f"model.backbone.channels={width}"]
    recipe = read_recipe(name, [*overrides, *contestant.overrides, *changes])
    count = sum(one.numel() for one in recipe.make_model().parameters())
    return Fitted(contestant, width, count, recipe)


def _nearest(
    name: str, overrides: Sequence[str], contestant: Contestant, width: int, target: int
) -> Fitted:
    """Steps from a width towards the target, as long as that comes closer."""
    step = contestant.step
    best = sized(name, overrides, contestant, max(step, width // step * step))
    while True:
        onward = best.width + (step if best.parameters < target else -step)
        if onward < step:
            return best
        following = sized(name, overrides, contestant, onward)
        if abs(following.parameters - target) >= abs(best.parameters - target):
            return best
        best = following
