"""The spectrum that a frozen LongConv keeps: same numbers, never stale, never saved."""

import copy
import io
import pickle

import pytest
import torch
from torch import nn

from mrconv import LongConv
from mrconv.nn import frozen_spectrum
from mrconv.testing import assert_close, direct_convolution, relative_difference

SIDES = pytest.mark.parametrize("causal", [True, False])
EQUAL = {torch.float32: 1e-6, torch.float64: 1e-14}


@pytest.fixture(autouse=True)
def small_inputs_too(monkeypatch):
    monkeypatch.setattr(frozen_spectrum, "SMALL", 1)


@pytest.fixture
def made(monkeypatch):
    """Sizes of the spectra that were made during a test, in order."""
    sizes = []

    def counted(taps, future, size):
        sizes.append(size)
        return original(taps, future, size)

    original = frozen_spectrum.taps_spectrum
    monkeypatch.setattr(frozen_spectrum, "taps_spectrum", counted)
    return sizes


def layer(causal=True, dtype=torch.float64, num_taps=20):
    conv = LongConv(3, num_taps, causal=causal, dtype=dtype).eval()
    nn.init.normal_(conv.bias)
    return conv


def drawn(dtype=torch.float64, batch=1, length=50):
    return torch.randn(batch, 3, length, dtype=dtype)


def frozen(conv, *args, **options):
    with torch.no_grad():
        conv(*args, **options)  # a size is kept at its second sight
        return conv(*args, **options)


def plain(conv, *args):
    """What a layer without a kept spectrum gives: in training mode it keeps none."""
    other = copy.deepcopy(conv).train()
    return frozen(other, *args)


def kept(conv):
    return conv._frozen._kept


@SIDES
@pytest.mark.parametrize("dtype", EQUAL)
@pytest.mark.parametrize("length", [9, 13, 20, 21, 50, 64, 300])
@pytest.mark.parametrize("batch", [1, 4])
def test_gives_the_numbers_of_the_plain_path(causal, dtype, length, batch, made):
    conv, x = layer(causal, dtype), drawn(dtype, batch, length)
    expected = plain(conv, x)
    for _ in range(3):
        assert relative_difference(frozen(conv, x), expected) <= EQUAL[dtype]
    assert len(made) == 1
    direct = direct_convolution(x, conv.taps, causal=causal) + conv.bias.double()[:, None]
    assert_close(frozen(conv, x), direct)


def test_many_channels_in_several_blocks(made):
    conv, x = LongConv(70, 4096).eval(), torch.randn(2, 70, 5000)
    expected = plain(conv, x)
    for _ in range(2):
        assert relative_difference(frozen(conv, x), expected) <= 1e-6
    assert len(made) == 1


def test_ragged(made):
    conv, lengths = layer(), torch.tensor([50, 13, 0])
    x = drawn(batch=3)
    behind = (torch.arange(50) >= lengths[:, None])[:, None]
    x.masked_fill_(behind, float("nan"))
    for _ in range(2):
        y = frozen(conv, x, lengths)
        assert relative_difference(y, plain(conv, x, lengths)) <= 1e-14
        assert (y.masked_select(behind) == 0).all()
    assert len(made) == 1


WRITES = {
    "in place": lambda conv, new: conv.taps.copy_(new),
    "one value": lambda conv, new: conv.taps[2, 7].add_(1e-6),
    "through .data": lambda conv, new: conv.taps.data.copy_(new),
    "other .data": lambda conv, new: setattr(conv.taps, "data", new),
    "load_state_dict": lambda conv, new: conv.load_state_dict(
        {"taps": new, "bias": torch.zeros(3, dtype=torch.float64)}
    ),
    "load_state_dict, assigned": lambda conv, new: conv.load_state_dict(
        {"taps": new, "bias": torch.zeros(3, dtype=torch.float64)}, assign=True
    ),
    "another parameter": lambda conv, new: setattr(conv, "taps", nn.Parameter(new)),
    "more taps": lambda conv, new: setattr(conv, "taps", nn.Parameter(new.repeat(1, 2))),
}


@SIDES
@pytest.mark.parametrize("write", WRITES)
def test_notices_every_write(write, causal, made):
    conv, x = layer(causal), drawn()
    before = frozen(conv, x)
    with torch.no_grad():
        WRITES[write](conv, torch.randn_like(conv.taps))
    after = frozen(conv, x)
    assert relative_difference(after, before) > 1e-8
    assert relative_difference(after, plain(conv, x)) <= 1e-14
    assert len(made) == 2


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(dtype, made):
    conv, x = layer(dtype=torch.float32).to(dtype), drawn(dtype)
    for _ in range(2):
        y = frozen(conv, x)
        assert y.dtype == dtype
        assert torch.equal(y, plain(conv, x))
    assert len(made) == 1
    assert kept(conv).taps.dtype == dtype
    conv.taps.data.neg_()
    assert torch.equal(frozen(conv, x), plain(conv, x))


