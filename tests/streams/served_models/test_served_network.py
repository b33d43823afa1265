"""Networks without a class behind the engine: events are scored, their variables predicted, and then learned."""

from __future__ import annotations

import json
import random
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from stream_bayes import DriftAdaptive, Schema, streams
from stream_bayes.core.events.event import Event
from stream_bayes.errors import BadConfig, BadValue
from stream_bayes.networks import BayesNet, BayesNetClassifier
from stream_bayes.streams import Pending
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.served_models.served import served
from tests.streams.lists import ListSink, ListSource

STRUCTURE: dict[str, list[str]] = {"user": [], "country": ["user"], "hour": []}


def days(count: int) -> list[dict[str, str]]:
    users = ("ann", "bob", "cy")
    return [
        {"user": users[k * k % 5 % 3], "country": ("DE", "FR", "IT")[k * k % 5 % 3], "hour": f"h{k % 4}"}
        for k in range(count)
    ]


def run(events: list[Any], model: Any, **settings: Any) -> tuple[list[Any], Any]:
    outputs: list[Any] = []
    result = streams.run(events, model, predictions=outputs.extend, **settings)
    return outputs, result


def test_an_event_is_scored_before_it_is_learned() -> None:
    outputs, result = run(days(200), BayesNet(STRUCTURE), batch=7)
    model = BayesNet(STRUCTURE)
    assert [output.score for output in outputs] == [model.score_learn_one(x) for x in days(200)]
    assert (result.learned, result.dead_letters, result.model.clock) == (200, {}, 200)
    others, _ = run(days(200), BayesNet(STRUCTURE), batch=64)
    assert [output.p_value for output in outputs] == [output.p_value for output in others]


def test_a_planted_event_scores_highest_and_its_new_value_is_named() -> None:
    planted = {"user": "ann", "country": "FR", "hour": "h1"}
    outputs, _ = run([*days(300), planted, {**planted, "user": "eve"}], BayesNet(STRUCTURE))
    usual = max(output.score for output in outputs[30:300])
    assert outputs[300].score > usual + 3.0
    assert 0.0 < outputs[300].p_value < 0.005 and outputs[300].p_value < min(
        o.p_value for o in outputs[30:300]
    )
    assert outputs[300].novel == ()
    assert outputs[301].novel == ("user",)


@pytest.mark.parametrize("follows_drift", [False, True])
def test_an_event_whose_score_would_need_too_much_memory_is_learned_without(
    follows_drift: bool, caplog: pytest.LogCaptureFixture
) -> None:
    roots = [f"a{k}" for k in range(18)]  # once they are missing they depend on one another: 2 ** 18 cells
    structure: dict[str, list[str]] = {name: [] for name in roots}
    structure |= {f"{a}{b}": [a, b] for a, b in combinations(roots, 2)}
    rng, events = random.Random(1), []
    for number in range(40):
        x = {name: rng.random() < 0.5 for name in roots}
        events.append(x | {name: rng.random() < 0.5 for name, parents in structure.items() if parents})
        if number in (30, 35):
            for name in roots:
                del events[-1][name]
    network = BayesNet(structure, memory_budget=300_000)
    outputs, result = run(events, DriftAdaptive(network, window=200) if follows_drift else network)
    assert [k for k, output in enumerate(outputs) if output.score is None] == [30, 35]
    assert (result.learned, result.dead_letters, result.model.clock) == (40, {}, 40)
    assert sum("no score of events" in record.message for record in caplog.records) == 1


def test_variables_are_predicted_from_the_others_and_scored() -> None:
    outputs, result = run(days(200), BayesNet(STRUCTURE), predict=["country"])
    assert outputs[-1].prediction == days(200)[-1]["country"]
    assert outputs[-1].probabilities[outputs[-1].prediction] > 0.95
    assert result.losses.cumulative.accuracy > 0.95
    both, _ = run(days(200), BayesNet(STRUCTURE), predict=["country", "hour"])
    assert set(both[-1].prediction) == set(both[-1].probabilities) == {"country", "hour"}
    model, *last = BayesNet(STRUCTURE), days(200)[-1]
    model.learn_many(days(200)[:-1])  # what is predicted is no evidence for another prediction
    for name in ("country", "hour"):
        rest = {v: value for v, value in last[0].items() if v not in ("country", "hour")}
        expected = {str(value): p for value, p in model.predict_proba_one(rest, name).items()}
        assert both[-1].probabilities[name] == pytest.approx(expected)


