"""`stream-bayes serve`: networks, saved models, directories of snapshots and spam filters, which it follows."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import stream_bayes
from stream_bayes import BayesNet, BayesNetClassifier, NaiveBayes, streams
from stream_bayes.errors import BadState, NoSnapshot
from stream_bayes.mail import SpamFilter
from stream_bayes.mail.store.change_journal import Change
from stream_bayes.mail.store.home import OpenFilter, SpamHome
from stream_bayes.mail.store.identity import id_of_mail
from stream_bayes.serve.followed import follow_model
from tests.serve.replicas import served
from tests.serve.weather import TOKEN, Client
from tests.waiting import until

LAWN = {"rain": [], "sprinkler": ["rain"], "lawn": ["rain", "sprinkler"], "month": []}


def lawns(number: int, seed: int = 1) -> Iterator[dict[str, Any]]:
    rng = random.Random(seed)
    for _ in range(number):
        rain = rng.random() < 0.3
        sprinkler = not rain and rng.random() < 0.4
        wet = rain or sprinkler
        yield {
            "rain": "yes" if rain else "no",
            "sprinkler": "on" if sprinkler else "off",
            "lawn": "wet" if wet else "dry",
            "month": rng.randint(1, 3),
        }


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[BayesNet, Client]]:
    model = BayesNet(LAWN)
    for x in lawns(500):
        model.learn_one(x)
    path = tmp_path_factory.mktemp("net") / "lawn.zip"
    stream_bayes.save(model, path)
    with served(path) as client:
        yield model, client


def test_a_query_answers_with_all_posteriors_of_the_network(net: tuple[BayesNet, Client]) -> None:
    model, client = net
    found = client.post("/v1/query", {"evidence": {"lawn": "wet"}})
    own = model.marginals({"lawn": "wet"})
    assert list(found["posteriors"]) == list(own)
    for name, answer in own.items():
        shares = found["posteriors"][name]["probabilities"]
        assert list(shares.values()) == pytest.approx(list(answer.values()))
    assert found["posteriors"]["rain"]["method"] == "exact"


def test_soft_evidence_targets_intervals_and_the_most_probable_explanation(
    net: tuple[BayesNet, Client],
) -> None:
    model, client = net
    soft = {"lawn": {"wet": 0.9, "dry": 0.2}, "month": {"1": 1.0, "2": 0.5, "3": 0.0}}
    body = {"evidence": soft, "targets": ["rain"], "level": 0.9, "most_probable": True}
    found = client.post("/v1/query", body)
    given = {"lawn": soft["lawn"], "month": {1: 1.0, 2: 0.5, 3: 0.0}}
    own = model.query("rain", given, level=0.9)
    assert found["posteriors"]["rain"]["probabilities"] == pytest.approx(dict(own))
    assert own.intervals is not None
    low, high = found["posteriors"]["rain"]["intervals"]["yes"]
    assert (low, high) == pytest.approx(own.intervals["yes"]) and low < own["yes"] < high
    assert found["most_probable"] == dict(model.most_probable(given))


def test_impossible_and_unknown_evidence_are_problems(net: tuple[BayesNet, Client]) -> None:
    _, client = net
    nothing = {"lawn": {"wet": 0.0, "dry": 0.0}}
    client.refusal("/v1/query", {"evidence": nothing}, 422)
    assert "did you mean 'lawn'?" in client.refusal("/v1/query", {"evidence": {"lawm": "wet"}}, 422)
    assert "POST /v1/query" in client.refusal("/v1/predict", {"x": {"lawn": "wet"}}, 409)
    edges = {tuple(edge) for edge in client.get("/v1/model")["edges"]}
    assert edges == {("rain", "sprinkler"), ("rain", "lawn"), ("sprinkler", "lawn")}


def test_a_classifier_that_is_a_network_is_queried_too(tmp_path: Path) -> None:
    model = BayesNetClassifier()
    for x in lawns(300):
        model.learn_one({"rain": x["rain"], "sprinkler": x["sprinkler"]}, x["lawn"])
    stream_bayes.save(model, tmp_path / "lawn.zip")
    with served(tmp_path / "lawn.zip") as client:
        found = client.post("/v1/query", {"evidence": {"rain": "yes"}})
        wet = found["posteriors"]["class"]["probabilities"]["wet"]
        assert wet == pytest.approx(
            client.post("/v1/predict", {"x": {"rain": "yes"}})["probabilities"]["wet"]
        )


def test_intervals_of_a_classifier_are_those_of_a_network_with_the_same_tables(tmp_path: Path) -> None:
    structure = {"class": [], "rain": ["class"], "sprinkler": ["class", "rain"]}
    classifier, network = BayesNetClassifier(structure), BayesNet(structure)
    for x in lawns(300):
        features = {"rain": x["rain"], "sprinkler": x["sprinkler"]}
        classifier.learn_one(features, x["lawn"])
        network.learn_one({**features, "class": x["lawn"]})
    stream_bayes.save(classifier, tmp_path / "lawn.zip")
    with served(tmp_path / "lawn.zip") as client:
        body = {"evidence": {"rain": "yes"}, "level": 0.9}
        found = client.post("/v1/query", body)["posteriors"]
        assert "< 1.0" in client.refusal("/v1/query", body | {"level": 2}, 422)
    for name in ("class", "sprinkler"):
        own = network.query(name, {"rain": "yes"}, level=0.9)
        assert own.intervals is not None
        for value, pair in own.intervals.items():
            assert found[name]["intervals"][value] == pytest.approx(pair), (name, value)


def test_a_directory_of_snapshots_is_followed(tmp_path: Path) -> None:
    days = [({"sky": "grey"}, "rain"), ({"sky": "blue"}, "sun")] * 50
    state = tmp_path / "state"
    streams.run(days, NaiveBayes(), snapshots=state)
    with served(state) as client:
        assert client.get("/v1/model")["model"]["processed"] == 100
        assert client.get("/v1/evaluation")["measures"]["cumulative"]["accuracy"] > 0.9
        assert client.get("/readyz") == b"ready\n"
        streams.run(days * 2, NaiveBayes(), snapshots=state)
        until(
            "the newer snapshot",
            lambda: client.post("/v1/predict", {"x": {"sky": "grey"}})["model"]["processed"] == 200,
        )
        client.refusal("/v1/labels", {"key": "a", "label": "rain"}, 403)


def test_a_filters_directory_checks_and_learns_mails(tmp_path: Path) -> None:
    home = SpamHome(tmp_path / "home")
    with home.changing(SpamFilter) as model:
        for number in range(20):
            model.learn_one(f"cheap pills now {number}", "spam")
            model.learn_one(f"lunch notes tomorrow {number}", "ham")
    spam = b"From: <b>eve@evil.example</b>\nSubject: <script>cheap</script> pills\n\ncheap pills now\n"
    mail = {"Content-Type": "message/rfc822"}
    with served(tmp_path / "home", TOKEN) as client:
        first = client.post("/v1/check", spam, **mail)
        assert first["probabilities"]["spam"] > 0.9
        assert {"pills", "cheap"} & {each["token"] for each in first["evidence"]}
        snapshot = home.state.stat()
        assert client.post("/v1/learn?label=ham", spam, **mail)["outcome"] == "learned"
        assert (
            home.state.stat() == snapshot and home.journal.size() > 0
        )  # appended, and no filter written whole
        assert client.post("/v1/learn?label=ham", spam, **mail)["outcome"] == "repeated"
        body = {"id": id_of_mail(spam), "label": "spam"}
        assert client.post("/v1/learn", body)["outcome"] == "corrected"
        assert home.load().label_of(id_of_mail(spam)) == "spam"
        assert "expected the label ham or spam" in client.refusal("/v1/learn?label=eggs", spam, 422, **mail)
        client.refusal("/v1/learn", {"id": "nobody", "label": "spam"}, 404)
        Client(client.port, None).refusal("/v1/learn?label=ham", spam, 401, **mail)


def test_what_is_no_model_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(NoSnapshot, match="there is no"):
        follow_model(str(tmp_path / "nowhere.zip"), None, None)
    (tmp_path / "text.zip").write_text("no zip")
    with pytest.raises(BadState):
        follow_model(str(tmp_path / "text.zip"), None, None).read()


def test_a_filter_is_followed_through_the_journal_of_its_changes(tmp_path: Path) -> None:
    home = SpamHome(tmp_path / "home")
    with home.changing(SpamFilter) as model:
        model.learn_one("lunch notes", "ham")
    followed = follow_model(str(tmp_path / "home"), None, None)
    before = followed.version()
    OpenFilter(home).change([Change("learn", "1", "spam", {"cheap": 1})])
    assert followed.version() != before
    assert SpamFilter.from_state(followed.read().sections["model"]).label_of("1") == "spam"
