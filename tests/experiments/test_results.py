"""The table of results: its cells, rows and bars on made numbers."""

import pytest

from mrconv.experiments.goals import GOALS
from mrconv.experiments.results import RESULTS
from mrconv.experiments.table import TableOptions

QUICK = TableOptions(quick=True)


def numbers(value, test=500):
    return {
        "value": value,
        "validation": value,
        "parameters": 52746,
        "seconds": 600.0,
        "examples": {"training": 4000, "test": test},
        "history": [{"train_loss": 1.0, "validation_loss": 1.5}],
    }


MNIST = {f"mnist, seed {i}": numbers(v) for i, v in enumerate((0.974, 0.966, 0.978))}
PEOPLE = {f"smartwatch, person {i}": numbers(0.8 + i / 100, 70 + i) for i in range(10)}


def values(cells):
    return {row.name: row for row in RESULTS.rows(cells)}


def test_cells_of_every_goal(tmp_path):
    grid, remark = RESULTS.grid(tmp_path, QUICK)
    names = [cell.name for cell in grid.cells]
    assert len(names) == sum(len(goal.runs) for goal in GOALS.values())
    assert {"mnist, seed 2", "smartwatch, person 9", "pathfinder, seed 0"} <= set(names)
    assert remark == ""
    assert list(tmp_path.iterdir()) == []
    first, _ = RESULTS.grid(tmp_path, TableOptions(seeds=1))
    assert len(first.cells) == len(GOALS)


def test_every_recipe_is_as_its_goal_says(tmp_path):
    recipe = GOALS["permuted"].make_recipe("seed 2", tmp_path, ["epochs=3"])
    assert (recipe.name, recipe.seed, recipe.epochs) == ("mnist", 2, 3)
    assert recipe.values["data"]["permuted"] is True
    held = GOALS["smartwatch"].make_recipe("person 9", tmp_path).values["data"]
    assert (held["test"], held["validation"]) == ([9], [0])
    drawn = GOALS["listops"].make_recipe("seed 0", tmp_path)
    assert drawn.scale == "small"
    assert drawn.values["data"]["path"] == str(tmp_path / "data/listops-30-512-60000-0")


def test_settings_do_not_tell_where_generated_data_stand(tmp_path):
    one, other = (
        {cell.name: cell.settings for cell in RESULTS.grid(tmp_path / name, QUICK)[0].cells}
        for name in "ab"
    )
    assert one == other
    assert one["listops, seed 0"]["data"]["generated"]["longest"] == 32
    assert "path" not in one["listops, seed 0"]["data"]


def test_mean_of_three_seeds_and_its_bar():
    found = values(MNIST)
    mean = found["sequential MNIST-5k, mean test accuracy"]
    assert mean.value == pytest.approx(100 * (0.974 + 0.966 + 0.978) / 3)
    assert (mean.bar, mean.better, mean.holds) == (97.0, "higher", True)
    assert found["sequential MNIST-5k, test accuracy, seed 1"].value == pytest.approx(96.6)
    assert found["sequential MNIST-5k, test examples"].value == 500


def test_no_verdict_before_all_seeds_are_finished():
    two = {name: one for name, one in MNIST.items() if name != "mnist, seed 1"}
    mean = values(two)["sequential MNIST-5k, mean test accuracy"]
    assert mean.value == pytest.approx(97.6)
    assert mean.bar is None


def test_held_out_people_add_up_to_one_test():
    found = values(PEOPLE)
    title = GOALS["smartwatch"].title
    assert found[f"{title}, test examples"].value == sum(range(70, 80))
    assert found[f"{title}, mean test accuracy"].value == pytest.approx(84.5)
    assert found[f"{title}, mean test accuracy"].holds is False


def test_markdown():
    text = RESULTS.markdown(RESULTS.rows({**MNIST, **PEOPLE}))
    lines = text.splitlines()
    assert lines[2] == (
        "| sequential MNIST-5k | 97.3 | 96.6 to 97.8 | 97: holds | logistic regression 90.6 % | 3 "
        "| 4,000 and 500 | 52,746 | 10.0 |"
    )
    assert "| 84.5 | 80.0 to 89.0 | 84.7: missed |" in lines[3]
    assert "mrconv table results --only smartwatch" in lines
