"""The laws, the learners that each one binds, and the check of them all."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from stream_bayes.data.schema import Nominal
from stream_bayes.errors import NeverEligible, NotSupported
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.base.regressor import BayesRegressor
from stream_bayes.learners.base.traits import Promise
from stream_bayes.learners.classifiers.logistic import BayesianLogistic
from stream_bayes.learners.classifiers.text import MultinomialNB
from stream_bayes.learners.wrappers.sliding_window import SlidingWindow
from stream_bayes.testing.laws_of_counts import (
    batches_of_coded_columns,
    counts_form_a_group,
    fading_has_its_closed_form,
    far_numbers_leave_nothing,
    fractions_form_a_group,
    offset_numbers_keep_their_digits,
    shards_share_a_clock,
)
from stream_bayes.testing.laws_of_draws import draws_average_to_the_answer
from stream_bayes.testing.laws_of_errors import (
    altered_states_are_refused,
    bad_input_changes_nothing,
    numbers_never_learned_are_not_unlearned,
    strangers_are_not_merged,
)
from stream_bayes.testing.laws_of_predictions import (
    answers_are_probabilities,
    explanations_add_up,
    learn_all,
    many_are_one_by_one,
    missing_is_missing,
    no_interval_for_no_level,
    predicting_changes_nothing,
    values_of_arrays_are_values,
)
from stream_bayes.testing.laws_of_regressors import REGRESSION_LAWS, TargetStreams
from stream_bayes.testing.laws_of_states import (
    a_budget_holds,
    labels_keep_their_types,
    replay_gives_the_same_bytes,
    saving_loses_nothing,
    shared_codes_are_not_merged,
    values_keep_their_types,
    what_a_budget_refuses_outlives_loading,
    what_is_saved_can_be_loaded_at_every_moment,
)
from stream_bayes.testing.laws_of_windows import a_window_holds_the_newest_events
from stream_bayes.testing.sample_streams import Streams

__all__ = ["LAWS", "Law", "check_law", "check_learner", "check_regression_law", "laws_of"]


LONG = 1000  # events: more than any law teaches a learner that it then has taken back


class Law(NamedTuple):
    """A law, the promise that makes it binding, and the learners it is about.

    Examples
    --------
    >>> [law.name for law in LAWS][:2]
    ['predicting changes nothing', 'answers are probabilities']
    """

    check: Callable[[BayesClassifier, Streams], None]
    promise: Promise | None  # None: every classifier
    concerns: Callable[[BayesClassifier], bool]

    @property
    def name(self) -> str:
        """The law in words."""
        return self.check.__name__.replace("_", " ")


def _everyone(learner: BayesClassifier) -> bool:
    return True


def _is_bounded(learner: BayesClassifier) -> bool:
    """Return True if values may share a code, which depends on the order of events."""
    specs = () if learner.schema is None else learner.schema.features.values()
    return learner.max_values is not None or any(
        isinstance(spec, Nominal) and spec.max_values for spec in specs
    )


def _is_a_group(learner: BayesClassifier) -> bool:
    return learner.half_life is None and not _is_bounded(learner)


def _is_mergeable(learner: BayesClassifier) -> bool:
    return not _is_bounded(learner)


def _slides(learner: BayesClassifier) -> bool:
    return isinstance(learner, SlidingWindow) and not _is_bounded(learner)


def _holds_all(learner: BayesClassifier) -> bool:
    """Return True if an event learned by a law can be unlearned."""
    return learner.unlearns and _is_long(learner)


def _is_long(learner: BayesClassifier) -> bool:
    """Return True if an event learned by a law does not leave by itself."""
    return not isinstance(learner, SlidingWindow) or learner.size >= LONG


def _meets_classes(learner: BayesClassifier) -> bool:
    return not Streams(learner).declares_classes


def _can_grow(learner: BayesClassifier) -> bool:
    return learner.traits.accepts_new_features and not ("bag" in learner.inputs and _is_bounded(learner))


def _argument(learner: BayesClassifier, name: str) -> Any:
    """Return an argument of a learner, or of the one within it; None if neither has it."""
    return getattr(getattr(learner, "learner", learner), name, None)


def _names_features(learner: BayesClassifier) -> bool:
    """Return True if the learner's arguments name features."""
    return any(_argument(learner, name) is not None for name in ("parent", "parents", "root", "structure"))


def _meets_values(learner: BayesClassifier) -> bool:
    free = learner.schema is None and learner.max_values is None and not _names_features(learner)
    return free and bool(learner.inputs & {"nominal", "bag"})


def _learns_numbers(learner: BayesClassifier) -> bool:
    # Of a number that went into a bin only the bin is known.
    numeric = bool(Streams(learner).numeric) and _argument(learner, "binning") is None
    return numeric and _holds_all(learner)


def _sums_numbers(learner: BayesClassifier) -> bool:
    store = getattr(learner, "store", None)
    if store is None or _is_bounded(learner) or not _holds_all(learner):
        return False
    measures = store.tables.bins is None or store.tables.counts_moments
    return measures and bool(Streams(learner).numeric) and not store.tables.timed


def _sums_numbers_for_good(learner: BayesClassifier) -> bool:
    return _sums_numbers(learner) and learner.half_life is None


def _is_a_sum(learner: BayesClassifier) -> bool:
    # Tokens that share a code are one token to the model, and may each explain the same.
    return learner.additive and not ("bag" in learner.inputs and _is_bounded(learner))


