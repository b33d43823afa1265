from __future__ import annotations

import math
import random
import subprocess
import sys
import time
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from river import naive_bayes as river_nb
from sklearn import naive_bayes as sklearn_nb

import stream_bayes
from stream_bayes import (
    AODE,
    KDB,
    TAN,
    BernoulliNB,
    ComplementNB,
    LiveChoice,
    MultinomialNB,
    NaiveBayes,
    Numeric,
    Schema,
)
from stream_bayes.errors import BadLabel, BadValue, NotLearned, SchemaError, UnknownFeature

ALL = [MultinomialNB, ComplementNB, BernoulliNB]
KINDS = pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)

Message = tuple[dict[str, Any], Any]


def trained(model: Any, messages: list[Message]) -> Any:
    for x, y in messages:
        model.learn_one(x, y)
    return model


def messages(seed: int, rows: int, words: int, classes: int, *, fractions: bool = False) -> list[Message]:
    """Random messages, the first of which holds every word."""
    source = random.Random(seed)
    made: list[Message] = [({f"w{k}": 1 for k in range(words)}, 0)]
    for row in range(rows):
        y = row % classes
        count = source.random if fractions else lambda: source.choice([0, 1, 1, 2, 5])
        made.append(
            (
                {
                    f"w{k}": count()
                    for k in range(words)
                    if source.random() < (0.5 if k % classes == y else 0.2)
                },
                y,
            )
        )
    return made


def dense(many: list[Message], words: int) -> tuple[np.ndarray, np.ndarray]:
    return np.array([[x.get(f"w{k}", 0) for k in range(words)] for x, _ in many]), np.array(
        [y for _, y in many]
    )


# --- against scikit-learn and River ---


@pytest.mark.parametrize("fractions", [False, True])
@pytest.mark.parametrize("classes", [2, 3, 9])
@pytest.mark.parametrize("alpha", [1.0, 0.1, 1e-6, 7.0])
@KINDS
def test_probabilities_are_scikit_learns(kind, alpha, classes, fractions):
    words = 12
    train = messages(1, 60, words, classes, fractions=fractions)
    test = messages(2, 40, words, classes, fractions=fractions)
    model = trained(kind(alpha=alpha), train)
    batch = getattr(sklearn_nb, kind.__name__)(alpha=alpha).fit(*dense(train, words))
    expected = batch.predict_proba(dense(test, words)[0])
    for (x, _), row in zip(test, expected, strict=True):
        p = model.predict_proba_one(x)
        assert [p[y] for y in batch.classes_] == pytest.approx(row, abs=1e-10)


@pytest.mark.parametrize("alpha", [1.0, 0.25])
@KINDS
def test_probabilities_are_rivers_while_every_word_is_known(kind, alpha):
    model, river = kind(alpha=alpha), getattr(river_nb, kind.__name__)(alpha=alpha)
    for step, (x, y) in enumerate(messages(3, 80, 10, 3)):
        y = "abc"[y]
        if step:
            expected = river.predict_proba_one(x)
            # River adds 1e-9 to each probability before it takes a Bernoulli model's logarithms.
            close = 1e-7 if kind is BernoulliNB else 1e-10
            assert model.predict_proba_one(x) == pytest.approx(expected, abs=close)
        model.learn_one(x, y)
        river.learn_one(x, y)


@KINDS
def test_a_token_never_learned_or_all_unlearned_says_nothing(kind):
    model = trained(
        kind(), [({"free": 2, "pills": 1}, "spam"), ({"lunch": 1, "pills": 1}, "ham"), ({"odd": 3}, "ham")]
    )
    model.unlearn_one({"odd": 3}, "ham")
    expected = model.joint_log_likelihood({"free": 1})
    assert model.joint_log_likelihood({"free": 1, "new": 5, "odd": 2}) == expected
    for token in ("odd", "new"):
        with pytest.raises(UnknownFeature, match=repr(token)):
            model.conditional(token)


