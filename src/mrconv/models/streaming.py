"""Steppers of the backbone and of the heads."""

import copy

from torch import Tensor, nn

from ..errors import MergeError
from ..streaming import ChainStepper, Settings, State, Stepper, make_stepper
from ..streaming.pooling import pooling_stepper
from .backbone import SequenceBackbone
from .classifier import SequenceClassifier
from .forecaster import Forecaster
from .labeller import SequenceLabeller
from .language import LanguageModel
from .regressor import SequenceRegressor

__all__ = ["BackboneStepper", "HeadStepper"]


class BackboneStepper(Stepper):
    """Encoder, blocks and last norm: (B, F) or tokens (B,) to features (B, D).

    Args:
        backbone: In eval mode.
        settings: As the Streamer was asked.
    """

    time_axis = 1

    def __init__(self, backbone: SequenceBackbone, settings: Settings) -> None:
        super().__init__()
        empty = {id(backbone.blocks): nn.ModuleList(), id(backbone.final_norm): nn.Identity()}
        self.front: SequenceBackbone = copy.deepcopy(backbone, empty)
        self.blocks = ChainStepper(
            {
                **{name: make_stepper(b, settings) for name, b in backbone.blocks.named_children()},
                "final_norm": make_stepper(backbone.final_norm, settings),
            }
        )

    def init_state(self, batch_size: int) -> State:
        """The states of the blocks."""
        return State({}, {"blocks": self.blocks.init_state(batch_size)})

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """One sample."""
        encoded = self.front.encoded(x[:, None])[..., 0]
        h, blocks = self.blocks.step(encoded, state.part("blocks"))
        return h, State({}, {"blocks": blocks})

    def chunk(self, x: Tensor, state: State, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        """Any number of samples."""
        h = self.front.encoded(x, lengths)  # (B, D, n)
        h, blocks = self.blocks.chunk(h, state.part("blocks"), lengths)
        return h.transpose(1, 2), State({}, {"blocks": blocks})


class HeadStepper(Stepper):
    """Backbone, pooling over the samples so far, and a head.

    Args:
        backbone: The backbone's stepper.
        pooling: Stepper of (B, D, n); None where every sample is answered by itself.
        head: Maps the last axis.
        shape: What the last axis of the output is split into.
    """

    time_axis = 1

    def __init__(
        self,
        backbone: Stepper,
        pooling: Stepper | None,
        head: nn.Module,
        shape: tuple[int, ...] | None = None,
    ) -> None:
        super().__init__()
        self.backbone, self.pooling, self.head, self.shape = backbone, pooling, head, shape

    def init_state(self, batch_size: int) -> State:
        """The states of backbone and pooling."""
        parts = {"backbone": self.backbone.init_state(batch_size)}
        if self.pooling is not None:
            parts["pooling"] = self.pooling.init_state(batch_size)
        return State({}, parts)

    def _answers(self, h: Tensor) -> Tensor:
        y = self.head(h)
        return y if self.shape is None else y.unflatten(-1, self.shape)

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """The answer after one more sample."""
        parts = {}
        h, parts["backbone"] = self.backbone.step(x, state.part("backbone"))
        if self.pooling is not None:
            h, parts["pooling"] = self.pooling.step(h, state.part("pooling"))
        return self._answers(h), State({}, parts)

    def chunk(self, x: Tensor, state: State, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        """The answer after every sample."""
        parts = {}
        h, parts["backbone"] = self.backbone.chunk(x, state.part("backbone"), lengths)
        if self.pooling is not None:
            h = h.transpose(1, 2)
            h, parts["pooling"] = self.pooling.chunk(h, state.part("pooling"), lengths)
            h = h.transpose(1, 2)
        return self._answers(h), State({}, parts)


@make_stepper.register
def _(module: SequenceBackbone, settings: Settings) -> Stepper:
    return BackboneStepper(module, settings)


def _pooled(module: SequenceClassifier | SequenceRegressor, settings: Settings) -> Stepper:
    backbone = make_stepper(module.backbone, settings)
    like = module.backbone.encoder.weight.new_zeros(module.backbone.channels)
    pooling = pooling_stepper(module.pooling, like, settings.window)
    return HeadStepper(backbone, pooling, module.head)


@make_stepper.register
def _(module: SequenceClassifier, settings: Settings) -> Stepper:
    if module.pair:
        raise MergeError(
            "Streamer: a classifier must take one sequence; got pair=True. "
            "Stream its backbone over each of the two."
        )
    return _pooled(module, settings)


@make_stepper.register
def _(module: SequenceRegressor, settings: Settings) -> Stepper:
    return _pooled(module, settings)


@make_stepper.register
def _(module: SequenceLabeller, settings: Settings) -> Stepper:
    return HeadStepper(make_stepper(module.backbone, settings), None, module.head)


@make_stepper.register
def _(module: Forecaster, settings: Settings) -> Stepper:
    like = module.backbone.encoder.weight.new_zeros(module.backbone.channels)
    pooling = pooling_stepper("last", like, settings.window)
    backbone = make_stepper(module.backbone, settings)
    return HeadStepper(backbone, pooling, module.head, (module.horizon, module.features))


@make_stepper.register
def _(module: LanguageModel, settings: Settings) -> Stepper:
    head = nn.Linear(module.backbone.channels, module.vocabulary, device="meta")
    head.weight = nn.Parameter(module.output_weight.detach().clone())
    head.bias = module.bias
    return HeadStepper(make_stepper(module.backbone, settings), None, head)