def test_missing_values_and_a_hidden_variable_come_through_the_engine() -> None:
    schema = Schema({"kind": ["one", "other"], "user": ["ann", "bob"], "country": ["DE", "FR"]})
    model = BayesNet(
        {"kind": [], "user": ["kind"], "country": ["kind"]}, schema=schema, missing="window-em", window=100
    )
    pairs = [("ann", "DE"), ("bob", "FR")]
    events = [dict(zip(("user", "country"), pairs[k % 2], strict=True)) for k in range(200)]
    for k in range(0, 200, 7):
        events[k].pop("country")
    outputs, result = run(events, model, predict=["kind", "country"])
    assert result.learned == 200
    kinds = {output.prediction["kind"] for output in outputs[150:]}
    assert kinds == {"one", "other"}
    assert outputs[-1].prediction["country"] == "FR"


def test_a_label_is_refused_with_what_to_do() -> None:
    letters: list[Any] = []
    _, result = run([(x, "yes") for x in days(3)], BayesNet(STRUCTURE), dead_letters=letters.extend)
    assert result.dead_letters == {"refused": 3}
    assert "leave target out" in letters[0].detail
    with pytest.raises(BadValue, match="wait for no labels"):
        run(days(3), BayesNet(STRUCTURE), late_labels=Pending())
    with pytest.raises(BadValue, match="predicts its class"):
        streams.run(days(3), BayesNetClassifier(), predict=["hour"])


@pytest.mark.parametrize("predict", [[], ["hour"], ["hour", "country"]])
def test_a_pipeline_that_is_resumed_writes_the_same_answers(tmp_path: Path, predict: list[str]) -> None:
    (tmp_path / "days.jsonl").write_text("".join(json.dumps(x) + "\n" for x in days(120)))
    (tmp_path / "network.json").write_text(json.dumps(STRUCTURE))
    for name in ("whole", "parts"):
        (tmp_path / f"{name}.toml").write_text(f"""
            name = "visits"
            source = {{ kind = "jsonl", path = "days.jsonl" }}
            model = {{ kind = "bayes-net", structure = "network.json", predict = {json.dumps(predict)} }}
            predictions = {{ kind = "csv", path = "{name}.csv" }}
            snapshots = {{ directory = "{name}" }}
        """)
    streams.pipeline(tmp_path / "whole.toml").run()
    for stop in (50, 30, 40):
        streams.pipeline(tmp_path / "parts.toml").run(stop)
    assert (tmp_path / "parts.csv").read_text() == (tmp_path / "whole.csv").read_text()
    assert (tmp_path / "whole.csv").read_text().splitlines()[0].endswith(",score,novel,p_value")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ('{ kind = "bayes-net" }', "model.structure: is missing"),
        ('{ kind = "bayes-net", structure = "network.txt" }', "expected a file .bif, .xml"),
        ('{ kind = "bayes-net", structure = "none.json" }', "holds no object"),
        (
            '{ kind = "bayes-net", structure = "network.json", predict = ["hoor"] }',
            "expected variables of the",
        ),
        ('{ kind = "aode", predict = ["hour"] }', "predict is for models without a class"),
    ],
)
def test_a_wrong_table_says_what_to_change(tmp_path: Path, model: str, message: str) -> None:
    (tmp_path / "network.json").write_text(json.dumps(STRUCTURE))
    path = tmp_path / "visits.toml"
    path.write_text(f'name = "visits"\nsource = {{ kind = "jsonl", path = "days.jsonl" }}\nmodel = {model}\n')
    (tmp_path / "days.jsonl").write_text('{"user": "ann"}\n')
    with pytest.raises(BadConfig, match=message):
        streams.pipeline(path)


def test_a_structure_that_grows_is_followed_through_restarts(tmp_path: Path) -> None:
    (tmp_path / "days.jsonl").write_text("".join(json.dumps(x) + "\n" for x in days(400)))
    for name in ("whole", "parts"):
        (tmp_path / f"{name}.toml").write_text(f"""
            name = "visits"
            source = {{ kind = "jsonl", path = "days.jsonl" }}
            predictions = {{ kind = "jsonl", path = "{name}.jsonl" }}
            snapshots = {{ directory = "{name}" }}
            [model]
            kind = "bayes-net"
            structure = "learn"
            predict = ["country"]
            arguments = {{ window = 300, search = {{ max_parents = 2, tiers = [["user"], ["country", "hour"]] }} }}
        """)
    engine = streams.pipeline(tmp_path / "whole.toml")
    engine.run()
    for stop in (80, 20, 300):
        streams.pipeline(tmp_path / "parts.toml").run(stop)
    assert (tmp_path / "parts.jsonl").read_text() == (tmp_path / "whole.jsonl").read_text()
    answers = [json.loads(line) for line in (tmp_path / "whole.jsonl").read_text().splitlines()]
    model = engine.step.model.model
    adopted = next(change.event for change in model.changes if change.why is None)
    assert [answers[place]["model"]["generation"] for place in (adopted - 1, adopted)] == [0, 1]
    assert ("user", "country") in model.structure.edges
    assert answers[-1]["prediction"] == days(400)[-1]["country"]


