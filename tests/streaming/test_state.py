"""The state of a stream as a tree of tensors."""

import pytest
import torch

import mrconv
from mrconv.errors import ArgumentError, FileError
from mrconv.streaming import State


def tree():
    inner = State({"ring": torch.arange(12.0).reshape(3, 2, 2)})
    return State({"position": torch.tensor([4, 5, 6])}, {"model": State({}, {"mixer": inner})})


def named(state):
    return {name: tensor.tolist() for name, tensor in state.named_tensors()}


def test_paths_rows_and_bytes():
    state = tree()
    assert list(named(state)) == ["position", "model.mixer.ring"]
    assert state.num_rows == 3
    assert state.nbytes == 3 * 8 + 12 * 4
    assert State({}).num_rows == 0
    assert state.part("missing") == State({}, {})


def test_rows_select_reorder_and_repeat():
    state = tree()
    chosen = state.rows([2, 0, 2])
    assert named(chosen)["position"] == [6, 4, 6]
    assert named(chosen)["model.mixer.ring"][1] == [[0.0, 1.0], [2.0, 3.0]]
    chosen.reset([0, 1, 2])
    assert named(state) == named(tree())  # a copy


def test_reset_one_row():
    state = tree()
    state.reset([1])
    assert named(state)["position"] == [4, 0, 6]
    assert named(state)["model.mixer.ring"][1] == [[0.0, 0.0], [0.0, 0.0]]
    assert named(state)["model.mixer.ring"][2] == [[8.0, 9.0], [10.0, 11.0]]


def test_written_rows():
    state = tree()
    state.write_rows([2], tree().rows([0]))
    assert named(state)["position"] == [4, 5, 4]


def test_join_undoes_rows():
    state = tree()
    assert named(State.join([state.rows([0]), state.rows([1, 2])])) == named(state)


def test_clone_shares_nothing():
    state = tree()
    state.clone().reset([0, 1, 2])
    assert named(state) == named(tree())


def test_saved_and_loaded(tmp_path):
    state = tree()
    path = state.save(tmp_path / "state.safetensors")
    assert named(State.load(path)) == named(state)
    assert State.load(path).tensors["position"].dtype == torch.int64


def test_a_new_default_tree_is_not_shared():
    State.from_named({"a.b": torch.zeros(1)})
    assert State({}).parts == {}


def test_joining_nothing(says):
    sentence = (
        "State.join: states must hold at least one state; got none. "
        "Pass those that init_state, step or chunk gave."
    )
    with says(ArgumentError, sentence):
        State.join([])


def test_missing_and_damaged_files(tmp_path):
    (tmp_path / "bad").write_text("no state")
    for name in ("missing", "bad"):
        with pytest.raises(FileError, match=r"must be a file that State.save wrote; got .*\. Pass"):
            State.load(tmp_path / name)
    with pytest.raises(FileError, match=r"must be a file that can be written; got .*\. Choose"):
        tree().save(tmp_path / "no" / "folder")


def test_state_bytes_of_a_layer():
    """One ring of the reach and its slack; 4 float64 a mode; two positions."""
    layer = mrconv.MRConv(2, 64, kernel_size=4, kernel="fourier").eval()
    nbytes = mrconv.Streamer(layer).init_state(1).nbytes
    ring, sums, positions = 2 * (64 + 1 + 256) * 4, 5 * 3 * 2 * 2 * 8 * 2, 16
    assert nbytes == ring + sums + positions
