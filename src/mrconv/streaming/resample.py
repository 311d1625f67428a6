"""Exact streaming change of the sampling rate by a polyphase filter, in chunks of any size."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from .._checks import check_count
from ..errors import DtypeError, ShapeError

__all__ = ["ResampleState", "Resampler"]

#: Outputs worked at a time, so that a long recording in one chunk stays small in memory.
BLOCK = 1 << 14


class ResampleState(NamedTuple):
    """Where a stream stands: what of it is still needed, and how much came and went."""

    history: Tensor
    """The newest taps - 1 inputs, zeros before the start.           (B, taps - 1, F)"""
    consumed: int
    """Inputs so far, in samples."""
    produced: int
    """Outputs so far, in samples."""


class Resampler:
    """From one sampling rate to another, with the numbers of ``scipy.signal.resample_poly``.

    y[m] = sum_n x[n] h[m down + half - n up],  n = 0, 1, ...

    with up / down the new rate over the old one in lowest terms and h scipy's default low-pass:
    a Kaiser window of beta 5, half = 10 max(up, down) taps on either side. Every output is
    computed as soon as the last input that enters it is there, ``latency`` samples behind the
    output's own time; ``finish`` gives the outputs that reach beyond the end of the stream, where
    the input counts as 0.

    Args:
        rate: Of the input, in Hz.
        new_rate: Of the output, in Hz.

    Raises:
        ArgumentError: If a rate is below 1.
        DtypeError: If a rate is not a whole number.

    Cost: about 20 max(up, down) / up multiplications for each output.
    Source: polyphase decomposition as in scipy.signal.upfirdn; filter of resample_poly.

    Example:
        >>> import torch
        >>> resampler = Resampler(16000, 8000)
        >>> state = resampler.init_state(1)
        >>> first, state = resampler.chunk(torch.ones(1, 50, 1), state)
        >>> second, state = resampler.chunk(torch.ones(1, 51, 1), state)
        >>> last = resampler.finish(state)
        >>> [y.shape[1] for y in (first, second, last)]
        [15, 26, 10]
    """

    def __init__(self, rate: int, new_rate: int) -> None:
        check_count("Resampler", "rate", rate)
        check_count("Resampler", "new_rate", new_rate)
        divisor = math.gcd(rate, new_rate)
        self.rate, self.new_rate = rate, new_rate
        self.up, self.down = new_rate // divisor, rate // divisor
        taps = _low_pass(self.up, self.down)
        self._half = len(taps) // 2
        self.taps = -(-len(taps) // self.up)
        """Inputs that enter one output."""
        # bank[p, k] = h[p + (taps - 1 - k) up]: oldest input first
        bank = taps.new_zeros(self.taps * self.up)
        bank[: len(taps)] = taps
        self._bank = bank.reshape(self.taps, self.up).T.flip(1).contiguous()

    @property
    def latency(self) -> int:
        """Inputs that must follow an output's own time before it is computed, in samples."""
        return self._half // self.up

    def init_state(
        self,
        batch_size: int,
        channels: int = 1,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> ResampleState:
        """The state before the first sample.

        Args:
            batch_size: B, rows that start together.
            channels: F, values a sample.
            device: Where the samples will be.
            dtype: Of the samples.

        Raises:
            ArgumentError: If a number is below 1.
        """
        check_count("Resampler", "batch_size", batch_size)
        check_count("Resampler", "channels", channels)
        shape = (batch_size, self.taps - 1, channels)
        return ResampleState(torch.zeros(shape, device=device, dtype=dtype), 0, 0)

    def chunk(self, x: Tensor, state: ResampleState) -> tuple[Tensor, ResampleState]:
        """The outputs that are complete with these inputs.

        Args:
            x: The next inputs, any number of them.                     (B, n, F)
            state: From ``init_state`` or the call before; it stays as it is.

        Returns:
            The next outputs (B, m, F), m of 0 and more, and the state behind them.

        Raises:
            ShapeError: If x has other rows or channels than the state.
            DtypeError: If x has another dtype than the state.
        """
        _check(x, state.history)
        consumed = state.consumed + x.shape[1]
        # complete: the newest input of output m, (m down + half) // up, is below consumed
        produced = max(0, -((self._half - consumed * self.up) // self.down))
        inputs = torch.cat([state.history, x], 1)
        y = self._outputs(inputs, state, produced)
        history = inputs[:, inputs.shape[1] - (self.taps - 1) :]
        return y, ResampleState(history.clone(), consumed, produced)

    def finish(self, state: ResampleState) -> Tensor:
        """The outputs that are left when the stream ends, its inputs 0 from here on.

        All outputs together are ceil(inputs up / down), as many as scipy gives.

        Args:
            state: From the last chunk; it stays as it is.

        Returns:
            The last outputs.                                           (B, m, F)
        """
        total = -(-state.consumed * self.up // self.down)
        newest = ((total - 1) * self.down + self._half) // self.up
        rows, _, channels = state.history.shape
        rest = state.history.new_zeros(rows, max(0, newest + 1 - state.consumed), channels)
        return self._outputs(torch.cat([state.history, rest], 1), state, total)

    def _outputs(self, inputs: Tensor, state: ResampleState, end: int) -> Tensor:
        """Outputs from the state's to ``end``; inputs (B, taps - 1 + n, F) with the history."""
        parts = [inputs[:, :0]]
        for start in range(state.produced, end, BLOCK):
            place = torch.arange(start, min(end, start + BLOCK)) * self.down + self._half
            ends = (place // self.up - state.consumed).to(inputs.device)
            windows = inputs.unfold(1, self.taps, 1)[:, ends]  # (B, m, F, taps)
            bank = self._bank[place % self.up].to(inputs)  # (m, taps)
            parts.append((windows * bank[:, None]).sum(-1))
        return torch.cat(parts, 1)


def _low_pass(up: int, down: int) -> Tensor:
    """The filter of resample_poly by default, times up, in float64; one tap for equal rates."""
    if up == down:
        return torch.ones(1, dtype=torch.float64)
    from scipy.signal import firwin

    largest = max(up, down)
    taps = firwin(20 * largest + 1, 1 / largest, window=("kaiser", 5.0))
    return torch.from_numpy(taps * up)


def _check(x: Tensor, history: Tensor) -> None:
    rows, _, channels = history.shape
    if x.ndim != 3 or (x.shape[0], x.shape[2]) != (rows, channels):
        swapped = x.ndim == 3 and (x.shape[0], x.shape[1]) == (rows, channels)
        remedy = "Did you mean x.transpose(1, 2)?" if swapped else "Pass the rows of init_state."
        raise ShapeError(
            f"Resampler: input must be ({rows}, samples, {channels}), as the state; "
            f"got {tuple(x.shape)}. {remedy}"
        )
    if x.dtype != history.dtype:
        raise DtypeError(
            f"Resampler: input must have the dtype of the state, {history.dtype}; got {x.dtype}. "
            f"Call init_state with dtype={x.dtype}."
        )
