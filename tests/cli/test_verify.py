"""``mrconv verify``: the table, the exit code, and the JSON file."""

import json

import numpy as np
import pytest
import torch

import mrconv

PLACES = ["backbone.blocks.0.mixer", "backbone.blocks.1.mixer", "features", "output"]
STREAMED = 2 * ["backbone.blocks.0.mixer", "backbone.blocks.1.mixer", "output"]


@pytest.fixture
def merged(mrconv_command, saved, tmp_path):
    mrconv_command("merge", saved, "-o", tmp_path / "merged")
    return tmp_path / "merged"


@pytest.fixture
def spoilt(merged, tmp_path):
    """The merged model with one tap of its second layer changed by 1e-3."""
    model = mrconv.load(merged)
    with torch.no_grad():
        model.backbone.blocks[1].mixer.taps[2, 5] += 1e-3
    return model.save_pretrained(tmp_path / "spoilt")


def assert_table(out, holds):
    head, *rows, last = out.splitlines()
    assert head.split() == ["place", "forms", "largest", "mean", "at", "sample", "bound", "holds"]
    assert [row.split()[0] for row in rows] == PLACES + STREAMED
    verdicts = [*holds, *(True for _ in STREAMED)]
    assert [row.split()[-1] for row in rows] == ["yes" if one else "NO" for one in verdicts]
    assert last == "all forms agree" if all(holds) else "FORMS DIFFER beyond their bounds"


def test_a_model_against_its_own_merge(mrconv_command, saved):
    told = mrconv_command("verify", saved)
    assert (told.code, told.err) == (0, "")
    assert_table(told.out, [True] * 4)


def test_two_folders(mrconv_command, saved, merged):
    told = mrconv_command("verify", saved, merged)
    assert told.code == 0
    assert_table(told.out, [True] * 4)


def test_one_tap_changed_fails(mrconv_command, saved, spoilt):
    told = mrconv_command("verify", saved, spoilt)
    assert (told.code, told.err) == (1, "")
    rows = told.out.splitlines()
    assert rows[1].endswith("yes")
    assert rows[2].endswith("NO")
    assert rows[-1] == "FORMS DIFFER beyond their bounds"


def test_json_of_forms_that_differ(mrconv_command, saved, spoilt, tmp_path):
    path = tmp_path / "new" / "proof.json"
    assert mrconv_command("verify", saved, spoilt, "--json", path).code == 1
    content = json.loads(path.read_text())
    assert sorted(content) == ["holds", "rows"]
    assert content["holds"] is False
    assert [row["place"] for row in content["rows"]] == PLACES + STREAMED
    first, second = content["rows"][:2]
    keys = ["place", "forms", "largest", "mean", "sample", "bound", "holds", "approximate"]
    assert list(first) == keys
    assert first["forms"] == ["branches", "merged"]
    assert (first["holds"], second["holds"]) == (True, False)
    assert first["bound"] == second["bound"] == 1e-5
    assert second["largest"] > 1e-5 > first["largest"] >= first["mean"] >= 0
    assert isinstance(second["sample"], int)
    assert content["rows"][-1]["sample"] is None


def test_a_distilled_model(mrconv_command, saved, tmp_path):
    small, path = tmp_path / "small", tmp_path / "proof.json"
    mrconv_command("distill", saved, "--order", 4, "--fir-head", 4, "-o", small)
    told = mrconv_command("verify", saved, small, "--json", path)
    assert (told.code, told.err) == (0, "")
    content = json.loads(path.read_text())
    (output,) = [row for row in content["rows"] if row["approximate"] and row["place"] == "output"]
    assert (output["bound"], output["holds"]) == (None, None)
    assert told.out.splitlines()[-1] == (
        "exact forms agree; distilled layers differ as far as their taps do, outputs by "
        f"{output['largest']:.1e} of the largest"
    )


