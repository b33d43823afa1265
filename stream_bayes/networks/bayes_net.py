"""A Bayesian network that learns its tables from a stream and answers queries about any of its variables."""

from __future__ import annotations

import math
import warnings
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_bayes.core.encoding._rows import Row
from stream_bayes.core.inference.inference import Inference
from stream_bayes.core.inference.posterior import MostProbable, Posterior
from stream_bayes.core.inference.questions import NamedQuestions
from stream_bayes.core.live_networks.batches import learn_rows
from stream_bayes.core.live_networks.counted_network import CountedNetwork
from stream_bayes.core.live_networks.em import ExpectedCounts, StepwiseCounts, WindowCounts
from stream_bayes.core.live_networks.family_counts import EVENT, CountedCells, FamilyCounts
from stream_bayes.core.live_networks.live_inference import LiveInference
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search.hill_climbing import HillClimbing
from stream_bayes.core.search.sample import Sample
from stream_bayes.core.search.score_search import ScoreSearch
from stream_bayes.core.values._weights import read_weight
from stream_bayes.core.values.checks import expect
from stream_bayes.core.values.values import is_missing, shown
from stream_bayes.data.columns import CodedColumns
from stream_bayes.data.frames import Native, labels_of, read_table
from stream_bayes.data.schema import Schema
from stream_bayes.errors import (
    BadStructure,
    BadValue,
    BadWeight,
    CountsForgotten,
    KindChanged,
    NeverMet,
    NotSupported,
    NoValueKnown,
)
from stream_bayes.learners.base.arguments import check_choice, check_count, check_number, check_seed
from stream_bayes.learners.base.batches import check_batch, encode_batch, row_count, row_weights
from stream_bayes.learners.base.draws import checked_rng
from stream_bayes.learners.base.samples import rows_of
from stream_bayes.learners.base.state import CountLearner
from stream_bayes.learners.base.traits import is_led_by_order, random_order
from stream_bayes.networks import answers
from stream_bayes.networks.answers import UNSEEN
from stream_bayes.networks.conditional_table import ConditionalTable
from stream_bayes.networks.encoder import encoder_of
from stream_bayes.networks.evidence import evidence_of_network
from stream_bayes.networks.growing_learner import GrowingLearner
from stream_bayes.networks.growth import (
    GROWING_WINDOW,
    LEARN,
    JointGrowth,
    with_variables,
)
from stream_bayes.networks.ignored_features import IgnoredFeatures
from stream_bayes.networks.pictures import network_html
from stream_bayes.networks.posterior_draws import drawn_network, world_given
from stream_bayes.networks.surprise import Surprise
from stream_bayes.networks.view import BayesNetView

__all__ = ["BayesNet"]

X = Mapping[Any, Any]
WINDOW = 2_000  # events
HIDDEN_AFTER = 100  # events without any value of a variable, after which a warning names it
_OF_MEASUREMENTS = "For measurements take a MixedNetwork, or in time DynamicNetwork(..., numbers=True)"
_HOW_MANY = (
    "for a hidden variable declare how many values it has: schema=Schema({{{name}: Nominal([0, 1, 2])}}); "
    "hidden_states(rows, structure, {name}) chooses the number"
)


