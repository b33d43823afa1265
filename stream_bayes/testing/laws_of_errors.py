"""Laws of refusing: bad input raises the right error, and nothing changes, not even names that came before it."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from river.base import tags

from stream_bayes.core.values.values import shown
from stream_bayes.errors import (
    BadLabel,
    BadState,
    BadValue,
    BadWeight,
    CannotMerge,
    KindChanged,
    NotLearned,
    NotSupported,
    SchemaError,
    UnknownFeature,
)
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.testing.assertions import Untouched, refuses, same_bytes
from stream_bayes.testing.laws_of_predictions import learn_all
from stream_bayes.testing.sample_streams import LabelledSample, Streams, coded

__all__ = [
    "altered_states_are_refused",
    "bad_input_changes_nothing",
    "numbers_never_learned_are_not_unlearned",
    "strangers_are_not_merged",
]

BAD_LABELS: tuple[Any, ...] = (
    None,
    math.nan,
    np.float64("nan"),
    [1],
    {},
    {1},
    object(),
    1j,
    math.inf,
    ("a", None),
)
BAD_WEIGHTS: tuple[Any, ...] = (
    -1.0,
    math.inf,
    -math.inf,
    math.nan,
    "1",
    None,
    [1.0],
    1j,
    10**400,
    2.0**54,
    object(),
)
BAD_EVENTS: tuple[Any, ...] = (None, 3, ["a", "b"], "colour")
NO_COUNTS: tuple[Any, ...] = (-1, 1.5, "1", True)
NO_DECLARED_NAMES: tuple[Any, ...] = (7, b"colour", None, ("colour",), True)
NO_VALUES: tuple[Any, ...] = ([1], {}, {1}, object(), 1j, ("a", None))

Errors = type[Exception] | tuple[type[Exception], ...]


def bad_input_changes_nothing(learner: BayesClassifier, streams: Streams) -> None:
    """Check that bad input raises the right error, wherever it stands, and leaves no trace."""
    samples = streams.samples(30)
    model = learn_all(learner.clone(), samples)
    undisturbed = learn_all(learner.clone(), samples)
    taught, fresh = Untouched(model), Untouched(learner.clone())
    x, y = _full(streams), streams.labels[0]
    new = streams.extras(1)[0].x if streams.accepts_new_features else {}

    def demand_refusal(sample: LabelledSample, errors: Errors, what: str) -> None:
        """Demand an error from every verb that learns, also in the middle of many rows and after new names."""
        bad = sample._replace(x={**new, **sample.x}) if isinstance(sample.x, dict) else sample
        good = LabelledSample({**new, **x}, y)
        rows = [good, bad, good]
        xs, ys, ws = ([row[part] for row in rows] for part in range(3))
        # Where nothing is known yet, a feature can be of any kind.
        for one in (taught, fresh)[: 1 if errors is KindChanged else 2]:
            verbs: dict[str, Callable[[], object]] = {
                f"learning {what}": partial(one.learner.learn_one, *bad),
                f"predict_learn_one of {what}": partial(one.learner.predict_learn_one, *bad),
                f"learn_many with {what} in row 1": partial(one.learner.learn_many, xs, ys, ws),
                f"predict_learn_many with {what}": partial(one.learner.predict_learn_many, xs, ys, ws),
            }
            one.refuses(verbs, errors)

    for label in BAD_LABELS:
        demand_refusal(LabelledSample(x, label), BadLabel, f"the label {shown(label)}")
        unlearning = partial(model.unlearn_one, x, label)
        taught.refuses(
            {f"unlearning the label {shown(label)}": unlearning},
            BadLabel if learner.unlearns else NotSupported,
        )
    if streams.declares_classes:
        demand_refusal(LabelledSample(x, "not declared"), BadLabel, "a label that is not declared")
    for weight in BAD_WEIGHTS:
        demand_refusal(LabelledSample(x, y, weight), BadWeight, f"the weight {shown(weight)}")
        unlearning = partial(model.unlearn_one, x, y, weight)
        taught.refuses(
            {f"unlearning the weight {shown(weight)}": unlearning},
            BadWeight if learner.unlearns else NotSupported,
        )
    for event in BAD_EVENTS:
        if "bag" in learner.inputs and isinstance(event, list):
            continue  # the tokens of a text
        demand_refusal(LabelledSample(event, y), BadValue, f"{shown(event)} for features")
    for name, value, errors in _bad_values(streams, learner):
        bad = {key: one for key, one in x.items() if key != name} | {name: value}
        demand_refusal(LabelledSample(bad, y), errors, f"{name!r} = {shown(value)}")
    _require_whole_batches(taught, streams)
    if learner.unlearns:
        _require_nothing_unlearned(taught, streams)
    taught.refuses(
        {f"advance({events!r})": partial(model.advance, events) for events in NO_COUNTS}, BadWeight
    )
    more = streams.samples(20)
    same_bytes(
        learn_all(model, more), learn_all(undisturbed, more), "learning on after refusals, and without"
    )


def _full(streams: Streams) -> dict[Any, Any]:
    """Return features without missing values."""
    if streams.bags:
        return dict.fromkeys(streams.tokens, 1)
    nominal = {name: values[0] for name, values in streams.nominal.items()}
    return {**nominal, **dict.fromkeys(streams.numeric, 1.5)}


def _bad_values(streams: Streams, learner: BayesClassifier) -> Iterator[tuple[Any, Any, Errors]]:
    """Yield features with a bad name or value, and the errors expected."""
    if not streams.takes_any_feature:
        for name in NO_DECLARED_NAMES:
            yield name, 1, BadValue
    if streams.bags:
        yield from _bad_counts(streams, learner)
        return
    other_kind = KindChanged if streams.takes_any_feature and streams.nominal else BadValue
    for name in list(streams.nominal)[:1]:
        of_type: tuple[Any, ...] = (1.5, 7) if streams.takes_any_feature else ()
        yield from ((name, value, BadValue) for value in (*NO_VALUES, math.inf, np.timedelta64(1, "s")))
        yield from ((name, value, KindChanged) for value in of_type)
    for name in streams.numeric[:1]:
        yield from ((name, value, BadValue) for value in (math.inf, -math.inf, 10**400))
        yield from ((name, value, other_kind) for value in ("3", b"3", True, (1.5,)))
        yield from ((name, value, (BadValue, KindChanged)) for value in NO_VALUES)
    if streams.accepts_new_features:
        yield from (("a new feature", value, BadValue) for value in (*NO_VALUES, math.inf))
    elif streams.schema is not None:
        if streams.schema.unknown == "refuse":
            yield "not declared", "x", UnknownFeature
        closed = [name for name, spec in streams.schema.features.items() if getattr(spec, "closed", False)]
        yield from ((name, "not declared", BadValue) for name in closed)


def _bad_counts(streams: Streams, learner: BayesClassifier) -> Iterator[tuple[Any, Any, Errors]]:
    """Yield tokens with a count that is none, and the errors expected."""
    negative = (-1, -0.5, math.inf, -math.inf) if tags.POSITIVE_INPUT in learner._tags else ()
    tokens = [streams.tokens[0], *["a new token"] * streams.takes_any_feature]
    for count, token in product(("1", b"1", (1,), *NO_VALUES, *negative), tokens):
        yield token, count, BadValue


def _require_whole_batches(taught: Untouched, streams: Streams) -> None:
    x, y = _full(streams), streams.labels[0]
    columns = coded(streams, [LabelledSample(x, y)] * 2)
    many = partial(partial, taught.learner.learn_many)
    faults: dict[type[Exception], dict[str, Callable[[], object]]] = {
        SchemaError: {
            "two rows with one label": many([x, x], [y]),
            "two rows with one weight": many([x, x], [y, y], [1.0]),
            "two coded rows with one label": many(columns, [y]),
        },
        BadLabel: {
            "rows without labels": many([x, x]),
            "coded rows and a missing label": many(columns, [y, None]),
        },
        BadWeight: {
            "a negative weight for all rows": many([x, x], [y, y], -1.0),
            "coded rows and a negative weight": many(columns, w=[1.0, -1.0]),
        },
    }
    for error, actions in faults.items():
        taught.refuses(actions, error)


def _require_nothing_unlearned(taught: Untouched, streams: Streams) -> None:
    """Check that unlearning what was never learned is refused."""
    model, x, y = taught.learner, _full(streams), streams.labels[0]
    strangers = {
        "a label never learned": LabelledSample(x, "never learned"),
        "more weight than is held": LabelledSample({}, y, 1e6),
        "more of a sample than is held": LabelledSample(x, y, 1e6),
    }
    if streams.accepts_new_features and model.max_values is None:
        strangers["a feature never learned"] = LabelledSample({**x, **streams.unseen()}, y)
    if streams.bags:
        strangers["more of a token than was learned"] = LabelledSample({streams.tokens[0]: 1e6}, y, 1e3)
    for what, sample in strangers.items():
        taught.refuses({f"unlearning {what}": partial(model.unlearn_one, *sample)}, NotLearned)
    for clock in (model.clock + 1, *NO_COUNTS):
        taught.refuses({f"unlearning at {clock!r}": partial(model.unlearn_one, x, y, at=clock)}, NotLearned)


def numbers_never_learned_are_not_unlearned(learner: BayesClassifier, streams: Streams) -> None:
    """Check that a number the class cannot have learned is not unlearned, and that learned ones are."""
    feature = streams.numeric[-1]
    model = learner.clone()
    many, one = streams.labels[:2]
    learned = []
    for label, number in ((many, 1.0), (many, 2.0), (one, 2.0), (many, 3.0)):
        x = {**_full(streams), feature: number}
        model.learn_one(x, label)
        learned.append((x, label, model.clock))
    strangers = {
        "larger than any": (many, 50.0),
        "smaller than any": (many, -50.0),
        "no larger than some, but far from all": (many, -2.9),
        "other than the only one": (one, 1.9),
    }
    for what, (label, number) in strangers.items():
        at = max(clock for _, learned_label, clock in learned if learned_label == label)
        x = {**_full(streams), feature: number}
        unlearn = partial(model.unlearn_one, x, label, at=at)
        refuses(model, unlearn, NotLearned, f"unlearning a number {what}")
    for x, label, at in learned:
        model.unlearn_one(x, label, at=at)


def strangers_are_not_merged(learner: BayesClassifier, streams: Streams) -> None:
    """Check that learners of other classes, settings or kinds of features are not merged."""
    model = learn_all(learner.clone(), streams.samples(20))
    relative = learner.clone({"half_life": 7.25})
    kind = type("Another", (type(learner),), {"__doc__": "Another kind."})
    another = learner.clone()
    another.__class__ = kind
    strangers: list[Any] = [relative, another, "no learner", None, 1]
    untouched = Untouched(model)
    for stranger in strangers:
        untouched.refuses({f"merging {stranger!r}": partial(model.merge, stranger)}, CannotMerge)
    for stranger in strangers[2:]:
        untouched.refuses({f"adding {stranger!r}": partial(operator.add, model, stranger)}, TypeError)
    if streams.nominal and streams.numeric and streams.takes_any_feature:
        nominal, numeric = next(iter(streams.nominal)), streams.numeric[0]
        for x in ({"new": "x", nominal: 1.5}, {"new": "x", numeric: "x"}):
            other = learn_all(learner.clone(), [LabelledSample(x, streams.labels[0])])
            merge = partial(model.merge, other)
            untouched.refuses({f"merging a learner that has learned {x!r}": merge}, CannotMerge)


def altered_states_are_refused(learner: BayesClassifier, streams: Streams) -> None:
    """Check that a truncated or altered state, of a newer format or another learner, raises BadState."""
    model = learn_all(learner.clone(), streams.samples(20))
    state = model.state()
    altered: dict[str, Any] = {
        "None": None,
        "a list": [],
        "an empty state": {},
        "a newer format": {**state, "format": state["format"] + 1},
        "no known format": {**state, "format": "1"},
        "another learner's": {**state, "learner": "Another"},
        "something more": {**state, "more": 1},
    }
    for key in state:
        altered[f"no {key}"] = {name: value for name, value in state.items() if name != key}
        altered[f"None for {key}"] = {**state, key: None}
    for key, value in state["store"].items():
        altered[f"no {key} in store"] = {
            **state,
            "store": {k: v for k, v in state["store"].items() if k != key},
        }
        altered[f"another {key} in store"] = {**state, "store": {**state["store"], key: [value]}}
    for name, array in state["arrays"].items():
        arrays = {key: one for key, one in state["arrays"].items() if key != name}
        altered[f"no array {name}"] = {**state, "arrays": arrays}
        altered[f"{name} of another type"] = {**state, "arrays": {**arrays, name: array.astype(np.float32)}}
        altered[f"a list for {name}"] = {**state, "arrays": {**arrays, name: array.tolist()}}
        if array.size:
            changed = array.copy()
            changed.flat[-1] = np.nan_to_num(changed.flat[-1]) + 1.0
            altered[f"{name} with one number changed"] = {**state, "arrays": {**arrays, name: changed}}
            altered[f"{name} cut short"] = {**state, "arrays": {**arrays, name: array[:-1]}}
    actions = {f"a state with {what}": partial(type(model).from_state, bad) for what, bad in altered.items()}
    Untouched(model).refuses(actions, BadState)
    same_bytes(type(model).from_state(state), model, "the state itself")
