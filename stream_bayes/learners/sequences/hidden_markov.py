"""A hidden Markov model over names and numbers, learned one event at a time, with a sequence for each key."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stream_bayes.core.live_networks.hidden_chain import HiddenChain, HiddenWindow
from stream_bayes.core.live_networks.hidden_emissions import NameEmission, Seen
from stream_bayes.core.values.checks import expect
from stream_bayes.core.values.inputs import no_features
from stream_bayes.core.values.values import Value, shown
from stream_bayes.data.frames import Native
from stream_bayes.errors import BadValue, UnknownFeature
from stream_bayes.learners.base.absent_variables import AbsentVariables
from stream_bayes.learners.base.arguments import check_count
from stream_bayes.learners.sequences.hidden_model import HiddenModel, interval_of, mean_or_name
from stream_bayes.learners.sequences.keyed_sequences import KeyedSequences, check_key, timed_events
from stream_bayes.learners.sequences.sequence_learner import SequenceLearner
from stream_bayes.learners.sequences.shown_values import (
    loaded_windows,
    names_of,
    read_states,
    saved_windows,
    value_in,
)

__all__ = ["HiddenMarkov"]

X = Mapping[Any, Any]


class HiddenMarkov(HiddenModel, SequenceLearner):
    """A hidden Markov model: states that nobody sees follow one another, and each shows names and numbers.

    Parameters
    ----------
    variables
        The features that a state shows: a name, or a list of names, which are independent given the state. Other
        features of an event are ignored. The first value of a feature decides its kind: a float is a number, anything
        else a name, whole numbers included.
    states
        The number of hidden states; or several numbers, `[2, 3, 4]`, each with a model of its own that learns all
        events: the smallest number that predicts as well as any answers. `"learn"` is 1 to 6.
    key
        The feature that names the sequence of an event, such as `"machine"`; None: all events are one sequence.
    lag
        An event's states are counted when at least that many events of its sequence have followed.
    restarts
        The number of models with different random priors that learn side by side. The one that predicted best answers.
    half_life
        The number of events after which one weighs at most half. None: a third of all events count, the newer ones
        more.
    pause
        The time without events after which a sequence starts anew, in seconds or as `"30min"`; each event then needs
        its time, `at`. None: only `reset` ends a sequence.
    step
        The time from an event of a sequence to the next, as `pause`, if they come at regular times: an event that comes
        later has missing ones before it, which `missed_events` counts. After more than 100 the sequence starts anew.
    max_values
        The number of values of a feature after which new ones share one. Default: no limit.
    max_sequences
        The number of sequences that are remembered. The one that has not moved for longest starts anew with its next
        event; `dropped_sequences` counts them.
    seed
        The seed of the random priors.
    numbers
        The variables, a name or a list of names, that have numbers even where the first of them are whole.

    Notes
    -----
    A state shows names with their shares, and numbers with a Student's t distribution about a mean and with a deviation
    of its own: the predictive distribution of a normal-inverse-gamma posterior. Densities have the units of numbers, so
    scores of the same variables compare.

    Learning is online EM: the expected counts of an event are added when its window of `lag` to 2 `lag` later events is
    known, and older counts fade by 1 - 2 / (t + 2) with the t-th event. Replaying the same events gives the same bytes.
    Unlearning and merging are not possible: the states of two models are not the same states.

    The number of states is chosen by the fading sum of log-probabilities of events before each was learned, as is the
    restart. A larger number has to gain 10 nats. State numbers change when another number or restart answers.

    Memory: for each number of states, `restarts` times states times (states + values) numbers, and for each sequence
    `restarts` times states times 2 `lag` + 1. An event takes time in `restarts` times the square of the states.

    In simulations of one to five states, whose number was learned, the loss after 6,000 events was within 0.03 nats of
    that of the true filter.

    Examples
    --------
    >>> from stream_bayes import HiddenMarkov
    >>> model = HiddenMarkov("sound", states=2)
    >>> for k in range(600):
    ...     model.learn_one({"sound": "tick" if k // 10 % 2 else ("hum", "hiss")[k % 2]})
    >>> [*model.predict_proba_one()], round(model.predict_proba_one()["tick"], 1)
    (['hum', 'hiss', 'tick'], 0.9)
    >>> max(model.filter_one().values()) > 0.95
    True
    >>> len(set(model.most_probable_states()[-5:]))
    1
    >>> model = HiddenMarkov("sound", states=[1, 2, 3], restarts=2)
    >>> model.learn_many({"sound": "tick" if k // 10 % 2 else ("hum", "hiss")[k % 2]} for k in range(600))
    >>> model.best_states
    2
    >>> model = HiddenMarkov(["sound", "load"], states=2)
    >>> model.learn_many({"sound": "hum", "load": 70.0 * (k // 10 % 2) + k % 7} for k in range(600))
    >>> [round(each.mean) for each in sorted(model.emissions("load"))]
    [3, 73]
    >>> ahead = model.forecast_one(1, variable="load")
    >>> round(ahead.mean), [round(bound) for bound in ahead.interval(0.8)]
    (66, [49, 81])
    """

    def __init__(
        self,
        variables: Any,
        states: int | Sequence[int] | str = 3,
        key: Any = None,
        lag: int = 10,
        restarts: int = 8,
        half_life: float | None = None,
        pause: float | str | None = None,
        step: float | str | None = None,
        max_values: int | None = None,
        max_sequences: int = 10_000,
        seed: int = 0,
        numbers: Any = (),
    ) -> None:
        self.variables = variables
        self.states = states
        self.key = key
        self.lag = lag
        self.restarts = restarts
        self.half_life = half_life
        self.pause = pause
        self.step = step
        self.max_values = max_values
        self.max_sequences = max_sequences
        self.seed = seed
        self.numbers = numbers
        self.variable_names = names_of("variables", variables)
        numbers_of_states = read_states("states", states)
        check_count("lag", lag)
        check_key(key, self.variable_names, "variables")
        self.store = self._made_bank(numbers_of_states, lag)
        for name in names_of("numbers", numbers, may_be_empty=True):
            if name not in self.variable_names:
                raise UnknownFeature(
                    f"numbers: {shown(name)} is not one of variables {shown(self.variable_names)}"
                )
            self.store.begin(self._column(name), True)
        self._absent = AbsentVariables(self.variable_names)
        self.sequences: KeyedSequences[list[HiddenWindow]] = KeyedSequences(
            key, pause, step, max_sequences, self.store.fresh, self.store.count
        )

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn_one(self, x: X, at: float | None = None) -> None:
        """Learn the next event of a sequence: all of it, or nothing if any part is refused.

        Parameters
        ----------
        x
            The event. A variable that is absent, None or NaN is missing; an event without any is a gap of one step.
        at
            The time of the event in seconds since 1970, which `pause` and `step` need.
        """
        name, values, moment = self._read(x, at, self._kinds())
        windows = self.sequences.memory(name, moment)
        for k, value in enumerate(values):
            if value is not None:
                self.store.begin(k, isinstance(value, float))
        seen = tuple(self.store.seen(k, value) for k, value in enumerate(values))
        for _ in range(self.sequences.missed_before(name, moment)):
            self.store.learn(windows, (None,) * len(seen))
        self.store.learn(windows, seen)
        self.sequences.remember(name, windows, moment)
        self._absent.look(x)

    def learn_many(self, X: Native, at: Iterable[float] | None = None) -> None:
        """Learn many events in their order, dicts or the rows of a data frame: all, or none if one is refused."""
        events, kinds = timed_events(X, at), self._kinds()
        for x, time in events:
            self._read(x, time, kinds)
        for x, time in events:
            self.learn_one(x, time)

    def reset(self, *keys: Any) -> None:
        """End the sequences of these keys, so that their next events start anew; without keys, all sequences."""
        self.sequences.reset(*keys)

    def _kinds(self) -> list[bool | None]:
        """Return for each variable True if it has numbers, False if it has names, None if that is not known yet."""
        return [self.store.has_numbers(k) for k in range(len(self.variable_names))]

    def _read(
        self, x: X, at: float | None, kinds: list[bool | None]
    ) -> tuple[Any, list[Value | None], int | None]:
        """Return an event's sequence, its values and its time; variables without a kind get theirs in `kinds`."""
        if not isinstance(x, Mapping):
            raise no_features(x)
        name = self.sequences.name_of(x)
        values = [value_in(x, v, kind) for v, kind in zip(self.variable_names, kinds, strict=True)]
        for k, value in enumerate(values):
            if value is not None:
                kinds[k] = isinstance(value, float)
        return name, values, self.sequences.moment(at)

    # -- answers ------------------------------------------------------------------------------------------------------

    def filter_one(self, x: X | None = None, at: float | None = None) -> dict[int, float]:
        """Return the probability of each state of the newest event of a sequence; before any, of the first one.

        Parameters
        ----------
        x
            An event that names the sequence; its values are not used. Not needed without a key.
        at
            The present time, which `pause` and `step` need.
        """
        chain, window = self._answering(x, at)
        missed = self._missed_before(x, at)
        is_now = window.steps and not missed
        return _by_state(chain, window.steps[-1].belief if is_now else chain.ahead(window, max(missed, 1)))

    def smooth_one(self, x: X | None = None, at: float | None = None) -> list[dict[int, float]]:
        """Return the probability of each state for the newest events of a sequence, given all of them; oldest first.

        There are at most 2 `lag` + 1 of them.
        """
        chain, window = self._answering(x, at)
        return [_by_state(chain, belief) for belief in chain.smooth(window)[0]] if window.steps else []

    def most_probable_states(self, x: X | None = None, at: float | None = None) -> list[int]:
        """Return the most probable states together (Viterbi) of the newest events of a sequence, oldest first."""
        chain, window = self._answering(x, at)
        return chain.path(window)

    def predict_proba_one(
        self, x: X | None = None, at: float | None = None, variable: Any = None
    ) -> dict[Any, float]:
        """Return the probability of each name of a variable in the next event; empty before any value is known."""
        if self.store.has_numbers(self._column(variable)):
            raise BadValue(
                f"{shown(variable)} has numbers: predict_one, predict_interval_one and forecast_one forecast them"
            )
        return self._forecast(1, x, at, variable)

    def predict_one(self, x: X | None = None, at: float | None = None, variable: Any = None) -> Any:
        """Return the most probable name, or the mean, of a variable in the next event; None before any value."""
        return mean_or_name(self._forecast(1, x, at, variable))

    def predict_interval_one(
        self, x: X | None = None, at: float | None = None, variable: Any = None, level: float = 0.95
    ) -> tuple[float, float] | None:
        """Return the interval that holds a number in the next event with a probability; None before any number."""
        return interval_of(self._forecast(1, x, at, variable), level, variable)

    def forecast_one(self, k: int, x: X | None = None, at: float | None = None, variable: Any = None) -> Any:
        """Return the distribution of a variable in the k-th event from now.

        Parameters
        ----------
        k
            1 is the next event.
        x, at
            As `filter_one` takes them.
        variable
            The variable; not needed if there is one.

        Returns
        -------
        `{value: probability}` for names; a `StudentMixture` for numbers, with `mean`, `interval` and `log_density`.

        Raises
        ------
        UnknownFeature
            If the model has no such variable.
        NoValueKnown
            If no value of the variable is known.
        """
        check_count("k", k)
        self._check_known([self.variable_names[self._column(variable)]])
        return self._forecast(k, x, at, variable)

    def _forecast(self, k: int, x: X | None, at: float | None, variable: Any) -> Any:
        """Return the distribution of a variable in the k-th event from now; empty before any value."""
        column = self._column(variable)
        chain, window = self._answering(x, at)
        belief = chain.ahead(window, k + self._missed_before(x, at))[chain.best]
        return chain.shown_by(column, belief)

    def log_likelihood_one(self, x: X, at: float | None = None) -> float:
        """Return the logarithm of the probability of an event's names, and of the density of its numbers, in its
        sequence; missing ones are summed out.

        A name that never came counts with the share of values that came once, at least half a one, among all.
        """
        return self.log_likelihood_and_novel(x, at)[0]

    def log_likelihood_and_novel(self, x: X, at: float | None = None) -> tuple[float, Sequence[Any]]:
        """Return the log-likelihood of an event, and the variables whose value was never learned."""
        _, values, _ = self._read(x, at, self._kinds())
        chain, window = self._answering(x, at)
        seen: list[Seen] = []
        log_probability, novel = 0.0, []
        for k, value in enumerate(values):
            emission = chain.emissions[k]
            seen.append(chain.seen(k, value))
            if value is not None and seen[-1] is None:
                novel.append(self.variable_names[k])
                log_probability += (
                    math.log(emission.novel_share) if isinstance(emission, NameEmission) else 0.0
                )
        _, logs = chain.step(window, tuple(seen), self._missed_before(x, at))
        return log_probability + float(logs[chain.best]), novel

    @property
    def best_states(self) -> int:
        """The number of states of the model that answers."""
        return self._best.states

    def transition_matrix(self) -> list[list[float]]:
        """Return P(next state | state), a row for each state."""
        return self._best.move[self._best.best].tolist()

    def emissions(self, variable: Any = None) -> list[Any]:
        """Return the distribution of a variable in each state: `{name: probability}`, or a `StudentT` of numbers.

        Raises `NoValueKnown` if no value of the variable is known.
        """
        self._check_known([self.variable_names[self._column(variable)]])
        return self._best.shown_in_states(self._column(variable))

    def _column(self, variable: Any) -> int:
        if variable is None and len(self.variable_names) == 1:
            return 0
        if variable is None or variable not in self.variable_names:
            raise UnknownFeature(
                f"variable must be one of {shown(self.variable_names)}, not {shown(variable)}"
            )
        return self.variable_names.index(variable)

    def _answering(self, x: X | None, at: float | None) -> tuple[HiddenChain, HiddenWindow]:
        """Return the chain that answers, and its window of an event's sequence."""
        windows = self.sequences.memory(self.sequences.name_of(x), self.sequences.moment(at))
        number = self.store.number
        return self.store.chains[number], windows[number]

    def _missed_before(self, x: X | None, at: float | None) -> int:
        return self.sequences.missed_before(self.sequences.name_of(x), self.sequences.moment(at))

    # -- keeping ------------------------------------------------------------------------------------------------------

    def derived_state(self) -> dict[str, Any]:
        return self.sequences.state(saved_windows)

    def load_derived(self, derived: Mapping[str, Any]) -> None:
        self.sequences.load(derived, self._loaded)

    def _loaded(self, saved: Any) -> list[HiddenWindow]:
        windows = loaded_windows(self.store, saved)
        expect(all(len(each.steps) <= 2 * self.lag for each in windows), "a window has another length")
        return windows


def _by_state(chain: HiddenChain, belief: Any) -> dict[int, float]:
    return dict(enumerate(belief[chain.best].tolist()))
