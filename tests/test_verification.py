"""Proof that forms agree, and that it fails where they do not."""

import copy
import functools
import re

import pytest
import torch

import mrconv
from mrconv.errors import ArgumentError, MergeError
from mrconv.nn import MaskedBatchNorm
from mrconv.nn.resolution_gates import ResolutionGates
from mrconv.testing import settled
from mrconv.verification import Proof, Row

F64 = torch.float64
MIXER = {"kernel": "dense", "kernel_size": 4}
PLACES = ["backbone.blocks.0.mixer", "backbone.blocks.1.mixer", "features", "output"]
STREAMED = [place for place in PLACES if place != "features"]


def unstreamed(proof):
    """The rows that compare form with form."""
    return [row for row in proof.rows if not row.forms[1].endswith(" streamed")]


def streamed(proof):
    """The rows that compare a form with its stream."""
    return [row for row in proof.rows if row.forms[1].endswith(" streamed")]


@torch.no_grad()
def model_of(head=mrconv.SequenceClassifier, dtype=F64, mixer=MIXER, **settings):
    backbone = mrconv.SequenceBackbone(
        2, 32, channels=8, depth=2, mixer=mixer, dtype=dtype, **settings
    )
    model = head(backbone, 3, dtype=dtype)
    for module in model.modules():
        if isinstance(module, mrconv.MRConv):
            settled(module)
        elif isinstance(module, MaskedBatchNorm):
            module.running_var.uniform_(0.5, 2)
    return model.eval()


@torch.no_grad()
def with_one_tap_changed(model, by=1e-3, block=1, channel=2, lag=5):
    """A copy whose layer of one block has one other tap."""
    model = copy.deepcopy(model)
    model.backbone.blocks[block].mixer.taps[channel, lag] += by
    return model


# forms that agree


@pytest.mark.parametrize("dtype", [torch.float32, F64, torch.bfloat16])
@pytest.mark.parametrize("causal", [True, False])
def test_a_model_and_its_merge(dtype, causal):
    proof = mrconv.verify(model_of(dtype=dtype, mixer={**MIXER, "causal": causal}))
    assert proof.holds
    assert [row.place for row in unstreamed(proof)] == PLACES
    assert {row.forms for row in unstreamed(proof)} == {("branches", "merged")}
    bound = {torch.float32: 1e-5, F64: 1e-10, torch.bfloat16: 2e-2}[dtype]
    assert [row.bound for row in unstreamed(proof)] == [bound, bound, 10 * bound, 10 * bound]
    for row in proof.rows:
        assert 0 <= row.mean <= row.largest <= row.bound
        # the scores of a classifier have no time axis
        assert (row.sample is None) == (row.place == "output")


@pytest.mark.parametrize(
    "settings",
    [
        {"mixer": {"kernel": "fourier", "kernel_size": 4, "combine": "concat"}},
        {"mixer": {**MIXER, "norm": "constant"}},
        {"mixer": {**MIXER, "norm": "none"}},
        {"mixer": {**MIXER, "norm": mrconv.BranchNorm(statistics="textbook")}},
        {"mixer": [{"name": "long_conv"}, MIXER]},
        {"tokens": True},
        {"pre_norm": True, "norm": "layer"},
    ],
    ids=str,
)
def test_every_setting(settings):
    proof = mrconv.verify(model_of(mrconv.SequenceLabeller, **settings))
    assert proof.holds
    assert [row.place for row in unstreamed(proof)] == PLACES
    assert all(row.sample is not None for row in proof.rows)


@pytest.mark.parametrize("causal", [True, False])
def test_a_layer_alone(causal):
    layer = settled(mrconv.MRConv(4, 32, kernel_size=4, causal=causal, dtype=F64))
    proof = mrconv.verify(layer)
    assert proof.holds
    assert [row.place for row in unstreamed(proof)] == ["layer"]


@pytest.mark.parametrize("kind", [mrconv.Hyena, mrconv.MultiHyena])
def test_a_gated_layer_and_its_filters(kind):
    layer = kind(6, 20, num_filters=3, kernel="dilated", kernel_size=4, dtype=F64).eval()
    settled(layer.filter)
    proof = mrconv.verify(layer)
    assert proof.holds
    assert [row.place for row in unstreamed(proof)] == ["filter", "output"]
    merged = mrconv.merge(layer)
    with torch.no_grad():
        merged.filter.taps[1, 7] += 1
    rows = unstreamed(mrconv.verify(layer, merged))
    assert [row.holds for row in rows] == [False, False]
    assert all(row.sample >= 7 for row in rows)


