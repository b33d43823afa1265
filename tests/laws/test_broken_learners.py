"""Learners that break a law: each is found, and the message names the law."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import pytest

from stream_bayes import GaussianNB, MultinomialNB, NaiveBayes, SlidingWindow
from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.encoding._vocabulary import Vocabulary
from stream_bayes.errors import BadState, CannotMerge, NotLearned
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.base.draws import DrawnClassifier
from stream_bayes.learners.base.explanation import Explanation
from stream_bayes.learners.base.traits import Promise
from stream_bayes.testing import LAWS, check_law, check_learner, laws_of
from stream_bayes.testing.assertions import require
from tests.builds import ASKS_NO_KERNEL

# Far out in a Gaussian's tail a square overflows to infinity, as it should; numpy says so.
pytestmark = [ASKS_NO_KERNEL, pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")]


class PredictingLearns(NaiveBayes):
    def predict_proba_one(self, x: Mapping[Any, Any], **kwargs: Any) -> dict[Any, float]:
        answer = super().predict_proba_one(x)
        if answer:
            self.advance(1)
        return answer


class PredictingMeetsNames(NaiveBayes):
    def joint_log_likelihood(self, x: Mapping[Any, Any]) -> dict[Any, float]:
        self.learn_one(x, next(iter(self.classes_), "first"), 1.0)
        return super().joint_log_likelihood(x)


class MergesByNumber(MultinomialNB):
    """Adds the first class of one learner to the first class of the other, whatever their names."""

    def merge(self, other: Self) -> Self:
        renamed = dict(zip(other.classes_, self.classes_, strict=False))
        twin = other.clone()
        for name, weight in other.store.by_name().items():
            if len(name) == 2:
                twin.learn_one({name[0]: weight}, renamed.get(name[1], name[1]))
        return super().merge(twin)


class LabelsBecomeStrings(NaiveBayes):
    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0, at: float | None = None) -> None:
        super().learn_one(x, str(y), w)


class ImproperProbabilities(GaussianNB):
    def predict_proba_one(self, x: Mapping[Any, Any], **kwargs: Any) -> dict[Any, float]:
        return {label: p * 0.999 for label, p in super().predict_proba_one(x).items()}


class MissingIsAValue(NaiveBayes):
    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0, at: float | None = None) -> None:
        super().learn_one({name: "none" if value is None else value for name, value in x.items()}, y, w)


class KnowsPythonAlone(NaiveBayes):
    """Leaves out numbers of numpy's types."""

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0, at: float | None = None) -> None:
        plain = {name: value for name, value in x.items() if not isinstance(value, np.floating)}
        super().learn_one(plain, y, w)


class ForgetsHalf(MultinomialNB):
    def unlearn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0, at: float | None = None) -> None:
        super().unlearn_one(x, y, w / 2, at)


class UnlearnsAnyNumber(GaussianNB):
    """Lets a sample go without its numbers, where they were never learned."""

    def unlearn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0, at: float | None = None) -> None:
        try:
            super().unlearn_one(x, y, w, at)
        except NotLearned:
            super().unlearn_one({}, y, w, at)


class FarNumbersStay(GaussianNB):
    """Takes back less of a far number than was learned."""

    def unlearn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0, at: float | None = None) -> None:
        near = {k: min(v, 1e5) if isinstance(v, float) else v for k, v in x.items()}
        super().unlearn_one(near, y, w, at)


class OffsetsCostDigits(GaussianNB):
    """Learns numbers in single precision."""

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0, at: float | None = None) -> None:
        rounded = {k: float(np.float32(v)) if isinstance(v, float) else v for k, v in x.items()}
        super().learn_one(rounded, y, w, at)


class LearnsOrderly(MultinomialNB):
    """Counts a sample twice when it is the first: another order, another model."""

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0, at: float | None = None) -> None:
        super().learn_one(x, y, 2 * w if self.clock == 0 else w)


class SavesNotAll(MultinomialNB):
    """Something that decides what is learned, and that no state holds."""

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0, at: float | None = None) -> None:
        self.__dict__["learned"] = self.__dict__.get("learned", 0) + 1
        super().learn_one(x, y, w + self.__dict__["learned"] % 2)


class KnowsOtherLearners(MultinomialNB):
    """What is learned depends on how much all learners of the process have learned."""

    learned: ClassVar[int] = 0

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0, at: float | None = None) -> None:
        KnowsOtherLearners.learned += 1
        super().learn_one(x, y, w + KnowsOtherLearners.learned)


class FadesTooSlowly(MultinomialNB):
    def advance(self, events: int) -> None:
        super().advance(events - 1 if events else events)


class BatchesOfHalfWeight(NaiveBayes):
    def learn_many(self, X: Any, y: Any = None, w: Any = None, at: Any = None) -> None:
        super().learn_many(X, y, None if w is None else [weight / 2 for weight in w])


class ExplainsTwice(NaiveBayes):
    def explain_one(self, x: Mapping[Any, Any]) -> Explanation:
        why = super().explain_one(x)
        doubled = {name: {y: 2 * score for y, score in row.items()} for name, row in why.evidence.items()}
        return Explanation(why.kind, why.baseline, doubled)


class DrawsOneClassTooOften(NaiveBayes):
    def draw(self, rng: np.random.Generator) -> DrawnClassifier:
        other = self + self.clone()
        other.learn_one({}, self.classes_[0], 30.0)
        return super(DrawsOneClassTooOften, other).draw(rng)


class MergesAnything(NaiveBayes):
    def merge(self, other: Any) -> Self:
        try:
            return super().merge(other)
        except CannotMerge:
            return self


