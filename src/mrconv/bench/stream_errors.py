"""How far streams are from the float64 convolution, from each other and from the parallel model."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from ..branch_statistics import BranchNorm
from ..models import SequenceBackbone, SequenceLabeller
from ..nn import LongConv, MRConv
from ..nn.norm import MaskedBatchNorm
from ..streaming import State, Streamer
from ..streaming.cuts import random_cuts
from .cases import Case, Options
from .record import Row
from .stream_contestants import FORMS, FormName, make_layer, make_stream
from .threads import on_threads

__all__ = ["deep_model", "error_cases", "float64_output", "streamed"]

LONG_FORMS: tuple[FormName, ...] = (
    "Fourier by windows",
    "dilated by gather",
    "sparse by gather",
    "dense by tiles",
)
# One layer, float32 against float64: length, channels, samples, samples of a chunk, single steps
LONG, QUICK_LONG = (16384, 8, 1_000_000, 4096, 10_000), (512, 2, 3000, 300, 100)
LONG_BAR, DRIFT_BAR, TENTHS = 3e-6, 1.5, 10

# Any cut: length, channels, samples, number of random cuts
CUTS, QUICK_CUTS = (4096, 8, 10_007, 12), (512, 2, 1101, 2)
CUT_BARS = {torch.float32: 2e-6, torch.float64: 1e-12}

# Step against parallel logits of a model of six blocks: length, channels, samples
DEEP, QUICK_DEEP = (4096, 64, 4500), (64, 4, 80)
KERNELS, BLOCKS, DEEP_BAR = ("dilated", "fourier", "dense"), 6, 1e-4


def error_cases(options: Options) -> list[Case]:
    """Errors of every form.

    Args:
        options: Seed.

    Returns:
        A case for the long stream, one for cuts and one for deep models.
    """
    return [
        Case("errors of a long stream", lambda: _long_rows(options)),
        Case("errors of any cut", lambda: _cut_rows(options)),
        Case("errors of six blocks", lambda: _deep_rows(options)),
    ]


def streamed(stream: Streamer, x: Tensor, sizes: Sequence[int]) -> tuple[Tensor, State]:
    """A layer's stream in pieces; those of one sample run as steps.

    Args:
        stream: Of a layer.
        x: Input.                                                    (B, D, L)
        sizes: Of the pieces, L in sum.

    Returns:
        Outputs (B, D, L), and the state behind them.
    """
    state, outputs = stream.init_state(len(x)), []
    for piece in x.split(list(sizes), -1):
        if piece.shape[-1] == 1:
            y, state = stream.step(piece[..., 0], state)
            y = y[..., None]
        else:
            y, state = stream.chunk(piece, state)
        outputs.append(y)
    return torch.cat(outputs, -1), state


@torch.no_grad()
def float64_output(layer: nn.Module, x: Tensor) -> Tensor:
    """A layer's output by one FFT of the whole signal in float64, channel by channel.

    Args:
        layer: MRConv in eval mode, or LongConv; in float32 as streamed.
        x: Input.                                                       (D, L)

    Returns:
        Output in float64.                                              (D, L)
    """
    merged = layer.double().reparameterize() if isinstance(layer, MRConv) else layer.double()
    if not isinstance(merged, LongConv) or merged.bias is None:
        raise TypeError(f"float64_output: layer must be MRConv or LongConv; got {layer!r}.")
    y, size = x.double(), 1 << (x.shape[-1] + merged.num_taps).bit_length()
    for row, taps, bias in zip(y, merged.taps, merged.bias, strict=True):
        spectrum = torch.fft.rfft(row, size) * torch.fft.rfft(taps, size)
        row.copy_(torch.fft.irfft(spectrum, size)[: len(row)] + bias)
    return y


def _relative(got: Tensor, expected: Tensor) -> float:
    return float((got.double() - expected.double()).norm() / expected.double().norm())


def _noise(options: Options, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(options.seed))


def _long_rows(options: Options) -> Iterator[Row]:
    length, channels, samples, chunk, single = QUICK_LONG if options.quick else LONG
    x = _noise(options, 1, channels, samples)
    whole, rest = divmod(samples - 2 * single, chunk)
    sizes = [1] * single + [chunk] * whole + [rest] + [1] * single
    tenth = samples // TENTHS
    for form in LONG_FORMS:
        layer = make_layer(form, channels, length, options.seed)
        y = streamed(make_stream(form, layer), x, sizes)[0][0]
        expected = float64_output(layer, x[0])
        error = _relative(y, expected)
        name = f"{samples:,} samples, float32 against float64: {form}"
        yield Row(name, error, "relative", bar=LONG_BAR, better="lower")
        first = _relative(y[:, :tenth], expected[:, :tenth])
        last = _relative(y[:, -tenth:], expected[:, -tenth:])
        drift = last / max(first, torch.finfo(torch.float32).tiny)
        name = f"{samples:,} samples, error of the last tenth / the first: {form}"
        yield Row(name, drift, "times", bar=DRIFT_BAR, better="lower")


def _cut_rows(options: Options) -> Iterator[Row]:
    length, channels, samples, count = QUICK_CUTS if options.quick else CUTS
    x = _noise(options, 1, channels, samples)
    cuts = [random_cuts(samples, options.seed + i) for i in range(count)]
    for form in FORMS:
        for dtype, bar in CUT_BARS.items():
            layer = make_layer(form, channels, length, options.seed).to(dtype)
            stream, u = make_stream(form, layer), x.to(dtype)
            whole, _ = streamed(stream, u, [samples])
            far = max(_relative(streamed(stream, u, cut)[0], whole) for cut in cuts)
            name = f"{count} random cuts, {str(dtype).removeprefix('torch.')}: {form}"
            yield Row(name, far, "relative", bar=bar, better="lower")


@torch.no_grad()
def deep_model(kernel: str, channels: int, length: int, seed: int = 0) -> SequenceLabeller:
    """Six blocks whose norms have the statistics of a batch of noise, as training leaves them.

    Without statistics the outputs of long Fourier kernels grow from block to block, to 1e8 behind
    six, where the parallel model in float32 is itself 1e-4 from float64.

    Args:
        kernel: Of all blocks.
        channels: D.
        length: L, in samples.
        seed: Of parameters and noise.

    Returns:
        The model, in eval mode.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        mixer = {"kernel": kernel, "kernel_size": 16, "norm": BranchNorm(momentum=1.0)}
        backbone = SequenceBackbone(1, length, channels=channels, depth=BLOCKS, mixer=mixer)
        model = SequenceLabeller(backbone, 10)
        for module in model.modules():
            if isinstance(module, MaskedBatchNorm):
                module.momentum = 1.0
        model(torch.randn(4, length // 2, 1))
        return model.eval()


@torch.no_grad()
def _deep_rows(options: Options) -> Iterator[Row]:
    length, channels, samples = QUICK_DEEP if options.quick else DEEP
    x = _noise(options, 1, samples, 1)
    for kernel in KERNELS:
        model = deep_model(kernel, channels, length, options.seed)
        stream = Streamer(model)
        state, outputs = stream.init_state(1), []
        with on_threads(1):
            for sample in x.unbind(1):
                y, state = stream.step(sample, state)
                outputs.append(y)
        far = _relative(torch.stack(outputs, 1), model(x))
        name = f"{BLOCKS} blocks, {samples} steps against parallel logits, float32: {kernel}"
        yield Row(name, far, "relative", bar=DEEP_BAR, better="lower")
