"""The learner that needs no choice: readings, rates of forgetting, bins and inputs, mixed by how well they predict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Never

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.encoding._vocabulary import Vocabulary
from stream_bayes.core.mixtures._expert_mixture import ExpertMixture
from stream_bayes.core.mixtures._recalibration import Recalibration
from stream_bayes.core.values.inputs import no_features
from stream_bayes.core.values.values import canonical_label, is_missing
from stream_bayes.data.frames import Native
from stream_bayes.data.schema import Schema
from stream_bayes.errors import CannotMerge
from stream_bayes.learners.adaptive._encoding import SharedEncoding
from stream_bayes.learners.adaptive._panel import Panel
from stream_bayes.learners.adaptive.experts import (
    FEATURES,
    LABELS,
    PAIRED,
    STORE_BYTES,
    TRENDS,
    paired_part,
    stores,
)
from stream_bayes.learners.adaptive.inputs import TREND, LabelMemory, Trends, is_number, trend_name, value_of
from stream_bayes.learners.adaptive.sleeping import Sleep
from stream_bayes.learners.base.arguments import ReadOnlyArguments, check_count, check_number
from stream_bayes.learners.base.base import BayesClassifier, X
from stream_bayes.learners.base.batches import row_count
from stream_bayes.learners.base.predictions import labels_like, most_probable, probabilities_like
from stream_bayes.learners.base.samples import rows_of, samples_of

__all__ = ["AdaptiveBayes", "Opinion"]

SWITCHING = (0.005, 0.02)
RATES = (0.0005, 0.002, 0.005, 0.02)
FINAL_SWITCHING = 0.005
REPEATING = "last label again"


class Opinion(NamedTuple):
    """An expert's part in an answer: its weight, and the probabilities it gives."""

    weight: float
    probabilities: dict[Any, float]


