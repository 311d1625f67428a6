"""Parameters of published models, counted to the last one."""

import pytest

import mrconv

#: backbone (features, length, settings), classes, count, and how the paper prints it
PUBLISHED = {
    "ListOps, Fourier": (
        (18, 2000, {"depth": 8, "channels": 128, "tokens": True}),
        {"kernel": "fourier", "kernel_size": 2},
        332_298,
        "332K",
    ),
    "Image, dilated": (
        (1, 1024, {"depth": 6, "channels": 512, "norm": "layer"}),
        {"kernel": "dilated", "kernel_size": 16},
        3_554_314,
        "3.6M",  # printed as 3.5M: 3,511,306 without the norms of the branches
    ),
    "Image, Fourier": (
        (1, 1024, {"depth": 6, "channels": 512, "norm": "layer"}),
        {"kernel": "fourier", "kernel_size": 32},
        3_830_794,
        "3.8M",
    ),
    "Image, Fourier + sparse": (
        (1, 1024, {"depth": 6, "channels": 512, "norm": "layer"}),
        {"kernel": "fourier+sparse", "kernel_size": 16},
        3_984_394,
        "4.0M",
    ),
    "sCIFAR, dilated": (
        (3, 1024, {"depth": 10, "channels": 512}),
        {"kernel": "dilated", "kernel_size": 8},
        5_685_258,
        "5.7M",
    ),
}


def printed(count: int) -> str:
    return f"{count / 1e3:.0f}K" if count < 1e6 else f"{count / 1e6:.1f}M"


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_counts(name):
    (features, length, settings), mixer, count, text = PUBLISHED[name]
    backbone = mrconv.SequenceBackbone(features, length, mixer=mixer, **settings, device="meta")
    model = mrconv.SequenceClassifier(backbone, classes=10, device="meta")
    assert sum(parameter.numel() for parameter in model.parameters()) == count
    assert printed(count) == text


def test_image_dilated_without_branch_norms_is_what_the_paper_prints():
    mixer = {"kernel": "dilated", "kernel_size": 16}
    backbone = mrconv.SequenceBackbone(
        1, 1024, mixer=mixer, depth=6, channels=512, norm="layer", device="meta"
    )
    model = mrconv.SequenceClassifier(backbone, classes=10, device="meta")
    gains = {"gain", "shift"}
    rest = [
        parameter.numel()
        for name, parameter in model.named_parameters()
        if name.rpartition(".")[2] not in gains
    ]
    assert sum(rest) == 3_511_306
    assert printed(sum(rest)) == "3.5M"
