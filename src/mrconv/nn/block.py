"""The residual block around a sequence mixer."""

import torch
from torch import Tensor, nn

from .._checks import check_choice, mask_invalid
from ..errors import ArgumentError
from .norm import NORMS, NormName

__all__ = ["ResidualBlock"]


class ResidualBlock(nn.Module):
    """x + GLU(W dropout(GELU(mixer(x))) + b), normalised behind (post-norm) or before (pre-norm).

    post-norm:  y = norm(x + f(x));   pre-norm:  y = x + f(norm(x))
    f(x) = a * sigmoid(g),  (a | g) = W dropout(GELU(mixer(x))) + b,  W (2 D, D)

    Args:
        mixer: Layer (B, D, L) -> (B, D, L) that takes ``lengths``.
        channels: D.
        norm: "batch" (masked BatchNorm) or "layer" (LayerNorm over channels).
        pre_norm: Whether the norm stands before the mixer.
        dropout: Probability with which a channel of a row is set to 0, over its whole length.
        device: Where the parameters live.
        dtype: Of the parameters.

    Raises:
        ArgumentError: If the norm is unknown or dropout is not in [0, 1).

    Source: the paper's figure 1 and the S4 block; dropout tied over time as in S4.

    Example:
        >>> import torch, mrconv
        >>> block = mrconv.nn.ResidualBlock(mrconv.MRConv(4, 32), 4)
        >>> block(torch.randn(2, 4, 32)).shape
        torch.Size([2, 4, 32])
    """

    def __init__(
        self,
        mixer: nn.Module,
        channels: int,
        *,
        norm: NormName = "batch",
        pre_norm: bool = False,
        dropout: float = 0.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_choice("ResidualBlock", "norm", norm, NORMS)
        if not 0 <= dropout < 1:
            raise ArgumentError(
                f"ResidualBlock: dropout must be at least 0 and below 1; got {dropout}. Use 0.1."
            )
        self.mixer = mixer
        self.pre_norm = pre_norm
        self.dropout = nn.Dropout1d(dropout)
        self.linear = nn.Linear(channels, 2 * channels, device=device, dtype=dtype)
        self.norm = NORMS[norm](channels, device=device, dtype=dtype)

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Mixes over time, then over channels.

        Args:
            x: Input.                                                (B, D, L)
            lengths: Valid samples of each row; None: all.                (B,)

        Returns:
            Output, 0 behind each row's length.                      (B, D, L)
        """
        return self.leave(x, self.mixer(self.enter(x, lengths), lengths), lengths)

    def enter(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """What the mixer is given: the input, normalised in a pre-norm block."""
        return self.norm(x, lengths) if self.pre_norm else x

    def leave(self, x: Tensor, mixed: Tensor, lengths: Tensor | None = None) -> Tensor:
        """The block's output, from its input and what the mixer gave."""
        gated = self.linear(self.dropout(nn.functional.gelu(mixed)).transpose(1, 2))
        branch = nn.functional.glu(gated, dim=-1).transpose(1, 2)  # (B, D, L)
        y = mask_invalid(x + branch, lengths)
        return y if self.pre_norm else self.norm(y, lengths)
