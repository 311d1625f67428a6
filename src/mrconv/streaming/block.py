"""Stepper of the residual block: its mixer streams, the rest of it has no memory."""

import copy

from torch import Tensor, nn

from ..nn.block import ResidualBlock
from .state import State
from .stepper import Settings, Stepper, make_stepper

__all__ = ["BlockStepper"]


class BlockStepper(Stepper):
    """A ``ResidualBlock`` around the stepper of its mixer.

    Args:
        block: In eval mode; a copy without its mixer is kept.
        mixer: The mixer's stepper.
    """

    time_axis = 2

    def __init__(self, block: ResidualBlock, mixer: Stepper) -> None:
        super().__init__()
        self.mixer = mixer
        self.block: ResidualBlock = copy.deepcopy(block, {id(block.mixer): nn.Identity()})

    def init_state(self, batch_size: int) -> State:
        """The mixer's state."""
        return State({}, {"mixer": self.mixer.init_state(batch_size)})

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """One sample, as a sequence of length 1 where the mixer does not see it."""
        whole = x[..., None]
        mixed, inner = self.mixer.step(self.block.enter(whole)[..., 0], state.part("mixer"))
        return self.block.leave(whole, mixed[..., None])[..., 0], State({}, {"mixer": inner})

    def chunk(self, x: Tensor, state: State, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        """Any number of samples."""
        mixed, inner = self.mixer.chunk(self.block.enter(x), state.part("mixer"), lengths)
        return self.block.leave(x, mixed), State({}, {"mixer": inner})


@make_stepper.register
def _(module: ResidualBlock, settings: Settings) -> Stepper:
    return BlockStepper(module, make_stepper(module.mixer, settings))