@pytest.mark.parametrize("has_class", [False, True])
def test_a_silent_stream_finishes_a_search_ahead_and_changes_no_answer(
    has_class: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stream_bayes.networks.growth.SLICE", 1)
    slices = [0]

    class Silent(ListSource):
        silences = 0

        def poll(self, limit: int) -> list[Any]:
            if self.place == 64 and self.silences < 100:  # the first search has just begun
                self.silences += 1
                return []
            return super().poll(min(limit, 64 - self.place if self.place < 64 else limit))

    def outputs_of(kind: type[ListSource]) -> list[Any]:
        records = [
            Event(
                {name: value for name, value in x.items() if not (has_class and name == "user")},
                x["user"] if has_class else None,
                position=place,
            )
            for place, x in enumerate(days(300))
        ]
        model = served(BayesNetClassifier() if has_class else BayesNet("learn"))
        inner = model.work

        def work() -> bool:
            has_more = inner()
            slices[0] += has_more
            return has_more

        monkeypatch.setattr(model, "work", work, raising=False)
        sink = ListSink("predictions")
        Engine(Step(model), kind(records), predictions=sink, sleep=lambda seconds: None).run()
        assert model.model.generation > 0
        return sink.lasting

    whole = outputs_of(ListSource)
    assert slices[0] == 0
    assert outputs_of(Silent) == whole
    assert slices[0] > 1


def test_a_class_in_the_source_makes_a_classifier_of_the_same_file(tmp_path: Path) -> None:
    (tmp_path / "days.jsonl").write_text("".join(json.dumps(x) + "\n" for x in days(60)))
    (tmp_path / "network.json").write_text(json.dumps(STRUCTURE))
    (tmp_path / "visits.toml").write_text("""
        name = "visits"
        source = { kind = "jsonl", path = "days.jsonl", target = "country" }
        model = { kind = "bayes-net", structure = "network.json" }
    """)
    engine = streams.pipeline(tmp_path / "visits.toml")
    engine.run()
    assert type(engine.step.model.model) is BayesNetClassifier
    assert engine.step.losses.cumulative.accuracy > 0.9


def test_a_prediction_that_cannot_be_computed_stops_no_learning(caplog: pytest.LogCaptureFixture) -> None:
    causes = [f"c{k}" for k in range(16)]
    effects = {f"{a}{b}": [a, b] for k, a in enumerate(causes) for b in causes[:k]}
    structure: dict[str, list[str]] = {cause: [] for cause in causes} | effects
    rng = random.Random(1)
    events = [{v: str(rng.randrange(2)) for v in structure} for _ in range(12)]
    model = BayesNet(structure, memory_budget=300_000)  # without its causes, an event needs 2**16 cells
    outputs, result = run(events, model, predict=causes)
    assert (result.learned, len(outputs), result.dead_letters) == (12, 12, {})
    assert outputs[-1].probabilities["c1"] == {}
    assert "no prediction of 'c1'; its events are learned all the same" in caplog.text


def test_a_policy_that_would_refuse_every_event_for_ever_is_refused(tmp_path: Path) -> None:
    (tmp_path / "days.csv").write_text("user,country\nann,DE\n", "utf-8")
    table = (
        'name = "net"\n[source]\nkind = "csv"\npath = "days.csv"\n[model]\nkind = "bayes-net"\nstructure = "s.json"\n'
        '[model.arguments]\nunseen = "error"\n'
    )
    (tmp_path / "s.json").write_text('{"user": [], "country": ["user"]}', "utf-8")
    (tmp_path / "net.toml").write_text(table, "utf-8")
    with pytest.raises(BadConfig, match=r"unseen: 'error' .* \['country', 'user'\] would ever be learned"):
        streams.pipeline(tmp_path / "net.toml")