def test_json_of_forms_that_agree(mrconv_command, saved, tmp_path):
    mrconv_command("verify", saved, "--json", tmp_path / "proof.json")
    assert json.loads((tmp_path / "proof.json").read_text())["holds"] is True


def no_constant(name):
    raise ValueError(f"{name} is no JSON")


def test_json_is_json_where_values_are_not_numbers(mrconv_command, saved, merged, tmp_path):
    model = mrconv.load(merged)
    with torch.no_grad():
        model.backbone.blocks[1].mixer.taps[2, 5] = float("nan")
    broken, path = model.save_pretrained(tmp_path / "broken"), tmp_path / "proof.json"
    assert mrconv_command("verify", saved, broken, "--json", path).code == 1
    assert not json.loads(path.read_text(), parse_constant=no_constant)["holds"]


def test_json_has_null_for_what_is_not_finite(mrconv_command, saved, merged, tmp_path):
    model = mrconv.load(merged)
    with torch.no_grad():
        model.backbone.blocks[1].mixer.taps[2, 5] = float("nan")
    broken, path = model.save_pretrained(tmp_path / "broken"), tmp_path / "proof.json"
    mrconv_command("verify", saved, broken, "--json", path)
    first, second = json.loads(path.read_text())["rows"][:2]
    assert (second["largest"], second["mean"], second["holds"]) == (None, None, False)
    assert first["largest"] <= first["bound"]


def test_a_model_of_pairs(mrconv_command, tmp_path):
    backbone = mrconv.SequenceBackbone(1, 32, channels=8, depth=1)
    model = mrconv.SequenceClassifier(backbone, 3, pair=True)
    told = mrconv_command("verify", model.save_pretrained(tmp_path / "model"))
    assert (told.code, told.err) == (0, "")


def test_data_of_unequal_length(mrconv_command, saved, merged, tmp_path):
    np.savez(tmp_path / "a.npz", a=np.ones(5), b=np.arange(50.0), c=np.zeros((2, 7)))
    told = mrconv_command("verify", saved, merged, "--data", tmp_path / "a.npz")
    assert told.code == 0
    assert_table(told.out, [True] * 4)


def test_data_that_hide_the_difference(mrconv_command, saved, spoilt, tmp_path):
    np.save(tmp_path / "short.npy", np.arange(5.0))  # the changed tap is at lag 5
    assert mrconv_command("verify", saved, spoilt, "--data", tmp_path / "short.npy").code == 0
    np.save(tmp_path / "long.npy", np.arange(6.0))
    assert mrconv_command("verify", saved, spoilt, "--data", tmp_path / "long.npy").code == 1


def test_data_of_tokens(mrconv_command, tmp_path):
    backbone = mrconv.SequenceBackbone(5, 32, channels=8, depth=1, tokens=True)
    saved = mrconv.SequenceClassifier(backbone, 3).save_pretrained(tmp_path / "model")
    (tmp_path / "a.csv").write_text("1,2,3\n4,0,2\n")
    assert mrconv_command("verify", saved, "--data", tmp_path / "a.csv").code == 0


def test_one_merged_model_alone(mrconv_command, merged):
    told = mrconv_command("verify", merged)
    assert (told.code, told.out) == (2, "")
    assert told.err == (
        "error: verify: there must be two forms; got one merged model. "
        "Pass the model it was merged from as well.\n"
    )


def test_data_that_cannot_be_read(mrconv_command, saved, tmp_path):
    path = tmp_path / "a.npy"
    told = mrconv_command("verify", saved, "--data", path)
    assert (told.code, told.out) == (2, "")
    assert told.err == (
        f"error: {path}: must be a file; got nothing of that name. Check the path.\n"
    )


def test_json_that_cannot_be_written(mrconv_command, saved, tmp_path):
    told = mrconv_command("verify", saved, "--json", tmp_path)  # a folder
    assert told.code in (1, 2)
    assert told.err.startswith("error: ")
