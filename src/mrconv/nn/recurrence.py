"""ModalRecurrence: a diagonal recurrence with a few explicit taps, the constant-memory form."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import torch
from torch import Tensor, nn

from .._checks import (
    HALF,
    check_count,
    check_layer_input,
    check_lengths,
    full_precision,
    layer_operand,
    mask_invalid,
    widened,
)
from ..convolution import Method, long_convolution
from ..errors import ArgumentError, DtypeError
from ..kernels import modal_taps
from .modal_groups import Group, grouped
from .modal_moves import Moves, take_one
from .modal_state import BLOCK, Block, ModalState, advance, zero_state

if TYPE_CHECKING:
    from .reparameterize import Check

__all__ = ["ModalRecurrence"]

#: Decays a sample that the parameters can express: below, float32 rounds a pole onto the circle.
LEAST_DECAY, MOST_DECAY = 1e-7, 1e3


class ModalRecurrence(nn.Module):
    """A depthwise convolution whose response is a few explicit taps and M damped exponentials:

    y[t] = bias + sum_{j < H} head[j] u[t - j] + sum_m Re(residue[m] x_m[t])
    x_m[t] = pole[m] x_m[t - 1] + u[t - s_m] - pole[m]^(e_m - s_m) u[t - e_m]

    with pole = exp(-exp(log_decay) + i angle), inside the unit circle whatever the parameters are.
    Mode m acts on the lags s_m <= t < e_m, where its value is Re(residue pole^(t - s_m)). Without
    ``windows`` all modes start behind the head, s_m = H, and never end: memory is then constant,
    two reals a mode, and H samples.

    Training keeps the order: gradients reach neither the angle and the imaginary residue of a real
    pole, nor a mode whose residue is 0.

    All parameters are real: log_decay (D, M), angle (D, M) in rad a sample, residue (D, M, 2),
    head (D, H), bias (D,). Decays and angles stay in float32 where the layer has half precision:
    a memory of 100 samples is off by 14 % with poles of bfloat16. State and constants are float64:
    a pole rounded to float32 turns a memory of n samples by n 6e-8.

    Args:
        channels: D.
        modes: M, conjugate pairs or real poles a channel; may be 0.
        fir_head: H, explicit taps.
        windows: First lag and the lag behind the last of each mode; None: (H, never).
        bias: Whether a constant is added to each channel.
        device: Where the parameters live.
        dtype: Of residues, head and bias.

    Raises:
        ArgumentError: If a size is too small or a window empty.

    Cost: a sample and channel, O(H + M) by ``step``, O(log L) amortised by ``forward``; windows
    that end need a ring buffer as long as the longest of them.
    Source: Massaroli et al. 2023, the modal form. Differs: explicit taps in front, residues that
    act at the first lag behind them, windows.

    Example:
        >>> import torch, mrconv
        >>> layer = mrconv.nn.ModalRecurrence(4, modes=8, fir_head=16)
        >>> x = torch.randn(2, 4, 50)
        >>> y, state = layer.chunk(x, layer.init_state(2))
        >>> torch.allclose(y, layer(x), atol=1e-5)
        True
    """

    def __init__(
        self,
        channels: int,
        modes: int,
        *,
        fir_head: int = 1,
        windows: Sequence[Sequence[int]] | None = None,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_count("ModalRecurrence", "channels", channels)
        check_count("ModalRecurrence", "modes", modes, least=0)
        check_count("ModalRecurrence", "fir_head", fir_head)
        self.channels, self.modes, self.fir_head = channels, modes, fir_head
        self.windows = None if windows is None else _checked_windows(windows, modes)
        pairs = torch.empty(channels, modes, 2, device=device, dtype=dtype)
        self.log_decay = nn.Parameter(widened(torch.empty_like(pairs[..., 0])))
        self.angle = nn.Parameter(widened(torch.empty_like(pairs[..., 0])))
        self.residue = nn.Parameter(pairs)
        self.head = nn.Parameter(torch.empty(channels, fir_head, device=device, dtype=dtype))
        self.bias = (
            nn.Parameter(torch.empty(channels, device=device, dtype=dtype)) if bias else None
        )
        #: What the conversion that made this layer measured; None for any other.
        self.checked: Check | None = None
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draws memories of 10 to 1,000 samples, angles over the circle, a response of energy 1."""
        self.log_decay.uniform_(math.log(1e-3), math.log(1e-1))
        self.angle.uniform_(0, math.pi)
        energy = 4 * self.log_decay.exp() / max(1, self.modes)
        self.residue.normal_().mul_((energy / 2).sqrt()[..., None])
        nn.init.normal_(self.head, std=self.fir_head**-0.5)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    @property
    def causal(self) -> bool:
        """True: a recurrence knows the past only."""
        return True

    @property
    def num_taps(self) -> int | None:
        """K, the lag behind the last of the response; None where it never ends."""
        if self.modes and self.windows is None:
            return None
        return max([self.fir_head, *(end for _, end in self.windows or ())])

    @property
    def order(self) -> Tensor:
        """N, real numbers of state of each channel, int64: 1 a real pole, 2 a pair.    (D,).

        A pole counts as real at an angle of 0 or pi, and not at all where its residue is 0.
        """
        used, real = self._used_and_real()
        return (used * torch.where(real, 1, 2)).sum(-1)

    def _used_and_real(self) -> tuple[Tensor, Tensor]:
        """Which modes act, and which have a real pole.                     (D, M) each."""
        angle = self.angle.float()  # pi may have been float32 before
        return (self.residue != 0).any(-1), (angle == 0) | (angle == torch.pi)

    @property
    def radius(self) -> Tensor:
        """Magnitude of every pole, below 1, float64.                           (D, M)."""
        return torch.exp(-self._decay())

    def _decay(self) -> Tensor:
        return self.log_decay.double().exp().clamp(LEAST_DECAY, MOST_DECAY)

    def groups(self) -> list[Group]:
        """Constants of the modes in float64, modes of equal windows together."""
        windows = self.windows or ((self.fir_head, None),) * self.modes
        used, real = self._used_and_real()
        paired = used & ~real
        angle = torch.where(paired, self.angle, self.angle.detach())
        trained = torch.stack([used, paired], -1)
        residue = torch.where(trained, self.residue, self.residue.detach())
        return grouped(self._decay(), angle.double(), residue.double(), windows)

    def taps(self, length: int) -> Tensor:
        """The impulse response at lags 0..length-1, without bias.

        Args:
            length: In samples, at least 1.

        Returns:
            Real values in at least float32, computed in float64.           (D, length)

        Example:
            >>> import mrconv
            >>> mrconv.nn.ModalRecurrence(2, 3).taps(100).shape
            torch.Size([2, 100])
        """
        check_count("ModalRecurrence.taps", "length", length)
        with full_precision(self.head):
            head = self.head.double()[:, :length]
            taps = nn.functional.pad(head, (0, length - head.shape[1]))
            for group in self.groups():
                end = length if group.end is None else min(group.end, length)
                if end > group.start:
                    values = modal_taps(group.decay, group.angle, group.residue, end - group.start)
                    taps = taps + nn.functional.pad(values, (group.start, length - end))
            return taps.to(widened(self.head).dtype)

    def frequency_response(self, omega: Tensor) -> Tensor:
        """H(omega) = sum_t h[t] exp(-i omega t), of the endless response, without bias.

        Args:
            omega: In rad a sample.                                          (n,)

        Returns:
            Complex values in double precision.                            (D, n)

        Example:
            >>> import torch, mrconv
            >>> layer = mrconv.nn.ModalRecurrence(2, 3)
            >>> layer.frequency_response(torch.linspace(0, torch.pi, 5)).shape
            torch.Size([2, 5])
        """
        omega = omega.double()
        lags = torch.arange(self.fir_head, device=omega.device)
        response = self.head.to(torch.complex128) @ torch.exp(-1j * lags[:, None] * omega)
        for group in self.groups():
            response = response + group.frequency_response(omega)
        return response

    def forward(
        self, x: Tensor, lengths: Tensor | None = None, *, method: Method = "auto"
    ) -> Tensor:
        """Convolves each channel with its response, cut to the input's length.

        Args:
            x: Input.                                                (B, D, L)
            lengths: Valid samples of each row; None: all.                (B,)
            method: "auto", "fft" or "direct", as in ``long_convolution``.

        Returns:
            Output in the input's dtype, 0 behind each row's length. (B, D, L)

        Raises:
            ShapeError: If x is not (B, D, L) or lengths not (B,).
            DtypeError: If x has another dtype than the head.
        """
        u = layer_operand("ModalRecurrence", x, lengths, self.channels, self.head.dtype)
        reach = max(1, x.shape[-1])
        reach = reach if self.num_taps is None else min(reach, self.num_taps)
        with full_precision(x):
            y = long_convolution(u, self.taps(reach), causal=True, method=method)
            if self.bias is not None:
                y = y + widened(self.bias)[:, None]
            return mask_invalid(y, lengths).to(x.dtype)

    def init_state(self, batch_size: int) -> ModalState:
        """The memory of rows that have seen nothing: zero everywhere.

        Args:
            batch_size: B.
        """
        check_count("ModalRecurrence.init_state", "batch_size", batch_size, least=0)
        return zero_state(self, batch_size)

    @torch.no_grad()
    def step(self, x: Tensor, state: ModalState) -> tuple[Tensor, ModalState]:
        """One sample of every row; constants are made anew at each call, a stream keeps them.

        Args:
            x: Input.                                                   (B, D)
            state: Of ``init_state``, ``step`` or ``chunk``. Written to: clone it to keep it.

        Returns:
            Output in the input's dtype (B, D), and the state behind it.
        """
        check_layer_input("ModalRecurrence.step", x[..., None], self.channels, self.head.dtype)
        return take_one(Moves.of(self), x, state)

    @torch.no_grad()
    def chunk(
        self, x: Tensor, state: ModalState, lengths: Tensor | None = None
    ) -> tuple[Tensor, ModalState]:
        """Any number of samples of every row; also the prefill of a prompt.

        Args:
            x: Input.                                                (B, D, n)
            state: Of ``init_state``, ``step`` or ``chunk``; stays as it is.
            lengths: Valid samples of each row; None: all.                (B,)

        Returns:
            Output in the input's dtype, 0 behind each row's length (B, D, n), and the state behind
            the valid samples.

        Cost: O((H + M) n) as matrix products over blocks of samples.
        """
        check_layer_input("ModalRecurrence.chunk", x, self.channels, self.head.dtype)
        if lengths is not None:
            check_lengths("ModalRecurrence.chunk", lengths, x.shape[0], x.shape[-1])
        moves = Moves.of(self)
        block = Block.of(moves, min(BLOCK, x.shape[-1]))
        return advance(moves, block, x, ModalState(*(one.clone() for one in state)), lengths)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        named = [self.log_decay, self.angle]
        kept = {id(one) for tensor in named for one in (tensor, tensor.grad)}

        def apart(tensor: Tensor) -> Tensor:
            new = fn(tensor)
            if id(tensor) not in kept or new.dtype not in HALF:
                return new
            return tensor.to(new.device, torch.float32)

        return super()._apply(apart, recurse)

    def _load_from_state_dict(self, state_dict: Mapping[str, Any], prefix: str, *args: Any) -> None:
        for name in ("log_decay", "angle"):
            value = state_dict.get(prefix + name)
            if isinstance(value, Tensor) and value.dtype in HALF:
                raise DtypeError(
                    f"ModalRecurrence: {name} must have at least float32, because a memory of 100 "
                    f"samples is off by 14 % with poles of half precision; got {value.dtype}. "
                    "Save the recurrence anew from its original."
                )
        super()._load_from_state_dict(state_dict, prefix, *args)

    def extra_repr(self) -> str:
        """Sizes, and what a conversion checked, for ``repr``."""
        text = f"{self.channels}, modes={self.modes}, fir_head={self.fir_head}"
        if self.windows is not None:
            text += f", num_taps={self.num_taps}"
        text += f", bias={self.bias is not None}"
        return text if self.checked is None else f"{text}, checked: {self.checked}"


def _checked_windows(windows: Sequence[Sequence[int]], modes: int) -> tuple[tuple[int, int], ...]:
    pairs = tuple((int(start), int(end)) for start, end in windows)
    if len(pairs) != modes or any(not 0 <= start < end for start, end in pairs):
        raise ArgumentError(
            f"ModalRecurrence: windows must be {modes} pairs of lags 0 <= start < end, one a mode; "
            f"got {list(map(list, pairs))}. Leave windows out for modes that never end."
        )
    return pairs
