"""LongConv: one long depthwise convolution with explicit taps, the merged form of a layer."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from .._checks import (
    check_count,
    layer_operand,
    mask_invalid,
    widened,
)
from ..convolution import Method, long_convolution
from ..errors import ArgumentError, MergeError
from .frozen_spectrum import FrozenSpectrum

if TYPE_CHECKING:
    from .reparameterize import Check

__all__ = ["LongConv"]


class LongConv(nn.Module):
    """A depthwise convolution with K taps a channel, as long as its input, by FFT.

    y[b, d, t] = bias[d] + sum_j taps[d, j] x[b, d, t - lag(j)]

    Causal taps are (D, K) with lag(j) = j; two-sided taps are (D, 2 K) with lag(j) = j - K.
    A causal LongConv equals a depthwise ``nn.Conv1d`` whose weight is the flip of the taps.

    Args:
        channels: D.
        num_taps: K, the number of taps (a side, if two-sided).
        causal: Whether outputs depend on the past and present only.
        bias: Whether a constant is added to each channel.
        device: Where the parameters live.
        dtype: Of the parameters.

    Raises:
        ArgumentError: If a size is below 1.

    Cost: O(log L) operations a sample and channel, amortised. In eval mode without gradients, on a
    CPU and for at most 4 rows, the spectrum of the taps is kept for the next call.

    Example:
        >>> import torch, mrconv
        >>> mrconv.LongConv(4, num_taps=100)(torch.randn(2, 4, 50)).shape
        torch.Size([2, 4, 50])
    """

    def __init__(
        self,
        channels: int,
        num_taps: int,
        *,
        causal: bool = True,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_count("LongConv", "channels", channels)
        check_count("LongConv", "num_taps", num_taps)
        self.channels, self.num_taps, self.causal = channels, num_taps, causal
        columns = num_taps if causal else 2 * num_taps
        self.taps = nn.Parameter(torch.empty(channels, columns, device=device, dtype=dtype))
        self.bias = (
            nn.Parameter(torch.empty(channels, device=device, dtype=dtype)) if bias else None
        )
        #: What the conversion that made this layer measured; None for a layer made by hand.
        self.checked: Check | None = None
        self._frozen = FrozenSpectrum()  # no buffer: it is neither saved nor moved
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws taps from N(0, 1 / K) and sets the bias to 0."""
        nn.init.normal_(self.taps, std=self.num_taps**-0.5)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(
        self, x: Tensor, lengths: Tensor | None = None, *, method: Method = "auto"
    ) -> Tensor:
        """Convolves each channel with its taps.

        Args:
            x: Input.                                                (B, D, L)
            lengths: Valid samples of each row; None: all.                (B,)
            method: "auto", "fft" or "direct", as in ``long_convolution``.

        Returns:
            Output in the input's dtype, 0 behind each row's length. (B, D, L)

        Raises:
            ShapeError: If x is not (B, D, L) or lengths not (B,).
            DtypeError: If x has another dtype than the parameters.
        """
        u = layer_operand("LongConv", x, lengths, self.channels, self.taps.dtype)
        if not self.training and self._frozen.serves(u, self.taps, method):
            y = self._frozen.convolve(u, self.taps, self.causal)
        else:
            y = long_convolution(u, widened(self.taps), causal=self.causal, method=method)
        if self.bias is not None:
            y = y + widened(self.bias)[:, None]
        return mask_invalid(y, lengths).to(x.dtype)

    def then(self, second: "LongConv") -> "LongConv":
        """The one layer that equals this one with a second behind it: their taps convolved.

        Args:
            second: Causal, of the same channels; in eval mode, as this one.

        Returns:
            A new layer of K + K_second - 1 taps and the second's bias, in eval mode, which has
            compared itself with the two (``checked``).

        Raises:
            MergeError: In training mode, for two-sided layers or a bias of this one other than 0.
            ShapeError: For other channels.

        Example:
            >>> import mrconv
            >>> short, long = (mrconv.LongConv(2, k, bias=False).eval() for k in (4, 100))
            >>> short.then(long).num_taps
            103
        """
        from .chained import chained  # which needs this class

        return chained(self, second)

    @classmethod
    def from_conv1d(cls, conv: nn.Conv1d) -> "LongConv":
        """The LongConv that computes what a depthwise Conv1d does, exactly.

        Padding of half the reach (also "same") becomes a two-sided layer of equal output.
        Padding of the whole reach becomes a causal layer, equal to the first L outputs; padding 0
        becomes the causal layer that equals the convolution of the input padded on the left.

        Args:
            conv: Depthwise (groups = channels), stride 1, zero padding; any dilation.

        Returns:
            A new layer; the weights are copied.

        Raises:
            MergeError: If the convolution is of another kind.

        Example:
            >>> import torch, mrconv
            >>> conv = torch.nn.Conv1d(3, 3, 5, padding=2, groups=3)
            >>> mrconv.LongConv.from_conv1d(conv).causal
            False
        """
        future = _future_reach(conv)
        (dilation,), (size,) = conv.dilation, conv.kernel_size
        weight = conv.weight.detach()[:, 0].flip(-1)  # tap q acts at lag q dilation - future
        reach = dilation * (size - 1)
        side = max(reach - future + 1, future)
        layer = cls(
            conv.out_channels,
            side,
            causal=future == 0,
            bias=conv.bias is not None,
            device=weight.device,
            dtype=weight.dtype,
        )
        with torch.no_grad():
            layer.taps.zero_()
            start = 0 if future == 0 else side - future
            layer.taps[:, start : start + reach + 1 : dilation] = weight
            if layer.bias is not None and conv.bias is not None:
                layer.bias.copy_(conv.bias)
        return layer.train(conv.training)

    def to_conv1d(self) -> nn.Conv1d:
        """The depthwise Conv1d that computes what this layer does, exactly.

        A causal layer becomes a convolution of K taps with padding K - 1 whose first L outputs are
        the layer's; a two-sided layer becomes one of 2 K + 1 taps with padding K and L outputs.

        Returns:
            A new module; the taps are copied.

        Example:
            >>> import torch, mrconv
            >>> mrconv.LongConv(3, 8).to_conv1d().kernel_size
            (8,)
        """
        taps = self.taps.detach()
        if not self.causal:
            taps = nn.functional.pad(taps, (0, 1))  # lag K, which the layer does not have
        conv = nn.Conv1d(
            self.channels,
            self.channels,
            taps.shape[-1],
            padding=self.num_taps - 1 if self.causal else self.num_taps,
            groups=self.channels,
            bias=self.bias is not None,
            device=taps.device,
            dtype=taps.dtype,
        )
        with torch.no_grad():
            conv.weight.copy_(taps.flip(-1)[:, None])
            if self.bias is not None and conv.bias is not None:
                conv.bias.copy_(self.bias)
        return conv.train(self.training)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "LongConv":
        self._frozen.forget()
        super()._apply(fn, recurse)
        return self

    def extra_repr(self) -> str:
        """Sizes, and what a conversion checked, for ``repr``."""
        text = f"{self.channels}, num_taps={self.num_taps}, causal={self.causal}"
        text += f", bias={self.bias is not None}"
        return text if self.checked is None else f"{text}, checked: {self.checked}"