def _draws_events(learner: BayesClassifier) -> bool:
    """Return True if the answer is the mean over drawn tables, each weighted by its P(x)."""
    # MultinomialNB answers by the means of its tables; draws of BayesianLogistic have no P(x).
    if isinstance(learner, (MultinomialNB, BayesianLogistic)):
        return False
    model = learn_all(learner.clone(), Streams(learner).samples(8))
    try:
        model.draw(np.random.default_rng(0))
    except NotSupported:
        return False
    return True


LAWS: tuple[Law, ...] = (
    Law(predicting_changes_nothing, None, _everyone),
    Law(answers_are_probabilities, None, _everyone),
    Law(no_interval_for_no_level, None, _everyone),
    Law(missing_is_missing, None, _is_long),
    Law(values_of_arrays_are_values, None, _is_long),
    Law(many_are_one_by_one, None, _everyone),
    Law(batches_of_coded_columns, None, _everyone),
    Law(explanations_add_up, None, _is_a_sum),
    Law(draws_average_to_the_answer, None, _draws_events),
    Law(counts_form_a_group, Promise.COUNTS, _is_a_group),
    Law(fractions_form_a_group, Promise.FLOATS, _is_a_group),
    Law(fading_has_its_closed_form, Promise.FLOATS, _everyone),
    Law(shards_share_a_clock, Promise.FLOATS, _is_mergeable),
    Law(far_numbers_leave_nothing, None, _sums_numbers),
    Law(offset_numbers_keep_their_digits, Promise.FLOATS, _sums_numbers_for_good),
    Law(a_window_holds_the_newest_events, Promise.ORDERED, _slides),
    Law(saving_loses_nothing, None, _everyone),
    Law(what_is_saved_can_be_loaded_at_every_moment, None, _can_grow),
    Law(replay_gives_the_same_bytes, Promise.ORDERED, _everyone),
    Law(labels_keep_their_types, None, _meets_classes),
    Law(values_keep_their_types, None, _meets_values),
    Law(shared_codes_are_not_merged, Promise.ORDERED, _meets_values),
    Law(bad_input_changes_nothing, None, _everyone),
    Law(numbers_never_learned_are_not_unlearned, None, _learns_numbers),
    Law(strangers_are_not_merged, None, _everyone),
    Law(altered_states_are_refused, None, _everyone),
    Law(a_budget_holds, None, _can_grow),
    Law(what_a_budget_refuses_outlives_loading, None, _can_grow),
)


# Laws that learn the same samples in other orders: cut points that are found in a stream depend on its order.
REORDERING = (
    counts_form_a_group,
    fractions_form_a_group,
    fading_has_its_closed_form,
    shards_share_a_clock,
    a_window_holds_the_newest_events,
)


def laws_of(learner: BayesClassifier) -> list[Law]:
    """Return the laws that bind a learner, by its promises and settings.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> len(laws_of(NaiveBayes())) > len(laws_of(NaiveBayes(half_life=100.0)))
    True
    """
    promised = learner.promises
    return [law for law in LAWS if (law.promise is None or law.promise in promised) and law.concerns(learner)]


def check_law(law: Law, learner: BayesClassifier, seed: int = 0) -> None:
    """Check one law; what `check_learner` does for each.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> model = NaiveBayes()
    >>> check_law(laws_of(model)[0], model)
    """
    try:
        with warnings.catch_warnings():
            # Laws of fading try short half-lives on every learner.
            warnings.simplefilter("ignore", NeverEligible)
            numeric = not (learner.traits.learns_cut_points and law.check in REORDERING)
            law.check(learner, Streams(learner, seed, numeric))
    except Exception as error:  # whatever a law runs into breaks it
        text = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
        raise AssertionError(f"{type(learner).__name__} breaks the law {law.name!r}: {text}") from error


def check_regression_law(
    check: Callable[[BayesRegressor, Streams], None], learner: BayesRegressor, seed: int = 0
) -> None:
    """Check one law of regressors; what `check_learner` does for each."""
    try:
        check(learner, TargetStreams(learner, seed))
    except Exception as error:  # whatever a law runs into breaks it
        text = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
        law = check.__name__.replace("_", " ")
        raise AssertionError(f"{type(learner).__name__} breaks the law {law!r}: {text}") from error


def check_learner(learner: BayesClassifier | BayesRegressor, seed: int = 0) -> None:
    """Check every law that a learner has promised to obey, on streams made for it.

    Parameters
    ----------
    learner
        A classifier or a regressor in the settings to be tested. It is cloned: what it has learned plays no part.
    seed
        Another seed, other streams.

    Raises
    ------
    AssertionError
        If a law is broken; the message names it.
    NotSupported
        If there are no laws for such a model.

    Examples
    --------
    >>> from stream_bayes import MultinomialNB
    >>> check_learner(MultinomialNB(alpha=0.5))
    """
    for check in checks_of(learner):
        check(seed)


def without_laws(name: str) -> str:
    """Return why a model is not checked, by the name of its class."""
    return (
        f"{name}: the laws are about classifiers and about regressors of one number; models of several targets and of "
        "events without a label have tests of their own"
    )


def checks_of(learner: BayesClassifier | BayesRegressor) -> list[Callable[[int], None]]:
    """Return a check of each law that binds a learner; each takes the seed of its streams.

    Examples
    --------
    >>> from stream_bayes import BayesianRegression
    >>> checks_of(BayesianRegression())[0](1)
    """
    if isinstance(learner, BayesRegressor):
        return [partial(check_regression_law, law, learner) for law in REGRESSION_LAWS]
    if not isinstance(learner, BayesClassifier):
        raise NotSupported(without_laws(type(learner).__name__))
    return [partial(check_law, law, learner) for law in laws_of(learner)]
