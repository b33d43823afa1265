"""Many rows at once for learners that look at each event before the next; and clones of what is nested."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from river import compose
from river.drift import binary

from stream_bayes import TAN, BayesNetClassifier, DriftAdaptive, HalfLifeChoice, NaiveBayes, SlidingWindow
from stream_bayes.core.search.hill_climbing import HillClimbing
from stream_bayes.errors import BadValue, SchemaError
from stream_bayes.learners.base.base import BayesClassifier
from tests.drift.drifting_streams import Scripted, bytes_of
from tests.learners.base.batch_inputs import FORMS, IN_EACH_FORM, NAMES, SCHEMA, named_rows

MAKERS: dict[str, Callable[[], Any]] = {
    "adaptive": lambda: DriftAdaptive(NaiveBayes(schema=SCHEMA), Scripted((650, 800))),
    "half-lives": lambda: HalfLifeChoice(NaiveBayes(schema=SCHEMA), (None, 100.0), "mixture"),
}


@IN_EACH_FORM
@pytest.mark.parametrize("kind", MAKERS)
def test_many_rows_are_learned_as_one_after_the_other_whatever_they_come_as(kind: str, form: str) -> None:
    rows, labels = named_rows(1, 900)
    labels = ["sun" if row.get("warm") else "rain" for row in rows[:600]] + labels[600:]
    one, many = MAKERS[kind](), MAKERS[kind]()
    for x, y in zip(rows, labels, strict=True):
        one.learn_one(x, y)
    for start, stop in ((0, 400), (400, 900)):
        many.learn_many(FORMS[form](rows[start:stop], NAMES), labels[start:stop])
    if kind == "adaptive":
        assert many.log.entries == one.log.entries and many.log.entries
    assert many.clock == one.clock == 900
    for x in rows[:50]:
        assert many.predict_proba_one(x) == one.predict_proba_one(x)


def test_many_rows_of_which_one_is_refused_teach_nothing() -> None:
    model = DriftAdaptive(NaiveBayes())
    model.learn_many([{"a": "x"}, {"a": "y"}], ["yes", "no"], [1.0, 2.0])
    before = bytes_of(model)
    with pytest.raises(BadValue, match="row 1: "):
        model.learn_many([{"a": "new"}, {"a": {1}}], ["yes", "no"])
    with pytest.raises(SchemaError, match="1 labels"):
        model.learn_many([{"a": "new"}, {"a": "x"}], ["yes"])
    assert bytes_of(model) == before


def test_a_clone_is_made_of_all_that_is_nested_in_it() -> None:
    made: list[BayesClassifier] = [BayesNetClassifier(None, target="class"), TAN(half_life=100.0)]
    for learner in (*made, SlidingWindow(BayesNetClassifier(None, target="class"), 500)):
        model = DriftAdaptive(
            learner, binary.DDM(warm_start=50), search=HillClimbing(max_families=9), retired=3
        )
        model.learn_one({"a": "x"}, "yes")
        clone = (compose.Select("a") | model).clone()[-1]
        assert clone.learner is not learner and clone.clock == 0
        assert repr(clone) == repr(model)
        clone.learn_one({"a": "x"}, "yes")
        assert bytes_of(clone) == bytes_of(model)
        assert model.clone({"window": 300}).window == 300
