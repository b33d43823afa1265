"""The service over a running pipeline: what it answers, of which state, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.serve import handover
from stream_bayes.serve.threshold_costs import threshold_costs
from stream_bayes.streams.engine.engine import Engine
from tests.ports import free_ports
from tests.serve.weather import Client, pipeline_text, running, wait_for_model, wait_for_status, write_days
from tests.waiting import until

DAYS = 2_000


@pytest.fixture(scope="module")
def weather(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Engine, Client, Path]]:
    directory = tmp_path_factory.mktemp("weather")
    write_days(directory, DAYS)
    with running(directory, pipeline_text("aode")) as (engine, client):
        wait_for_status(client, DAYS)
        yield engine, client, directory


@pytest.fixture
def client(weather: tuple[Engine, Client, Path]) -> Client:
    return weather[1]


def test_a_prediction_is_the_models_own_and_states_what_it_is_of(
    weather: tuple[Engine, Client, Path],
) -> None:
    engine, client, _ = weather
    wait_for_model(client, engine.step.processed)
    x = {"sky": "grey", "wind": 2.5}
    answer = client.post("/v1/predict", {"x": x})
    assert answer["probabilities"] == engine.step.model.answer(x)
    assert answer["prediction"] == "yes"
    place = [
        ["weather", number, at] for (source, number), at in engine.positions.items() if source == "weather"
    ]
    assert place[0] in answer["model"]["positions"]
    assert answer["model"]["generation"] == 0


def test_many_events_are_answered_as_one_by_one(client: Client) -> None:
    xs = [{"sky": sky, "wind": wind / 4} for sky in ("grey", "blue") for wind in range(20)]
    answer = client.post("/v1/predict", {"events": xs})
    for x, each in zip(xs, answer["predictions"], strict=True):
        alone = client.post("/v1/predict", {"x": x})
        assert each["prediction"] == alone["prediction"]
        assert each["probabilities"] == pytest.approx(alone["probabilities"])


def test_the_evidence_is_that_of_the_model(weather: tuple[Engine, Client, Path]) -> None:
    engine, client, _ = weather
    x = {"sky": "grey", "wind": 2.5}
    answer = client.post("/v1/explain", {"x": x})
    own = engine.step.model.model.explain_one(x)
    assert answer["kind"] == own.kind
    assert {each["feature"]: each["evidence"] for each in answer["evidence"]} == own.evidence


def test_the_model_is_described_with_its_most_telling_feature_first(client: Client) -> None:
    model = client.get("/v1/model")
    assert [feature["name"] for feature in model["features"]] == ["sky", "wind"]
    assert model["features"][0]["table"]["yes"]["grey"] > 0.8
    assert model["labels"] == ["no", "yes"] or model["labels"] == ["yes", "no"]
    assert model["can"] == {
        "predict": True,
        "explain": True,
        "intervals": True,
        "query": False,
        "check": False,
    }
    assert model["writes"] and model["no_labels"] is None


def test_measures_are_those_of_the_engine(weather: tuple[Engine, Client, Path]) -> None:
    engine, client, _ = weather
    client.get("/v1/model")
    found = client.get("/v1/evaluation")
    assert found["measures"]["cumulative"]["accuracy"] == pytest.approx(
        engine.step.losses.cumulative.accuracy
    )
    assert sum(weight for *_, weight in found["measures"]["confusion"]["cells"]) > 900
    assert found["curve"][-1]["accuracy"] == found["status"]["measures"]["accuracy"]
    assert found["status"]["snapshots"]["written"] >= 1
    f1 = engine.step.losses.fading.f1
    assert {label: each["f1"] for label, each in found["status"]["by_label"].items()} == pytest.approx(f1)
    assert set(client.get("/v1/evaluation/parts")["curve"][-1]["by_label"]) == {"yes", "no"}
    costs = client.get("/v1/thresholds?missed=3&label=yes")
    first, last = costs["steps"][0], costs["steps"][-1]
    assert (first["misses"], last["false_alarms"]) == (0.0, 0.0) and last["misses"] == costs["with_label"]
    assert costs["cheapest"]["cost"] <= min(first["cost"], last["cost"]) and costs["nominal"] == 0.25
    assert client.send("GET", "/v1/thresholds?label=maybe")[0] == 422
    assert threshold_costs([], None, 1.0, 1.0)["reason"].endswith("have 0")
    assert found["status"]["lag_units"] == {"weather": "bytes", "labels": "bytes"}


def test_history_holds_the_newest_events(client: Client) -> None:
    found = client.get("/v1/history?limit=3")
    assert [event["key"] for event in found["events"]] == ["d1999", "d1998", "d1997"]
    assert found["kept"] + found["left_out"] == DAYS
    wrong = client.get("/v1/history?only=wrong&limit=5&text=GREY")
    assert all(event["verdict"] == "wrong" and event["x"]["sky"] == "grey" for event in wrong["events"])
    assert 0 < wrong["matching"] < found["matching"] == found["kept"]
    for label, prediction, count in client.get("/v1/confusion")["cells"]:
        path = f"/v1/history?label={label}&prediction={prediction or ''}"
        assert client.get(path)["matching"] == count > 0
        assert client.get(f"{path}&limit=100000&format=csv").count(b"\r\n") == count + 1
    drifts = client.get("/v1/drifts/features?against=older")
    assert {each["name"] for each in drifts["features"]} == {"sky", "wind"} and drifts["reason"] is None
    assert drifts["reference"]["events"] + drifts["now"]["events"] == found["kept"]
    first = client.get("/v1/drifts/features")  # half of 1,000 have not come: all are of the reference
    assert first["features"] == [] and first["reason"].startswith(f"only {found['kept']} and 0 events")
    for query in ("only=maybe", "below=2", "format=xml"):
        assert client.send("GET", f"/v1/history?{query}")[0] in (400, 422), query
    event = client.get("/v1/history?key=d1998")["events"][0]
    again = client.post("/v1/explain", {"id": event["id"]})
    assert {each["feature"] for each in again["evidence"]} == {"sky", "wind"}


def test_unknown_features_are_refused_with_the_nearest_name(client: Client) -> None:
    detail = client.refusal("/v1/predict", {"x": {"skye": "grey"}}, 422)
    assert "'skye'; did you mean 'sky'?" in detail
    answer = client.post("/v1/predict", {"x": {"skye": "grey", "sky": "blue"}, "unknown": "ignore"})
    assert answer["ignored"] == ["skye"]
    assert client.post("/v1/predict", {"x": {"sky": "purple"}})["never_learned"] == ["sky"]


def test_followers_receive_what_moves(weather: tuple[Engine, Client, Path]) -> None:
    from http.client import HTTPConnection

    _, client, directory = weather
    line = HTTPConnection("127.0.0.1", client.port, timeout=60)
    line.request("GET", "/v1/events")
    answer = line.getresponse()
    assert answer.getheader("content-type") == "text/event-stream; charset=utf-8"
    write_days(directory, 10, seed=2, start=DAYS)
    kinds: dict[str, Any] = {}
    while "events" not in kinds or "view" not in kinds:
        name = answer.readline().decode().strip()
        if name.startswith("event: "):
            kinds[name[7:]] = json.loads(answer.readline()[6:])
    answer.close()
    line.close()
    assert kinds["events"]["events"][-1]["key"] == f"d{DAYS + 9}"


def test_answers_to_followers_end_with_the_service(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_days(tmp_path, 50)
    with running(tmp_path, pipeline_text("nb")) as (_, client):
        line = HTTPConnection("127.0.0.1", client.port, timeout=60)
        line.request("GET", "/v1/events")
        answer = line.getresponse()
        assert answer.readline() == b": ok\n"
    assert b"event: " in answer.read()  # to a proper end: a cut answer raises
    line.close()
    assert not {"Traceback", "ASGI"} & set(capfd.readouterr().err.split())


def test_challengers_are_measured_beside_the_model(tmp_path: Path) -> None:
    write_days(tmp_path, 400)
    text = pipeline_text("nb") + '\n[[challengers]]\nname = "tree"\nkind = "tan"\n'
    with running(tmp_path, text) as (engine, client):
        wait_for_status(client, 400)
        found = client.get("/v1/evaluation")["status"]["challengers"]
        own = engine.challengers.by_name["tree"].step.losses.fading
        assert found["tree"]["accuracy"] == pytest.approx(own.accuracy)
        assert found["tree"]["since"] == 0 and found["tree"]["failure"] is None


def test_the_experts_of_the_adaptive_learner_are_explained(tmp_path: Path) -> None:
    write_days(tmp_path, 300)
    with running(tmp_path, pipeline_text("adaptive")) as (engine, client):
        wait_for_status(client, 300)
        wait_for_model(client, engine.step.processed)
        x = {"sky": "grey", "wind": 2.5}
        answer = client.post("/v1/explain", {"x": x})
        why = engine.step.model.model.explain_one(x)
        own = why.experts
        assert answer["kind"] == "step-by-step"
        assert {each["feature"]: each["evidence"] for each in answer["evidence"]} == why.evidence
        assert [each["expert"] for each in answer["experts"]] == list(own)
        assert answer["experts"][0]["weight"] == next(iter(own.values())).weight
        assert answer["experts"][0]["probabilities"] == next(iter(own.values())).probabilities
        assert answer["probabilities"] == engine.step.model.answer(x)
        model = client.get("/v1/model")
        assert model["can"]["explain"]
        assert {feature["name"] for feature in model["features"]} == {"sky", "wind"}
        assert sorted(model["labels"]) == ["no", "yes"]
        assert "did you mean 'sky'?" in client.refusal("/v1/explain", {"x": {"skye": "grey"}}, 422)


def test_the_first_view_of_a_model_does_not_wait_for_those_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handover, "SHARE", 1e-9)  # after one view, the next is due in a year
    write_days(tmp_path, 100)
    challengers = "".join(f'\n[[challengers]]\nname = "{name}"\nkind = "nb"\n' for name in "abc")
    with running(tmp_path, pipeline_text("nb") + challengers) as (engine, client):
        wait_for_status(client, 100)
        for name in ("weather", "a", "b", "c"):
            assert client.get(f"/v1/model?name={name}")["name"] == name
        write_days(tmp_path, 100, start=100)
        until("200 days", lambda: engine.step.processed >= 200)
        assert client.get("/v1/model?name=a")["model"]["processed"] < 200  # the second one waits


def test_a_model_that_is_under_way_is_requested_again_and_one_without_events_is_none_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handover.Handover, "_due_views", lambda *_: [])
    write_days(tmp_path, 0)
    with running(tmp_path, pipeline_text("nb")) as (_, client):
        status, _, problem = client.send("GET", "/v1/model")
        assert status == 409 and "there is no model yet" in problem["detail"]
        write_days(tmp_path, 100)
        wait_for_status(client, 100)
        status, headers, problem = client.send("GET", "/v1/model")
        assert status == 503 and headers["retry-after"] == "1"
        assert "not handed over" in problem["detail"]


def test_a_challenger_answers_by_its_name(tmp_path: Path) -> None:
    write_days(tmp_path, 400)
    challengers = (
        '\n[[challengers]]\nname = "sure"\nkind = "nb"\nthresholds = 0.999\n'
        '\n[[challengers]]\nname = "net"\nkind = "bayes-net"\n'
        '\n[[challengers]]\nname = "scaled"\nkind = "gaussian-nb"\n'
        'transformers = [{ kind = "select", arguments = { keys = ["wind"] } }, { kind = "standard-scaler" }]\n'
    )
    x = {"sky": "grey", "wind": 2.5}
    with running(tmp_path, pipeline_text("nb") + challengers) as (engine, client):
        wait_for_status(client, 400)
        assert client.get("/v1/model")["models"] == ["weather", "sure", "net", "scaled"]
        for name in ("weather", "sure", "net", "scaled"):
            step = engine.step if name == "weather" else engine.challengers.by_name[name].step
            answer = client.post("/v1/predict", {"x": x, "model": name})
            assert answer["probabilities"] == pytest.approx(dict(step.model.answer(x)))
            assert answer["prediction"] == step.model.decide(step.model.answer(x))
            assert client.get(f"/v1/model?name={name}")["name"] == name
        assert client.post("/v1/predict", {"x": x, "model": "sure"})["prediction"] == "unsure"
        explained = client.post("/v1/explain", {"x": x, "model": "scaled"})
        assert [each["feature"] for each in explained["evidence"]] == ["wind"]
        posteriors = client.post("/v1/query", {"evidence": {"sky": "grey"}, "model": "net"})["posteriors"]
        assert posteriors["rain"]["probabilities"]["yes"] > 0.5
        measures = client.get("/v1/evaluation?name=net")["measures"]
        own = engine.challengers.by_name["net"].step.losses.cumulative
        assert measures["cumulative"]["accuracy"] == pytest.approx(own.accuracy)
        assert "'net'" in client.refusal("/v1/predict", {"x": x, "model": "nett"}, 404)


def test_other_services_are_asked_for_their_status_by_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (gone,) = free_ports(1)
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        write_days(tmp_path / name, 60)
    secret = "a token for reads of the other"
    monkeypatch.setenv("OTHER_TOKEN", secret)
    token = 'read_token = "${OTHER_TOKEN}"'
    guarded = pipeline_text("nb", token)
    with running(tmp_path / "other", guarded) as (_, other):
        addresses = ((other.port, token), (other.port, ""), (gone, ""))
        table = "".join(
            f'[[serve.others]]\nurl = "http://127.0.0.1:{port}"\n{more}\n' for port, more in addresses
        )
        other = Client(other.port, secret)
        until("the other status", lambda: other.get("/v1/status")["status"].get("processed") == 60)
        with running(tmp_path / "one", pipeline_text("nb").replace("[schema", f"{table}[schema")) as (
            _,
            client,
        ):
            services = client.get("/v1/services")["services"]
            assert [each["name"] for each in services] == ["weather", "weather", None, None]
            assert services[1]["status"]["processed"] == 60 and services[1]["problem"] is None
            assert (
                "refuses reads without its token" in services[2]["problem"]
                and "does not answer" in services[3]["problem"]
            )
            assert secret not in json.dumps(services)
