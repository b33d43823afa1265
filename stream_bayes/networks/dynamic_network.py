"""A dynamic Bayesian network: lagged copies of earlier values are variables of a network that learns from a stream."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

from stream_bayes.core.live_networks.family_counts import FamilyCounts
from stream_bayes.core.live_networks.mixed_counts import MixedCounts
from stream_bayes.core.measures.student_mixture import StudentMixture
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.networks.structure_input import parents_of
from stream_bayes.core.networks.unrolling import StepNode
from stream_bayes.core.search.hill_climbing import HillClimbing
from stream_bayes.core.values._weights import read_weight
from stream_bayes.core.values.checks import expect
from stream_bayes.core.values.inputs import no_features
from stream_bayes.core.values.payloads import tagged_payload, untagged_payload
from stream_bayes.core.values.unknown_names import check_variables
from stream_bayes.core.values.values import canonical, is_missing, shown
from stream_bayes.data.frames import Native
from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadStructure, BadValue, CannotMerge, NotSupported, UnknownFeature
from stream_bayes.learners.base.arguments import check_count, check_name
from stream_bayes.learners.base.state import CountLearner
from stream_bayes.learners.sequences.hidden_model import interval_of, mean_or_name
from stream_bayes.learners.sequences.keyed_sequences import KeyedSequences, check_key, timed_events
from stream_bayes.learners.sequences.sequence_learner import SequenceLearner
from stream_bayes.networks.bayes_net import BayesNet
from stream_bayes.networks.conditional_table import ConditionalTable
from stream_bayes.networks.growth import LEARN
from stream_bayes.networks.mixed_network import MixedNetwork
from stream_bayes.networks.surprise import Surprise
from stream_bayes.networks.unrolled_networks import UnrolledNames, UnrolledNetwork, UnrolledNumbers

__all__ = ["DynamicNetwork"]

X = Mapping[Any, Any]
MOST_COPIES = 64
MIXED_WINDOW = 2_000  # events, of a network over numbers
PastEvents = tuple[tuple[Any, ...], ...]  # the lagged variables' values in the newest events, newest first


class SequenceMoment(NamedTuple):
    """The sequence that an event belongs to, its time in microseconds, and the newest values before it."""

    name: Any
    at: int | None
    history: PastEvents


class DynamicNetwork(CountLearner, SequenceLearner):
    """A Bayesian network over an event and the newest events before it: `sky@-1` is the sky of the event before.

    Parameters
    ----------
    lags
        The lags of each variable that is remembered, `{"sky": [1, 2]}`: copies `sky@-1` and `sky@-2` are variables.
    structure
        The parents of each variable of an event, `{"rain": ["sky", "rain@-1"]}`, or edges, or a `Structure`. Edges into
        copies may come from copies that are as old or older. `"learn"`, the default: the structure grows as that of a
        `BayesNet` does, and no edge leads back in time; all features but the key are variables.
    key
        The feature that names the sequence of an event, such as `"city"`; None: all events are one sequence.
    strength
        The weight of the smoothing, in fresh samples.
    half_life
        The number of events after which a sample weighs half; None keeps everything.
    schema
        The declared values or cuts of the variables; those of a copy are those of its variable.
    max_values
        The number of values of a variable after which new ones share one, `<other>`.
    max_parents
        With `structure="learn"`: the most parents of a variable.
    window
        With `structure="learn"`: the number of newest events that are searched. None: 20,000; with `numbers` 2,000.
    pause
        The time without events after which a sequence starts anew, in seconds or as `"30min"`; each event then needs
        its time, `at`. None: only `reset` ends a sequence.
    step
        The time from an event of a sequence to the next, as `pause`, if they come at regular times: an event that comes
        later has missing ones before it, which `missed_events` counts. After more than 100 the sequence starts anew.
    max_sequences
        The number of sequences whose newest values are remembered. The one that has not moved for longest starts anew
        with its next event; `dropped_sequences` counts them.
    numbers
        True for variables with names and numbers, over which the network is a `MixedNetwork`: a number is linear in
        other numbers and in earlier ones. It takes no `half_life`, and tables and `query` are those of such a network.
        False: names alone.

    Notes
    -----
    Promises: replaying the same events gives the same answers, and forecasts are exact. A missing value, and one from
    before the start of a sequence, is missing in the copies: families with it are not counted, and answers sum it out.
    Events are taken one after another, however far apart in time, unless `step` is given.

    A forecast unrolls the network over the events to come, so it needs memory and time in steps times variables. Of
    numbers it is a Gaussian, or a mixture of them by the names to come: doubt about coefficients adds to it in the next
    event alone. Where more than 2**16 combinations of names to come matter, 500 of them are drawn.

    Examples
    --------
    >>> from stream_bayes import DynamicNetwork
    >>> model = DynamicNetwork({"sky": [1]}, {"sky": ["sky@-1"], "road": ["sky"]}, key="city")
    >>> for k in range(200):
    ...     for city in ("Bonn", "Lima"):
    ...         sky = "wet" if k % 4 == 3 else "dry"
    ...         model.learn_one({"city": city, "sky": sky, "road": "slick" if sky == "wet" else "fine"})
    >>> {sky: round(p, 2) for sky, p in model.forecast_one(1, {"city": "Bonn"}, variable="sky").items()}
    {'dry': 0.99, 'wet': 0.01}
    >>> {road: round(p, 2) for road, p in model.forecast_one(3, {"city": "Bonn"}, variable="road").items()}
    {'fine': 0.78, 'slick': 0.22}
    >>> round(model.score_one({"city": "Bonn", "sky": "wet", "road": "slick"}), 1)
    5.3
    """

    store: FamilyCounts | MixedCounts

    def __init__(
        self,
        lags: Mapping[Any, Sequence[int]],
        structure: Any = LEARN,
        key: Any = None,
        strength: float = 1.0,
        half_life: float | None = None,
        schema: Schema | None = None,
        max_values: int | None = None,
        max_parents: int = 3,
        window: int | None = None,
        pause: float | str | None = None,
        step: float | str | None = None,
        max_sequences: int = 10_000,
        numbers: bool = False,
    ) -> None:
        self.lags = _read_lags(lags)
        self.key = key
        self.strength = strength
        self.half_life = half_life
        self.schema = schema
        self.max_values = max_values
        self.max_parents = max_parents
        self.window = window
        self.pause = pause
        self.step = step
        self.max_sequences = max_sequences
        self.numbers = numbers
        if not isinstance(numbers, bool):
            raise BadValue(f"numbers must be True or False, not {shown(numbers)}")
        check_count("max_parents", max_parents)
        self._copies = {copy_name(v, lag): (v, lag) for v, lags in self.lags.items() for lag in lags}
        self._columns = {v: k for k, v in enumerate(self.lags)}
        self._longest = max(lag for _, lag in self._copies.values())
        check_key(key, self.lags, "lags")
        if both := [v for v in self._copies if v in self.lags]:
            raise BadValue(f"lags: {shown(both)} are names of copies; rename these variables")
        self.sequences: KeyedSequences[PastEvents] = KeyedSequences(key, pause, step, max_sequences, tuple)
        self.is_growing = isinstance(structure, str) and structure == LEARN
        graph = LEARN if self.is_growing else self._read_structure(structure)
        self.joint_network: BayesNet | MixedNetwork = self._mixed(graph) if numbers else self._named(graph)
        self.store = self.joint_network.store
        net = self.joint_network
        growth = net if isinstance(net, MixedNetwork) else net.joint_growth
        if growth is not None:
            growth.limit_to(self._limits)

    def _named(self, graph: Any) -> BayesNet:
        return BayesNet(
            graph,
            strength=self.strength,
            half_life=self.half_life,
            schema=self._with_copies(self.schema),
            max_values=self.max_values,
            window=self.window if self.is_growing else None,
            search=HillClimbing(max_parents=self.max_parents) if self.is_growing else None,
        )

    def _mixed(self, graph: Any) -> MixedNetwork:
        if self.half_life is not None:
            raise BadValue("half_life: sums of numbers do not fade; leave it out, or numbers=True")
        schema, window = self._with_copies(self.schema), MIXED_WINDOW if self.window is None else self.window
        return MixedNetwork(graph, self.strength, schema, self.max_values, window)

    def _read_structure(self, argument: Any) -> Structure:
        if isinstance(argument, Mapping):
            named = [v for child, parents in argument.items() for v in (child, *parents_of(child, parents))]
            copies: Iterable[Any] = (v for v in named if v in self._copies or _is_copy(v))
            argument = {**dict.fromkeys(copies, ()), **argument}
        structure = BayesNet(argument).structure
        for v in structure.variables:
            if v not in self._copies and _is_copy(v):
                raise BadStructure(f"the structure has {shown(v)}, which lags does not: {shown(self.lags)}")
        for parent, child in structure.edges:
            if self._lag(parent) < self._lag(child):
                raise BadStructure(
                    f"the edge from {shown(parent)} to {shown(child)} leads back in time; turn it"
                )
        if missing := [v for v in self.lags if v not in structure]:
            raise BadStructure(
                f"lags has {shown(missing)}, which the structure has not; add them, or leave them out"
            )
        if self.key in structure and self.key is not None:
            raise BadStructure(f"{shown(self.key)} is the key of sequences, and cannot be a variable")
        return Structure(
            {v: structure.parents(v) if v in structure else () for v in (*structure.variables, *self._copies)}
        )

    def _with_copies(self, schema: Schema | None) -> Schema | None:
        if schema is None:
            return None
        if not isinstance(schema, Schema):
            raise BadValue(f"schema must be a Schema, as Schema({{'sky': Nominal()}}), not {shown(schema)}")
        check_variables(self.lags, schema.features, "lags", whole="the schema")
        copies = {name: schema.features[v] for name, (v, _) in self._copies.items()}
        features = {v: spec for v, spec in schema.features.items() if v != self.key}
        return Schema({**features, **copies}, target=schema.target, unknown=schema.unknown)

    def _lag(self, v: Any) -> int:
        return self._copies[v][1] if v in self._copies else 0

    def _limits(self, names: Sequence[Any]) -> HillClimbing:
        """Return the search of a structure that grows: no edge leads back in time."""
        tiers = [[v for v in names if self._lag(v) == lag] for lag in range(self._longest, -1, -1)]
        search = HillClimbing(max_parents=self.max_parents, tiers=tiers)
        return replace(search, restarts=0) if self.numbers else search

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn_one(self, x: X, w: float = 1.0, at: float | None = None) -> None:
        """Learn the next event of a sequence: all of it, or nothing if any part is refused.

        Parameters
        ----------
        x
            The event. A variable that is absent, None or NaN is missing.
        w
            The weight; 2.0 counts the event twice, and moves its sequence by one.
        at
            The time of the event in seconds since 1970, which `pause` and `step` need.
        """
        self.joint_network.learn_one(self.joined_one(x, at), w)
        self.remember_one(x, at)

    def learn_many(self, X: Native, at: Iterable[float] | None = None) -> None:
        """Learn many events in their order, dicts or the rows of a data frame; stop at the first that is refused."""
        for x, time in timed_events(X, at):
            self.learn_one(x, at=time)

    def unlearn_one(self, x: X, after: Sequence[X] = (), w: float = 1.0, clock: int | None = None) -> None:
        """Unlearn an event. What is remembered of its sequence stays.

        Parameters
        ----------
        x
            The event.
        after
            The events before it in its sequence, the newest last: as many as the longest lag, or all if there were
            fewer.
        w
            The weight it was learned with.
        clock
            With fading: the value of `clock` right after it was learned. Now, if not given.

        Raises
        ------
        NotLearned
            If no such event was learned; nothing changes.
        """
        history: PastEvents = ()
        for earlier in after:
            history = self._then(history, earlier)
        self._unlearn(self.joint_network, self._joined(x, history), w, clock)

    @staticmethod
    def _unlearn(net: BayesNet | MixedNetwork, joined: X, w: float = 1.0, clock: int | None = None) -> None:
        if isinstance(net, BayesNet):
            net.unlearn_one(joined, w, clock)
        else:
            net.unlearn_one(joined, w)

    def unlearn_many(self, X: Native, at: Iterable[float] | None = None) -> None:
        """Unlearn whole sequences, in the order in which their events were learned: all of them, or nothing.

        Raises
        ------
        NotSupported
            With `half_life`: each event needs its clock, so `unlearn_one` takes them.
        NotLearned
            If an event was not learned as it comes here; nothing changes.
        """
        if self.half_life is not None:
            raise NotSupported(
                "with half_life each event needs the clock when it was learned: use unlearn_one"
            )
        replayed = KeyedSequences[PastEvents](self.key, self.pause, self.step, self.max_sequences, tuple)
        joined = []
        for x, time in timed_events(X, at):
            name, moment = replayed.name_of(x), replayed.moment(time)
            history = self._before(replayed, name, moment)
            joined.append(self._joined(x, history))
            replayed.remember(name, self._then(history, x), moment)
        twin: DynamicNetwork = self.twin()
        for net in (twin.joint_network, self.joint_network):  # what is refused changes the twin alone
            for event in joined:
                self._unlearn(net, event)

    def reset(self, *keys: Any) -> None:
        """End the sequences of these keys, so that their next events start anew; without keys, all sequences."""
        self.sequences.reset(*keys)

    def merge(self, other: Self) -> Self:
        """Add the counts of another network of the same arguments, which stays unchanged.

        A sequence that both remember goes on from where it moved last by time, and without times from here. Structures
        that are learned do not merge.
        """
        if self.numbers and self.is_growing:
            raise CannotMerge(
                f"structure={LEARN!r}: two networks may have different structures; give the structure"
            )
        super().merge(other)
        if other is not self:
            self.sequences.join(other.sequences)
        return self

    def after_merge(self) -> None:
        self.joint_network.after_merge()

    def _moment(self, x: X | None, at: float | None) -> SequenceMoment:
        name, moment = self.sequences.name_of(x), self.sequences.moment(at)
        return SequenceMoment(name, moment, self._before(self.sequences, name, moment))

    def _before(self, sequences: KeyedSequences[PastEvents], name: Any, moment: int | None) -> PastEvents:
        """Return the newest values before an event at a time, with the events that are missing by `step`."""
        missed = min(sequences.missed_before(name, moment), self._longest)
        return ((None,) * len(self.lags),) * missed + sequences.memory(name, moment)[: self._longest - missed]

    def _then(self, history: PastEvents, x: X) -> PastEvents:
        """Return the newest values after one more event."""
        newest = tuple(None if is_missing(x.get(v)) else canonical(x[v], feature=v) for v in self.lags)
        return (newest, *history)[: self._longest]

    def _joined(self, x: X, history: PastEvents) -> dict[Any, Any]:
        """Return an event with the copies of its past, without its key. Raise `BadValue` if it has such copies."""
        if not isinstance(x, Mapping):
            raise no_features(x)
        if copies := [name for name in x if name in self._copies]:
            raise BadValue(
                f"an event has {shown(copies)}, the names of lagged copies, which are remembered here"
            )
        return {v: value for v, value in x.items() if v != self.key or v is None} | self._past(history)

    def joined_one(self, x: X, at: float | None = None) -> dict[Any, Any]:
        """Return an event with the copies of its past: an event of `joint_network`."""
        return self._joined(x, self._moment(x, at).history)

    def remember_one(self, x: X, at: float | None = None) -> None:
        """Move the sequence of an event on by it, without learning it."""
        moment = self._moment(x, at)
        self.sequences.remember(moment.name, self._then(moment.history, x), moment.at)

    def take_sequences(self, other: DynamicNetwork) -> None:
        """Take over what another network of the same arguments remembers of its sequences."""
        self.sequences = other.sequences

    @property
    def copies(self) -> dict[Any, Any]:
        """The variable that each lagged copy is of."""
        return {name: v for name, (v, _) in self._copies.items()}

    def _past(self, history: PastEvents) -> dict[Any, Any]:
        """Return the copies of a past that are not missing."""
        past = {}
        for name, (v, lag) in self._copies.items():
            value = history[lag - 1][self._columns[v]] if lag <= len(history) else None
            if value is not None:
                past[name] = value
        return past

    # -- answers ------------------------------------------------------------------------------------------------------

    def predict_proba_one(self, x: X, variable: Any, at: float | None = None) -> dict[Any, float]:
        """Return P(variable | the other values of the next event, and those before it); for `x` see `learn_one`."""
        answer = self._answer(x, variable, at)
        if isinstance(answer, StudentMixture):
            raise BadValue(
                f"{shown(variable)} has numbers: predict_one and predict_interval_one forecast them"
            )
        return dict(answer)

    def predict_one(self, x: X, variable: Any, at: float | None = None) -> Any:
        """Return the most probable name, or the mean, of a variable of the next event given its other values and those
        before it; None before any value.
        """
        return mean_or_name(self._answer(x, variable, at))

    def predict_interval_one(
        self, x: X, variable: Any, level: float = 0.95, at: float | None = None
    ) -> tuple[float, float] | None:
        """Return the interval that holds a number of the next event with a probability; None before any value."""
        return interval_of(self._answer(x, variable, at), level, variable)

    def _answer(self, x: X, variable: Any, at: float | None) -> Any:
        self._check_variable(variable)
        joined = self.joined_one(x, at)
        if isinstance(self.joint_network, BayesNet):
            return self.joint_network.predict_proba_one(joined, variable)
        if variable not in self.joint_network.kinds:
            return {}
        evidence = {v: value for v, value in self.joint_network.values_known(joined).items() if v != variable}
        return self.joint_network.query(variable, evidence, samples=0)

    def query(self, targets: Any, evidence: X | None = None, **settings: Any) -> Any:
        """Return the probabilities of one variable's values given others, or of several variables' combinations.

        Copies are variables: `query("road", {"sky@-1": "wet"})` is what follows if the sky of the event before was wet,
        whatever has come. See `BayesNet.query`, and `MixedNetwork.query` with `numbers`.
        """
        return self.joint_network.query(targets, evidence, **settings)

    def forecast_one(
        self,
        k: int,
        x: X | None = None,
        at: float | None = None,
        variable: Any = None,
        evidence: X | None = None,
    ) -> Any:
        """Return the distribution of a variable in the k-th event from now: the probability of each value, or of a
        number a `StudentMixture`, with `mean`, `interval(level)` and `log_density(y)`.

        Parameters
        ----------
        k
            1 is the next event.
        x, at
            An event that names the sequence; with `pause` or `step` the present time, at which the first event to come
            is due.
        variable
            The variable; not needed if there is one.
        evidence
            What is supposed of the events to come, `{"sky@+1": "dry"}`.

        Raises
        ------
        UnknownFeature
            If the network has no such variable, or a name of the evidence is none of an event up to the k-th.
        BudgetExceeded
            If exact inference over so many events needs more than 2**28 bytes.
        """
        check_count("k", k)
        present = self.variables
        if variable is None and len(present) == 1:
            variable = present[0]
        self._check_variable(variable)
        network, past, missed = self._ahead(k, x, at)
        node = variable, missed + k
        return network.forecast(node, past | self._supposed(evidence, network, present, missed, k))

    def most_probable_path(
        self, k: int, x: X | None = None, at: float | None = None
    ) -> tuple[list[dict[Any, Any]], float]:
        """Return the most probable next k events together, and the logarithm of their probability given the past.

        Raises `NoValueKnown` if a variable has no known value.
        """
        check_count("k", k)
        network, past, missed = self._ahead(k, x, at)
        return network.most_probable(self.variables, range(missed + 1, missed + k + 1), past)

    def _ahead(
        self, k: int, x: X | None, at: float | None
    ) -> tuple[UnrolledNetwork, dict[StepNode, Any], int]:
        """Return the network of the next k events, what is known of those before, and how many of these are missing.

        Those are steps of the network, too: what came before them still tells of what comes after.
        """
        name, moment = self.sequences.name_of(x), self.sequences.moment(at)
        missed = self.sequences.missed_before(name, moment)
        network = (
            UnrolledNames(self.joint_network, self._copies, missed + k)
            if isinstance(self.joint_network, BayesNet)
            else UnrolledNumbers(self.joint_network, self._copies, missed + k)
        )
        past = {}
        for back, values in enumerate(self.sequences.memory(name, moment)):
            for v, value in zip(self.lags, values, strict=True):
                if value is not None and (label := network.value_at((v, -back), value)) is not None:
                    past[v, -back] = label
        return network, past, missed

    def _supposed(
        self, evidence: X | None, network: UnrolledNetwork, present: list[Any], missed: int, k: int
    ) -> dict[StepNode, Any]:
        if evidence is None:
            return {}
        if not isinstance(evidence, Mapping):
            raise BadValue(f"evidence comes as a dict {{'sky@+1': value}}, not as {shown(evidence)}")
        nodes = {f"{v}@+{step}": (v, missed + step) for v in present for step in range(1, k + 1)}
        check_variables(evidence, nodes, "evidence", whole="the forecast")
        return {nodes[name]: network.supposed(nodes[name], value) for name, value in evidence.items()}

    def log_likelihood_one(self, x: X, at: float | None = None) -> float:
        """Return the logarithm of the probability of an event given those before it; missing values are summed out."""
        return self.log_likelihood_and_novel(x, at)[0]

    def log_likelihood_and_novel(self, x: X, at: float | None = None) -> tuple[float, Iterable[Any]]:
        """Return the log-likelihood of an event given those before it, and the variables whose value is new."""
        return self.judged_after(self.joined_one(x, at))

    def judged_after(self, whole: X) -> tuple[float, Iterable[Any]]:
        """Return what `log_likelihood_and_novel` does of an event that `joined_one` has returned."""
        past = {v: value for v, value in whole.items() if v in self._copies and v in self.structure}
        total, novel = self.joint_network.log_likelihood_and_novel(whole) if whole else (0.0, {})
        if past and total > -math.inf:
            total -= self.joint_network.log_likelihood_and_novel(past)[0]
        return total, [v for v in novel if v not in self._copies]

    def explain_one(self, x: X, at: float | None = None) -> Surprise:
        """Return the surprise of each value of an event given those before it; they add up to `score_one(x, at)`."""
        history = self._moment(x, at).history
        event = {v: value for v, value in self._joined(x, history).items() if v not in self._copies}
        return self.joint_network.explain_after(self._past(history), event)

    def score_learn_one(self, x: X, w: float = 1.0, at: float | None = None) -> float:
        """Return `score_one` of an event, then learn it."""
        read_weight(w)
        score = self.score_one(x, at)
        self.learn_one(x, w, at)
        return score

    def _check_variable(self, variable: Any) -> None:
        present = self.variables
        if variable is None or variable in self._copies:
            raise UnknownFeature(f"variable must be one of {shown(present)}, not {shown(variable)}")
        check_variables([variable], present, "variable", whole="the network")

    # -- the model ----------------------------------------------------------------------------------------------------

    @property
    def variables(self) -> list[Any]:
        """The variables of an event, without the copies of earlier ones."""
        return [v for v in self.joint_network.structure.variables if v not in self._copies]

    @property
    def structure(self) -> Structure:
        """The graph as it is now, over the variables and their copies."""
        return self.joint_network.structure

    def cpt(self, variable: Any) -> ConditionalTable:
        """Return P(variable | its parents), as `BayesNet.cpt` does. Raise `NotSupported` with `numbers`."""
        return self._of_names().cpt(variable)

    def to_network(self) -> DiscreteNetwork:
        """Return the network over an event and its copies, as it is now. Raise `NotSupported` with `numbers`."""
        return self._of_names().to_network()

    def _of_names(self) -> BayesNet:
        if isinstance(self.joint_network, MixedNetwork):
            raise NotSupported("numbers=True: there are no tables of numbers; query has their distributions")
        return self.joint_network

    @property
    def kinds(self) -> dict[Any, str]:
        """`"nominal"` or `"numeric"` for each variable of events that has come, or is declared."""
        if isinstance(self.joint_network, BayesNet):
            return dict.fromkeys(self.variables, "nominal")
        return {v: kind for v, kind in self.joint_network.kinds.items() if v not in self._copies}

    @property
    def clock(self) -> int:
        """The number of events learned."""
        return self.joint_network.clock

    # -- keeping ------------------------------------------------------------------------------------------------------

    def _get_params(self) -> dict[str, Any]:
        params = super()._get_params()
        return params | {"structure": LEARN} if self.is_growing else params

    def derived_state(self) -> dict[str, Any]:
        return {
            "network": self.joint_network.derived_state(),
            "sequences": self.sequences.state(tagged_payload),
        }

    def load_parts(self, store: Mapping[str, Any], derived: Mapping[str, Any]) -> None:
        expect(set(derived) == {"network", "sequences"}, "it remembers no sequences")
        self.joint_network.load_parts(store, derived["network"])
        super().load_derived({})
        self.sequences.load(derived["sequences"], self._loaded)

    def _loaded(self, saved: Any) -> PastEvents:
        history = tuple(map(tuple, untagged_payload(saved)))
        fits = len(history) <= self._longest and all(len(values) == len(self.lags) for values in history)
        expect(fits, "a sequence remembers other values than its newest ones")
        return history


def copy_name(v: Any, lag: int) -> str:
    """Return the name of a lagged copy, `sky@-1`."""
    return f"{v}@-{lag}"


def _is_copy(v: Any) -> bool:
    name, _, lag = v.rpartition("@-") if isinstance(v, str) else ("", "", "")
    return bool(name) and lag.isdecimal()


def _read_lags(argument: Any) -> dict[Any, tuple[int, ...]]:
    if not isinstance(argument, Mapping) or not argument:
        raise BadValue(
            f"lags must be a dict {{variable: [1, 2]}} of at least one variable, not {shown(argument)}"
        )
    lags: dict[Any, tuple[int, ...]] = {}
    for v, each in argument.items():
        check_name("lags", v)
        if isinstance(each, (str, bytes)) or not isinstance(each, Sequence) or not each:
            raise BadValue(
                f"lags of {shown(v)}: expected a list of whole numbers, as [1, 2], not {shown(each)}"
            )
        for lag in each:
            check_count(f"each of the lags of {shown(v)}", lag)
        lags[v] = tuple(sorted(set(map(int, each))))
    names = [copy_name(v, lag) for v in lags for lag in lags[v]]
    if len(names) > MOST_COPIES:
        raise BadValue(
            f"lags make {len(names):,} copies; at most {MOST_COPIES} are variables. Leave some out"
        )
    if len(set(names)) < len(names):
        raise BadValue(f"lags: two variables have copies of one name, among {shown(names)}; rename one")
    return lags
