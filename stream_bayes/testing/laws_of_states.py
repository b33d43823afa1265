"""Laws of keeping: what is saved is all there is, types stay what they were, budgets hold."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from stream_bayes._build import is_compiled
from stream_bayes.data.schema import Nominal, Schema
from stream_bayes.errors import BudgetExceeded, CannotMerge
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.testing.assertions import (
    changes_nothing,
    refuses,
    require,
    same_bytes,
    same_knowledge,
    state_bytes,
)
from stream_bayes.testing.growing_streams import GrowingStream
from stream_bayes.testing.laws_of_predictions import learn_all
from stream_bayes.testing.sample_streams import FRACTIONAL, LabelledSample, Streams

__all__ = [
    "a_budget_holds",
    "goes_on_as_if_never_saved",
    "labels_keep_their_types",
    "replay_gives_the_same_bytes",
    "saving_loses_nothing",
    "shared_codes_are_not_merged",
    "values_keep_their_types",
    "what_a_budget_refuses_outlives_loading",
    "what_is_saved_can_be_loaded_at_every_moment",
]

LABELS = (True, "True", "1", 2, 2.5, b"x", ("a", 1, True), "größe", 10**30, -0.5)
NUMPY_LABELS = (
    np.bool_(True),
    np.str_("True"),
    "1",
    np.int64(2),
    np.float64(2.5),
    np.bytes_(b"x"),
    ("a", np.int8(1), True),
)
MOST_EVENTS = 20_000
GROWING_EVENTS = 60
COMPILED = is_compiled()
TIMES = 2  # occurrences of a token: enough for any threshold of a BernoulliNB here


def _loaded(model: BayesClassifier) -> BayesClassifier:
    """Return the model after a round trip through JSON text."""
    state = model.state()
    arrays = {
        name: np.frombuffer(array.tobytes(), array.dtype).reshape(array.shape)
        for name, array in state.pop("arrays").items()
    }
    return type(model).from_state({**json.loads(json.dumps(state)), "arrays": arrays})


def _unpickled(model: BayesClassifier) -> BayesClassifier:
    return pickle.loads(pickle.dumps(model))


def saving_loses_nothing(learner: BayesClassifier, streams: Streams) -> None:
    """Check that a saved and loaded learner is equal to the byte and continues in the same way."""
    samples = [*streams.samples(30), *streams.samples(20, FRACTIONAL)]
    more, probes = streams.extras(12), streams.probes(4)
    for learned_count in (0, 1, 30, len(samples)):
        model = learn_all(learner.clone(), samples[:learned_count])
        state, content = model.state(), model.content()
        kept = {name: array.copy() for name, array in state["arrays"].items()}
        copies = {
            "from_state": type(model).from_state(state),
            "JSON": _loaded(model),
            "pickle": _unpickled(model),
            "deepcopy": copy.deepcopy(model),
            "pickle of a pickle": _unpickled(_unpickled(model)),
        }
        whole = state_bytes(model)
        for what, loaded in copies.items():
            same_bytes(model, loaded, f"{what} after {learned_count} samples")
            require(state_bytes(loaded) == whole, f"{what} after {learned_count} samples: the states differ")
            require(loaded.clock == model.clock, f"{what}: the clock is at {loaded.clock}, not {model.clock}")
        if not COMPILED:  # both load a state with the same code there, so one is enough
            copies = {"JSON": copies["JSON"]}
        for number, (x, y, w) in enumerate(more):
            if number % 2:
                learned = {
                    what: one.predict_learn_one(x, y, w) for what, one in {**copies, "": model}.items()
                }
                for what, answer in learned.items():
                    require(answer == learned[""], f"{what}, {number} samples later: the answers differ")
                continue
            for one in (model, *copies.values()):
                one.learn_one(x, y, w)
            if number % 4 == 0:
                _loaded(model)  # to have saved must not show later
        for what, loaded in copies.items():
            same_bytes(model, loaded, f"{what}, {len(more)} samples later")
            answers = [[one.predict_proba_one(probe) for probe in probes] for one in (model, loaded)]
            require(answers[0] == answers[1], f"{what}, {len(more)} samples later: the answers differ")
        for name, array in kept.items():
            require(
                state["arrays"][name].tobytes() == array.tobytes(),
                f"learning changed the array {name!r} of a state taken before",
            )
        written_later = type(model).from_state(content.state())
        same_bytes(type(model).from_state(state), written_later, "a content whose state was written later")


def what_is_saved_can_be_loaded_at_every_moment(learner: BayesClassifier, streams: Streams) -> None:
    """Check that a learner saved at any moment of a stream with growing names loads, and goes on with equal bytes."""
    kinds = learner.inputs if learner.traits.accepts_numbers else learner.inputs - {"numeric"}
    labels = streams.labels if streams.declares_classes else None
    stream = GrowingStream(int(streams.rng.integers(2**31)), kinds, labels=labels)
    goes_on_as_if_never_saved(learner.clone(), stream, GROWING_EVENTS, _loaded, state_bytes, every=5)


def goes_on_as_if_never_saved(
    model: Any,
    stream: GrowingStream,
    events: int,
    reloaded: Callable[[Any], Any],
    bytes_of: Callable[[Any], bytes],
    every: int,
) -> None:
    """Check that a model and a twin that is saved and loaded on the way give equal answers, and end with equal bytes.

    The model is new; it learns the events. `reloaded` returns what is loaded from what a model saves, `bytes_of` the
    bytes that it saves. The twin is saved and loaded after every `every` events. What the model would save is loaded
    and saved again at the same moments.
    """
    twin = reloaded(model)
    for number, sample in enumerate(stream.events(events)):
        answers = [_outcome(one, sample) for one in (model, twin)]
        require(
            repr(answers[0]) == repr(answers[1]),
            f"event {number}: {answers[0]}, and once loaded {answers[1]}",
        )
        if number % every == 0:
            twin = reloaded(twin)
            require(
                bytes_of(reloaded(model)) == bytes_of(model), f"event {number}: loading changed the bytes"
            )
            probe = stream.probe()
            asked = [one.predict_proba_one(probe) for one in (model, twin)]
            require(asked[0] == asked[1], f"event {number}: {asked[0]}, and once loaded {asked[1]}")
    require(
        bytes_of(model) == bytes_of(twin), f"{events} events, loaded on the way or not: the states differ"
    )


def replay_gives_the_same_bytes(learner: BayesClassifier, streams: Streams) -> None:
    """Check that the same events from the same state give the same bytes."""
    events = [*streams.samples(30), *streams.extras(20, FRACTIONAL), *streams.samples(30)]
    started = learn_all(learner.clone(), streams.samples(20))
    once, again = _unpickled(started), _loaded(started)
    for model in (once, again):
        for number, (x, y, w) in enumerate(events):
            model.learn_one(x, y, w)
            if number % 3 == 0 and learner.unlearns:
                model.unlearn_one(x, y, w)
            if number % 10 == 0:
                model.advance(3)
            if number % 7 == 0:
                model.predict_learn_one(x, y, w)
    same_bytes(once, again, "replaying")


def shared_codes_are_not_merged(learner: BayesClassifier, streams: Streams) -> None:
    """Check that merging is refused past `max_values`, where the order of events decides which values share a code."""
    small = learner.clone({"max_values": 1})
    names: list[dict[Any, Any]] = [dict.fromkeys(streams.nominal, value) for value in ("first", "second")]
    if streams.bags:
        names = [{"first": TIMES}, {"second": TIMES}]
    one, other = (learn_all(small.clone(), [LabelledSample(x, streams.labels[0])]) for x in names)
    refuses(one, lambda: one.merge(other), CannotMerge, "merging past max_values")
    refuses(one, lambda: one + other, CannotMerge, "adding past max_values")
    both = learn_all(small.clone(), [LabelledSample(x, streams.labels[0]) for x in names])
    refuses(one, lambda: one.merge(both), CannotMerge, "merging a learner past max_values")
    refuses(both, lambda: both.merge(one), CannotMerge, "merging into a learner past max_values")
    saved = _loaded(both)
    same_bytes(saved, both, "from_state past max_values")
    again = [LabelledSample(x, streams.labels[0]) for x in names]
    same_bytes(learn_all(saved, again), learn_all(both, again), "learning on past max_values")


def labels_keep_their_types(learner: BayesClassifier, streams: Streams) -> None:
    """Check that labels keep their types; of 1, 1.0, True the first is reported; numpy scalars become Python's."""
    full = streams.features(0).items()
    x = dict([(name, value) for name, value in full if value is not None and value == value][:1])
    expected = _typed(LABELS)
    for given in (LABELS, (*NUMPY_LABELS, *LABELS[len(NUMPY_LABELS) :])):
        model = learn_all(learner.clone(), [LabelledSample(x, y) for y in given])
        batch = learner.clone()
        batch.learn_many([x] * len(given), list(given))
        tested = learner.clone()
        for y in given:
            tested.predict_learn_one(x, y)
        ways = {"learning": model, "learn_many": batch, "predict_learn_one": tested}
        ways |= {"from_state": _loaded(model), "pickle": _unpickled(model)}
        if learner.traits.is_mergeable:
            half = learn_all(learner.clone(), [LabelledSample(x, y) for y in given[:4]])
            ways["merging"] = half + learn_all(learner.clone(), [LabelledSample(x, y) for y in given[4:]])
        for what, one in ways.items():
            reported = {
                "classes_": one.classes_,
                "predict_proba_one": one.predict_proba_one(x),
                "joint_log_likelihood": one.joint_log_likelihood(x),
                "predict_proba_many": one.predict_proba_many([x])[0],
                "class_prior_": one.class_prior_,
            }
            for where, labels in reported.items():
                require(_typed(labels) == expected, f"{what}: {where} has {list(labels)!r}, not {LABELS!r}")
    for y in LABELS:
        model = learn_all(learner.clone(), [LabelledSample(x, y)])
        for answer in (model.predict_one(x), model.predict_many([x])[0], _loaded(model).predict_one(x)):
            require(_typed([answer]) == _typed([y]), f"{answer!r} is predicted where {y!r} was learned")
    for labels in ((1, True, 1.0), (True, 1.0, 1), (1.0, 1, True)):
        models = [learn_all(learner.clone(), [LabelledSample(x, y)]) for y in labels]
        many = learner.clone()
        many.learn_many([x] * 3, list(labels))
        merged = [models[0] + models[1] + models[2]] if learner.traits.is_mergeable else []
        for model in (
            many,
            *merged,
            learn_all(learner.clone(), [LabelledSample(x, y) for y in labels]),
        ):
            require(
                _typed(model.classes_) == _typed(labels[:1]), f"of {labels!r} {model.classes_!r} is reported"
            )
            require(model.predict_proba_one(x) == {1: 1.0}, f"{labels!r} are not one class")


