"""Opening saved models: what is refused, each with one sentence, and nothing is run."""

import json
import os
import pickle
import shutil
from pathlib import Path

import huggingface_hub
import pytest
import safetensors
import torch
from safetensors.torch import load_file, save_file

import mrconv
from mrconv.errors import FileError

PICKLED = (
    "load: {path} must be a safetensors file; got a pickle, which could run code and was "
    "not opened. Convert it where you trust it, with safetensors.torch.save_file."
)


@pytest.fixture
def folder(small_backbone, tmp_path):
    """A saved model that each test spoils in its own way."""
    model = mrconv.SequenceClassifier(small_backbone(), 3, dtype=torch.float64)
    return model.save_pretrained(tmp_path / "model")


@pytest.fixture
def reconfigure(folder):
    """Writes config.json with other values at the top level."""

    def write(**values):
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | values))
        return path

    return write


def test_a_path_may_be_text(folder):
    assert isinstance(mrconv.load(str(folder)), mrconv.SequenceClassifier)


# folder


def test_missing_folder(tmp_path, says):
    path = tmp_path / "nothing"
    sentence = (
        f"load: a model must be a folder; got {path}, which does not exist. "
        "Check the path, or train one with: mrconv train mnist"
    )
    with says(FileError, sentence):
        mrconv.load(path)


def test_file_in_place_of_folder(folder, says):
    path = folder / "model.safetensors"
    sentence = (
        f"load: a model must be a folder; got the file {path}. Pass the folder that holds "
        "model.safetensors and config.json."
    )
    with says(FileError, sentence):
        mrconv.load(path)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
@pytest.mark.parametrize("a_folder", [False, True])
def test_missing_file(folder, says, name, a_folder):
    (folder / name).unlink()
    if a_folder:
        (folder / name).mkdir()
    sentence = (
        f"load: {folder / name} must be there; got no such file. "
        "Save the model with save_pretrained."
    )
    with says(FileError, sentence):
        mrconv.load(folder)


# weights


