"""A Bayesian network that learns its tables from a stream, and answers questions about any of its variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_bayes.columns import CodedColumns
from stream_bayes.core._binning import Bins
from stream_bayes.core._encoding import RowEncoder, read_weight
from stream_bayes.core._vocabulary import Vocabulary
from stream_bayes.core.bulk import learn_rows
from stream_bayes.core.counted_network import CountedNetwork
from stream_bayes.core.counts_state import expect
from stream_bayes.core.cutting import bin_names
from stream_bayes.core.family_counts import EVENT, FamilyCounts
from stream_bayes.core.inference import Inference
from stream_bayes.core.inputs import read_number
from stream_bayes.core.network import DiscreteNetwork
from stream_bayes.core.posterior import MostProbable, Posterior
from stream_bayes.core.structure import Structure
from stream_bayes.core.values import OTHER, Value, canonical, is_missing, shown
from stream_bayes.errors import BadStructure, BadValue, BadWeight, SchemaError, UnknownFeature
from stream_bayes.frames import Native, labels_of
from stream_bayes.learners.arguments import check_choice, check_count, check_number
from stream_bayes.learners.batches import encode_batch, row_count
from stream_bayes.learners.conditional_table import ConditionalTable
from stream_bayes.learners.keeping import Keeping
from stream_bayes.schema import Nominal, Schema

__all__ = ["BayesNet"]

X = Mapping[Any, Any]


class BayesNet(Keeping, base.Estimator):
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
        they fall into. Without it variables are nominal, and their values met as they come.
    max_values
        How many values a variable may have; further ones share one, `<other>`.
    memory_budget
        The most bytes that the tables may take; growth past it raises `BudgetExceeded` and changes nothing.
    missing
        What is learned from an event that lacks some variables: `"skip"` counts each family, a variable with its
        parents, that is there as a whole, and nothing else.
    network
        A network of this structure known beforehand. Its labels count as declared.
    network_weight
        How many fresh samples each row of its tables is worth, however many were learned; it does not fade.

    Notes
    -----
    Promises: the counts are those of the events, whatever their order, batches, or shards that were merged; what is
    unlearned was never there. The same to 1e-9 with fractional weights and fading.

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
        self._structure = _read_structure(structure, network)
        self._check()
        encoder, cuts = _encoder(self._structure, schema, network, max_values)
        binning = (
            {"method": "quantile", "bins": None, "after": 1, "window": 1, "declared": cuts} if cuts else None
        )
        self._store: FamilyCounts = FamilyCounts(
            encoder, self._structure, half_life=half_life, memory_budget=memory_budget, binning=binning
        )
        self._engine: Inference | None = None
        self._network: CountedNetwork | None = None  # what the engine's tables are read by
        self._fresh = False  # whether the engine has the tables as they are now
        self._codes: dict[Any, dict[Any, int]] = {}

    def _check(self) -> None:
        check_number("strength", self.strength)
        check_choice("prior", self.prior, ("m-estimate", "laplace"))
        check_choice("missing", self.missing, ("skip",))
        check_number("network_weight", self.network_weight)
        if self.half_life is not None:
            check_number("half_life", self.half_life, above=True)
        for name in ("max_values", "memory_budget"):
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
        """A learner that knows a network beforehand.

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
        return cls(network.structure, network=network, network_weight=weight, **settings)

    @property
    def _supervised(self) -> bool:
        return False

    # -- structure ----------------------------------------------------------------------------------------------------

    @property
    def structure(self) -> Structure:
        """The parents of each variable. Families that another structure has, too, keep their counts when it is set;
        those of the others begin at that time.
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
        self._store.change_structure(wanted)
        self._structure = wanted
        self._engine = None
        self._fresh = False

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
        store.tables.add(store.encode(x, EVENT, w))
        self._fresh = False

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
        self._fresh = False

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
        if isinstance(X, CodedColumns) and not X.numeric_names:
            store.learn_columns(X.names, X.codes, X.vocabularies, _weights(w, len(X)))
        else:
            rows = row_count(X)
            learn_rows(store, encode_batch(store, X, [EVENT] * rows, w, learning=True))
        self._fresh = False

    def advance(self, events: int) -> None:
        """Let events pass that are learned elsewhere, so that the shards of one stream fade by one clock."""
        self._store.advance(events)
        self._fresh = False

    @property
    def clock(self) -> int:
        """How many events have been learned, or passed by `advance`."""
        return int(self._store.tables.clock)

    # -- asking -------------------------------------------------------------------------------------------------------

    def query(self, targets: Any, evidence: X | None = None, **settings: Any) -> Posterior:
        """The probabilities of a variable's values given evidence, or of the combinations of several variables'.

        Parameters
        ----------
        targets
            A variable: the answer maps its values. Or a list of variables: it maps tuples of values, in their order.
        evidence
            What is known: `{variable: value}`; for what was seen less certainly `{variable: {value: likelihood}}`, with
            a likelihood for each value. What is None or NaN is not known.
        settings
            `method`, `rng`, `samples`, `chains` and `burn_in`, as `Inference.query` takes them: exact where it fits
            into memory.

        Raises
        ------
        UnknownFeature
            If the structure has no such variable.
        ImpossibleEvidence
            If the evidence has probability zero.
        """
        return self._inference().query(targets, self._known(evidence), **settings)

    def marginals(self, evidence: X | None = None, **settings: Any) -> dict[Any, Posterior]:
        """The probabilities of every variable's values given evidence; for the arguments see `query`."""
        return self._inference().marginals(self._known(evidence), **settings)

    def most_probable(self, evidence: X | None = None) -> MostProbable:
        """The most probable values of all variables together, given evidence."""
        return self._inference().most_probable(self._known(evidence))

    def log_likelihood_one(self, x: X) -> float:
        """The logarithm of the probability of an event. What is missing is summed out, and so is a value that was never
        met; what the structure does not know is ignored. -inf if it is impossible.
        """
        engine, row = self._inference(), self._store.encoder.lookup(x)
        codes = np.full((1, len(self._structure)), -1, np.int32)
        features = self._store.encoder.nominal
        for k in range(row.entries):
            feature = features[row.feature[k]]
            if feature.name in self._codes:
                place, known = self._codes[feature.name]
                codes[0, place] = known.get(feature.vocabulary.values[row.code[k]], -1)
        return float(engine.log_likelihoods(codes)[0])

    def sample(self, n: int, rng: np.random.Generator) -> dict[Any, list[Any]]:
        """Draw events, as columns of values; `learn_many` takes them.

        Parameters
        ----------
        n
            How many.
        rng
            Where chance comes from.
        """
        return self._inference().sample(n, rng)

    def _inference(self) -> Inference:
        """The engine, with the tables as they are now."""
        if self._engine is not None and self._fresh:
            return self._engine
        if self._engine is not None and self._network is not None and self._network.is_current:
            self._network.fill(self._engine.conditionals)
            self._fresh = True
            return self._engine
        network = self._network = self._counted()
        if self._engine is None:
            self._engine = Inference(network)
        else:
            self._engine.load(network)
        self._codes = {
            v: (place, {value: code for code, value in enumerate(network.states[v])})
            for place, v in enumerate(self._structure.variables)
        }
        self._fresh = True
        return self._engine

    def _known(self, evidence: X | None) -> dict[Any, Any]:
        """Evidence by the values that the network has."""
        if evidence is None:
            return {}
        if not isinstance(evidence, Mapping):
            raise BadValue(f"evidence comes as a dict {{variable: value}}, not as {shown(evidence)}")
        return {variable: self._value(variable, known) for variable, known in evidence.items()}

    def _value(self, variable: Any, known: Any) -> Any:
        if variable not in self._structure or isinstance(known, Mapping) or is_missing(known):
            return known
        feature = self._store.encoder.features[variable]
        values = feature.vocabulary
        if feature.measured and not isinstance(known, str):
            number = read_number(variable, known, True)
            return values.values[self._store.encoder.bins.code_of(feature.slot, number)]
        value = canonical(known, feature=variable)
        return OTHER if values.find(value) < 0 <= values.other else value

    # -- reading the model --------------------------------------------------------------------------------------------

    def _counted(self) -> CountedNetwork:
        return CountedNetwork(
            self._store, self.strength, self.prior == "m-estimate", self.network, self.network_weight
        )

    @property
    def states(self) -> dict[Any, tuple[Any, ...]]:
        """The values of each variable that hold samples, or were declared."""
        return {v: self._store.held_states(v) for v in self._structure.variables}

    def cpt(self, variable: Any) -> ConditionalTable:
        """P(variable | its parents), as `{(parents' values): {value: probability}}`, with credible intervals.

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
        (0.2924..., 0.9915...)
        """
        self._check_variable(variable)
        network = self._counted()
        parents = self._structure.parents(variable)
        values = network.states[variable]
        rows = list(product(*[network.states[parent] for parent in parents]))
        table = network.table(variable).reshape(-1, len(values)).tolist()
        weights = network.weights(variable).reshape(-1, len(values)).tolist()
        return ConditionalTable(
            variable,
            parents,
            {row: dict(zip(values, shares, strict=True)) for row, shares in zip(rows, table, strict=True)},
            {row: tuple(own) for row, own in zip(rows, weights, strict=True)},
        )

    def to_network(self) -> DiscreteNetwork:
        """The network as it is now, as numbers to hand over: `write_bif` takes it.

        Raises
        ------
        BadStructure
            If no value of a variable is known yet.
        """
        counted, given = self._counted(), self.network
        states = {v: tuple(map(_label, values)) for v, values in self.states.items()}
        for variable, labels in states.items():
            if not labels:
                raise BadStructure(
                    f"no value of {shown(variable)} is known yet; learn events that have it, or declare its values "
                    "in a schema"
                )
        if given is None:
            return DiscreteNetwork(self._structure, states, counted.tables)
        return DiscreteNetwork(
            self._structure,
            states,
            counted.tables,
            name=given.name,
            properties=given.properties,
            properties_of=given.properties_of,
            tolerance=given.tolerance,
        )

    def _check_variable(self, variable: Any) -> None:
        if variable not in self._structure:
            raise UnknownFeature(
                f"the network has no variable {shown(variable)}; its variables: {shown(list(self._structure))}"
            )

    # -- keeping ------------------------------------------------------------------------------------------------------

    def _load(self, store: Mapping[str, Any], derived: Mapping[str, Any]) -> None:
        super()._load(store, derived)
        expect(self._store.structure == self._structure, "it counts the families of another structure")
        expect(not self._store.priors, "it holds tables given beforehand twice")
        self._engine = None
        self._fresh = False

    def _merged(self) -> None:
        self._fresh = False