def test_a_backbone_alone():
    proof = mrconv.verify(model_of().backbone)
    assert [row.place for row in unstreamed(proof)] == [
        "blocks.0.mixer",
        "blocks.1.mixer",
        "output",
    ]
    assert proof.holds


def test_every_form_against_every_other():
    model = model_of()
    merged, again = mrconv.merge(model), mrconv.merge(model)
    proof = mrconv.verify(model, merged, again)
    assert proof.holds
    assert len(unstreamed(proof)) == 3 * len(PLACES)
    assert list(dict.fromkeys(row.forms for row in unstreamed(proof))) == [
        ("branches", "merged"),
        ("branches", "merged 2"),
        ("merged", "merged 2"),
    ]
    same = [row for row in proof.rows if row.forms == ("merged", "merged 2")]
    assert all(row.largest == 0 for row in same)


@pytest.mark.parametrize("filling", [0.0, float("nan")])
def test_ragged_inputs(filling):
    x, lengths = torch.randn(3, 40, 2, dtype=F64), torch.tensor([40, 7, 1])
    x[torch.arange(40) >= lengths[:, None]] = filling
    proof = mrconv.verify(model_of(), inputs=(x, lengths))
    assert proof.holds
    layer = settled(mrconv.MRConv(2, 32, kernel_size=4, dtype=F64))
    assert mrconv.verify(layer, inputs=(x.transpose(1, 2), lengths)).holds


def test_empty_inputs_hold():
    proof = mrconv.verify(model_of(mrconv.SequenceLabeller), inputs=torch.zeros(2, 0, 2, dtype=F64))
    assert proof.holds
    assert {row.largest for row in proof.rows} == {0.0}


def test_nothing_is_changed_and_random_numbers_stay():
    model = model_of()
    before, state = copy.deepcopy(model.state_dict()), torch.get_rng_state()
    proof = mrconv.verify(model)
    assert torch.equal(torch.get_rng_state(), state)
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, before[name])
    assert not any(module._forward_hooks for module in model.modules())
    assert all(layer.norm == mrconv.BranchNorm() for layer in mixers(model))
    assert mrconv.verify(model) == proof


def mixers(model):
    return [block.mixer for block in model.backbone.blocks]


# streams


def test_streams_of_every_form():
    proof = mrconv.verify(model_of())
    assert [row.place for row in streamed(proof)] == 2 * STREAMED
    assert {row.forms for row in streamed(proof)} == {
        ("branches", "branches streamed"),
        ("merged", "merged streamed"),
    }
    for row in streamed(proof):
        assert 0 <= row.mean <= row.largest <= row.bound
        assert (row.sample is None) == (row.place == "output")


def test_streams_of_ragged_and_empty_rows():
    x, lengths = torch.randn(4, 40, 2, dtype=F64), torch.tensor([40, 7, 0, 1])
    x[torch.arange(40) >= lengths[:, None]] = float("nan")
    proof = mrconv.verify(model_of(), inputs=(x, lengths))
    assert proof.holds
    assert len(streamed(proof)) == 2 * len(STREAMED)


def test_a_model_with_attention_streams():
    x = torch.randn(2, 70, 2, dtype=F64)  # longer than the layers were made for
    proof = mrconv.verify(model_of(mixer=[MIXER, {"name": "attention"}]), inputs=x)
    assert "output" in [row.place for row in streamed(proof)]
    assert proof.holds


def test_gates_have_no_merge_but_a_stream():
    for mixer in ({**MIXER, "name": "gated_mrconv"}, [MIXER, {**MIXER, "name": "gated_mrconv"}]):
        model = model_of(mixer=mixer)
        for gate in [one for one in model.modules() if isinstance(one, ResolutionGates)]:
            torch.nn.init.normal_(gate.weight)
        proof = mrconv.verify(model)
        assert [row.place for row in streamed(proof)] == STREAMED
        assert {row.forms for row in proof.rows} == {("branches", "branches streamed")}
        assert proof.holds


