"""Steppers of the long convolutions: each kind of piece by its own stepper, summed."""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from .._checks import widened
from ..errors import ArgumentError, DtypeError, MergeError, ShapeError
from ..nn.combine import COMBINATIONS
from ..nn.kernel_conv import KernelConv
from ..nn.long_conv import LongConv
from ..nn.mr_conv import MRConv
from .gather import GatherStepper
from .partitioned import FlatStepper, PartitionedStepper
from .pieces import FEW, Dense, Piece, Spikes, Window, kernel_pieces, taps_pieces
from .state import State
from .stepper import Cost, DenseName, Settings, Stepper, make_stepper
from .tiled import TiledStepper, tiled_operations
from .windowed import WindowedStepper

__all__ = ["DENSE", "ConvolutionStepper"]

DENSE: dict[DenseName, Callable[[Tensor], Stepper]] = {
    "tiled": TiledStepper,
    "partitioned": PartitionedStepper,
    "flat": FlatStepper,
}


class ConvolutionStepper(Stepper):
    """A causal convolution made of pieces, y[t] = sum_pieces (k_p * u)[t] + skip u[t] + bias.

    All few taps share one ring buffer, all windows another; dense taps are summed before they are
    streamed, and take in the few taps that lie within them. The bias is there from the first
    sample.

    Args:
        pieces: What the kernel is made of; at least one.
        dense: How dense taps are streamed.
        skip: Factor of the input.                                         (D,)
        bias: Constant.                                                    (D,)
        num_taps: K, taps of the merged form; None for a layer that is merged.

    Example:
        >>> import torch
        >>> from mrconv.streaming import ConvolutionStepper, Dense
        >>> stepper = ConvolutionStepper([Dense(torch.ones(2, 500))], bias=torch.ones(2))
        >>> stepper.step(torch.zeros(1, 2), stepper.init_state(1))[0]
        tensor([[1., 1.]])
    """

    time_axis = 2
    skip: Tensor | None
    bias: Tensor

    def __init__(
        self,
        pieces: Sequence[Piece],
        dense: DenseName = "tiled",
        *,
        skip: Tensor | None = None,
        bias: Tensor | None = None,
        num_taps: int | None = None,
    ) -> None:
        super().__init__()
        self.num_taps, self.channels = num_taps, pieces[0].channels
        self.dtype = pieces[0].dtype
        self.parts = nn.ModuleDict(_steppers(pieces, dense))
        self.register_buffer("skip", None if skip is None else widened(skip.detach()).clone())
        silence = torch.zeros(self.channels, dtype=self.dtype, device=pieces[0].device)
        self.register_buffer("bias", silence if bias is None else widened(bias.detach()).clone())

    def _steppers(self) -> Iterator[tuple[str, Stepper]]:
        for name, part in self.parts.items():
            if isinstance(part, Stepper):
                yield name, part

    def init_state(self, batch_size: int) -> State:
        """The states of the parts."""
        parts = {name: stepper.init_state(batch_size) for name, stepper in self._steppers()}
        return State({}, parts)

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """One sample through every part."""
        self._check(x)
        u, parts = widened(x), {}
        y = self._direct(u, self.bias, self.skip)
        for name, stepper in self._steppers():
            output, parts[name] = stepper.step(u, state.parts[name])
            y = y + output
        return y.to(x.dtype), State({}, parts)

    def chunk(self, x: Tensor, state: State, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        """Any number of samples through every part."""
        self._check(x)
        u, parts = widened(x), {}
        skip = None if self.skip is None else self.skip[:, None]
        y = self._direct(u, self.bias[:, None], skip)
        for name, stepper in self._steppers():
            output, parts[name] = stepper.chunk(u, state.parts[name], lengths)
            y = y + output
        return y.to(x.dtype), State({}, parts)

    @staticmethod
    def _direct(u: Tensor, bias: Tensor, skip: Tensor | None) -> Tensor:
        """The input times ``skip``, and the bias."""
        return bias.expand_as(u) if skip is None else torch.addcmul(bias, skip, u)

    def _check(self, x: Tensor) -> None:
        if x.ndim < 2 or x.shape[1] != self.channels:
            swapped = x.ndim == 3 and x.shape[2] == self.channels
            raise ShapeError(
                f"Streamer: samples of a layer must be (batch, {self.channels}), and chunks "
                f"(batch, {self.channels}, samples); got {tuple(x.shape)}. "
                + ("Did you mean x.transpose(1, 2)?" if swapped else "Pass one value a channel.")
            )
        if widened(x).dtype != self.dtype:
            raise DtypeError(
                f"Streamer: samples must have the dtype of the parameters, {self.dtype}; "
                f"got {x.dtype}. Convert them with x.to({self.dtype})."
            )

    def costs(self, place: str = "") -> Iterator[Cost]:
        """One line: the parts together, beside the merged form."""
        lines = [line for _, stepper in self._steppers() for line in stepper.costs()]
        yield Cost(
            place,
            " + ".join(line.method for line in lines),
            sum(line.operations for line in lines) + 2 * self.channels,
            sum(line.nbytes for line in lines),
            tiled_operations(self.channels, self.num_taps) if self.num_taps else None,
        )


def _steppers(pieces: Sequence[Piece], dense: DenseName) -> dict[str, Stepper]:
    """One stepper for each kind of piece that there is."""
    spikes = [piece for piece in pieces if isinstance(piece, Spikes)]
    windows = [piece for piece in pieces if isinstance(piece, Window)]
    taps = _summed([piece.taps for piece in pieces if isinstance(piece, Dense)])
    steppers: dict[str, Stepper] = {}
    if spikes:
        lags, values = _joined(spikes)
        if taps is None and len(lags) > FEW:
            taps = values.new_zeros(len(values), int(lags.max()) + 1)
        within = lags < (0 if taps is None else taps.shape[1])
        if taps is not None:
            taps = taps.index_add(1, lags[within], values[:, within])
        if not within.all():
            steppers["few"] = GatherStepper(lags[~within], values[:, ~within])
    if taps is not None:
        steppers["dense"] = DENSE[dense](taps)
    if windows:
        steppers["windows"] = WindowedStepper(windows)
    return steppers


def _summed(taps: Sequence[Tensor]) -> Tensor | None:
    longest = max((one.shape[1] for one in taps), default=0)
    padded = [functional.pad(one, (0, longest - one.shape[1])) for one in taps]
    return torch.stack(padded).sum(0) if padded else None


def _joined(spikes: Sequence[Spikes]) -> tuple[Tensor, Tensor]:
    """Lags, each once, and the sum of the values there."""
    values = torch.cat([one.values for one in spikes], 1)
    lags, place = torch.cat([one.lags for one in spikes]).unique(return_inverse=True)
    return lags, values.new_zeros(len(values), len(lags)).index_add_(1, place, values)


def refuse_two_sided(causal: bool) -> None:
    """Raises for a layer that looks ahead."""
    if not causal:
        raise MergeError(
            "Streamer: every layer must be causal, because a stream has no future; "
            "got causal=False. Build the model with causal=True."
        )


def refuse_rate(name: str, rate: int) -> None:
    """Raises where taps are fixed and another rate is asked for."""
    if rate != 1:
        raise ArgumentError(
            f"Streamer: rate must be 1, because the taps of a {name} are fixed; got rate={rate}. "
            f"Stream the model of branches, or merge it with rate={rate} first."
        )


def refuse_other_rates(name: str, rate: int) -> None:
    """Raises where no form of the layer has another rate."""
    if rate != 1:
        raise ArgumentError(
            f"Streamer: rate must be 1, because a layer of {name} works at the rate it was trained "
            f"at; got rate={rate}. Resample the stream to that rate with "
            "mrconv.streaming.Resampler."
        )


@make_stepper.register
def _(module: MRConv, settings: Settings) -> Stepper:
    refuse_two_sided(module.causal)
    rate, (factors, bias) = settings.rate, module.factors()
    starts = COMBINATIONS[module.combine].starts([span // rate for span in module.spans])
    pieces = [
        piece.weighted(factor).delayed(start)
        for kernel, factor, start in zip(module.kernels, factors, starts, strict=True)
        for piece in kernel_pieces(kernel, rate)
    ]
    taps = module.num_taps // rate
    return ConvolutionStepper(pieces, settings.dense, skip=module.skip, bias=bias, num_taps=taps)


@make_stepper.register
def _(module: KernelConv, settings: Settings) -> Stepper:
    refuse_two_sided(module.causal)
    pieces, taps = kernel_pieces(module.past, settings.rate), module.num_taps // settings.rate
    return ConvolutionStepper(pieces, settings.dense, skip=module.skip, num_taps=taps)


@make_stepper.register
def _(module: LongConv, settings: Settings) -> Stepper:
    refuse_two_sided(module.causal)
    refuse_rate("LongConv", settings.rate)
    pieces = taps_pieces(widened(module.taps.detach()))
    return ConvolutionStepper(pieces, settings.dense, bias=module.bias)
