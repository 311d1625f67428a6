"""The small experiment on images: equal starts, rows and table, pictures from the trained nets."""

import pytest
import torch

from mrconv import LongConv, MRConv
from mrconv.bench import Row
from mrconv.errors import ArgumentError
from mrconv.experiments.table import TableOptions
from mrconv.experiments.vision import VISION, vision_rows, vision_table
from mrconv.experiments.vision_fields import pictures, receptive_field, unrolled, vision_picture
from mrconv.nn import ScanConv2d


def cells(ours=(90.0, 92.0), theirs=(91.0, 92.0)):
    found = {}
    for net, accuracies in (("MRConvNeXt", ours), ("ConvNeXt", theirs)):
        for seed, accuracy in enumerate(accuracies):
            numbers = {"accuracy": accuracy, "parameters": 1200, "operations": 3.5e6}
            found[f"digits, seed {seed}: {net}"] = numbers
    speeds = {"ConvNeXt": [100, 90, 110], "MRConvNeXt": [80, 70, 90], "ratio": [0.8, 0.7, 0.9]}
    return {**found, "digits, images per second": speeds}


def test_rows_are_means_beside_the_bar():
    rows = {row.name: row for row in vision_rows(cells())}
    assert rows["digits: accuracy, mean of 2, MRConvNeXt"].value == 91
    assert rows["digits: accuracy, mean of 2, ConvNeXt"].quartiles == (91.25, 91.75)
    difference = rows["digits: accuracy of MRConvNeXt less ConvNeXt's"]
    assert (difference.value, difference.bar, difference.holds) == (-0.5, -0.5, True)
    worse = vision_rows(cells(ours=(90.0, 91.0)))
    assert [row.holds for row in worse if row.bar is not None] == [False]
    ratio = rows["digits: images per second, batch 16, merged, MRConvNeXt / ConvNeXt"]
    assert (ratio.value, ratio.quartiles) == (0.8, (0.7, 0.9))


def test_table_and_what_is_missing():
    lines = vision_table(vision_rows(cells())).splitlines()
    assert lines[2:] == [
        "| digits | ConvNeXt | 91.50 % | 1,200 | 3.50 million | 100 |",
        "| digits | MRConvNeXt | 91.00 % | 1,200 | 3.50 million | 80 |",
    ]
    alone = vision_table([Row("MNIST-5k: parameters, MRConvNeXt", 5, "numbers")])
    assert alone.splitlines()[2:] == ["| MNIST-5k | MRConvNeXt | - | 5 | - | - |"]
    assert vision_rows({}) == []


@pytest.mark.parametrize("scan", ["rows", "columns"])
@pytest.mark.parametrize("width", [4, 5])
def test_unrolled_kernels_weigh_the_pixels_around_one(width, scan):
    layer = ScanConv2d(LongConv(2, 2 * width, causal=False, bias=False), width, scan=scan)
    grid = unrolled(layer)
    middle = tuple(size // 2 for size in grid.shape[1:])
    size = 8 * width + 1
    x = torch.zeros(1, 2, size, size)
    x[..., size // 2, size // 2] = 1  # on a wide map every lag is read as its nearer offset
    y = layer(x)[0]
    for r in range(-middle[0], middle[0] + 1):
        for c in range(-middle[1], middle[1] + 1):
            # the pixel at (-r, -c) from the impulse sees it at (r, c)
            got = y[:, size // 2 - r, size // 2 - c]
            torch.testing.assert_close(
                got, grid[:, middle[0] + r, middle[1] + c], atol=1e-5, rtol=0
            )


class Stages(torch.nn.Module):
    def __init__(self, conv):
        super().__init__()
        self.stem, self.stages = torch.nn.Identity(), torch.nn.Sequential(conv)


@pytest.mark.parametrize(("causal", "seen"), [(True, 5 * 4 + 3), (False, 49)])
def test_a_field_is_what_the_middle_depends_on(causal, seen):
    conv = ScanConv2d(MRConv(1, 49, kernel_size=49, kernel="dense", causal=causal).eval(), 7)
    field = receptive_field(Stages(conv), 0, torch.randn(2, 1, 7, 7))
    assert field.max() == 1
    taken = field > 1e-6
    assert int(taken.sum()) == (3 * 7 + 4 if causal else seen)
    if causal:
        assert not taken.flatten()[3 * 7 + 4 :].any()


@pytest.mark.vision
def test_a_quick_round_with_pictures(tmp_path, capsys):
    pytest.importorskip("timm", reason="needs timm: make test-vision", exc_type=ImportError)
    from mrconv.cli import main
    from mrconv.experiments.vision_training import QUICK, make_net

    plain, ours = (make_net(net, 28, QUICK, 3) for net in ("ConvNeXt", "MRConvNeXt"))
    theirs = plain.state_dict()
    for name, tensor in ours.state_dict().items():
        assert "conv_dw" in name or torch.equal(tensor, theirs[name])

    words = ["table", "vision", "--quick", "--out", str(tmp_path)]
    picture = ["--picture", str(tmp_path / "nets.svg"), "--json", str(tmp_path / "a.json")]
    assert main([*words, *picture]) == 0
    told = capsys.readouterr().out
    assert "10 of 10 cells are finished." in told
    assert "| digits | MRConvNeXt |" in (tmp_path / "table.md").read_text()
    assert (tmp_path / "nets.svg").read_text().startswith("<?xml")


def test_pictures_hold_fields_and_kernels():
    conv = ScanConv2d(MRConv(2, 49, kernel_size=7, kernel="dense", causal=False).eval(), 7)
    drawn = pictures(Stages(conv), torch.randn(2, 2, 7, 7))
    assert [len(one) for one in drawn["kernels"]["1: 7 x 7"]] == [9, 9]  # 28 taps a side
    figure = vision_picture({"MRConvNeXt": drawn})
    assert [ax.get_title() for ax in figure.axes] == ["stage 1", "", "channel 1", "channel 2"]
    assert [ax.get_ylabel() for ax in figure.axes] == ["MRConvNeXt", "", "layer 1: 7 x 7", ""]


def test_there_are_no_tasks_to_change(says, tmp_path):
    with says(
        ArgumentError,
        "table: set must be left out for vision, which has no such tasks; got 'a.b=1'. "
        "Leave it out.",
    ):
        VISION.grid(tmp_path, TableOptions(changes=["a.b=1"]))
    grid, remark = VISION.grid(tmp_path, TableOptions(quick=True, seeds=1))
    assert (len(grid.cells), remark) == (6, "")