def values_keep_their_types(learner: BayesClassifier, streams: Streams) -> None:
    """Check that values and feature names keep their types through learning, saving and merging."""
    label = streams.labels[0]
    learner = learner.clone({"half_life": None})  # so that counts are whole numbers
    new: BayesClassifier = learner.clone()
    events: list[dict[Any, Any]] = [{name: TIMES} for name in LABELS]
    if not streams.bags:
        new = learner.clone({"schema": Schema({"v": Nominal()})})
        events = [{"v": value} for value in LABELS]
        named = learn_all(learner.clone(), [LabelledSample({name: "x"}, label) for name in LABELS])
        same_bytes(named, _loaded(named), "names of features of every type")
        names = [name[0] for name in named.store.by_name() if len(name) == 3]
        require(_typed(names) == _typed(LABELS), f"features {LABELS!r} are reported as {names!r}")
    model = learn_all(new.clone(), [LabelledSample(x, label) for x in events])
    batch = new.clone()
    batch.learn_many(events, [label] * len(events))
    ways = {"learning": model, "batch": batch, "from_state": _loaded(model)}
    if learner.traits.is_mergeable:
        merged = learn_all(new.clone(), [LabelledSample(x, label) for x in events[:3]])
        ways["merging"] = merged.merge(learn_all(new.clone(), [LabelledSample(x, label) for x in events[3:]]))
    for what, one in ways.items():
        values = [name[-2] for name in one.store.by_name() if len(name) > 1]
        require(_typed(values) == _typed(LABELS), f"{what}: values {LABELS!r} are reported as {values!r}")
    same = [{value: TIMES} if streams.bags else {"v": value} for value in (1, True, 1.0, "1")]
    model = learn_all(new.clone(), [LabelledSample(x, label) for x in same])
    weights = {name[-2]: n for name, n in model.store.by_name().items() if len(name) > 1}
    require(weights[1] == 3 * weights["1"], f"1, True, 1.0 and '1' are held as {weights!r}")


