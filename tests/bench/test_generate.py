"""What ``bench generate`` lets run, its rows, bars, estimate, skips and picture."""

import json
from dataclasses import asdict, replace

import pytest
import torch

import mrconv
from mrconv.bench import Options, fresh_generate, generate, generate_memory, generate_rows, memory
from mrconv.bench.generate import generate_cases
from mrconv.bench.generate_memory import AGAIN, Memory, rise
from mrconv.bench.generate_models import (
    FULL,
    KINDS,
    QUICK,
    STREAMS,
    VOCABULARY,
    distilled,
    make_model,
    make_stream,
    merged_hyena,
    parameters,
)
from mrconv.bench.generate_rows import Bars, bandwidth_rows, cache_read, context_rows, needed
from mrconv.bench.generate_runs import (
    ROOM,
    Again,
    Generating,
    Prompt,
    mean_seconds,
    tile_places,
)
from mrconv.bench.timing import Pace, Turns
from mrconv.testing import assert_close

SIZES = replace(QUICK, seed=1)
KIND = {name: name.split(",")[0] for name in STREAMS}
ALL = (*STREAMS, AGAIN)


def prompted(name, context=40):
    return Prompt(make_stream(name, SIZES, context + ROOM), context, VOCABULARY, seed=2)


def prompt_tokens(context=40):
    noise = torch.Generator().manual_seed(2)
    return torch.randint(VOCABULARY, (1, context), generator=noise)


# ----------------------------------------------------------------------------------- the models


def test_models_have_equal_parameters():
    counts = [parameters(make_model(kind, FULL)) for kind in KINDS]
    assert max(counts) / min(counts) <= 1.02


