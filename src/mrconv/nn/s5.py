"""S5: one state space model for all channels together, run by a scan."""

import math

import torch
from torch import Tensor, nn

from .._checks import check_count, full_precision, layer_operand, mask_invalid, widened
from ..errors import ArgumentError, MergeError
from ..kernels.exponentials import zero_order_hold
from ..kernels.hippo import legs
from .reparameterize import narrowest
from .scan import scan

__all__ = ["S5", "refuse_s5"]


class S5(nn.Module):
    """A diagonal state space model with D inputs and D outputs, N / 2 conjugate pairs of states.

    x[t] = pole x[t - 1] + g (B u[t]),  y[t] = 2 Re(C x[t]) + skip u[t]
    pole = exp(dt A),  g = (pole - 1) / A,  A = -exp(log_decay) + i frequency

    a zero-order hold of dt = exp(log_timestep) for each pair. Two-sided layers have a second C for
    states that run backwards from the end; both sides hold the present, as in the source.

    Args:
        channels: D.
        length: Samples the layer is meant for; neither a limit on inputs nor a number it uses.
        order: N, real numbers of state of all channels together.
        blocks: J, into how many equal HiPPO matrices the start is divided; 2 J divides N.
        causal: Whether outputs depend on the past and present only.
        skip: Whether skip u[t] is added, one trained factor a channel from N(0, 1).
        device: Where the parameters live.
        dtype: Of the parameters, but decays, frequencies and time steps are at least float32.

    Raises:
        ArgumentError: If a size is below its least value or 2 blocks do not divide the order.

    Cost: O(B L N (D + log L)). 3 N / 2 + 2 N D parameters (3 N D two-sided), and D for skip. It
    mixes channels, so no LongConv equals it; it streams in constant memory.
    Source: Smith et al. 2023, "Simplified state space layers for sequence modeling", with the start
    of the authors' code: A and its basis from the normal part of HiPPO-LegS, B and C as normal
    numbers in that basis. Differs: real parts are -exp(log_decay); the numbers are not truncated.

    Example:
        >>> import torch, mrconv
        >>> mrconv.nn.S5(4, length=100, order=8)(torch.randn(2, 4, 50)).shape
        torch.Size([2, 4, 50])
    """

    def __init__(
        self,
        channels: int,
        length: int,
        *,
        order: int = 64,
        blocks: int = 1,
        causal: bool = True,
        skip: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        sizes = (("channels", channels), ("length", length), ("order", order), ("blocks", blocks))
        for name, value in sizes:
            check_count("S5", name, value)
        if order % (2 * blocks):
            raise ArgumentError(
                f"S5: order must be a multiple of {2 * blocks}, a conjugate pair in each of the "
                f"blocks; got order={order}. Use order={2 * blocks * (order // (2 * blocks) + 1)}."
            )
        self.channels, self.length, self.order, self.blocks = channels, length, order, blocks
        self.causal = causal
        like = torch.empty(order // 2, channels, 2, device=device, dtype=dtype)
        self.log_timestep, self.log_decay, self.frequency = (
            nn.Parameter(widened(like[:, 0, 0].clone())) for _ in range(3)
        )
        self.input = nn.Parameter(like)
        back = like.new_empty(channels, order // 2, 2)
        self.output = nn.Parameter(back)
        self.future_output = None if causal else nn.Parameter(back.clone())
        self.skip = nn.Parameter(like.new_empty(channels)) if skip else None
        self.reset_parameters()

    @property
    def num_taps(self) -> None:
        """None: the response never ends."""
        return None

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Sets A to HiPPO-LegS and draws dt log-uniformly in [0.001, 0.1], and B, C and skip."""
        self.log_timestep.uniform_(math.log(1e-3), math.log(1e-1))
        if self.skip is not None:
            self.skip.normal_()
        if self.input.is_meta:
            return
        size = self.order // self.blocks
        start = legs(size)
        self.log_decay.fill_(math.log(0.5))
        self.frequency.copy_(start.eigenvalues.imag.repeat(self.blocks))
        drawn = torch.randn(self.blocks, size, self.channels, dtype=torch.float64) / math.sqrt(size)
        drawn = drawn / math.sqrt(self.blocks)
        into = start.basis.mH @ drawn.to(start.basis.dtype)  # (J, N / 2 J, D)
        self.input.copy_(torch.view_as_real(into.flatten(0, 1)))
        for output in (self.output, self.future_output):
            if output is not None:
                drawn = torch.randn(self.channels, self.blocks, size, 2, dtype=torch.float64)
                drawn = torch.view_as_complex(drawn / math.sqrt(self.order))
                output.copy_(torch.view_as_real((drawn @ start.basis).flatten(1)))

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Runs the states over the sequence and reads them out.

        Args:
            x: Input.                                                (B, D, L)
            lengths: Valid samples of each row; None: all.                (B,)

        Returns:
            Output in the input's dtype, 0 behind each row's length. (B, D, L)

        Raises:
            ShapeError: If x is not (B, D, L) or lengths not (B,).
            DtypeError: If x has another dtype than the parameters.
        """
        u = layer_operand("S5", x, lengths, self.channels, narrowest(self).dtype)
        with full_precision(x):
            decay, angle, entering = self.dynamics()
            b = torch.stack([entering[..., i].to(u.dtype) @ u for i in range(2)])  # (2, B, P, L)
            y = _read(self.output, scan(b, decay, angle))
            if self.future_output is not None:
                y = y + _read(self.future_output, scan(b.flip(-1), decay, angle).flip(-1))
            if self.skip is not None:
                y = y + widened(self.skip)[:, None] * u
            return mask_invalid(y, lengths).to(x.dtype)

    def dynamics(self) -> tuple[Tensor, Tensor, Tensor]:
        """Decay and angle of the poles a sample, (P,) each, and g B (P, D, 2), in float64."""
        rate, timestep = self.log_decay.double().exp(), self.log_timestep.double().exp()
        decay, angle, held = zero_order_hold(rate, self.frequency.double(), timestep)
        product = torch.view_as_complex(held)[:, None] * torch.view_as_complex(self.input.double())
        return decay, angle, torch.view_as_real(product)

    def reparameterize(self, rate: int = 1, form: str = "merged") -> None:
        """Refuses: no other layer equals this one.

        Args:
            rate: Of no use.
            form: Of no use.

        Raises:
            MergeError: Always.
        """
        refuse_s5("reparameterize", self)

    def extra_repr(self) -> str:
        """Settings for ``repr``."""
        return f"{self.channels}, order={self.order}, blocks={self.blocks}, causal={self.causal}"


def _read(output: Tensor, states: Tensor) -> Tensor:
    """2 Re(C x) of states (2, B, P, L).                                     (B, D, L)."""
    real, imaginary = widened(output).unbind(-1)
    return 2 * (real @ states[0] - imaginary @ states[1])


def refuse_s5(what: str, model: nn.Module) -> None:
    """Raises a MergeError if the model holds an S5 layer, with the name of the first."""
    for name, layer in model.named_modules():
        if isinstance(layer, S5):
            raise MergeError(
                f"{what}: a layer must mix over time only to become one convolution a channel; got "
                f"S5 in {name or 'S5'}. Keep it, and stream the model exactly with "
                "mrconv.Streamer(model)."
            )
