"""A Bayesian network as a classifier: one variable, the class, is predicted from the others."""

from __future__ import annotations

import math
import warnings
from collections.abc import Container, Mapping
from functools import partial
from typing import Any, Self

import numpy as np

from stream_bayes.core.inference.inference import Inference
from stream_bayes.core.inference.posterior import MostProbable, Posterior
from stream_bayes.core.inference.questions import NamedQuestions
from stream_bayes.core.live_networks.class_reading import ClassReading
from stream_bayes.core.live_networks.labelled_counts import LabelledCounts
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.readings._reading import Reading
from stream_bayes.core.search.hill_climbing import HillClimbing
from stream_bayes.core.search.sample import Sample
from stream_bayes.core.search.score_search import ScoreSearch
from stream_bayes.core.values.unknown_names import did_you_mean
from stream_bayes.core.values.values import Value, canonical, is_missing, shown
from stream_bayes.data.frames import Native
from stream_bayes.data.schema import Schema
from stream_bayes.errors import (
    BadStructure,
    BadValue,
    CannotMerge,
    CountsForgotten,
    ImpossibleEvidence,
    NotSupported,
    NoValueKnown,
    UnknownFeature,
)
from stream_bayes.learners.base.arguments import (
    check_count,
    check_seed,
    warn_of_absent,
    warn_of_moved_numbers,
)
from stream_bayes.learners.base.base import X
from stream_bayes.learners.base.binning import Binning
from stream_bayes.learners.base.draws import checked_rng
from stream_bayes.learners.base.pair_classifier import PairClassifier
from stream_bayes.learners.base.posteriors import SharePosterior
from stream_bayes.learners.base.samples import samples_of
from stream_bayes.learners.base.traits import Traits, is_led_by_order, random_order
from stream_bayes.networks.answers import as_network, check_known, credible_intervals
from stream_bayes.networks.class_growth import ClassGrowth, GrowingReading
from stream_bayes.networks.conditional_table import checked_level
from stream_bayes.networks.evidence import evidence_of_network
from stream_bayes.networks.growing_learner import GrowingLearner
from stream_bayes.networks.growth import GROWING_WINDOW, LEARN
from stream_bayes.networks.posterior_draws import DrawnBayesNet, DrawnNetwork, drawn_network, world_given
from stream_bayes.networks.view import ClassifierView

__all__ = ["BayesNetClassifier"]


