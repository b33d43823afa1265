"""Each verb that the catalogue gives a learner is tried on it in one setting, and a third of them in each other that
the laws are checked on.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from stream_bayes import (
    Costs,
    DecidingClassifier,
    DriftAdaptive,
    LiveChoice,
    NaiveBayes,
    Nominal,
    PredictionSets,
    Schema,
)
from stream_bayes.errors import BadValue
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.base.regressor import BayesRegressor
from stream_bayes.learners.catalogue import LEARNERS, REGRESSORS, VERBS, declaration_of
from stream_bayes.learners.factory import make_learner, make_regressor
from stream_bayes.mail import SpamFilter
from stream_bayes.mail.streams.shard_filter import FilterTotal, ShardFilterModel
from stream_bayes.testing.laws_of_regressors import TargetStreams
from stream_bayes.testing.public_learners import label_of, made, settings_of
from stream_bayes.testing.sample_streams import NOMINAL, Streams
from tests.repository.declarations import RELATIVES
from tests.verbs import Event, can

MAILS: list[Event] = [("free pills now", "spam"), ("notes of the lunch", "ham")] * 15
BY_ARGUMENT = ("workers", "half-life", "unlabelled")  # has a test of its own
DECLARED = Schema({name: Nominal() for name in NOMINAL})  # what workers need


def events_for(model: Any, verb: str = "") -> list[Event]:
    """Return samples that suit a model; without numbers, whose cut points differ, for one that is merged."""
    inputs = getattr(model, "inputs", ())
    numeric = verb != "merge" or getattr(model, "schema", None) is not None or "nominal" not in inputs
    if isinstance(model, BayesRegressor):
        streams: Streams = TargetStreams(model, numeric=numeric)
    else:
        streams = Streams(model if isinstance(model, BayesClassifier) else NaiveBayes(), numeric=numeric)
    return [(x, y) for x, y, w in streams.samples(40) if w]


def cases() -> Iterator[Any]:
    for name in (*LEARNERS, *REGRESSORS):
        only = declaration_of(name).only
        verbs = [verb for verb in VERBS if verb not in only and verb not in BY_ARGUMENT]
        for place, settings in enumerate(settings_of(name)):
            if isinstance(settings.get("half_life"), str):
                continue  # its samples have a time of their own: tests/laws
            tried = verbs[place % 3 :: 3] if place else verbs
            yield pytest.param(name, settings, tried, id=label_of(name, settings))


@pytest.mark.parametrize(("name", "settings", "tried"), list(cases()))
def test_a_learner_can_do_in_every_setting_what_its_row_says(
    name: str, settings: dict[str, Any], tried: list[str], tmp_path: Path
) -> None:
    declared = declaration_of(name)
    found = {verb: can_in(settings, verb, name, tmp_path) for verb in tried}
    refused = {*declared.cannot, *(["merge"] if "max_values" in settings else [])}
    model = made(name, settings)
    if settings.get("predictive") == "plug-in" or isinstance(getattr(model, "learner", model), LiveChoice):
        refused.add("draws")  # means and variances are certain; a window draws as its learner
    assert found == {verb: verb not in refused for verb in tried}


@pytest.mark.parametrize("name", LEARNERS)
def test_a_verb_that_needs_arguments_works_with_them_and_is_refused_in_another_setting(
    name: str, tmp_path: Path
) -> None:
    for verb, (_, settings) in declaration_of(name).only.items():
        if verb in BY_ARGUMENT:
            continue
        assert can_in(settings, verb, name, tmp_path)
        others = [other for other in settings_of(name) if "max_values" not in other]
        assert not all(can_in(other, verb, name, tmp_path) for other in others)


def can_in(settings: Mapping[str, Any], verb: str, name: str, directory: Path) -> bool:
    return can(verb, lambda: made(name, settings), events_for(made(name, settings), verb), directory)


@pytest.mark.parametrize("name", [*LEARNERS, *REGRESSORS])
def test_workers_sum_what_the_row_says_where_all_features_are_declared(name: str, tmp_path: Path) -> None:
    declared = declaration_of(name)
    _, needed = declared.only.get("workers", ("", {}))
    makes: dict[str, Callable[[], Any]] = {
        "as declared": lambda: (make_regressor if name in REGRESSORS else make_learner)(
            name, {**declared.example, **needed}, schema_for(name)
        )
    }
    assert can("workers", makes["as declared"], [], tmp_path) == ("workers" not in declared.cannot)
    assert can("half-life", makes["as declared"], [], tmp_path) == ("half-life" not in declared.cannot)


@pytest.mark.parametrize("name", [*LEARNERS, *REGRESSORS])
def test_events_without_a_label_are_learned_where_the_row_says(name: str, tmp_path: Path) -> None:
    declared = declaration_of(name)
    _, needed = declared.only.get("unlabelled", ("", {}))
    takes = "unlabelled" in inspect.signature({**LEARNERS, **REGRESSORS}[name]).parameters
    assert takes == ("unlabelled" not in declared.cannot)
    plain = {**declared.example, **needed}
    events = events_for(made(name, plain))
    assert not can("unlabelled", lambda: made(name, plain), events, tmp_path)
    if takes:
        assert can("unlabelled", lambda: made(name, plain | {"unlabelled": "em"}), events, tmp_path)
    if needed:
        others = [other for other in settings_of(name) if "half_life" not in other]
        with pytest.raises(BadValue, match="unlabelled='em' needs"):
            [made(name, {**other, "unlabelled": "em"}) for other in others]


def schema_for(name: str) -> Schema | None:
    inputs: Any = getattr({**LEARNERS, **REGRESSORS}[name], "inputs", None)
    return DECLARED if isinstance(inputs, frozenset) and "nominal" in inputs else None


MADE: dict[str, Callable[[], Any]] = {
    "DriftAdaptive": lambda: DriftAdaptive(NaiveBayes()),
    "DecidingClassifier": lambda: DecidingClassifier(NaiveBayes(), Costs.zero_one(["yes", "no", True, 3])),
    "PredictionSets": lambda: PredictionSets(NaiveBayes()),
    "SpamFilter": SpamFilter,
}


@pytest.mark.parametrize("name", RELATIVES)
def test_what_is_no_learner_of_the_catalogue_can_do_what_its_row_says(name: str, tmp_path: Path) -> None:
    make, row = MADE[name], RELATIVES[name]
    events = MAILS if name == "SpamFilter" else events_for(make())
    found = {verb: can(verb, make, events, tmp_path) for verb in VERBS}
    assert found == {verb: row.get(verb, "yes") == "yes" for verb in VERBS}


def test_the_filter_has_verbs_of_its_own() -> None:
    model, other, empty = SpamFilter(), SpamFilter(), SpamFilter()
    for mail, label in MAILS[:2]:
        model.learn_one(mail, label)
        other.learn_one(mail, label)
    assert "pills" in str(model.explain_one(MAILS[0][0]))
    for identifier in list(model.ids()):
        model.forget(identifier)
    assert model.messages == empty.messages
    assert model.merge(other).messages == other.messages
    assert ShardFilterModel(0, FilterTotal(SpamFilter())).model is not None  # what [workers] sum
