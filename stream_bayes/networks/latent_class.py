"""Latent classes: groups of events that nobody named, learned from names and numbers one event at a time."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from river import base

from stream_bayes.checked_names import closest
from stream_bayes.core.live_networks.hidden_chain import HiddenWindow
from stream_bayes.core.live_networks.hidden_emissions import NameEmission, Seen
from stream_bayes.core.measures.student_mixture import StudentMixture
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.values.checks import expect, refusing_bad_state
from stream_bayes.core.values.inputs import feature_name, no_features
from stream_bayes.core.values.values import Value, is_missing, name_order, shown, tagged, untagged
from stream_bayes.data.frames import Native, events_in
from stream_bayes.errors import BadValue, FeaturesIgnored, UnknownFeature
from stream_bayes.learners.base.absent_variables import AbsentVariables
from stream_bayes.learners.base.arguments import check_count
from stream_bayes.learners.sequences.hidden_model import HiddenModel, interval_of, mean_or_name
from stream_bayes.learners.sequences.shown_values import (
    loaded_windows,
    names_of,
    read_states,
    saved_windows,
    value_in,
)
from stream_bayes.networks.answers import observed_shares
from stream_bayes.networks.ignored_features import check_has_variable
from stream_bayes.networks.surprise import Surprise

__all__ = ["LatentClass"]

X = Mapping[Any, Any]
MOST_VARIABLES = 64
TOGETHER = 10  # events that are counted together, at most
FEWEST_TOGETHER = 3  # likewise, at least


class LatentClass(HiddenModel, base.AnomalyDetector):
    """A latent class model, or mixture: each event belongs to a class that nobody sees, and that shows in its values.

    Within a class variables are independent: names have their shares, numbers a mean and a deviation. So an event is
    unexpected where its values do not go together in any class.

    Parameters
    ----------
    variables
        The features of events to describe: a name, or a list of names. Default: all features as they come, at most 64.
        The first value of a feature decides its kind: strings, bytes, bools and tuples are names, as in `MixedNetwork`.
    classes
        The number of classes; or several, `[2, 3, 4]`, each with a model of its own that learns all events: the
        smallest that predicts as well as any answers. `"learn"`, the default, is 1 to 6.
    restarts
        The number of models with different random priors that learn side by side. The one that predicted best answers.
    half_life
        The number of events after which one weighs at most half. None: a third of all events count, the newer ones
        more.
    max_values
        The number of values of a feature after which new ones share one. Default: no limit.
    seed
        The seed of the random priors.
    names
        The variables, a name or a list of names, whose values are names even where they are whole numbers.

    Notes
    -----
    Learning is online EM: an event is counted in each class by the probability that it belongs there, and counts fade
    by 1 - 2 / (t + 2) with the t-th event. Replaying the same events gives the same bytes. Unlearning and merging are
    not possible: the classes of two models are not the same classes. A larger number of classes has to gain 10 nats in
    the fading sum of log-densities of events before each was learned. Class numbers change when another number or
    restart answers.

    Ten events are counted together, in the beginning as many as were counted before, at least three. One class, which
    answers first unless `classes` excludes it, has no random prior: its answers are the smoothed shares and moments.

    Missing values are summed out. Memory: for each number of classes, `restarts` times classes times values numbers.

    Examples
    --------
    >>> from stream_bayes.networks import LatentClass
    >>> model = LatentClass(classes=[1, 2, 3], restarts=4)
    >>> for k in range(900):
    ...     is_night = k * k % 7 < 3
    ...     model.learn_one({"load": (5.0 if is_night else 60.0) + k % 11, "light": "off" if is_night else "on"})
    >>> model.best_classes, sorted(round(share, 1) for share in model.class_shares)
    (2, [0.3, 0.7])
    >>> round(max(model.classify_one({"load": 64.0}).values()), 3), model.predict_one({"load": 64.0}, "light")
    (1.0, 'on')
    >>> round(model.predict_one({"light": "off"}, "load"))
    10
    >>> usual, odd = {"load": 64.0, "light": "on"}, {"load": 64.0, "light": "off"}
    >>> model.score_one(odd) - model.score_one(usual) > 4
    True
    """

    def __init__(
        self,
        variables: Any = None,
        classes: int | Sequence[int] | str = "learn",
        restarts: int = 8,
        half_life: float | None = None,
        max_values: int | None = None,
        seed: int = 0,
        names: Any = (),
    ) -> None:
        self.variables = variables
        self.classes = classes
        self.restarts = restarts
        self.half_life = half_life
        self.max_values = max_values
        self.seed = seed
        self.names = names
        self._takes_all = variables is None
        self.variable_names: list[Any] = [] if variables is None else names_of("variables", variables)
        self._nominal = names_of("names", names, may_be_empty=True)
        if not self._takes_all and (foreign := [v for v in self._nominal if v not in self.variable_names]):
            raise UnknownFeature(f"names lists {shown(foreign)}, which variables does not")
        self.store = self._made_bank(read_states("classes", classes), lag=1)
        self._begin_names()
        self._pending: list[list[HiddenWindow]] = []  # of events that are not counted yet, by chain
        self._is_full = False
        self._absent = AbsentVariables(self.variable_names)

    def _begin_names(self) -> None:
        for v in self._nominal:
            if v in self.variable_names:
                self.store.begin(self.variable_names.index(v), False)

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn_one(self, x: X) -> None:
        """Learn an event: all of it, or nothing if any part is refused.

        Parameters
        ----------
        x
            The event, `{variable: value}`. An absent value, None or NaN is missing.

        Raises
        ------
        BadValue
            If a number is infinite or beyond 1e100.
        KindChanged
            If a variable with numbers gets a name, or one with names a number that is not whole.
        """
        values, new = self._read(x), self._new_in(x)
        self._add_variables(new)
        values |= {v: value for v in new if (value := self._value(x, v)) is not None}
        for v, value in values.items():
            self.store.begin(self.variable_names.index(v), isinstance(value, float))
        seen = tuple(self.store.seen(k, values.get(v)) for k, v in enumerate(self.variable_names))
        windows = self.store.fresh()
        self.store.learn(windows, seen)
        self._pending.append(windows)
        if len(self._pending) >= min(TOGETHER, max(FEWEST_TOGETHER, 0.5 * self.store.events)):
            self.store.count_each(self._pending)
            self._pending = []
        if not self._takes_all:
            self._absent.look(x)

    def learn_many(self, X: Native) -> None:
        """Learn many events in their order, dicts or the rows of a data frame; stop at the first that is refused."""
        for x in events_in(X):
            self.learn_one(x)

    def _new_in(self, x: X) -> list[Any]:
        """Return the features of an event that become variables. Raise for a value that none can have."""
        if not self._takes_all or self._is_full:
            return []
        new = [
            feature_name(v)
            for v, value in x.items()
            if v not in self.variable_names and not is_missing(value)
        ]
        for v in new:
            self._value(x, v)
        return new

    def _add_variables(self, new: list[Any]) -> None:
        left = MOST_VARIABLES - len(self.variable_names)
        if len(new) > left:
            self._is_full = True
            warnings.warn(
                f"there are more than {MOST_VARIABLES} features; {shown(new[left:])} and any later ones are ignored. "
                "Name those that matter in variables",
                FeaturesIgnored,
                stacklevel=3,
            )
            del new[left:]
        new.sort(key=name_order)  # classes begin with draws by column
        for v in new:
            self.variable_names.append(v)
            self.store.add_variable()
        if new:
            self._begin_names()
            for windows in self._pending:  # what is new was missing in them
                for window in windows:
                    window.steps = [
                        step._replace(seen=step.seen + (None,) * len(new)) for step in window.steps
                    ]

    def _read(self, x: X) -> dict[Any, Value]:
        """Return the values of an event's variables that are not missing: floats, and names."""
        if not isinstance(x, Mapping):
            raise no_features(x)
        return {v: value for v in self.variable_names if (value := self._value(x, v)) is not None}

    def _value(self, x: X, v: Any) -> Value | None:
        has_numbers = (
            self.store.has_numbers(self.variable_names.index(v)) if v in self.variable_names else None
        )
        return value_in(x, v, False if v in self._nominal else has_numbers, is_whole_number=True)

    def _seen(self, values: Mapping[Any, Value]) -> tuple[Seen, ...]:
        chain = self._best
        return tuple(chain.seen(k, values.get(v)) for k, v in enumerate(self.variable_names))

    # -- answers ------------------------------------------------------------------------------------------------------

    def classify_one(self, x: X | None = None) -> dict[int, float]:
        """Return the probability of each class of an event; without one, of the next."""
        chain = self._best
        belief, _ = chain.step(HiddenWindow(), self._seen(self._read({} if x is None else x)))
        return dict(enumerate(belief[chain.best].tolist()))

    def query(self, target: Any, evidence: X | None = None) -> Any:
        """Return the distribution of a variable given others.

        Parameters
        ----------
        target
            The variable.
        evidence
            `{variable: value}`; None and NaN count as not observed.

        Returns
        -------
        `{value: probability}` for names; a `StudentMixture` for numbers, with `mean`, `interval` and `log_density`.

        Raises
        ------
        UnknownFeature
            If the model has no such variable.
        BadValue
            If the evidence has a name that was never learned, or the number that is the target.
        NoValueKnown
            If no value of the target is known.
        """
        evidence = {} if evidence is None else evidence
        if not isinstance(evidence, Mapping):
            raise BadValue(f"evidence comes as a dict {{variable: value}}, not as {shown(evidence)}")
        for v in (target, *evidence):
            self._column(v)
        values = self._read(evidence)
        for v, value in self.novel_values(values).items():
            raise BadValue(f"variable {shown(v)}: {shown(value)} was never learned; nothing follows from it")
        self._check_known([target])
        if target in values:
            value = (
                values[target] if isinstance(values[target], float) else self._name_of(target, values[target])
            )
            return observed_shares(target, value, self.names_of(target))
        return self._answer(target, values)

    def predict_proba_one(self, x: X, variable: Any) -> dict[Any, float]:
        """Return P(variable | the other values of an event) of a variable with names; new names count as missing."""
        if self.store.has_numbers(self._column(variable)):
            raise BadValue(
                f"{shown(variable)} has numbers: predict_one and predict_interval_one forecast them"
            )
        return self._answer(variable, self._read(x))

    def predict_one(self, x: X, variable: Any) -> Any:
        """Return the most probable name, or the mean, of a variable given the other values; None before any value."""
        return mean_or_name(self._answer(variable, self._read(x)))

    def predict_interval_one(self, x: X, variable: Any, level: float = 0.95) -> tuple[float, float] | None:
        """Return the interval that holds a number with a probability, given the other values; None before any."""
        return interval_of(self._answer(variable, self._read(x)), level, variable)

    def _answer(self, target: Any, values: Mapping[Any, Value]) -> Any:
        column, chain = self._column(target), self._best
        rest = self._seen({v: value for v, value in values.items() if v != target})
        belief = chain.step(HiddenWindow(), rest)[0][chain.best]
        return chain.shown_by(column, belief)

    def log_density_one(self, x: X) -> float:
        """Return the logarithm of the density of an event: of its names the probability, of its numbers the density.

        Missing values are summed out. A name that never came counts with the share of names that came once, at least
        half a one, among all. Densities depend on the units of numbers: events with the same variables compare.

        Raises
        ------
        UnknownFeature
            If the event is not empty and has none of the model's variables.
        """
        return self.log_likelihood_and_novel(x)[0]

    def log_likelihood_and_novel(self, x: X) -> tuple[float, Iterable[Any]]:
        """Return the log-density of an event, and the variables whose name was never learned."""
        values = self._read(x)
        if not self._takes_all:
            check_has_variable(x, self.variable_names)
        novel, chain = self.novel_values(values), self._best
        log = math.fsum(self._log_novel(v) for v in novel)
        return log + float(chain.step(HiddenWindow(), self._seen(values))[1][chain.best]), novel

    def score_one(self, x: X) -> float:
        """Return minus the log-density of an event, in nats: the larger, the more unexpected."""
        return 0.0 - self.log_likelihood_and_novel(x)[0]

    def score_learn_one(self, x: X) -> float:
        """Return `score_one` of an event, then learn it."""
        score = self.score_one(x)
        self.learn_one(x)
        return score

    def explain_one(self, x: X) -> Surprise:
        """Return the surprise of each value of an event given those before it; they add up to `score_one(x)`.

        `excess` compares each with the mean surprise of its variable there, so names and numbers compare.
        """
        values = self._read(x)
        novel = self.novel_values(values)
        nats: dict[Any, float] = {}
        expected: dict[Any, float] = {}
        before: dict[Any, Value] = {}
        for v, value in values.items():
            answer = self._answer(v, before)
            if v in novel:
                nats[v], expected[v] = 0.0 - self._log_novel(v), 0.0
            elif isinstance(answer, StudentMixture):
                nats[v], expected[v] = -answer.log_density(float(value)), answer.entropy  # type: ignore[arg-type]  # a number, as its kind says
            elif answer:
                nats[v] = -math.log(answer[self._name_of(v, value)])
                expected[v] = -math.fsum(p * math.log(p) for p in answer.values() if p > 0.0)
            else:
                nats[v] = expected[v] = 0.0  # nothing is known of the variable yet
            before[v] = value
        return Surprise(nats, expected, tuple(novel))

    def _name_of(self, v: Any, value: Any) -> Any:
        """Return a name as it is counted: of those past max_values, the one that they share."""
        emission = self._best.emissions[self.variable_names.index(v)]
        assert isinstance(emission, NameEmission)
        code = emission.code_of(value)
        return next(name for name, each in emission.codes.items() if each == code)

    def novel_values(self, values: Mapping[Any, Value]) -> dict[Any, Value]:
        seen = zip(self.variable_names, self._seen(values), self._best.emissions, strict=True)
        return {
            v: values[v]
            for v, code, emission in seen
            if v in values and code is None and emission is not None
        }

    def _log_novel(self, v: Any) -> float:
        emission = self._best.emissions[self.variable_names.index(v)]
        return math.log(emission.novel_share) if isinstance(emission, NameEmission) else 0.0

    def sample(self, n: int, rng: np.random.Generator) -> list[dict[Any, Any]]:
        """Draw events from what is predicted of the next one: a class, and each variable given that.

        Raises `NoValueKnown` if a variable has no known value.
        """
        check_count("n", n)
        self._check_known(self.variable_names)
        shares = self.class_shares
        columns = {v: self.emissions(v) for v in self.variable_names}
        drawn = []
        for each in rng.choice(len(shares), n, p=shares).tolist():
            event = {}
            for v, by_class in columns.items():
                shown_there = by_class[each]
                if isinstance(shown_there, dict):
                    names = [*shown_there]
                    event[v] = names[int(rng.choice(len(names), p=[*shown_there.values()]))]
                else:
                    event[v] = float(
                        shown_there.location + shown_there.scale * rng.standard_t(shown_there.degrees)
                    )
            drawn.append(event)
        return drawn

    @property
    def is_growing(self) -> bool:
        """True if further features become variables as they come."""
        return self._takes_all

    # -- the model ----------------------------------------------------------------------------------------------------

    @property
    def structure(self) -> Structure:
        """The variables; the hidden class, the only parent of each, has no name and is left out."""
        return Structure(dict.fromkeys(self.variable_names, ()))

    @property
    def best_classes(self) -> int:
        """The number of classes of the model that answers."""
        return self._best.states

    @property
    def class_shares(self) -> list[float]:
        """The probability of each class."""
        return self._best.start[self._best.best].tolist()

    def emissions(self, variable: Any) -> list[Any]:
        """Return the distribution of a variable in each class: `{name: probability}`, or a `StudentT` of numbers.

        Raises `NoValueKnown` if no value of the variable is known.
        """
        column = self._column(variable)
        self._check_known([variable])
        return self._best.shown_in_states(column)

    def names_of(self, variable: Any) -> list[Any]:
        """Return the names of a variable that have come; none of one with numbers."""
        emission = self._best.emissions[self._column(variable)]
        return [*emission.codes] if isinstance(emission, NameEmission) else []

    def _column(self, v: Any) -> int:
        if v not in self.variable_names:
            raise UnknownFeature(
                f"the model has no variable {shown(v)}{closest(str(v), map(str, self.variable_names))} It has "
                f"{shown(self.variable_names)}"
            )
        return self.variable_names.index(v)

    # -- keeping ------------------------------------------------------------------------------------------------------

    def derived_state(self) -> dict[str, Any]:
        return {
            "names": [tagged(v) for v in self.variable_names],
            "pending": [saved_windows(windows) for windows in self._pending],
            "is_full": self._is_full,
        }

    def load_parts(self, store: Mapping[str, Any], derived: Mapping[str, Any]) -> None:
        with refusing_bad_state():
            expect(set(derived) == {"names", "pending", "is_full"}, "it has no variables")
            names = [untagged(v) for v in derived["names"]]
            expect(len(set(names)) == len(names), "it names a variable twice")
            if self._takes_all:
                expect(len(names) <= MOST_VARIABLES, "it has more variables than 64")
                for _ in names:
                    self.store.add_variable()
                self.variable_names = names
                self._begin_names()
            expect(names == self.variable_names, "it has other variables")
        super().load_parts(store, derived)

    def load_derived(self, derived: Mapping[str, Any]) -> None:
        expect(type(derived["is_full"]) is bool, "it does not say whether there is room for variables")
        self._is_full = derived["is_full"]
        self._pending = [loaded_windows(self.store, saved) for saved in derived["pending"]]
        is_short = all(len(window.steps) == 1 for windows in self._pending for window in windows)
        expect(is_short and len(self._pending) < TOGETHER, "it holds too many events that are not counted")