def test_multinomial_tables_are_the_formula():
    model = trained(MultinomialNB(alpha=0.5), [({"a": 3, "b": 1}, "x"), ({"b": 2}, "y"), ({"c": 1}, "y")])
    assert model.conditional("a") == pytest.approx({"x": 3.5 / 5.5, "y": 0.5 / 4.5})
    assert model.conditional("b", {"class": "y"}) == pytest.approx(2.5 / 4.5)
    score = math.log(1 / 3) + 2 * math.log(3.5 / 5.5) + math.log(0.5 / 5.5)
    assert model.joint_log_likelihood({"a": 2, "c": 1})["x"] == pytest.approx(score)


def test_bernoulli_tables_are_the_formula_and_absent_words_speak():
    model = trained(BernoulliNB(alpha=0.5), [({"a": 3, "b": 1}, "x"), ({"b": 2}, "x"), ({"c": 1}, "y")])
    assert model.conditional("a") == pytest.approx({"x": 1.5 / 3, "y": 0.5 / 2})
    expected = math.log(2 / 3 * (1.5 / 3) * (1 - 2.5 / 3) * (1 - 0.5 / 3))
    assert model.joint_log_likelihood({"a": 1})["x"] == pytest.approx(expected)


def test_complement_scores_are_the_formula_and_take_no_prior_unless_asked():
    many: list[Message] = [({"a": 3, "b": 1}, "x"), ({"b": 2}, "y"), ({"c": 1}, "y"), ({"c": 2}, "z")]
    for prior, added in (("uniform", 1 / 3), ("counted", 1 / 4)):
        model = trained(ComplementNB(alpha=0.5, class_prior=prior), many)
        expected = math.log(added) - 2 * math.log((0 + 0.5) / (5 + 1.5)) - math.log((3 + 0.5) / (5 + 1.5))
        assert model.joint_log_likelihood({"a": 2, "c": 1})["x"] == pytest.approx(expected)


@KINDS
@pytest.mark.parametrize(
    ("first", "second"),
    [(1, True), (1, 1.0), (1, np.int64(1)), (0, False), (0, None), (0, float("nan")), (0, -0.0)],
)
def test_what_counts_as_one_or_as_nothing(kind, first, second):
    others: list[Message] = [({"b": 2}, "y"), ({"a": 1, "b": 1}, "y")]
    one, other = (trained(kind(), [({"a": count, "b": 1}, "x"), *others]) for count in (first, second))
    assert one.joint_log_likelihood({"a": first}) == other.joint_log_likelihood({"a": second})
    assert one.state()["checksum"] == other.state()["checksum"]


@KINDS
def test_a_count_of_zero_names_no_token(kind):
    model = trained(kind(), [({"a": 0, "b": 1}, "x")])
    assert model.store.encoder.tokens.values == ["b"]


@KINDS
def test_fractional_counts_can_be_taken_back(kind):
    model = trained(kind(), [({"a": 0.3, "b": 0.1}, "x"), ({"a": 0.7}, "x"), ({"b": 0.2}, "y")])
    rest = trained(kind(), [({"b": 0.2}, "y")])
    model.unlearn_one({"a": 0.7}, "x")
    model.unlearn_one({"b": 0.1, "a": 0.3}, "x")
    assert model.classes_ == ("y",)
    assert model.store.by_name() == pytest.approx(rest.store.by_name())


def test_only_what_is_above_the_threshold_is_there():
    model = trained(BernoulliNB(true_threshold=1.5), [({"a": 1, "b": 2}, "x"), ({"a": 3}, "y")])
    assert model.conditional("a") == pytest.approx({"x": 1 / 3, "y": 2 / 3})
    assert model.joint_log_likelihood({"b": 1}) == model.joint_log_likelihood({})
    below = trained(BernoulliNB(true_threshold=-1), [({"a": 0, "b": -2}, "x"), ({"a": 3}, "y")])
    assert below.conditional("a") == pytest.approx({"x": 2 / 3, "y": 2 / 3})


