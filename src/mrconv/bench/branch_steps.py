"""Training steps of MRConv's branches, exact and textbook, and of one LongConv of equal reach."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..nn import LongConv, MRConv

__all__ = [
    "STEPS",
    "Setting",
    "StepName",
    "gradients",
    "make_input",
    "make_layer",
    "make_step",
    "textbook_forward",
]

StepName = Literal["exact", "textbook", "LongConv"]


@dataclass(frozen=True)
class Setting:
    """Shape and kernel of one comparison.

    Args:
        kernel: As in ``MRConv``.
        kernel_size: l_0, in samples.
        shape: (B, D, L); the layer's reach is L.
        seed: Of parameters and inputs.
        device: "cpu" or "cuda".
    """

    kernel: str
    kernel_size: int
    shape: tuple[int, int, int]
    seed: int = 0
    device: str = "cpu"

    def __str__(self) -> str:
        return f"{self.kernel}, kernel size {self.kernel_size}, {self.shape}"

    def within(self, batch: int, channels: int) -> "Setting":
        """The same with at most so many rows and channels.

        Args:
            batch: Most rows.
            channels: Most channels.

        Returns:
            A new setting.
        """
        rows, width, length = self.shape
        return replace(self, shape=(min(rows, batch), min(width, channels), length))


def make_layer(setting: Setting) -> MRConv:
    """The layer of a setting, in training mode, in float32.

    Args:
        setting: Its sizes.

    Returns:
        A layer whose parameters follow from the seed.
    """
    _, channels, length = setting.shape
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(setting.seed)
        layer = MRConv(channels, length, kernel_size=setting.kernel_size, kernel=setting.kernel)
    return layer.to(setting.device)


def make_input(setting: Setting) -> tuple[Tensor, Tensor]:
    """White noise as input, which asks for its gradient, and as gradient of the outputs.

    Args:
        setting: Its sizes.

    Returns:
        Both (B, D, L).
    """
    noise = torch.Generator().manual_seed(setting.seed + 1)
    u, gradient = torch.randn(2, *setting.shape, generator=noise).to(setting.device).unbind()
    return u.clone().requires_grad_(), gradient.clone()


def textbook_forward(layer: MRConv, u: Tensor) -> Tensor:
    """The branches as a textbook has them, in plain torch over the whole batch.

    One FFT of the input serves all branches; every branch has one inverse FFT and one
    ``batch_norm``, and leaves an output behind for the backward pass.

    Args:
        layer: Causal, summed, in training mode; its running statistics move.
        u: Input.                                                    (B, D, L)

    Returns:
        Output.                                                      (B, D, L)
    """
    length = u.shape[-1]
    size = 2 * length
    spectrum = torch.fft.rfft(u, size)
    y = u * layer.skip[:, None] if layer.skip is not None else torch.zeros_like(u)
    for i, kernel in enumerate(layer.kernels):
        taps = kernel.taps()[:, :length]  # type: ignore[operator]
        z = torch.fft.irfft(spectrum * torch.fft.rfft(taps, size), size)[..., :length]
        mean, var = layer.running_mean[i], layer.running_var[i]
        y = y + functional.batch_norm(z, mean, var, layer.gain[i], layer.shift[i], training=True)
    return y


def gradients(
    forward: Callable[[Tensor], Tensor], layer: nn.Module, u: Tensor, gradient: Tensor
) -> dict[str, Tensor]:
    """One training step.

    Args:
        forward: The layer's outputs from its input.
        layer: Whose parameters get gradients.
        u: Input.                                                    (B, D, L)
        gradient: Of the outputs.                                    (B, D, L)

    Returns:
        "output", "input" for the gradient of the input, and the gradient of every parameter.
    """
    names = ["input", *(name for name, _ in layer.named_parameters())]
    y = forward(u)
    found = torch.autograd.grad(y, [u, *layer.parameters()], gradient)
    return {"output": y.detach(), **dict(zip(names, found, strict=True))}


def _exact(setting: Setting) -> tuple[Callable[[Tensor], Tensor], nn.Module]:
    layer = make_layer(setting)
    return layer, layer


def _textbook(setting: Setting) -> tuple[Callable[[Tensor], Tensor], nn.Module]:
    layer = make_layer(setting)
    return lambda u: textbook_forward(layer, u), layer


def _long_conv(setting: Setting) -> tuple[Callable[[Tensor], Tensor], nn.Module]:
    layer = LongConv(setting.shape[1], setting.shape[2]).to(setting.device)
    return layer, layer


STEPS: dict[StepName, Callable[[Setting], tuple[Callable[[Tensor], Tensor], nn.Module]]] = {
    "exact": _exact,
    "textbook": _textbook,
    "LongConv": _long_conv,
}


def make_step(name: StepName, setting: Setting) -> Callable[[], object]:
    """A contestant with its inputs made.

    Args:
        name: Which.
        setting: Its sizes.

    Returns:
        A call that takes one training step: outputs and all gradients.
    """
    forward, layer = STEPS[name](setting)
    u, gradient = make_input(setting)
    return lambda: gradients(forward, layer, u, gradient)
