"""Classifiers: the public verbs of every learner, written once.

A classifier is a store of counts and a reading of it. A subclass makes both (`_make_store`, `_make_reading`); the
learning, unlearning, predicting and explaining of one event or many follow from them here, merging and saving in
`state.py`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.draws.drawn_tables import CountedTables, DrawnTables
from stream_bayes.core.encoding._vocabulary import Vocabulary
from stream_bayes.core.networks.pictures import drawn_structure, links_of
from stream_bayes.core.pictures.html import bars_table, block, plain_table
from stream_bayes.core.readings._reading import Reading
from stream_bayes.core.readings._sliding import SlidingReading
from stream_bayes.core.readings._smoothing import pseudocount
from stream_bayes.core.values.values import canonical_label, shown
from stream_bayes.data.frames import Native
from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadLabel, BadValue, NotSupported
from stream_bayes.learners.base.arguments import (
    check_class_prior,
    check_count,
    check_half_life,
    check_number,
    declared_classes,
)
from stream_bayes.learners.base.batches import encode_batch, encode_blocks, row_count
from stream_bayes.learners.base.class_probabilities import labels_like, most_probable, probabilities_like
from stream_bayes.learners.base.credible_intervals import Intervals, beta_interval, ends_of
from stream_bayes.learners.base.draws import (
    DrawnClassifier,
    DrawnFactors,
    HasNoDraws,
    checked_rng,
    drawn_given,
    generator_of,
)
from stream_bayes.learners.base.edges import edges_of
from stream_bayes.learners.base.explanation import (
    Explanation,
    explained_by_addition,
    explained_by_steps,
)
from stream_bayes.learners.base.posteriors import SharePosterior
from stream_bayes.learners.base.prior_tables import PriorTables
from stream_bayes.learners.base.state import CountLearner
from stream_bayes.learners.base.traits import Promise, Traits

__all__ = ["BayesClassifier", "check_learner", "is_within_window"]

X = Mapping[Any, Any]
T = TypeVar("T")
# Arguments that do not change what is counted; names of a schema are checked one by one.
FREE_IN_PRIORS = {"memory_budget", "prior", "strength", "class_prior", "half_life", "schema"}


class BayesClassifier(CountLearner, HasNoDraws, base.MiniBatchClassifier):
    """A classifier that predicts from a store of counts, through a reading of it.

    The arguments, which every classifier has, are stored and checked here.
    """

    promises: ClassVar[frozenset[Promise]] = frozenset({Promise.COUNTS, Promise.FLOATS, Promise.ORDERED})
    unlabelled: str = "refuse"  # an argument of those that learn events without a label, in `unlabelled.py`
    inputs: ClassVar[frozenset[str]] = frozenset()  # the kinds of features: "nominal", "numeric", "bag"
    additive: ClassVar[bool] = True  # log P(y, x) is a sum over features
    # False if `joint_log_likelihood` is of P(y | x), or another score, and not of P(y, x).
    scores_events: bool = True
    tables_to_draw: ClassVar[type[CountedTables] | None] = None  # how the tables of its reading are drawn

    store: CountStore
    reading: Reading

    def __init__(
        self,
        class_prior: Any = "counted",
        half_life: float | str | None = None,
        schema: Schema | None = None,
        max_values: int | None = None,
        memory_budget: int | None = None,
    ) -> None:
        self.class_prior = class_prior
        self.half_life = half_life
        self.schema = schema
        self.max_values = max_values
        self.memory_budget = memory_budget
        self._begin()

    def _begin(self) -> None:
        """Check the arguments and make an empty store with its reading."""
        check_class_prior(self.class_prior)
        check_half_life(self.half_life)
        if self.schema is not None and not isinstance(self.schema, Schema):
            raise BadValue(
                "schema must be a Schema, as Schema({'sky': Nominal(), 'wind': Numeric()}), "
                f"not {type(self.schema).__name__}: {shown(self.schema)}"
            )
        for name in ("max_values", "memory_budget"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name))
        classes = declared_classes(self.schema, self.class_prior)
        has_prior = isinstance(self.class_prior, Mapping)
        self.store = self._make_store(Vocabulary(classes or (), None, classes is not None))
        self.reading = self._make_reading(self.store, "given" if has_prior else self.class_prior)
        if has_prior:
            prior = {canonical_label(label): float(p) for label, p in self.class_prior.items()}
            self.reading.set_prior([prior[label] for label in self.store.encoder.labels.values])

    # -- what a subclass writes ---------------------------------------------------------------------------------------

    @abstractmethod
    def _make_store(self, labels: Vocabulary) -> CountStore:
        """Return an empty store."""

    @abstractmethod
    def _make_reading(self, store: CountStore, class_prior: str) -> Reading:
        """Return this learner's reading of its store."""

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn_one(self, x: X, y: Any, w: float = 1.0, at: float | None = None) -> None:
        """Learn a sample: all of it, or nothing if any part is refused.

        Parameters
        ----------
        x
            The features, `{name: value}`. An absent value, None or NaN is missing and adds no count.
        y
            The label.
        w
            The sample's weight; 2.0 is the same as learning it twice.
        at
            With `half_life` in stream time: the sample's own time, in seconds since 1970. The order in which samples
            are learned then changes nothing.
        """
        self.reading.learn(self.store.encode(x, y, w, at))

    def unlearn_one(self, x: X, y: Any, w: float = 1.0, at: float | None = None) -> None:
        """Unlearn a sample, with the weight it was learned with.

        Parameters
        ----------
        x, y, w
            The sample.
        at
            With fading: the value of `clock` right after the sample was learned. Default: now. With `half_life` in
            stream time: the sample's time, in seconds since 1970.
        """
        if self.store.tables.timed and at is not None:
            at = self.store.moment(at)
        self.store.unlearn(x, y, w, at)  # type: ignore[arg-type]  # the store refuses a clock that is not whole

    def advance_to(self, at: float) -> None:
        """Advance the stream time of a learner with `half_life` in stream time; what it holds fades accordingly.

        Parameters
        ----------
        at
            A time in seconds since 1970. An earlier time than the present one changes nothing.
        """
        self.store.tables.advance_to(self.store.moment(at))

    def advance(self, events: int) -> None:
        """Advance the clock by events that another shard learns, so that all shards of a stream fade alike."""
        self.store.advance(events)

    def rederive(self) -> None:
        """Derive the structure or weights from the present counts, in learners that have any."""
        self.reading.rederive()

    @property
    def traits(self) -> Traits:
        """The abilities of this learner, which follow from its class and its arguments."""
        return Traits(
            is_order_dependent=False,
            is_mergeable=True,
            accepts_numbers="numeric" in self.inputs,
            learns_cut_points=False,
            accepts_new_features=self.schema is None,
        )

    @property
    def clock(self) -> int:
        """The number of events that were learned, or passed by `advance`."""
        return int(self.store.tables.clock)

    def learn_many(self, X: Native, y: Native = None, w: Native = None, at: Native = None) -> None:
        """Learn many rows, as `learn_one` would in their order: all of them, or none if one is refused.

        Parameters
        ----------
        X
            A data frame (pandas, polars, ...), `CodedColumns`, or a list of dicts.
        y
            The labels, in the order of the rows; a pandas index is ignored. None for `CodedColumns` that hold
            labels.
        w
            A weight for all rows, or one per row.
        at
            With `half_life` in stream time: the time of each row, in seconds since 1970.
        """
        for batch in encode_blocks(self.store, X, y, w, at):
            self.reading.learn_batch(batch)

    def add_prior(self, other: Self | PriorTables, weight: float) -> Self:
        """Add the counts of another learner of the same class, or of tables, scaled to a weight of `weight` samples.

        The answers are those of a learner that has learned the other's events, too, each with the same small weight. So
        a new customer's model begins as that of all customers, and `weight` events of its own weigh as much. The counts
        are nothing else in the state: unlearning, merging, fading and saving go on as ever. To merge shards, add the
        prior to one of them.

        Parameters
        ----------
        other
            The learner; it stays unchanged. Smoothing, class prior, half-life and schema may be others than here. Or
            `PriorTables`: what you expect.
        weight
            The weight of all its events together, in fresh samples.

        Raises
        ------
        BadLabel, UnknownFeature, BadValue
            If the other learner has a label, a feature or a value that is not among those declared here.
        CannotMerge
            If it is of another class, has other settings or cut points, or a feature of the other kind.
        NotSupported
            If what this learner learns is no sum of its events.

        Examples
        --------
        >>> from stream_bayes import NaiveBayes
        >>> everybody, model = NaiveBayes(), NaiveBayes()
        >>> for number in range(1000):
        ...     everybody.learn_one({"word": "win" if number % 2 else "lunch"}, "spam" if number % 2 else "ham")
        >>> round(model.add_prior(everybody, weight=10).predict_proba_one({"word": "win"})["spam"], 2)
        0.86
        """
        check_number("weight", weight, above=True)
        if not self.traits.is_mergeable:
            raise NotSupported(
                f"{type(self).__name__} takes no prior from another learner: what it learns is no sum over its events; "
                "NaiveBayes, GaussianNB and the learners over pairs do"
            )
        if isinstance(other, PriorTables):
            other = self._taught(other, weight)
            weight = math.fsum(other.store.tables.class_weight)
        self._check_alike(other, FREE_IN_PRIORS)
        self.store.add_prior(other.twin().store if other is self else other.store, weight)
        self.after_merge()
        self.rederive()  # its clock stands where it stood, so no structure would be due
        return self

    def _taught(self, expected: PriorTables, weight: float) -> Self:
        """Return a learner like this one that has learned tables alone, and forgets nothing."""
        model = type(self)(**{**self._get_params(), "half_life": None})
        expected.fill(model.store, self.target_name, weight)
        return model

    # -- predicting ---------------------------------------------------------------------------------------------------

    def joint_log_likelihood(self, x: X) -> dict[Any, float]:
        """Return log P(y, x) of each class that has weight or was declared; empty before any learning.

        Mixtures and classifiers that learn P(y | x) return the logarithm of their answer instead, `ComplementNB` its
        score.
        """
        return self.reading.log_joint(self.store.encoder.lookup(x))

    def predict_proba_one(self, x: X, **kwargs: Any) -> dict[Any, float]:
        """Return P(y | x) of each class; empty before any learning."""
        return self.reading.probabilities(self.store.encoder.lookup(x))

    def predict_one(self, x: X, **kwargs: Any) -> Any:
        """Return the most probable class; of equal ones the first by name; None before any learning."""
        return most_probable(self.predict_proba_one(x))

    def predict_learn_one(self, x: X, y: Any, w: float = 1.0, at: float | None = None) -> dict[Any, float]:
        """Return the probabilities of a sample, then learn it: test-then-train, encoded once."""
        row = self.store.encode(x, y, w, at)
        return self.reading.predict_learn(row)

    def predict_proba_many(self, X: Native) -> Any:
        """Return the probabilities of many rows: a data frame for a data frame, a list of dicts for a list of dicts,
        `Probabilities` for `CodedColumns`.
        """
        return self._answers(X, None, None, None, learn=False)

    def predict_learn_many(self, X: Native, y: Native = None, w: Native = None, at: Native = None) -> Any:
        """Return the probabilities of many rows, each predicted from those before it and then learned.

        A class that first came after a row has probability 0 there. Labels, weights and times belong to the
        rows by their order, as in `learn_many`.
        """
        return self._answers(X, y, w, at, learn=True)

    def predict_many(self, X: Native) -> Any:
        """Return the most probable class of many rows: a series for a data frame, a list for anything else."""
        return labels_like(X, self.class_probabilities(X), self.store.encoder.labels.values)

    def _answers(self, xs: Native, ys: Native, ws: Native, ats: Native, *, learn: bool) -> Any:
        values = self.class_probabilities(xs, ys, ws, ats, learn=learn)
        labels = self.store.encoder.labels.values
        # A class of an earlier row may have lost its samples since: a window forgets.
        named = [code for code in range(len(labels)) if self._is_live(code) or values[:, code].any()]
        return probabilities_like(xs, values, {code: labels[code] for code in named})

    def class_probabilities(
        self, xs: Native, ys: Native = None, ws: Native = None, ats: Native = None, *, learn: bool = False
    ) -> NDArray[np.float64]:
        """Return the probabilities of many rows, a column per label's code; with `learn`, learn each after it."""
        batch = encode_batch(self.store, xs, ys, ws, ats, learning=learn)
        values = np.zeros((row_count(xs), max(self.store.tables.labels, 1)))
        if learn:
            self.reading.predict_learn_batch(batch, values)
        else:
            self.reading.predict_batch(batch, values)
        return values

    @property
    def _multiclass(self) -> bool:
        return True

    # -- the class ----------------------------------------------------------------------------------------------------

    @property
    def classes_(self) -> tuple[Any, ...]:
        """The classes that hold samples or were declared, in the order in which they first came."""
        return tuple(
            label for code, label in enumerate(self.store.encoder.labels.values) if self._is_live(code)
        )

    def _is_live(self, code: int) -> bool:
        tables = self.store.tables
        return bool(tables.class_samples[code] > 0 or code < self.store.encoder.labels.declared)

    @property
    def class_prior_(self) -> dict[Any, float]:
        """P(y) of each class."""
        return {label: math.exp(score) for label, score in self.log_prior().items()}

    def log_prior(self) -> dict[Any, float]:
        scores = np.zeros(max(self.store.tables.labels, 1))
        self.reading.write_prior(scores)
        labels = self.store.encoder.labels.values
        learned = bool(np.any(self.store.tables.class_samples))
        return {labels[c]: float(scores[c]) for c in range(len(labels)) if learned and self._is_live(c)}

    @property
    def target_name(self) -> str:
        """The name of the class."""
        return "class" if self.schema is None else self.schema.target

    # -- notebooks ----------------------------------------------------------------------------------------------------

    def _repr_html_(self) -> str:
        kinds = self.store.encoder
        facts = [
            ("samples", self.clock),
            ("classes", len(self.classes_)),
            ("nominal features", len(kinds.nominal)),
            ("numeric features", len(kinds.numeric)),
            ("bytes", self.memory_bytes),
        ]
        parts = [
            plain_table(repr(self), ("", ""), facts),
            bars_table(f"P({self.target_name})", self.class_prior_),
        ]
        if edges := edges_of(self):
            names = list(dict.fromkeys(name for edge in edges for name in edge))
            parts.append(drawn_structure(names, links_of(names, [(a, b) for a, b in edges])).svg())
        return block(*parts)

    # -- tables -------------------------------------------------------------------------------------------------------

    def conditional(self, feature: Any, given: Mapping[Any, Any] | None = None) -> dict[Any, Any]:
        """Return P(feature | class, ...) as the model has it now.

        Parameters
        ----------
        feature
            The feature's name.
        given
            The known values: the class under the schema's `target` (`"class"` without a schema). Without the class, a
            table per class is returned.
        """
        self._split_given(given)
        raise NotSupported(
            f"{type(self).__name__} keeps no table of {feature!r} by itself; those that do are naive Bayes, the "
            "learners over pairs, MultinomialNB and BernoulliNB"
        )

    def posterior(self, feature: Any, given: Mapping[Any, Any] | None = None) -> Any:
        """Return the posterior of the table that `conditional` returns the means of.

        Parameters
        ----------
        feature
            The feature's name; that of the class (the schema's `target`, `"class"` without a schema) for P(class).
        given
            As in `conditional`. Without the class, a posterior for each class is returned, by class.

        Returns
        -------
        A `SharePosterior` of a nominal feature and of the class, a `NumberPosterior` of a numeric one: each with
        `mean`, `variance` and `interval(level)`.

        Examples
        --------
        >>> from stream_bayes import NaiveBayes
        >>> model = NaiveBayes()
        >>> for sky, weather in [("grey", "rain"), ("grey", "rain"), ("blue", "dry")]:
        ...     model.learn_one({"sky": sky}, weather)
        >>> model.posterior("class").mean, model.posterior("class").interval(0.9)["dry"]
        ({'rain': 0.6, 'dry': 0.4}, (0.0976..., 0.7513...))
        >>> model.posterior("sky", given={"class": "dry"}).variance["blue"]
        0.0555...
        """
        label, rest = self._split_given(given)
        if feature != self.target_name:
            return self._table_posterior(feature, label, rest)
        if label is not ... or rest:
            raise BadValue(f"P({self.target_name}) is given nothing: leave given={shown(given)} out")
        parameters = self._prior_parameters()
        if parameters is None:
            raise NotSupported(
                f"class_prior={shown(self.class_prior)} makes P({self.target_name}) certain: it has no posterior"
            )
        return SharePosterior(parameters)

    def _table_posterior(self, feature: Any, label: Any, rest: Mapping[Any, Any]) -> Any:
        """Return the posterior of a feature's table, given a class, `...` for each, and other features."""
        raise NotSupported(
            f"{type(self).__name__} has no table of {feature!r} by itself, and no posterior of it; NaiveBayes, "
            "GaussianNB, LDA and QDA, the learners over pairs, MultinomialNB and BernoulliNB do"
        )

    def draw(self, rng: np.random.Generator) -> DrawnClassifier:
        """Return a classifier with tables drawn from their posterior: what the truth may be, given the events.

        The mean over draws of P(x, y) is that of `joint_log_likelihood`, so the mean of their answers, each weighted by
        its P(x), is the answer. Structure and bins are held. Draws read the counts as they are now: later learning does
        not change them. Equal sources of randomness give equal draws.

        Parameters
        ----------
        rng
            The source of randomness.

        Raises
        ------
        NotSupported
            If the answer is no mean over tables, as the message says: of mixtures of answers, of plug-in densities.

        Examples
        --------
        >>> import numpy as np
        >>> from stream_bayes import NaiveBayes
        >>> model = NaiveBayes()
        >>> for sky, weather in [("grey", "rain"), ("grey", "rain"), ("blue", "dry")]:
        ...     model.learn_one({"sky": sky}, weather)
        >>> draw = model.draw(np.random.default_rng(3))
        >>> draw.conditional("sky", {"class": "rain"}), draw.predict_one({"sky": "blue"})
        ({'grey': 0.775..., 'blue': 0.224...}, 'dry')
        """
        return self.draw_tables(checked_rng(rng))

    def draw_tables(self, rng: np.random.Generator) -> DrawnClassifier:
        """Return a classifier with drawn tables."""
        posterior = self.counted_tables()
        drawn = DrawnTables(posterior, rng, generator_of)
        return DrawnFactors(self.store.encoder, posterior, drawn, self.target_name)

    def simulate_one(self, x: X, n: int, rng: np.random.Generator) -> list[Any]:
        """Return the labels of `n` events with the features x, in one world that the counts and x allow.

        A world is a draw of the tables, given the counts and x; its labels are independent. So the number of a label
        among them varies by the doubt about the tables too.

        Parameters
        ----------
        x
            The features.
        n
            The number of events.
        rng
            The source of randomness.

        Examples
        --------
        >>> import numpy as np
        >>> from stream_bayes import NaiveBayes
        >>> model = NaiveBayes()
        >>> for number in range(20):
        ...     model.learn_one({"sky": "grey"}, "rain" if number % 2 else "dry")
        >>> rng = np.random.default_rng(0)
        >>> rain = [model.simulate_one({"sky": "grey"}, 100, rng).count("rain") for _ in range(500)]
        >>> round(np.std(rain)), round((100 * 0.5 * 0.5) ** 0.5)  # and if P(rain) were certain
        (11, 5)
        """
        check_count("n", n)
        shares = self.draw_given(x, checked_rng(rng)).predict_proba_one(x)
        labels = list(shares)
        return [labels[index] for index in rng.choice(len(labels), size=n, p=list(shares.values()))]

    def draw_given(self, x: X, rng: np.random.Generator) -> DrawnClassifier:
        """Return a classifier with tables drawn given the counts and x, as `simulate_one` does."""
        return drawn_given(self, x, rng)

    def counted_tables(self) -> CountedTables:
        """Return the posterior of the tables behind the answers; raise `NotSupported` if they are no mean over it."""
        if self.tables_to_draw is None:
            raise self._no_draws()
        return self.tables_to_draw(self.reading)

    def log_evidence(self) -> float:
        """Return the log-probability of everything learned, tables integrated out.

        It is the sum of log P(y, x) of all events, each before it was learned, in any order. The events of a prior,
        from `add_prior`, are among them: take off the evidence right after it was added.

        Raises
        ------
        NotSupported
            If it is not exact, as the message says: of other learners than `NaiveBayes`, `BayesNet` and
            `BayesNetClassifier`, of numbers, names that are not declared, weights that are not whole.
        """
        raise NotSupported(
            f"a {type(self).__name__} has no exact evidence: its answers are no chain of predictions; NaiveBayes over "
            "declared names and networks have"
        )

    def _split_given(self, conditions: Mapping[Any, Any] | None) -> tuple[Any, dict[Any, Any]]:
        """Return the class among the given values, `...` without one, and the others."""
        if conditions is not None and not isinstance(conditions, Mapping):
            raise BadValue(
                f"given must be a dict of what is known, {{{self.target_name!r}: label}}, "
                f"not {type(conditions).__name__}: {shown(conditions)}"
            )
        rest = dict(conditions or {})
        if self.target_name not in rest:
            return ..., rest
        label = canonical_label(rest.pop(self.target_name))
        if label not in self.classes_:
            raise BadLabel(f"the classes are {shown(self.classes_)}, not {shown(label)}")
        return label, rest

    def _given_label(self, conditions: Mapping[Any, Any] | None) -> Any:
        """Return the class, which alone may be given; `...` without one."""
        label, rest = self._split_given(conditions)
        if rest:
            raise self._no_table(rest)
        return label

    def _no_table(self, rest: Mapping[Any, Any]) -> NotSupported:
        """Return the error of a table given other features."""
        return NotSupported(
            f"{type(self).__name__} has no table given {next(iter(rest))!r}; the class is called {self.target_name!r}"
        )

    def _by_class(self, label: Any, table: Callable[[Any], T]) -> T | dict[Any, T]:
        """Return the table of a class; for `...` that of each class, by class."""
        return {y: table(y) for y in self.classes_} if label is ... else table(label)

    # -- explanations and intervals -----------------------------------------------------------------------------------

    def explain_one(self, x: X) -> Explanation:
        """Return the evidence of each feature for each class.

        It adds up to `joint_log_likelihood(x)`: log-evidence if the model is a sum over features, and otherwise what
        each feature changes when it is added to others.
        """
        joint = self.joint_log_likelihood(x)
        if self.additive:
            return explained_by_addition(self._evidence, x, joint)
        return explained_by_steps(self.joint_log_likelihood, x, joint)

    def _evidence(self, x: X) -> dict[Any, float]:
        """Return log P(y, x) of each class; impossible classes keep minus infinity even if all are impossible."""
        return self.reading.evidence(self.store.encoder.lookup(x))

    def predict_interval_one(self, x: X, level: float = 0.95) -> dict[Any, tuple[float, float]]:
        """Return the credible interval of each class's probability; empty before any learning.

        The interval holds the answer of `predict_proba_one`, which is the mean of the probabilities by all tables that
        the counts allow, those weighing more that make the event likely. Each class's P(x, y) is taken as log-normal,
        with the variance that learning (x, y) once more shows, and with the longer lower tail of small counts;
        structure, bins and weights of mixtures are held.
        Without any evidence it is the exact interval of a Beta distribution. Answer and interval are of the labels that
        were learned: with one, both are 1, and that another may come is in neither.

        Parameters
        ----------
        x
            The features.
        level
            The probability of the interval.

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
        row = self.store.encoder.lookup(x)
        intervals: dict[Any, tuple[float, float]]
        intervals, has_evidence = self.reading.interval_by_label(row, *ends_of(level))
        if not has_evidence:
            intervals |= self._prior_intervals(intervals, level)
        return intervals

    def predict_interval_many(self, X: Native, level: float = 0.95) -> Intervals:
        """Return the intervals of many rows: their lower and their upper ends, each as `predict_proba_many` answers.

        Examples
        --------
        >>> from stream_bayes import NaiveBayes
        >>> model = NaiveBayes()
        >>> for number in range(20):
        ...     model.learn_one({"sky": "grey" if number % 4 else "blue"}, "rain" if number % 4 else "dry")
        >>> low, high = model.predict_interval_many([{"sky": "grey"}])
        >>> low[0]["rain"] < model.predict_proba_one({"sky": "grey"})["rain"] < high[0]["rain"]
        True
        """
        tail, deviations = ends_of(level)
        batch = encode_batch(self.store, X, None, None, None, learning=False)
        ends = np.zeros((2, row_count(X), max(self.store.tables.labels, 1)))
        without = self.reading.write_intervals(batch, ends[0], ends[1], tail, deviations)
        live = {
            code: label for code, label in enumerate(self.store.encoder.labels.values) if self._is_live(code)
        }
        if without:
            certain = {label: (float(ends[0, without[0], code]), 0.0) for code, label in live.items()}
            exact = self._prior_intervals(certain, level)
            for code, label in live.items():
                if label in exact:
                    ends[:, without, code] = np.reshape(exact[label], (2, 1))
        return Intervals(*(probabilities_like(X, side, live) for side in ends))

    def _prior_intervals(
        self, certain: Mapping[Any, tuple[float, float]], level: float
    ) -> dict[Any, tuple[float, float]]:
        """Return the exact intervals of P(y) where it is the answer, `certain`; a prior that was given is certain."""
        prior = self._prior_parameters() or {}
        total = math.fsum(prior.values())
        return {
            label: beta_interval(weight, total - weight, level, certain[label][0])
            for label, weight in prior.items()
        }

    def answer_with_spread(self, x: X) -> dict[Any, tuple[float, float]]:
        """Return `{label: (probability, variance of its log-odds)}`; empty before any learning."""
        return self.reading.answer_with_spread(self.store.encoder.lookup(x))

    def _prior_parameters(self) -> dict[Any, float] | None:
        """Return the Dirichlet parameters of P(y) in fresh samples; None if P(y) was given and not learned."""
        if self.class_prior != "counted":
            return None
        tables, reading = self.store.tables, self.reading
        codes = {label: self.store.encoder.labels.find(label) for label in self.classes_}
        add = pseudocount(reading.prior_strength, len(codes), reading.spread)
        return {label: tables.class_weight[code] / tables.unit + add for label, code in codes.items()}

    # -- derived parts ------------------------------------------------------------------------------------------------

    def derived_state(self) -> dict[str, Any]:
        return self.reading.derived_state()

    def load_derived(self, derived: Mapping[str, Any]) -> None:
        self.reading.load_derived(derived)

    def after_merge(self) -> None:
        self.reading.after_merge()


def is_within_window(learner: BayesClassifier) -> bool:
    """Return True for a learner that a `SlidingWindow` was made around: the window holds its counts and events."""
    return learner.store.slides and not isinstance(learner.reading, SlidingReading)


def check_learner(learner: object) -> None:
    """Raise `BadValue` for anything but a learner of this package, without steps before it, that is in no window."""
    if issubclass(type(learner), BayesClassifier):
        if is_within_window(learner):  # type: ignore[arg-type]  # it is one
            raise BadValue(
                f"the {type(learner).__name__} is part of a SlidingWindow, which takes events out of it; give a new one"
            )
        if learner.unlabelled != "refuse":  # type: ignore[attr-defined]  # it is one
            raise BadValue(
                f"unlabelled={learner.unlabelled!r} learns as a whole model, not as part of another; leave it out"  # type: ignore[attr-defined]  # it is one
            )
        return
    if isinstance(learner, BayesClassifier):  # of a pipeline River shows the last step
        raise BadValue(
            "learner must be a learner of this package without steps before it; these go before what is made here: "
            f"StandardScaler() | ...({shown(learner[-1])})"  # type: ignore[index]  # as of a pipeline
        )
    if isinstance(learner, base.Regressor):
        raise BadValue(
            f"learner must be a classifier of this package, not a {type(learner).__name__}, which predicts numbers; "
            "for these take DriftAdaptiveRegression, HalfLifeRegression, or a window of their own, as "
            "BayesianRegression(window=1000)"
        )
    raise BadValue(f"learner must be a classifier of this package, not {shown(learner)}")
