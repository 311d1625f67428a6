"""What all branches of a layer share: the centred input's spectrum, lags, sums and last samples.

With c a constant near the mean of a channel, w = u - c on valid samples and 0 elsewhere. The input
before its start is 0, which is w = -c there. So a branch's output less its constant part,
z'[t] = z[t] - c sum_s k[s], is k convolved with the rows of w continued by -c on both sides:

    z'[t] = sum_s k[s] w[t - s] - c sum_{s: t - s not in 0..n_b - 1} k[s]

For causal k its sum and energy over the valid samples are

    sum z'   = sum_s k[s] heads[s]
    sum z'^2 = sum_{|tau| < l} a[tau] lags[|tau|] + B c^2 sum_t d[t]^2 - sum_b |tail_b|^2

a the autocorrelation of k, d[t] = -sum_{s > t} k[s], tail_b the outputs behind row b's end, which
depend on its last l samples only, and

    lags[tau] = sum_{b, t} w_b[t] w_b[t - tau] - c P[tau],   P[tau] = sum_b sum_{t < tau} w_b[t]
    heads[s]  = sum_b ( sum_{t < n_b - s} w_b[t] - c min(s, n_b) )

The identities hold for every c, so c is a constant of the gradient; near the mean no digits are
lost to an offset. All without a batch axis is kept in float64.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch.nn.functional import pad

from .._checks import length_mask
from ..convolution import circular

__all__ = ["Rows", "clear_padding", "exclusive_sums", "power"]

F64 = torch.float64


def power(spectrum: Tensor) -> Tensor:
    """|z|^2 of complex numbers."""
    return spectrum.real.square() + spectrum.imag.square()


def exclusive_sums(x: Tensor, count: int) -> Tensor:
    """S[tau] = sum_{t < tau} x[t] for tau = 0..count-1, x being 0 behind its end. (c, count)."""
    sums = pad(x.cumsum(-1), (1, 0))
    missing = count - sums.shape[-1]
    if missing > 0:
        sums = torch.cat([sums, sums[:, -1:].expand(-1, missing)], -1)
    return sums[:, :count]


def clear_padding(x: Tensor, lengths: Tensor | None) -> None:
    """Sets x (B, c, L) to 0 behind each row's length, in place."""
    if lengths is not None:
        x.masked_fill_(~length_mask(lengths, x.shape[-1])[:, None], 0)


@dataclass(frozen=True)
class Rows:
    """A block of channels with all rows of the batch."""

    w: Tensor
    """Centred input, 0 behind each row's length.                    (B, c, L)"""
    spectrum: Tensor
    """rfft(w, size).                                     (B, c, size // 2 + 1)"""
    centre: Tensor
    """c, float64.                                                       (c,)"""
    lengths: Tensor | None
    size: int

    @cached_property
    def total(self) -> Tensor:
        """Centred input summed over the rows, float64.                            (c, L)."""
        return self.w.sum(0).to(F64)

    @property
    def ramp(self) -> Tensor:
        """B c^2.                                                        (c,)."""
        return self.w.shape[0] * self.centre.square()

    @classmethod
    def of(cls, u: Tensor, centre: Tensor, lengths: Tensor | None, size: int) -> "Rows":
        """Prepares a block.

        Args:
            u: Input, 0 behind each row's length.                    (B, c, L)
            centre: c, float64.                                           (c,)
            lengths: Valid samples of each row; None: all.                (B,)
            size: Of the FFTs; enough for the longest branch.

        Returns:
            The block.
        """
        length = u.shape[-1]
        # written where the FFT would otherwise copy it
        padded = u.new_zeros(*u.shape[:2], size)
        w = padded[..., :length]
        torch.sub(u, centre.to(u.dtype)[:, None], out=w)
        clear_padding(w, lengths)
        return cls(w, torch.fft.rfft(padded), centre, lengths, size)

    def transformed(self, taps: Tensor, future: int = 0) -> Tensor:
        """Spectrum of taps that meet the input, lag 0 at column ``future``.  (c, size // 2 + 1)."""
        return torch.fft.rfft(circular(taps, future, self.size))

    def lacking(self, taps: Tensor, future: int = 0) -> Tensor:
        """-c sum of the taps that reach out of the row at t.  (c, L); ragged two-sided (B, c, L).

        The constant part of a convolution is c sum taps less this.
        """
        length, wide = self.w.shape[-1], taps.to(F64)
        past = wide[:, future:]
        missing = past.sum(-1, keepdim=True) - past.cumsum(-1)
        total = pad(missing, (0, length))[:, :length]
        if future:
            # the last sample lacks all future taps, the one before it all but lag -1
            ahead = wide[:, :future].cumsum(-1).flip(-1)
            total = total + self.from_ends(pad(ahead, (0, length))[:, :length])
        return -self.centre[:, None] * total

    def tap_gradient(
        self, correlation: Tensor, gradient: Tensor, past: int, future: int
    ) -> tuple[Tensor, Tensor]:
        """Gradient of taps given that of their outputs z', lag 0 at column ``future``, float64.

        Args:
            correlation: Sum over rows of the gradient's spectrum times conj(spectrum).
                                                            (c, size // 2 + 1)
            gradient: Of z', 0 behind each row's length.             (B, c, L)
            past: Columns from lag 0 on.
            future: Columns before lag 0.

        Returns:
            The gradient (c, future + past), and the sum of that of z' (c,).
        """
        length = self.w.shape[-1]
        circle = torch.fft.irfft(correlation, self.size)
        kept = min(past, length)
        total = gradient.sum(0).to(F64)
        taps = pad(circle[:, :kept].to(F64), (0, past - kept))
        taps = taps - self.centre[:, None] * exclusive_sums(total, past)
        if future:
            lengths = self.lengths
            from_end = total.flip(-1) if lengths is None else _ends(gradient, lengths).sum(0)
            outside = exclusive_sums(from_end.to(F64), future + 1)[:, 1:].flip(-1)
            ahead = circle[:, self.size - future :].to(F64) - self.centre[:, None] * outside
            taps = torch.cat([ahead, taps], -1)
        return taps, total.sum(-1)

    def from_ends(self, x: Tensor) -> Tensor:
        """X (c, L), counted backwards from each row's last sample, as (c, L) or (B, c, L)."""
        if self.lengths is None:
            return x.flip(-1)
        length = x.shape[-1]
        until_end = self.lengths[:, None] - 1 - torch.arange(length, device=x.device)
        return x[:, until_end.clamp_min(0)].transpose(0, 1)  # (B, c, L); garbage behind the end


def _ends(x: Tensor, lengths: Tensor) -> Tensor:
    """Rows of x (B, c, L) backwards from each row's last sample on, 0 before its first."""
    source = lengths[:, None] - 1 - torch.arange(x.shape[-1], device=x.device)  # (B, L)
    backwards = x.gather(2, source.clamp_min(0)[:, None].expand_as(x))
    return torch.where((source >= 0)[:, None], backwards, x.new_zeros(()))
