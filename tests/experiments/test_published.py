"""Published numbers: sums that must agree, and how they are quoted."""

import pytest

from mrconv.experiments.published import (
    ABLATIONS,
    LONG_RANGE_ARENA,
    MODELS,
    OTHER_TASKS,
    Published,
    quoted,
)

SIX = [task for task in LONG_RANGE_ARENA if task != "average"]
WHOLE = [name for name, values in MODELS.items() if {*LONG_RANGE_ARENA} <= values.keys()]


@pytest.mark.parametrize("name", WHOLE)
def test_the_average_is_that_of_the_six_tasks(name):
    # a task that was not learned counts as chance, one half
    values = [50.0 if (one := MODELS[name][task].value) is None else one for task in SIX]
    digit = 0.1 if name == "Long Conv" else 0.01  # the last one printed
    assert sum(values) / 6 == pytest.approx(MODELS[name]["average"].value, abs=0.51 * digit)


def test_numbers_that_stand_twice_agree():
    kernels, design = ABLATIONS["kernels"], ABLATIONS["design"]
    for task in ("listops", "image"):
        assert design[task]["+ BatchNorm"].value == kernels[task]["Fourier"].value
        assert design[task]["dense"].value == MODELS["one dense kernel"][task].value
        assert design[task]["+ Fourier"].value == ABLATIONS["norm"][task]["none"].value
        assert kernels[task]["dilated"].value == MODELS["MRConv, dilated"][task].value
    assert ABLATIONS["kernel-size"]["listops"]["l_0 = 2"].value == 62.40
    # the text: all steps bring 13.2 points on ListOps
    steps = design["listops"]
    assert steps["+ BatchNorm"].value - steps["dense"].value == pytest.approx(13.15, abs=0.06)


def test_every_task_has_a_heading():
    known = {*LONG_RANGE_ARENA, *OTHER_TASKS}
    assert all(values.keys() <= known for values in MODELS.values())
    assert {"MEGA", "MEGA-Chunk", "SPADE-Chunk", "BST", "Liquid-S4", "CCNN", "FlexConv"} <= {
        *MODELS
    }


def test_what_was_not_checked_says_so():
    assert quoted(MODELS["BST"]["listops"]) == "61.49*"
    assert quoted(MODELS["S4"]["listops"]) == "59.60"
    assert quoted(MODELS["Transformer"]["pathx"]) == "chance"
    assert quoted(Published(62.4, "332K")) == "62.40 (332K)"
    assert quoted(None) == "-"
