"""Streaming of S5: its states, carried on from call to call."""

from collections.abc import Iterator

import torch
from torch import Tensor

from .._checks import check_layer_input
from ..nn.reparameterize import narrowest
from ..nn.s5 import S5
from ..nn.scan import scan
from .layers import refuse_other_rates, refuse_two_sided
from .state import State
from .stepper import Cost, Settings, Stepper, empty, make_stepper

__all__ = ["S5Stepper"]


class S5Stepper(Stepper):
    """States of a causal S5 in float64: a pole rounded to float32 drifts with its memory.

    Args:
        layer: In eval mode, causal.

    Cost: 4 N D + 4 N operations a sample, state N numbers, however long the stream is.

    Example:
        >>> import torch, mrconv
        >>> stream = mrconv.Streamer(mrconv.nn.S5(4, 100, order=8).eval())
        >>> y, state = stream.chunk(torch.randn(1, 4, 10), stream.init_state(1))
        >>> stream.step(torch.randn(1, 4), state)[0].shape
        torch.Size([1, 4])
    """

    time_axis = 2
    decay: Tensor
    angle: Tensor
    entering: Tensor
    leaving: Tensor
    skip: Tensor

    def __init__(self, layer: S5) -> None:
        super().__init__()
        self.channels, self.order = layer.channels, layer.order
        self.dtype = narrowest(layer).dtype
        decay, angle, entering = (one.detach() for one in layer.dynamics())
        output = 2 * layer.output.detach().double()
        skip = torch.zeros_like(output[:, 0, 0]) if layer.skip is None else layer.skip
        self.register_buffer("decay", decay)
        self.register_buffer("angle", angle)
        self.register_buffer("entering", entering.movedim(-1, 0).contiguous())  # (2, P, D)
        self.register_buffer("leaving", torch.cat([output[..., 0], -output[..., 1]], 1))  # (D, N)
        self.register_buffer("skip", skip.detach().double().clone()[:, None])

    def init_state(self, batch_size: int) -> State:
        """Real and imaginary parts."""
        return State({"states": empty(batch_size, 2, self.order // 2, like=self.decay)})

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """One sample, as a chunk of one."""
        y, state = self.chunk(x[..., None], state)
        return y[..., 0], state

    def chunk(self, x: Tensor, state: State, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        """Any number of samples, the states before them as part of the first input."""
        check_layer_input("Streamer", x, self.channels, self.dtype)
        if not x.numel():
            return x, state
        u, before = x.double(), state.tensors["states"]
        b = torch.stack([part @ u for part in self.entering])  # (2, B, P, n)
        size = torch.exp(-self.decay)
        real, imaginary = size * self.angle.cos(), size * self.angle.sin()
        b[0, ..., 0] += real * before[:, 0] - imaginary * before[:, 1]
        b[1, ..., 0] += real * before[:, 1] + imaginary * before[:, 0]
        states = scan(b, self.decay, self.angle).movedim(0, 1)  # (B, 2, P, n)
        y = self.leaving @ states.flatten(1, 2) + self.skip * u
        state.tensors["states"] = _last(states, before, lengths)
        return y.to(x.dtype), state

    def costs(self, place: str = "") -> Iterator[Cost]:
        """A line."""
        operations = 4.0 * self.order * (self.channels + 1) + 2.0 * self.channels
        method = f"scan of {self.order // 2} pairs of states"
        yield Cost(place, method, operations, self.init_state(1).nbytes)


def _last(states: Tensor, before: Tensor, lengths: Tensor | None) -> Tensor:
    """What (B, 2, P, n) holds at each row's last valid sample; of a row that took none, before."""
    if lengths is None:
        return states[..., -1].clone()
    lengths = lengths.to(states.device)
    place = (lengths - 1).clamp_min(0)[:, None, None, None].expand(*states.shape[:3], 1)
    return torch.where((lengths > 0)[:, None, None], states.gather(-1, place)[..., 0], before)


@make_stepper.register
def _(module: S5, settings: Settings) -> Stepper:
    refuse_two_sided(module.causal)
    refuse_other_rates("S5", settings.rate)
    return S5Stepper(module)
