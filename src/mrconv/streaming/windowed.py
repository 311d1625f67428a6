"""Streaming of truncated Fourier series: a modulated sliding DFT, one window a resolution.

Math capitals as in the formulas: A and B are the sums over a window, R windows of M modes.
"""

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from torch.nn import functional

from ..convolution import long_convolution
from .pieces import Window
from .ring import advance, blocks, read, stretch, write
from .state import State
from .stepper import Cost, Stepper, empty

__all__ = ["WindowedStepper"]

#: Samples of a chunk taken at once; windows no longer than that are then plain convolutions.
BLOCK = 256


class WindowedStepper(Stepper):
    """A causal convolution with a sum of windows, k_i[j] = sum_m Re(c_im exp(2 pi i m j / l_i)).

    A_im[t] = sum_{t - l_i < s <= t} exp(-2 pi i m s / l_i) u[s],
    y[t]    = sum_im Re(c_im exp(2 pi i m t / l_i) A_im[t])

    A takes in u[t] and loses u[t - l_i] at each sample; both meet the same factor, because it has
    the period l_i. A second sum B starts at every multiple of l_i and takes the place of A at the
    next, so that rounding cannot pile up. Both are float64: in float32 their error grows as the
    root of l_i (1.6e-5 at l_i = 65,536). With ``start`` the window acts on a delayed input.

    Args:
        windows: R of them, of any spans.

    Cost: about 20 operations a mode and channel; state 4 float64 numbers a mode and channel, and
    one ring buffer as long as the longest window.
    Source: Duda 2010, "Accurate, guaranteed stable, sliding discrete Fourier transform". The
    refresh, the position in the state and the form for chunks are ours.

    Example:
        >>> import torch
        >>> from mrconv.streaming import Window, WindowedStepper
        >>> box = Window(torch.tensor([[[1.0, 0.0]]]), span=2)
        >>> stepper = WindowedStepper([box])
        >>> y, state = stepper.chunk(torch.tensor([[[1.0, 2.0, 3.0]]]), stepper.init_state(1))
        >>> y.round(decimals=3).tolist()
        [[[1.0, 3.0, 5.0]]]
    """

    time_axis = 2
    table: Tensor
    amplitudes: Tensor
    turned: Tensor
    spans: Tensor
    turns: Tensor
    lags: Tensor
    short: Tensor

    def __init__(self, windows: Sequence[Window]) -> None:
        super().__init__()
        spans, starts = [w.span for w in windows], [w.start for w in windows]
        period = math.lcm(*spans)
        like = windows[0].amplitudes.detach()
        self.dtype, self.reach = like.dtype, max(map(sum, zip(spans, starts, strict=True)))
        self._keep_amplitudes(windows)
        modes = torch.arange(self.amplitudes.shape[1], device=like.device)
        # every angle 2 pi m s / l_i is a multiple of 2 pi / period
        angles = torch.arange(period, dtype=torch.float64, device=like.device)
        angles *= 2 * math.pi / period
        numbers = torch.tensor([spans, starts], device=like.device)
        self.register_buffer("table", torch.stack([angles.cos(), angles.sin()], -1))
        self.register_buffer("spans", numbers[0])
        self.register_buffer("turns", (period // numbers[0])[:, None] * modes)  # (R, M)
        # what enters the windows and what leaves them
        self.register_buffer("lags", torch.cat([numbers[1], numbers.sum(0)]))
        self._keep_taps(spans, starts)

    def _keep_amplitudes(self, windows: Sequence[Window]) -> None:
        most = max(window.amplitudes.shape[1] for window in windows)
        padded = [
            functional.pad(w.amplitudes.detach().double(), (0, 0, 0, most - w.amplitudes.shape[1]))
            for w in windows
        ]
        amplitudes = torch.stack(padded).permute(0, 2, 3, 1).contiguous()  # (R, M, 2, D)
        real, imaginary = amplitudes.unbind(2)
        self.register_buffer("amplitudes", amplitudes)
        self.register_buffer("turned", torch.stack([-imaginary, real], 2))  # times i

    def _keep_taps(self, spans: Sequence[int], starts: Sequence[int]) -> None:
        """Taps of the windows: all of the short ones in sum, the first of each long one."""
        lags = torch.arange(BLOCK, device=self.table.device)
        phases = self._phases(lags[None])[0]  # (n, R, M, 2)
        # Re(c exp(i a)) = Re c cos a + Re(i c) sin a
        series = torch.einsum("nrm,rmd->rdn", phases[..., 0], self.amplitudes[:, :, 0])
        series += torch.einsum("nrm,rmd->rdn", phases[..., 1], self.turned[:, :, 0])
        ends = [span + start for span, start in zip(spans, starts, strict=True)]
        self.long = [i for i, end in enumerate(ends) if end > BLOCK]
        summed = series.new_zeros(series.shape[1], BLOCK)
        for i, end in enumerate(ends):
            if end <= BLOCK:
                summed[:, starts[i] : end] += series[i, :, : spans[i]]
        longest = max((end for end in ends if end <= BLOCK), default=0)
        self.register_buffer("short", summed[:, :longest].to(self.dtype))
        if not self.long:
            return
        head = series[self.long].permute(2, 0, 1).to(self.dtype)  # (n, R', D)
        for level in (1 << k for k in range(BLOCK.bit_length())):
            spectrum = torch.fft.rfft(head[:level], 2 * level, dim=0)
            self.register_buffer(f"spectrum_{level}", torch.view_as_real(spectrum))

    def _phases(self, samples: Tensor) -> Tensor:
        """Cos and sin of 2 pi m s / l_i at samples s (B, n).                 (B, n, R, M, 2)."""
        return self.table[torch.remainder(samples[..., None, None] * self.turns, len(self.table))]

    def init_state(self, batch_size: int) -> State:
        """A silent ring buffer and sums of nothing."""
        channels = self.amplitudes.shape[3]
        ring = empty(batch_size, self.reach + 1 + BLOCK, channels, like=self.short)
        sums = empty(batch_size, *self.amplitudes.shape, like=self.amplitudes)
        position = empty(batch_size, like=self.spans)
        return State({"ring": ring, "A": sums, "B": sums.clone(), "position": position})

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """One sample; torch operations on tensors only."""
        ring, position = state.tensors["ring"], state.tensors["position"]
        write(ring, position[:, None], x[:, None])
        ends = read(ring, position[:, None] - self.lags).double()
        entering, leaving = ends.chunk(2, 1)  # (B, R, D)
        phases = self._phases(position[:, None])[:, 0, ..., None]  # (B, R, M, 2, 1)
        A, B = state.tensors["A"], state.tensors["B"]
        goes_on = (torch.remainder(position[:, None], self.spans) != 0)[..., None, None, None]
        torch.where(goes_on, A, B, out=A)
        A.addcmul_(phases, (entering - leaving)[:, :, None, None])
        B.mul_(goes_on).addcmul_(phases, entering[:, :, None, None])
        cosine, sine = phases.split(1, 3)  # (B, R, M, 1, 1)
        weights = (self.amplitudes * cosine).addcmul_(self.turned, sine)  # c exp(i a) as two reals
        position += 1
        # A holds sums of u cos a and u sin a: Re(w conj z) = Re w Re z + Im w Im z
        return weights.mul_(A).sum((1, 2, 3)).to(x.dtype), state

    def chunk(self, x: Tensor, state: State, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        """Blocks of samples; the same numbers as the steps to rounding."""
        ring, position = state.tensors["ring"], state.tensors["position"]
        outputs = [x.new_zeros(x.shape[0], x.shape[1], 0)]
        for piece, valid in blocks(x, lengths, BLOCK):
            samples = advance(position, piece.shape[1])  # (B, n)
            write(ring, samples, piece)
            entering, leaving = self._ends(ring, samples)  # (B, n, R, D)
            phases = self._phases(samples)  # (B, n, R, M, 2)
            y = self._short_windows(ring, position, piece.shape[1])
            outputs.append(y + self._long_windows(state, phases, entering, leaving, piece.dtype))
            self._move_sums(state, phases, entering, leaving, valid)
            position += valid
        return torch.cat(outputs, -1), state

    def _ends(self, ring: Tensor, samples: Tensor) -> tuple[Tensor, Tensor]:
        """What enters and what leaves each window at each sample.          (B, n, R, D) each."""
        values = read(ring, (samples[..., None] - self.lags).flatten(1))
        entering, leaving = values.unflatten(1, (samples.shape[1], -1)).chunk(2, 2)
        return entering, leaving

    def _short_windows(self, ring: Tensor, position: Tensor, count: int) -> Tensor:
        """Windows within one block, as one convolution with what came before.     (B, D, n)."""
        if not self.short.shape[1]:
            return self.short.new_zeros(())
        before = self.short.shape[1] - 1
        past = stretch(ring, position - before, before + count).transpose(1, 2).contiguous()
        return long_convolution(past, self.short)[..., before:]

    def _long_windows(
        self, state: State, phases: Tensor, entering: Tensor, leaving: Tensor, dtype: torch.dtype
    ) -> Tensor:
        """What the sums so far go on to give, and what enters and leaves since.   (B, D, n).

        Continued periodically, taps k_i also carry what leaves: it left with u[s - l_i], lag l_i
        further, where k_i has the same value.
        """
        count, long = entering.shape[1], self.long
        if not long:
            return entering.new_zeros(())
        A = state.tensors["A"][:, long]  # (B, R', M, 2, D)
        towards = [(factor[long] * A).sum(3) for factor in (self.amplitudes, self.turned)]
        weights = torch.stack(towards, 3).flatten(1, 3)  # (B, R' M 2, D)
        going_on = (phases[:, :, long].flatten(2) @ weights).transpose(1, 2)
        change = (entering - leaving)[:, :, long]  # (B, n, R', D)
        level = 1 << (count - 1).bit_length()
        spectrum = torch.fft.rfft(change, 2 * level, dim=1)
        spectrum *= torch.view_as_complex(self.get_buffer(f"spectrum_{level}"))
        y = torch.fft.irfft(spectrum.sum(2), 2 * level, dim=1)[:, :count]
        return going_on.to(dtype) + y.transpose(1, 2)

    def _move_sums(
        self, state: State, phases: Tensor, entering: Tensor, leaving: Tensor, valid: Tensor
    ) -> None:
        """A and B behind the block, with the refresh at the last multiple of each span.

        With t0 and t1 the first sample and the one behind the last, and r the last multiple of l
        before t1: B holds samples r..t1-1. Without a multiple in the block A goes on; with one it
        is the B before plus what came since, or of a period within the block only what came.
        """
        A, B, position = (state.tensors[name] for name in ("A", "B", "position"))
        t0, t1 = position[:, None], (position + valid)[:, None]  # (B, 1)
        spans, samples = self.spans, advance(position, entering.shape[1])[..., None]  # (B, n, 1)
        r = torch.div(t1 - 1, spans, rounding_mode="floor") * spans  # (B, R)
        refreshed = r >= t0
        inside = samples < t1[..., None]
        since = inside & (samples >= r[:, None])  # (B, n, R)
        taken = inside & ((samples >= (r - spans)[:, None]) | ~refreshed[:, None])
        lost = inside & (since | ~refreshed[:, None])
        table = phases.permute(0, 2, 3, 4, 1).flatten(2, 3)  # (B, R, 2 M, n)

        def masked(mask: Tensor) -> Tensor:
            return table * mask.transpose(1, 2)[:, :, None]

        came = torch.cat([masked(taken), masked(since)], 2) @ entering.double().transpose(1, 2)
        gone = masked(lost) @ leaving.double().transpose(1, 2)  # (B, R, 2 M, D)
        came_to_a, to_b = came.unflatten(2, (2, -1, 2)).unbind(2)  # (B, R, M, 2, D)
        to_a = came_to_a - gone.unflatten(2, (-1, 2))
        inherits = (refreshed & (t0 > r - spans))[..., None, None, None]
        goes_on = ~refreshed[..., None, None, None]
        A.copy_(torch.where(goes_on, A, B * inherits) + to_a)
        B.mul_(goes_on).add_(to_b)

    def costs(self, place: str = "") -> Iterator[Cost]:
        """Twenty operations a mode."""
        modes = self.amplitudes.numel() / 2
        windows = f"{self.spans.numel()} windows of {self.amplitudes.shape[1]} modes"
        yield Cost(place, f"sliding DFT, {windows}", 20.0 * modes, self.init_state(1).nbytes)
