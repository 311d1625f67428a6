"""The layers that are compared, each as a mixer (B, D, L) -> (B, D, L) of equal width."""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from .._checks import mask_invalid
from ..nn import Attention, KernelConv, MRConv, ResidualBlock

__all__ = ["LAYERS", "DilatedStack", "LayerName", "Pass", "layers_of", "make_block", "make_call"]

LayerName = Literal[
    "merged MRConv",
    "attention",
    "S4D",
    "SGConv",
    "MRConv branches",
    "dilated stack",
    "S4D, kernel cached",
]
Pass = Literal["forward", "training step"]

KERNEL, KERNEL_SIZE = "dilated", 8  # as in the recipes
TAPS = 3  # of one convolution of the stack


class DilatedStack(nn.Module):
    """Causal convolutions of three taps whose dilation doubles until they reach over the input.

    x <- x + relu(conv(x)), dilations 1, 2, 4, ...; each convolution joins all channels, as in
    temporal convolution networks.

    Args:
        channels: D.
        length: Samples that the receptive field must cover.

    Source: Bai et al. 2018, less its second convolution a level and its dropout.
    """

    def __init__(self, channels: int, length: int) -> None:
        super().__init__()
        self.levels = nn.ModuleList()
        reach = 1
        while reach < length or not self.levels:
            dilation = 1 << len(self.levels)
            self.levels.append(nn.Conv1d(channels, channels, TAPS, dilation=dilation))
            reach += dilation * (TAPS - 1)
        self.receptive_field = reach

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Runs all levels.

        Args:
            x: Input.                                                (B, D, L)
            lengths: Valid samples of each row; None: all.                (B,)

        Returns:
            Output, 0 behind each row's length.                      (B, D, L)
        """
        for i, conv in enumerate(self.levels):
            past = functional.pad(x, ((TAPS - 1) << i, 0))
            x = x + functional.relu(conv(past))
        return mask_invalid(x, lengths)


def _branches(channels: int, length: int) -> MRConv:
    return MRConv(channels, length, kernel=KERNEL, kernel_size=min(KERNEL_SIZE, length))


def _s4d(channels: int, length: int) -> KernelConv:
    return KernelConv(channels, length, kernel="s4d")


LAYERS: dict[LayerName, Callable[[int, int], nn.Module]] = {
    "merged MRConv": lambda channels, length: _branches(channels, length).eval().reparameterize(),
    "attention": Attention,
    "S4D": _s4d,
    "SGConv": lambda channels, length: KernelConv(channels, length, kernel="sgconv"),
    "MRConv branches": _branches,
    "dilated stack": DilatedStack,
    "S4D, kernel cached": lambda channels, length: _s4d(channels, length).eval().reparameterize(),
}


def layers_of(passed: Pass) -> list[LayerName]:
    """Who takes part in a pass: a cached kernel cannot be trained.

    Args:
        passed: Forward or training step.

    Returns:
        Names.
    """
    return [name for name in LAYERS if passed == "forward" or name != "S4D, kernel cached"]


def make_block(name: LayerName, channels: int, length: int, seed: int = 0) -> ResidualBlock:
    """A residual block around a layer.

    Args:
        name: Of the layer.
        channels: D.
        length: L, in samples.
        seed: Of the parameters.

    Returns:
        The block.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return ResidualBlock(LAYERS[name](channels, length), channels)


def make_call(module: nn.Module, x: Tensor, passed: Pass) -> Callable[[], object]:
    """A pass of a module; its mode becomes the pass's.

    Args:
        module: Block or layer.
        x: Input.                                                    (B, D, L)
        passed: Forward: in eval mode, without gradients. Training step: gradients of the input and
            of all parameters from a random gradient of the outputs.

    Returns:
        The call.
    """
    if passed == "forward":
        module.eval()
        return lambda: _without_gradients(module, x)
    module.train()
    wanted = [x.clone().requires_grad_(), *module.parameters()]
    gradient = torch.randn_like(x)
    return lambda: torch.autograd.grad(module(wanted[0]), wanted, gradient)


@torch.no_grad()
def _without_gradients(module: nn.Module, x: Tensor) -> Tensor:
    y: Tensor = module(x)
    return y
