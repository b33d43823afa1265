"""The learner that needs no choice: readings, rates of forgetting, bins and inputs, mixed by how well they predict."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Never

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
from stream_bayes.errors import BadValue, BudgetExceeded, CannotMerge, NotSupported, UnknownFeature
from stream_bayes.learners.adaptive._encoding import SharedEncoding
from stream_bayes.learners.adaptive._event_loop import FIRST_CHOICE, SHIFTED, EventLoop
from stream_bayes.learners.adaptive._expert_panel import Panel
from stream_bayes.learners.adaptive._newest_events import MOST_EVENTS, NewestEvents
from stream_bayes.learners.adaptive._translation import ShownPairs
from stream_bayes.learners.adaptive.expert_inputs import (
    TREND,
    LabelMemory,
    Trends,
    trend_name,
    value_of,
)
from stream_bayes.learners.adaptive.experts import (
    DEPARTURES,
    FEATURES,
    LABELS,
    MOST_PAIRED,
    PAIRED,
    TRENDS,
    confine,
    paired_part,
    stores,
)
from stream_bayes.learners.adaptive.information import information_about_labels
from stream_bayes.learners.adaptive.mixture_explanation import MixtureExplanation, Opinion
from stream_bayes.learners.adaptive.moved_numbers import moved_numbers
from stream_bayes.learners.adaptive.sleeping_experts import Sleep
from stream_bayes.learners.base.arguments import ReadOnlyArguments, check_count, check_number
from stream_bayes.learners.base.base import BayesClassifier, X
from stream_bayes.learners.base.batches import row_count
from stream_bayes.learners.base.class_probabilities import labels_like, most_probable, probabilities_like
from stream_bayes.learners.base.credible_intervals import Intervals, ends_of
from stream_bayes.learners.base.draws import HasNoDraws
from stream_bayes.learners.base.explanation import explained_by_steps
from stream_bayes.learners.base.samples import intervals_of_rows, rows_of, samples_of
from stream_bayes.learners.base.traits import Traits

__all__ = ["AdaptiveBayes"]

SWITCHING = (0.001, 0.01)
RATES = (0.002, 0.01, 0.04)
WALKS = (1e-6, 1e-5)
FINAL_SWITCHING = 0.002
REPEATING = "last label again"
MOVED = (TRENDS, DEPARTURES)  # what stores are shown that see numbers as departures
HELD = {TREND: True}  # in an event that holds departures and no labels
LEAST_BYTES = 2**20
MOST_LABELS = 1000  # in the memory; a slip or a forged state must not allocate names beyond any memory
ENOUGH = 0.95  # of the information of the best features: a store that has it keeps its own
BEFORE_ALARM = 10  # events of the shift that came before the alarm
MOST_NAMED = 10_000  # features left out that `left_out_` names
BLOCK = 1_000  # rows of a batch that are dicts at a time


class AdaptiveBayes(ReadOnlyArguments, HasNoDraws, base.Classifier):
    """The learner to use when you do not know which: some twenty experts, mixed by how well they predict.

    The experts are naive Bayes, TAN, KDB, AODE and LDA, over all events or the newest, numbers in coarse and fine bins
    or as Gaussians; logistic regressions, plain and on waves, and the nearest of the newest events. Some use numbers
    relative to their recent mean, some also the last labels; one repeats the last label. Each event is predicted by all
    before it is learned.

    Parameters
    ----------
    label_memory
        The number of last labels that some experts see; 0: none does, and no expert repeats the last label. Leave
        them out where labels come much later than their samples, or the order of events means nothing.
    trend_half_life
        The half-life, in events, of the mean that a number is compared with.
    schema
        The features and classes, as in `NaiveBayes`.
    memory_budget
        The bytes of all tables together, at least 2**20.

    Notes
    -----
    The answer is a mixture of mixtures of the experts (`ExpertMixture` states the bound of its regret): over T events
    it loses at most some (s + 1) ln(20) + s ln(1,000) + T / 300 nats more than the best sequence of experts with s
    switches.
    Mixing logarithms is mostly far better than every single expert. What the mixture gives is then calibrated by how
    often such probabilities came true, as far as that helps (`Recalibration`).

    Stores that have not helped for long sleep: they count events and predict none. They wake for a trial after 1,000
    events, or 2,000, 4,000, ... if they still do not help, and at once when the loss rises (`asleep_`).

    Promises: the same events from the same state give the same answers. It cannot unlearn, or be merged: its weights
    depend on the order of events.

    Time and memory are bounded, whatever comes, and no stream ends for lack of room: each store has its part of
    `memory_budget`. Where all do not fit it begins anew with the features that tell most about the label, from the
    newest 1,000 events. Pairs are counted of the best 32 features, which are chosen again after 64 events, 256, 1,024,
    ... Of a feature's names in pairs the first 64 have a code each, and all others share one. `left_out_` names the
    features that some experts do not see.

    Examples
    --------
    >>> model = AdaptiveBayes()
    >>> for number in range(100):
    ...     model.learn_one({"light": "on" if number % 3 else "off"}, "day" if number % 3 else "night")
    >>> model.predict_one({"light": "off"})
    'night'
    """

    def __init__(
        self,
        label_memory: int = 2,
        trend_half_life: float = 20.0,
        schema: Schema | None = None,
        memory_budget: int = 2**25,
    ) -> None:
        self.label_memory = label_memory
        self.trend_half_life = trend_half_life
        self.schema = schema
        self.memory_budget = memory_budget
        check_count("memory_budget", memory_budget)
        if memory_budget < LEAST_BYTES:
            raise BadValue(f"memory_budget must be at least 2**20 bytes, not {memory_budget}")
        if label_memory != 0:
            check_count("label_memory", label_memory)
            if label_memory > MOST_LABELS:
                raise BadValue(
                    f"label_memory: at most {MOST_LABELS:,} labels, as each is a feature of every event, not "
                    f"{label_memory:,}"
                )
        check_number("trend_half_life", trend_half_life, above=True)
        self._memory = LabelMemory(label_memory)
        self._trends = Trends(trend_half_life)
        self._stores = stores(schema, self._memory.names, memory_budget)
        self._newest = NewestEvents()
        self._names: list[list[Any] | None] = []  # that each store uses; None: all that it is shown
        self._paired: dict[Any, None] = {}  # the features of the pairs
        self._best: list[Any] = []  # the features by falling information, when they were last chosen
        self._due: list[int] = []  # stores that are to begin anew with the best features, one at each event
        self._moved: list[
            int
        ] = []  # stores that are to begin anew, as numbers have left their bins, one at each event
        self._dropped: dict[Any, None] = {}  # features that no expert sees
        self._members: list[BayesClassifier] = []
        self._begin()
        self.experts_ = [name for store in self._stores for name in store.experts]
        if label_memory:
            self.experts_.append(REPEATING)
        self._sleep = Sleep(len(self._stores))
        group_of = [number for number, store in enumerate(self._stores) for _ in store.experts]
        group_of += [len(self._stores)] * bool(label_memory)
        self._mixture = ExpertMixture(len(self.experts_), SWITCHING, RATES, FINAL_SWITCHING, group_of, WALKS)
        self._recalibration = Recalibration()
        self._panel = self._new_panel()
        self._known = len(self._labels)  # labels that hold samples or were declared: the first codes

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn_one(self, x: X, y: Any, w: float = 1.0) -> None:
        """Learn a sample: all of it, or nothing if any part is refused."""
        self.predict_learn_one(x, y, w)

    def learn_many(self, X: Native, y: Native = None, w: Native = None) -> None:
        """Learn many rows, as `learn_one` would in their order: all of them, or none if one is refused."""
        samples = iter(samples_of(self._members[0], X, y, w))
        if isinstance(X, (list, tuple)) or self._memory.mark in getattr(X, "columns", ()):
            for x in rows_of(X):
                if self._memory.mark in x:
                    self._views(
                        x
                    )  # raises for an event that was held and lacks labels, which the first store takes
        while block := list(islice(samples, BLOCK)):
            self._learn_block(block)

    def _learn_block(self, samples: list[tuple[X, Any, float]]) -> None:
        index = 0
        while index < len(samples):
            self._experts()
            if not self._due and not self._moved and self._names[0] is None:
                index = self._loop.learn(samples, index, self._known)
                if self._loop.is_due:
                    self._adapt()
                    continue
            if index < len(samples):
                self.predict_learn_one(*samples[index])
                index += 1

    def predict_learn_one(self, x: X, y: Any, w: float = 1.0) -> dict[Any, float]:
        """Return the probabilities of a sample, then learn it."""
        panel, y = self._experts(), canonical_label(y)
        panel.recognise(x)
        views = None
        while True:
            try:
                rows = panel.encoding.encode_once(x, y, w) if views is None else None
                if rows is None:
                    views = views or self._views(x)
                    rows = panel.encoding.encode(views, y, w)
                break
            except BudgetExceeded:
                views = views or self._views(x)  # the stores before the full one know its names already
                self._give_up(panel.encoding.full)
                panel = self._experts()
        answer: dict[Any, float] = panel.predict_learn(rows, self._known, *self._memory.repetition())
        if w > 0.0:
            self._loop.note(y, w, self._known)
            if self._labels.find(y) >= self._known:
                self._known = self._labels.find(y) + 1
            if views is not None:
                self._trends.add(views[PAIRED], self.store.encoder.features)
                self._note_names(views[FEATURES], views[PAIRED])
            else:
                panel.encoding.add_numbers()
                if self._names[0] is not None:
                    self._note_names(x, {})
            if self._loop.is_due or self._due or self._moved:
                self._adapt()
        return answer

    def _adapt(self) -> None:
        """Let stores begin anew that other features suit better, or whose numbers have left their bins."""
        self._choose_features()
        self._follow_numbers()

    # -- predicting ---------------------------------------------------------------------------------------------------

    def predict_proba_one(self, x: X, **kwargs: Any) -> dict[Any, float]:
        """Return P(y | x) of each class; empty before any learning."""
        panel, rows = self._experts(), self._rows(x)
        answer: dict[Any, float] = panel.predict(rows, self._known, *self._memory.repetition())
        panel.keep(x, answer)
        return answer

    def predict_one(self, x: X, **kwargs: Any) -> Any:
        """Return the most probable class; of equal ones the first by name; None before any learning."""
        return most_probable(self.predict_proba_one(x))

    def predict_proba_many(self, X: Native) -> Any:
        """Return the probabilities of many rows, all after the last labels that were learned: a data frame for a data
        frame, a list of dicts for a list of dicts, `Probabilities` for `CodedColumns`.
        """
        labels = self._labels.values
        return probabilities_like(X, self.class_probabilities(X), dict(enumerate(labels[: self._known])))

    def predict_many(self, X: Native) -> Any:
        """Return the most probable class of many rows: a series for a data frame, a list for anything else."""
        return labels_like(X, self.class_probabilities(X), self._labels.values)

    def class_probabilities(self, X: Native) -> NDArray[np.float64]:
        """Return the probabilities of many rows, a column for each label's code."""
        values = np.zeros((row_count(X), max(len(self._labels), 1)))
        rows, first = iter(rows_of(X)), 0
        while block := list(islice(rows, BLOCK)):
            self._predict_block(block, values[first : first + len(block)])
            first += len(block)
        return values

    def _predict_block(self, events: list[X], values: NDArray[np.float64]) -> None:
        index = 0
        while index < len(events):
            self._experts()
            index = self._loop.predict(events, index, self._known, values)
            if index < len(events):
                values[index, : self._known] = list(self.predict_proba_one(events[index]).values())
                index += 1

    def predict_interval_one(self, x: X, level: float = 0.95) -> dict[Any, tuple[float, float]]:
        """Return the credible interval of each class's probability; empty before any learning.

        It holds the answer. What is uncertain are the tables of the experts; their weights and the correction are held.

        Parameters
        ----------
        x
            The features.
        level
            The probability of the interval.
        """
        tail, deviations = ends_of(level)
        panel, rows = self._experts(), self._rows(x)
        return panel.predict_intervals(rows, self._known, *self._memory.repetition(), tail, deviations)

    def predict_interval_many(self, X: Native, level: float = 0.95) -> Intervals:
        """Return the intervals of many rows: their lower and their upper ends, each as `predict_proba_many` answers."""
        return intervals_of_rows(self, X, level)

    def explain_one(self, x: X) -> MixtureExplanation:
        """Return what each feature adds to log P(y | x), and what each expert answers.

        The baseline is the answer without any feature, by the labels before.

        Examples
        --------
        >>> model = AdaptiveBayes()
        >>> for number in range(100):
        ...     model.learn_one({"light": "on" if number % 3 else "off"}, "day" if number % 3 else "night")
        >>> why = model.explain_one({"light": "off"})
        >>> first, second, [(feature, nats)] = why.contrast()
        >>> first, second, feature, nats > 0
        ('night', 'day', 'light', True)
        >>> list(why.experts)[0] in model.experts_
        True
        """
        if not self.predict_proba_one(x):
            return MixtureExplanation("step-by-step", {}, {name: {} for name in x}, {}, {})
        labels = self.classes_
        opinions = np.asarray(self._panel.opinions)[:, : self._known].tolist()
        shares = self._shares()
        asleep = set(self.asleep_)
        ranked = sorted(range(len(shares)), key=lambda expert: -shares[expert])
        experts = {
            self.experts_[expert]: Opinion(shares[expert], dict(zip(labels, opinions[expert], strict=True)))
            for expert in ranked
            if self.experts_[expert] not in asleep
        }
        features = self.features_of(x)
        before = {name: value for name, value in x.items() if name not in features}  # that `hold` added

        def logarithms(part: dict[Any, Any]) -> dict[Any, float]:
            answer = self.predict_proba_one(part | before)
            return {label: math.log(share) if share > 0.0 else -math.inf for label, share in answer.items()}

        why = explained_by_steps(logarithms, features, logarithms(dict(features)))
        return MixtureExplanation(why.kind, why.baseline, why.evidence, why.joint, experts)

    def hold(self, x: X) -> X:
        """Return an event with the last labels and departures as they are now, to be learned when its label comes.

        Departures are the numbers relative to their recent means, in recent deviations.

        What is learned is then what was predicted, whatever labels have come in between.

        Examples
        --------
        >>> model = AdaptiveBayes(label_memory=1)
        >>> model.learn_one({"sky": "grey"}, "rain")
        >>> model.hold({"sky": "blue"})
        {'sky': 'blue', '(last label 1)': 'rain'}
        """
        if self._is_held(x):
            return x
        departures = self._trends.departures(
            paired_part(x, self._paired, self._is_closed), self.store.encoder.features
        )
        if not self.label_memory and departures.keys() <= x.keys():  # there is no number
            return x
        return {**x, **departures, **(self._memory.features() if self.label_memory else HELD)}

    def _is_held(self, x: X) -> bool:
        if type(x) is not dict and not isinstance(x, Mapping):
            raise no_features(x)
        if self._memory.mark not in x:
            return False
        for name in self._memory.names:
            if name not in x:
                raise BadValue(
                    f"a held event has the last {self.label_memory} labels, but {name!r} is missing: hold it with a "
                    "model of the same label_memory"
                )
        return True

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

    def _rows(self, x: X) -> list[Any]:
        """Return an event to be predicted as a row of each store."""
        encoding = self._experts().encoding
        rows: list[Any] | None = encoding.lookup_once(x)
        return encoding.lookup(self._views(x)) if rows is None else rows

    def _views(self, x: X) -> dict[str, X]:
        """Return what each kind of store is shown of an event."""
        plain = self.features_of(x)
        self._refuse_undeclared(plain)
        paired = paired_part(plain, self._paired, self._is_closed)
        if plain is x:
            labels = self._memory.features()
            departures = self._trends.departures(paired, self.store.encoder.features)
        else:
            labels = {name: x[name] for name in self._memory.names}
            moments, features = self._trends.moments, self.store.encoder.features
            names = {
                name: trend_name(name) if moments.is_measured(name, value, features) else name
                for name, value in paired.items()
                if not is_missing(value)
            }
            departures = {name: x[name] for name in names.values() if name in x}
        return self._shown(plain, paired, labels, departures)

    def _shown(self, plain: X, paired: X, labels: X, departures: X) -> dict[str, X]:
        return {
            FEATURES: plain,
            PAIRED: paired,
            LABELS: {**paired, **labels},
            TRENDS: {**departures, **labels},
            DEPARTURES: departures,
        }

    @property
    def _is_closed(self) -> bool:
        """True if the pairs take no features that have not come yet."""
        return self.schema is not None or len(self._paired) >= MOST_PAIRED

    def _refuse_undeclared(self, x: X) -> None:
        """Raise for a feature that is not declared, where the schema says so and the first store does not see all."""
        schema = self.schema
        if schema is None or schema.unknown != "refuse" or self._names[0] is None:
            return
        for name in x:
            if name not in schema.features:
                raise UnknownFeature(f"feature {name!r} is not declared in the schema")

    def _experts(self) -> Panel:
        """Return the panel of the present members, which loading a state replaces."""
        if self._panel.members is not self._members:
            self._panel = self._new_panel()
        return self._panel

    def _new_panel(self) -> Panel:
        schema = self.schema
        pairs = ShownPairs(self._paired, schema is not None, MOST_PAIRED)
        by_name = schema is not None and schema.unknown == "refuse" and self._names[0] is not None
        memory, moments = self._memory, self._trends.moments
        encoding = SharedEncoding(self._stores, self._members, memory, moments, pairs, by_name)
        panel = Panel(encoding, self._mixture, self._recalibration, bool(self.label_memory))
        self._loop = EventLoop(panel, self._memory, self._newest, self._sleep)
        return panel

    # -- room for the stores ------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Make the learners of the stores, with the declared features that have room."""
        declared = [] if self.schema is None else list(self.schema.features)
        self._paired = dict.fromkeys(declared[:MOST_PAIRED])
        for number, store in enumerate(self._stores):
            self._names.append(None)
            try:
                if store.inputs == FEATURES or len(declared) <= MOST_PAIRED:
                    self._members.append(store.learner(None))
                    continue
            except BudgetExceeded:
                pass
            self._members.append(self._begun(number, self._ranked(number, declared)))

    def _give_up(self, number: int) -> None:
        """Let a store that has no room give something up: its families, which it chooses anew, or a quarter of its
        features. Without any, it counts the labels whatever the budget.
        """
        counts, names = self._members[number].store, self._names[number]
        if counts.tables.families is not None:
            counts.tables.families = None
        elif names == []:
            counts.memory_budget = None
        else:
            ranked = self._ranked(number, list(information_about_labels(self.store)))
            if names is not None:
                ranked = [name for name in ranked if name in names]
            self._begin_anew(number, ranked[: len(ranked) * 3 // 4])
        self._panel = self._new_panel()

    def _ranked(self, number: int, features: Sequence[Any]) -> list[Any]:
        """Return what a store may use, the best first: the last labels, where it is shown them, and the features."""
        inputs = self._stores[number].inputs
        if inputs == FEATURES:
            return list(features)
        labels = self._memory.names if inputs in (LABELS, TRENDS) else []
        return [*labels, *features[:MOST_PAIRED]]

    def _begin_anew(self, number: int, ranked: Sequence[Any], events: int = MOST_EVENTS) -> None:
        """Replace a store by one that uses the first of these names that fit, filled from so many newest events."""
        before = self.store.encoder.features
        members = list(self._members)
        members[number] = self._begun(number, ranked, events)
        self._members = members
        for name in before:
            if name not in self.store.encoder.features:
                self._drop(name)

    def _begun(self, number: int, ranked: Sequence[Any], events: int = MOST_EVENTS) -> BayesClassifier:
        """Return a new learner of a store, with the first of these names that fit in three quarters of its room."""
        store, count = self._stores[number], len(ranked)
        newest = list(self._newest.samples(self.store.encoder, events, set(ranked))) if self._members else []
        while True:
            names = ranked[:count]
            shown = [name for feature in names for name in store.names_of(feature)]
            try:
                learner = store.learner(shown)
                self._fill(number, learner, names, store.memory * 3 // 4 if count else None, newest)
            except BudgetExceeded:
                if not count:
                    raise
                count = count * 3 // 4
                continue
            learner.store.memory_budget = store.memory if count else None
            self._names[number] = list(names)
            return learner

    def _fill(
        self,
        number: int,
        learner: BayesClassifier,
        names: Iterable[Any],
        budget: int | None,
        newest: Sequence[tuple[dict[Any, Any], Any, float]],
    ) -> None:
        """Give an empty learner the labels, these features and the newest events; raise `BudgetExceeded` if they do
        not fit.
        """
        counts, inputs = learner.store, self._stores[number].inputs
        counts.memory_budget = budget
        if not self._members:
            counts.make_room()
            return
        lead, encoder = self.store.encoder, counts.encoder
        for label in lead.labels.values[len(encoder.labels) :]:
            encoder.name_label(label)
        for name in names:
            feature = lead.features.get(name)
            if feature is None:  # a last label
                _name(encoder, name, [value_of(label) for label in lead.labels.values])
            elif feature.measured:
                encoder.name_feature(trend_name(name) if inputs in MOVED else name, True)
            else:
                _name(encoder, name, feature.vocabulary.values)
        counts.make_room()
        counts.advance(self.clock - len(newest))
        refilled = NewestEvents()
        used = dict.fromkeys(names)
        memory, trends = LabelMemory(self.label_memory), Trends(self.trend_half_life)
        for x, y, w in newest:
            features = {name: x[name] for name in used if name in x}
            if inputs in (LABELS, TRENDS, DEPARTURES):
                departures = trends.departures(features, lead.features)
                shown = self._shown(features, features, memory.features(), departures)[inputs]
                trends.add(features, lead.features)
                memory.add(y)
            else:
                shown = features
            row = counts.encode(shown, y, w)
            if learner.unlearns:
                counts.add(row)
            else:  # what it learns is more than counts
                learner.reading.learn(row)
            refilled.add(row)
        if number == 0:
            self._newest = refilled

    def _note_names(self, features: X, paired: X) -> None:
        """Note the features of a sample that are new among the pairs, or that no expert sees."""
        if not self._is_closed and not paired.keys() <= self._paired.keys():
            self._paired.update((name, None) for name, value in paired.items() if not is_missing(value))
        if self._names[0] is not None:
            shown = self.store.encoder.features
            for name, value in features.items():
                if name not in shown and not is_missing(value):
                    self._drop(name)

    def _drop(self, name: Any) -> None:
        if len(self._dropped) < MOST_NAMED:
            self._dropped.setdefault(name)

    def _choose_features(self) -> None:
        """Choose the features of stores that cannot use all, after 64 events, 256, ...; let one of those that others
        suit better begin anew.
        """
        clock = self.clock
        is_power = clock >= FIRST_CHOICE and not clock & (clock - 1)
        if is_power and clock.bit_length() % 2 == FIRST_CHOICE.bit_length() % 2:
            is_wide = len(self.store.encoder.features) > MOST_PAIRED
            if is_wide or any(names is not None for names in self._names):
                self._find_better(is_wide, information_about_labels(self.store))
        elif self._due:
            number = self._due.pop(0)
            ranked, names = self._ranked(number, self._best), self._names[number]
            self._begin_anew(number, ranked if names is None else ranked[: len(names)])  # as many as had room
            self._update_paired()

    def _follow_numbers(self) -> None:
        """Find the features whose numbers have left their bins, some events after the loss began to rise; if these are
        half of all, let the stores that count them begin anew, one at each event, from the events since.
        """
        alarm, since = self._sleep.alarm, self._sleep.clock - self._sleep.alarm
        if alarm and since == SHIFTED:
            binned = [number for number, store in enumerate(self._stores) if store.inputs != FEATURES]
            newest = [x for x, _, _ in self._newest.samples(self.store.encoder)]
            counts = self._members[binned[0]].store
            moved = moved_numbers(counts, newest, SHIFTED)
            measured = sum(feature.measured for feature in counts.encoder.features.values())
            if (
                moved and 2 * len(moved) >= measured
            ):  # for fewer it is better to keep what the others have told
                names = {name for feature in moved for name in (feature, trend_name(feature))}
                self._moved = [
                    number
                    for number in binned
                    if not names.isdisjoint(self._members[number].store.encoder.features)
                ]
        elif self._moved:
            number = self._moved.pop(0)
            names_before = self._names[number]
            used = names_before
            if used is None:
                used = self._ranked(number, list(self._paired))
            self._begin_anew(number, used, since + BEFORE_ALARM)
            if names_before is None and self._names[number] == used:
                self._names[number] = None
                confine(self._members[number], None)
                self._panel = self._new_panel()

    def _find_better(self, is_wide: bool, information: Mapping[Any, float]) -> None:
        """Let the stores begin anew, a quarter of whose features are not among the best, and which would forget events
        for it only where the best tell more about the label. The first store sees all that there are to choose among.
        """

        def told_by(names: Iterable[Any]) -> float:
            return sum(max(information.get(name, 0.0), 0.0) for name in names)

        self._best = list(information)
        for number, store in enumerate(self._stores):
            if is_wide and store.inputs != FEATURES and self._names[number] is None:
                self._names[number] = self._ranked(number, list(self._paired))
                shown = [name for feature in self._paired for name in store.names_of(feature)]
                confine(self._members[number], [*shown, *self._memory.names])
            names = self._names[number]
            if number and names is not None and number not in self._due:
                best = self._ranked(number, self._best)[: len(names)]
                are_others = 4 * len(set(best).difference(names)) > len(names)
                if are_others and (self.clock <= MOST_EVENTS or told_by(names) < ENOUGH * told_by(best)):
                    self._due.append(number)
        self._update_paired()
        self._panel = self._new_panel()

    def _update_paired(self) -> None:
        """Show the stores of pairs the features that any of them uses."""
        used = [
            names for names, store in zip(self._names, self._stores, strict=True) if store.inputs != FEATURES
        ]
        if None not in used:
            labels = set(self._memory.names)
            self._paired = {name: None for names in used for name in names or () if name not in labels}

    # -- what it holds ------------------------------------------------------------------------------------------------

    @property
    def _labels(self) -> Vocabulary:
        """The codes of the labels, which are the same in all stores."""
        return self.store.encoder.labels

    @property
    def members(self) -> Sequence[BayesClassifier]:
        """The learners of the stores, in the order of their experts; the first uses all features."""
        return self._members

    @property
    def store(self) -> CountStore:
        """The store that has all features and labels."""
        return self._members[0].store

    @property
    def left_out_(self) -> tuple[Any, ...]:
        """The features that some experts do not see, as they did not fit, or others tell more about the label; those
        that no expert sees come last, at most 10,000 of them.
        """
        stores = zip(self._members, self._stores, strict=True)
        used = [m.store.encoder.features for m, store in stores if store.inputs in (FEATURES, PAIRED)]
        first = [
            name for name in self.store.encoder.features if not all(name in features for features in used)
        ]
        return (*first, *self._dropped)

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
        return (final @ (weights / weights.sum(axis=1, keepdims=True))).tolist()

    @property
    def traits(self) -> Traits:
        """The abilities of this learner, which follow from its class and its arguments."""
        return Traits(
            is_order_dependent=True,
            is_mergeable=False,
            accepts_numbers=True,
            learns_cut_points=True,
            accepts_new_features=self.schema is None,
        )

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

    def add_prior(self, other: object, weight: float) -> Never:
        """Raise `NotSupported`: the weights of the experts depend on the order of events."""
        raise NotSupported(
            "AdaptiveBayes takes no prior from another learner: the weights of its experts depend on the order of "
            "events; learners of one reading do, such as NaiveBayes"
        )

    @property
    def _multiclass(self) -> bool:
        return True


def _name(encoder: Any, name: Any, values: Sequence[Any]) -> None:
    """Give codes to a nominal feature and to as many of its values as may have one."""
    vocabulary = encoder.name_feature(name, False).vocabulary
    before = len(vocabulary)
    for value in values[: vocabulary.limit]:
        vocabulary.name(value)
    encoder.created += [vocabulary] * (len(vocabulary) - before)
