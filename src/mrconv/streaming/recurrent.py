"""Streaming of a diagonal recurrence: its own memory, of constant size, as a stream's."""

import copy
from collections.abc import Iterator

from torch import Tensor

from ..nn.modal_moves import Moves, take_one
from ..nn.modal_state import Block, ModalState, advance
from ..nn.recurrence import ModalRecurrence
from .layers import refuse_rate
from .state import State
from .stepper import Cost, Settings, Stepper, make_stepper

__all__ = ["RecurrentStepper"]


class RecurrentStepper(Stepper):
    """Explicit taps and damped exponentials, x_m[t] = pole_m x_m[t-1] + u[t - H].

    Args:
        layer: In eval mode; copied.

    Cost: about 8 operations a mode and 2 a tap, however long the response is.

    Example:
        >>> import torch, mrconv
        >>> layer = mrconv.MRConv(2, 64, kernel="modal").eval().reparameterize(form="recurrence")
        >>> stream = mrconv.Streamer(layer)
        >>> y, state = stream.chunk(torch.randn(1, 2, 10), stream.init_state(1))
        >>> y.shape
        torch.Size([1, 2, 10])
    """

    time_axis = 2

    def __init__(self, layer: ModalRecurrence) -> None:
        super().__init__()
        self.layer = copy.deepcopy(layer)
        self.moves = Moves.of(self.layer)
        self.block = Block.of(self.moves)

    def init_state(self, batch_size: int) -> State:
        """The layer's own memory, zero everywhere."""
        return State(self.layer.init_state(batch_size)._asdict())

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """One sample of every row."""
        y, memory = take_one(self.moves, x, ModalState(**state.tensors))
        return y, State(memory._asdict())

    def chunk(self, x: Tensor, state: State, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        """Blocks of samples, as matrix products."""
        memory = ModalState(**state.tensors)
        y, memory = advance(self.moves, self.block, x, memory, lengths)
        return y, State(memory._asdict())

    def costs(self, place: str = "") -> Iterator[Cost]:
        """A line."""
        modes, taps = self.layer.modes, self.layer.fir_head
        operations = self.layer.channels * (8.0 * modes + 2.0 * taps)
        method = f"recurrence of {modes} modes behind {taps} taps"
        yield Cost(place, method, operations, self.init_state(1).nbytes)


@make_stepper.register
def _(module: ModalRecurrence, settings: Settings) -> Stepper:
    refuse_rate("ModalRecurrence", settings.rate)
    return RecurrentStepper(module)
