"""A Bayesian network that learns its tables from a stream, and answers questions about any of its variables."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_bayes.core.encoding._features import read_weight
from stream_bayes.core.inference.posterior import MostProbable, Posterior
from stream_bayes.core.live_networks.batches import learn_rows
from stream_bayes.core.live_networks.counted_network import CountedNetwork
from stream_bayes.core.live_networks.em import ExpectedCounts, StepwiseCounts, WindowCounts
from stream_bayes.core.live_networks.family_counts import EVENT, FamilyCounts
from stream_bayes.core.live_networks.live_inference import LiveInference
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search.sample import Sample
from stream_bayes.core.values.checks import expect
from stream_bayes.core.values.values import shown
from stream_bayes.data.columns import CodedColumns
from stream_bayes.data.frames import Native, labels_of
from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadStructure, BadValue, BadWeight, CountsForgotten, NotSupported
from stream_bayes.learners.classifier.arguments import check_choice, check_count, check_number
from stream_bayes.learners.classifier.batches import encode_batch, row_count
from stream_bayes.learners.classifier.state import CountLearner
from stream_bayes.learners.networks.answers import (
    as_network,
    conditional_table,
    given_values,
    log_likelihood,
    query,
)
from stream_bayes.learners.networks.conditional_table import ConditionalTable
from stream_bayes.learners.networks.encoder import encoder_of

__all__ = ["BayesNet"]

X = Mapping[Any, Any]
WINDOW = 2000  # events


class BayesNet(CountLearner, base.Estimator):
    """A Bayesian network of nominal variables: P(all variables), a product of P(variable | its parents).

    Parameters
    ----------
    structure
        The parents of each variable: a `Structure`, or `{variable: [parent, ...]}` as it takes them. What events hold
        besides is ignored. None: that of `network`.
    strength
        The weight of the smoothing, in fresh samples; 0 is maximum likelihood.
    prior
        `"m-estimate"` spreads the strength over the values of a variable, `"laplace"` adds it to each of them.
    half_life
        The number of learned events after which a sample weighs half; None keeps everything.
    schema
        What is declared of the variables: their values, or the cuts of numeric ones, which are then read as the bin
        they fall into. Without it variables are nominal, and their values, whole numbers among them, met as they come.
    max_values
        How many values a variable may have; further ones share one, `<other>`.
    memory_budget
        The most bytes that the tables may take; growth past it raises `BudgetExceeded` and changes nothing. As many may
        those of exact answers take, 2**28 if not given; `query` says what it does where they would not fit.
    missing
        What is learned from an event that lacks some variables. `"skip"` counts each family, a variable with its
        parents, that is there as a whole, and nothing else. `"stepwise-em"` takes what is expected of the event by the
        network so far. `"window-em"` takes the newest events alone, and what is expected of them when nothing changes
        any more; so it finds out, too, how a variable that is never seen may be distributed, if a schema declares its
        values.
    network
        A network of this structure known beforehand. Its labels count as declared.
    network_weight
        How many fresh samples each row of its tables is worth, however many were learned; it does not fade.
    step
        Of stepwise EM: the t-th event moves the tables by (t + 2)^-step, the first one wholly. None is 1/t, which on
        complete events is counting.
    window
        Keep so many of the newest events: for a search over `recent`, to count the families that another structure has,
        and for EM over a window, where None is 2,000. What is counted then depends on the order of events, and is not
        merged.
    every
        Of EM over a window: after how many events it is run again; None is a tenth of the window. Until then the tables
        stay; `rederive` runs it now.
    seed
        Of the tables that EM over a window begins with where nothing is known.

    Notes
    -----
    Promises: the counts are those of the events, whatever their order, batches, or shards that were merged; what is
    unlearned was never there. The same to 1e-9 with fractional weights and fading. With EM replaying the same events
    gives the same bytes, and unlearning and merging are refused.

    P(value | parents) = (n + s / V) / (N + s), n the weight of the value beside the parents' values and N that of any
    value beside them, V the values that hold samples now or were declared. Beside values never met together a variable
    is distributed evenly; so it is, too, where without smoothing nothing is known.

    Memory: 8 bytes a cell of each variable's table (16 with fractional weights or fading); of a table with more than
    65,536 cells only the rows that were met. Questions take the tables as they are now. What inference works out from
    structure and numbers of values is kept until these change.

    Examples
    --------
    >>> from stream_bayes import BayesNet
    >>> model = BayesNet({"rain": [], "sprinkler": ["rain"], "lawn": ["rain", "sprinkler"]})
    >>> for rain, sprinkler, lawn in 3 * [("yes", "off", "wet"), ("no", "on", "wet"), ("no", "off", "dry")]:
    ...     model.learn_one({"rain": rain, "sprinkler": sprinkler, "lawn": lawn})
    >>> answer = model.query("rain", {"lawn": "wet"})
    >>> round(answer["yes"], 4), answer.method
    (0.4714, 'exact')
    >>> model.most_probable({"lawn": "dry"})["sprinkler"]
    'off'
    """

    def __init__(
        self,
        structure: Any = None,
        strength: float = 1.0,
        prior: str = "m-estimate",
        half_life: float | None = None,
        schema: Schema | None = None,
        max_values: int | None = None,
        memory_budget: int | None = None,
        missing: str = "skip",
        network: DiscreteNetwork | None = None,
        network_weight: float = 1.0,
        step: float | None = 0.7,
        window: int | None = None,
        every: int | None = None,
        seed: int = 0,
    ) -> None:
        self.strength = strength
        self.prior = prior
        self.half_life = half_life
        self.schema = schema
        self.max_values = max_values
        self.memory_budget = memory_budget
        self.missing = missing
        self.network = network
        self.network_weight = network_weight
        self.step = step
        self.window = window
        self.every = every
        self.seed = seed
        self._structure = _read_structure(structure, network)
        self._check()
        self._store: FamilyCounts = self._make_store()
        self._live = LiveInference(self._read_network, memory_budget)

    def _make_store(self) -> FamilyCounts:
        encoder, cuts = encoder_of(self._structure, self.schema, self.network, self.max_values)
        settings: dict[str, Any] = {"memory_budget": self.memory_budget}
        if cuts:
            settings["binning"] = {
                "method": "quantile", "bins": None, "after": 1, "window": 1, "declared": cuts
            }  # fmt: skip
        if self.missing == "stepwise-em":
            return StepwiseCounts(
                encoder, self._structure, self._network_of, step=self.step, window=self.window, **settings
            )
        if self.missing == "window-em":
            window = WINDOW if self.window is None else self.window
            every = max(window // 10, 1) if self.every is None else self.every
            return WindowCounts(
                encoder,
                self._structure,
                self._network_of,
                window=window,
                every=every,
                chance=partial(np.random.default_rng, self.seed),
                **settings,
            )
        return FamilyCounts(
            encoder, self._structure, half_life=self.half_life, window=self.window, **settings
        )

    def _check(self) -> None:
        check_number("strength", self.strength)
        check_choice("prior", self.prior, ("m-estimate", "laplace"))
        check_choice("missing", self.missing, ("skip", "stepwise-em", "window-em"))
        if self.missing != "skip" and self.half_life is not None:
            raise BadValue(
                f"missing={self.missing!r} has its own way of forgetting, by step or window: leave half_life out"
            )
        if self.step is not None:
            check_number("step", self.step, above=True)
            if self.step > 1.0:
                raise BadValue(f"step lies above 0 and is at most 1, not {self.step!r}")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise BadValue(f"seed is a whole number of at least 0, not {shown(self.seed)}")
        check_number("network_weight", self.network_weight)
        if self.half_life is not None:
            check_number("half_life", self.half_life, above=True)
        for name in ("max_values", "memory_budget", "window", "every"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name))
        if self.schema is not None and not isinstance(self.schema, Schema):
            raise BadValue(
                f"schema must be a Schema, as Schema({{'sky': Nominal()}}), not {shown(self.schema)}"
            )
        if self.network is not None and self.network.structure != self._structure:
            raise BadStructure(
                "the network given beforehand has another structure than the one to be learned"
            )

    @classmethod
    def from_network(cls, network: DiscreteNetwork, weight: float = 1.0, **settings: Any) -> Self:
        """Return a learner that knows a network beforehand.

        Parameters
        ----------
        network
            As `read_bif` returns it.
        weight
            How many samples each row of its tables is worth.
        settings
            Other arguments of the class. With `strength=0` nothing is added: before any learning its tables are the
            given ones, to the last bit.

        Examples
        --------
        >>> from stream_bayes import BayesNet, DiscreteNetwork, Structure
        >>> coin = DiscreteNetwork(Structure({"coin": []}), {"coin": ["heads", "tails"]}, {"coin": [0.5, 0.5]})
        >>> model = BayesNet.from_network(coin, weight=2, strength=0)
        >>> for _ in range(2):
        ...     model.learn_one({"coin": "heads"})
        >>> model.cpt("coin")[()]
        {'heads': 0.75, 'tails': 0.25}
        """
        return cls(_read_structure(None, network), network=network, network_weight=weight, **settings)

    @property
    def _supervised(self) -> bool:
        return False

    # -- structure ----------------------------------------------------------------------------------------------------

    @property
    def structure(self) -> Structure:
        """The parents of each variable. Families that another structure has, too, keep their counts when it is set; the
        others are counted from the window, or, where there is none, begin at that time: `CountsForgotten` warns of it.
        """
        return self._structure

    @structure.setter
    def structure(self, structure: Any) -> None:
        wanted = _read_structure(structure, None)
        if self.network is not None and wanted != self._structure:
            raise BadStructure(
                "the tables given beforehand are those of the present structure; make a BayesNet of the new one "
                "without them"
            )
        before, kept = self._structure, self._store.window is not None or self._store.weight == 0.0
        self._store.change_structure(wanted)
        self._structure = wanted
        self._live.reset()
        begun = [v for v in wanted if v not in before or wanted.parents(v) != before.parents(v)]
        if begun and not kept:
            warnings.warn(
                f"no events are kept, so the tables of {shown(begun)} begin anew; a BayesNet with window= counts those "
                "of another structure from so many of the newest events",
                CountsForgotten,
                stacklevel=2,
            )

    def recent(self) -> Sample:
        """Return the newest events, for a search to read.

        Examples
        --------
        >>> from stream_bayes import BayesNet
        >>> from stream_bayes.networks import HillClimbing
        >>> model = BayesNet({"rain": [], "lawn": []}, window=100)
        >>> for rain, lawn in 20 * [("yes", "wet"), ("no", "dry")]:
        ...     model.learn_one({"rain": rain, "lawn": lawn})
        >>> found = HillClimbing().search(model.recent())
        >>> model.structure = found.structure
        >>> found.structure.edges, round(model.query("lawn", {"rain": "yes"})["wet"], 2)
        ((('lawn', 'rain'),), 0.98)

        Raises
        ------
        NotSupported
            If no window is kept.
        """
        store = self._store
        if store.window is None:
            raise NotSupported(
                "no events are kept to search over; make the BayesNet with window=, so many of them"
            )
        events = store.window.freeze()
        names = self._structure.variables
        return Sample(
            {name: events.codes[store.slot_of(name)] for name in names},
            {name: max(len(store.values_of(name)), 1) for name in names},
            events.weights,
        )

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn_one(self, x: X, w: float = 1.0) -> None:
        """Learn an event: all of it, or, where anything is refused, nothing.

        Parameters
        ----------
        x
            The variables, `{name: value}`. What is absent, None or NaN is missing.
        w
            The event's weight; 2.0 is the same as learning it twice.
        """
        store = self._store
        store.add(store.encode(x, EVENT, w))
        self._live.invalidate()

    def unlearn_one(self, x: X, w: float = 1.0, at: int | None = None) -> None:
        """Take back an event that was learned, with the weight it was learned with.

        Parameters
        ----------
        x, w
            The event.
        at
            With fading: what `clock` said right after it was learned. Now, if not given.
        """
        self._store.unlearn(x, w, at)
        self._live.invalidate()

    def learn_many(self, X: Native, w: Native = None) -> None:
        """Learn many events, as `learn_one` would in their order: all of them, or none.

        Parameters
        ----------
        X
            A data frame (pandas, polars, ...), `CodedColumns`, or a list of dicts.
        w
            A weight for all events, or one for each.
        """
        store = self._store
        if isinstance(store, ExpectedCounts):
            store.add_batch(encode_batch(store, X, [EVENT] * row_count(X), w, learning=True))
        elif isinstance(X, CodedColumns) and not X.numeric_names:
            store.learn_columns(X.names, X.codes, X.vocabularies, _weights(w, len(X)))
        else:
            rows = row_count(X)
            learn_rows(store, encode_batch(store, X, [EVENT] * rows, w, learning=True))
        self._live.invalidate()

    def rederive(self) -> None:
        """With EM over a window: run it now. Otherwise nothing is derived that is not up to date."""
        if isinstance(self._store, ExpectedCounts):
            self._store.run_em()
        self._live.invalidate()

    def advance(self, events: int) -> None:
        """Let events pass that are learned elsewhere, so that the shards of one stream fade by one clock."""
        self._store.advance(events)
        self._live.invalidate()

    @property
    def clock(self) -> int:
        """How many events have been learned, or passed by `advance`."""
        return int(self._store.tables.clock)

    def _network_of(self, counts: FamilyCounts) -> CountedNetwork:
        """Return the network that counts make, with the learner's smoothing."""
        return CountedNetwork(
            counts, self.strength, self.prior == "m-estimate", self.network, self.network_weight
        )

    def _read_network(self) -> CountedNetwork:
        return self._network_of(self._store)

    # -- answers ------------------------------------------------------------------------------------------------------

    def query(self, targets: Any, evidence: X | None = None, **settings: Any) -> Posterior:
        """Return the probabilities of one variable's values given evidence, or of several variables' combinations.

        Parameters
        ----------
        targets
            A variable: the answer maps its values. Or a list of variables: it maps tuples of values, in their order.
        evidence
            `{variable: value}`. Give soft evidence as `{variable: {value: likelihood}}`, with a likelihood for each
            value. None and NaN count as not observed.
        settings
            `method`, `rng`, `samples`, `chains` and `burn_in`, as `Inference.query` takes them. The default is exact
            where that fits into memory.

        Raises
        ------
        UnknownFeature
            If the structure has no such variable.
        NoValueKnown
            If no value of a target, or of a variable in the evidence, has been learned or declared.
        ImpossibleEvidence
            If the evidence has probability zero.
        """
        return query(self._live, targets, evidence, **settings)

    def marginals(self, evidence: X | None = None, **settings: Any) -> dict[Any, Posterior]:
        """Return the probabilities of every variable's values given evidence; for the arguments see `query`.

        A variable without any known value gets the single value None.
        """
        engine = self._live.engine()
        return engine.marginals(given_values(self._live.network(), evidence), **settings)

    def most_probable(self, evidence: X | None = None) -> MostProbable:
        """Return the most probable values of all variables together given evidence; None where no value is known."""
        engine = self._live.engine()
        return engine.most_probable(given_values(self._live.network(), evidence))

    def log_likelihood_one(self, x: X) -> float:
        """Return the logarithm of the probability of an event; -inf if it is impossible.

        Missing values are summed out. So are values that were never learned: they do not make the event less probable.
        Variables outside the structure are ignored.

        Raises
        ------
        UnknownFeature
            If the event is not empty and has none of the network's variables.

        Examples
        --------
        >>> from stream_bayes import BayesNet
        >>> model = BayesNet({"rain": [], "lawn": ["rain"]}, strength=0)
        >>> for rain, lawn in [("yes", "wet"), ("no", "dry"), ("no", "wet"), ("no", "dry")]:
        ...     model.learn_one({"rain": rain, "lawn": lawn})
        >>> [round(model.log_likelihood_one(x), 3) for x in ({"lawn": "wet"}, {"rain": "hail", "lawn": "wet"})]
        [-0.693, -0.693]
        """
        return log_likelihood(self._live, x)

    def sample(self, n: int, rng: np.random.Generator) -> dict[Any, list[Any]]:
        """Draw events as columns of values, which `learn_many` accepts.

        Parameters
        ----------
        n
            The number of events.
        rng
            The source of randomness.
        """
        return self._live.engine().sample(n, rng)

    # -- the model ----------------------------------------------------------------------------------------------------

    @property
    def states(self) -> dict[Any, tuple[Any, ...]]:
        """The values of each variable that hold samples or were declared."""
        return {v: self._store.held_states(v) for v in self._structure.variables}

    def cpt(self, variable: Any) -> ConditionalTable:
        """Return P(variable | its parents) as `{(parents' values): {value: probability}}`, with credible intervals.

        The smoothing is the prior of the intervals. Without smoothing and without a network given beforehand, the
        intervals use Jeffreys' prior, half a sample of each value, so that a few equal samples do not make certain.

        Examples
        --------
        >>> from stream_bayes import BayesNet
        >>> model = BayesNet({"rain": [], "lawn": ["rain"]}, strength=0)
        >>> for rain, lawn in [("yes", "wet"), ("no", "dry"), ("no", "wet"), ("no", "dry"), ("no", "dry")]:
        ...     model.learn_one({"rain": rain, "lawn": lawn})
        >>> table = model.cpt("lawn")
        >>> table["no",], table.parents
        ({'wet': 0.25, 'dry': 0.75}, ('rain',))
        >>> table.interval({"rain": "no"})["dry"]
        (0.2837..., 0.9715...)
        """
        return conditional_table(self._live.network(), variable)

    def to_network(self) -> DiscreteNetwork:
        """Return the network as it is now, as a `DiscreteNetwork`; `write_bif` takes it.

        Raises
        ------
        NoValueKnown
            If a variable has no known value.
        """
        return as_network(self._live.network(), self.network)

    # -- keeping ------------------------------------------------------------------------------------------------------

    def _load(self, store: Mapping[str, Any], derived: Mapping[str, Any]) -> None:
        super()._load(store, derived)
        expect(self._store.structure == self._structure, "it counts the families of another structure")
        self._live.reset()

    def _merged(self) -> None:
        self._live.invalidate()


def _read_structure(structure: Any, network: DiscreteNetwork | None) -> Structure:
    if network is not None and not isinstance(network, DiscreteNetwork):
        raise BadValue(f"network must be a DiscreteNetwork, as read_bif returns it, not {shown(network)}")
    if isinstance(structure, Structure):
        return structure
    if structure is None and network is not None:
        return network.structure
    if not isinstance(structure, Mapping):
        raise BadValue(
            f"structure must be a Structure or a dict {{variable: [parent, ...]}}, not {shown(structure)}; for edges "
            "there is Structure.from_edges, for a graph Structure.from_networkx"
        )
    return Structure(structure)


def _weights(w: Native, rows: int) -> NDArray[np.float64] | None:
    if w is None:
        return None
    if isinstance(w, (int, float, np.number)):
        return np.full(rows, read_weight(w))
    weights = np.array([read_weight(one) for one in labels_of(w, "weights")])
    if len(weights) != rows:
        raise BadWeight(f"{rows} rows, but {len(weights)} weights")
    return weights