class BayesNet(GrowingLearner, CountLearner, NamedQuestions, base.AnomalyDetector):
    """A Bayesian network of nominal variables: the joint distribution as a product of P(variable | its parents).

    Parameters
    ----------
    structure
        The parents of each variable: a `Structure`, `{variable: [parent, ...]}`, or edges, `[(parent, child), ...]`.
        Other features of events are ignored. None takes the structure of `network`. `"learn"` grows one: all features
        are variables, at first independent. It is searched again after half as many events as there were, over the
        newest `window` events, and replaced when a trial on the events that follow proves another one better; `changes`
        is the log. A search is done in slices, one with each event, so that no event waits for a whole search; `work`
        does them in idle moments.
    strength
        The weight of the smoothing, in fresh samples; 0 is maximum likelihood. None is 1, or 0 if a network is given
        beforehand: its tables are the prior.
    prior
        `"m-estimate"` spreads the strength over the values of a variable, `"laplace"` adds it to each of them.
    half_life
        The number of learned events after which a sample weighs half; None keeps everything.
    schema
        The declared values of variables, or the cuts of numeric variables, which are then read as bins. Without a
        schema variables are nominal and get values as they come, whole numbers included.
    max_values
        The most values of a variable; further values share one, `<other>`.
    memory_budget
        The most bytes that the tables may take. Growth beyond it raises `BudgetExceeded` and changes nothing. Exact
        inference may take as many again, 2**28 if not given; `query` describes what happens if it would not fit.
    missing
        The treatment of events with missing variables. `"skip"` counts each family (a variable with its parents) that
        is complete, and nothing else. `"stepwise-em"` adds the expected counts of the event by the network so far.
        `"window-em"` runs EM to convergence over the newest events only; it can also learn a hidden variable, which no
        event has, if a schema declares its values.
    network
        A network of this structure given beforehand, as the prior of the tables: before any event the answers are its
        answers. Its labels count as declared.
    network_weight
        The weight of each row of the given network's tables, in fresh samples. It does not fade.
    step
        For stepwise EM: the t-th event moves the tables by (t + 2)^-step, the first event wholly. None is 1/t, which is
        counting if no event has missing variables.
    window
        The number of newest events to keep: for a search over `recent`, to count the families of a new structure, and
        for EM over a window, where None is 2,000, and for a structure that grows, where None is 20,000. The counts then
        depend on the order of events and cannot be merged.
    every
        For EM over a window: the number of events between two runs; None is a tenth of the window. Until then the
        tables stay; `run_em` runs it now.
    seed
        The seed of the random initial tables of hidden variables.
    unseen
        The treatment of values that were never learned, in events to score and to predict from. `"novel"` keeps a share
        of probability for them, a function of the counts alone: the values held once (at least half a one) over the
        weight of all, and none if a schema closes the values. In a prediction they count as missing. `"ignore"` takes
        them as missing, `"error"` raises `BadValue`. Evidence of `query` and the other questions is refused with such
        a value.
    search
        For a structure that grows: the search, with tiers, required and forbidden edges, limits and restarts. None is
        `HillClimbing()`.
    slides
        True to hold the newest `window` events alone: each event that leaves the window is unlearned. That is what
        `SlidingWindow(BayesNet(...), size)` makes.

    Notes
    -----
    Promises: the counts are exact, whatever the order, batches or merged shards of the events; an unlearned event
    leaves no trace. With fractional weights and fading they are exact to 1e-9. With EM, replaying the same events gives
    the same bytes, and unlearning and merging are refused.

    P(value | parents) = (n + s / V) / (N + s), with n the weight of the value under the parents' values, N the weight
    of all values there, and V the number of values that hold samples now or were declared. Under a combination of
    parents' values that was never seen, the distribution is uniform, also without smoothing.

    Memory: 8 bytes a cell of each variable's table (16 with fractional weights or fading). A table with more than
    65,536 cells holds only the rows that were seen. Queries use the tables as they are now. The plans of inference are
    cached until the structure or the numbers of values change.

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

    sliding_arguments: ClassVar[Mapping[str, Any] | None] = {"slides": True}

    def __init__(
        self,
        structure: Any = None,
        strength: float | None = None,
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
        unseen: str = "novel",
        search: ScoreSearch | None = None,
        slides: bool = False,
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
        self.unseen = unseen
        self.search = search
        self.slides = slides
        self.is_growing = isinstance(structure, str) and structure == LEARN
        self._structure = (
            with_variables(
                Structure({}),
                () if schema is None else schema.features,
                search.required if isinstance(search, ScoreSearch) else (),
            )
            if self.is_growing
            else _read_structure(structure, network)
        )
        self._check()
        self._ignored = IgnoredFeatures(self._structure, schema, takes_all=self.is_growing and schema is None)
        self.store: FamilyCounts = self._make_store()
        self.live = LiveInference(self._read_network, memory_budget)
        self.joint_growth: JointGrowth | None = None
        self._last_view: BayesNetView | None = None
        if self.is_growing:
            search = HillClimbing() if search is None else search
            self.joint_growth = JointGrowth(self.store, search, seed, self._network_of, self.live)

    def _make_store(self) -> FamilyCounts:
        structure = None if self.is_growing else self._structure
        encoder, cuts = encoder_of(structure, self.schema, self.network, self.max_values)
        settings: dict[str, Any] = {"memory_budget": self.memory_budget}
        if cuts:
            settings["binning"] = {
                "method": "quantile", "bins": None, "after": 1, "window": 1, "declared": cuts
            }  # fmt: skip
        make_rng = partial(np.random.default_rng, self.seed)
        if self.missing == "stepwise-em":
            return StepwiseCounts(
                encoder,
                self._structure,
                self._network_of,
                step=self.step,
                window=self.window,
                make_rng=make_rng,
                **settings,
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
                make_rng=make_rng,
                **settings,
            )
        kept = GROWING_WINDOW if self.window is None and self.is_growing else self.window
        store = FamilyCounts(
            encoder,
            self._structure,
            half_life=self.half_life,
            window=None if self.slides else kept,
            **settings,
        )
        if self.slides:
            assert kept is not None
            store.slide(kept)
        return store

    def _check(self) -> None:
        if self.strength is not None:
            check_number("strength", self.strength)
        check_choice("prior", self.prior, ("m-estimate", "laplace"))
        check_choice("missing", self.missing, ("skip", "stepwise-em", "window-em"))
        check_choice("unseen", self.unseen, UNSEEN)
        if self.is_growing and (self.missing != "skip" or self.network is not None):
            what = "network" if self.missing == "skip" else f"missing={self.missing!r}"
            raise BadValue(f"{what} needs a structure that stays; leave it out, or give the structure")
        if not isinstance(self.slides, bool):
            raise BadValue(f"slides must be True or False, not {shown(self.slides)}")
        if self.slides and (self.missing != "skip" or (self.window is None and not self.is_growing)):
            raise BadValue(
                "slides=True unlearns what leaves the window: give window=, and leave missing='skip'"
            )
        if self.search is not None and not isinstance(self.search, ScoreSearch):
            raise BadValue(
                f"search must be HillClimbing(...), BOSS(...), ExactSearch(...) or None, not {shown(self.search)}"
            )
        if self.search is not None and not self.is_growing:
            raise BadValue(f"search is for structure={LEARN!r}; search recent() to change a given structure")
        if self.missing != "skip" and self.half_life is not None:
            raise BadValue(
                f"missing={self.missing!r} has its own way of forgetting, by step or window: leave half_life out"
            )
        if self.step is not None:
            check_number("step", self.step, above=True)
            if self.step > 1.0:
                raise BadValue(f"step lies above 0 and is at most 1, not {self.step!r}")
        check_seed(self.seed)
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
        """Make a learner that starts from a given network.

        Parameters
        ----------
        network
            The network, as from `read_bif`.
        weight
            The weight of each row of its tables, in samples.
        settings
            Other arguments of the class. Without `strength`, or with 0, the tables before any learning equal the given
            ones to the last bit.

        Examples
        --------
        >>> from stream_bayes import BayesNet, DiscreteNetwork, Structure
        >>> coin = DiscreteNetwork(Structure({"coin": []}), {"coin": ["heads", "tails"]}, {"coin": [0.5, 0.5]})
        >>> model = BayesNet.from_network(coin, weight=2)
        >>> for _ in range(2):
        ...     model.learn_one({"coin": "heads"})
        >>> model.cpt("coin")[()]
        {'heads': 0.75, 'tails': 0.25}
        """
        return cls(_read_structure(None, network), network=network, network_weight=weight, **settings)

    # -- structure ----------------------------------------------------------------------------------------------------

    @property
    def _growth(self) -> JointGrowth | None:
        return self.joint_growth

    @property
    def structure(self) -> Structure:
        """The parents of each variable. It can be set: families of both structures keep their counts; new families are
        counted from the window, or begin now if there is none, with the warning `CountsForgotten`.
        """
        return self.store.structure

    @structure.setter
    def structure(self, structure: Any) -> None:
        wanted = _read_structure(structure, None)
        if self.network is not None and wanted != self.structure:
            raise BadStructure(
                "the tables given beforehand are those of the present structure; make a BayesNet of the new one "
                "without them"
            )
        before, kept = self.structure, self.store.window is not None or self.store.weight == 0.0
        self.store.change_structure(wanted)
        self._structure = wanted
        self._ignored.expect(wanted)
        self.live.reset()
        if self._growth is not None:
            self._growth.drop()
        begun = [v for v in wanted if v not in before or set(wanted.parents(v)) != set(before.parents(v))]
        if begun and not kept:
            warnings.warn(
                f"no events are kept, so the tables of {shown(begun)} begin anew; a BayesNet with window= counts those "
                "of another structure from so many of the newest events",
                CountsForgotten,
                stacklevel=2,
            )

    def recent(self) -> Sample:
        """Return the newest events as a sample to search structures over.

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
        store = self.store
        if store.window is None:
            raise NotSupported(
                "no events are kept to search over; make the BayesNet with window=, so many of them"
            )
        events = store.window.freeze()
        names = self.structure.variables
        return Sample(
            {name: events.codes[store.slot_of(name)] for name in names},
            {name: max(len(store.values_of(name)), 1) for name in names},
            events.weights,
        )

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn_one(self, x: X, w: float = 1.0) -> None:
        """Learn an event: all of it, or nothing if anything is refused.

        Parameters
        ----------
        x
            The variables, `{name: value}`. Absent variables, None and NaN are missing.
        w
            The event's weight; 2.0 is the same as learning it twice.
        """
        store = self.store
        try:
            row = store.encode(x, EVENT, w)
        except (BadValue, KindChanged) as error:
            if not (
                isinstance(x, Mapping) and any(isinstance(v, float) and math.isfinite(v) for v in x.values())
            ):
                raise
            raise type(error)(f"{error}. {_OF_MEASUREMENTS}") from error
        counted = row.entries + (row.numbers if store.tables.bins is None else 0)
        self.learn_row(row)
        if counted != len(x):
            self._ignored.warn(x)

    def learn_row(self, row: Row) -> None:
        """Learn an encoded event, for whose codes there is room."""
        if self._growth is not None:
            self._growth.learn(row)
        else:
            self.store.add(row)
            self.live.invalidate()
            if (
                self.missing != "skip"
                and self.clock == HIDDEN_AFTER
                and (hidden := self.variables_without_values())
            ):
                warnings.warn(
                    f"no event so far had {shown(hidden)}, and no values are declared, so that nothing is learned of "
                    f"it; {_HOW_MANY.format(name=shown(hidden[0]))}",
                    NeverMet,
                    stacklevel=3,
                )

    def recount(
        self,
        starts: Mapping[Any, int],
        codes: NDArray[np.integer],
        weights: NDArray[np.float64],
        clocks: NDArray[np.int64],
    ) -> None:
        """Count the families of variables that changed again, as `FamilyCounts.recount` does; the graph stays."""
        if self._growth is not None:
            self._growth.begin_again(starts, max(starts.values()) - 1)
        self.store.recount(starts, codes, weights, clocks)
        self.live.reset()

    def recall(self, cells: CountedCells) -> None:
        """Add counts from before a change to a family that has returned; the graph stays.

        Raises `BudgetExceeded`, with nothing changed, if they need more memory.
        """
        self.store.add_cells(cells)
        if self._growth is not None:
            self._growth.begin_again((), 0)  # what is under way compared structures without these counts
        self.live.reset()

    def variables_without_values(self) -> list[Any]:
        """Return the variables without a value that was learned or declared."""
        features = self.store.encoder.features
        return [v for v in self.structure if v not in features or not len(features[v].vocabulary)]

    def _check_hidden(self, rows: Native = ()) -> None:
        """Raise `NoValueKnown` for a variable that neither these rows nor any before have, and whose values nobody
        declared: expectation maximisation would learn nothing of it.
        """
        if hidden := self.variables_without_values():
            met = {v for row in rows_of(rows) for v in hidden if not is_missing(row.get(v))}
            if hidden := [v for v in hidden if v not in met]:
                raise NoValueKnown(f"no event has {shown(hidden)}; {_HOW_MANY.format(name=shown(hidden[0]))}")

    def unlearn_one(self, x: X, w: float = 1.0, at: int | None = None) -> None:
        """Unlearn an event with the weight that it was learned with.

        Parameters
        ----------
        x, w
            The event.
        at
            With fading: the value of `clock` right after it was learned. Now, if not given.
        """
        self.store.unlearn(x, w, at)
        self.live.invalidate()

    def learn_many(self, X: Native, w: Native = None) -> None:
        """Learn many events in their order: all of them, or none.

        Parameters
        ----------
        X
            A data frame (pandas, polars, ...), `CodedColumns`, or a list of dicts.
        w
            A weight for all events, or one for each.
        """
        store = self.store
        if self._growth is not None or self.slides:
            self._learn_in_turn(self.rows_to_learn(X, w))
        elif isinstance(store, ExpectedCounts):
            self._check_hidden(X)
            store.add_batch(encode_batch(store, X, [EVENT] * row_count(X), w, learning=True))
        elif isinstance(X, CodedColumns) and not X.numeric_names:
            store.learn_columns(X.names, X.codes, X.vocabularies, _weights(w, len(X)))
        else:
            rows = row_count(X)
            learn_rows(store, encode_batch(store, X, [EVENT] * rows, w, learning=True))
        self.live.invalidate()
        if not self._ignored.is_done:
            self._ignored.warn(_names_in(X))

    def rows_to_learn(self, X: Native, w: Native = None) -> Iterator[tuple[Mapping[Any, Any], float]]:
        """Return the rows of a batch, each with its weight; raise if one would be refused."""
        rows = row_count(X)
        check_batch(self.store, X, [EVENT] * rows, w)
        return zip(rows_of(X), row_weights(w, rows).tolist(), strict=True)

    def fit(self, X: Native, w: Native = None) -> Self:
        """Learn the rows of a table, as `learn_many` does, and return the network.

        A structure that grows sees them in a random order, the same each time, unless events fade: rows of a table
        have no order, and those that are sorted would look like a world that changes.
        """
        if is_led_by_order(self):
            rows = [*self.rows_to_learn(X, w)]
            self._learn_in_turn(rows[index] for index in random_order(len(rows)))
            self.live.invalidate()
        else:
            self.learn_many(X, w)
        return self

    def _learn_in_turn(self, rows: Iterable[tuple[Mapping[Any, Any], float]]) -> None:
        for row, weight in rows:
            self.learn_one(row, weight)

    def run_em(self) -> None:
        """Run EM over the window now, with `missing="window-em"`.

        Raises
        ------
        NotSupported
            With another treatment of missing values: nothing waits there.
        NoValueKnown
            If no event has had a variable, and its values are not declared.
        """
        if not isinstance(self.store, WindowCounts):
            raise NotSupported(f"missing={self.missing!r} runs no EM over a window; use missing='window-em'")
        self._check_hidden()
        self.store.run_em()
        self.live.invalidate()

    def advance(self, events: int) -> None:
        """Advance the clock by events that are learned elsewhere, so that the shards of a stream fade by one clock."""
        self.store.advance(events)
        self.live.invalidate()

    @property
    def clock(self) -> int:
        """The number of events learned, or passed with `advance`."""
        return int(self.store.tables.clock)

    def _network_of(self, counts: FamilyCounts) -> CountedNetwork:
        """Return the network that counts make, with the learner's smoothing."""
        strength = self.strength
        if strength is None:
            strength = 0.0 if self.network is not None and self.network_weight > 0.0 else 1.0
        return CountedNetwork(counts, strength, self.prior == "m-estimate", self.network, self.network_weight)

    def _read_network(self) -> CountedNetwork:
        return self._network_of(self.store)

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
            where that fits into memory. `level=0.95` adds the credible interval of each probability, as `intervals` of
            the answer: the uncertainty of the tables. In simulations 95 % intervals cover 93 to 97 %.

        Raises
        ------
        UnknownFeature
            If the structure has no such variable.
        BadValue
            If evidence has a value that its variable does not have.
        NoValueKnown
            If no value of a target, or of a variable in the evidence, has been learned or declared.
        ImpossibleEvidence
            If the evidence has probability zero.
        """
        return answers.query(self.live, targets, evidence, **settings)

    def marginals(self, evidence: X | None = None, **settings: Any) -> dict[Any, Posterior]:
        """Return the probabilities of every variable's values given evidence; for the arguments see `query`.

        With `level`, each variable takes as many further answers as it has values. Raises `NoValueKnown` if a variable
        has no known value; `query` answers about the others.
        """
        return answers.marginals(self.live, evidence, **settings)

    def most_probable(self, evidence: X | None = None) -> MostProbable:
        """Return the most probable values of all variables together given evidence.

        Raises `NoValueKnown` if a variable has no known value.
        """
        return answers.most_probable(self.live, evidence)

    def probability_of_evidence(self, evidence: X) -> float:
        """Return the probability of evidence; likelihoods of soft evidence are not normalised."""
        return math.exp(self.log_probability_of_evidence(evidence))

    def log_probability_of_evidence(self, evidence: X) -> float:
        """Return the logarithm of the probability of evidence, also where that is too small for a double."""
        return answers.log_probability_of_evidence(self.live, evidence)

    def predict_proba_one(self, x: X, variable: Any, hidden: Container[Any] = ()) -> dict[Any, float]:
        """Return P(variable | the other values of an event), `{value: probability}`.

        Parameters
        ----------
        x
            The event; the variable's own value in it is not used. Soft evidence is given as `query` takes it.
        variable
            The variable to predict.
        hidden
            Further variables whose values are not used.

        Returns
        -------
        The probabilities; empty if no value of the variable is known, or if the other values are impossible.

        Examples
        --------
        >>> from stream_bayes import BayesNet
        >>> model = BayesNet({"rain": [], "lawn": ["rain"]}, strength=0)
        >>> for rain, lawn in [("yes", "wet"), ("no", "dry"), ("no", "wet"), ("no", "dry")]:
        ...     model.learn_one({"rain": rain, "lawn": lawn})
        >>> model.predict_proba_one({"rain": "no"}, "lawn")
        {'wet': 0.333..., 'dry': 0.666...}
        """
        shares = answers.probabilities(self.live, self.store.encoder, variable, x, hidden, self.unseen)
        self._ignored.warn(x)
        return shares

    def predict_proba(self, X: Native, variable: Any) -> list[dict[Any, float]]:
        """Return `predict_proba_one` of each row of a data frame, or of a list of dicts."""
        return [self.predict_proba_one(row, variable) for row in rows_of(X)]

    def do(self, values: X) -> DiscreteNetwork:
        """Return the network as it is now after an intervention, for `Inference`.

        Examples
        --------
        >>> from stream_bayes import BayesNet
        >>> from stream_bayes.networks import Inference
        >>> model = BayesNet({"rain": [], "lawn": ["rain"]})
        >>> for rain, lawn in [("yes", "wet"), ("no", "dry"), ("no", "wet"), ("no", "dry")]:
        ...     model.learn_one({"rain": rain, "lawn": lawn})
        >>> observed, done = model.query("rain", {"lawn": "wet"}), Inference(model.do({"lawn": "wet"})).query("rain")
        >>> round(observed["yes"], 2), round(done["yes"], 2)
        (0.46, 0.3)
        """
        return self.to_network().do(values)

    def log_likelihood_one(self, x: X) -> float:
        """Return the logarithm of the probability of an event; -inf if it is impossible.

        Missing values are summed out. A value that was never learned counts with the share of probability that `unseen`
        keeps for it, and is summed out otherwise. Soft evidence, a likelihood for each value, is weighed by the
        probabilities of the values. Variables outside the structure are ignored. A number beyond the outer cuts has its
        bin's probability times its density there, relative to the bin's densest point, so far out is less probable.

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
        [-0.693, -2.079]
        """
        return self.log_likelihood_and_novel(x)[0]

    def log_likelihood_and_novel(self, x: X) -> tuple[float, dict[Any, Any]]:
        """Return the log-likelihood of an event, and the values in it that were never learned."""
        judged = answers.log_likelihood(self.live, self.store.encoder, x, self.unseen)
        self._ignored.warn(x)
        return judged

    def novel_values(self, x: X) -> dict[Any, Any]:
        """Return the values of an event that were never learned, without inference."""
        return answers.novel(self.live, x, self.unseen)

    def score_one(self, x: X) -> float:
        """Return minus the log-likelihood of an event, in nats: the larger, the more unexpected.

        Scores of events with the same variables compare. `river.anomaly.QuantileFilter` finds their quantiles.
        """
        return 0.0 - self.log_likelihood_one(x)  # never -0.0

    def score_learn_one(self, x: X, w: float = 1.0) -> float:
        """Return `score_one` of an event, then learn it."""
        score = self.score_one(x)
        self.learn_one(x, w)
        return score

    def explain_one(self, x: X) -> Surprise:
        """Return the surprise of each value of an event; they add up to `score_one(x)`.

        It takes a query for each variable of the event.

        Examples
        --------
        >>> from stream_bayes import BayesNet
        >>> model = BayesNet({"user": [], "country": ["user"]})
        >>> for user, country in 500 * [("ann", "DE"), ("bob", "FR")]:
        ...     model.learn_one({"user": user, "country": country})
        >>> model.explain_one({"user": "ann", "country": "FR"})
        Surprise({'country': 6.91, 'user': 0.693}, total=7.603, novel=())
        >>> model.explain_one({"user": "eve", "country": "FR"})
        Surprise({'user': 7.601, 'country': 0.693}, total=8.294, novel=('user',))
        """
        surprise = self.explain_after({}, x)
        self._ignored.warn(x)
        return surprise

    def explain_after(self, past: X, x: X) -> Surprise:
        """Return the surprise of each value of an event, given values of other variables that came before."""
        return answers.explain(self.live, x, self.unseen, past)

    def log_evidence(self) -> float:
        """Return the log-probability of everything learned under this structure, tables integrated out.

        It is minus the sum of `score_learn_one` of all events, in any order. Structures are compared by it:
        `log_bayes_factor` is the difference.

        Raises
        ------
        NotSupported
            If it is not exact: a structure that was learned, missing or fractional values, names that are not declared.

        Examples
        --------
        >>> from stream_bayes import BayesNet, Nominal, Schema
        >>> schema = Schema({"rain": Nominal(["yes", "no"]), "lawn": Nominal(["wet", "dry"])})
        >>> linked = BayesNet({"rain": [], "lawn": ["rain"]}, schema=schema)
        >>> apart = BayesNet({"rain": [], "lawn": []}, schema=schema)
        >>> for number in range(20):
        ...     event = {"rain": "yes", "lawn": "wet"} if number % 2 else {"rain": "no", "lawn": "dry"}
        ...     linked.learn_one(event)
        ...     apart.learn_one(event)
        >>> round(linked.log_evidence() - apart.log_evidence(), 2)
        12.13
        """
        return evidence_of_network(self, self.live.network(), self.clone().live.network(), self.store.weight)

    def view(self) -> BayesNetView:
        """Return the network as it is now, for other threads and processes to query while learning goes on.

        It copies the tables. Call it in the thread that learns, and again once the answers may follow what was learned.
        The new view takes over the plans of the one before, if the structure and the numbers of values are the same.
        """
        self._last_view = BayesNetView(self, self.structure, self.clock, self.states, self._last_view)
        return self._last_view

    def take_engine(self, other: BayesNet) -> None:
        """Take over the plans of inference of a network that answers no more questions."""
        self.live.take_engine(other.live)

    def sample(
        self, n: int, rng: np.random.Generator, evidence: X | None = None, do: X | None = None
    ) -> dict[Any, list[Any]]:
        """Draw events as columns of values, which `learn_many` accepts.

        Parameters
        ----------
        n
            The number of events.
        rng
            The source of randomness.
        evidence
            What the events are known to have, as `query` takes it. They are drawn from the exact distribution given it.
        do
            The values of variables that are set from outside, as in `do`.

        Raises
        ------
        NoValueKnown
            If a variable has no known value.

        Examples
        --------
        >>> import numpy as np
        >>> from stream_bayes import BayesNet
        >>> model = BayesNet([("rain", "lawn")], strength=0)
        >>> for rain, lawn in [("yes", "wet"), ("no", "dry"), ("no", "wet"), ("no", "dry")]:
        ...     model.learn_one({"rain": rain, "lawn": lawn})
        >>> model.sample(3, np.random.default_rng(1), {"lawn": "dry"})
        {'lawn': ['dry', 'dry', 'dry'], 'rain': ['no', 'no', 'no']}
        >>> model.sample(1000, np.random.default_rng(1), do={"lawn": "dry"})["rain"].count("yes")
        252
        """
        findings = answers.evidence_of(self.live.network(), evidence)
        answers.check_known(self.live.network())
        engine = Inference(self.do(do), memory_budget=self.memory_budget) if do else self.live.engine()
        return engine.sample(n, rng, findings)

    def draw(self, rng: np.random.Generator) -> DiscreteNetwork:
        """Return a network with tables drawn from their posterior: what the truth may be, given the events.

        The mean of the probability of an event over draws is the network's own. So the mean of their answers, each
        weighted by its probability of the evidence, is the answer. Structure and bins are held. Expected counts of EM
        are taken as counts.

        Parameters
        ----------
        rng
            The source of randomness.

        Raises
        ------
        NoValueKnown
            If a variable has no known value.

        Examples
        --------
        >>> import numpy as np
        >>> from stream_bayes import BayesNet
        >>> from stream_bayes.networks import Inference
        >>> model = BayesNet({"rain": [], "lawn": ["rain"]})
        >>> for rain, lawn in [("yes", "wet"), ("no", "dry"), ("no", "wet"), ("no", "dry")]:
        ...     model.learn_one({"rain": rain, "lawn": lawn})
        >>> rng = np.random.default_rng(0)
        >>> wet = [Inference(model.draw(rng)).query("lawn")["wet"] for _ in range(2000)]
        >>> round(float(np.mean(wet)), 1), round(model.query("lawn")["wet"], 1)
        (0.5, 0.5)
        """
        return answers.as_network(drawn_network(self.live.network(), checked_rng(rng)), self.network)

    def simulate_one(self, x: X, n: int, rng: np.random.Generator) -> dict[Any, list[Any]]:
        """Return `n` events like x as columns of values, drawn in one world that the counts and x allow.

        A world is a draw of the tables, given the counts and x. The events are independent in it, so the number of a
        value among them varies by the doubt about the tables too; `sample` takes the tables as certain.

        Parameters
        ----------
        x
            The event: its values are those of every event returned. Others are drawn.
        n
            The number of events.
        rng
            The source of randomness.

        Examples
        --------
        >>> import numpy as np
        >>> from stream_bayes import BayesNet
        >>> model = BayesNet({"rain": []})
        >>> for number in range(20):
        ...     model.learn_one({"rain": "yes" if number % 2 else "no"})
        >>> rng = np.random.default_rng(0)
        >>> rain = [model.simulate_one({}, 100, rng)["rain"].count("yes") for _ in range(500)]
        >>> round(np.std(rain)), round((100 * 0.5 * 0.5) ** 0.5)  # and if P(rain) were certain
        (12, 5)
        """
        check_count("n", n)
        evidence = answers.evidence_of(self.live.network(), x)
        answers.check_known(self.live.network())
        world = world_given(self.live.network(), self.live.engine(), evidence, checked_rng(rng))
        return Inference(world, memory_budget=self.memory_budget).sample(n, rng, evidence)

    # -- the model ----------------------------------------------------------------------------------------------------

    @property
    def states(self) -> dict[Any, tuple[Any, ...]]:
        """The values of each variable that hold samples or were declared."""
        return {v: self.store.held_states(v) for v in self.structure.variables}

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
        return answers.conditional_table(self.live.network(), variable)

    def to_network(self) -> DiscreteNetwork:
        """Return the network as it is now, as a `DiscreteNetwork`; `write_bif` takes it.

        Raises
        ------
        NoValueKnown
            If a variable has no known value.
        """
        return answers.as_network(self.live.network(), self.network)

    def _repr_html_(self) -> str:
        return network_html(self, f"BayesNet: {self.clock:,} events learned")

    # -- keeping ------------------------------------------------------------------------------------------------------

    def _get_params(self) -> dict[str, Any]:
        params = super()._get_params()
        return params | {"structure": LEARN} if self.is_growing else params

    def derived_state(self) -> dict[str, Any]:
        return {} if self._growth is None else self._growth.state()

    def load_derived(self, derived: Mapping[str, Any]) -> None:
        if self._growth is None:
            super().load_derived(derived)
        else:
            self._growth.load(derived)

    def load_parts(self, store: Mapping[str, Any], derived: Mapping[str, Any]) -> None:
        super().load_parts(store, derived)
        is_whole = self._growth is not None or (
            self.store.structure == self._structure and self.store.tried is None
        )
        expect(is_whole, "it counts the families of another structure")
        self.live.reset()

    def after_merge(self) -> None:
        self.live.invalidate()


def _read_structure(structure: Any, network: DiscreteNetwork | None) -> Structure:
    if network is not None and not isinstance(network, DiscreteNetwork):
        raise BadValue(f"network must be a DiscreteNetwork, as read_bif returns it, not {shown(network)}")
    if isinstance(structure, Structure):
        return structure
    if structure is None and network is not None:
        return network.structure
    if isinstance(structure, (list, tuple)):
        return Structure.from_edges(structure)
    if not isinstance(structure, Mapping):
        raise BadValue(
            f"structure must be a Structure, a dict {{variable: [parent, ...]}}, edges [(parent, child), ...] or "
            f"{LEARN!r}, not {shown(structure)}; for a graph there is Structure.from_networkx"
        )
    return Structure(structure)


def _names_in(rows: Native) -> list[Any]:
    """Return the names of the features in many events that were learned."""
    if isinstance(rows, CodedColumns):
        return [*rows.names, *rows.numeric_names]
    if isinstance(rows, (list, tuple)):
        return list(dict.fromkeys(name for row in rows for name in row))
    return list(read_table(rows).columns)


def _weights(w: Native, rows: int) -> NDArray[np.float64] | None:
    if w is None:
        return None
    if isinstance(w, (int, float, np.number)):
        return np.full(rows, read_weight(w))
    weights = np.array([read_weight(one) for one in labels_of(w, "weights")])
    if len(weights) != rows:
        raise BadWeight(f"{rows} rows, but {len(weights)} weights")
    return weights