@pytest.mark.parametrize("kind", ["Hyena", "MultiHyena"])
@torch.no_grad()
def test_distilled_models_give_what_the_model_gives(kind):
    sizes = replace(SIZES, length=300)
    model, small = make_model(kind, sizes), distilled(kind, sizes)
    layers = [one for one in small.modules() if isinstance(one, mrconv.nn.ModalRecurrence)]
    assert [(one.modes, one.fir_head) for one in layers] == [(sizes.order // 2, 1)] * sizes.depth
    x = torch.randint(VOCABULARY, (2, 200))
    assert_close(small.double()(x), model.double()(x), 1e-6)


@pytest.mark.parametrize("name", STREAMS)
@torch.no_grad()
def test_every_stream_generates_what_its_model_finds_likeliest(name):
    generating = Generating(prompted(name), batch=2)
    text = torch.cat([prompt_tokens(), generating.tokens[:1, None]], 1)
    for _ in range(3):
        text = torch.cat([text, generating.step()[:1, None]], 1)
    logits = make_model(KIND[name], SIZES)(text[:, :-1])
    assert torch.equal(logits[0, 39:].argmax(-1), text[0, 40:])
    assert torch.equal(generating.tokens[0], generating.tokens[1])


@torch.no_grad()
def test_running_again_gives_the_newest_token_of_every_row():
    again = Again(merged_hyena(SIZES), context=40, batch=3, seed=2)
    expected = make_model("Hyena", SIZES)(again.tokens)[:, -1].argmax(-1)
    assert torch.equal(again.step(), expected)
    assert (again.rows, again.pieces) == (3, 1)


@pytest.mark.parametrize(
    ("context", "batch", "rows", "pieces"), [(8192, 64, 2, 32), (16384, 1, 1, 1), (8192, 3, 2, 2)]
)
def test_long_contexts_are_run_again_in_pieces(context, batch, rows, pieces):
    again = Again(merged_hyena(SIZES), context, batch)
    assert (again.rows, again.pieces, tuple(again.tokens.shape)) == (rows, pieces, (rows, context))


# ------------------------------------------------------------------------------ the steady state


@pytest.mark.parametrize("name", STREAMS)
def test_the_context_stays_what_it_is(name):
    generating = Generating(prompted(name), batch=2)
    for _ in range(2 * ROOM + 3):
        generating.step()
    assert generating.state.tensors["position"].tolist() == [43, 43]
    generating.step_to(40)
    assert generating.state.tensors["position"].tolist() == [40, 40]


def test_every_row_has_a_memory_of_its_own():
    generating = Generating(prompted("attention"), batch=3)
    keys = dict(generating.state.named_tensors())["model.backbone.blocks.0.mixer.keys"]
    assert keys.untyped_storage().nbytes() == keys.nbytes
    assert (keys[2, :, :40] != 0).all()
    assert keys.shape[2] == 40 + ROOM


def test_shares_of_the_steps_are_those_of_the_schedule():
    for context in (32, 128, 1024):
        shares = tile_places(context)
        lowest = [min(place & -place, context) for place in range(1, context + 1)]
        for place, share in shares.items():
            if place == context + 1:
                expected = sum(size < 32 for size in lowest)
            else:
                expected = sum(size == min(place & -place, context) for size in lowest)
            assert share == expected / context
        assert sum(shares.values()) == 1


def test_the_mean_weighs_each_kind_of_step(monkeypatch):
    shares = tile_places(128)
    seconds = {str(place): [float(i), 10.0 * i] for i, place in enumerate(shares)}
    monkeypatch.setattr("mrconv.bench.generate_runs.take_turns", lambda calls, pace: Turns(seconds))
    generating = Generating(prompted("Hyena, exact stream", 128), batch=1)
    assert list(shares.values()) == [1 - 1 / 32, 1 / 64, 1 / 128, 1 / 128]
    expected = 1 / 64 + 2 / 128 + 3 / 128
    assert mean_seconds(generating, Pace(0)) == pytest.approx([expected, 10 * expected])


# --------------------------------------------------------------------------------- what is told


def test_the_estimate_is_the_cache_over_the_speed_of_memory():
    turns = Turns({"attention": [0.3, 0.4], "memory read": [0.1, 0.2]})
    speed, estimate, ratio = bandwidth_rows("here", turns, cache=4e9, read=int(2e9))
    assert (speed.name, speed.value, speed.unit) == ("memory read, here", 15.0, "GB/s")
    # 20 and 10 GB/s: 0.2 and 0.4 s
    assert estimate.name == "bandwidth estimate, here: cache read"
    assert (estimate.value, estimate.unit) == (pytest.approx(300.0), "ms")
    assert ratio.name == "bandwidth estimate, here: attention / cache read"
    assert ratio.value == pytest.approx((1.5 + 1.0) / 2)


def test_bytes_of_the_cache_that_a_step_reads():
    generating = Generating(prompted("attention"), batch=3)
    # keys and values, float32, of 40 tokens and the new one
    assert cache_read(generating) == 2 * 4 * 3 * SIZES.channels * SIZES.depth * 41


def test_the_exact_stream_needs_room_for_its_largest_tile():
    assert needed(100, 8, "attention", row_bytes=7, batch=3) == 21
    assert needed(100, 8, "Hyena, exact stream", row_bytes=7, batch=3) == 3 * (7 + 4 * 4 * 200 * 8)


@pytest.mark.parametrize("name", ["Hyena, distilled", "MultiHyena, distilled"])
def test_the_memory_of_a_distilled_model_is_a_tenth_of_the_cache_at_most(name):
    """At the sizes of the bench, where the issue sets the bar: 8,192 tokens."""
    small = make_stream(name, FULL, 1).init_state(1).nbytes
    cache = 2 * 4 * FULL.channels * FULL.depth * 8192
    assert small / cache <= 0.1


# --------------------------------------------------------------------------------- rows and bars


def rows_of(found):
    rows = {row.name: row for row in found if not isinstance(row, str)}
    assert len(rows) == sum(not isinstance(row, str) for row in found)
    return rows


def test_rows_of_the_quick_bench():
    found = [
        row for case in generate_cases(Options(quick=True, repeats=1)) for row in case.measure()
    ]
    rows = rows_of(found)
    assert not [row.name for row in rows.values() if row.bar is not None]
    for batch in (1, 2):
        for context in (32, 64):
            what = f"batch {batch}, {context} tokens"
            for name in ALL:
                step, speed = (
                    rows[f"step, {what}: {name}"],
                    rows[f"tokens per second, {what}: {name}"],
                )
                assert speed.value == pytest.approx(1000 * batch / step.value)
                assert rows[f"peak memory, {what}: {name}"].unit == "MB"
            assert rows[f"bandwidth estimate, {what}: cache read"].unit == "ms"
            # positions of the stream and of its attention, 8 bytes each
            cache = batch * (2 * 4 * SIZES.channels * SIZES.depth * (context + ROOM) + 16)
            assert rows[f"state, {what}: attention"].value == cache / 1e6
    for name in STREAMS:
        assert rows[f"prompt of one row, 64 tokens: {name}"].unit == "s"
    assert rows["parameters: attention"].value == parameters(make_model("attention", QUICK))


@pytest.fixture
def timed(monkeypatch):
    """Fixed times: each turn takes what its contestant is given here; nothing else is measured."""
    seconds = {"attention": 1.2, "Hyena, distilled": 0.1, "MultiHyena, distilled": 0.15}
    monkeypatch.setattr(
        generate_rows,
        "take_turns",
        lambda calls, pace: Turns({name: [seconds.get(name, 1.0)] for name in calls}),
    )
    monkeypatch.setattr(generate_rows, "mean_seconds", lambda generating, pace: [2.0])
    monkeypatch.setattr(generate_rows, "peak_bytes", lambda name, setting: 7_000_000)
    return seconds


def test_bars_are_decided_by_the_numbers(timed):
    batches = {1: Bars(), 2: Bars(speed=10.0, memory=0.4)}
    rows = rows_of(list(context_rows(64, batches, SIZES, Options(), {})))
    barred = {name: row for name, row in rows.items() if row.bar is not None}
    step, state = "step, batch 2, 64 tokens: attention", "state, batch 2, 64 tokens"
    assert {name: (row.bar, row.better, row.holds) for name, row in barred.items()} == {
        f"{step} / Hyena, distilled": (10.0, "higher", True),
        f"{step} / MultiHyena, distilled": (10.0, "higher", False),
        f"{state}: Hyena, distilled / attention": (0.4, "lower", True),
        f"{state}: MultiHyena, distilled / attention": (0.4, "lower", True),
    }
    assert rows[f"{step} / MultiHyena, distilled"].value == pytest.approx(8.0)
    assert rows["tokens per second, batch 2, 64 tokens: attention"].value == pytest.approx(2 / 1.2)
    assert rows[f"peak memory, batch 2, 64 tokens: {AGAIN}"].value == 7.0


def test_the_bars_stand_where_the_issue_sets_them(monkeypatch):
    given = {}
    monkeypatch.setattr(
        generate,
        "context_rows",
        lambda tokens, batches, *rest: given.update({tokens: batches}) or [],
    )
    for case in generate_cases(Options())[1:]:
        list(case.measure())
    assert list(given) == [512, 2048, 8192, 16384]
    assert all(list(batches) == [1, 16, 64] for batches in given.values())
    barred = [(t, b) for t, batches in given.items() for b in batches if batches[b] != Bars()]
    assert barred == [(8192, 64)]
    assert given[8192][64] == Bars(speed=10.0, memory=0.1)


def test_equal_parameters_are_a_bar():
    *counts, ratio = generate_cases(Options())[0].measure()
    assert [row.name for row in counts] == [f"parameters: {kind}" for kind in KINDS]
    assert (ratio.bar, ratio.better, ratio.holds) == (1.02, "lower", True)


def test_what_does_not_fit_is_skipped_with_a_sentence(timed, monkeypatch):
    free = 60_000
    monkeypatch.setattr(generate_rows, "available_memory", lambda: free)
    found = list(context_rows(64, {2: Bars()}, SIZES, Options(), {}))
    sentences = [row for row in found if isinstance(row, str)]
    assert sentences == [
        "  batch 2, 64 tokens: Hyena, exact stream skipped, it needs 0.0 GB of the 0.0 GB that are "
        "free"
    ]
    rows = rows_of(found)
    assert "step, batch 2, 64 tokens: Hyena, exact stream" not in rows
    assert "peak memory, batch 2, 64 tokens: Hyena, exact stream" not in rows
    assert "state, batch 2, 64 tokens: Hyena, exact stream" in rows
    monkeypatch.setattr(generate_rows, "available_memory", lambda: 1)
    rows = rows_of(list(context_rows(64, {2: Bars(speed=10.0)}, SIZES, Options(), {})))
    assert not [name for name in rows if name.startswith("step") and AGAIN not in name]
    monkeypatch.setattr(generate_rows, "available_memory", lambda: None)  # not told
    assert not [
        one for one in context_rows(64, {2: Bars()}, SIZES, Options(), {}) if "skip" in str(one)
    ]


def test_a_context_of_many_rows_says_how_it_is_run_again(timed):
    found = list(context_rows(64, {512: Bars()}, SIZES, Options(), {}))
    assert (
        "  batch 512, 64 tokens: Hyena, run again in 2 pieces of 256 rows, one of which is timed"
        in found
    )
    rows = rows_of(found)
    assert rows["step, batch 512, 64 tokens: Hyena, run again"].value == pytest.approx(2000.0)


# ----------------------------------------------------------------------------------------- memory


def test_the_peak_holds_the_cache():
    setting = Memory(replace(SIZES, channels=64), context=512, batch=64)
    cache = 64 * 2 * 4 * 64 * (512 + ROOM)
    assert cache <= rise("attention", setting) < 3 * cache


def test_a_process_of_its_own_is_told_all(monkeypatch, capsys):
    told = []
    monkeypatch.setattr(generate_memory, "bytes_told", lambda words: told.append(words) or 5)
    setting = Memory(SIZES, 32, 2)
    assert generate_memory.peak_bytes(AGAIN, setting) == 5
    ((_, *module, name, threads, content),) = told
    assert (module, name) == (["-m", "mrconv.bench.fresh_generate"], AGAIN)
    assert (int(threads), json.loads(content)) == (torch.get_num_threads(), asdict(setting))
    seen = []
    monkeypatch.setattr(fresh_generate, "rise", lambda *given: seen.append(given) or 6)
    assert fresh_generate.main([name, threads, content]) == 6
    assert seen == [(AGAIN, setting)]


def test_available_memory_is_read_from_the_system(monkeypatch, tmp_path):
    path = tmp_path / "meminfo"
    path.write_text("MemTotal:  9 kB\nMemAvailable:    3 kB\n")
    monkeypatch.setattr(memory, "WHOLE", path)
    assert memory.available_memory() == 3 * 1024
    monkeypatch.setattr(memory, "WHOLE", tmp_path / "missing")
    assert memory.available_memory() is None


# ---------------------------------------------------------------------------------- the picture


def test_the_picture_shows_every_contestant(timed, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib", reason="needs: pip install 'mrconv[report]'")
    path = tmp_path / "generate.svg"
    cases = generate_cases(Options(quick=True, picture=str(path)))
    list(cases[1].measure())
    assert list(cases[-1].measure()) == [f"picture: {path}"]
    text = path.read_text()
    for word in (*ALL, "tokens per second", "peak memory (MB)", "batch 1", "context (tokens)"):
        assert word in text


def test_generation_is_measured_on_the_cpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    (case,) = generate_cases(Options(device="cuda"))
    assert list(case.measure()) == ["  generation skipped, it is measured on the CPU only"]