def test_a_gate_left_out_of_the_stream_does_not_hold(monkeypatch):
    monkeypatch.setattr(mrconv.streaming.gated_branches, "gated", lambda branch, gate: branch)
    model = model_of(mixer={**MIXER, "name": "gated_mrconv"})
    torch.nn.init.normal_(model.backbone.blocks[1].mixer.gate.weight)
    failing = [row.place for row in mrconv.verify(model).rows if not row.holds]
    assert failing == ["backbone.blocks.1.mixer", "output"]


def test_gated_layers_stay_where_others_are_distilled():
    modal = {"kernel": "modal", "kernel_size": 4}
    model = model_of(mixer=[modal, {**MIXER, "name": "gated_mrconv"}])
    small, _ = mrconv.distill(model, order=8, fir_head=8, on_failure="exact")
    proof = mrconv.verify(model, small)
    assert proof.holds
    (row,) = [row for row in unstreamed(proof) if row.place == PLACES[1]]
    assert (row.largest, row.approximate) == (0.0, False)


def test_a_layer_with_gates_alone():
    proof = mrconv.verify(settled(mrconv.GatedMRConv(3, 16, kernel_size=4)))
    assert [row.place for row in proof.rows] == ["layer"]
    assert proof.holds


def test_what_looks_ahead_has_no_stream():
    for mixer in ({**MIXER, "causal": False}, [MIXER, {"name": "attention", "causal": False}]):
        proof = mrconv.verify(model_of(mixer=mixer))
        assert "output" not in [row.place for row in streamed(proof)]
        assert proof.holds


def test_a_stream_that_loses_a_tap_does_not_hold(monkeypatch):
    pieces = mrconv.streaming.layers.taps_pieces
    monkeypatch.setattr(mrconv.streaming.layers, "taps_pieces", lambda taps: pieces(taps[:, :-1]))
    proof = mrconv.verify(model_of())
    failing = {(row.place, row.forms[1]) for row in proof.rows if not row.holds}
    assert failing == {(place, "merged streamed") for place in STREAMED}


# forms that differ


@pytest.mark.parametrize("dtype", [torch.float32, F64])
@pytest.mark.parametrize("block", [0, 1])
def test_one_tap_changed_does_not_hold(dtype, block):
    model = model_of(dtype=dtype)
    spoilt = with_one_tap_changed(mrconv.merge(model), block=block)
    proof = mrconv.verify(model, spoilt)
    assert not proof.holds
    failing = [row.place for row in proof.rows if not row.holds]
    assert f"backbone.blocks.{block}.mixer" in failing
    assert f"backbone.blocks.{1 - block}.mixer" not in failing  # it names the layer


@pytest.mark.parametrize(("lag", "impulse"), [(0, 0), (5, 3), (31, 1), (7, 39)])
def test_the_place_in_time_and_the_size(lag, impulse):
    model = model_of(mixer={**MIXER, "skip": False, "norm": "none"})
    layer = mixers(model)[0]
    spoilt = layer.reparameterize()
    with torch.no_grad():
        layer.shift.zero_()
        spoilt.bias.zero_()
        spoilt.taps[2, lag] += 1e-3
    x = torch.zeros(1, 8, 40, dtype=F64)
    x[0, 2, impulse] = 1.0
    (row,) = unstreamed(mrconv.verify(layer, spoilt, inputs=x))
    if impulse + lag >= 40:
        assert row.holds  # it falls behind the end
        return
    y = layer(x).detach()
    assert row.sample == impulse + lag
    assert row.largest == pytest.approx(1e-3 / float(y.abs().max()))
    assert row.mean == pytest.approx(row.largest / y.numel())
    assert not row.holds


def test_the_place_in_time_of_a_two_sided_layer():
    layer = settled(mrconv.MRConv(2, 32, kernel_size=4, kernel="dense", causal=False, dtype=F64))
    spoilt = layer.reparameterize()
    with torch.no_grad():
        spoilt.taps[1, 32 - 6] += 1e-3  # lag -6
    x = torch.zeros(1, 2, 40, dtype=F64)
    x[0, 1, 20] = 1.0
    (row,) = unstreamed(mrconv.verify(layer, spoilt, inputs=x))
    assert (row.sample, row.holds) == (14, False)


