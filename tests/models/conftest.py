"""Small models, and what they should give by a forward pass written out in float64."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

import mrconv
from mrconv.nn import Attention, ChannelNorm, KernelConv, MaskedBatchNorm
from mrconv.testing import direct_convolution, layer_output, settled

LENGTH = 32
MIXER = {"kernel": "dilated", "kernel_size": 4}


def small_backbone(features: int = 2, **settings) -> mrconv.SequenceBackbone:
    defaults = {"channels": 8, "depth": 2, "mixer": MIXER, "dtype": torch.float64}
    return mrconv.SequenceBackbone(features, LENGTH, **{**defaults, **settings})


@torch.no_grad()
def settle(model: nn.Module) -> nn.Module:
    """Nothing at its start value, as after training; in eval mode."""
    seeded = torch.Generator().manual_seed(1)
    for number, module in enumerate(model.modules()):
        if isinstance(module, mrconv.MRConv):
            settled(module, number)
        elif isinstance(module, (MaskedBatchNorm, ChannelNorm)):
            for name, tensor in module.state_dict().items():
                if tensor.is_floating_point():
                    drawn = torch.randn(tensor.shape, generator=seeded).to(tensor)
                    tensor.copy_(0.3 + drawn.square() if name == "running_var" else drawn)
    return model.eval()


def written_out(backbone, x: Tensor, lengths: Tensor | None = None, seen: dict | None = None):
    """A backbone's output (B, L, D) from its parameters; ``seen`` keeps what each module met."""
    seen = {} if seen is None else seen
    rows, length = x.shape[:2]
    ends = torch.full((rows,), length) if lengths is None else lengths
    valid = torch.stack([torch.arange(length) < end for end in ends])[..., None]
    weight = backbone.encoder.weight.double()
    if backbone.tokens:
        h = weight[torch.where(valid[..., 0], x, 0)]
    else:
        h = torch.where(valid, x.double(), 0.0) @ weight.T + backbone.encoder.bias.double()
    h = torch.where(valid, h, 0.0)
    for block in backbone.blocks:
        u = normalised(block.norm, h, valid, seen) if block.pre_norm else h
        seen[block.mixer] = u.transpose(1, 2)
        mixed = mixer_output(block.mixer, u.transpose(1, 2), ends).transpose(1, 2)
        active = mixed * (1 + torch.erf(mixed / math.sqrt(2))) / 2
        gated = active @ block.linear.weight.double().T + block.linear.bias.double()
        half = backbone.channels
        h = h + gated[..., :half] / (1 + torch.exp(-gated[..., half:]))
        h = torch.where(valid, h, 0.0)
        h = h if block.pre_norm else normalised(block.norm, h, valid, seen)
    return normalised(backbone.final_norm, h, valid, seen) if backbone.pre_norm else h


def mixer_output(mixer: nn.Module, u: Tensor, lengths: Tensor) -> Tensor:
    if isinstance(mixer, mrconv.MRConv):
        return layer_output(mixer, u, lengths)
    if isinstance(mixer, KernelConv):
        taps = mixer.past.taps()
        if mixer.future is not None:
            taps = torch.cat([mixer.future.future_taps().flip(-1), taps], -1)
        y = direct_convolution(u, taps, causal=mixer.causal)
        return y if mixer.skip is None else y + mixer.skip.double()[:, None] * u
    if isinstance(mixer, Attention):
        return mixer(u, lengths)  # written out in its own tests
    return direct_convolution(u, mixer.taps, causal=mixer.causal) + mixer.bias.double()[:, None]


def normalised(norm: nn.Module, h: Tensor, valid: Tensor, seen: dict) -> Tensor:
    seen[norm] = h
    if isinstance(norm, ChannelNorm):
        mean, var = h.mean(-1, keepdim=True), h.var(-1, keepdim=True, correction=0)
    elif norm.training:
        gathered = h[valid[..., 0]]
        mean, var = gathered.mean(0), gathered.var(0, correction=0)
    else:
        mean, var = norm.running_mean.double(), norm.running_var.double()
    y = (h - mean) / torch.sqrt(var + norm.eps) * norm.weight.double() + norm.bias.double()
    return torch.where(valid, y, 0.0)


@pytest.fixture(name="small_backbone")
def _small_backbone() -> Callable[..., mrconv.SequenceBackbone]:
    return small_backbone


@pytest.fixture(name="settle")
def _settle() -> Callable[[nn.Module], nn.Module]:
    return settle


@pytest.fixture(name="written_out")
def _written_out() -> Callable[..., Tensor]:
    return written_out


HEADS = {
    "classifier": lambda backbone, dtype: mrconv.SequenceClassifier(backbone, 3, dtype=dtype),
    "pair": lambda backbone, dtype: mrconv.SequenceClassifier(backbone, 3, pair=True, dtype=dtype),
    "regressor": lambda backbone, dtype: mrconv.SequenceRegressor(
        backbone, 2, pooling="max", dtype=dtype
    ),
    "labeller": lambda backbone, dtype: mrconv.SequenceLabeller(backbone, 3, dtype=dtype),
    "forecaster": lambda backbone, dtype: mrconv.Forecaster(backbone, 5, features=2, dtype=dtype),
}


@pytest.fixture(params=HEADS)
def make_model(request) -> Callable[..., mrconv.models.SequenceModel]:
    """Every head in turn, on a small backbone, settled and in eval mode."""

    def make(dtype: torch.dtype = torch.float64, **settings):
        backbone = small_backbone(dtype=dtype, **settings)
        return settle(HEADS[request.param](backbone, dtype))

    return make


def run(model, x: Tensor, lengths: Tensor | None = None) -> Tensor:
    """The model's outputs; a model of pairs gets each sequence with the batch reversed."""
    if getattr(model, "pair", False):
        other = None if lengths is None else lengths.flip(0)
        return model(x, lengths, pair=x.flip(0), pair_lengths=other)
    return model(x, lengths)


@pytest.fixture(name="run")
def _run() -> Callable[..., Tensor]:
    return run
