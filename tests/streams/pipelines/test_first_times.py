"""A first record whose time cannot be starts no clock: those after it fade, wait and expire as without it.

Whether a time is believed depends on the records alone. So a replay or rebuild, whenever it runs, ends with the same
bytes.
"""

from __future__ import annotations

import json
import logging
import time
from pathlib import Path

import pytest

from stream_bayes.core.events.unlearn_spans import Span
from stream_bayes.errors import NotSupported
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.streams.contracts.incidents import JUMPS, LATE_TIMES
from stream_bayes.streams.engine.challengers import promoted
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.pipelines.config import load_config
from stream_bayes.streams.pipelines.pipeline import build
from tests.whole_states import whole

DAY = 86_400.0
BEGIN = 1.42e9  # of 2015
FAR, RECENT, NEVER = 4.5e9, 1.75e9, 0.0  # of 2112, 2025 and 1970
FADING = """
name = "fading"
source = { kind = "jsonl", path = "days.jsonl", target = "y", key = "id", time = "at" }
model = { kind = "nb", arguments = { half_life = "1d" } }
snapshots = { directory = "state", every_events = 1, every_seconds = 3600.0 }
"""
NUMBERS = FADING.replace('"nb"', '"bayesian-regression"')
TARGETS = FADING.replace('"nb"', '"multi-target-regression"').replace('target = "y"', 'target = ["y", "z"]')
LABELLED = FADING + 'labels = { wait_for = "30d" }\n'
COUNTED = FADING + 'labels = { wait_for = 40, clock = "events" }\n'
WAITING = """
name = "waiting"
source = { kind = "jsonl", path = "days.jsonl", target = "y", key = "id", time = "at", type = "type" }
model = { kind = "nb" }
labels = { wait_for = "2d" }
"""
RAIN = ("rain", *["sun"] * 5)