@KINDS
def test_declared_tokens_alone_are_counted(kind):
    schema = Schema({"a": Numeric(), "b": Numeric()}, classes=["x", "y"])
    model = trained(kind(schema=schema), [({"a": 1, "other": 5}, "x")])
    assert model.store.encoder.tokens.values == ["a", "b"]
    assert model.classes_ == ("x", "y")
    assert model.joint_log_likelihood({"a": 1, "other": 9}) == model.joint_log_likelihood({"a": 1})
    assert model.joint_log_likelihood({"b": 1}) != model.joint_log_likelihood({})
    model.unlearn_one({"a": 1, "other": 5}, "x")
    with pytest.raises(BadLabel):
        model.learn_one({"a": 1}, "z")
    refusing = kind(schema=Schema({"a": Numeric()}, unknown="refuse"))
    for act in (lambda: refusing.learn_one({"a": 1, "b": 1}, "x"), lambda: refusing.predict_one({"b": 1})):
        with pytest.raises(UnknownFeature, match="'b' is not declared"):
            act()
    with pytest.raises(SchemaError, match="use Numeric"):
        kind(schema=Schema({"a": ["u", "v"]}))


@KINDS
def test_tokens_are_any_value(kind):
    many: list[Any] = [({("new", "york"): 1, 7: 2, "ü": 1}, "x"), ({b"\x00": 1, "7": 1}, "y")]
    model = trained(kind(), many)
    assert model.predict_one({7: 1}) == "x"
    assert model.predict_one({"7": 1}) == "y"
    assert kind.from_state(model.state()).predict_proba_one({("new", "york"): 1}) == model.predict_proba_one(
        {("new", "york"): 1}
    )


@KINDS
@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ({"alpha": -1}, "alpha must be"),
        ({"alpha": math.inf}, "alpha must be"),
        ({"alpha": None}, "alpha must be"),
    ],
)
def test_wrong_arguments_are_refused(kind, argument, words):
    with pytest.raises(BadValue, match=words):
        kind(**argument)


# --- unsmoothed ---


def test_unsmoothed_a_word_of_one_class_only_decides():
    for kind in ALL:
        model = trained(
            kind(alpha=0), [({"a": 1, "both": 1}, "x"), ({"b": 1, "both": 1}, "y"), ({"both": 1}, "y")]
        )
        assert model.predict_proba_one({"a": 1, "both": 1}) == pytest.approx({"x": 1.0, "y": 0.0})
        assert model.predict_one({"a": 1, "both": 1}) == "x"


@KINDS
def test_unsmoothed_words_of_different_classes_leave_probabilities(kind):
    model = trained(kind(alpha=0), [({"a": 1}, "x"), ({"b": 1}, "y"), ({"b": 1}, "y")])
    p = model.predict_proba_one({"a": 1, "b": 1})
    assert sum(p.values()) == pytest.approx(1.0)
    assert model.predict_one({"a": 1, "b": 1}) in ("x", "y")


def test_unsmoothed_a_word_of_every_message_must_be_there():
    model = trained(
        BernoulliNB(alpha=0), [({"a": 1, "b": 1}, "x"), ({"a": 1}, "x"), ({"b": 1}, "y"), ({"a": 1}, "y")]
    )
    assert model.joint_log_likelihood({"b": 1})["x"] == -math.inf
    assert model.predict_proba_one({"b": 1}) == pytest.approx({"x": 0.0, "y": 1.0})
    assert model.joint_log_likelihood({"a": 1})["x"] == pytest.approx(math.log(1 / 2 * 1 / 2))
    model.learn_one({}, "x")
    assert model.joint_log_likelihood({"b": 1})["x"] == pytest.approx(math.log(3 / 5 * 1 / 3 * 1 / 3))


# --- Bernoulli: the absent words by a histogram, and one by one ---


