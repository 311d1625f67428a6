"""What all branches of a layer share: the centred input's spectrum, lags, sums and last samples.

With c a constant near the mean of a channel, w = u - c on valid samples and 0 elsewhere. The input
before its start is 0, which is w = -c there. So a branch's output less its constant part,
z'[t] = z[t] - c sum_s k[s], is k convolved with the rows of w continued by -c into the past, and
its sum and energy over the valid samples are

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

import torch
from torch import Tensor
from torch.nn.functional import pad

__all__ = ["Rows", "exclusive_sums", "power"]

F64 = torch.float64


def power(spectrum: Tensor) -> Tensor:
    """|z|^2 of complex numbers."""
    # ten times faster than a sum over the last axis of view_as_real
    return spectrum.real.square() + spectrum.imag.square()


def exclusive_sums(x: Tensor, count: int) -> Tensor:
    """S[tau] = sum_{t < tau} x[t] for tau = 0..count-1, x being 0 behind its end. (c, count)."""
    sums = pad(x.cumsum(-1), (1, 0))
    missing = count - sums.shape[-1]
    if missing > 0:
        sums = torch.cat([sums, sums[:, -1:].expand(-1, missing)], -1)
    return sums[:, :count]


@dataclass(frozen=True)
class Rows:
    """A block of channels with all rows of the batch."""

    w: Tensor
    """Centred input, 0 behind each row's length.                    (B, c, L)"""
    spectrum: Tensor
    """rfft(w, size).                                     (B, c, size // 2 + 1)"""
    last: Tensor
    """Rows moved to the right, so that their last valid sample comes last; -c before their start.
    Its last ``reach`` columns are used.                  (B, c, max(L, reach))"""
    centre: Tensor
    """c, float64.                                                       (c,)"""
    heads: Tensor
    """(c, reach), float64"""
    lengths: Tensor | None
    size: int

    @property
    def ramp(self) -> Tensor:
        """B c^2.                                                        (c,)."""
        return self.w.shape[0] * self.centre.square()

    @classmethod
    def of(cls, u: Tensor, centre: Tensor, lengths: Tensor | None, reach: int, size: int) -> "Rows":
        """Prepares a block.

        Args:
            u: Input, 0 behind each row's length.                    (B, c, L)
            centre: c, float64.                                           (c,)
            lengths: Valid samples of each row; None: all.                (B,)
            reach: Taps of the longest branch.
            size: Of the FFTs; at least L + min(L, reach) - 1.

        Returns:
            The block.
        """
        length = u.shape[-1]
        w = u - centre.to(u.dtype)[:, None]
        if lengths is not None:
            w = torch.where(_valid(lengths, length)[:, None], w, 0)
        spectrum = torch.fft.rfft(w, size)
        heads = _heads(w, centre, lengths, reach)
        return cls(w, spectrum, _last(w, centre, lengths, reach), centre, heads, lengths, size)

    def lags(self) -> Tensor:
        """lags[tau], float64; the forward pass alone needs them.   (c, reach)."""
        reach, length = self.heads.shape[-1], self.w.shape[-1]
        energy = power(self.spectrum).sum(0).to(F64)
        lags = torch.fft.irfft(energy, self.size)[:, : min(reach, length)]
        before = exclusive_sums(self.w.sum(0).to(F64), reach)
        return pad(lags, (0, reach - lags.shape[-1])) - self.centre[:, None] * before

    def window(self, span: int) -> Tensor:
        """The last ``span`` samples of every row.                   (B, c, span)."""
        return self.last[..., self.last.shape[-1] - span :]

    def add_gradient(self, x: Tensor, dlags: Tensor, dheads: Tensor) -> None:
        """Adds to x (B, c, L) what lags and heads contribute apart from the autocorrelation.

        Args:
            x: Gradient of the input, changed in place.
            dlags: Gradient of lags.                              (c, reach)
            dheads: Gradient of heads.                            (c, reach)
        """
        length = x.shape[-1]
        # dP = -c dlags, P[tau] holds w[t] for all tau > t
        after = dlags.sum(-1, keepdim=True) - dlags.cumsum(-1)
        x += pad((-self.centre[:, None] * after).to(x.dtype), (0, length))[:, :length]
        # heads[s] holds w_b[t] for all s < n_b - t
        sums = exclusive_sums(dheads, length + 1)[:, 1:].to(x.dtype)
        if self.lengths is None:
            x += sums.flip(-1)
        else:
            until_end = self.lengths[:, None] - 1 - torch.arange(length, device=x.device)
            x += sums[:, until_end.clamp_min(0)].transpose(0, 1)

    def add_last_gradient(self, x: Tensor, dlast: Tensor) -> None:
        """Adds to x (B, c, L) the gradient of ``last``, moved back to each row's place."""
        length = x.shape[-1]
        dlast = dlast[..., dlast.shape[-1] - length :]
        if self.lengths is None:
            x += dlast
            return
        source = torch.arange(length, device=x.device) + length - self.lengths[:, None]
        x += dlast.gather(2, source.clamp_max(length - 1)[:, None].expand_as(dlast))


def _valid(lengths: Tensor, length: int) -> Tensor:
    return torch.arange(length, device=lengths.device) < lengths[:, None]


def _heads(w: Tensor, centre: Tensor, lengths: Tensor | None, reach: int) -> Tensor:
    batch, _, length = w.shape
    s = torch.arange(reach, device=w.device)
    if lengths is None:
        sums = exclusive_sums(w.sum(0).to(F64), length + 1)
        left = sums[:, (length - s).clamp_min(0)]
        return left - centre[:, None] * (batch * s.clamp_max(length))
    # each row's running sum is read backwards from its own end
    running = pad(w.to(F64).cumsum(-1), (1, 0))  # (B, c, L + 1)
    left = (lengths[:, None] - s).clamp_min(0)
    read = running.gather(2, left[:, None].expand(-1, w.shape[1], -1)).sum(0)
    return read - centre[:, None] * torch.minimum(s, lengths[:, None]).sum(0)


def _last(w: Tensor, centre: Tensor, lengths: Tensor | None, reach: int) -> Tensor:
    length, before = w.shape[-1], -centre.to(w.dtype)[:, None]
    last = w
    if lengths is not None:
        source = torch.arange(length, device=w.device) + lengths[:, None] - length  # (B, L)
        last = w.gather(2, source.clamp_min(0)[:, None].expand(-1, w.shape[1], -1))
        last = torch.where((source >= 0)[:, None], last, before)
    if reach > length:
        last = torch.cat([before.expand(*w.shape[:2], reach - length), last], -1)
    return last