def _read_structure(structure: Any, network: DiscreteNetwork | None) -> Structure:
    if network is not None and not isinstance(network, DiscreteNetwork):
        raise BadValue(f"network must be a DiscreteNetwork, as read_bif returns it, not {shown(network)}")
    if isinstance(structure, Structure):
        return structure
    if structure is None and network is not None:
        return network.structure
    if not isinstance(structure, Mapping):
        raise BadValue(
            f"structure must be a Structure or a dict {{variable: [parent, ...]}}, not {shown(structure)}"
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


def _label(value: Any) -> Value:
    """A value as it is handed over: what values past a limit share is called so."""
    return "<other>" if value is OTHER else value


def _encoder(
    structure: Structure, schema: Schema | None, network: DiscreteNetwork | None, max_values: int | None
) -> tuple[RowEncoder, dict[str, Sequence[float]]]:
    """The encoder of a network's events, and the cuts of variables that are numbers."""
    refuse = schema is not None and schema.unknown == "refuse"
    given: dict[Any, tuple[Value, ...]] = {} if network is None else dict(network.states)
    declared: dict[Any, Vocabulary | None] = {}
    cuts: dict[str, Sequence[float]] = {}
    for name, spec in ({} if schema is None else schema.features).items():
        values = given.get(name, ())
        if isinstance(spec, Nominal):
            limit = max_values if spec.max_values is None else spec.max_values
            known = tuple(dict.fromkeys([*(spec.values or ()), *values]))
            if spec.closed and len(known) > len(spec.values or ()):
                _refuse_foreign(name, values, spec.values or ())
            declared[name] = Vocabulary(known, limit, spec.closed)
        elif spec.cuts is not None:
            _refuse_foreign(name, values, bin_names(spec.cuts))
            declared[name], cuts[name] = None, spec.cuts
        elif name in structure or refuse:
            raise SchemaError(
                f"variable {shown(name)} is declared numeric, but a network takes values, or numbers in bins: declare "
                "its cuts, Numeric(cuts=[...]), or leave it out"
            )
    if schema is None:
        declared = {name: Vocabulary(given.get(name, ()), max_values) for name in structure.variables}
    bins = Bins(max(len(known) + 1 for known in cuts.values())) if cuts else None
    encoder = RowEncoder(Vocabulary((EVENT,), None, True), declared, refuse, "nominal", max_values, bins)
    # What was not declared is nominal as soon as it is met, and numbers among it are rather a mistake.
    encoder.mixed = schema is not None or _holds_numbers(given.values())
    return encoder, cuts


def _holds_numbers(several: Iterable[Iterable[Any]]) -> bool:
    return any(
        isinstance(value, (int, float)) and not isinstance(value, bool)
        for values in several
        for value in values
    )


def _refuse_foreign(name: str, values: Iterable[Value], declared: Iterable[Value]) -> None:
    known = tuple(declared)
    for value in values:
        if value not in known:
            raise SchemaError(
                f"variable {shown(name)}: the network given beforehand has the label {shown(value)}, the schema "
                f"declares {shown(known)}"
            )
