"""``mrconv bench vision``: equal contestants, rows beside bars, shares that make a whole."""

import pytest
import torch

timm = pytest.importorskip("timm", reason="needs timm: make test-vision", exc_type=ImportError)

from mrconv import LongConv, MRConv  # noqa: E402
from mrconv.bench import Options  # noqa: E402
from mrconv.bench.vision import vision_cases  # noqa: E402
from mrconv.bench.vision_models import CONTESTANTS, make_contestants  # noqa: E402
from mrconv.bench.vision_shares import shares  # noqa: E402

pytestmark = pytest.mark.vision

QUICK = Options(quick=True)


def parts(model, kind):
    return [part for part in model.modules() if isinstance(part, kind)]


def test_contestants_are_one_network_in_three_forms():
    models, pixels = make_contestants("tiny", QUICK)
    assert tuple(models) == CONTESTANTS
    assert not parts(models["ConvNeXt"], (MRConv, LongConv))
    assert len(parts(models["merged"], LongConv)) == len(parts(models["branches"], MRConv)) == 4
    statistics = {layer.norm.statistics for layer in parts(models["textbook branches"], MRConv)}
    assert statistics == {"textbook"}
    x = torch.randn(2, 3, pixels, pixels)
    for model in models.values():
        for block in parts(model, timm.models.convnext.ConvNeXtBlock):
            torch.nn.init.ones_(block.gamma)  # a millionth of the convolutions says nothing
    with torch.no_grad():
        merged, branches, textbook = (models[name](x) for name in CONTESTANTS[1:])
    torch.testing.assert_close(merged, branches, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(textbook, branches, rtol=1e-4, atol=1e-5)


def test_rows():
    rows = [row for case in vision_cases(QUICK)[:1] for row in case.measure()]
    speeds = {row.name: row for row in rows if row.unit == "images/s"}
    assert list(speeds) == [f"tiny, batch 1: {name}" for name in CONTESTANTS]
    ratios = [row.name for row in rows if row.unit == "times"]
    assert ratios == [
        "tiny, batch 1: ConvNeXt / merged",
        "tiny, batch 1: textbook branches / merged",
        "tiny, batch 1: branches / merged",
    ]
    assert sum(row.value for row in rows if row.unit == "%") == pytest.approx(200)
    assert [case.name for case in vision_cases(Options())] == [
        f"{size}, batch {batch}" for size in ("tiny", "small", "base") for batch in (1, 16)
    ]


def test_shares_find_the_slow_part():
    models, pixels = make_contestants("tiny", QUICK)
    model, x = models["merged"], torch.randn(1, 3, pixels, pixels)
    before = len(model.stages[0].blocks[0].mlp._forward_hooks)
    slow = torch.randn(600, 600)
    model.stages[0].blocks[0].mlp.act = torch.nn.Sequential(Busy(slow))
    found = shares(model, x, QUICK)
    assert sum(found.values()) == pytest.approx(1)
    assert found["pointwise maps"] > 0.5
    assert len(model.stages[0].blocks[0].mlp._forward_hooks) == before


class Busy(torch.nn.Module):
    def __init__(self, matrix):
        super().__init__()
        self.matrix = matrix

    def forward(self, x):
        for _ in range(40):
            self.matrix @ self.matrix
        return x
