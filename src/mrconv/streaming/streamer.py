"""Streamer: a trained module, sample by sample or chunk by chunk."""

import copy
from typing import get_args

import torch
from torch import Tensor, nn

from .._checks import check_choice, check_count, check_lengths, length_mask
from ..errors import ArgumentError, ShapeError
from ..nn.reparameterize import refuse_training
from .explanation import Explanation
from .pooling import PoolingStepper
from .state import State
from .stepper import DenseName, Settings, make_stepper

__all__ = ["Streamer"]


class Streamer:
    """A snapshot of a layer, block or model that runs on samples as they come, exactly.

    The output is a function of the samples, never of how they were cut into calls, and equal to the
    module's own in eval mode: y[t] = module(x[0..t])[t]. A layer's step takes (B, D) and its chunk
    (B, D, n); a model's step takes (B, F) or tokens (B,), its chunk (B, n, F) or (B, n). Row t of a
    classifier's chunk is what ``model(x[:, :t+1])`` gives.

    Branches stream as branches (``mrconv.merge`` first for the merged form): Fourier kernels by a
    sliding DFT, dilated and sparse ones by a gather, at a cost a sample that does not grow with
    their length; all other taps as ``dense`` says.

    Args:
        model: In eval mode. Training it further does not change the Streamer.
        window: Last positions over which a model pools, in samples; None: all since the start.
        rate: Samples of the training rate per sample of the stream; above 1 for band-limited
            kernels only.
        dense: How dense taps run: "tiled", relaxed tiling, the least work a step; "partitioned",
            FFTs of equal blocks; "flat", the same with the work spread evenly, for the shortest
            longest step.
        capacity: Samples that a row will take at most. Only attention has to know: it keeps the
            keys and values of all samples, and refuses to go on behind them. None: the length that
            the layer was made for.

    Raises:
        MergeError: In training mode, for a two-sided layer, or for a module without a stepper.
        ArgumentError: If a window, rate or word does not fit the model.

    Example:
        >>> import torch, mrconv
        >>> layer = mrconv.MRConv(4, length=1000, kernel="dilated").eval()
        >>> stream = mrconv.Streamer(layer)
        >>> state, x = stream.init_state(2), torch.randn(2, 4, 50)
        >>> y, state = stream.chunk(x[:, :, :49], state)
        >>> last, state = stream.step(x[:, :, 49], state)
        >>> torch.allclose(last, layer(x)[:, :, 49], atol=1e-5)
        True
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        window: int | None = None,
        rate: int = 1,
        dense: DenseName = "tiled",
        capacity: int | None = None,
    ) -> None:
        if window is not None:
            check_count("Streamer", "window", window)
        check_count("Streamer", "rate", rate)
        if capacity is not None:
            check_count("Streamer", "capacity", capacity)
        check_choice("Streamer", "dense", dense, get_args(DenseName))
        refuse_training("Streamer", model)
        self.settings, self.name = Settings(window, rate, dense, capacity), type(model).__name__
        with torch.no_grad():
            stepper = make_stepper(copy.deepcopy(model), self.settings)
        pools = any(isinstance(part, PoolingStepper) for part in stepper.modules())
        if window is not None and not pools:
            raise ArgumentError(
                f"Streamer: window must be None, because a {self.name} does not pool; "
                f"got window={window}. Leave it out."
            )
        #: What runs; a module whose buffers are the constants.
        self.stepper = stepper.requires_grad_(False).eval()

    @torch.no_grad()
    def init_state(self, batch_size: int) -> State:
        """The state of rows that have seen nothing yet.

        Args:
            batch_size: B, rows; any number, 0 included.

        Returns:
            Zeros; see ``State``.
        """
        check_count("init_state", "batch_size", batch_size, least=0)
        model = self.stepper.init_state(batch_size)
        like = next(self.stepper.buffers(), next(self.stepper.parameters(), None))
        device = None if like is None else like.device
        position = torch.zeros(batch_size, dtype=torch.int64, device=device)
        return State({"position": position}, {"model": model})

    @torch.no_grad()
    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """The next sample of every row.

        Args:
            x: Of a layer (B, D); of a model (B, F), or tokens (B,).
            state: As ``init_state``, ``step`` or ``chunk`` gave it; it is written to, so clone it
                to keep it.

        Returns:
            The output at this sample, without a time axis, and the state behind it.

        Raises:
            ShapeError: If x has other rows than the state.
        """
        self._check_rows("step", x, state)
        y, inner = self.stepper.step(x, state.part("model"))
        return y, self._moved(state, inner, 1)

    @torch.no_grad()
    def chunk(self, x: Tensor, state: State, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        """The next samples of every row, any number of them, none included; a prompt is a chunk.

        Args:
            x: Finite. Of a layer (B, D, n); of a model (B, n, F), or tokens (B, n).
            state: As in ``step``.
            lengths: Samples that each row takes; what stands behind them is not read.     (B,)

        Returns:
            The outputs at these samples, on the same time axis, 0 behind each row's length, and the
            state behind them.

        Raises:
            ShapeError: If x or lengths have another shape.
        """
        axis = self.stepper.time_axis or x.ndim - 1
        self._check_rows("chunk", x, state)
        if x.ndim <= axis:
            raise ShapeError(
                f"chunk: input must have time on axis {axis}; got {tuple(x.shape)}. "
                "Use step for one sample without a time axis."
            )
        count: Tensor | int = x.shape[axis]
        if lengths is not None:
            check_lengths("chunk", lengths, x.shape[0], x.shape[axis])
            x, count = _masked(x, lengths, axis), lengths.to(state.tensors["position"])
        y, inner = self.stepper.chunk(x, state.part("model"), lengths)
        y = y if lengths is None else _masked(y, lengths, axis)
        return y, self._moved(state, inner, count)

    def _moved(self, state: State, inner: State, count: Tensor | int) -> State:
        state.tensors["position"].add_(count)
        return State(state.tensors, {"model": inner})

    def _check_rows(self, verb: str, x: Tensor, state: State) -> None:
        rows = len(state.tensors["position"])
        if x.ndim == 0 or len(x) != rows:
            raise ShapeError(
                f"{verb}: input must have one row for each of the state's {rows}; "
                f"got {tuple(x.shape)}. Pass all rows, or take some with state.rows(index)."
            )

    def explain(self) -> Explanation:
        """What runs for each layer, what it costs a sample, and how large its memory is.

        Returns:
            Rows; a table when printed.
        """
        return Explanation(tuple(self.stepper.costs()), self.init_state(1).nbytes)

    def __repr__(self) -> str:
        return f"Streamer({self.name}, {self.settings})"


def _masked(x: Tensor, lengths: Tensor, axis: int) -> Tensor:
    """Zeros behind each row's length along one axis, whatever the others are."""
    mask = length_mask(lengths.to(x.device), x.shape[axis])
    shape = [x.shape[0], *(x.shape[i] if i == axis else 1 for i in range(1, x.ndim))]
    return torch.where(mask.reshape(shape), x, x.new_zeros(()))
