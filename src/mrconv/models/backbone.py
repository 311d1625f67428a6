"""SequenceBackbone: encoder and residual blocks, features in, channels out."""

from dataclasses import asdict, is_dataclass
from typing import Any

import torch
from torch import Tensor, nn

from .._checks import INTEGERS, MIXED, check_choice, check_count, check_lengths, mask_invalid
from ..errors import ArgumentError, DtypeError, ShapeError
from ..nn.block import ResidualBlock
from ..nn.norm import NORMS, NormName
from .mixers import MixerSettings, make_mixer, mixer_per_layer

__all__ = ["SequenceBackbone"]


class SequenceBackbone(nn.Module):
    """A stack of residual blocks around sequence mixers.

    h_0 = W x + b (or an embedding of tokens),  h_n = block_n(h_{n-1}),  a last norm if pre-norm.

    Args:
        features: F, values a sample; with ``tokens``, the size of the vocabulary.
        length: Reach of each layer in samples, no limit on inputs.
        channels: D.
        depth: Number of blocks.
        mixer: Settings of the layer that mixes over time: ``name`` ("mrconv" by default,
            "gated_mrconv", "long_conv", "s4d", "sgconv", "attention", "hyena" or "multihyena")
            and that layer's keyword arguments; a list gives one mapping a block.
        norm: "batch" (masked BatchNorm) or "layer" (LayerNorm over channels).
        pre_norm: Whether norms stand before the mixers; adds one behind the last block.
        dropout: Probability with which a channel is dropped inside a block.
        tokens: Whether inputs are whole numbers (B, L) in place of values (B, L, F).
        device: Where the parameters live.
        dtype: Of the parameters.

    Raises:
        ArgumentError: If a size, word or setting does not fit.
        DtypeError: If a size is not a whole number.

    Source: the S4 backbone as the paper uses it (figure 1); no positional encoding.

    Example:
        >>> import torch, mrconv
        >>> backbone = mrconv.SequenceBackbone(3, length=100, channels=8, depth=2)
        >>> backbone(torch.randn(2, 100, 3)).shape
        torch.Size([2, 100, 8])
    """

    def __init__(
        self,
        features: int,
        length: int,
        *,
        channels: int = 64,
        depth: int = 4,
        mixer: MixerSettings = {"kernel": "dilated", "kernel_size": 8},  # noqa: B006
        norm: NormName = "batch",
        pre_norm: bool = False,
        dropout: float = 0.1,
        tokens: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        sizes = {"features": features, "length": length, "channels": channels, "depth": depth}
        for name, value in sizes.items():
            check_count("SequenceBackbone", name, value)
        check_choice("SequenceBackbone", "norm", norm, NORMS)
        self.features, self.length, self.channels, self.depth = features, length, channels, depth
        self.mixer, self.norm, self.pre_norm = mixer, norm, pre_norm
        self.dropout, self.tokens = dropout, tokens
        options: dict[str, Any] = {"device": device, "dtype": dtype}
        encoder = nn.Embedding if tokens else nn.Linear
        self.encoder = encoder(features, channels, **options)
        self.blocks = nn.ModuleList(
            ResidualBlock(
                make_mixer(settings, channels, length, **options),
                channels,
                norm=norm,
                pre_norm=pre_norm,
                dropout=dropout,
                **options,
            )
            for settings in mixer_per_layer(mixer, depth)
        )
        self.final_norm = NORMS[norm](channels, **options) if pre_norm else nn.Identity()

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Encodes a batch of sequences.

        Args:
            x: Values (B, L, F), or tokens (B, L).
            lengths: Valid samples of each row; None: all.                (B,)

        Returns:
            Features, exactly 0 behind each row's length.            (B, L, D)

        Raises:
            ShapeError: If x or lengths have another shape.
            DtypeError: If x has the wrong dtype.
            ArgumentError: If tokens lie outside the vocabulary.
        """
        h = self.encoded(x, lengths)
        for block in self.blocks:
            h = block(h, lengths)
        if self.pre_norm:
            h = self.final_norm(h, lengths)
        return h.transpose(1, 2)

    def encoded(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """What the first block is given; arguments and errors as in ``forward``.   (B, D, L)."""
        self._check(x)
        if lengths is not None:
            check_lengths("SequenceBackbone", lengths, x.shape[0], x.shape[1])
        if self.tokens:
            valid = mask_invalid(x.long()[:, None], lengths)[:, 0]  # padding may hold any number
            self._check_tokens(valid)
            h = self.encoder(valid).transpose(1, 2)
        else:
            h = self.encoder(mask_invalid(x.transpose(1, 2), lengths).transpose(1, 2))
            h = h.transpose(1, 2)
        return mask_invalid(h, lengths)

    def _check(self, x: Tensor) -> None:
        if self.tokens:
            if x.ndim != 2:
                raise ShapeError(
                    f"SequenceBackbone: tokens must be (batch, length); got {tuple(x.shape)}. "
                    "Pass one row of token numbers a sequence."
                )
            if x.dtype not in INTEGERS:
                raise DtypeError(
                    f"SequenceBackbone: tokens must be whole numbers; got {x.dtype}. "
                    "Convert them with x.long()."
                )
            return
        if x.ndim != 3 or x.shape[2] != self.features:
            swapped = x.ndim == 3 and x.shape[1] == self.features
            flat = x.ndim == 2 and self.features == 1
            remedy = "Pass a tensor of (batch, length, features)."
            if swapped or flat:
                remedy = f"Did you mean x{'.transpose(1, 2)' if swapped else '[..., None]'}?"
            raise ShapeError(
                f"SequenceBackbone: input must be (batch, length, {self.features}); "
                f"got {tuple(x.shape)}. {remedy}"
            )
        dtype = self.encoder.weight.dtype
        mixed = x.dtype in MIXED and not x.is_meta and torch.is_autocast_enabled(x.device.type)
        if x.dtype != dtype and not mixed:
            raise DtypeError(
                f"SequenceBackbone: input must have the dtype of the parameters, {dtype}; "
                f"got {x.dtype}. Convert the input with x.to({dtype}) or the model with "
                f"model.to({x.dtype})."
            )

    def _check_tokens(self, tokens: Tensor) -> None:
        # Reads the tensor, which a compiler cannot.
        if torch.compiler.is_compiling() or tokens.is_meta or not tokens.numel():
            return
        low, high = int(tokens.min()), int(tokens.max())
        if low < 0 or high >= self.features:
            raise ArgumentError(
                f"SequenceBackbone: tokens must lie between 0 and {self.features - 1}; "
                f"got {low} to {high}. Use the vocabulary the model was made for."
            )

    @property
    def arguments(self) -> dict[str, Any]:
        """What the constructor was given, as plain values for JSON.

        Raises:
            ArgumentError: If a kernel is a callable, which a file cannot hold.
        """
        names = ("features", "length", "channels", "depth", "norm", "pre_norm", "dropout", "tokens")
        layers = [_plain(one) for one in mixer_per_layer(self.mixer, self.depth)]
        alike = all(layer == layers[0] for layer in layers)
        return {
            **{name: getattr(self, name) for name in names},
            "mixer": layers[0] if alike else layers,
        }


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    plain = {}
    for key, value in settings.items():
        if callable(value):
            raise ArgumentError(
                f"save_pretrained: mixer settings must be plain values; got {key}={value!r}. "
                "Save model.state_dict() instead, or register the kernel in "
                "mrconv.kernels.KERNELS under a name."
            )
        is_settings = is_dataclass(value) and not isinstance(value, type)
        plain[key] = asdict(value) if is_settings else value
    return plain
