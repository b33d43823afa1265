"""Views: other threads and processes ask while a network learns on, and get the answers of one moment."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from typing import Any

import pytest

from stream_bayes import BayesNet, BayesNetClassifier
from stream_bayes.errors import BadValue
from stream_bayes.networks import Inference

EVENTS = [{"a": k % 2 == 0, "b": k % 3 == 0, "c": k % 5 == 0} for k in range(60)]
PARENTS = {"a": [], "b": ["a"], "c": ["b", "a"]}


def learned() -> BayesNet:
    model = BayesNet(PARENTS)
    model.learn_many(EVENTS)
    return model


def classifier() -> BayesNetClassifier:
    model = BayesNetClassifier(PARENTS, target="a")
    model.learn_many([{"b": x["b"], "c": x["c"]} for x in EVENTS], [x["a"] for x in EVENTS])
    return model


ANSWERS: dict[str, Callable[[Any], Any]] = {
    "query": lambda model: dict(model.query("a", {"c": True})),
    "marginals": lambda model: {v: dict(one) for v, one in model.marginals({"b": True}).items()},
    "most_probable": lambda model: dict(model.most_probable()),
    "log_likelihood_one": lambda model: model.log_likelihood_one({"a": True, "c": False}),
    "score_one": lambda model: model.score_one(EVENTS[0]),
    "explain_one": lambda model: dict(model.explain_one(EVENTS[0])),
    "cpt": lambda model: dict(model.cpt("c")),
    "to_network": lambda model: model.to_network(),
    "states": lambda model: model.states,
}
PREDICTIONS: dict[str, Callable[[Any], Any]] = {
    "predict_proba_one": lambda model: model.predict_proba_one({"b": True}),
    "predict_one": lambda model: model.predict_one({"c": True}),
    "predict_many": lambda model: model.predict_many([{"b": True}, {"c": True}]),
    "predict_proba_many": lambda model: model.predict_proba_many([{"b": True}]),
    "explain_one": lambda model: repr(model.explain_one({"b": True})),
    "to_network": lambda model: model.to_network(),
}


@pytest.mark.parametrize(("make", "answers"), [(learned, ANSWERS), (classifier, PREDICTIONS)])
def test_a_view_answers_as_the_model_did_when_it_was_made(make, answers):
    model = make()
    expected = {name: answer(model) for name, answer in answers.items()}
    view = model.view()
    if isinstance(model, BayesNet):
        model.learn_one({"a": "new", "b": "new", "c": "new"}, 100.0)
    else:
        model.learn_one({"b": "new", "c": "new"}, "new", 100.0)
    for network in (view, pickle.loads(pickle.dumps(view))):
        assert {name: answer(network) for name, answer in answers.items()} == expected
    assert any(answer(model) != expected[name] for name, answer in answers.items())


def test_threads_ask_while_one_learns_and_every_answer_is_of_one_moment():
    model = learned()
    views = [model.view()]
    stop, answered = threading.Event(), [0, 0]
    wrong: list[object] = []

    def ask(number: int) -> None:
        while not stop.is_set():
            view = views[-1]
            try:
                answer = view.query("a", {"c": True})
                again = view.query("a", {"c": True})
                if dict(answer) != dict(again) or abs(sum(answer.values()) - 1.0) > 1e-12:
                    wrong.append(answer)
            except Exception as error:
                wrong.append(error)
            answered[number] += 1

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for number in range(600):
        model.learn_one(
            EVENTS[number % len(EVENTS)] | {"c": f"value {number % 7}" if number % 9 == 0 else True}
        )
        if number % 50 == 0:
            views.append(model.view())
    while min(answered) < 20:
        pass
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong and views[-1].clock > views[0].clock


def test_a_new_view_takes_over_the_plans_of_the_one_before_and_both_answer_on(monkeypatch):
    made: list[object] = []
    begin = Inference._begin

    def counted(engine: Any, network: Any) -> None:
        made.append(network)
        begin(engine, network)

    monkeypatch.setattr(Inference, "_begin", counted)
    model = learned()
    first = model.view()
    before = dict(first.query("a", {"c": True}))
    assert len(made) == 1
    model.learn_one(EVENTS[0], 100.0)
    second = model.view()
    assert dict(second.query("a", {"c": True})) == dict(model.query("a", {"c": True})) != before
    assert len(made) == 2  # that of the model itself
    assert dict(first.query("a", {"c": True})) == before
    assert dict(second.query("a", {"c": True})) == dict(model.query("a", {"c": True}))
    model.learn_one({"a": "new", "b": "new", "c": "new"})
    assert dict(model.view().query("a", {"c": True})) == dict(model.query("a", {"c": True}))


def test_a_mistake_in_a_question_leaves_the_view_usable():
    view = learned().view()
    with pytest.raises(BadValue):
        view.query("a", {"b": [1]})
    assert sum(view.query("a").values()) == pytest.approx(1.0)
