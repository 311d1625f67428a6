"""What is compared sample by sample: a stream of every kernel form, and the two plain ways."""

import itertools
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from ..nn import LongConv, MRConv
from ..streaming import DenseName, State, Streamer

__all__ = [
    "CHUNK",
    "FORMS",
    "FormName",
    "NaiveDot",
    "Rerun",
    "Running",
    "advanced",
    "dense_layer",
    "make_layer",
    "make_stream",
]

FormName = Literal[
    "Fourier by windows",
    "dilated by gather",
    "sparse by gather",
    "dense by tiles",
    "dense in partitions",
    "dense, flat",
    "modal recurrence",
]

KERNEL_SIZE = 16  # as in the recipe for speech
CHUNK = 256  # samples


class Form(NamedTuple):
    """A layer, and how its dense taps are streamed."""

    layer: Callable[[int, int], nn.Module]
    dense: DenseName = "tiled"


def _branches(kernel: str) -> Callable[[int, int], MRConv]:
    def make(channels: int, length: int) -> MRConv:
        size = min(KERNEL_SIZE, length)
        return MRConv(channels, length, kernel=kernel, kernel_size=size).eval()

    return make


def dense_layer(channels: int, length: int) -> LongConv:
    """One convolution whose taps all carry a value.

    Args:
        channels: D.
        length: K, taps.

    Returns:
        The layer, in eval mode.
    """
    return LongConv(channels, length).eval()


def _recurrence(channels: int, length: int) -> nn.Module:
    return _branches("modal")(channels, length).reparameterize(form="recurrence")


FORMS: dict[FormName, Form] = {
    "Fourier by windows": Form(_branches("fourier")),
    "dilated by gather": Form(_branches("dilated")),
    "sparse by gather": Form(_branches("sparse")),
    "dense by tiles": Form(dense_layer),
    "dense in partitions": Form(dense_layer, "partitioned"),
    "dense, flat": Form(dense_layer, "flat"),
    "modal recurrence": Form(_recurrence),
}


def make_layer(form: FormName, channels: int, length: int, seed: int = 0) -> nn.Module:
    """The layer of a form, in eval mode.

    Args:
        form: Of the kernels.
        channels: D.
        length: L, in samples.
        seed: Of the parameters.

    Returns:
        A module (B, D, L) -> (B, D, L).
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return FORMS[form].layer(channels, length)


def make_stream(form: FormName, layer: nn.Module) -> Streamer:
    """The stream of a form's layer.

    Args:
        form: Of the kernels.
        layer: As ``make_layer`` gives it, in any dtype.

    Returns:
        The stream.
    """
    return Streamer(layer, dense=FORMS[form].dense)


def advanced(state: State, samples: int) -> State:
    """The state of a fresh stream behind some zeros, which leave everything but the position zero.

    Args:
        state: Fresh; written to.
        samples: How many.

    Returns:
        The same state.
    """
    for name, tensor in state.named_tensors():
        if name.rpartition(".")[2] == "position":
            tensor.fill_(samples)
    return state


class Running:
    """A stream of one row that is fed with noise.

    Args:
        stream: Of a layer.
        channels: D.
        position: Zeros that it has seen before.
        seed: Of the noise.
    """

    def __init__(self, stream: Streamer, channels: int, position: int = 0, seed: int = 0) -> None:
        noise = torch.Generator().manual_seed(seed)
        self.stream = stream
        self.state = advanced(stream.init_state(1), position)
        self.piece = torch.randn(1, channels, CHUNK, generator=noise)
        self.samples = itertools.cycle(self.piece.transpose(1, 2).contiguous().unbind(1))

    def step(self) -> Tensor:
        """The next sample.                                               (1, D)."""
        y, self.state = self.stream.step(next(self.samples), self.state)
        return y

    def chunk(self) -> Tensor:
        """The next ``CHUNK`` samples.                                 (1, D, n)."""
        y, self.state = self.stream.chunk(self.piece, self.state)
        return y


class NaiveDot:
    """All K products of every sample, from a ring that is kept twice, so that a window is one run.

    y[t] = sum_j taps[d, j] u[t - j]; one pass over taps and ring, without a product in memory.

    Args:
        taps: Impulse response.                                         (D, K)
        seed: Of the noise that it is fed with.
    """

    def __init__(self, taps: Tensor, seed: int = 0) -> None:
        self.taps = taps.flip(-1).contiguous().numpy()  # the oldest sample first
        channels, self.size = taps.shape
        self.ring = np.zeros((channels, 2 * self.size), self.taps.dtype)
        self.place = 0
        noise = torch.Generator().manual_seed(seed)
        self.samples = itertools.cycle(torch.randn(CHUNK, channels, generator=noise).unbind(0))

    def step(self) -> Tensor:
        """The next sample.                                                 (D,)."""
        return self.take(next(self.samples))

    def take(self, u: Tensor) -> Tensor:
        """One sample of every channel.

        Args:
            u: Input.                                                      (D,)

        Returns:
            Output.                                                        (D,)
        """
        self.ring[:, self.place :: self.size] = u.numpy()[:, None]
        self.place = (self.place + 1) % self.size
        # behind the newest sample stands the oldest
        window = self.ring[:, self.place : self.place + self.size]
        return torch.from_numpy(np.einsum("dk,dk->d", window, self.taps))


class Rerun:
    """The parallel layer over the last L samples again, for the newest output.

    Args:
        layer: One convolution; L is its number of taps.
        seed: Of the noise.
    """

    def __init__(self, layer: LongConv, seed: int = 0) -> None:
        noise = torch.Generator().manual_seed(seed)
        self.layer, self.x = layer, torch.randn(1, *layer.taps.shape, generator=noise)

    @torch.no_grad()
    def step(self) -> Tensor:
        """The newest output.                                             (1, D)."""
        y: Tensor = self.layer(self.x)
        return y[..., -1]