class _AllBut:
    """All names but one."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __contains__(self, name: object) -> bool:
        return name != self.name


class BayesNetClassifier(GrowingLearner, NamedQuestions, PairClassifier):
    """A Bayesian network as a classifier: the class is one of its variables and is predicted from its Markov blanket.

    Parameters
    ----------
    structure
        The parents of each variable, class included: a `Structure`, `{variable: [parent, ...]}`, or edges,
        `[(parent, child), ...]`. Features outside it
        are ignored. `"learn"` grows one: at first every feature depends on the class alone. The structure is searched
        again after half as many events as there were, over the newest `window` events, and replaced when a trial on the
        events that follow proves that another one predicts the class better; `changes` is the log. None makes every
        feature depend on the class alone for good, as in naive Bayes.
    target
        The name of the class in the structure; None takes the schema's, or `"class"`. A feature of an event with that
        name is ignored: the class is given by the label alone.
    class_prior
        `"counted"`, `"uniform"`, or `{label: probability}`. A class with parents is always counted.
    unlabelled
        The treatment of `learn_one(x, None)`: `"refuse"` raises an error; `"em"` (expectation maximisation) counts the
        newest events without a label too, if and as much as that predicts the newest labels better, as `NaiveBayes`
        does. Not for a structure that grows.
    memory_budget
        The most bytes that the tables may take. Growth beyond it raises `BudgetExceeded` and learns nothing. Exact
        inference, used if values of the Markov blanket are missing, may take as many again, 2**28 if not given.
    prior, strength, half_life, binning, schema, max_values
        As in `AODE`. Numbers are read as bins.
    search
        For a structure that grows: the search, with tiers, required and forbidden edges, and limits. None is
        `HillClimbing()`.
    window
        For a structure that grows: the number of newest events that are searched, and from which the tables of a new
        structure are counted. None is 20,000.
    seed
        The seed of the restarts of searches, and of `edge_confidence`.

    Notes
    -----
    Promises: the counts are exact, whatever the order, batches or merged shards of the events; an unlearned event
    leaves no trace. Cuts found from the data depend on the order of events. A structure that grows depends on the order
    of events, too: the same events give the same bytes, and it cannot be merged. A search is done in slices, one with
    each event, so that no event waits for a whole search; `work` does them in idle moments.

    A prediction reads P(class | its parents) and P(child | its parents) of each child of the class, and takes time in
    proportion to their number. If a value of the Markov blanket is missing, exact inference sums over it; that takes
    half a millisecond or more. P(value | parents) is (n + s / V) / (N + s); a row without samples is uniform.

    Memory: 8 bytes a cell of each feature with its parents, times the classes (16 with fractional weights or fading),
    and for a structure that grows its window: 4 bytes for each event and nominal feature, 8 for each and numeric one.

    Examples
    --------
    >>> from stream_bayes import BayesNetClassifier
    >>> model = BayesNetClassifier({"season": [], "rain": ["season"], "lawn": ["rain"]}, target="rain")
    >>> for season, rain, lawn in [("wet", "yes", "wet"), ("dry", "no", "dry"), ("dry", "no", "wet")]:
    ...     model.learn_one({"season": season, "lawn": lawn}, rain)
    >>> model.predict_one({"season": "dry", "lawn": "wet"}), model.predict_one({"lawn": "dry"})
    ('no', 'no')
    """

    reading: ClassReading
    store: LabelledCounts

    def __init__(
        self,
        structure: Any = LEARN,
        target: str | None = None,
        prior: str = "m-estimate",
        strength: float = 1.0,
        class_prior: Any = "counted",
        unlabelled: str = "refuse",
        half_life: float | str | None = None,
        binning: str | Binning | None = "quantile",
        schema: Schema | None = None,
        max_values: int | None = None,
        memory_budget: int | None = None,
        search: ScoreSearch | None = None,
        window: int | None = None,
        seed: int = 0,
    ) -> None:
        self.target = target
        self.search = search
        self.window = window
        self.seed = seed
        self.is_growing = isinstance(structure, str) and structure == LEARN
        if target is not None and not isinstance(target, str):
            raise BadValue(f"target must be the name of the class, a str, or None, not {shown(target)}")
        if isinstance(binning, Binning) and binning.moving:
            raise BadValue(
                "the families of a BayesNetClassifier need cuts that stay: leave binning.moving out, or take TAN or KDB"
            )
        self._structure: Structure | None = None if self.is_growing else structure  # checked in `_begin`
        super().__init__(
            prior, strength, class_prior, half_life, binning, schema, max_values, memory_budget, unlabelled
        )

    def _check_growth(self) -> None:
        """Check the arguments of a structure that grows."""
        if self.search is not None and not isinstance(self.search, ScoreSearch):
            raise BadValue(
                f"search must be HillClimbing(...), BOSS(...), ExactSearch(...) or None, not {shown(self.search)}"
            )
        check_seed(self.seed)
        if self.window is not None:
            check_count("window", self.window)
        if self.is_growing and self.unlabelled == "em":
            raise BadValue(
                "unlabelled='em' needs a structure that stays: give one, or structure=None for naive Bayes"
            )
        for name in ("search", "window"):
            if not self.is_growing and getattr(self, name) is not None:
                raise BadValue(f"{name} is for structure={LEARN!r}, which grows; leave it out")

    def _begin(self) -> None:
        self._check_growth()
        self._structure = self._checked(self._structure)  # it depends on the schema and the class prior
        super()._begin()

    def _checked(self, argument: Any) -> Structure | None:
        if argument is None:
            return None
        if isinstance(argument, (list, tuple)):
            argument = Structure.from_edges(argument)
        if not isinstance(argument, (Structure, Mapping)):
            raise BadValue(
                f"structure must be a Structure, a dict {{variable: [parent, ...]}}, edges [(parent, child), ...], "
                f"{LEARN!r} or None, not {shown(argument)}; for a graph there is Structure.from_networkx"
            )
        structure = argument if isinstance(argument, Structure) else Structure(argument)
        if self.target_name not in structure:
            raise BadStructure(
                f"the structure has no variable {shown(self.target_name)}, the class"
                f"{did_you_mean(self.target_name, structure, f'name it with target, one of {shown(list(structure))}')}"
            )
        if structure.parents(self.target_name) and self.class_prior != "counted":
            raise BadStructure("a class that has parents in the structure is counted; leave class_prior out")
        if isinstance(self.schema, Schema):
            for name in structure:
                if name != self.target_name and name not in self.schema.features:
                    rest = did_you_mean(name, self.schema.features, "declare it in the schema")
                    raise UnknownFeature(
                        f"the structure has the variable {shown(name)}, which is not declared{rest}"
                    )
        return structure

    @property
    def target_name(self) -> str:
        """The name of the class."""
        return super().target_name if self.target is None else self.target

    def _store_of(self, encoder: Any, **settings: Any) -> LabelledCounts:
        if self.schema is None:
            encoder.wanted = self._features_of(self._structure)
        return LabelledCounts(
            encoder,
            self._structure,
            self.target_name,
            window=self.kept_events,
            on_moved=warn_of_moved_numbers,
            **settings,
        )

    @property
    def kept_events(self) -> int | None:
        if not self.is_growing:
            return None
        return GROWING_WINDOW if self.window is None else self.window

    def _make_reading(self, store: Any, class_prior: str) -> Reading:
        settings = self._settings(class_prior)
        if not self.is_growing:
            return ClassReading(store, partial(warn_of_absent, "the variable"), **settings)
        search = HillClimbing() if self.search is None else self.search
        return GrowingReading(store, search, self.seed, **settings)

    @property
    def traits(self) -> Traits:
        base, takes_all = super().traits, self.is_growing or self._structure is None
        return base._replace(
            is_order_dependent=base.is_order_dependent or self.is_growing,
            is_mergeable=base.is_mergeable and not self.is_growing,
            accepts_new_features=base.accepts_new_features and takes_all,
        )

    def _get_params(self) -> dict[str, Any]:
        params = super()._get_params()
        return params | {"structure": LEARN} if self.is_growing else params

    def merge(self, other: Self) -> Self:
        """Add the counts of another learner of the same class and settings, which stays unchanged.

        Raises `CannotMerge` if the structure grows.
        """
        if self.is_growing:
            raise CannotMerge(
                "a structure that grows depends on the order of events, so it cannot be merged; give the structure, as "
                "BayesNetClassifier(model.structure)"
            )
        return super().merge(other)

    # -- learning -----------------------------------------------------------------------------------------------------

    def fit(self, X: Native, y: Native = None, w: Native = None) -> Self:
        """Learn the rows of a table, as `learn_many` does, and return the classifier.

        If it depends on their order, as a structure that grows does, they come in a random one, the same each time,
        unless samples fade.
        """
        if is_led_by_order(self) and (samples := [*samples_of(self, X, y, w)]):
            order = random_order(len(samples))
            rows, labels, weights = zip(*(samples[index] for index in order), strict=True)
            self.learn_many([*rows], [*labels], [*weights])
        else:
            self.learn_many(X, y, w)
        return self

    def predict_proba(self, X: Native) -> Any:
        """Return the probabilities of many rows, as `predict_proba_many` does."""
        return self.predict_proba_many(X)

    # -- structure ----------------------------------------------------------------------------------------------------

    @property
    def structure(self) -> Structure | None:
        """The parents of each variable; None while every feature depends on the class alone.

        It can be set: families of both structures keep their counts, new families begin now with the warning
        `CountsForgotten`, and the cuts of numbers stay. Unlearning a sample then needs `at`, the clock when it was
        learned. In a structure that grows, new families are counted from the window, and growth goes on from there.
        """
        return self.store.structure

    @structure.setter
    def structure(self, structure: Any) -> None:
        wanted = self._checked(structure)
        store = self.store
        before = set(store.wanted_families())
        store.change_structure(wanted)
        if isinstance(self.reading, GrowingReading):
            self.reading.growth.drop()
            return
        self._structure = wanted
        if self.schema is None:
            encoder: Any = store.encoder
            encoder.wanted = self._features_of(wanted)
        names: dict[int, Any] = {feature.slot: name for name, feature in store.encoder.features.items()}
        begun = [names[child] for child, above in store.wanted_families() if (child, above) not in before]
        if begun and any(store.tables.class_samples):
            warnings.warn(
                f"events are not kept, so the tables of {shown(begun)} given their parents begin anew; a "
                "BayesNetClassifier made with this structure would count all events in them",
                CountsForgotten,
                stacklevel=2,
            )

    @property
    def _growth(self) -> ClassGrowth | None:
        return self.reading.growth if isinstance(self.reading, GrowingReading) else None

    def recent(self) -> Sample:
        """Return the newest events, class included, as a sample to search structures over; numbers are in bins.

        Raises
        ------
        NotSupported
            If the structure is a given one: then no events are kept.
        """
        return self._growing().recent()

    def _growing(self) -> ClassGrowth:
        if self._growth is None:
            raise NotSupported(f"no events are kept to search over; that is for structure={LEARN!r}")
        return self._growth

    def _features_of(self, structure: Structure | None) -> Container[Any]:
        """Return the features to learn if nothing is declared."""
        return _AllBut(self.target_name) if structure is None else frozenset(structure) - {self.target_name}

    # -- the model ----------------------------------------------------------------------------------------------------

    def conditional(self, feature: Any, given: Mapping[Any, Any] | None = None) -> dict[Any, Any]:
        """Return P(feature | class, ...) as the model has it now, by exact inference.

        Parameters
        ----------
        feature
            The name of the feature.
        given
            The class, under its name in the structure, and values of other features. Without the class, a table for
            each class is returned.

        Returns
        -------
        `{value: probability}`.
        """
        label, condition = self._split_given(given)
        engine = self.reading.engine()
        for name in (feature, *condition):
            if name not in engine.structure or name == self.target_name:
                features = [feature for feature in engine.structure if feature != self.target_name]
                rest = did_you_mean(name, features, f"there are {shown(features)}")
                raise UnknownFeature(f"no feature {shown(name)} is in the network{rest}")
        evidence = {name: self._value(name, value) for name, value in condition.items()}
        return self._by_class(label, lambda y: dict(engine.query(feature, {**evidence, self.target_name: y})))

    def joint(self, feature: Any = ...) -> dict[Any, Any]:
        """Return P(y), or P(y, feature) as `{label: {value: probability}}`, as the model has it now."""
        engine = self.reading.engine()
        if feature is ...:
            return dict(engine.query(self.target_name))
        both = engine.query([self.target_name, feature])
        return {y: {value: p for (label, value), p in both.items() if label == y} for y in self.classes_}

    def query(
        self, targets: Any, evidence: X | None = None, level: float | None = None, **settings: Any
    ) -> Posterior:
        """Return the probabilities of variables given evidence, as `BayesNet.query` does. The class is one of them.

        Parameters
        ----------
        targets
            A variable, or a list of variables. The class has the name `target`, or "class" without one.
        evidence
            `{variable: value}`, or `{variable: {value: likelihood}}` for soft evidence. Numbers become their bins.
        level
            The level of the credible interval of each probability, such as 0.95: `intervals` of the answer. None: no
            intervals. `predict_interval_one` gives those of the class in less time.
        settings
            As `Inference.query` takes them.

        Examples
        --------
        >>> from stream_bayes import BayesNetClassifier
        >>> model = BayesNetClassifier({"rain": [], "lawn": ["rain"]}, target="rain", strength=0)
        >>> for lawn, rain in [("wet", "yes"), ("dry", "no"), ("wet", "no"), ("dry", "no")]:
        ...     model.learn_one({"lawn": lawn}, rain)
        >>> model.query("lawn", {"rain": "yes"})["wet"], model.query("rain", {"lawn": {"wet": 0.9, "dry": 0.3}})["yes"]
        (1.0, 0.375)
        """
        findings = self._evidence(evidence)
        answer = self._engine().query(targets, findings, **settings)
        self._add_intervals(answer, targets, findings, level)
        return answer

    def marginals(
        self, evidence: X | None = None, level: float | None = None, **settings: Any
    ) -> dict[Any, Posterior]:
        """Return the probabilities of every variable's values given evidence, the class included; see `query`."""
        findings, engine = self._evidence(evidence), self._engine()
        check_known(self.reading.network())
        posteriors = engine.marginals(findings, **settings)
        for variable, answer in posteriors.items():
            self._add_intervals(answer, variable, findings, level)
        return posteriors

    def _add_intervals(self, answer: Posterior, targets: Any, findings: X, level: float | None) -> None:
        """Give an answer the credible intervals of its probabilities; None as the level gives none."""
        if level is not None:
            engine, network = self.reading.engine(), self.reading.network()
            answer.intervals = credible_intervals(
                engine, network, targets, findings, answer, checked_level(level)
            )

    def _table_posterior(self, feature: Any, label: Any, rest: Mapping[Any, Any]) -> Any:
        network = self.reading.network()
        if feature not in network.structure:
            raise UnknownFeature(
                f"no feature {shown(feature)} is in the network; there are {shown(list(network.structure))}"
            )
        parents = network.structure.parents(feature)
        free = [name for name in parents if name not in rest and name != self.target_name]
        further = [name for name in rest if name not in parents]
        if free or further or (label is not ... and self.target_name not in parents):
            raise NotSupported(
                f"the table of {shown(feature)} is given its parents {shown(list(parents))} and nothing else: give "
                "each of them a value"
            )
        weights = network.weights(feature)
        assert weights is not None  # it is no class
        evidence = self._evidence(rest)

        def row(y: Any) -> SharePosterior:
            row: Any = weights
            for name in parents:
                row = row[network.states[name].index(y if name == self.target_name else evidence[name])]
            return SharePosterior(dict(zip(network.states[feature], row.tolist(), strict=True)))

        return self._by_class(label, row) if self.target_name in parents else row(...)

    def most_probable(self, evidence: X | None = None) -> MostProbable:
        """Return the most probable values of all variables together given evidence, the class included."""
        engine = self._engine()
        check_known(self.reading.network())
        return engine.most_probable(self._evidence(evidence))

    def probability_of_evidence(self, evidence: X) -> float:
        """Return the probability of evidence, which may include the class; likelihoods are not normalised."""
        return math.exp(self.log_probability_of_evidence(evidence))

    def log_probability_of_evidence(self, evidence: X) -> float:
        """Return the logarithm of the probability of evidence, also where that is too small for a double."""
        return self._engine().log_probability(self._evidence(evidence))

    def do(self, values: X) -> DiscreteNetwork:
        """Return the network as it is now after an intervention, for `Inference`."""
        return self.to_network().do(values)

    def _engine(self) -> Inference:
        self._check_has_class()
        return self.reading.engine()

    def _check_has_class(self) -> None:
        if not self.classes_:
            raise NoValueKnown("no class is known yet; learn samples first")

    def _evidence(self, evidence: X | None) -> dict[Any, Any]:
        """Return evidence by the values that the network has."""
        return {
            name: value
            if name == self.target_name
            or name not in self.store.encoder.features
            or isinstance(value, Mapping)
            or is_missing(value)
            else self._value(name, value)
            for name, value in (evidence or {}).items()
        }

    def to_network(self) -> DiscreteNetwork:
        """Return the network as it is now, class included, as a `DiscreteNetwork`; `write_bif` takes it.

        Raises
        ------
        NoValueKnown
            If a variable has no known value, or no class was learned.

        Examples
        --------
        >>> from stream_bayes import BayesNetClassifier
        >>> model = BayesNetClassifier({"rain": [], "lawn": ["rain"]}, target="rain", strength=0)
        >>> for lawn, rain in [("wet", "yes"), ("dry", "no"), ("wet", "no"), ("dry", "no")]:
        ...     model.learn_one({"lawn": lawn}, rain)
        >>> model.to_network().tables["rain"].tolist()
        [0.25, 0.75]
        """
        return as_network(self.reading.network())

    def draw(self, rng: np.random.Generator) -> DrawnBayesNet:
        """Return a classifier with tables drawn from their posterior, as that of every learner; and as a network.

        Examples
        --------
        >>> import numpy as np
        >>> from stream_bayes import BayesNetClassifier
        >>> model = BayesNetClassifier({"rain": [], "lawn": ["rain"]}, target="rain")
        >>> for lawn, rain in [("wet", "yes"), ("dry", "no"), ("wet", "no"), ("dry", "no")]:
        ...     model.learn_one({"lawn": lawn}, rain)
        >>> draw = model.draw(np.random.default_rng(1))
        >>> draw.predict_one({"lawn": "dry"}), draw.to_network()
        ('no', DiscreteNetwork(2 variables, 1 edge, 6 probabilities))
        """
        return self.draw_tables(checked_rng(rng))

    def draw_tables(self, rng: np.random.Generator) -> DrawnBayesNet:
        self._check_has_class()
        return self._as_drawn(drawn_network(self.reading.network(), rng))

    def draw_given(self, x: X, rng: np.random.Generator) -> DrawnBayesNet:
        engine, network = self._engine(), self.reading.network()
        evidence = self.reading.evidence_of(self.store.encoder.lookup(x))
        try:
            return self._as_drawn(world_given(network, engine, evidence, rng))
        except ImpossibleEvidence:
            return self._as_drawn(drawn_network(network, rng))

    def _as_drawn(self, drawn: DrawnNetwork) -> DrawnBayesNet:
        """Return a drawn network as a classifier."""
        store = self.store
        return DrawnBayesNet(
            store.encoder, self.reading.network(), drawn, self.target_name, store.memory_budget
        )

    def log_evidence(self) -> float:
        """Return the log-probability of everything learned under this structure, tables integrated out.

        It is the sum of log P(y, x) of all events, each before it was learned, in any order. Raises `NotSupported`
        where it is not exact, as `BayesNet.log_evidence` does.
        """
        empty: BayesNetClassifier = self.clone()
        if not empty.classes_:
            raise NotSupported(
                f"{type(self).__name__} has no exact evidence here: declare all classes, in the schema"
            )
        events = math.fsum(self.store.tables.class_weight)
        return evidence_of_network(self, self.reading.network(), empty.reading.network(), events)

    def view(self) -> ClassifierView:
        """Return the classifier as it is now, for other threads and processes to use while learning goes on.

        It copies the tables. Call it in the thread that learns.
        """
        return ClassifierView(self, self.structure, self.clock, self.classes_)

    def _value(self, name: Any, value: Any) -> Value:
        feature = self._tables.feature(name)
        if feature.measured and not isinstance(value, str):
            row = self.store.encoder.lookup({name: value})
            return feature.vocabulary.values[row.code[0]]
        return canonical(value, feature=name)