def test_samples_behind_a_rows_length_do_not_count():
    model = model_of()
    spoilt = with_one_tap_changed(mrconv.merge(model), block=0, lag=20)
    x, lengths = torch.randn(2, 40, 2, dtype=F64), torch.tensor([20, 11])
    assert mrconv.verify(model, spoilt, inputs=(x, lengths)).holds
    assert not mrconv.verify(model, spoilt, inputs=(x, lengths + 1)).holds


def test_another_head_is_seen_in_the_output_only():
    model = model_of()
    spoilt = mrconv.merge(model)
    with torch.no_grad():
        spoilt.head.bias[1] += 1e-3
    proof = mrconv.verify(model, spoilt)
    assert [row.place for row in proof.rows if not row.holds] == ["output"]


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_values_that_are_not_finite_do_not_hold(wrong):
    model = model_of()
    proof = mrconv.verify(model, with_one_tap_changed(mrconv.merge(model), by=wrong))
    assert not proof.holds


def test_branches_that_are_not_numbers_do_not_hold():
    model = model_of()
    merged = mrconv.merge(model)
    with torch.no_grad():
        mixers(model)[0].gain[0, 0] = float("nan")
    assert not mrconv.verify(model, merged).holds


# the table


def test_table():
    rows = (
        Row("blocks.0.mixer", ("branches", "merged"), 1.24e-16, 3e-17, 7, 1e-10, True),
        Row("output", ("branches", "merged"), 0.01234, 0.002, None, 1e-9, False),
    )
    assert str(Proof(rows)).splitlines() == [
        "place           forms                    largest  mean     at sample  bound  holds",
        "blocks.0.mixer  branches against merged  1.2e-16  3.0e-17  7          1e-10  yes",
        "output          branches against merged  1.2e-02  2.0e-03  -          1e-09  NO",
    ]
    assert not Proof(rows).holds
    assert Proof(rows[:1]).holds


# what is refused


@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize("part", ["", "backbone", "backbone.blocks.1.norm"])
def test_training_is_refused(says, position, part):
    model = model_of()
    forms = [model, mrconv.merge(model)]
    forms[position].get_submodule(part).train()
    sentence = (
        "verify: BatchNorm statistics are still changing (training mode); got training=True. "
        "Call model.eval() first."
    )
    with says(MergeError, sentence):
        mrconv.verify(*forms)


@pytest.mark.parametrize("dtype", [torch.float32, F64, torch.bfloat16])
def test_recurrences_of_modal_branches(dtype):
    mixer = [{"kernel": "modal", "kernel_size": 8}, {"name": "s4d", "order": 6}]
    model = model_of(dtype=dtype, mixer=mixer)
    proof = mrconv.verify(model, mrconv.merge(model), mrconv.merge(model, form="recurrence"))
    assert proof.holds
    in_whole = [row for row in proof.rows if not row.forms[1].endswith(" streamed")]
    assert [row.place for row in in_whole] == PLACES * 3
    forms = {form for row in proof.rows for form in row.forms}
    assert forms >= {"branches", "merged", "recurrence", "recurrence streamed"}


# distilled forms


def test_a_distilled_model_is_held_against_its_taps():
    model = model_of(mixer=[MIXER, {"kernel": "modal", "kernel_size": 8}])
    small, report = mrconv.distill(model, order=4, fir_head=4)
    proof = mrconv.verify(model, small)
    assert proof.holds
    assert {row.forms for row in proof.approximate} == {("branches", "recurrence")}
    layers, whole = proof.approximate[:2], proof.approximate[2:]
    assert [row.place for row in proof.approximate] == PLACES
    for row, told in zip(layers, report.layers, strict=True):
        assert row.bound >= row.largest > told.error / 100
        assert row.holds
    for row in whole:
        assert (row.bound, row.holds) == (None, None)
        assert row.largest > 1e-3
    exact = [row for row in proof.rows if not row.approximate]
    assert {row.forms[1] for row in exact} == {"branches streamed", "recurrence streamed"}
    assert all(row.bound <= 1e-9 for row in exact)


def test_the_bound_of_a_distilled_layer_can_be_reached():
    layer = settled(mrconv.MRConv(1, 32, kernel="dense", kernel_size=4, dtype=F64))
    small, _ = mrconv.distill(layer, order=2, fir_head=4)
    with torch.no_grad():
        error = small.taps(50)[0] - torch.nn.functional.pad(layer.merged_taps()[0][0], (0, 18))
    x = 3 * error.sign().flip(0)[None, None]  # every tap's error adds up at the last sample
    (row,) = mrconv.verify(layer, small, inputs=x).approximate
    assert row.sample == 49
    assert row.largest == pytest.approx(row.bound, rel=1e-9)
    scale = float(layer(x).detach().abs().max())
    assert row.bound == pytest.approx(3 * float(error.abs().sum()) / scale, rel=1e-8)


