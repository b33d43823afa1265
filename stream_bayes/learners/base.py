"""The public verbs of every classifier, written once.

A learner is a store of counts and a reading of it. A subclass says how to make both (`_make_store`,
`_make_reading`), and the rest follows: learning, unlearning, predicting, one event or many, merging, saving.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_bayes.columns import CodedColumns
from stream_bayes.core._kernels import Reading
from stream_bayes.core._vocabulary import Vocabulary
from stream_bayes.core.counts import CountStore
from stream_bayes.core.readings import derived_state, give_prior, load_derived, merged, research
from stream_bayes.core.values import Value, canonical_label, name_order, shown
from stream_bayes.errors import BadLabel, BadValue, NotSupported
from stream_bayes.frames import Native, is_frame, like_frame, like_series
from stream_bayes.learners.arguments import (
    check_class_prior,
    check_count,
    check_number,
    declared_classes,
)
from stream_bayes.learners.batches import encode_batch, row_count
from stream_bayes.learners.explanation import Explanation
from stream_bayes.learners.intervals import (
    Cumulants,
    beta_interval,
    log_odds_interval,
    log_weight,
    logistic_interval,
)
from stream_bayes.learners.keeping import Keeping
from stream_bayes.schema import Schema

__all__ = ["BayesClassifier", "Probabilities", "Promise", "check_learner", "most_probable"]

X = Mapping[Any, Any]


class Promise(StrEnum):
    """What a learner promises, and `stream_bayes.testing.check_learner` checks."""

    COUNTS = "plain counts: online = batch = any order = any split and merge = after unlearning, exactly"
    FLOATS = "Gaussians, fractional weights and fading: the same to 1e-9 of the largest magnitude held"
    ORDERED = "order-dependent parts: the same events from the same state give the same bytes"


class Probabilities(NamedTuple):
    """Probabilities of many rows of coded columns: a row an event, a column a class, zeros where there is no answer."""

    labels: tuple[Value, ...]
    values: NDArray[np.float64]


def most_probable(probabilities: Mapping[Any, float]) -> Any:
    """The most probable label, of equals the first by name; None where there is none.

    Examples
    --------
    >>> most_probable({"rain": 0.4, "fog": 0.4, "sun": 0.2})
    'fog'
    """
    best, top = None, -1.0
    for label, p in probabilities.items():
        if p > top:
            best, top = label, p
        elif p == top and name_order(label) < name_order(best):
            best = label
    return best


class BayesClassifier(Keeping, base.MiniBatchClassifier):
    """What every classifier of this package can do."""

    promises: ClassVar[frozenset[Promise]] = frozenset({Promise.COUNTS, Promise.FLOATS, Promise.ORDERED})
    inputs: ClassVar[frozenset[str]] = frozenset()  # of "nominal", "numeric", "bag": what it learns from
    additive: ClassVar[bool] = True  # log P(y, x) is a sum over features

    # Every subclass takes these:
    class_prior: Any  # "counted", "uniform" or {label: p}
    half_life: float | None
    schema: Schema | None
    max_values: int | None
    memory_budget: int | None

    # -- what a subclass writes ---------------------------------------------------------------------------------------

    @abstractmethod
    def _make_store(self, labels: Vocabulary) -> CountStore:
        """An empty store."""

    @abstractmethod
    def _make_reading(self, store: CountStore, class_prior: str) -> Reading:
        """The way this learner reads its store."""

    def _log_odds(self, x: X) -> dict[Any, Cumulants] | None:
        """How the log-odds of each class are spread, for a model in which the classes are not independent."""
        return None

    def _log_joint_cumulants(self, x: X, codes: Mapping[Any, int]) -> dict[Any, Cumulants] | None:
        """How log P(x, label) of each class is spread, for a model where it is more than a prior and a likelihood."""
        return None

    def _log_likelihood_cumulants(self, x: X, label: int) -> Cumulants:
        """How log P(x | label), for a label's code, is spread under the posterior of the counts."""
        raise NotSupported(f"{type(self).__name__} has no posterior to take an interval from")

    # -- beginning ----------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Check the arguments and start with nothing learned. Called last in every `__init__`."""
        check_class_prior(self.class_prior)
        if self.half_life is not None:
            check_number("half_life", self.half_life, above=True)
        if self.schema is not None and not isinstance(self.schema, Schema):
            raise BadValue(
                "schema must be a Schema, as Schema({'sky': Nominal(), 'wind': Numeric()}), "
                f"not {type(self.schema).__name__}: {shown(self.schema)}"
            )
        for name in ("max_values", "memory_budget"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name))
        classes = declared_classes(self.schema, self.class_prior)
        given = isinstance(self.class_prior, Mapping)
        self._store = self._make_store(Vocabulary(classes or (), None, classes is not None))
        self._reading = self._make_reading(self._store, "given" if given else self.class_prior)
        if given:
            prior = {canonical_label(label): float(p) for label, p in self.class_prior.items()}
            give_prior(self._reading, [prior[label] for label in self._store.encoder.labels.values])

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn_one(self, x: X, y: Any, w: float = 1.0) -> None:
        """Learn a sample: all of it, or, where anything is refused, nothing.

        Parameters
        ----------
        x
            The features, `{name: value}`. What is absent, None or NaN is missing, and teaches nothing.
        y
            The label.
        w
            The sample's weight; 2.0 is the same as learning it twice.
        """
        self._reading.learn(self._store.encode(x, y, w))

    def unlearn_one(self, x: X, y: Any, w: float = 1.0, at: int | None = None) -> None:
        """Take back a sample that was learned, with the weight it was learned with.

        Parameters
        ----------
        x, y, w
            The sample.
        at
            With fading: what `clock` said right after it was learned. Now, if not given.
        """
        self._store.unlearn(x, y, w, at)

    def advance(self, events: int) -> None:
        """Let events pass that are learned elsewhere, so that the shards of one stream fade by one clock."""
        self._store.advance(events)

    def research(self) -> None:
        """Derive from the counts, as they are now, whatever the learner derives from them; most derive nothing."""
        research(self._reading)

    @property
    def follows_order(self) -> bool:
        """Whether answers depend on the order of events, and not on the counts alone."""
        return False

    @property
    def can_merge(self) -> bool:
        """Whether what it holds can be added to what another has learned."""
        return True

    @property
    def takes_numbers(self) -> bool:
        """Whether features may be numeric."""
        return "numeric" in self.inputs

    @property
    def finds_cuts(self) -> bool:
        """Whether it looks for the cut points of numeric features itself, which depend on the order of events."""
        return False

    @property
    def meets_features(self) -> bool:
        """Whether a feature that it does not know is learned when it comes, and not ignored or refused."""
        return self.schema is None

    @property
    def clock(self) -> int:
        """How many events have been learned, or passed by `advance`."""
        return int(self._store.tables.clock)

    def learn_many(self, X: Native, y: Native = None, w: Native = None) -> None:
        """Learn many rows, as `learn_one` would in their order: all of them, or none.

        Parameters
        ----------
        X
            A data frame (pandas, polars, ...), `CodedColumns`, or a list of dicts.
        y
            The labels, in the order of the rows: a pandas index is not looked at. `CodedColumns` may hold them
            already.
        w
            A weight for all rows, or one for each, in their order too.
        """
        self._reading.learn_batch(encode_batch(self._store, X, y, w, learning=True))

    # -- predicting ---------------------------------------------------------------------------------------------------

    def joint_log_likelihood(self, x: X) -> dict[Any, float]:
        """Log P(y, x) of each class with weight, or declared; empty before any learning."""
        joint: dict[Any, float] = self._reading.log_joint(self._store.encoder.lookup(x))
        return joint

    def predict_proba_one(self, x: X, **kwargs: Any) -> dict[Any, float]:
        """P(y | x) of each class, empty before any learning."""
        answer: dict[Any, float] = self._reading.probabilities(self._store.encoder.lookup(x))
        return answer

    def predict_one(self, x: X, **kwargs: Any) -> Any:
        """The most probable class, None before any learning; a tie goes to the first by name."""
        return most_probable(self.predict_proba_one(x))

    def predict_learn_one(self, x: X, y: Any, w: float = 1.0) -> dict[Any, float]:
        """The probabilities of a sample before it is learned, then learn it: test-then-train, encoded once."""
        answer: dict[Any, float] = self._reading.predict_and_learn(self._store.encode(x, y, w))
        return answer

    def predict_proba_many(self, X: Native) -> Any:
        """The probabilities of many rows, in kind: a data frame for a data frame, a list of dicts for a list of
        dicts, `Probabilities` for `CodedColumns`.
        """
        return self._answers(X, None, None, learn=False)

    def predict_learn_many(self, X: Native, y: Native = None, w: Native = None) -> Any:
        """Test-then-train over many rows: each is predicted from those before it, then learned.

        A class that was not yet known when a row was predicted has probability 0 there. Labels and weights belong to
        the rows by their order, as in `learn_many`.
        """
        return self._answers(X, y, w, learn=True)

    def predict_many(self, X: Native) -> Any:
        """The most probable class of many rows: a series for a data frame, a list for anything else."""
        batch = encode_batch(self._store, X, learning=False)
        values = np.zeros((row_count(X), max(self._store.tables.labels, 1)))
        self._reading.predict_batch(batch, values)
        labels = self._store.encoder.labels.values
        order = sorted(range(len(labels)), key=lambda code: name_order(labels[code]))
        if not labels or not values.any():
            predicted: list[Any] = [None] * len(values)
        else:
            predicted = [labels[order[place]] for place in values[:, order].argmax(axis=1)]
        return like_series(X, predicted) if is_frame(X) else predicted

    def _answers(self, xs: Native, ys: Native, ws: Native, *, learn: bool) -> Any:
        batch = encode_batch(self._store, xs, ys, ws, learning=learn)
        tables = self._store.tables
        values = np.zeros((row_count(xs), max(tables.labels, 1)))
        if learn:
            self._reading.predict_learn_batch(batch, values)
        else:
            self._reading.predict_batch(batch, values)
        labels = self._store.encoder.labels.values
        # What was a class when a row was predicted may have left with the samples that were too old.
        live = [code for code in range(len(labels)) if self._is_live(code) or values[:, code].any()]
        live = live if values.any() else []
        if isinstance(xs, CodedColumns):
            return Probabilities(tuple(labels[code] for code in live), np.ascontiguousarray(values[:, live]))
        if is_frame(xs):
            return like_frame(xs, {labels[code]: values[:, code] for code in live})
        names = [labels[code] for code in live]
        answered = (values > 0.0).max(axis=1, initial=False).tolist()
        rows = zip(values[:, live].tolist(), answered, strict=True)
        return [dict(zip(names, row)) if known else {} for row, known in rows]  # noqa: B905  # strict doubles its time

    def _is_live(self, code: int) -> bool:
        tables = self._store.tables
        return bool(tables.class_samples[code] > 0 or code < self._store.encoder.labels.declared)

    @property
    def _multiclass(self) -> bool:
        return True

    # -- reading the model --------------------------------------------------------------------------------------------

    @property
    def classes_(self) -> tuple[Any, ...]:
        """The classes that hold samples, or were declared, in the order in which they were met."""
        return tuple(
            label for code, label in enumerate(self._store.encoder.labels.values) if self._is_live(code)
        )

    @property
    def class_prior_(self) -> dict[Any, float]:
        """P(y) of each class."""
        return {label: math.exp(score) for label, score in self._log_prior().items()}

    def _log_prior(self) -> dict[Any, float]:
        scores = np.zeros(max(self._store.tables.labels, 1))
        self._reading.prior_into(scores)
        labels = self._store.encoder.labels.values
        learned = bool(np.any(self._store.tables.class_samples))
        return {labels[c]: float(scores[c]) for c in range(len(labels)) if learned and self._is_live(c)}

    def conditional(self, feature: Any, given: Mapping[Any, Any] | None = None) -> dict[Any, Any]:
        """P(feature | class, ...) as the model has it now.

        Parameters
        ----------
        feature
            Its name.
        given
            What is known: the class under the schema's `target` (`"class"` where no schema names it). Without the
            class, a table for each class is returned.
        """
        raise NotSupported(f"{type(self).__name__} has no table of {feature!r} given {given!r}")

    @property
    def _target(self) -> str:
        """What the class is called."""
        return "class" if self.schema is None else self.schema.target

    def _check_given(self, given: object) -> None:
        if given is not None and not isinstance(given, Mapping):
            raise BadValue(
                f"given must be a dict of what is known, {{{self._target!r}: label}}, "
                f"not {type(given).__name__}: {shown(given)}"
            )

    def _given_label(self, given: Mapping[Any, Any] | None) -> Any:
        """The class in `given`, or `...` where it is not there."""
        target = self._target
        self._check_given(given)
        if given is None or target not in given:
            rest = list(given or ())
            label: Any = ...
        else:
            rest = [name for name in given if name != target]
            label = canonical_label(given[target])
            if label not in self.classes_:
                raise BadLabel(f"the classes are {shown(self.classes_)}, not {shown(label)}")
        if rest:
            raise NotSupported(
                f"{type(self).__name__} has no table given {rest[0]!r}; the class is called {target!r}"
            )
        return label

    def explain_one(self, x: X) -> Explanation:
        """What each feature says for each class: log-evidence that adds up to `joint_log_likelihood(x)` where the model
        is a sum over features, and otherwise the difference that leaving the feature out makes.
        """
        joint = self.joint_log_likelihood(x)
        evidence: dict[Any, dict[Any, float]] = {}
        if self.additive:
            # One feature more at a time, so that the differences add up whatever two of them share.
            so_far: dict[Any, Any] = {}
            last = baseline = self._evidence({})
            for name, value in x.items():
                so_far[name] = value
                scores = self._evidence(so_far)
                evidence[name] = _less(scores, last)
                last = scores
            return Explanation("log-evidence", baseline, evidence, joint)
        for name in x:
            without = self.joint_log_likelihood({n: v for n, v in x.items() if n != name})
            evidence[name] = _less(joint, without)
        return Explanation("leave-one-out", self.joint_log_likelihood({}), evidence, joint)

    def _evidence(self, x: X) -> dict[Any, float]:
        """Log P(y, x) of each class, impossible ones included even where all are."""
        scores: dict[Any, float] = self._reading.evidence(self._store.encoder.lookup(x))
        return scores

    def predict_interval_one(self, x: X, level: float = 0.95) -> dict[Any, tuple[float, float]]:
        """The credible interval of each class's probability.

        The tables are taken as independent Dirichlet posteriors, Gaussians with their reference prior; the interval
        is the delta method's on the log-odds, with a correction for skewness. Without any evidence it is the exact
        Beta interval.

        Examples
        --------
        >>> from stream_bayes import NaiveBayes
        >>> model = NaiveBayes()
        >>> model.learn_one({}, "white", w=75)
        >>> model.learn_one({}, "black", w=25)
        >>> low, high = model.predict_interval_one({})["white"]
        >>> round(low, 4), round(high, 4)
        (0.6567, 0.8244)
        """
        if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0.0 < level < 1.0:
            raise BadValue(f"level lies between 0 and 1, not {level!r}")
        codes = {label: self._store.encoder.labels.find(label) for label in self.classes_}
        if not self.joint_log_likelihood(x):
            return {}
        odds = self._log_odds(x)
        if odds is not None:
            return {label: logistic_interval(odds[label], level) for label in codes}
        joint = self._log_joint_cumulants(x, codes)
        if joint is not None:
            return {label: log_odds_interval(joint, label, level) for label in codes}
        evidence = {label: self._log_likelihood_cumulants(x, code) for label, code in codes.items()}
        silent = all(moments == Cumulants() for moments in evidence.values())
        prior = self._prior_parameters()
        if prior is None and silent:
            return {
                label: (p, p) for label, p in self.predict_proba_one({}).items()
            }  # given, and so beyond doubt
        if prior is None:
            fixed = self._log_prior()
            joint = {label: Cumulants(fixed[label]) + evidence[label] for label in codes}
        elif silent:
            total = math.fsum(prior.values())
            return {label: beta_interval(own, total - own, level) for label, own in prior.items()}
        else:
            # The sum of the prior's weights is common to all classes and cancels in the odds.
            joint = {label: log_weight(own) + evidence[label] for label, own in prior.items()}
        return {label: log_odds_interval(joint, label, level) for label in codes}

    def _prior_parameters(self) -> dict[Any, float] | None:
        """The Dirichlet parameters of P(y) in fresh samples; None where it was given and not learned."""
        if self.class_prior != "counted":
            return None
        tables, reading = self._store.tables, self._reading
        codes = {label: self._store.encoder.labels.find(label) for label in self.classes_}
        add = reading.prior_strength / (len(codes) if reading.spread else 1)
        return {label: tables.class_weight[code] / tables.unit + add for label, code in codes.items()}

    # -- keeping ------------------------------------------------------------------------------------------------------

    def _derived(self) -> dict[str, Any]:
        return derived_state(self._reading)

    def _load_derived(self, derived: Mapping[str, Any]) -> None:
        load_derived(self._reading, derived)

    def _merged(self) -> None:
        merged(self._reading)


def check_learner(learner: object) -> None:
    """A learner of this package, by itself."""
    if issubclass(type(learner), BayesClassifier):
        return
    if isinstance(learner, BayesClassifier):  # River looks at the last step of a pipeline
        raise BadValue(
            "learner must be a learner of this package without steps before it; these go before what is made here: "
            f"StandardScaler() | ...({shown(learner[-1])})"  # type: ignore[index]  # as of a pipeline
        )
    raise BadValue(f"learner must be a learner of this package, not {shown(learner)}")


def _less(scores: Mapping[Any, float], others: Mapping[Any, float]) -> dict[Any, float]:
    """The difference per class; what is impossible both ways makes none."""
    return {
        label: 0.0 if score == others[label] else score - others[label] for label, score in scores.items()
    }