def scores_by_definition(many: list[Message], x: dict[str, Any], alpha: float) -> dict[Any, float]:
    held = {token for bag, _ in many for token, count in bag.items() if count > 0}
    scores = {}
    for y in {y: None for _, y in many}:
        own = [bag for bag, label in many if label == y]
        scores[y] = math.log(len(own) / len(many))
        for token in held:
            n = sum(bag.get(token, 0) > 0 for bag in own)
            share = (n + alpha) / (len(own) + 2 * alpha)
            p = share if x.get(token, 0) > 0 else 1 - share
            scores[y] += math.log(p) if p > 1e-12 else -math.inf
    return scores


bags = st.dictionaries(st.sampled_from([f"w{k}" for k in range(12)]), st.integers(0, 2), max_size=8)
labelled = st.tuples(bags, st.sampled_from("xyz"))
EVERYWHERE: list[Message] = [({"w0": 1, "w1": 1}, "x"), ({"w0": 1}, "x"), ({"w1": 1}, "y")]


@pytest.mark.parametrize("alpha", [1.0, 0.05, 0.0])
@given(
    many=st.lists(labelled, min_size=1, max_size=20),
    gone=st.lists(labelled, max_size=10),
    x=bags,
    source=st.randoms(),
)
@example(many=EVERYWHERE, gone=[({"w2": 1}, "x")], x={"w1": 1}, source=random.Random(0))
@example(many=EVERYWHERE, gone=[], x={"w0": 1, "w1": 1}, source=random.Random(0))
@example(many=[*EVERYWHERE, ({}, "x")], gone=[], x={"w0": 1}, source=random.Random(2))
def test_the_histogram_agrees_with_the_scan_and_the_definition(alpha, many, gone, x, source):
    by_histogram, by_scan = BernoulliNB(alpha=alpha), BernoulliNB(alpha=alpha)
    by_scan.learn_one({"other": 1}, "x", w=0.5)  # from here on weights are not whole
    by_scan.unlearn_one({"other": 1}, "x", w=0.5)
    mixed = [*many, *gone]
    source.shuffle(mixed)
    pending = list(gone)
    for bag, y in mixed:
        for model in (by_histogram, by_scan):
            model.learn_one(bag, y)
        by_histogram.joint_log_likelihood(x)  # what it keeps of this must not outlive the next event
    for bag, y in pending:
        for model in (by_histogram, by_scan):
            model.unlearn_one(bag, y)
    expected = scores_by_definition(many, x, alpha)
    if all(score == -math.inf for score in expected.values()):
        expected = by_histogram.log_prior()
    for model in (by_histogram, by_scan):
        assert model.joint_log_likelihood(x) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@KINDS
def test_an_empty_message_counts_for_its_class_at_once(kind):
    learned: list[Message] = [({"a": 1}, "x"), ({"b": 1}, "y"), ({}, "x"), ({}, "x")]
    asked, fresh = kind(class_prior="counted"), trained(kind(class_prior="counted"), learned)
    for x, y in learned:
        asked.learn_one(x, y)
        asked.predict_proba_one({"a": 1})
    assert asked.joint_log_likelihood({"a": 1}) == fresh.joint_log_likelihood({"a": 1})
    asked.unlearn_one({}, "x")
    fresh.unlearn_one({}, "x")
    assert asked.joint_log_likelihood({"a": 1}) == fresh.joint_log_likelihood({"a": 1})


def test_the_number_of_buckets_is_that_of_different_counts():
    model, source = BernoulliNB(), random.Random(4)
    for step in range(3000):
        words = {f"common {source.randrange(20)}": 1, f"word {step}": 1}
        model.learn_one(words, "xy"[step % 2])
    for label in range(2):
        counts = {n for key, n in model.store.by_name().items() if len(key) > 1 and key[-1] == "xy"[label]}
        histogram: Any = model.store.tables.values.histogram
        node, buckets = histogram.head[label], 0
        while node >= 0:
            node, buckets = histogram.later[node], buckets + 1
        assert buckets == len(counts) < 30


