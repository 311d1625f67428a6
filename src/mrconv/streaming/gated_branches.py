"""Streaming of GatedMRConv: every branch by its own stepper, weighed by the gates of the sample."""

import copy
from collections import Counter
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from .._checks import widened
from ..nn.gated_mr_conv import GatedMRConv
from ..nn.resolution_gates import ResolutionGates, gated
from .layers import ConvolutionStepper, refuse_other_rates, refuse_two_sided
from .pieces import kernel_pieces
from .state import State
from .stepper import Cost, Settings, Stepper, make_stepper

__all__ = ["GatedBranchesStepper"]


class GatedBranchesStepper(Stepper):
    """Branches weighed by gates of the present sample, y[t] = sum_i g_i[t] b_i[t] + skip u[t].

    The gates have no memory. Each branch has its own ring buffer.

    Args:
        branches: One stepper a resolution.
        gate: Makes the gates; copied.
        skip: Factor of the input.                                         (D,)

    Cost: that of the branches, and 2 R H D operations a sample for the gates.

    Example:
        >>> import torch, mrconv
        >>> stream = mrconv.Streamer(mrconv.GatedMRConv(4, 64).eval())
        >>> y, state = stream.chunk(torch.randn(1, 4, 10), stream.init_state(1))
        >>> stream.step(torch.randn(1, 4), state)[0].shape
        torch.Size([1, 4])
    """

    time_axis = 2
    skip: Tensor | None

    def __init__(
        self,
        branches: Sequence[ConvolutionStepper],
        gate: ResolutionGates,
        skip: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.branches, self.gate = nn.ModuleList(branches), copy.deepcopy(gate)
        self.register_buffer("skip", None if skip is None else widened(skip.detach()).clone())

    def _steppers(self) -> Iterator[tuple[str, Stepper]]:
        for i, part in enumerate(self.branches):
            if isinstance(part, Stepper):
                yield f"branch_{i}", part

    def init_state(self, batch_size: int) -> State:
        """The states of the branches."""
        parts = {name: stepper.init_state(batch_size) for name, stepper in self._steppers()}
        return State({}, parts)

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """One sample through every branch."""
        outputs, parts = [], {}
        for name, stepper in self._steppers():
            output, parts[name] = stepper.step(widened(x), state.part(name))
            outputs.append(output[..., None])
        return self._joined(x[..., None], outputs)[..., 0], State({}, parts)

    def chunk(self, x: Tensor, state: State, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        """Any number of samples through every branch."""
        outputs, parts = [], {}
        for name, stepper in self._steppers():
            output, parts[name] = stepper.chunk(widened(x), state.part(name), lengths)
            outputs.append(output)
        return self._joined(x, outputs), State({}, parts)

    def _joined(self, x: Tensor, outputs: Sequence[Tensor]) -> Tensor:
        """What the gates let through of the branches' outputs, and the skip.      (B, D, n)."""
        u = widened(x)
        y = torch.zeros_like(u) if self.skip is None else self.skip[:, None] * u
        for output, gate in zip(outputs, self.gate(u), strict=True):
            y = y + gated(output, gate)
        return y.to(x.dtype)

    def costs(self, place: str = "") -> Iterator[Cost]:
        """One line: the branches together, and their gates."""
        lines = [line for _, stepper in self._steppers() for line in stepper.costs()]
        counts = Counter(line.method for line in lines)
        own = 2.0 * self.gate.weight.numel() + 2.0 * self.gate.channels * len(lines)
        yield Cost(
            place,
            "gates of " + " + ".join(f"{count} x {method}" for method, count in counts.items()),
            sum(line.operations for line in lines) + own,
            sum(line.nbytes for line in lines),
        )


@make_stepper.register
def _(module: GatedMRConv, settings: Settings) -> Stepper:
    refuse_two_sided(module.causal)
    refuse_other_rates("GatedMRConv", settings.rate)
    branches = [
        ConvolutionStepper(
            [piece.weighted(scale) for piece in kernel_pieces(kernel, 1)],
            settings.dense,
            bias=offset,
        )
        for kernel, scale, offset in zip(module.kernels, *module.scale_and_offset(), strict=True)
    ]
    return GatedBranchesStepper(branches, module.gate, module.skip)