class Bomb:
    """Makes a folder where it is unpickled."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (str(self.marker),)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_pickle_is_refused_and_not_run(folder, tmp_path, says, protocol):
    marker, path = tmp_path / "marker", folder / "model.safetensors"
    path.write_bytes(pickle.dumps(Bomb(marker), protocol))
    with says(FileError, PICKLED.format(path=path)):
        mrconv.load(folder)
    assert not marker.exists()
    pickle.loads(path.read_bytes())
    assert marker.exists()  # it would have run


@pytest.mark.parametrize("protocol", [0, 1])
def test_an_old_pickle_is_not_run_either(folder, tmp_path, protocol):
    marker, path = tmp_path / "marker", folder / "model.safetensors"
    path.write_bytes(pickle.dumps(Bomb(marker), protocol))
    with pytest.raises(FileError, match="must be a whole safetensors file"):
        mrconv.load(folder)
    assert not marker.exists()


@pytest.mark.parametrize("zipped", [True, False])
def test_what_torch_save_writes_is_refused(folder, tmp_path, says, zipped):
    marker, path = tmp_path / "marker", folder / "model.safetensors"
    torch.save(Bomb(marker), path, _use_new_zipfile_serialization=zipped)
    with says(FileError, PICKLED.format(path=path)):
        mrconv.load(folder)
    assert not marker.exists()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda whole: b"",
        lambda whole: b"abc",
        lambda whole: whole[: len(whole) // 2],
        lambda whole: whole[:-1],
        lambda whole: whole + b"0",
        lambda whole: whole[:8] + b"[" + whole[9:],
        lambda whole: (1 << 62).to_bytes(8, "little") + whole[8:],
        lambda whole: b"GIF89a" + whole,
    ],
    ids=["empty", "short", "half", "cut", "longer", "header", "huge header", "other kind"],
)
def test_corrupt_or_truncated_weights(folder, says, spoil):
    path = folder / "model.safetensors"
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(safetensors.SafetensorError) as told:
        load_file(path)
    sentence = (
        f"load: {path} must be a whole safetensors file; got {told.value}. Copy or save it again."
    )
    with says(FileError, sentence):
        mrconv.load(folder)


def test_weights_of_another_model(folder, tmp_path, small_backbone, says):
    other = mrconv.SequenceClassifier(small_backbone(), 5, dtype=torch.float64)
    path = folder / "model.safetensors"
    shutil.copy(other.save_pretrained(tmp_path / "other") / "model.safetensors", path)
    sentence = (
        f"load: {path} must fit config.json: head.bias of shape (3,); got (5,). "
        "Keep the two files of one model together."
    )
    with says(FileError, sentence):
        mrconv.load(folder)


def test_poles_of_half_precision(small_backbone, tmp_path, says):
    model = mrconv.SequenceRegressor(small_backbone(mixer={"kernel": "modal", "kernel_size": 4}))
    folder = mrconv.merge(model.eval(), form="recurrence").save_pretrained(tmp_path)
    path = folder / "model.safetensors"
    weights = load_file(path)
    name = next(name for name in weights if name.endswith("log_decay"))
    weights[name] = weights[name].bfloat16()
    save_file(weights, path)
    with says(
        FileError,
        f"load: {path} must hold numbers of enough precision; got ModalRecurrence: log_decay must "
        "have at least float32, because a memory of 100 samples is off by 14 % with poles of half "
        "precision; got torch.bfloat16. Save the recurrence anew from its original.",
    ):
        mrconv.load(folder)


def test_weights_of_another_form(folder, tmp_path, says):
    path = folder / "model.safetensors"
    merged = mrconv.merge(mrconv.load(folder)).save_pretrained(tmp_path / "merged")
    shutil.copy(merged / "model.safetensors", path)
    sentence = (
        f"load: {path} must fit config.json: backbone.blocks.0.mixer.bias of shape none; "
        "got (8,). Keep the two files of one model together."
    )
    with says(FileError, sentence):
        mrconv.load(folder)


@pytest.mark.parametrize("missing", ["head.weight", "backbone.blocks.1.mixer.num_batches_tracked"])
def test_a_tensor_is_missing(folder, says, missing):
    path = folder / "model.safetensors"
    weights = load_file(path)
    shape = tuple(weights.pop(missing).shape)
    save_file(weights, path)
    sentence = (
        f"load: {path} must fit config.json: {missing} of shape {shape}; got none. "
        "Keep the two files of one model together."
    )
    with says(FileError, sentence):
        mrconv.load(folder)


# config.json


@pytest.mark.parametrize("text", ["", "{", "not json", "\ufeff{}", '{"format": 1,}'])
def test_config_is_no_json(folder, says, text):
    path = folder / "config.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError) as told:
        json.loads(text)
    with says(FileError, f"load: {path} must be JSON; got {told.value}. Save the model again."):
        mrconv.load(folder)


def test_config_is_no_text(folder):
    path = folder / "config.json"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileError, match="must be JSON; got 'utf-8' codec can't decode byte 0xff"):
        mrconv.load(folder)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"format": 2}', "2"),
        ('{"format": "1"}', "'1'"),
        ("{}", "None"),
        ("[]", "'list'"),
        ("3", "'int'"),
        ("null", "'NoneType'"),
    ],
)
def test_another_format(folder, says, text, found):
    path = folder / "config.json"
    path.write_text(text)
    sentence = (
        f"load: {path} must have format 1; got {found}. "
        "Open it with the version of mrconv that wrote it."
    )
    with says(FileError, sentence):
        mrconv.load(folder)


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("SequenceClasifier", "Did you mean 'SequenceClassifier'?"),
        (
            "os.system",
            "Known: Forecaster, LanguageModel, SequenceClassifier, SequenceLabeller, "
            "SequenceRegressor.",
        ),
        ("torch.nn.Linear", None),
        ("SequenceBackbone", None),
    ],
)
def test_classes_of_mrconv_only(folder, reconfigure, says, name, remedy):
    path = reconfigure(model=name)
    start = f"load: {path} must name a model of mrconv; got {name!r}. "
    if remedy is None:
        with pytest.raises(FileError) as told:
            mrconv.load(folder)
        assert str(told.value).startswith(start)
        return
    with says(FileError, start + remedy):
        mrconv.load(folder)


@pytest.mark.parametrize("name", [["SequenceClassifier"], {"a": 1}, None, 3])
def test_the_class_is_no_text(folder, reconfigure, name):
    reconfigure(model=name)
    with pytest.raises(FileError, match="must name a model of mrconv; got"):
        mrconv.load(folder)


def described(path, what):
    return f"load: {path} must describe a model of mrconv; got {what}. Save the model again."


def test_misspelled_mixer_key(folder, reconfigure, says):
    arguments = json.loads((folder / "config.json").read_text())["arguments"]
    arguments["backbone"]["mixer"] = {"kernal": "dilated"}
    path = reconfigure(arguments=arguments)
    what = "mixer: keys must be arguments of MRConv; got 'kernal'. Did you mean 'kernel'?"
    with says(FileError, described(path, what)):
        mrconv.load(folder)


def test_misspelled_input_key(folder, reconfigure, says):
    path = reconfigure(input={"kind": "series", "lenght": 3})
    what = "InputContract: keys must be known; got 'lenght'. Did you mean 'length'?"
    with says(FileError, described(path, what)):
        mrconv.load(folder)


@pytest.mark.parametrize(
    "values",
    [
        {"arguments": None},
        {"arguments": {}},
        {"arguments": {"backbone": None, "classes": 3}},
        {"arguments": {"backbone": {"features": 1}, "classes": 3}},
        {"arguments": {"backbone": {"features": 1, "length": "long"}, "classes": 3}},
        {"arguments": {"backbone": {"features": 1, "length": 9, "mixer": 5}, "classes": 3}},
        {"arguments": {"backbone": {"features": 10**17, "length": 9}, "classes": 10**17}},
        {"layers": []},
        {"layers": None},
        {"layers": {"backbone.blocks.9.mixer": {"num_taps": 4}}},
        {"layers": {"backbone.nothing.mixer": {"num_taps": 4}}},
        {"layers": {"backbone.blocks.0.mixer": {"num_taps": -4}}},
        {"layers": {"backbone.blocks.0.mixer": {"taps": 4}}},
        {"layers": {"backbone.blocks.0.mixer": {"resolutions": [99]}}},
        {"layers": {"backbone.blocks.0.norm": {"resolutions": [0]}}},
        {"input": 5},
        {"input": {}},
        {"labels": None},
        {"metrics": 3},
        {"made": 3},
        {"made": ["trained"]},
    ],
    ids=str,
)
def test_config_with_senseless_values(folder, reconfigure, values):
    path = reconfigure(**values)
    with pytest.raises(FileError) as told:
        mrconv.load(folder)
    assert str(told.value).startswith(f"load: {path} must describe a model of mrconv; got ")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_no_permission(folder, monkeypatch, name):
    def guarded(read):
        def method(path, *arguments, **options):
            if path.name == name:
                raise PermissionError(13, "Permission denied")
            return read(path, *arguments, **options)

        return method

    for method in ("open", "read_text"):
        monkeypatch.setattr(Path, method, guarded(getattr(Path, method)))
    # safetensors opens the file itself
    monkeypatch.setattr("mrconv.models.loading.load_file", guarded(load_file))
    with pytest.raises(FileError, match=rf"{name} must be .*; got \[Errno 13\] Permission denied"):
        mrconv.load(folder)


def test_config_of_before_steps_were_kept(folder):
    path = folder / "config.json"
    config = json.loads(path.read_text())
    del config["made"]
    path.write_text(json.dumps(config))
    assert mrconv.load(folder).made == ()


@pytest.mark.parametrize("key", ["arguments", "layers", "input", "labels", "metrics"])
def test_config_without_a_key(folder, says, key):
    path = folder / "config.json"
    config = json.loads(path.read_text())
    del config[key]
    path.write_text(json.dumps(config))
    with says(FileError, described(path, repr(key))):
        mrconv.load(folder)


# the Hub


def test_hub_name_without_network(monkeypatch, says):
    def offline(*_, **__):
        raise huggingface_hub.errors.LocalEntryNotFoundError("no connection")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", offline)
    sentence = (
        "load: 'somebody/model' must be a folder or a model on the Hub; got no folder of that "
        "name, and from the Hub LocalEntryNotFoundError. Check the spelling and the connection."
    )
    with says(FileError, sentence):
        mrconv.load("somebody/model")


def test_hub_download_asks_for_two_files_only(monkeypatch, folder):
    asked = []

    def download(name, allow_patterns):
        asked.append((name, allow_patterns))
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    assert isinstance(mrconv.load("somebody/model"), mrconv.SequenceClassifier)
    assert asked == [("somebody/model", ["model.safetensors", "config.json"])]


@pytest.mark.parametrize(
    "name", ["model", "a/b/c", "../model", "./model", "/somewhere/else", "a b/c", ""]
)
def test_other_names_never_reach_the_hub(monkeypatch, tmp_path, name):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: pytest.fail("asked"))
    with pytest.raises(FileError, match=r"^load: "):
        mrconv.load(name)