def test_autocast(made):
    conv, x = layer(dtype=torch.float32), drawn(torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for _ in range(2):
            assert relative_difference(frozen(conv, x), plain(conv, x)) <= 1e-6
            low = frozen(conv, x.bfloat16())
            assert relative_difference(low, plain(conv, x.bfloat16())) <= 1e-2
    assert len(made) == 1


def test_keeps_one_spectrum(made):
    conv = layer()
    for length in (50, 51, 300, 50):
        x = drawn(length=length)
        assert relative_difference(frozen(conv, x), plain(conv, x)) <= 1e-14
    assert made == [80, 320, 80]  # 50 and 51 samples share a size
    assert kept(conv).spectrum.shape == (3, 41)
    # a copy, and not a view that would change with the taps
    assert kept(conv).taps.data_ptr() != conv.taps.data_ptr()


# ------------------------------------------------------------------------------------ vanishing

LEAVES = {
    "to": lambda conv: conv.to(torch.float32),
    "double": lambda conv: conv.double(),
    "to the same": lambda conv: conv.to("cpu"),
    "deepcopy": copy.deepcopy,
    "pickle": lambda conv: pickle.loads(pickle.dumps(conv)),
}


@pytest.mark.parametrize("leave", LEAVES)
def test_vanishes(leave):
    conv, x = layer(), drawn()
    frozen(conv, x)
    assert kept(conv) is not None
    other = LEAVES[leave](conv)
    assert kept(other) is None
    x = x.to(other.taps.dtype)
    assert relative_difference(frozen(other, x), plain(other, x)) <= EQUAL[x.dtype]


def test_a_module_around_it_casts_and_copies_it():
    model, x = nn.Sequential(layer()).eval(), drawn()
    frozen(model, x)
    assert kept(copy.deepcopy(model)[0]) is None
    assert kept(model[0]) is not None
    assert kept(model.float()[0]) is None


def test_is_not_saved():
    conv = layer()
    size = len(pickle.dumps(conv))
    frozen(conv, drawn(length=5000))
    assert set(conv.state_dict()) == {"taps", "bias"}
    assert not dict(conv.named_buffers())
    assert len(pickle.dumps(conv)) == size
    file = io.BytesIO()
    torch.save(conv, file)
    file.seek(0)
    assert kept(torch.load(file, weights_only=False)) is None


# --------------------------------------------------------------------------- where it stays away


def test_keeps_nothing_where_it_does_not_serve():
    conv, x = layer(), drawn()
    conv(x)  # taps that require gradients
    frozen(conv, x, method="direct")
    frozen(conv, drawn(batch=5))
    frozen(conv, drawn(length=8))
    frozen(conv, drawn(length=0))
    frozen(conv, drawn(batch=0))
    frozen(conv.train(), x)
    assert kept(conv) is None
    few = layer(num_taps=8)
    frozen(few, x)
    assert kept(few) is None
    frozen(few, x, method="fft")
    assert kept(few) is not None


def test_keeps_nothing_for_small_inputs(monkeypatch):
    monkeypatch.undo()
    conv = layer(num_taps=5000)
    frozen(conv, drawn(length=5000))
    assert kept(conv) is None
    frozen(conv, drawn(length=6000))
    assert kept(conv) is not None


def test_taps_without_gradients_need_no_context(made):
    conv, x = layer().requires_grad_(False), drawn()
    for _ in range(2):
        assert_close(conv(x), plain(conv, x), 1e-14)
    assert len(made) == 1
    x.requires_grad_()
    conv(x).sum().backward()
    assert_close(x.grad[0, :, -1], conv.taps[:, 0])


def test_gradients_flow_in_eval_mode_after_use():
    conv, x = layer(), drawn()
    frozen(conv, x)
    conv(x).sum().backward()
    assert_close(conv.taps.grad[:, 0], x.sum((0, 2)))


def test_inference_mode_and_back():
    conv, x = layer().requires_grad_(False), drawn()
    with torch.inference_mode():
        conv(x)
        conv(x)
    assert kept(conv).spectrum.is_inference()
    assert_close(conv(x), plain(conv, x), 1e-14)
    with torch.inference_mode():
        assert_close(conv(x), plain(conv, x), 1e-14)


def test_functional_transforms():
    conv, x = layer(), drawn(batch=4)
    frozen(conv, x)
    mapped = frozen(torch.vmap(lambda row: conv(row[None])[0]), x)
    assert_close(mapped, frozen(conv, x), 1e-14)
    others = [layer(), layer()]
    stacked, _ = torch.func.stack_module_state(others)
    both = frozen(
        torch.vmap(lambda p: torch.func.functional_call(conv, p, (x,))),
        {name: value.detach() for name, value in stacked.items()},
    )
    for got, other in zip(both, others, strict=True):
        assert_close(got, plain(other, x), 1e-14)


def test_compiled_and_fake():
    conv, x = layer(dtype=torch.float32), drawn(torch.float32)
    compiled = torch.compile(conv, fullgraph=True, backend="aot_eager")
    assert_close(frozen(compiled, x), plain(conv, x))
    assert kept(conv) is None
    frozen(conv, x)
    torch._dynamo.reset()
    assert_close(frozen(compiled, x), plain(conv, x))
    torch._dynamo.reset()
    with torch._subclasses.FakeTensorMode(allow_non_fake_inputs=True) as mode:
        assert frozen(conv, mode.from_tensor(x)).shape == x.shape


@pytest.mark.export
def test_exported_graphs_hold_the_taps():
    conv, x = layer(dtype=torch.float32), drawn(torch.float32)
    frozen(conv, x)
    with torch.no_grad():
        program = torch.export.export(conv, (x,))
    assert not program.constants
    assert set(program.state_dict) == {"taps", "bias"}
    assert_close(program.module()(x), plain(conv, x))
