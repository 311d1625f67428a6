"""Whole models: deep ones in float32, windows, merged forms, compiled steps."""

import pytest
import torch

import mrconv
from mrconv.nn import MaskedBatchNorm
from mrconv.testing import assert_close


@torch.no_grad()
def deep(kernel, depth=6):
    """A model whose norms have the statistics of a batch that went through it."""
    mixer = {"kernel": kernel, "kernel_size": 8, "norm": {"momentum": 1.0}}
    backbone = mrconv.SequenceBackbone(1, 256, channels=16, depth=depth, mixer=mixer)
    model = mrconv.SequenceLabeller(backbone, 5)
    for module in model.modules():
        if isinstance(module, MaskedBatchNorm):
            module.momentum = 1.0
    model(torch.randn(4, 400, 1))
    return model.eval()


@pytest.mark.parametrize("form", ["branches", "merged"])
@pytest.mark.parametrize("kernel", ["fourier", "dilated", "implicit"])
@torch.no_grad()
def test_six_blocks_step_by_step_in_float32(kernel, form):
    model = deep(kernel)
    model = mrconv.merge(model) if form == "merged" else model
    stream, x = mrconv.Streamer(model), torch.randn(2, 400, 1)
    y, state = stream.chunk(x[:, :200], stream.init_state(2))
    steps = []
    for t in range(200, 400):
        logits, state = stream.step(x[:, t], state)
        steps.append(logits)
    assert_close(torch.cat([y, torch.stack(steps, 1)], 1), model(x), 1e-4)


@pytest.mark.parametrize("kernel", ["fourier", "dilated"])
@torch.no_grad()
def test_a_step_compiles_whole(kernel):
    """Tensors only: no branch on data that a compiler would have to stop at."""
    model = deep(kernel, depth=1)
    stream, plain = mrconv.Streamer(model), mrconv.Streamer(model)
    compiled = torch.compile(stream.step, backend="eager", fullgraph=True)
    state, other = stream.init_state(2), plain.init_state(2)
    for _ in range(4):
        x = torch.randn(2, 1)
        y, state = compiled(x, state)
        expected, other = plain.step(x, other)
        torch.testing.assert_close(y, expected)


@torch.no_grad()
def test_a_window_pools_the_last_positions():
    backbone = mrconv.SequenceBackbone(1, 32, channels=4, depth=1)
    model = mrconv.SequenceClassifier(backbone, 2).eval()
    stream, x = mrconv.Streamer(model, window=10), torch.randn(1, 50, 1)
    y, _ = stream.chunk(x, stream.init_state(1))
    torch.testing.assert_close(y[:, 49], model.head(backbone(x)[:, 40:].mean(1)))


@torch.no_grad()
def test_a_saved_model_streams_as_the_one_that_was_saved(tmp_path):
    model = deep("fourier", depth=1)
    loaded = mrconv.load(model.save_pretrained(tmp_path / "model"))
    x = torch.randn(1, 30, 1)
    outputs = []
    for one in (model, loaded):
        stream = mrconv.Streamer(one)
        outputs.append(stream.chunk(x, stream.init_state(1))[0])
    assert torch.equal(*outputs)
