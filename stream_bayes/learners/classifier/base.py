"""The public verbs of every classifier, written once.

A learner is a store of counts and a reading of it. A subclass says how to make both (`_make_store`,
`_make_reading`), and the rest follows: learning, unlearning and predicting, one event or many, here; merging and
saving in `keeping.py`; explanations and intervals in `telling.py`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.encoding._vocabulary import Vocabulary
from stream_bayes.core.readings._reading import Reading
from stream_bayes.core.readings.choosing import derived_state, give_prior, load_derived, merged, rederive
from stream_bayes.core.values.values import Value, canonical_label, name_order, shown
from stream_bayes.data.columns import CodedColumns
from stream_bayes.data.frames import Native, is_frame, like_frame, like_series
from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadValue
from stream_bayes.learners.classifier.arguments import (
    check_class_prior,
    check_count,
    check_number,
    declared_classes,
)
from stream_bayes.learners.classifier.batches import encode_batch, row_count
from stream_bayes.learners.classifier.state import Keeping
from stream_bayes.learners.classifier.telling import Telling
from stream_bayes.learners.classifier.traits import Promise, Traits

__all__ = ["BayesClassifier", "Probabilities", "check_learner", "most_probable"]

X = Mapping[Any, Any]


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


class BayesClassifier(Telling, Keeping, base.MiniBatchClassifier):
    """What every classifier of this package can do."""

    promises: ClassVar[frozenset[Promise]] = frozenset({Promise.COUNTS, Promise.FLOATS, Promise.ORDERED})
    inputs: ClassVar[frozenset[str]] = frozenset()  # of "nominal", "numeric", "bag": what it learns from

    # Every subclass takes these, and `class_prior` and `schema`:
    half_life: float | None
    max_values: int | None
    memory_budget: int | None

    # -- what a subclass writes ---------------------------------------------------------------------------------------

    @abstractmethod
    def _make_store(self, labels: Vocabulary) -> CountStore:
        """An empty store."""

    @abstractmethod
    def _make_reading(self, store: CountStore, class_prior: str) -> Reading:
        """The way this learner reads its store."""

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

    def rederive(self) -> None:
        """Derive from the counts, as they are now, whatever the learner derives from them; most derive nothing."""
        rederive(self._reading)

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

    @property
    def _multiclass(self) -> bool:
        return True

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
