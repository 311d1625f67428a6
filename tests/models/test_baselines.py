"""The layers of other papers: their equations, what they merge into, and published counts."""

import pytest
import torch

import mrconv
from mrconv.errors import ArgumentError
from mrconv.kernels import SirenKernel
from mrconv.models.mixers import make_mixer
from mrconv.models.summary import summarize
from mrconv.testing import assert_close, direct_convolution

F64 = torch.float64
LINEAR = {
    "s4d": {"order": 6},
    "s4": {"order": 6},
    "sgconv": {"points": 4},
    "multires": {"kernel_size": 3},
    "ckconv": {"width": 5},
    "dilated": {"kernel_size": 3, "dilation": 4},
}


def mixer(name, channels=3, length=20, **settings):
    torch.manual_seed(0)
    return make_mixer({"name": name, **settings}, channels, length, dtype=F64).eval()


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("name", LINEAR)
def test_is_one_convolution_that_merges(name, causal):
    layer = mixer(name, **LINEAR[name], causal=causal)
    x = torch.randn(2, 3, 33, dtype=F64)
    merged = layer.reparameterize()
    assert_close(layer(x), direct_convolution(x, merged.taps, causal=causal))
    assert_close(merged(x), layer(x))


@pytest.mark.parametrize(("size", "dilation"), [(1, 1), (3, 1), (3, 4), (2, 16)])
def test_dilated_is_torchs_dilated_convolution(size, dilation):
    layer = mixer("dilated", kernel_size=size, dilation=dilation)
    conv = torch.nn.Conv1d(3, 3, size, dilation=dilation, groups=3, bias=False, dtype=F64)
    with torch.no_grad():
        conv.weight.copy_(layer.past.weight.flip(-1)[:, None])
    x = torch.randn(2, 3, 40, dtype=F64)
    expected = conv(torch.nn.functional.pad(x, (dilation * (size - 1), 0)))
    assert_close(layer(x), expected, 1e-10)
    assert sum(p.numel() for p in layer.parameters()) == 3 * size
    assert (layer.dilation, layer.num_taps) == (dilation, size * dilation)


@pytest.mark.parametrize("dilation", [3, 12])
def test_dilations_are_powers_of_two(says, dilation):
    lower = {3: 2, 12: 8}[dilation]
    with says(
        ArgumentError,
        f"Dilated: dilation must be a power of two; got dilation={dilation}. Use dilation={lower}.",
    ):
        mixer("dilated", dilation=dilation)


def test_a_dilated_net_sees_what_its_layers_see_together():
    net = [{"name": "dilated", "kernel_size": 2, "dilation": 2**i} for i in range(5)]
    backbone = mrconv.SequenceBackbone(1, 32, channels=4, depth=5, mixer=net, dtype=F64).eval()
    x = torch.randn(1, 60, 1, dtype=F64, requires_grad=True)
    (gradient,) = torch.autograd.grad(backbone(x)[0, 50].sum(), x)
    size = gradient[0, :, 0].abs()
    assert (size[50 - 31 : 51] > 1e-9).all() and (size[: 50 - 31] < 1e-12).all()


def test_s4d_starts_with_the_published_poles():
    layer = mixer("s4d", order=8)
    poles = torch.complex(-layer.past.log_decay.exp(), layer.past.frequency)
    expected = -0.5 + 1j * torch.pi * torch.arange(4)
    assert_close(torch.view_as_real(poles), torch.view_as_real(expected.expand(3, 4)).double())


@pytest.mark.parametrize("name", ["s4", "s5", "multires", "ckconv", "dilated"])
def test_a_model_trains_is_inspected_and_saved(name, tmp_path):
    torch.manual_seed(0)
    backbone = mrconv.SequenceBackbone(1, 24, channels=8, depth=1, mixer={"name": name})
    model = mrconv.SequenceClassifier(backbone, 2)
    groups = mrconv.param_groups(model, lr=1e-2, kernel_lr=1e-2, weight_decay=0.0)
    optimizer, losses = torch.optim.AdamW(groups), []
    labels = torch.arange(16) % 2
    # the class is the sign of the correlation of neighbours: invisible to the mean
    x = torch.randn(16, 24, 1).cumsum(1) * labels[:, None, None] + torch.randn(16, 24, 1)
    for _ in range(25):
        loss = torch.nn.functional.cross_entropy(model(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.6 * losses[0]
    summary = summarize(model.eval())
    assert summary.layers[0].parameters == sum(
        p.numel() for p in model.backbone.blocks[0].mixer.parameters()
    )
    assert summary.operations > 0
    loaded = mrconv.load(model.save_pretrained(tmp_path / name))
    assert torch.equal(loaded(x), model(x))


# --------------------------------------------------------------------------- published counts


def count(features, length, classes, mixer, **settings):
    backbone = mrconv.SequenceBackbone(features, length, mixer=mixer, **settings, device="meta")
    model = mrconv.SequenceClassifier(backbone, classes, device="meta")
    return sum(parameter.numel() for parameter in model.parameters())


def test_count_of_s4d_on_sequential_cifar():
    """The example of the S4 repository, "200k parameters": four layers of 128 channels."""
    got = count(3, 1024, 10, {"name": "s4d"}, channels=128, depth=4, norm="layer")
    assert got == 201_482
    assert f"{got / 1e5:.0f}00k" == "200k"


def test_count_of_multiresnet_on_sequential_cifar():
    """Ten layers of 256 channels, filters of two taps; printed as 1.4M."""
    got = count(3, 1024, 10, {"name": "multires"}, channels=256, depth=10, norm="layer")
    assert got == 1_365_514
    assert f"{got / 1e6:.1f}M" == "1.4M"


@pytest.mark.parametrize(
    ("features", "channels", "order", "settings", "printed"),
    [
        (18, 256, 4, {"tokens": True}, "815K"),  # ListOps
        (1, 512, 64, {"norm": "layer"}, "3.6M"),  # Image
    ],
)
def test_counts_of_s4_in_the_long_range_arena(features, channels, order, settings, printed):
    """Two-sided, as the MRConv paper prints S4-LegS; there both sides share dt, A, b and p."""
    mixer = {"name": "s4", "order": order, "causal": False}
    got = count(features, 1024, 10, mixer, channels=channels, depth=6, **settings)
    got -= 6 * (channels + 3 * order)
    assert (f"{got / 1e3:.0f}K" if got < 1e6 else f"{got / 1e6:.1f}M") == printed


def test_count_of_s5_on_speech_commands():
    """Six two-sided layers of 96 channels, 128 states in 16 blocks; printed as 280K.

    Its gate is sigmoid(W x) x with one matrix, where our block has a second one for the value.
    """
    mixer = {"name": "s5", "order": 128, "blocks": 16, "causal": False}
    got = count(1, 16000, 35, mixer, channels=96, depth=6) - 6 * (96 * 96 + 96)
    assert got == 283_523
    assert round(got, -4) == 280_000


def test_count_of_ckconv_on_sequential_mnist():
    """Two blocks of two convolutions between all pairs of 30 channels; printed as 98K.

    A kernel of in x out channels has the numbers of one of theirs. The rest of the net: biases,
    two norms a block, the shortcut of the first block, the classifier.
    """
    pairs = [1 * 30, 30 * 30, 30 * 30, 30 * 30]
    kernels = [SirenKernel(size, 784, 0, device="meta") for size in pairs]
    got = sum(p.numel() for kernel in kernels for p in kernel.parameters())
    got += 4 * 30 + 4 * 2 * 30 + 2 * 30 + (30 * 10 + 10)
    assert f"{got / 1e3:.0f}K" == "98K"