def test_padding_does_not_widen_the_bound():
    layer = settled(mrconv.MRConv(2, 32, kernel_size=4, dtype=F64))
    small, _ = mrconv.distill(layer, order=2, fir_head=4)
    x, lengths = torch.randn(2, 2, 40, dtype=F64), torch.tensor([40, 9])
    x[1, :, 9:] = 0
    (first,) = mrconv.verify(layer, small, inputs=(x, lengths)).approximate
    x[1, :, 9:] = float("nan")
    (second,) = mrconv.verify(layer, small, inputs=(x, lengths)).approximate
    assert first == second


@pytest.mark.parametrize("dtype", [torch.float32, F64])
def test_a_distilled_layer_that_does_not_follow_its_taps(dtype, monkeypatch):
    model = model_of(dtype=dtype)
    small, _ = mrconv.distill(model, order=2, fir_head=4)
    chunk = mrconv.nn.ModalRecurrence.chunk

    def louder(self, x, state, lengths=None):
        y, state = chunk(self, x, state, lengths)
        return 5 * y, state

    monkeypatch.setattr(mrconv.nn.ModalRecurrence, "chunk", louder)
    proof = mrconv.verify(model, small)
    assert not proof.holds
    assert [row.holds for row in proof.approximate] == [False, False, None, None]


def test_a_distilled_model_that_is_not_a_number():
    model = model_of()
    small, _ = mrconv.distill(model, order=2, fir_head=4)
    with torch.no_grad():
        small.head.weight[0, 0] = float("nan")
    proof = mrconv.verify(model, small)
    assert [row.holds for row in proof.approximate] == [True, True, None, False]
    assert not proof.holds


def test_a_constant_that_differs_is_part_of_the_bound():
    layer = settled(mrconv.MRConv(2, 32, kernel_size=4, dtype=F64))
    small, _ = mrconv.distill(layer, order=2, fir_head=4)
    (before,) = mrconv.verify(layer, small).approximate
    with torch.no_grad():
        small.bias += 100.0
    (after,) = mrconv.verify(layer, small).approximate
    assert after.bound > after.largest > before.bound
    assert after.holds


def test_copies_of_a_recurrence_are_equal_and_other_sizes_are_not():
    model = model_of()
    small, _ = mrconv.distill(model, order=2, fir_head=4)
    larger, _ = mrconv.distill(model, order=6, fir_head=4)
    same = mrconv.verify(small, copy.deepcopy(small))
    assert same.holds
    assert not same.approximate
    spoilt = copy.deepcopy(small)
    with torch.no_grad():
        spoilt.backbone.blocks[0].mixer.residue[2] += 1e-3
    assert not mrconv.verify(small, spoilt).holds
    proof = mrconv.verify(model, small, larger)
    assert proof.holds
    assert ("recurrence", "recurrence 2") in {row.forms for row in proof.approximate}


def test_layers_that_stayed_exact_are_held_to_be_equal():
    model = model_of(mixer=[MIXER, {"name": "s4d", "order": 6}])
    small, report = mrconv.distill(
        model, tolerance=1e-6, max_order=8, fir_head=4, on_failure="exact"
    )
    assert [layer.exact for layer in report.layers] == [True, False]
    proof = mrconv.verify(model, small)
    first, second, *_ = proof.rows
    assert (first.approximate, second.approximate) == (False, True)
    assert proof.holds
    with torch.no_grad():
        small.backbone.blocks[0].mixer.skip[1] += 1e-3
    assert mrconv.verify(model, small).rows[0].holds is False


def test_the_table_of_a_distilled_model():
    rows = (
        Row("layer", ("branches", "recurrence"), 0.1, 0.01, 7, 0.5, True, True),
        Row("output", ("branches", "recurrence"), 0.2, 0.02, None, None, None, True),
    )
    lines = str(Proof(rows)).splitlines()
    assert lines[1].split()[-3:] == ["7", "5e-01", "yes"]
    assert lines[2].split()[-3:] == ["-", "-", "-"]
    assert lines[3] == (
        "Distilled layers may differ by what their taps differ, times the largest input; "
        "for a whole model nothing is known."
    )
    assert Proof(rows).holds


