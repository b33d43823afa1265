"""A Markov chain over the values of one feature, of any order, with a sequence for each key."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

from stream_bayes.core.counts.contexts import START, Context, ContextCounts
from stream_bayes.core.readings.chain import ChainReading
from stream_bayes.core.values._weights import read_weight
from stream_bayes.core.values.checks import expect
from stream_bayes.core.values.unknown_names import no_value_of
from stream_bayes.core.values.values import OTHER, canonical, is_missing, shown, tagged, untagged
from stream_bayes.data.frames import Native
from stream_bayes.errors import BadValue, BadWeight
from stream_bayes.learners.base.absent_variables import AbsentVariables
from stream_bayes.learners.base.arguments import check_count, check_name, check_number
from stream_bayes.learners.base.state import CountLearner
from stream_bayes.learners.sequences.keyed_sequences import KeyedSequences, name_in, timed_events
from stream_bayes.learners.sequences.sequence_learner import SequenceLearner

__all__ = ["MarkovChain"]

X = Mapping[Any, Any]
LONGEST_GAP = 100  # missing values in a row, after which what came before them is forgotten


class RecentValues(NamedTuple):
    """The newest values of a sequence, at most `order`, and the number of missing values since."""

    context: Context
    gap: int

    def then(self, value: Any, order: int) -> RecentValues:
        """Return what is recent after one more value; None is missing."""
        if value is None:
            is_bridged = self.context and self.gap < LONGEST_GAP
            return RecentValues(self.context, self.gap + 1) if is_bridged else PAST_UNKNOWN
        return RecentValues((*self.known_context, value)[-order:], 0)

    @property
    def known_context(self) -> Context:
        """The values right before the next one: none after a gap."""
        return () if self.gap else self.context


AT_THE_START = RecentValues((START,), 0)
PAST_UNKNOWN = RecentValues((), 0)


class MarkovChain(CountLearner, SequenceLearner):
    """A Markov chain of order n over the values of one feature: P(next value | the n values before it).

    Parameters
    ----------
    variable
        The feature whose values follow one another. Other features of an event are ignored.
    order
        The number of values that the next one depends on.
    key
        The feature that names the sequence of an event, such as `"user"`; None: all events are one sequence.
    strength
        The weight, in events, of what a context borrows from the next shorter one, and the empty one from the uniform
        distribution. 0 is maximum likelihood.
    values
        Values that may come, whether they do or not. Others become known as they come.
    pause
        The time without events after which a sequence starts anew, in seconds or as `"30min"`; each event then needs
        its time, `at`. None: only `reset` ends a sequence.
    step
        The time from an event of a sequence to the next, as `pause`, if they come at regular times: an event that comes
        later has missing ones before it, which `missed_events` counts. After more than 100 the sequence starts anew.
    max_values
        The number of values after which new ones share one, `<other>`; such chains do not merge. Default: no limit.
    max_sequences
        The number of sequences whose newest values are remembered. The one that has not moved for longest starts anew
        with its next event; `dropped_sequences` counts them.

    Notes
    -----
    Promises: counts are whole numbers, exact in any order of sequences, merged or not, and an unlearned event leaves no
    trace. With c' the context c without its oldest value, n and N counts, s the strength, V the number of values:

        P(v | c) = (n(c, v) + s P(v | c')) / (N(c) + s)        P(v) = (n(v) + s / V) / (N + s)

    The start of a sequence is a value of its own in contexts. A missing value is a gap: what follows is predicted over
    all that may have been there, and the first value after it is counted without a past. After 100 missing values in a
    row the past is forgotten.

    Memory: a cell for each value that followed each context, for all orders up to n; and for each key the newest n
    values. `predict_proba_one` takes time in the number of values times the order; a forecast of k steps in k times the
    contexts times the values, and is refused beyond 2**24 of these.

    Examples
    --------
    >>> from stream_bayes import MarkovChain
    >>> model = MarkovChain("page", key="user", strength=0)
    >>> for page in ["home", "cart", "paid", "home", "help", "home", "cart"]:
    ...     for user in ["ann", "bob"]:
    ...         model.learn_one({"user": user, "page": page})
    >>> model.reset("ann")
    >>> model.predict_proba_one({"user": "ann"})
    {'cart': 0.0, 'help': 0.0, 'home': 1.0, 'paid': 0.0}
    >>> model.learn_one({"user": "ann", "page": "home"})
    >>> {page: round(p, 3) for page, p in model.forecast_one(2, {"user": "ann"}).items()}
    {'cart': 0.0, 'help': 0.0, 'home': 0.333, 'paid': 0.667}
    >>> model.most_probable_path(2, {"user": "ann"})
    (['cart', 'paid'], -0.405...)
    """

    store: ContextCounts

    def __init__(
        self,
        variable: Any,
        order: int = 1,
        key: Any = None,
        strength: float = 1.0,
        values: Sequence[Any] | None = None,
        pause: float | str | None = None,
        step: float | str | None = None,
        max_values: int | None = None,
        max_sequences: int = 100_000,
    ) -> None:
        self.variable = variable
        self.order = order
        self.key = key
        self.strength = strength
        self.values = values
        self.pause = pause
        self.step = step
        self.max_values = max_values
        self.max_sequences = max_sequences
        if variable is None:
            raise BadValue(
                "variable must be the name of the feature whose values follow one another, not None"
            )
        check_name("variable", variable)
        check_count("order", order)
        check_number("strength", strength)
        if max_values is not None:
            check_count("max_values", max_values)
        if key is not None and key == variable:
            raise BadValue(
                f"key and variable are both {shown(key)}: an event's sequence and its value differ"
            )
        self.store = ContextCounts(order, _declared(values), max_values)
        self.reading = ChainReading(self.store, float(strength))
        self._absent = AbsentVariables([variable])
        self.sequences: KeyedSequences[RecentValues] = self._no_sequences()

    def _no_sequences(self) -> KeyedSequences[RecentValues]:
        return KeyedSequences(self.key, self.pause, self.step, self.max_sequences, lambda: AT_THE_START)

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn_one(self, x: X, w: float = 1.0, at: float | None = None) -> None:
        """Learn the next event of a sequence: all of it, or nothing if any part is refused.

        Parameters
        ----------
        x
            The event. If it lacks the variable, or it is None or NaN, the sequence has a gap there.
        w
            The weight, a whole number; 2 counts the event twice, and moves its sequence by one.
        at
            The time of the event in seconds since 1970, which `pause` and `step` need.
        """
        name, value, moment = self._read(x, at)
        weight = _whole(w)
        recent = self._before(self.sequences, name, moment)
        if value is not None:
            value = self.store.read(value)
            self.store.add(recent.known_context, value, weight)
        self.sequences.remember(name, recent.then(value, self.order), moment)
        self._absent.look(x)

    def learn_many(self, X: Native, at: Iterable[float] | None = None) -> None:
        """Learn many events in their order, dicts or the rows of a data frame: all, or none if one is refused."""
        events = timed_events(X, at)
        for x, time in events:
            self._read(x, time)
        for x, time in events:
            self.learn_one(x, at=time)

    def unlearn_one(self, x: X, after: Sequence[Any] = (), w: float = 1.0) -> None:
        """Unlearn an event. What is remembered of its sequence stays.

        Parameters
        ----------
        x
            The event.
        after
            The values before it in its sequence, the newest last, None for a missing one: at least `order` of them, or
            all if there were fewer.
        w
            The weight it was learned with.

        Raises
        ------
        BadValue
            If no such event was learned; nothing changes.
        """
        unlearned = name_in(x, self.variable)
        weight = _whole(w)
        recent = AT_THE_START if len(after) < self.order else PAST_UNKNOWN
        for earlier in after:
            value = None if is_missing(earlier) else canonical(earlier, feature=self.variable)
            recent = recent.then(None if value is None else self.store.read(value), self.order)
        if unlearned is not None:
            self.store.subtract(recent.known_context, self.store.read(unlearned), weight)

    def unlearn_many(self, X: Native, at: Iterable[float] | None = None) -> None:
        """Unlearn whole sequences, in the order in which their events were learned: all of them, or nothing."""
        replayed = self._no_sequences()
        undone: list[tuple[Context, Any]] = []
        try:
            for x, time in timed_events(X, at):
                name, value, moment = self._read(x, time)
                recent = self._before(replayed, name, moment)
                if value is not None:
                    value = self.store.read(value)
                    self.store.subtract(recent.known_context, value, 1)
                    undone.append((recent.known_context, value))
                replayed.remember(name, recent.then(value, self.order), moment)
        except BaseException:
            for context, value in undone:
                self.store.add(context, value, 1)
            raise

    def reset(self, *keys: Any) -> None:
        """End the sequences of these keys, so that their next events start anew; without keys, all sequences."""
        self.sequences.reset(*keys)

    def merge(self, other: Self) -> Self:
        """Add the counts of another chain of the same arguments, which stays unchanged.

        A sequence that both remember goes on from where it moved last by time, and without times from here.
        """
        super().merge(other)
        if other is not self:
            self.sequences.join(other.sequences)
        return self

    def _read(self, x: X, at: float | None) -> tuple[Any, Any, int | None]:
        name = self.sequences.name_of(x)
        return name, name_in(x, self.variable), self.sequences.moment(at)

    # -- answers ------------------------------------------------------------------------------------------------------

    def predict_proba_one(self, x: X | None = None, at: float | None = None) -> dict[Any, float]:
        """Return the probability of each value of the next event in a sequence; empty before any value is known.

        Parameters
        ----------
        x
            An event that names the sequence; its value is not used. Not needed without a key.
        at
            The time of the next event, which `pause` and `step` need.
        """
        return self._forecast(1, x, at)

    def predict_one(self, x: X | None = None, at: float | None = None) -> Any:
        """Return the most probable value of the next event; None before any value is known."""
        shares = self.predict_proba_one(x, at)
        return max(shares, key=shares.__getitem__) if shares else None

    def forecast_one(self, k: int, x: X | None = None, at: float | None = None) -> dict[Any, float]:
        """Return the probability of each value of the k-th event from now; for the arguments see `predict_proba_one`.

        Raises
        ------
        BudgetExceeded
            If k is above 1, or the newest values are missing, and contexts times values are more than 2**24.
        NoValueKnown
            If no value is known.
        """
        check_count("k", k)
        self._check_known()
        return self._forecast(k, x, at)

    def _forecast(self, k: int, x: X | None, at: float | None) -> dict[Any, float]:
        recent = self._recent(x, at)
        return self.reading.forecast(recent.context, recent.gap + k)

    def most_probable_path(
        self, k: int, x: X | None = None, at: float | None = None
    ) -> tuple[list[Any], float]:
        """Return the most probable values of the next k events together, and the logarithm of their probability.

        After missing values the path covers these, too, and begins with them. Raises `NoValueKnown` before any.
        """
        check_count("k", k)
        self._check_known()
        recent = self._recent(x, at)
        return self.reading.path(recent.context, recent.gap + k)

    def log_likelihood_one(self, x: X, at: float | None = None) -> float:
        """Return the logarithm of the probability of an event's value in its sequence; 0.0 if it is missing.

        A value that was never learned or declared counts with the share of values held once, at least half a one, among
        all events.
        """
        return self.log_likelihood_and_novel(x, at)[0]

    def log_likelihood_and_novel(self, x: X, at: float | None = None) -> tuple[float, Sequence[Any]]:
        """Return the log-likelihood of an event, and the variable if its value was never learned."""
        value = name_in(x, self.variable)
        if value is None:
            return 0.0, ()
        value = self.store.read(value)
        share = self.predict_proba_one(x, at).get(value)
        is_novel = share is None
        if share is None:
            once = sum(count == 1 for count in self.store.tables.get((), {}).values())
            share = min(1.0, max(once, 0.5) / self.clock) if self.clock else 1.0
        return math.log(share) if share > 0.0 else -math.inf, (self.variable,) if is_novel else ()

    def _check_known(self) -> None:
        if not self.store.values:
            raise no_value_of([self.variable])

    def _recent(self, x: X | None, at: float | None) -> RecentValues:
        return self._before(self.sequences, self.sequences.name_of(x), self.sequences.moment(at))

    def _before(self, sequences: KeyedSequences[RecentValues], name: Any, moment: int | None) -> RecentValues:
        """Return what is recent of a sequence before an event at a time, with the events that are missing by `step`."""
        recent = sequences.memory(name, moment)
        for _ in range(sequences.missed_before(name, moment)):
            recent = recent.then(None, self.order)
        return recent

    @property
    def clock(self) -> int:
        """The number of events that are counted."""
        return self.store.events

    def transitions(self) -> dict[tuple[Any, ...], dict[Any, int]]:
        """Return the counts: for each context of the full order, or from a start (None), those of the values after it.

        Examples
        --------
        >>> model = MarkovChain("sky")
        >>> model.learn_many([{"sky": "blue"}, {"sky": "grey"}, {"sky": "blue"}])
        >>> model.transitions()
        {(None,): {'blue': 1}, ('blue',): {'grey': 1}, ('grey',): {'blue': 1}}
        """
        return {
            context: dict(table)
            for context, table in self.store.tables.items()
            if len(context) == self.order or context[:1] == (START,)
        }

    # -- keeping ------------------------------------------------------------------------------------------------------

    def derived_state(self) -> dict[str, Any]:
        return self.sequences.state(_saved)

    def load_derived(self, derived: Mapping[str, Any]) -> None:
        def loaded(saved: Any) -> RecentValues:
            names, gap = saved
            expect(type(gap) is int and 0 <= gap <= LONGEST_GAP, "a sequence has no gap of that length")
            context = tuple(map(_loaded_value, names))
            fits = len(context) <= self.order and START not in context[1:]
            expect(fits, "a sequence remembers other values than its newest ones")
            return RecentValues(context, gap)

        self.sequences.load(derived, loaded)


def _declared(values: Sequence[Any] | None) -> tuple[Any, ...]:
    if values is None:
        return ()
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence) or not values:
        raise BadValue(f"values must be a list of values that may come, or None, not {shown(values)}")
    declared = tuple(canonical(value) for value in values)
    if len(set(declared)) < len(declared):
        raise BadValue(f"values names one twice: {shown(values)}")
    return declared


def _whole(w: Any) -> int:
    weight = read_weight(w)
    if weight % 1.0:
        raise BadWeight(f"a chain counts whole events: expected a whole number as weight, got {w!r}")
    return int(weight)


def _saved(recent: RecentValues) -> Any:
    return [
        [None if v is START else {"other": True} if v is OTHER else tagged(v) for v in recent.context],
        recent.gap,
    ]


def _loaded_value(saved: Any) -> Any:
    return START if saved is None else OTHER if saved == {"other": True} else untagged(saved)
