"""Attention: softmax self-attention with rotary positions, for layers (B, D, L)."""

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from .._checks import (
    check_count,
    checked_input,
    length_mask,
    mask_invalid,
    widened,
)
from .heads import check_divides, largest_divisor

__all__ = ["Attention", "rotated"]

BASE = 10_000.0  # longest wavelength of the rotations over 2 pi, in samples
HEAD_SIZE = 64


class Attention(nn.Module):
    """Multi-head self-attention with rotary positions, without biases.

    y[t] = W_o concat_h sum_s softmax_s( <R_t q_h[t], R_s k_h[s]> / sqrt(D / H) ) v_h[s]
    (q | k | v)[t] = W u[t],  s <= t if causal

    R_t turns feature pair (j, j + P) of a head by the angle t 10000^(-j / P), j = 0..P-1, with
    P = floor(D / H / 2); an odd last feature is left as it is.

    Args:
        channels: D.
        length: Samples the layer is meant for; neither a limit on inputs nor a number it uses.
        num_heads: H, which must divide D; None takes heads of 64 features, or the nearest size
            above that divides.
        causal: Whether outputs depend on the past and present only.
        device: Where the parameters live.
        dtype: Of the parameters; also of the computation, in half precision too.

    Raises:
        ArgumentError: If a size is below 1 or the heads do not divide the channels.

    Cost: O(D L^2) operations; memory O(D L) where torch has a fused attention for the device.
    Causality and padding are exact to the bit for finite input.
    Source: Vaswani et al. 2017, section 3.2; rotations of Su et al. 2021, equation (34), on pairs
    (j, j + P) in place of neighbours, as GPT-NeoX and Llama lay them.

    Example:
        >>> import torch, mrconv
        >>> mrconv.nn.Attention(128, length=100)(torch.randn(2, 128, 50)).shape
        torch.Size([2, 128, 50])
    """

    def __init__(
        self,
        channels: int,
        length: int,
        *,
        num_heads: int | None = None,
        causal: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_count("Attention", "channels", channels)
        check_count("Attention", "length", length)
        usual = largest_divisor(channels, channels // HEAD_SIZE)
        heads = usual if num_heads is None else num_heads
        check_divides("Attention", "num_heads", heads, channels)
        self.channels, self.length, self.causal = channels, length, causal
        self.num_heads = heads
        self.qkv = nn.Linear(channels, 3 * channels, bias=False, device=device, dtype=dtype)
        self.out = nn.Linear(channels, channels, bias=False, device=device, dtype=dtype)

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Mixes over time by attention.

        Args:
            x: Input.                                                (B, D, L)
            lengths: Valid samples of each row; None: all.                (B,)

        Returns:
            Output in the input's dtype, 0 behind each row's length. (B, D, L)

        Raises:
            ShapeError: If x is not (B, D, L) or lengths not (B,).
            DtypeError: If x has another dtype than the parameters.
        """
        u = checked_input("Attention", x, lengths, self.channels, self.qkv.weight.dtype)
        query, key, value = self.heads(u)
        mixed = scaled_dot_product_attention(
            query, key, value, attn_mask=self._key_mask(lengths, x), is_causal=self.causal
        )
        return mask_invalid(self.joined(mixed), lengths).to(x.dtype)

    def heads(self, u: Tensor, start: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Queries and keys, both turned by their positions, and values.

        Args:
            u: Input.                                                (B, D, L)
            start: Position of each row's first sample; None: 0.          (B,)

        Returns:
            Three tensors (B, H, L, D / H).
        """
        heads = self.qkv(u.transpose(1, 2)).unflatten(-1, (3, self.num_heads, -1)).transpose(1, 3)
        query, key, value = heads.unbind(2)
        return rotated(query, start), rotated(key, start), value

    def joined(self, mixed: Tensor) -> Tensor:
        """The output (B, D, L) from what the heads (B, H, L, D / H) gathered."""
        y: Tensor = self.out(mixed.transpose(1, 2).flatten(2)).transpose(1, 2)
        return y

    def _key_mask(self, lengths: Tensor | None, x: Tensor) -> Tensor | None:
        """True for keys that may be attended to, (B, 1, 1, L); None: all that causality allows."""
        if lengths is None or self.causal:
            return None  # padding is on the right: a causal row never looks into it
        # an empty row sees its first key, a zero: a softmax over nothing has NaN in its gradient
        return length_mask(lengths.to(x.device).clamp_min(1), x.shape[-1])[:, None, None]

    def extra_repr(self) -> str:
        """Settings for ``repr``."""
        return f"{self.channels}, num_heads={self.num_heads}, causal={self.causal}"


def rotated(x: Tensor, start: Tensor | None = None) -> Tensor:
    """Queries or keys turned by their positions, feature pair (j, j + P) by t 10000^(-j / P).

    Args:
        x: One row a position.                                   (B, H, L, F)
        start: Position of the first; None: 0.                           (B,)

    Returns:
        The same dtype; P = F // 2 pairs, an odd last feature as it was. (B, H, L, F)
    """
    length, half = x.shape[-2], x.shape[-1] // 2
    wide = widened(x)  # angles in half precision would be off by radians
    steps = torch.arange(half, device=x.device, dtype=wide.dtype) / max(half, 1)
    times = torch.arange(length, device=x.device, dtype=wide.dtype)
    if start is not None:
        times = times + start[:, None, None]  # (B, 1, L)
    angle = times[..., None] * BASE**-steps  # (..., L, P)
    first, second, last = wide.split([half, half, x.shape[-1] - 2 * half], -1)
    cos, sin = angle.cos(), angle.sin()
    turned = [first * cos - second * sin, second * cos + first * sin, last]
    return torch.cat(turned, -1).to(x.dtype)
