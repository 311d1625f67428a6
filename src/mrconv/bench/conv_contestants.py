"""The convolutions that are measured, all giving the same numbers."""

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from ..convolution import long_convolution
from .shapes import Shape

__all__ = [
    "Contestants",
    "Operands",
    "Pass",
    "contestants",
    "conv1d",
    "make_operands",
    "oaconvolve",
    "skipped",
    "textbook",
]

Pass = Literal["forward", "training step"]
Contestants = Mapping[str, Callable[[], object]]

# Multiplications a second of torch's depthwise Conv1d with long kernels, as measured on two cores;
# its backward pass is that much slower. Beyond LONGEST seconds it is left out.
CONV1D_RATE: dict[Pass, float] = {"forward": 4e10, "training step": 2.5e9}
LONGEST = 2.0


class Operands(NamedTuple):
    """What every contestant is given."""

    u: Tensor
    """Input.                                                        (B, D, L)"""
    taps: Tensor
    """Impulse responses.                                               (D, K)"""
    gradient: Tensor
    """Of the outputs, at random.                                    (B, D, L)"""


def make_operands(shape: Shape, seed: int, device: str = "cpu") -> Operands:
    """White noise of a shape.

    Args:
        shape: Sizes.
        seed: Of the noise.
        device: Where it lies.

    Returns:
        Input and taps, which ask for gradients, and a gradient of the outputs.
    """
    noise = torch.Generator().manual_seed(seed)
    batch, channels, length, taps = shape
    u = torch.randn(batch, channels, length, generator=noise)
    kernel = torch.randn(channels, taps, generator=noise) / taps**0.5
    gradient = torch.randn(u.shape, generator=noise)
    return Operands(
        u.to(device).requires_grad_(), kernel.to(device).requires_grad_(), gradient.to(device)
    )


def textbook(u: Tensor, taps: Tensor) -> Tensor:
    """The convolution theorem over the whole batch, by autograd.

    Args:
        u: Input.                                                    (B, D, L)
        taps: Impulse responses.                                        (D, K)

    Returns:
        Output.                                                      (B, D, L)
    """
    length = u.shape[-1]
    size = 2 * length
    # taps beyond the input meet no sample of it, and would wrap around
    spectrum = torch.fft.rfft(u, size) * torch.fft.rfft(taps[:, :length], size)
    return torch.fft.irfft(spectrum, size)[..., :length]


def conv1d(u: Tensor, taps: Tensor) -> Tensor:
    """Torch's depthwise convolution.

    Args:
        u: Input.                                                    (B, D, L)
        taps: Impulse responses.                                        (D, K)

    Returns:
        Output.                                                      (B, D, L)
    """
    padded = functional.pad(u, (taps.shape[-1] - 1, 0))
    return functional.conv1d(padded, taps.flip(-1)[:, None], groups=u.shape[1])


def oaconvolve(u: NDArray[np.float32], taps: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scipy's overlap-add convolution.

    Args:
        u: Input.                                                    (B, D, L)
        taps: Impulse responses.                                        (D, K)

    Returns:
        Output.                                                      (B, D, L)
    """
    from scipy import signal

    y: NDArray[np.float32] = signal.oaconvolve(u, taps[None], axes=-1)
    return y[..., : u.shape[-1]]


def contestants(shape: Shape, operands: Operands) -> dict[Pass, Contestants]:
    """Who takes part in which pass.

    Args:
        shape: Sizes.
        operands: What all are given.

    Returns:
        Calls by pass and name, "ours" and "textbook" among them.
    """
    u, taps = operands.u.detach(), operands.taps.detach()
    forward: dict[str, Callable[[], object]] = {
        "ours": lambda: long_convolution(u, taps),
        "textbook": lambda: textbook(u, taps),
        "Conv1d": lambda: conv1d(u, taps),
        "memory copy": u.clone,
    }
    if u.device.type == "cpu":
        arrays = u.numpy(), taps.numpy()
        forward["oaconvolve"] = lambda: oaconvolve(*arrays)
    step: dict[str, Callable[[], object]] = {
        "ours": lambda: gradients(long_convolution, operands),
        "textbook": lambda: gradients(textbook, operands),
        "Conv1d": lambda: gradients(conv1d, operands),
    }
    passes: dict[Pass, dict[str, Callable[[], object]]] = {
        "forward": forward,
        "training step": step,
    }
    for passed, group in passes.items():
        if _conv1d_seconds(shape, passed) > LONGEST:
            del group["Conv1d"]
    return {"forward": forward, "training step": step}


def gradients(
    convolution: Callable[[Tensor, Tensor], Tensor], operands: Operands
) -> tuple[Tensor, ...]:
    """One training step: the output, and what a random gradient of it gives for input and taps.

    Args:
        convolution: A contestant.
        operands: What it is given.

    Returns:
        Gradients of the input (B, D, L) and of the taps (D, K).
    """
    y = convolution(operands.u, operands.taps)
    return torch.autograd.grad(y, (operands.u, operands.taps), operands.gradient)


def _conv1d_seconds(shape: Shape, passed: Pass) -> float:
    batch, channels, length, taps = shape
    return batch * channels * length * taps / CONV1D_RATE[passed]


def skipped(shape: Shape, passed: Pass, device: str) -> list[str]:
    """Who does not take part, and why.

    Args:
        shape: Sizes.
        passed: Forward or training step.
        device: "cpu" or "cuda".

    Returns:
        Sentences.
    """
    told, seconds = [], _conv1d_seconds(shape, passed)
    if seconds > LONGEST:
        told.append(f"  {shape}, {passed}: Conv1d skipped, about {seconds:.0f} s a call expected")
    if passed == "forward" and device != "cpu":
        told.append(f"  {shape}, {passed}: oaconvolve skipped, it runs on the CPU only")
    return told
