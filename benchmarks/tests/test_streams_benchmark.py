"""The benchmark of public streams measures what it says, prints losses like wins, and repeats nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from river import dummy

import stream_bayes
from benchmarks.results import KeptResults
from benchmarks.streams import __main__ as command
from benchmarks.streams import cadrift
from benchmarks.streams.costs import SHAPES, Times, events_of, times
from benchmarks.streams.late import scored_late
from benchmarks.streams.moa import MoaClassifier
from benchmarks.streams.models import MODELS
from benchmarks.streams.ranks import (
    control_difference,
    critical_difference,
    holm,
    mean_ranks,
    picture,
    signed_rank_probability,
)
from benchmarks.streams.report import compared, report
from benchmarks.streams.scoring import block_interval, calibration_error, kappa_temporal, score
from benchmarks.streams.sources import KEEL_TABLES, STREAMS, Stream
from stream_bayes import AdaptiveBayes


class Sure:
    """A model that gives "a" a fixed probability."""

    memory_bytes = 2_000_000

    def __init__(self, probability: float) -> None:
        self.probability = probability

    def predict_proba_one(self, x: dict[str, Any]) -> dict[str, float]:
        return {"a": self.probability, "b": 1 - self.probability}

    def learn_one(self, x: dict[str, Any], y: str) -> None:
        pass


def made(events: int = 400) -> Iterator[tuple[dict[str, Any], str]]:
    for number in range(events):
        yield {"n": float(number % 7)}, "ab"[number % 4 == 3]


def test_the_measures_are_those_of_their_definitions() -> None:
    measured = score(Sure(0.75), made())
    assert (measured.events, measured.accuracy, measured.megabytes) == (400, 0.75, 2.0)
    assert measured.ece is None  # too short a stream
    doubt = 1e-3
    expected = -0.75 * np.log((1 - doubt) * 0.75 + doubt / 2) - 0.25 * np.log((1 - doubt) * 0.25 + doubt / 2)
    assert measured.log_loss == pytest.approx(expected, abs=0.005)
    no_change = score(dummy.NoChangeClassifier(), made())
    assert no_change.accuracy == pytest.approx(0.5, abs=0.01)
    assert no_change.kappa_temporal == pytest.approx(0.0, abs=0.02)
    assert kappa_temporal(0.4, 0.5) == -0.2


def test_a_label_is_learned_so_many_events_after_its_sample_as_it_was_held() -> None:
    learned: list[Any] = []

    class Last:
        """A model that answers with the label that it learned last, and notes what it learns."""

        def predict_proba_one(self, x: dict[str, Any]) -> dict[str, float]:
            return {learned[-1][1]: 1.0} if learned else {}

        def hold(self, x: dict[str, Any]) -> dict[str, Any]:
            return {**x, "held after": len(learned)}

        def learn_one(self, x: dict[str, Any], y: str) -> None:
            learned.append((x, y))

    samples = [({"n": n}, "ab"[n // 3 % 2]) for n in range(9)]  # aaabbbaaa
    accuracy, loss = scored_late(Last(), samples, 3, True)
    assert learned == [({"n": n, "held after": max(0, n - 3)}, samples[n][1]) for n in range(6)]
    assert accuracy == pytest.approx(
        1 / 5
    )  # the label of four events ago is right once, of those that have one
    assert loss == pytest.approx((4 * math.log(2000) + 0.0005) / 5, rel=1e-3)
    learned.clear()
    assert scored_late(Last(), samples, 0, False)[0] == pytest.approx(6 / 8)


def test_calibration_is_the_distance_from_what_is_right() -> None:
    hits = np.array([1.0, 1, 1, 0] * 500)
    assert calibration_error(hits, np.full(2000, 0.75)) == pytest.approx(0.0)
    assert calibration_error(hits, np.full(2000, 0.95)) == pytest.approx(0.2)
    assert score(Sure(0.95), made(3000)).ece == pytest.approx(0.2)


def test_errors_in_runs_widen_the_interval() -> None:
    mixed = np.array([1.0, 0.0] * 5000)
    in_runs = np.repeat(np.array([1.0, 0.0] * 10), 500)
    low, high = block_interval(in_runs)
    assert high - low > 0.15
    narrow = block_interval(mixed)
    assert narrow[1] - narrow[0] < 0.01


def test_ranks_and_their_critical_difference_are_the_published() -> None:
    assert mean_ranks({"a": [1.0, 1.0], "b": [0.5, 1.0]}) == {"a": 1.25, "b": 1.75}
    # Demsar (2006), table 5: q of 2, 4 and 10 models at 5 %.
    for models, quantile in ((2, 1.960), (4, 2.569), (10, 3.164)):
        expected = quantile * np.sqrt(models * (models + 1) / (6 * 14))
        assert critical_difference(models, 14) == pytest.approx(expected, abs=0.002)
    # Table 5 (b): q against one model, by Bonferroni and Dunn.
    for models, quantile in ((2, 1.960), (4, 2.394), (10, 2.773)):
        expected = quantile * np.sqrt(models * (models + 1) / (6 * 14))
        assert control_difference(models, 14) == pytest.approx(expected, abs=0.002)
    drawn = picture({"ours & theirs": 1.2, "b": 1.8}, 0.9, 14)
    assert "ours &amp; theirs 1.20" in drawn and drawn.startswith("<svg")


def test_signed_ranks_are_the_published_and_those_of_all_signs() -> None:
    # Demsar (2006), table 2: C4.5 with another parameter on 14 data sets; z = -2.54.
    published = [5, -8, 17, 33, 6, -5, 7, 0, 63, 0, 22, 47, 9, 21]
    assert signed_rank_probability([each / 1000 for each in published]) == pytest.approx(0.011, abs=5e-4)
    different = [0.5, -1.25, 2.0, 3.5, -0.25, 4.0, 0.75]
    ranks = np.argsort(np.argsort(np.abs(different))) + 1
    found = ranks @ np.sign(different)
    sums = [ranks @ np.array(signs) for signs in product((-1, 1), repeat=len(ranks))]
    exact = sum(abs(each) >= abs(found) for each in sums) / len(sums)
    assert signed_rank_probability(different) == pytest.approx(exact, rel=1e-12)
    assert signed_rank_probability([0.0, 0.0]) == 1.0


def test_holm_corrects_the_least_probability_most_and_never_changes_their_order() -> None:
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005}) == pytest.approx(
        {"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02}
    )
    assert holm({"a": 0.5, "b": 0.6}) == {"a": 1.0, "b": 1.0}


def row(model: str, stream: str, accuracy: float) -> dict[str, Any]:
    measured = dict.fromkeys(("low", "high", "kappa_temporal", "log_loss", "microseconds", "megabytes"), 0.5)
    return measured | {
        "model": model,
        "stream": stream,
        "accuracy": accuracy,
        "events": 9,
        "ece": None,
        "command": "c",
    }


def test_losses_and_what_was_tuned_are_reported_like_wins() -> None:
    one, other, third = list(STREAMS)[:3]
    rows = [row("AdaptiveBayes", one, 0.9), row("peer", one, 0.8), row("AdaptiveBayes", other, 0.7)]
    rows += [row("peer", other, 0.75), row("AdaptiveBayes", third, 0.9)]
    rows.append({"model": "peer", "stream": third, "error": "ValueError: no"})
    rows[0]["ece"], rows[2]["ece"] = 0.01, 0.05
    text = report(rows)
    assert "AdaptiveBayes is the most accurate." in text
    assert "AdaptiveBayes loses to peer." in text
    assert f"peer did not finish {third}: ValueError: no" in text
    assert all(name in text.partition("Nobody tuned")[0] for name, each in STREAMS.items() if each.tuned)
    assert "| peer | 2 | 1 | -5.00 | 0 | 1.00 |" in text
    assert f"- {other}: peer by 5.00" in text
    assert f"- {one}: " not in text
    assert "over all streams: at least as accurate on 1 of 2, within 1 point on 1." in text
    assert "of at most 2 %: on 1 of 2 streams." in text
    assert compared(rows) == ({"AdaptiveBayes": [0.9, 0.7], "peer": [0.8, 0.75]}, [one, other])


def test_rows_of_a_learner_with_other_experts_are_said_to_be_older() -> None:
    rows = [row("AdaptiveBayes", "sea", 0.9), row("River no-change", "sea", 0.5)]
    assert "The rows of AdaptiveBayes are older" in report(rows)
    rows[0]["experts"] = len(AdaptiveBayes().experts_)
    assert "are older" not in report(rows)


@pytest.mark.skipif(not stream_bayes.compiled, reason="the benchmark refuses the uncompiled build")
def test_a_run_adds_what_is_missing_and_names_its_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(STREAMS):
        monkeypatch.delitem(STREAMS, name)
    monkeypatch.setitem(STREAMS, "short", Stream(lambda _: made(60), "here"))
    monkeypatch.setitem(STREAMS, "other", Stream(lambda _: made(50), "here"))
    results = tmp_path / "results.jsonl"
    given = ["--events", "40", "--results", str(results), "--model", "^(AdaptiveBayes|River no-change)$"]
    command.main(given)
    rows = list(KeptResults(results))
    assert [(each["model"], each["stream"], each["events"]) for each in rows] == [
        *(("AdaptiveBayes", "short", 40), ("AdaptiveBayes", "other", 40)),
        *(("River no-change", "short", 40), ("River no-change", "other", 40)),
    ]
    assert (
        rows[0]["command"]
        == "python -m benchmarks.streams --events 40 --model '^AdaptiveBayes$' --stream '^short$'"
    )
    before = results.read_bytes()
    command.main(given)
    assert results.read_bytes() == before
    command.main([*given, "--stream", "short", "--renew"])
    renewed = list(KeptResults(results))
    assert renewed[:2] == [rows[1], rows[3]]
    assert [(each["model"], each["stream"]) for each in renewed[2:]] == [
        ("AdaptiveBayes", "short"),
        ("River no-change", "short"),
    ]
    assert [each["log_loss"] for each in renewed[2:]] == [rows[0]["log_loss"], rows[2]["log_loss"]]
    assert "Mean ranks" in results.with_suffix(".md").read_text()
    assert results.with_suffix(".svg").read_text().startswith("<svg")


@pytest.mark.parametrize("name", [name for name, each in STREAMS.items() if each.origin.startswith("River")])
def test_a_stream_is_the_same_each_time(name: str, tmp_path: Path) -> None:
    once, again = (
        [sample for sample, _ in zip(STREAMS[name].samples(tmp_path), range(30), strict=False)] for _ in "12"
    )
    assert once == again
    assert len(once) == 30
    assert {type(y) for _, y in once} == {str}


def test_each_model_learns_numbers_and_names() -> None:
    for name, make in MODELS.items():
        if name == "River ARF(100)":
            continue  # as ARF(10)
        model = make()
        for number in range(12):
            model.learn_one({"n": float(number), "sky": "grey" if number % 3 else "blue"}, "ab"[number % 2])
        assert set(model.predict_proba_one({"n": 3.0, "sky": "grey"})) <= {"a", "b"}, name


def test_a_model_that_finished_few_streams_is_left_out_of_the_ranks_and_named() -> None:
    rows = [row(model, stream, 0.5) for stream in list(STREAMS)[:4] for model in ("AdaptiveBayes", "peer")]
    rows.append(row("slow", next(iter(STREAMS)), 0.9))
    table, streams = compared(rows)
    assert (list(table), len(streams)) == (["AdaptiveBayes", "peer"], 4)
    assert "Left out, as they have finished too few streams: slow." in report(rows)


def test_our_learners_are_ranked_against_peers_and_listed_apart() -> None:
    rows = []
    for place, stream in enumerate(list(STREAMS)[:9]):
        rows += [row("AdaptiveBayes", stream, 0.9), row("AODE", stream, 0.95)]
        rows += [
            row("worse", stream, 0.8 - place / 100),
            row("equal", stream, 0.9),
            row("mixed", stream, 0.9 + (-1) ** place / 100),
        ]
    table, streams = compared(rows)
    assert (list(table), len(streams)) == (["AdaptiveBayes", "worse", "equal", "mixed"], 9)
    text = report(rows)
    ours, others, losses = (
        text.index(title) for title in ("each peer", "our other learners", "a peer is more")
    )
    assert ours < text.index("| worse | 9 ") < others < text.index("| AODE | 9 | 0 | -5.00 |") < losses
    # Exact for nine distinct differences of one sign: 2 / 2^9, three tests.
    assert "| worse | 9 | 9 | 0 | 0 | +14.00 | 0.012 | better |" in text
    assert "| equal | 9 | 0 | 0 | 9 | +0.00 | 1 | not significant |" in text
    assert "| mixed | 9 | 4 | 5 | 0 | -1.00 | 1 | not significant |" in text
    assert "it ranks better than worse; no difference is shown to mixed, equal." in text


def test_a_table_of_keel_is_shuffled_and_its_missing_values_are_left_out(tmp_path: Path) -> None:
    table = tmp_path / KEEL_TABLES / "chess.dat"
    table.parent.mkdir(parents=True)
    table.write_text(
        "@relation chess\n" + "".join(f"{n}, ab{n % 2}, ?, won\n" for n in range(40)) + "7,?,1.5,nowin\n"
    )
    samples = list(STREAMS["keel chess"].samples(tmp_path))
    assert len(samples) == 41
    assert [x["column 1"] for x, _ in samples] != sorted(x["column 1"] for x, _ in samples)
    assert ({"column 1": 7.0, "column 3": 1.5}, "nowin") in samples
    assert {type(x["column 2"]) for x, y in samples if y == "won"} == {str}


def test_a_table_of_cadrift_is_read_without_its_missing_values_and_made_once(tmp_path: Path) -> None:
    for name in cadrift.CADRIFT:
        (tmp_path / f"{name}.csv").write_text("x0,y,x1\n1.5,3.0,2.0\n,1.0,-0.5\n")
    cadrift.make(tmp_path)  # all tables are there, so nothing is cloned
    assert not (tmp_path / "CaDrift").exists()
    for name in cadrift.CADRIFT:
        samples = list(STREAMS[name].samples(tmp_path))
        assert samples == [({"x0": 1.5, "x1": 2.0}, "3.0"), ({"x1": -0.5}, "1.0")]


def test_models_take_turns_over_the_same_events_and_halves_are_timed_apart() -> None:
    class Noting:
        def __init__(self) -> None:
            self.learned: list[Any] = []

        def predict_proba_one(self, x: dict[str, Any]) -> dict[str, float]:
            return {}

        def learn_one(self, x: dict[str, Any], y: int) -> None:
            self.learned.append((x, y))

    class Slower(Noting):
        """Takes more time in the second half."""

        def learn_one(self, x: dict[str, Any], y: int) -> None:
            super().learn_one(x, y)
            sum(range(20_000 if len(self.learned) > 200 else 20))

    for shape in (SHAPES[0], SHAPES[-1]):
        models = Noting(), Slower()
        measured = times(models, shape, 400, seed=3)
        assert models[0].learned == models[1].learned and len(models[0].learned) == 400
        assert models[0].learned[:9] == [next(stream) for stream in [events_of(shape, 3)] for _ in range(9)]
        x, _ = models[0].learned[0]
        assert len(x) == shape.numbers + shape.names
        assert {y for _, y in models[0].learned} == set(range(shape.classes))
        assert measured[1].second > 5 * measured[1].first
    assert str(Times(1234.4, 5.0)) == "1,234 to 5 us"


def test_a_classifier_of_moa_is_given_features_and_classes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    made: dict[str, Any] = {}

    class Part:
        """The parts of CapyMOA that `MoaClassifier` calls: schemas, instances and classifiers."""

        @staticmethod
        def from_custom(features: list[str], target: str, categories: dict[str, Any], name: str) -> str:
            made.update(features=features, target=target, categories=categories)
            return "schema"

        @staticmethod
        def from_array(schema: str, vector: Any, label: int | None = None) -> tuple[list[float], int | None]:
            return vector.tolist(), label

        def __init__(self, schema: str = "", ensemble_size: int = 0) -> None:
            made["size"] = ensemble_size

        def train(self, sample: Any) -> None:
            made["learned"] = sample

        def predict_proba(self, sample: Any) -> Any:
            made["asked"] = sample
            return np.array([0.25, 0.75])

    module = type("Module", (), {"Schema": Part, "Instance": Part, "LabeledInstance": Part, "Forest": Part})
    monkeypatch.setattr("benchmarks.streams.moa.import_module", lambda _: module)
    model = MoaClassifier("Forest", ensemble_size=3)
    model.declare([({7: 1.5, "sky": "grey"}, "wet"), ({7: 2, "sky": "blue"}, "dry")])
    assert made["categories"] == {"sky": ["grey", "blue"], made["target"]: ["dry", "wet"]}
    assert (made["features"], made["size"]) == (["7", "sky", made["target"]], 3)
    model.learn_one({7: 4, "sky": "blue"}, "wet")
    assert made["learned"] == ([4.0, 1.0], 1)
    assert model.predict_proba_one({"sky": "grey"}) == {"dry": 0.25, "wet": 0.75}
    assert np.isnan(made["asked"][0][0]) and made["asked"][0][1] == 0.0