def _typed(values: Iterable[Any]) -> list[tuple[Any, ...]]:
    return [(type(v).__name__, repr(v)) for v in values]


def a_budget_holds(learner: BayesClassifier, streams: Streams) -> None:
    """Check that tables never exceed `memory_budget`: a sample that needs more is refused before anything changes."""
    plain = learn_all(learner.clone(), streams.samples(30))
    require(plain.memory_bytes > 0, f"memory_bytes is {plain.memory_bytes}")
    budget = 2 * plain.memory_bytes
    samples = streams.samples(30)
    model, twin = (learn_all(learner.clone({"memory_budget": budget}), samples) for _ in range(2))
    ample = learner.clone({"memory_budget": 10**12})
    grown = learner.clone()
    for number in range(MOST_EVENTS):
        new = LabelledSample(_something_new(streams, number), streams.labels[0])
        require(model.memory_bytes <= budget, f"{model.memory_bytes} bytes are held, the budget is {budget}")
        try:
            model.learn_one(*new)
        except BudgetExceeded:
            same_bytes(model, twin, "a refusal for lack of memory, and none")
            break
        twin.learn_one(*new)
    else:
        raise AssertionError(f"{MOST_EVENTS} new names were learned within {budget} bytes")
    refuses(model, lambda: model.learn_one(*new), BudgetExceeded, "learning past the budget")
    refuses(model, lambda: model.predict_learn_one(*new), BudgetExceeded, "predict_learn_one past the budget")
    sample = streams.samples(1)[0]
    rows, labels = [sample.x, new.x], [sample.y, new.y]
    refuses(model, lambda: model.learn_many(rows, labels), BudgetExceeded, "learn_many past the budget")
    refuses(
        model,
        lambda: model.predict_learn_many(rows, labels),
        BudgetExceeded,
        "predict_learn_many past the budget",
    )
    for start in range(number, 2 * number + 10):
        grown.learn_one(_something_new(streams, start), streams.labels[0])
    if learner.traits.is_mergeable:
        refuses(model, lambda: model.merge(grown), BudgetExceeded, "merging past the budget")
        with changes_nothing(grown, "a merge that was refused, in the other learner,"):
            ample.merge(grown)
        same_knowledge(ample, grown, streams.probes(), "merging within the budget", exact=False)
    same_bytes(
        learn_all(_loaded(model), [sample]), learn_all(model, [sample]), "learning on within the budget"
    )


