"""Arguments are used when a learner is made; an assignment later would change nothing, so it is refused."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import pytest

from stream_bayes import AODE, Costs, DecidingClassifier, DriftAdaptive, HalfLifeChoice, NaiveBayes
from stream_bayes.errors import ReadOnlyArgument
from stream_bayes.testing.public_learners import learners

LEARNERS = {
    **learners(),
    "HalfLifeChoice": HalfLifeChoice(NaiveBayes()),
    "DriftAdaptive": DriftAdaptive(NaiveBayes()),
    "DecidingClassifier": DecidingClassifier(NaiveBayes(), Costs.zero_one(["a", "b"])),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_no_argument_can_be_assigned_after_construction(name: str) -> None:
    model = LEARNERS[name]
    for argument in inspect.signature(type(model)).parameters:
        if argument not in vars(model):  # a property: of a window the learner's, of a network its own setter
            continue
        before = getattr(model, argument)
        with pytest.raises(ReadOnlyArgument, match=rf"clone\(new_params=\{{'{argument}': 50\}}\)"):
            setattr(model, argument, 50)
        assert getattr(model, argument) is before


def test_an_attribute_error_of_python_catches_it() -> None:
    with pytest.raises(AttributeError, match="strength of a AODE"):
        AODE().strength = 50


@pytest.mark.parametrize("again", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_are_as_read_only_and_as_usable(again: Any) -> None:
    model = AODE(strength=2.0)
    model.learn_one({"sky": "grey"}, "rain")
    twin = again(model)
    twin.learn_one({"sky": "blue"}, "sun")
    with pytest.raises(ReadOnlyArgument):
        twin.strength = 1.0
    assert twin.clone(new_params={"strength": 1.0}).strength == 1.0
    assert AODE.from_state(twin.state()).strength == 2.0
