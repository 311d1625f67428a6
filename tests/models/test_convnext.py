"""timm's ConvNeXt converted: what is replaced, what stays, and the numbers of the whole network."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

timm = pytest.importorskip("timm", reason="needs timm: make test-vision", exc_type=ImportError)

import mrconv  # noqa: E402
from mrconv.errors import ArgumentError, DtypeError, ShapeError  # noqa: E402
from mrconv.models.convnext import MRConvNeXt, convert, kernel_sizes_for  # noqa: E402
from mrconv.nn import ScanConv2d  # noqa: E402
from mrconv.testing import layer_output  # noqa: E402

pytestmark = pytest.mark.vision

NARROW = {"depths": (1, 1, 2, 1), "dims": (8, 8, 16, 16), "num_classes": 5, "ls_init_value": 1.0}


def convnext(**arguments):
    return timm.create_model("convnext_tiny", **{**NARROW, **arguments})


def trained(model, size=64, channels=3):
    """In eval mode, with running statistics of its own."""
    model.train()
    with torch.no_grad():
        for _ in range(3):
            model(torch.randn(4, channels, size, size))
    return model.eval()


def scans(model):
    return [module for module in model.modules() if isinstance(module, ScanConv2d)]


def test_stages_at_224_pixels_are_the_published_ones():
    layers = scans(convert(convnext(depths=(1, 1, 1, 1)), "fourier"))
    assert [layer.conv.length for layer in layers] == [3136, 784, 196, 49]
    assert [layer.conv.kernel_size for layer in layers] == [196, 49, 28, 28]
    assert [layer.conv.resolutions for layer in layers] == [5, 5, 3, 1]
    assert [layer.conv.num_taps for layer in layers] == [3136, 784, 112, 28]
    assert [layer.width for layer in layers] == [56, 28, 14, 7]


@given(st.integers(1, 24), st.integers(0, 5))
def test_kernel_sizes_are_the_smallest_whole_rows(last, stages):
    widths = [last << i for i in range(stages, -1, -1)]
    for width, size in zip(widths, kernel_sizes_for(widths), strict=True):
        pixels = width**2
        fitting = (n for n in range(last, pixels, last) if n >= 25 and pixels <= 16 * n)
        assert size == next(fitting, pixels)
        assert size == pixels or mrconv.nn.num_resolutions(pixels, size) <= 5


@pytest.mark.parametrize(
    ("widths", "sizes"),
    [
        ([72, 36, 18, 9], [324, 81, 27, 27]),
        ([96, 48, 24, 12], [576, 144, 36, 36]),
        ([16, 8, 4, 2], [26, 26, 16, 4]),
        ([7, 3, 1], [25, 9, 1]),
        ([], []),
    ],
)
def test_kernel_sizes_at_other_image_sizes(widths, sizes):
    assert kernel_sizes_for(widths) == sizes


def test_all_but_the_depthwise_convolutions_is_kept():
    model = convnext()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    converted = convert(model, image_size=64)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    kept = {name: one for name, one in converted.state_dict().items() if "conv_dw" not in name}
    assert kept.keys() == {name for name in before if "conv_dw" not in name}
    assert all(torch.equal(one, before[name]) for name, one in kept.items())
    assert not {p.data_ptr() for p in model.parameters()} & {
        p.data_ptr() for p in converted.parameters()
    }
    assert len(scans(converted)) == 5
    assert converted.training is model.training is True


@pytest.mark.parametrize("causal", [True, False])
def test_every_layer_gives_what_its_branches_do(causal):
    model = trained(convert(convnext(), image_size=64, causal=causal, scan="alternating")).double()
    assert [layer.scan for layer in scans(model)] == ["rows", "columns", "rows", "columns", "rows"]
    seen = []
    for layer in scans(model):
        layer.register_forward_hook(lambda layer, x, y: seen.append((layer, x[0], y)))
    model(torch.randn(2, 3, 64, 64, dtype=torch.float64))
    assert len(seen) == 5
    for layer, x, y in seen:
        turn = layer.scan == "columns"
        sequences = (x.transpose(2, 3) if turn else x).flatten(2)
        expected = layer_output(layer.conv, sequences).unflatten(2, x.shape[2:])
        torch.testing.assert_close(y, expected.transpose(2, 3) if turn else expected)


@pytest.mark.parametrize("size", [64, 96, 40])
def test_merged_and_reparameterized_give_the_same_logits(size):
    model = trained(convert(convnext(), image_size=64))
    x = torch.randn(2, 3, size, size)
    with torch.no_grad():
        expected = model(x)
        for merged in (mrconv.merge(model), timm.utils.reparameterize_model(model)):
            assert not any(isinstance(part, mrconv.MRConv) for part in merged.modules())
            assert (merged(x) - expected).norm() < 1e-4 * expected.norm()
    assert any(isinstance(part, mrconv.MRConv) for part in model.modules())


def test_every_parameter_learns():
    model = convert(convnext(), image_size=64, skip=True)
    model(torch.randn(2, 3, 64, 64)).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().max() > 0, name


def test_features_of_a_converted_network():
    model = trained(convert(convnext(features_only=True), "dilated", image_size=64))
    x = torch.randn(2, 3, 64, 64)
    with torch.no_grad():
        maps = model(x)
        again = mrconv.merge(model)(x)
    assert [one.shape[1:] for one in maps] == [(8, 16, 16), (8, 8, 8), (16, 4, 4), (16, 2, 2)]
    for one, other in zip(maps, again, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("stem", ["patch", "overlap", "overlap_tiered"])
def test_other_stems_and_dilated_stages(stem):
    model = convert(convnext(stem_type=stem, output_stride=16), image_size=64)
    assert [layer.width for layer in scans(model)] == [16, 8, 4, 4, 4]
    assert model(torch.randn(1, 3, 64, 64)).shape == (1, 5)


def test_convnext_v2_and_given_kernel_sizes():
    model = timm.create_model("convnextv2_tiny", **{**NARROW, "ls_init_value": None})
    converted = convert(model, "sparse", image_size=64, kernel_sizes=(16, 8, 4, 2))
    assert [layer.conv.kernel_size for layer in scans(converted)] == [16, 8, 4, 4, 2]
    assert [layer.conv.resolutions for layer in scans(converted)] == [5, 4, 3, 3, 2]


def test_refused_models(says):
    depthwise = torch.nn.Conv2d(4, 4, 7, groups=4)
    for model, got in ((depthwise, "Conv2d"), (convert(convnext(), image_size=64), "ConvNeXt")):
        with says(
            ArgumentError,
            "convert: model must be a ConvNeXt of timm with depthwise convolutions; "
            f"got {got}, which has none. Pass timm.create_model('convnext_tiny'), "
            "not converted before.",
        ):
            convert(model)
    with says(
        DtypeError,
        "convert: model must be a ConvNeXt of timm; got str. "
        "Pass timm.create_model('convnext_tiny').",
    ):
        convert("convnext_tiny")
    strided = convnext()
    strided.stages[0].blocks[0].conv_dw.stride = (2, 2)
    with says(
        ArgumentError,
        "convert: depthwise convolutions must have stride 1; got (2, 2). "
        "Pass a ConvNeXt of timm as it is.",
    ):
        convert(strided)


def test_refused_arguments(says):
    with says(
        ArgumentError,
        "convert: scan must be one of 'rows', 'columns', 'alternating'; got 'zigzag'. "
        "Known: alternating, columns, rows.",
    ):
        convert(convnext(), scan="zigzag")
    with says(
        ArgumentError,
        "convert: image_size must be at least 32, the stem's patch times what later stages halve; "
        "got image_size=31. Pass a larger image_size.",
    ):
        convert(convnext(), image_size=31)
    with says(
        ArgumentError,
        "convert: kernel_sizes must be one for each of the 4 stages; got [25]. "
        "Pass [26, 26, 16, 4], or None.",
    ):
        convert(convnext(), image_size=64, kernel_sizes=[25])


def test_refused_images(says):
    model = convert(convnext(), image_size=64).eval()
    with says(
        ShapeError,
        "MRConvNeXt: images must be (batch, 3, size, size); got (2, 1, 64, 64). "
        "Pass such images, or build the model with another in_chans.",
    ):
        model(torch.randn(2, 1, 64, 64))
    with says(
        ShapeError,
        "MRConvNeXt: images must be square, because a kernel runs over whole rows of one length; "
        "got 64 x 96. Crop or pad them.",
    ):
        model(torch.randn(2, 3, 64, 96))
    for size in (31, 3):
        with says(
            ShapeError,
            "MRConvNeXt: images must be at least 32 pixels wide, the stem's patch times what later "
            f"stages halve; got {size}. Enlarge them.",
        ):
            model(torch.randn(2, 3, size, size))


def test_half_precision_and_state_dict():
    model = trained(MRConvNeXt({"in_chans": 1, **NARROW}, img_size=32), size=32, channels=1)
    twin = MRConvNeXt({"in_chans": 1, **NARROW}, img_size=32).eval()
    twin.load_state_dict(model.state_dict())
    x = torch.randn(2, 1, 32, 32)
    with torch.no_grad():
        assert torch.equal(twin(x), model(x))
        half = twin.bfloat16()(x.bfloat16())
    assert half.dtype == torch.bfloat16
    assert (half.float() - model(x)).norm() < 5e-2 * model(x).norm()