def _future_reach(conv: nn.Conv1d) -> int:
    """How many samples ahead the taps of a depthwise Conv1d reach; raises if it is another kind."""
    if not isinstance(conv, nn.Conv1d):
        raise ArgumentError(
            f"from_conv1d: conv must be an nn.Conv1d; got {type(conv).__name__}. "
            "Pass a depthwise nn.Conv1d."
        )
    depthwise = conv.groups == conv.in_channels == conv.out_channels
    if not depthwise or conv.stride != (1,) or conv.padding_mode != "zeros":
        raise MergeError(
            "from_conv1d: the convolution must be depthwise with stride 1 and zero padding; "
            f"got in_channels={conv.in_channels}, out_channels={conv.out_channels}, "
            f"groups={conv.groups}, stride={conv.stride[0]}, padding_mode={conv.padding_mode!r}. "
            "Keep it as it is."
        )
    reach = conv.dilation[0] * (conv.kernel_size[0] - 1)
    named = {"valid": 0, "same": reach // 2}
    padding = named[conv.padding] if isinstance(conv.padding, str) else conv.padding[0]
    if conv.padding == "same" or 2 * padding == reach:
        return reach - padding
    if padding in (0, reach):
        return 0
    raise MergeError(
        f"from_conv1d: padding must be 0, half or all of the reach of {reach} samples; "
        f"got {padding}. Change the padding, or keep the convolution as it is."
    )