class AdaptiveBayes(ReadOnlyArguments, base.Classifier):
    """The learner to use when you do not know which: some twenty experts, mixed by how well they predict.

    The experts are naive Bayes, TAN, KDB, AODE and LDA, over all events or the newest, numbers in coarse and fine bins
    or as Gaussians. Some also use the last labels, and numbers relative to their recent mean; one repeats the last
    label. Each event is predicted by all before it is learned.

    Parameters
    ----------
    label_memory
        The number of last labels that some experts see; 0: none does, and no expert repeats the last label. Leave
        them out where labels come much later than their samples, or the order of events means nothing.
    trend_half_life
        The half-life, in events, of the mean that a number is compared with.
    schema
        The features and classes, as in `NaiveBayes`.

    Notes
    -----
    The answer is a mixture of mixtures of the experts (`ExpertMixture` states the bound of its regret): over T events
    it loses at most some (s + 1) ln(20) + s ln(200) + T / 200 nats more than the best sequence of experts with s
    switches.
    Mixing logarithms is mostly far better than every single expert. What the mixture gives is then calibrated by how
    often such probabilities came true, as far as that helps (`Recalibration`).

    Stores that have not helped for long sleep: they count events and predict none. They wake for a trial after 1,000
    events, or 2,000, 4,000, ... if they still do not help, and at once when the loss rises (`asleep_`).

    Promises: the same events from the same state give the same answers. It cannot unlearn, or be merged: its weights
    depend on the order of events.

    Time and memory are bounded: naive Bayes uses all features, the other experts the first 100 that come. The
    eight stores of pairs take at most 32 MB each; an event's names and values that do not fit are left out there. A
    store that has no room for a new label begins anew, with fewer features. `left_out_` names the features that some
    experts do not see.

    Examples
    --------
    >>> model = AdaptiveBayes()
    >>> for number in range(100):
    ...     model.learn_one({"light": "on" if number % 3 else "off"}, "day" if number % 3 else "night")
    >>> model.predict_one({"light": "off"})
    'night'
    """

    def __init__(
        self, label_memory: int = 2, trend_half_life: float = 20.0, schema: Schema | None = None
    ) -> None:
        self.label_memory = label_memory
        self.trend_half_life = trend_half_life
        self.schema = schema
        if label_memory != 0:
            check_count("label_memory", label_memory)
        check_number("trend_half_life", trend_half_life, above=True)
        self._memory = LabelMemory(label_memory)
        self._trends = Trends(trend_half_life)
        self._stores = stores(schema, self._memory.names)
        self._members = [store.learner for store in self._stores]
        self.experts_ = [name for store in self._stores for name in store.experts]
        if label_memory:
            self.experts_.append(REPEATING)
        self._sleep = Sleep(len(self._stores))
        group_of = [place for place, store in enumerate(self._stores) for _ in store.experts]
        group_of += [len(self._stores)] * bool(label_memory)
        self._mixture = ExpertMixture(len(self.experts_), SWITCHING, RATES, FINAL_SWITCHING, group_of)
        self._recalibration = Recalibration()
        self._panel = self._new_panel()
        self._known = len(self._labels)  # labels that hold samples or were declared: the first codes

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn_one(self, x: X, y: Any, w: float = 1.0) -> None:
        """Learn a sample: all of it, or nothing if any part is refused."""
        self.predict_learn_one(x, y, w)

    def learn_many(self, X: Native, y: Native = None, w: Native = None) -> None:
        """Learn many rows, as `learn_one` would in their order: all of them, or none if one is refused."""
        for sample in samples_of(self._members[0], X, y, w):
            self.learn_one(*sample)

    def predict_learn_one(self, x: X, y: Any, w: float = 1.0) -> dict[Any, float]:
        """Return the probabilities of a sample, then learn it."""
        views, y = self._views(x), canonical_label(y)
        if self._labels.find(y) < 0:
            self._make_room_for_label(views[FEATURES], y, w)
        answer: dict[Any, float] = self._experts().predict_learn(
            views, y, w, self._known, *self._memory.repetition()
        )
        if w > 0.0:
            label = self._labels.find(y)
            if label < self._known:
                self._fall_asleep_or_wake(self._panel.learn(label, w))
            else:
                self._known = label + 1
            self._trends.add(views[PAIRED])
            self._memory.add(y)
        return answer

    # -- predicting ---------------------------------------------------------------------------------------------------

    def predict_proba_one(self, x: X, **kwargs: Any) -> dict[Any, float]:
        """Return P(y | x) of each class; empty before any learning."""
        panel, views = self._experts(), self._views(x)
        answer: dict[Any, float] = panel.predict(views, self._known, *self._memory.repetition())
        return answer

    def predict_one(self, x: X, **kwargs: Any) -> Any:
        """Return the most probable class; of equal ones the first by name; None before any learning."""
        return most_probable(self.predict_proba_one(x))

    def predict_proba_many(self, X: Native) -> Any:
        """Return the probabilities of many rows, all after the last labels that were learned: a data frame for a data
        frame, a list of dicts for a list of dicts, `Probabilities` for `CodedColumns`.
        """
        labels = self._labels.values
        return probabilities_like(X, self._probabilities(X), dict(enumerate(labels[: self._known])))

    def predict_many(self, X: Native) -> Any:
        """Return the most probable class of many rows: a series for a data frame, a list for anything else."""
        return labels_like(X, self._probabilities(X), self._labels.values)

    def _probabilities(self, X: Native) -> NDArray[np.float64]:
        """Return the probabilities of many rows, a column for each label's code."""
        values = np.zeros((row_count(X), max(len(self._labels), 1)))
        for place, x in enumerate(rows_of(X)):
            values[place, : self._known] = list(self.predict_proba_one(x).values())
        return values

    def explain_one(self, x: X) -> dict[str, Opinion]:
        """Return each expert's weight and probabilities, the weightiest first; empty before any learning.

        The weight is the expert's share in the answer: what all mixers together give it, without signs. Experts that
        sleep are left out (`asleep_`).
        """
        if not self.predict_proba_one(x):
            return {}
        labels = self.classes_
        given = np.asarray(self._panel.given)[:, : self._known].tolist()
        shares = self._shares()
        asleep = set(self.asleep_)
        ranked = sorted(range(len(shares)), key=lambda place: -shares[place])
        return {
            self.experts_[place]: Opinion(shares[place], dict(zip(labels, given[place], strict=True)))
            for place in ranked
            if self.experts_[place] not in asleep
        }

    def hold(self, x: X) -> X:
        """Return an event with the last labels and departures as they are now, to be learned when its label comes.

        What is learned is then what was predicted, whatever labels have come in between.

        Examples
        --------
        >>> model = AdaptiveBayes(label_memory=1)
        >>> model.learn_one({"sky": "grey"}, "rain")
        >>> model.hold({"sky": "blue"})
        {'sky': 'blue', '(last label 1)': 'rain'}
        """
        if not self.label_memory or self._is_held(x):
            return x
        departures = self._trends.departures(paired_part(x, self._experts().encoding.paired))
        return {**x, **departures, **self._memory.features()}

    def _is_held(self, x: X) -> bool:
        if type(x) is not dict and not isinstance(x, Mapping):
            raise no_features(x)
        return bool(self.label_memory) and self._memory.names[0] in x

    def features_of(self, x: X) -> X:
        """Return the features of an event that may be held, without what `hold` added."""
        if not self._is_held(x):
            return x
        added = set(self._memory.names)
        return {
            name: value
            for name, value in x.items()
            if name not in added and not (isinstance(name, str) and name.startswith(TREND))
        }

    def _views(self, x: X) -> dict[str, X]:
        """Return what each kind of store is shown of an event."""
        plain = self.features_of(x)
        paired = paired_part(plain, self._experts().encoding.paired)
        if not self.label_memory:
            return {FEATURES: plain, PAIRED: paired}
        if plain is x:
            labels, departures = self._memory.features(), self._trends.departures(paired)
        else:
            labels = {name: x[name] for name in self._memory.names}
            names = {
                name: trend_name(name) if is_number(value) else name
                for name, value in paired.items()
                if not is_missing(value)
            }
            departures = {name: x[name] for name in names.values() if name in x}
        return {
            FEATURES: plain,
            PAIRED: paired,
            LABELS: {**paired, **labels},
            TRENDS: {**departures, **labels},
        }

    def _experts(self) -> Panel:
        """Return the panel of the present members, which loading a state replaces."""
        if self._panel.members is not self._members:
            self._panel = self._new_panel()
        return self._panel

    def _new_panel(self) -> Panel:
        encoding = SharedEncoding(self._stores, self._members, self._memory.names)
        return Panel(encoding, self._mixture, self._recalibration, bool(self.label_memory))

    def _make_room_for_label(self, x: X, y: Any, w: float) -> None:
        """Begin stores anew that have no room for a new label, which then take fewer features."""
        lead = self._store.encoder
        row = lead.encode(x, y, w)  # raises what is refused, before anything has changed
        lead.rollback()
        shown = dict.fromkeys(self._memory.names, value_of(y))
        full = [
            place
            for place, (member, store) in enumerate(zip(self._members, self._stores, strict=True))
            if member._store.memory_budget is not None
            and not member._store.fits_with(shown if store.inputs in (LABELS, TRENDS) else {}, y, STORE_BYTES)
        ]
        if not full or row.weight == 0.0:
            return
        fresh = stores(self.schema, self._memory.names)
        members = list(self._members)
        for place in full:
            members[place] = fresh[place].learner
            begun = members[place]._store
            for label in self._labels.values[len(begun.encoder.labels) :]:
                begun.encoder.name_label(label)
            begun.make_room()
            begun.advance(self.clock)
        self._members = members

    def _fall_asleep_or_wake(self, loss: float) -> None:
        """Let stores that have lost for long sleep, and wake them when the answers get worse."""
        for place in self._sleep.add(loss, self._mixture):
            reading = self._members[place]._reading
            if reading.tables.clock >= reading.due:
                reading.derive()

    # -- what it holds ------------------------------------------------------------------------------------------------

    @property
    def _labels(self) -> Vocabulary:
        """The codes of the labels, which are the same in all stores."""
        return self._store.encoder.labels

    @property
    def members(self) -> Sequence[BayesClassifier]:
        """The learners of the stores, in the order of their experts; the first uses all features."""
        return self._members

    @property
    def _store(self) -> CountStore:
        """The store that has all features and labels."""
        return self._members[0]._store

    @property
    def left_out_(self) -> tuple[Any, ...]:
        """The features that some experts do not see, as they came after the first 100, or did not fit."""
        stores = zip(self._members, self._stores, strict=True)
        known = [m._store.encoder.features for m, store in stores if store.inputs == PAIRED]
        return tuple(
            name for name in self._store.encoder.features if not all(name in features for features in known)
        )

    @property
    def asleep_(self) -> tuple[str, ...]:
        """The experts that sleep at present: they learn, but have no part in the answers."""
        asleep = self._mixture.is_asleep
        groups = np.asarray(self._mixture.group_of).tolist()
        return tuple(name for name, group in zip(self.experts_, groups, strict=True) if asleep[group])

    @property
    def weights_(self) -> dict[str, float]:
        """Each expert's share in the answers, the greatest first."""
        shares = zip(self.experts_, self._shares(), strict=True)
        return dict(sorted(shares, key=lambda pair: -pair[1]))

    def _shares(self) -> list[float]:
        is_asleep = np.asarray(self._mixture.is_asleep, bool)[np.asarray(self._mixture.group_of)]
        weights = np.where(is_asleep, 0.0, np.abs(np.asarray(self._mixture.weights)))
        final = np.asarray(self._mixture.final_weights)
        shares: list[float] = (final @ (weights / weights.sum(axis=1, keepdims=True))).tolist()
        return shares

    @property
    def clock(self) -> int:
        """The number of events that were learned."""
        return self._members[0].clock

    @property
    def classes_(self) -> tuple[Any, ...]:
        """The classes that hold samples or were declared, in the order in which they first came."""
        return tuple(self._labels.values[: self._known])

    @property
    def memory_bytes(self) -> int:
        """The bytes of all stores' tables and codes; the names themselves are not counted."""
        return sum(member.memory_bytes for member in self._members)

    def merge(self, other: object) -> Never:
        """Raise `CannotMerge`: the weights of the experts depend on the order of events."""
        raise CannotMerge(
            "AdaptiveBayes cannot be merged: the weights of its experts depend on the order of events; "
            "merge learners of one reading, such as AODE"
        )

    @property
    def _multiclass(self) -> bool:
        return True
