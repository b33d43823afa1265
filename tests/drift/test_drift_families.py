"""A detector for each family: what has drifted is known by name, and of a network no more is searched anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from river.drift import binary

from stream_bayes import AODE, KDB, SPODE, TAN, BayesNetClassifier, DriftAdaptive, NaiveBayes, SlidingWindow
from stream_bayes.core.networks.structure import Structure
from stream_bayes.drift.family_detectors import family_signals
from stream_bayes.drift.recent_events import RecentEvents
from stream_bayes.errors import BadValue
from tests.concepts import drawn_network
from tests.drift.drifting_streams import TARGET, Stream, again, bytes_of, drifting, kinds_logged, losses

LEARNERS: dict[str, Callable[[], Any]] = {
    "NaiveBayes": NaiveBayes,
    "TAN": TAN,
    "KDB with two parents": lambda: KDB(k=2, window=1000),
    "SPODE": lambda: SPODE(min_count=1.0),
    "AODE": AODE,
    "SlidingWindow": lambda: SlidingWindow(TAN(), 2000),
    "BayesNetClassifier": lambda: BayesNetClassifier(drawn_network(8, 2).structure, target=TARGET),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_a_family_that_drifts_is_noticed_by_name(name: str) -> None:
    model = DriftAdaptive(LEARNERS[name](), signal="family")
    losses(model, drifting(2, 2000, 700, changed=["v7"]))
    noticed = [entry for entry in model.log.entries if entry["what"] == "drift"]
    assert "v7" in noticed[0]["detector"]["families"]
    assert 2000 < noticed[0]["event"] < 2300
    assert noticed[0]["score"]["after"] > noticed[0]["score"]["before"]


@pytest.mark.parametrize("name", LEARNERS)
def test_what_a_family_loses_is_what_the_counts_say(name: str) -> None:
    model = LEARNERS[name]()
    stream = drifting(2, 500, 1, changed=["v7"])
    recent = RecentEvents(model, 100)
    for number, (x, y) in enumerate(stream):
        row = model.store.encode(
            x, y, 3.0 if number == 500 else 1.0
        )  # the newest does not count, whatever its weight
        model.reading.learn(row)
        recent.push(row, number + 1, 0.0)
    model.rederive()
    signals = family_signals(model, recent.newest_codes(3))[:, -1]
    named = {feature.name: signals[feature.slot] for feature in model.store.encoder.nominal}
    assert named.keys() == x.keys() and all(0.0 <= signal <= 1.0 for signal in named.values())
    above: dict[str, Any] = {}
    inner = getattr(model, "learner", model)
    if name == "BayesNetClassifier":
        above = {v: [p for p in inner.structure.parents(v) if p != TARGET] for v in x}
    elif hasattr(inner, "parents_"):
        above = {v: [p] if isinstance(p, str) else list(p or ())[:1] for v, p in inner.parents_.items()}
    elif name == "SPODE":
        above = {v: [inner.parent_] for v in x if v != inner.parent_}
    for feature, signal in named.items():
        beside = [
            past
            for past, label in stream[:-1]
            if label == y and all(past[parent] == x[parent] for parent in above.get(feature, []))
        ]
        own = sum(past[feature] == x[feature] for past in beside)
        values = len({past[feature] for past, _ in stream[:-1]})
        expected = -np.log((own + 1 / values) / (len(beside) + 1)) / 5
        assert signal == pytest.approx(min(expected, 1.0), abs=1e-12)


def one_that_turns_to_the_class(number: int, change: int) -> Stream:
    """`weak` is weak evidence, `twin` always follows `one`, and `late` follows the class from one event on.

    A search of all would let `twin` depend on `one`.
    """
    rng = np.random.default_rng(5)
    stream: Stream = []
    for n, (label, one, noise) in enumerate(rng.random((number, 3)).tolist()):
        y = "yes" if label < 0.5 else "no"
        late = y if n >= change and noise > 0.05 else ("yes" if noise > 0.1 else "no")
        weak = y if rng.random() < 0.6 else "other"
        one_ = "a" if one < 0.5 else "b"
        stream.append(({"weak": weak, "one": one_, "twin": one_, "late": late}, y))
    return stream


@pytest.mark.parametrize("delay", [0, 50])
def test_of_a_network_only_what_drifted_is_searched_anew(delay: int) -> None:
    start = Structure({"class": [], "weak": ["class"], "one": [], "twin": [], "late": []})
    network = BayesNetClassifier(start, target="class")
    model = DriftAdaptive(network, signal="family", search_delay=delay, window=500, renew=False)
    losses(model, one_that_turns_to_the_class(3000, change=2000))
    assert [what for what in kinds_logged(model) if what != "searched"] == ["drift", "adopted"]
    assert model.log.entries[0]["detector"]["families"] == ["late"]
    assert model.log.entries[-1]["structure"] == {
        "added": [["class", "late"]],
        "removed": [],
        "kept": [["class", "weak"]],
    }


def test_killed_in_the_middle_of_its_search_a_network_has_no_more_of_it_searched_anew() -> None:
    start = Structure({"class": [], "weak": ["class"], "one": [], "twin": [], "late": []})

    def make() -> DriftAdaptive:
        network = BayesNetClassifier(start, target="class")
        return DriftAdaptive(network, signal="family", search_delay=50, window=500)

    whole, others = make(), list[DriftAdaptive]()
    for x, y in one_that_turns_to_the_class(2300, change=2000):
        for model in (whole, *others):
            model.learn_one(x, y)
        if whole.state_ == "searching" and not others:
            others.append(again(whole, make))
    assert [what for what in kinds_logged(whole) if what != "searched"] == ["drift", "adopted"]
    assert [bytes_of(other) for other in others] == [bytes_of(whole)]


def test_a_drift_that_no_answer_shows_has_its_beginning_and_its_losses_from_the_family() -> None:
    rng = np.random.default_rng(8)
    model = DriftAdaptive(NaiveBayes(), signal="family")
    for n, (label, free) in enumerate(rng.random((2600, 2)).tolist()):
        model.learn_one({"weak": label < 0.5, "free": free < (0.9 if n < 2000 else 0.2)}, label < 0.5)
    noted = next(entry for entry in model.log.entries if entry["what"] == "drift")
    assert noted["detector"]["families"] == ["free"]
    assert 1800 < noted["since"] < 2010 < noted["event"] < 2200
    rarely, often = -np.log(0.1), -np.log(0.9)
    assert noted["score"]["before"] == pytest.approx(0.1 * rarely + 0.9 * often, abs=0.05)
    assert noted["score"]["before"] + 0.5 < noted["score"]["after"] < 0.8 * rarely + 0.2 * often + 0.5


@pytest.mark.parametrize("name", ["TAN", "BayesNetClassifier"])
def test_where_all_features_are_numbers_they_have_families_too(name: str) -> None:
    rng = np.random.default_rng(3)
    learner: Any = TAN() if name == "TAN" else BayesNetClassifier(None, target="y")
    model = DriftAdaptive(learner, signal="family", trials=1)
    noise = rng.normal(size=(2600, 2)).tolist()
    for n, (one, other) in enumerate(noise):
        y = n % 2
        model.learn_one({"turns": one + 3 * (y if n < 2000 else 1 - y), "stays": other + y}, y)
    noted = [entry for entry in model.log.entries if entry["what"] == "drift" and entry["event"] > 2000]
    assert noted[0]["detector"]["families"] == ["turns"]


def test_families_that_are_foretold_better_are_no_drift() -> None:
    model = DriftAdaptive(TAN(), signal="family")
    losses(model, drifting(2, 3000, 0, changed=["v7"]))
    assert kinds_logged(model).count("drift") <= 1


@pytest.mark.parametrize("detector", ["adwin", "page-hinkley", "kswin"])
def test_stopped_anywhere_it_goes_on_the_same(detector: str) -> None:
    make = lambda: DriftAdaptive(TAN(), detector, "family", search_delay=10)
    whole, stopped = make(), make()
    for number, (x, y) in enumerate(drifting(2, 600, 300, changed=["v7", "v3"])):
        if number % 150 == 100 or (whole.log.entries and whole.log.entries[-1]["event"] == number):
            stopped = again(stopped, make)
            assert bytes_of(stopped) == bytes_of(whole)
        for model in (whole, stopped):
            model.learn_one(x, y)
    assert bytes_of(stopped) == bytes_of(whole)


def test_a_detector_of_errors_takes_no_families() -> None:
    with pytest.raises(BadValue, match="errors"):
        DriftAdaptive(TAN(), binary.DDM(), "family")
