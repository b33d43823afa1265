"""Sliding windows: a learner of the newest events, which unlearns each event that becomes too old."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.encoding._vocabulary import Vocabulary
from stream_bayes.core.readings._reading import Reading
from stream_bayes.core.readings._sliding import SlidingReading
from stream_bayes.errors import BadValue, NotSupported
from stream_bayes.learners.base.arguments import WithLearnersArguments, check_count
from stream_bayes.learners.base.base import BayesClassifier, X, check_learner
from stream_bayes.learners.base.draws import DrawnClassifier
from stream_bayes.learners.base.state import CountLearner
from stream_bayes.learners.base.traits import Promise, Traits
from stream_bayes.learners.classifiers.naive_bayes import NaiveBayes

__all__ = ["SlidingWindow"]

LARGEST_WINDOW = 100_000_000  # a forged state must not allocate a window beyond any memory


class SlidingWindow(WithLearnersArguments, BayesClassifier):  # type: ignore[override]  # arguments as properties
    """A learner of the newest events: with each event that it learns, it unlearns the one that is now too old.

    Parameters
    ----------
    learner
        A learner of this package over named features, which has not learned anything. Learn through the window only;
        derived structures can be read from the learner. Of a `BayesNet`, which has no class, the result is a `BayesNet`
        with `window=size` and `slides=True`; of a `BayesianRegression` or a `GaussianProcess` one with `window=size`.
    size
        The number of newest events that are held. One of weight 0 does not count.

    Notes
    -----
    The counts are those of a learner that has learned these events and no others: exactly if all weights are whole and
    nothing fades, otherwise to 1e-9 of the largest weight held; moments of numbers to 1e-9 of themselves. Structures
    are derived from them when the learner does so, or by `rederive()`. Cut points of numbers were set from earlier
    events, and with `max_values` earlier events have decided which values share a code. `KDB` counts families from the
    whole of this window, and has none of its own.

    Promises: the same events from the same state give the same bytes. It cannot be merged. Only an event that is held
    can be unlearned. `clone` passes arguments on to the learner.

    Learning costs what the learner takes to learn an event and to unlearn another. Memory: the learner's, 4 bytes for
    each event held and nominal feature, 8 for each event and numeric one, and 20 for each event.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes, SlidingWindow
    >>> model = SlidingWindow(NaiveBayes(), size=2)
    >>> for sky, weather in [("grey", "rain"), ("grey", "dry"), ("blue", "dry")]:
    ...     model.learn_one({"sky": sky}, weather)
    >>> model.predict_proba_one({"sky": "grey"})
    {'dry': 1.0}
    """

    learner: BayesClassifier
    promises: ClassVar[frozenset[Promise]] = frozenset({Promise.ORDERED})

    def __new__(cls, learner: Any = None, size: Any = None) -> Any:
        if isinstance(learner, CountLearner) and learner.sliding_arguments is not None:
            if learner.clock:
                raise BadValue(f"the {type(learner).__name__} has learned before; give a new one")
            return learner.clone({"window": size, **learner.sliding_arguments})
        return super().__new__(cls)

    def __init__(self, learner: BayesClassifier, size: int) -> None:
        self.learner = learner
        self.size = size
        check_learner(learner)
        if isinstance(learner, SlidingWindow):
            raise BadValue("learner must not be a window itself; give one the size you want")
        if "bag" in learner.inputs:
            raise BadValue(
                f"events of a {type(learner).__name__} are bags of words, and a window of these is not kept"
            )
        if not learner.unlearns:
            raise NotSupported(
                f"a {type(learner).__name__} cannot unlearn the events that leave a window; give it a half_life"
            )
        if learner.clock:
            raise BadValue(f"the {type(learner).__name__} has learned before; give a new one")
        check_count("size", size)
        if size > LARGEST_WINDOW:
            raise BadValue(f"size must be at most {LARGEST_WINDOW}, not {size}")
        self._begin()

    def _make_store(self, labels: Vocabulary) -> CountStore:
        store = self.learner.store
        store.slide(self.size)
        return store

    def _make_reading(self, store: CountStore, class_prior: str) -> Reading:
        return SlidingReading(self.learner.reading)

    # -- the learner's own attributes ---------------------------------------------------------------------------------

    @property
    def inputs(self) -> frozenset[str]:  # type: ignore[override]  # the learner's
        """The kinds of features that the learner takes."""
        return self.learner.inputs

    @property
    def additive(self) -> bool:  # type: ignore[override]  # the learner's
        """True if log P(y, x) is a sum over features."""
        return self.learner.additive

    @property
    def scores_events(self) -> bool:  # type: ignore[override]  # the learner's
        """True if `joint_log_likelihood` is of P(y, x)."""
        return self.learner.scores_events

    @property
    def class_prior(self) -> Any:
        """The learner's."""
        return self.learner.class_prior

    @property
    def traits(self) -> Traits:
        return self.learner.traits._replace(is_mergeable=False)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"learner": NaiveBayes(), "size": 50}

    # -- the learner's own verbs --------------------------------------------------------------------------------------

    def rederive(self) -> None:
        self.learner.rederive()

    def conditional(self, feature: Any, given: Mapping[Any, Any] | None = None) -> dict[Any, Any]:
        return self.learner.conditional(feature, given)

    def posterior(self, feature: Any, given: Mapping[Any, Any] | None = None) -> Any:
        return self.learner.posterior(feature, given)

    def log_evidence(self) -> float:
        return self.learner.log_evidence()

    def draw_tables(self, rng: np.random.Generator) -> DrawnClassifier:
        return self.learner.draw_tables(rng)

    def draw_given(self, x: X, rng: np.random.Generator) -> DrawnClassifier:
        return self.learner.draw_given(x, rng)

    @property
    def target_name(self) -> str:
        return self.learner.target_name

    # -- saving -------------------------------------------------------------------------------------------------------

    def derived_state(self) -> dict[str, Any]:
        return self.learner.derived_state()

    def load_derived(self, derived: Mapping[str, Any]) -> None:
        self.learner.load_derived(derived)