def engine_of(directory: Path, text: str, rows: list[dict[str, object]], batch: int = 100) -> Engine:
    directory.mkdir(exist_ok=True)
    (directory / "days.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (directory / "days.toml").write_text(f"batch = {batch}\n{text}")
    return build(load_config(directory / "days.toml"), directory)


def days(first: float, labels: tuple[object, ...]) -> list[dict[str, object]]:
    """One record at a first time, then one a day."""
    times = [first, *(BEGIN + number * DAY for number in range(1, len(labels)))]
    return [
        {"id": number, "sky": "grey", "y": y, "at": at} | ({"z": 2 * y} if isinstance(y, float) else {})
        for number, (at, y) in enumerate(zip(times, labels, strict=True))
    ]


def state_of(engine: Engine) -> object:
    return whole(engine.step.freeze()())


@pytest.mark.parametrize("batch", [1, 2, 100])
@pytest.mark.parametrize(
    ("text", "labels"),
    [
        (FADING, RAIN),
        (LABELLED, RAIN),
        (COUNTED, RAIN),
        (NUMBERS, (9.0, *[5.0] * 5)),
        (TARGETS, (9.0, *[5.0] * 5)),
    ],
)
@pytest.mark.parametrize(("first", "counts_as"), [(FAR, 2 * DAY), (RECENT, 2 * DAY), (NEVER, DAY)])
def test_a_first_time_that_cannot_be_counts_as_one_of_the_next_two(
    tmp_path: Path, first: float, counts_as: float, text: str, labels: tuple[object, ...], batch: int
) -> None:
    engine = engine_of(tmp_path / "all", text, days(first, labels), batch)
    other = engine_of(tmp_path / "others", text, days(BEGIN + counts_as, labels))
    engine.run()
    other.run()
    assert whole(engine.step.model.freeze()()) == whole(other.step.model.freeze()())
    assert (engine.step.learned, engine.step.held, engine.step.dead_letters.counts) == (len(labels), 0, {})
    assert engine.times.incidents[LATE_TIMES if first == NEVER else JUMPS] == 1


@pytest.mark.parametrize("first", [FAR, RECENT, NEVER, BEGIN])
@pytest.mark.parametrize("text", [FADING, LABELLED, COUNTED])
def test_interrupted_after_each_record_and_replayed_a_century_later_it_ends_with_the_same_bytes(
    tmp_path: Path, text: str, first: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = days(first, RAIN)
    live = engine_of(tmp_path / "live", text, rows)
    live.run()
    for _ in rows:
        parts = engine_of(tmp_path / "parts", text, rows)
        parts.run(1)
        parts.source.close()
    assert state_of(parts) == state_of(live)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 36_500 * DAY)
    for _ in range(2):
        again = engine_of(tmp_path / "live", text, rows)
        again.run(rebuild=True)
        assert state_of(again) == state_of(live)


def test_what_is_not_learned_before_the_clock_starts_is_said_and_learned_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = days(FAR, RAIN)
    engine = engine_of(tmp_path, FADING, rows)
    with caplog.at_level(logging.WARNING):
        engine.run(2)
    assert (engine.step.processed, engine.step.learned, engine.step.held) == (2, 0, 2)
    assert "2 samples or labels are not learned yet" in caplog.text
    again = engine_of(tmp_path, FADING, rows)
    again.run()
    assert (again.step.processed, again.step.learned, again.step.held) == (6, 6, 0)


@pytest.mark.parametrize("first", [FAR, RECENT, NEVER])
def test_samples_expire_after_a_first_time_that_cannot_be(
    tmp_path: Path, first: float, caplog: pytest.LogCaptureFixture
) -> None:
    engine = engine_of(tmp_path, WAITING, days(first, (None,) * 7))
    with caplog.at_level(logging.WARNING):
        engine.run()
    assert engine.step.pending is not None
    assert engine.step.pending.counts["expired"] == 4  # the first, and those of days 1 to 3 on day 6
    assert "days from the other two of the first three" in caplog.text


def test_labels_corrections_and_tombstones_before_the_clock_starts_keep_their_order(tmp_path: Path) -> None:
    text = FADING.replace('time = "at"', 'time = "at", type = "type"') + 'labels = { wait_for = "30d" }\n'

    def rows(first: float) -> list[dict[str, object]]:
        begin = BEGIN + DAY
        return [
            {"id": "a", "sky": "grey", "at": first},
            {"type": "label", "id": "a", "y": "rain", "at": begin},
            {"type": "correction", "id": "a", "y": "sun", "at": begin + 60.0},
            {"id": "b", "sky": "blue", "y": "sun", "at": begin + 120.0},
        ]

    engine = engine_of(tmp_path / "all", text, rows(FAR))
    engine.run()
    assert engine.step.learned == 2 and engine.step.pending is not None
    counts = {name: count for name, count in engine.step.pending.counts.items() if count}
    assert counts == {"late": 1, "corrected": 1}
    weights = engine.step.model.model.store.by_name()
    assert weights["sun",] > 0.0 == weights.get(("rain",), 0.0)
    for _ in range(4):
        parts = engine_of(tmp_path / "parts", text, rows(FAR))
        parts.run(1)
        parts.source.close()
    assert state_of(parts) == state_of(engine)


@pytest.mark.parametrize("text", [FADING, WAITING])
def test_records_after_the_first_ones_of_1970_are_counted_while_the_clock_lags(
    tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    rows = days(NEVER, ("rain",) * 7)
    rows[1]["at"] = 5.0  # two that agree
    engine = engine_of(tmp_path / "clocked", text, rows)
    with caplog.at_level(logging.WARNING):
        engine.run()
    assert engine.times.incidents == {JUMPS: 5}
    assert not engine.step.dead_letters.counts
    assert "days ahead of the stream: the clock catches up in steps of max_skew" in caplog.text
    assert "5 records of this run had times further ahead of the stream than max_skew" in caplog.text
    unclocked = FADING.replace(', arguments = { half_life = "1d" }', "")
    other = engine_of(tmp_path / "unclocked", unclocked, rows)
    other.run()
    assert not other.times.incidents


def test_records_behind_two_first_ones_that_agree_on_a_wrong_time_are_counted_with_the_way_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = days(FAR, RAIN)
    rows[1]["at"] = FAR + 60.0
    engine = engine_of(tmp_path, FADING, rows)
    with caplog.at_level(logging.WARNING):
        engine.run()
    assert engine.times.incidents[LATE_TIMES] == 4
    assert "days in the future: alone it starts no clock" in caplog.text
    assert "days behind the stream (2112-08-07 08:01+00:00): it counts as that old" in caplog.text


@pytest.mark.parametrize("is_fading", [True, False])
def test_a_model_with_a_clock_and_a_challenger_without_one_change_places(
    tmp_path: Path, is_fading: bool
) -> None:
    kinds = ('kind = "nb"\narguments = { half_life = "1d" }', 'kind = "tan"')
    model, challenger = kinds if is_fading else kinds[::-1]

    def text(model: str, challenger: str) -> str:
        head = FADING.replace('model = { kind = "nb", arguments = { half_life = "1d" } }\n', "")
        return f'{head}[model]\n{model}\n[[challengers]]\nname = "other"\n{challenger}\n'

    rows = days(FAR, RAIN)
    engine_of(tmp_path, text(model, challenger), rows).run(2)
    store = SnapshotStore(tmp_path / "state")
    store.take_over()
    found = store.latest()
    assert found is not None
    store.save(promoted(found.snapshot, "other"))
    engine = engine_of(tmp_path, text(challenger, model), rows)
    engine.run()
    steps = (engine.step, engine.challengers.by_name["other"].step)
    assert [step.learned for step in steps] == [6, 6]
    assert [step.has_model_clock for step in steps] == [not is_fading, is_fading]


def test_nothing_is_unlearned_while_samples_wait_for_the_clock(tmp_path: Path) -> None:
    span = Span(0.0, FAR)
    for records, refused in ((1, True), (2, False)):
        engine = engine_of(tmp_path, LABELLED, days(BEGIN, RAIN))
        engine.run(records, rebuild=True)
        if refused:
            with pytest.raises(NotSupported, match="1 samples or labels are learned once the time"):
                engine.preview_unlearning(span)
        else:
            assert engine.preview_unlearning(span).total == 2


def test_labels_of_samples_without_times_are_dead_letters_and_wait_for_no_clock(tmp_path: Path) -> None:
    text = COUNTED.replace(', time = "at"', ', type = "type"')
    rows: list[dict[str, object]] = []
    for number in range(30):
        rows += [{"id": number, "sky": "grey"}, {"id": number, "type": "label", "y": "rain"}]
    engine = engine_of(tmp_path / "untimed", text, rows)
    engine.run()
    assert (engine.step.learned, engine.step.held) == (0, 0)
    assert engine.step.dead_letters.counts == {"refused": 30}


def test_labels_beyond_a_bound_do_not_wait_for_the_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stream_bayes.streams.engine.model_time.MOST_HELD", 10)
    text = COUNTED.replace('time = "at"', 'time = "at", type = "type"')
    rows: list[dict[str, object]] = [{"id": 0, "sky": "grey", "at": BEGIN}]
    rows += [{"id": number, "type": "label", "y": "rain"} for number in range(1, 30)]
    engine = engine_of(tmp_path / "labels", text, rows)
    engine.run()
    assert engine.step.held == 10
    engine = engine_of(
        tmp_path / "labels", text, [*rows, *({"id": n, "sky": "grey", "at": BEGIN} for n in range(1, 30))]
    )
    engine.run()
    assert (engine.step.learned, engine.step.held) == (29, 0)
