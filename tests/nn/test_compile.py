"""Layers under torch.compile at several lengths, and under torch.export."""

import copy
import shutil

import pytest
import torch

from mrconv import GatedMRConv, Hyena, LongConv, MRConv, MultiHyena
from mrconv.nn import Attention, KernelConv, MaskedBatchNorm, ResidualBlock
from mrconv.testing import assert_close

MAKERS = {
    "LongConv": lambda: LongConv(3, 10),
    "MRConv": lambda: MRConv(3, 8, kernel_size=4),
    "MRConv two-sided": lambda: MRConv(
        3, 8, kernel_size=4, kernel="sparse", combine="concat", causal=False
    ),
    "modal": lambda: MRConv(3, 8, kernel_size=4, kernel="modal"),
    "GatedMRConv": lambda: GatedMRConv(3, 8, kernel_size=4, num_heads=3),
    "S4D": lambda: KernelConv(3, 10),
    "SGConv two-sided": lambda: KernelConv(3, 10, kernel="sgconv", causal=False),
    "Attention": lambda: Attention(3, 10),
    "Attention two-sided": lambda: Attention(3, 10, causal=False),
    "Hyena": lambda: Hyena(3, 10),
    "MultiHyena": lambda: MultiHyena(3, 10, num_filters=1),
    "MultiHyena of branches": lambda: MultiHyena(
        3, 8, num_filters=1, kernel="dense", kernel_size=4
    ),
    "MaskedBatchNorm": lambda: MaskedBatchNorm(3),
    "ResidualBlock": lambda: ResidualBlock(MRConv(3, 4, kernel_size=4, kernel="implicit"), 3),
}


@pytest.fixture(autouse=True)
def fresh_compiler():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def step(layer, x, lengths):
    x = x.clone().requires_grad_()
    layer.zero_grad()
    y = layer(x, lengths)
    (y * torch.linspace(-1, 1, x.shape[-1])).sum().backward()
    return [y, x.grad, *(p.grad for p in layer.parameters())]


@pytest.mark.parametrize("name", MAKERS)
def test_trains_at_several_lengths(name):
    plain = MAKERS[name]().double()
    other = copy.deepcopy(plain)
    compiled = torch.compile(other, fullgraph=True, backend="aot_eager")
    for length in (9, 30, 17):
        x = torch.randn(2, 3, length, dtype=torch.float64)
        lengths = torch.tensor([length, length // 2])
        for got, expected in zip(step(compiled, x, lengths), step(plain, x, lengths), strict=True):
            assert_close(got, expected, 1e-9)
    for key, value in plain.state_dict().items():
        torch.testing.assert_close(other.state_dict()[key], value)


@pytest.mark.parametrize("name", ["LongConv", "MRConv", "S4D", "Attention", "Hyena", "MultiHyena"])
def test_eval_mode_at_several_lengths(name):
    layer = MAKERS[name]().eval()
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    with torch.no_grad():
        for length in (9, 30, 17, 1):
            x = torch.randn(2, 3, length)
            assert_close(compiled(x), layer(x))


def test_lengths_compile_once():
    layer = LongConv(3, 10)
    counter = torch._dynamo.testing.CompileCounter()
    compiled = torch.compile(layer, fullgraph=True, backend=counter)
    for length in (20, 30, 41, 57, 64):
        compiled(torch.randn(2, 3, length))
    assert counter.frame_count <= 2  # once for the first length, once for all others


@pytest.mark.parametrize("causal", [True, False])
def test_export_runs_without_the_operator(causal):
    layer, x = LongConv(3, 10, causal=causal).eval(), torch.randn(2, 3, 25)
    program = torch.export.export(layer, (x,))
    assert not any("mrconv" in str(node.target) for node in program.graph.nodes)
    assert_close(program.module()(x), layer(x))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="inductor needs a C++ compiler")
@pytest.mark.filterwarnings("ignore")
def test_inductor_trains_and_predicts_the_same():
    layer = MRConv(4, 32, kernel_size=4, kernel="fourier+sparse", dtype=torch.float64)
    twin = copy.deepcopy(layer)
    compiled = torch.compile(twin, fullgraph=True)
    for length in (20, 33):
        x = torch.randn(2, 4, length, dtype=torch.float64)
        got, expected = compiled(x), layer(x)
        assert_close(got, expected)
        got.sum().backward()
        expected.sum().backward()
    for name, parameter in layer.named_parameters():
        torch.testing.assert_close(
            twin.get_parameter(name).grad, parameter.grad, rtol=1e-8, atol=1e-8
        )
    layer.eval()
    twin.eval()
    assert_close(compiled(x), layer(x))
