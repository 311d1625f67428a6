"""KernelConv: one long convolution whose taps a kernel makes anew at every call."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from .._checks import (
    check_choice,
    check_count,
    full_precision,
    layer_operand,
    mask_invalid,
    widened,
)
from ..convolution import Method, long_convolution
from ..errors import DtypeError
from ..kernels import LONG_KERNELS, Kernel, LongKernelName, branch
from .long_conv import LongConv
from .recurrence import ModalRecurrence
from .reparameterize import Form, narrowest, reparameterize, with_skip

__all__ = ["KernelConv"]


class KernelConv(nn.Module):
    """A depthwise convolution with one structured kernel as long as the layer's reach.

    y[t] = sum_j k[j] u[t - j] + skip u[t]

    Two-sided layers have a second kernel for the future, at lags -1..-length.

    Args:
        channels: D.
        length: K, reach in samples; no limit on inputs.
        kernel: "s4d", "sgconv", "implicit" (Hyena's), "dense", "s4", "multires", "ckconv", or a
            callable ``(channels, kernel_size, resolution, *, device, dtype) -> Kernel``, which is
            called with the length as kernel_size and resolution 0.
        causal: Whether outputs depend on the past and present only.
        skip: Whether skip u[t] is added, one trained factor a channel from N(0, 1).
        device: Where parameters and buffers live.
        dtype: Of the parameters; a kernel may keep some of its own in float32.

    Raises:
        ArgumentError: If a size is below 1 or the kernel's name unknown.
        DtypeError: If the callable makes something else than a kernel of that length.

    Cost: one convolution, and the making of ``length`` taps however short the input.
    Source: the layers of S4D (Gu et al. 2022) and SGConv (Li et al. 2022), without the activation
    and the linear map that stand behind them there; ``ResidualBlock`` has both.

    Example:
        >>> import torch, mrconv
        >>> layer = mrconv.nn.KernelConv(4, length=100, kernel="sgconv")
        >>> layer(torch.randn(2, 4, 50)).shape
        torch.Size([2, 4, 50])
    """

    def __init__(
        self,
        channels: int,
        length: int,
        *,
        kernel: LongKernelName | Callable[..., Kernel] = "s4d",
        causal: bool = True,
        skip: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_count("KernelConv", "channels", channels)
        check_count("KernelConv", "length", length)
        if not callable(kernel):
            check_choice("KernelConv", "kernel", kernel, LONG_KERNELS)
        self.channels, self.length, self.causal = channels, length, causal
        self._make = kernel if callable(kernel) else LONG_KERNELS[kernel]
        self.past = self._made(device, dtype)
        self.future = None if causal else self._made(device, dtype)
        self.skip = (
            nn.Parameter(torch.empty(channels, device=device, dtype=dtype)) if skip else None
        )
        self.reset_parameters(kernels=False)

    def _made(self, device: torch.device | str | None, dtype: torch.dtype | None) -> Kernel:
        made = self._make(self.channels, self.length, 0, device=device, dtype=dtype)
        if not isinstance(made, Kernel) or made.span != self.length:
            raise DtypeError(
                f"KernelConv: kernel must make a mrconv.kernels.Kernel of span {self.length}; "
                f"got {made!r}. Pass the three sizes on to Kernel.__init__."
            )
        return made

    @property
    def num_taps(self) -> int:
        """K, taps of the kernel (a side, if two-sided)."""
        return self.length

    @torch.no_grad()
    def reset_parameters(self, *, kernels: bool = True) -> None:
        """Draws the parameters anew.

        Args:
            kernels: Whether the kernels are drawn anew as well.
        """
        if kernels:
            self.past.reset_parameters()
            if self.future is not None:
                self.future.reset_parameters()
        if self.skip is not None:
            self.skip.normal_()

    def forward(
        self, x: Tensor, lengths: Tensor | None = None, *, method: Method = "auto"
    ) -> Tensor:
        """Makes the taps and convolves each channel with its own.

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
        u = layer_operand("KernelConv", x, lengths, self.channels, narrowest(self).dtype)
        with full_precision(x):
            return mask_invalid(self.by_branches(u, 1, method), lengths).to(x.dtype)

    def by_branches(self, u: Tensor, rate: int = 1, method: Method = "auto") -> Tensor:
        """The class's equation term by term: convolution, then skip.

        Args:
            u: Input in at least float32, exactly 0 behind each row's length.   (B, D, L)
            rate: Samples of the training rate per sample of u.
            method: As in ``forward``.

        Returns:
            Output in the input's dtype.                                        (B, D, L)
        """
        taps = branch(self.past, self.future, rate).taps
        y = long_convolution(u, taps, causal=self.causal, method=method)
        return y if self.skip is None else y + widened(self.skip)[:, None] * u

    def merged_taps(self, rate: int = 1) -> tuple[Tensor, None]:
        """Taps of the one convolution that the layer is: the kernel's, skip added at lag 0.

        Args:
            rate: As in ``by_branches``.

        Returns:
            Taps (D, K // rate), or two-sided (D, 2 K // rate), in at least float32; no bias.
        """
        return with_skip(branch(self.past, self.future, rate).taps, self.skip, self.causal), None

    def reparameterize(self, rate: int = 1, form: Form = "merged") -> LongConv | ModalRecurrence:
        """The same layer with explicit taps, or as a recurrence; see ``nn.reparameterize``.

        Args:
            rate: Samples of the training rate per sample of the new layer's input.
            form: "merged", or "recurrence" where the kernel is a sum of exponentials.

        Returns:
            A new layer in eval mode; this one stays as it is.

        Raises:
            MergeError: In training mode, for a form it cannot have, or if the comparison fails.
            ArgumentError: If the kernel cannot be thinned by ``rate``.

        Example:
            >>> import mrconv
            >>> mrconv.nn.KernelConv(4, 64).eval().reparameterize().num_taps
            64
        """
        return reparameterize(self, rate, form)

    def fuse(self) -> LongConv | ModalRecurrence:
        """``reparameterize`` under the name that timm's walker looks for."""
        return self.reparameterize()

    def extra_repr(self) -> str:
        """Settings for ``repr``."""
        return f"{self.channels}, length={self.length}, causal={self.causal}"