@pytest.mark.parametrize("windows", [None, [(0, 9), (2, 40)]])
def test_a_recurrence_alone_by_two_routes(windows):
    layer = mrconv.nn.ModalRecurrence(3, 2, windows=windows, dtype=F64).eval()
    proof = mrconv.verify(layer, copy.deepcopy(layer))
    assert proof.holds
    assert proof.rows[0].largest > 0  # the second is stepped on by its state, not by an FFT


def test_one_recurrence_alone(says):
    sentence = (
        "verify: there must be two forms; got one recurrence model. "
        "Pass the model it was merged from as well."
    )
    with says(ArgumentError, sentence):
        mrconv.verify(mrconv.nn.ModalRecurrence(2, 3).eval())


def test_one_merged_model_alone(says):
    sentence = (
        "verify: there must be two forms; got one merged model. "
        "Pass the model it was merged from as well."
    )
    with says(ArgumentError, sentence):
        mrconv.verify(mrconv.merge(model_of()))


def test_inputs_are_needed_for_other_modules(says):
    module = torch.nn.Sequential(mrconv.MRConv(4, 32, dtype=F64)).eval()
    sentence = (
        "verify: inputs must be given for a Sequential; got None. "
        "Pass a batch that the module takes."
    )
    with says(ArgumentError, sentence):
        mrconv.verify(module)


def test_models_of_other_layers(says):
    model = model_of()
    other = model_of(mixer=MIXER)
    other.backbone.blocks = other.backbone.blocks[:1]
    sentence = (
        "verify: forms must have the same layers; got backbone.blocks.1.mixer in one of "
        "branches and merged only. Pass forms of one model."
    )
    with says(MergeError, sentence):
        mrconv.verify(model, mrconv.merge(other))


def test_weights_that_are_not_numbers_cannot_be_merged():
    model = model_of()
    with torch.no_grad():
        mixers(model)[0].gain[0, 0] = float("nan")
    sentence = "the new layer must equal the old one to 1e-10; got a relative difference of nan."
    with pytest.raises(MergeError, match=re.escape(sentence)):
        mrconv.verify(model)


def test_pairs():
    backbone = mrconv.SequenceBackbone(2, 32, channels=8, depth=1, mixer=MIXER)
    assert mrconv.verify(mrconv.SequenceClassifier(backbone, 3, pair=True).eval()).holds


@pytest.mark.parametrize("tokens", [False, True])
def test_pairs_of_which_one_form_is_spoilt(tokens):
    model = model_of(functools.partial(mrconv.SequenceClassifier, pair=True), tokens=tokens)
    proof = mrconv.verify(model)
    assert proof.holds
    assert [row.place for row in unstreamed(proof)] == PLACES
    spoilt = with_one_tap_changed(mrconv.merge(model), block=0)
    assert not mrconv.verify(model, spoilt).holds


def test_inputs_by_name():
    model = model_of(functools.partial(mrconv.SequenceClassifier, pair=True))
    spoilt = with_one_tap_changed(mrconv.merge(model), block=0, lag=20)
    ends = torch.tensor([20, 11])
    inputs = {"x": torch.randn(2, 40, 2, dtype=F64), "lengths": ends}
    inputs |= {"pair": torch.randn(2, 33, 2, dtype=F64), "pair_lengths": ends}
    assert mrconv.verify(model, spoilt, inputs=inputs).holds
    assert not mrconv.verify(model, spoilt, inputs={**inputs, "pair_lengths": ends + 1}).holds
    layer = settled(mrconv.MRConv(2, 32, kernel_size=4, dtype=F64))
    named = {"x": inputs["x"].transpose(1, 2), "lengths": ends}
    assert mrconv.verify(layer, inputs=named) == mrconv.verify(layer, inputs=tuple(named.values()))


def test_a_module_that_takes_no_lengths():
    module = torch.nn.Sequential(settled(mrconv.MRConv(4, 32, dtype=F64))).eval()
    proof = mrconv.verify(module, inputs=torch.randn(2, 4, 40, dtype=F64))
    assert proof.holds
    assert [row.place for row in unstreamed(proof)] == ["0", "output"]
