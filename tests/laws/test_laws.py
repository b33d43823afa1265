"""Every learner obeys the laws it promises; and so it does over random streams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stream_bayes
from stream_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB, NaiveBayes
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.testing import LAWS, Law, check_law, laws_of, laws_of_errors, laws_of_states, learners
from stream_bayes.testing.assertions import same_knowledge, state_bytes
from tests.builds import EVERYTHING, UNCOMPILED, examples
from tests.shares import SHARE, least_tried

# Far out in a Gaussian's tail a square overflows to infinity, as it should; uncompiled, numpy says so.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")

EXAMPLES = examples(15)

# Uncompiled, this one takes as long as twenty others; its readings, and others chosen from, are checked there too.
SLOW = "LiveChoice(readings=('a2de', 'tan', 'aode'))"
LEARNERS = {name: one for name, one in learners().items() if not UNCOMPILED or name != SLOW}
CLASSES = list(dict.fromkeys(type(one) for one in LEARNERS.values()))
LAWS_OF = {name: laws_of(one) for name, one in LEARNERS.items()}
BOUND = {law.name: [name for name, laws in LAWS_OF.items() if law in laws] for law in LAWS}


def meets(kind: type[BayesClassifier], number: int, law: Law) -> bool:
    """Return True if a class meets a law on this build: uncompiled, a third of the classes each law of figures."""
    if not UNCOMPILED:
        return True
    of_python = (laws_of_errors.__name__, laws_of_states.__name__)
    figures = law.check.__module__ not in of_python or law.check is laws_of_states.saving_loses_nothing
    return figures and (CLASSES.index(kind) + number) % 3 == 0


def cases() -> Iterator[tuple[str, Law]]:
    tried: Counter[str] = Counter()
    for number, law in enumerate(LAWS):
        for kind in CLASSES:
            names = [name for name in BOUND[law.name] if type(LEARNERS[name]) is kind]
            if meets(kind, number, law):
                yield from ((name, law) for name in least_tried(names, -(-len(names) // SHARE), tried))


CASES = list(cases())


@pytest.mark.parametrize(("name", "law"), CASES, ids=[f"{name}-{law.name}" for name, law in CASES])
def test_a_learner_obeys_its_laws(name: str, law: Law) -> None:
    check_law(law, LEARNERS[name].clone())


@pytest.mark.soak
@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_obeys_every_law(name: str) -> None:
    for law in LAWS:
        if name in BOUND[law.name]:
            check_law(law, LEARNERS[name].clone())


def test_what_is_left_out_uncompiled_is_listed() -> None:
    assert SLOW in learners()


def test_each_class_obeys_each_law_that_binds_it_and_each_setting_some() -> None:
    bound = {(type(LEARNERS[name]), law) for law, names in BOUND.items() for name in names}
    met = {(type(LEARNERS[name]), law.name) for name, law in CASES}
    assert met == bound or UNCOMPILED
    assert {kind for kind, _ in met} == {*CLASSES}
    assert not EVERYTHING or {name for name, _ in CASES} == LEARNERS.keys()  # on other builds, most of them


def test_every_public_learner_is_listed() -> None:
    public = [getattr(stream_bayes, name) for name in stream_bayes.__all__]
    kinds = {kind for kind in public if isinstance(kind, type) and issubclass(kind, BayesClassifier)}
    assert {type(learner) for learner in learners().values()} == kinds


def test_every_law_binds_some_learner() -> None:
    assert all(BOUND.values())


NAN = float("nan")
LABELS = ["yes", "no", True, 2.5, ("a", 1)]
nominal = st.sampled_from(["red", "green", "1", True, False, b"red", ("red", 1), None, NAN])
numbers = st.one_of(
    st.integers(-1000, 1000), st.integers(-4000, 4000).map(lambda n: n / 8), st.just(None), st.just(NAN)
)
counts = st.sampled_from([0, 1, 2, 3.0, None, NAN])
rows = st.fixed_dictionaries(
    {}, optional={"a": nominal, "b": nominal, 7: nominal, "x": numbers, "y": numbers}
)
measures = st.fixed_dictionaries({}, optional={"x": numbers, "y": numbers, "z": numbers})
bags = st.dictionaries(st.sampled_from(["free", "pills", "lunch", ("a", 1), 7]), counts, max_size=5)

KINDS: list[tuple[BayesClassifier, st.SearchStrategy[dict[Any, Any]]]] = [
    (NaiveBayes(), rows),
    (NaiveBayes(prior="m-estimate", variance="both", variance_floor=1e-3), rows),
    (GaussianNB(strength=1.0), measures),
    (MultinomialNB(), bags),
    (ComplementNB(class_prior="counted"), bags),
    (BernoulliNB(), bags),
]
EACH_KIND = pytest.mark.parametrize(("learner", "events"), KINDS, ids=lambda value: type(value).__name__)

Samples = list[tuple[dict[Any, Any], Any, float]]


def draw_samples(data: st.DataObject, events: st.SearchStrategy[dict[Any, Any]], exact: bool) -> Samples:
    weights = st.sampled_from([1.0, 2.0, 3.0] if exact else [1.0, 0.5, 0.3, 2.75, 0.01])
    return data.draw(st.lists(st.tuples(events, st.sampled_from(LABELS), weights), max_size=30))


def trained(learner: BayesClassifier, samples: Samples) -> BayesClassifier:
    new = learner.clone()
    for x, y, w in samples:
        new.learn_one(x, y, w)
    return new


@EACH_KIND
@settings(max_examples=EXAMPLES)
@given(data=st.data(), exact=st.booleans())
def test_any_order_gives_the_same_knowledge(
    learner: BayesClassifier, events: st.SearchStrategy[dict[Any, Any]], data: st.DataObject, exact: bool
) -> None:
    samples = draw_samples(data, events, exact)
    one, other = trained(learner, samples), trained(learner, data.draw(st.permutations(samples)))
    same_knowledge(one, other, safe_probes(one, samples), "another order", exact=exact)


@EACH_KIND
@settings(max_examples=EXAMPLES)
@given(data=st.data(), exact=st.booleans())
def test_any_split_and_merge_gives_the_same_knowledge(
    learner: BayesClassifier, events: st.SearchStrategy[dict[Any, Any]], data: st.DataObject, exact: bool
) -> None:
    samples = draw_samples(data, events, exact)
    shards: list[Samples] = [[], [], []]
    for sample in samples:
        data.draw(st.sampled_from(shards)).append(sample)
    one = trained(learner, samples)
    first, second, third = (trained(learner, shard) for shard in shards)
    for merged in (first + second + third, third + (first + second)):
        same_knowledge(one, merged, safe_probes(one, samples), "merging", exact=exact)


@EACH_KIND
@settings(max_examples=EXAMPLES)
@given(data=st.data(), exact=st.booleans())
def test_what_is_unlearned_was_never_there(
    learner: BayesClassifier, events: st.SearchStrategy[dict[Any, Any]], data: st.DataObject, exact: bool
) -> None:
    samples = draw_samples(data, events, exact)
    gone = [data.draw(st.booleans()) for _ in samples]
    one = trained(learner, [sample for sample, out in zip(samples, gone, strict=True) if not out])
    other = trained(learner, samples)
    for x, y, w in data.draw(st.permutations([s for s, out in zip(samples, gone, strict=True) if out])):
        other.unlearn_one(x, y, w)
    same_knowledge(one, other, safe_probes(one, samples), "unlearning", exact=exact)


@EACH_KIND
@settings(max_examples=EXAMPLES)
@given(data=st.data(), exact=st.booleans())
def test_any_batches_give_the_same_bytes(
    learner: BayesClassifier, events: st.SearchStrategy[dict[Any, Any]], data: st.DataObject, exact: bool
) -> None:
    samples = draw_samples(data, events, exact)
    batched, rest = learner.clone(), samples
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        xs, ys, ws = zip(*rest[:size], strict=True)
        batched.learn_many(xs, ys, ws)
        rest = rest[size:]
    assert state_bytes(batched) == state_bytes(trained(learner, samples))


def safe_probes(learner: BayesClassifier, samples: Samples) -> list[dict[Any, Any]]:
    """What was learned, and nothing at all; numbers only where they varied, which puts a floor under the variance."""
    varied: dict[Any, set[float]] = {}
    for x, _, _ in samples:
        for name, value in x.items():
            if isinstance(value, (int, float)) and not isinstance(value, bool) and value == value:
                varied.setdefault(name, set()).add(value)
    constant = {name for name, values in varied.items() if len(values) < 5}
    if "bag" in learner.inputs:
        constant = set()
    probes = [{name: value for name, value in x.items() if name not in constant} for x, _, _ in samples[:5]]
    return [{}, *probes]
