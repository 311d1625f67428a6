"""Steppers of modules without memory, of chains of modules, and of torch's convolutions."""

from collections.abc import Iterator

from torch import Tensor, nn

from ..errors import MergeError
from ..nn.long_conv import LongConv
from ..nn.norm import ChannelNorm, MaskedBatchNorm
from .layers import refuse_rate
from .state import State
from .stepper import Settings, Stepper, make_stepper

__all__ = ["ChainStepper", "PointwiseStepper"]

#: Modules that compute every value by itself in eval mode.
ELEMENTWISE: tuple[type[nn.Module], ...] = (
    nn.Identity,
    nn.Dropout,
    nn.Dropout1d,
    nn.AlphaDropout,
    nn.FeatureAlphaDropout,
    nn.CELU,
    nn.ELU,
    nn.GELU,
    nn.Hardshrink,
    nn.Hardsigmoid,
    nn.Hardswish,
    nn.Hardtanh,
    nn.LeakyReLU,
    nn.LogSigmoid,
    nn.Mish,
    nn.ReLU,
    nn.ReLU6,
    nn.SELU,
    nn.SiLU,
    nn.Sigmoid,
    nn.Softplus,
    nn.Softshrink,
    nn.Softsign,
    nn.Tanh,
    nn.Tanhshrink,
)
#: Modules that compute every sample of (B, n, F) by itself, and of (B, D, n).
FEATURES_LAST: tuple[type[nn.Module], ...] = (nn.Linear, nn.Embedding)
FEATURES_FIRST: tuple[type[nn.Module], ...] = (MaskedBatchNorm, ChannelNorm)


class PointwiseStepper(Stepper):
    """A module whose output at a sample depends on that sample alone.

    Args:
        module: In eval mode.
        time_axis: Where time stands in its input; None where every value is computed by itself.

    Example:
        >>> import torch
        >>> from mrconv.streaming import PointwiseStepper, State
        >>> stepper = PointwiseStepper(torch.nn.ReLU())
        >>> stepper.step(torch.tensor([[-1.0, 2.0]]), stepper.init_state(1))[0]
        tensor([[0., 2.]])
    """

    def __init__(self, module: nn.Module, time_axis: int | None = None) -> None:
        super().__init__()
        self.module, self.time_axis = module, time_axis

    def init_state(self, batch_size: int) -> State:
        """Nothing."""
        return State({})

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """One sample, as a sequence of length 1."""
        if self.time_axis is None:
            return self.module(x), state
        return self.module(x.unsqueeze(self.time_axis)).squeeze(self.time_axis), state

    def chunk(self, x: Tensor, state: State, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        """The module itself."""
        axis = self.time_axis
        if axis is not None and x.shape[axis] == 0:  # nn.Conv1d refuses it
            one = x.new_zeros([1 if i == axis else size for i, size in enumerate(x.shape)])
            return self.module(one).narrow(axis, 0, 0), state
        return self.module(x), state


class ChainStepper(Stepper):
    """Modules one after the other.

    Args:
        steppers: By name; all with time on the same axis, or on either.

    Raises:
        MergeError: If they differ in where time stands.
    """

    def __init__(self, steppers: dict[str, Stepper]) -> None:
        super().__init__()
        axes = {one.time_axis for one in steppers.values()} - {None}
        if len(axes) > 1:
            raise MergeError(
                "Streamer: the modules of a Sequential must agree on where time stands; got both "
                "(batch, channels, time) and (batch, time, features). Use nn.Conv1d with "
                "kernel_size=1 in place of nn.Linear, or ChannelNorm in place of nn.LayerNorm."
            )
        self.time_axis = axes.pop() if axes else None
        for name, stepper in steppers.items():
            self.add_module(name, stepper)

    def _steppers(self) -> Iterator[tuple[str, Stepper]]:
        for name, part in self.named_children():
            if isinstance(part, Stepper):
                yield name, part

    def init_state(self, batch_size: int) -> State:
        """The states of the modules."""
        parts = {name: stepper.init_state(batch_size) for name, stepper in self._steppers()}
        return State({}, parts)

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """One sample through all."""
        parts = {}
        for name, stepper in self._steppers():
            x, parts[name] = stepper.step(x, state.part(name))
        return x, State({}, parts)

    def chunk(self, x: Tensor, state: State, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        """Any number of samples through all."""
        parts = {}
        for name, stepper in self._steppers():
            x, parts[name] = stepper.chunk(x, state.part(name), lengths)
        return x, State({}, parts)


def _register(modules: tuple[type[nn.Module], ...], time_axis: int | None) -> None:
    for kind in modules:
        make_stepper.register(kind, lambda module, settings: PointwiseStepper(module, time_axis))


_register(ELEMENTWISE, None)
_register(FEATURES_LAST, 1)
_register(FEATURES_FIRST, 2)


@make_stepper.register
def _(module: nn.LayerNorm, settings: Settings) -> Stepper:
    if len(module.normalized_shape) != 1:
        raise MergeError(
            "Streamer: nn.LayerNorm must normalise the features of each sample only; "
            f"got normalized_shape={tuple(module.normalized_shape)}. Give it one size."
        )
    return PointwiseStepper(module, 1)


@make_stepper.register
def _(module: nn.BatchNorm1d, settings: Settings) -> Stepper:
    if module.running_mean is None:
        raise MergeError(
            "Streamer: nn.BatchNorm1d must have running statistics; "
            "got track_running_stats=False. Train it with track_running_stats=True."
        )
    return PointwiseStepper(module, 2)


@make_stepper.register
def _(module: nn.Conv1d, settings: Settings) -> Stepper:
    if module.kernel_size == (1,) and module.stride == (1,) and module.padding in ((0,), "valid"):
        return PointwiseStepper(module, 2)
    refuse_rate("Conv1d", settings.rate)
    return make_stepper(LongConv.from_conv1d(module), settings)


@make_stepper.register
def _(module: nn.Sequential, settings: Settings) -> Stepper:
    return ChainStepper(
        {name: make_stepper(one, settings) for name, one in module.named_children()}
    )