class LoadsAnything(GaussianNB):
    @classmethod
    def from_state(cls, state: Any) -> Self:
        try:
            return super().from_state(state)
        except BadState:
            return cls()


class LearnsNoNames(NaiveBayes):
    """Names and values are kept by their repr."""

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0, at: float | None = None) -> None:
        super().learn_one({k: repr(v) if isinstance(v, (bytes, tuple)) else v for k, v in x.items()}, y, w)


class FractionsBecomeWhole(MultinomialNB):
    """Rounds a weight up at the first sample of a class, and down at all others."""

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0, at: float | None = None) -> None:
        w = w if w == int(w) else (1.0 if y not in self.classes_ else 2.0)
        super().learn_one(x, y, w)


class KeepsTheFirstOfABadBatch(MultinomialNB):
    def learn_many(self, X: Any, y: Any = None, w: Any = None, at: Any = None) -> None:
        if isinstance(X, list) and X:
            for row, (x, label) in enumerate(zip(X, y, strict=True)):
                self.learn_one(x, label, 1.0 if w is None else w[row])
        else:
            super().learn_many(X, y, w)


class AcceptsAnyWeight(GaussianNB):
    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0, at: float | None = None) -> None:
        super().learn_one(x, y, abs(w) if isinstance(w, float) else w)


class TakesPercentForShares(NaiveBayes):
    def predict_interval_one(
        self, x: Mapping[Any, Any], level: float = 0.95
    ) -> dict[Any, tuple[float, float]]:
        return super().predict_interval_one(x, level / 100 if level == 95 else level)


class IgnoresItsBudget(NaiveBayes):
    def _begin(self) -> None:
        super()._begin()
        self.store.memory_budget = None


class LosesRoomByLoading(NaiveBayes):
    """May take less once it was loaded."""

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        model = super().from_state(state)
        if model.memory_budget is not None:
            model.store.memory_budget = model.memory_budget // 2
        return model


class LoadsFewNames(NaiveBayes):
    """Cannot be loaded once more than a few features have come."""

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        require(len(state["store"]["features"]) < 5, "there are too many features")
        return super().from_state(state)


class ForgetsTooLate(SlidingWindow):
    """Holds one event more than it says."""

    def _make_store(self, labels: Vocabulary) -> CountStore:
        store = self.learner.store
        store.slide(self.size + 1)
        return store


BROKEN: list[tuple[BayesClassifier, str]] = [
    (PredictingLearns(), "predicting changes nothing"),
    (PredictingMeetsNames(), "predicting changes nothing"),
    (MergesByNumber(), "counts form a group"),
    (LabelsBecomeStrings(), "labels keep their types"),
    (ImproperProbabilities(), "answers are probabilities"),
    (MissingIsAValue(), "missing is missing"),
    (KnowsPythonAlone(), "values of arrays are values"),
    (ForgetsHalf(), "counts form a group"),
    (FarNumbersStay(), "far numbers leave nothing"),
    (OffsetsCostDigits(), "offset numbers keep their digits"),
    (UnlearnsAnyNumber(), "numbers never learned are not unlearned"),
    (LearnsOrderly(), "counts form a group"),
    (SavesNotAll(), "saving loses nothing"),
    (KnowsOtherLearners(), "replay gives the same bytes"),
    (FadesTooSlowly(), "fading has its closed form"),
    (FadesTooSlowly(), "shards share a clock"),
    (KeepsTheFirstOfABadBatch(), "bad input changes nothing"),
    (AcceptsAnyWeight(), "bad input changes nothing"),
    (BatchesOfHalfWeight(), "many are one by one"),
    (BatchesOfHalfWeight(), "batches of coded columns"),
    (ExplainsTwice(), "explanations add up"),
    (DrawsOneClassTooOften(), "draws average to the answer"),
    (MergesAnything(), "strangers are not merged"),
    (MergesAnything(), "shared codes are not merged"),
    (LoadsAnything(), "altered states are refused"),
    (LearnsNoNames(), "values keep their types"),
    (FractionsBecomeWhole(), "fractions form a group"),
    (TakesPercentForShares(), "no interval for no level"),
    (IgnoresItsBudget(), "a budget holds"),
    (LosesRoomByLoading(), "what a budget refuses outlives loading"),
    (LoadsFewNames(), "what is saved can be loaded at every moment"),
    (ForgetsTooLate(NaiveBayes(), 20), "a window holds the newest events"),
]


@pytest.mark.parametrize(
    ("learner", "name"), BROKEN, ids=[f"{type(learner).__name__}-{name}" for learner, name in BROKEN]
)
def test_a_broken_learner_is_found_by_name(learner: BayesClassifier, name: str) -> None:
    law = next(law for law in laws_of(learner) if law.name == name)
    with pytest.raises(AssertionError, match=f"^{type(learner).__name__} breaks the law '{name}': "):
        check_law(law, learner)


def test_check_learner_finds_it_too() -> None:
    with pytest.raises(
        AssertionError, match="PredictingLearns breaks the law 'predicting changes nothing': "
    ):
        check_learner(PredictingLearns())


def test_every_law_has_a_learner_that_breaks_it() -> None:
    assert {name for _, name in BROKEN} == {law.name for law in LAWS}


def test_a_law_that_was_not_promised_does_not_bind() -> None:
    class PromisesLittle(LearnsOrderly):
        promises = frozenset({Promise.ORDERED})

    bound = {law.promise for law in laws_of(PromisesLittle())}
    assert bound == {None, Promise.ORDERED}