def what_a_budget_refuses_outlives_loading(learner: BayesClassifier, streams: Streams) -> None:
    """Check that near `memory_budget` a loaded model refuses, predicts and learns as one that kept running."""
    events = streams.samples(24, FRACTIONAL)[:8] + streams.samples(40)
    for number, event in enumerate(events[::2]):
        event.x.update(_something_new(streams, number // 2))
    sizes = [_loaded(learn_all(learner.clone(), events[:half])).memory_bytes for half in (8, 24)]
    for budget in (*sizes, sum(sizes)):
        try:
            model = learner.clone({"memory_budget": budget})
        except BudgetExceeded:
            continue  # it would not even hold what was declared
        twin = model.clone()
        for number, event in enumerate(events):
            if number % 3 == 0:
                twin = _loaded(twin)
            ours, theirs = _outcome(model, event), _outcome(twin, event)
            require(
                ours == theirs, f"event {number} within {budget:,} bytes: {ours}, and once loaded {theirs}"
            )
        same_bytes(model, twin, f"within {budget:,} bytes, loaded on the way or not,")


def _outcome(model: Any, event: LabelledSample) -> object:
    """Return the prediction for a sample that is learned, or the reason why it is refused."""
    try:
        return model.predict_learn_one(*event)
    except BudgetExceeded as error:
        return str(error)


def _something_new(streams: Streams, number: int) -> dict[Any, Any]:
    if streams.bags:
        return {f"new {number}": TIMES}
    return {f"new {number}": "x" if streams.nominal else 1.0}