@KINDS
def test_a_prediction_costs_no_more_with_a_hundred_times_the_words(kind):
    small, large = (2_000, 200_000) if stream_bayes.compiled else (200, 20_000)
    seconds = []
    for words in (small, large):
        model = kind()
        for start in range(0, words, 100):
            model.learn_one({f"w{k}": 1 for k in range(start, start + 100)}, "xy"[start // 100 % 2])
        x = {f"w{k}": 1 for k in range(20)}
        model.predict_proba_one(x)
        runs = []
        for _ in range(7):
            start_time = time.process_time()
            for _ in range(50):
                model.predict_proba_one(x)
            runs.append(time.process_time() - start_time)
        seconds.append(min(runs))
    assert seconds[1] < 10 * seconds[0]


def test_words_past_max_values_are_there_once_a_message():
    model = trained(BernoulliNB(max_values=1), [({"a": 1, "b": 1, "c": 1, "d": 1}, "x"), ({"a": 1}, "y")])
    assert model.conditional("b") == pytest.approx({"x": 2 / 3, "y": 1 / 3})
    assert model.predict_proba_one({"b": 1, "c": 1}) == model.predict_proba_one({"e": 1})


def test_a_message_with_several_words_past_max_values_is_taken_back():
    # In a process of its own: a histogram that is told of one word twice writes where it must not.
    code = (
        "from stream_bayes import BernoulliNB\n"
        "model = BernoulliNB(max_values=1)\n"
        "model.learn_one({'a': 1}, 'y')\n"
        "for _ in range(200):\n"
        "    model.learn_one({'a': 1, 'b': 1, 'c': 1, 'd': 1}, 'x')\n"
        "    model.unlearn_one({'a': 1, 'b': 1, 'c': 1, 'd': 1}, 'x')\n"
        "assert len(model.store.by_name()) == 2, model.store.by_name()\n"
        "assert model.predict_proba_one({'a': 1, 'b': 1}) == {'y': 1.0}\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", [MultinomialNB, ComplementNB, BernoulliNB])
@pytest.mark.parametrize("form", [list, tuple])
def test_a_list_of_tokens_is_the_bag_of_its_counts(kind: Any, form: Any) -> None:
    bags, lists = kind(), kind()
    messages = [("free pills free", "spam"), ("meeting notes", "ham"), ("", "ham")]
    for text, y in messages:
        bags.learn_one(dict(Counter(text.split())), y)
        lists.learn_one(form(text.split()), y)
    words = form("free meeting free".split())
    bag = dict(Counter(words))
    assert lists.predict_proba_one(words) == bags.predict_proba_one(bag)
    assert lists.predict_proba_many([words]) == bags.predict_proba_many([bag])
    assert lists.explain_one(words).evidence == bags.explain_one(bag).evidence
    lists.unlearn_one(form("free pills free".split()), "spam")
    lists.learn_many([form(["free", "pills", "free"])], ["spam"])
    assert lists.predict_proba_one(words) == bags.predict_proba_one(bag)
    with pytest.raises(NotLearned, match="'lunch'"):
        lists.unlearn_one(form(["lunch"]), "ham")


@pytest.mark.parametrize("kind", [MultinomialNB, ComplementNB, BernoulliNB])
def test_a_list_of_anything_but_tokens_is_refused(kind: Any) -> None:
    for x in ([{"free": 1}], ["free", 1], [["free"]]):
        with pytest.raises(BadValue):
            kind().learn_one(x, "spam")


@pytest.mark.parametrize("kind", [AODE, TAN, KDB, LiveChoice])
def test_a_counter_of_words_in_a_learner_with_bins_is_an_error_that_names_what_to_use(kind: Any) -> None:
    with pytest.raises(BadValue, match="MultinomialNB"):
        kind().learn_one(Counter("free pills".split()), "spam")
    model = NaiveBayes()
    model.learn_one(Counter("free pills".split()), "spam")
    assert model.predict_one(Counter("free lunch".split())) == "spam"
