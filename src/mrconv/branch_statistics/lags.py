"""What causal branches need to know of the input without their outputs: lags, sums, last samples.

The identities are those of ``rows``.
"""

import torch
from torch import Tensor
from torch.nn.functional import pad

from .rows import F64, Rows, exclusive_sums

__all__ = ["Lags"]


class Lags:
    """Sums over a block's rows by lag, and the last samples of every row.

    Args:
        rows: The block.
        reach: Lags 0..reach - 1 are known; reach last samples of each row are kept.
    """

    def __init__(self, rows: Rows, reach: int) -> None:
        self.rows, self.reach = rows, reach
        #: heads[s], float64.                                         (c, reach)
        self.heads = _heads(rows, reach)
        #: The last samples, -c before a row's start.              (B, c, reach)
        self.last = _last(rows, reach)

    def products(self) -> Tensor:
        """lags[tau], float64; the forward pass alone needs them.   (c, reach)."""
        rows, length = self.rows, self.rows.w.shape[-1]
        # rows first: a sum over the pairs of every row would cost several times as much
        pairs = torch.view_as_real(rows.spectrum).square().sum(0)
        energy = pairs.to(F64).sum(-1)
        lags = torch.fft.irfft(energy, rows.size)[:, : min(self.reach, length)]
        before = exclusive_sums(rows.total, self.reach)
        return pad(lags, (0, self.reach - lags.shape[-1])) - rows.centre[:, None] * before

    def window(self, span: int) -> Tensor:
        """The last ``span`` samples of every row.                   (B, c, span)."""
        return self.last[..., self.reach - span :]

    def input_gradient(
        self, dlags: Tensor, dheads: Tensor, dlast: Tensor, dspectrum: Tensor
    ) -> Tensor:
        """Gradient of the input.

        Args:
            dlags: Gradient of ``products``.                          (c, reach)
            dheads: Gradient of ``heads``.                            (c, reach)
            dlast: Gradient of ``last``.                           (B, c, reach)
            dspectrum: Spectrum of the input's gradient; that of the autocorrelation in lags is
                added to it in place.

        Returns:
            The rest of it.                                          (B, c, L)
        """
        rows, length = self.rows, self.rows.w.shape[-1]
        # r[tau] = sum w[t] w[t - tau] passes dr on as w convolved with dr on both sides of lag 0
        both_sides = 2 * torch.fft.rfft(dlags[:, :length], rows.size).real
        dspectrum.addcmul_(rows.spectrum, both_sides.to(dspectrum.dtype))
        # P[tau] holds w[t] for all tau > t
        after = dlags.sum(-1, keepdim=True) - dlags.cumsum(-1)
        common = pad(-rows.centre[:, None] * after, (0, length))[:, :length]
        # heads[s] holds w_b[t] for all s < n_b - t
        sums = exclusive_sums(dheads, length + 1)[:, 1:]
        x = (common + rows.from_ends(sums)).to(rows.w.dtype)
        return self._with_last(x.expand_as(rows.w), dlast)

    def _with_last(self, x: Tensor, dlast: Tensor) -> Tensor:
        """X (B, c, L) plus the gradient of ``last`` at each row's place."""
        length = x.shape[-1]
        if self.rows.lengths is None:
            kept = min(length, self.reach)
            return x + pad(dlast[..., self.reach - kept :], (length - kept, 0))
        source = torch.arange(length, device=x.device) + self.reach - self.rows.lengths[:, None]
        inside = (source >= 0) & (source < self.reach)
        moved = dlast.gather(2, source.clamp(0, self.reach - 1)[:, None].expand_as(x))
        return x + torch.where(inside[:, None], moved, x.new_zeros(()))


def _heads(rows: Rows, reach: int) -> Tensor:
    w, centre, lengths = rows.w, rows.centre, rows.lengths
    batch, _, length = w.shape
    s = torch.arange(reach, device=w.device)
    if lengths is None:
        sums = exclusive_sums(rows.total, length + 1)
        left = sums[:, (length - s).clamp_min(0)]
        return left - centre[:, None] * (batch * s.clamp_max(length))
    # each row's running sum is read backwards from its own end
    running = pad(w.to(F64).cumsum(-1), (1, 0))  # (B, c, L + 1)
    left = (lengths[:, None] - s).clamp_min(0)
    read = running.gather(2, left[:, None].expand(-1, w.shape[1], -1)).sum(0)
    return read - centre[:, None] * torch.minimum(s, lengths[:, None]).sum(0)


def _last(rows: Rows, reach: int) -> Tensor:
    w, length = rows.w, rows.w.shape[-1]
    before = -rows.centre.to(w.dtype)[:, None]
    if rows.lengths is not None:
        source = torch.arange(reach, device=w.device) + rows.lengths[:, None] - reach  # (B, reach)
        last = w.gather(2, source.clamp_min(0)[:, None].expand(-1, w.shape[1], -1))
        return torch.where((source >= 0)[:, None], last, before)
    if reach <= length:
        return w[..., length - reach :]
    return torch.cat([before.expand(*w.shape[:2], reach - length), w], -1)
