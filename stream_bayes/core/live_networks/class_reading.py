"""The class of a Bayesian network as a reading of its counts: by its Markov blanket, or by exact inference if values of
the blanket are missing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.encoding._rows import Batch, Row
from stream_bayes.core.inference.inference import Inference
from stream_bayes.core.live_networks._class_reading import BlanketReading
from stream_bayes.core.live_networks.counted_network import variance_of
from stream_bayes.core.live_networks.labelled_counts import LabelledCounts
from stream_bayes.core.live_networks.labelled_network import LabelledNetwork
from stream_bayes.core.live_networks.subnetwork import Subnetwork
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.readings._smoothing import pseudocount
from stream_bayes.core.structures.named_features import PATIENCE, ExpectedFeatures, OnAbsent
from stream_bayes.core.values.values import Value, name_order

__all__ = ["ClassReading"]

MOST_SUBNETWORKS = 100  # each for one set of observed variables


class ClassReading(BlanketReading):
    """Scores of the class given all other variables; without a structure every feature depends on the class alone.

    `on_absent` is as `ExpectedFeatures` takes it, for the variables of a given structure.
    """

    _network: LabelledNetwork | None = None  # the network whose tables the engine has

    def __init__(self, store: LabelledCounts, on_absent: OnAbsent | None = None, **settings: Any) -> None:
        super().__init__(store.tables, store.encoder.labels, **settings)
        self.store = store
        self.expected = ExpectedFeatures([], on_absent)
        self.due = PATIENCE
        self._engine: Inference | None = None
        self._steady = False  # True while nothing is learned
        self._ready = False  # True if the engine has the present tables, while nothing is learned
        self._read_from: Any = None  # the classes and values that the network was made of
        self._subnetworks: dict[frozenset[Value], Subnetwork] = {}  # by the observed variables
        store.followers.append(self.arrange)
        self.arrange()

    def derive(self) -> None:
        """Report the variables of the structure that have not come; nothing is derived."""
        super().derive()
        self.expected.names = [v for v in self.structure if v != self.store.target]
        self.expected.check(self.store.encoder, int(self.tables.clock))

    # -- structure ----------------------------------------------------------------------------------------------------

    @property
    def structure(self) -> Structure:
        """The structure; if none was given, that of naive Bayes over the features seen so far."""
        if self.store.structure is not None:
            return self.store.structure
        target = self.store.target
        names = [name for name in self.store.encoder.features if name != target]
        return Structure({target: [], **{name: [target] for name in names}})

    def arrange(self) -> None:
        """Write the class's Markov blanket in the form that the kernel reads."""
        features, target = self.store.encoder.features, self.store.target
        self._engine, self._network = None, None
        self._subnetworks = {}
        if self.store.structure is None:
            children: list[Value] = sorted(features, key=name_order)
            others: dict[Value, list[Value]] = {name: [] for name in children}
            leaves, above = set(children), tuple[Value, ...]()
        else:
            structure = self.store.structure
            children = list(structure.children(target))
            others = {c: [p for p in structure.parents(c) if p != target] for c in children}
            leaves = {c for c in children if not structure.children(c)}
            above = structure.parents(target)
        slot: dict[Value, int] = {name: int(feature.slot) for name, feature in features.items()}
        family_numbers = {} if self.tables.families is None else self._family_numbers()
        family = []
        for name in children:
            members = (name, *others[name])
            is_counted = len(members) > 1 and all(member in slot for member in members)
            family.append(
                family_numbers[slot[name], tuple(sorted(slot[p] for p in others[name]))] if is_counted else -1
            )
        self.child = np.array([slot.get(name, -1) for name in children], np.longlong)
        self.family = np.array(family, np.longlong)
        self.parent = np.array([slot.get(p, -1) for name in children for p in others[name]], np.longlong)
        self.parent_end = np.cumsum([len(others[name]) for name in children], dtype=np.longlong)
        self.barren = np.array([name in leaves for name in children], np.int32)
        self.above = np.array([slot.get(name, -1) for name in above], np.longlong)
        near = {name for name in (*children, *above) if name in slot} | {
            p for name in children for p in others[name] if p in slot
        }
        blanket = np.zeros(len(features), np.uint8)
        blanket[[slot[name] for name in near]] = 1
        self.blanket = blanket
        self.above_family = -1
        if len(above) > 1 and all(name in slot for name in above):
            self.above_family = family_numbers[self.store.family_of(above, target)]

    def _family_numbers(self) -> dict[Any, int]:
        return {family: f for f, family in enumerate(self.tables.families.families)}

    # -- missing values ------------------------------------------------------------------------------------------------

    def infer(self, row: Row) -> None:
        """Write log P(y | x) of each class into the scores, by exact inference."""
        evidence, labels = self.evidence_of(row), self._eligible_labels()
        subnetwork = self._subnetwork_for(frozenset(evidence))
        scores = subnetwork.scores(evidence, [self.labels.values[code] for code in labels])
        self.score[: self.tables.labels] = -math.inf
        for code, score in zip(labels, scores, strict=True):
            self.score[code] = score

    def infer_spread(self, row: Row) -> None:
        """Write the variances of the log-odds, to first order, into `spread_of`."""
        for label, variance in self.variances(row).items():
            self.spread_of[self.labels.find(label)] = variance

    def log_joint(self, row: Row) -> dict[Any, float]:
        """Return `{label: log P(y, x)}` over all variables of the structure."""
        return self._whole(row, super().log_joint(row))

    def evidence(self, row: Row) -> dict[Any, float]:
        """Return the same without falling back to the prior if every class is impossible."""
        return self._whole(row, super().evidence(row))

    def _whole(self, row: Row, scores: dict[Any, float]) -> dict[Any, float]:
        """Shift scores so that they are log P(y, x) over all variables of the structure."""
        best = max(scores.values(), default=-math.inf)
        if best == -math.inf or self.store.structure is None:  # the blanket contains all variables
            return scores
        engine = self.engine()
        everything = engine.log_probability(self.evidence_of(row))
        if everything == -math.inf:
            return scores
        total = best + math.log(math.fsum(math.exp(score - best) for score in scores.values()))
        return {label: score - total + everything for label, score in scores.items()}

    def variances(self, row: Row) -> dict[Any, float]:
        """Return the variance of each class's log-odds to first order, as the tables are Dirichlet posteriors.

        The derivative by a cell p is D / p, with D the difference of P(cell | class, x) and P(cell | other classes, x).
        A row with means m and A samples adds the variance (sum D^2 / m - (sum D)^2) / (A + 1).
        """
        engine = self.engine()
        evidence, target, network = self.evidence_of(row), self.store.target, self._network
        assert network is not None
        labels = [self.labels.values[code] for code in self._eligible_labels()]
        scores = {y: engine.log_probability({**evidence, target: y}) for y in labels}
        best = max(scores.values())
        share = {y: math.exp(score - best) for y, score in scores.items() if score > -math.inf}
        expected = {y: engine.families({**evidence, target: y}) for y in share}
        answer = dict.fromkeys(labels, 0.0)
        for y in labels:
            others = math.fsum(p for other, p in share.items() if other != y)
            if y not in share or others == 0.0:
                continue
            for variable in engine.structure.variables:
                apart = expected[y][variable] - sum(
                    expected[other][variable] * (p / others) for other, p in share.items() if other != y
                )
                answer[y] += variance_of(apart, network.weights(variable))
        return answer

    def evidence_of(self, row: Row) -> dict[Any, Any]:
        """Return the values of an event that the network has, by variable."""
        values, nominal, structure = self.tables.values, self.store.encoder.nominal, self.store.structure
        evidence: dict[Any, Any] = {}
        for k in range(row.entries):
            feature = nominal[row.feature[k]]
            if (structure is None or feature.name in structure) and values.occupied[
                values.layout.start[feature.slot] + row.code[k]
            ]:
                evidence[feature.name] = feature.vocabulary.values[row.code[k]]
        return evidence

    def _eligible_labels(self) -> list[int]:
        tables = self.tables
        return [c for c in range(tables.labels) if tables.class_samples[c] > 0 or c < self.labels.declared]

    def _prior_weights(self, labels: list[int]) -> NDArray[np.float64] | None:
        """Return the smoothed weights of P(y), in fresh samples; None if the prior was given."""
        if self.class_prior != "counted":
            return None
        add = pseudocount(self.prior_strength, len(labels), self.spread)
        return np.asarray(self.tables.class_weight)[labels] / self.tables.unit + add

    def engine(self) -> Inference:
        """Return an engine of the network, class included, with the tables as they are now."""
        if self._engine is not None and self._steady and self._ready:
            return self._engine
        network = self.network()
        if self._engine is None:
            self._engine = Inference(network, memory_budget=self.store.memory_budget)
        else:
            self._engine.load(network)
        self._ready = True
        return self._engine

    def network(self) -> LabelledNetwork:
        """Return the network as it is now; the last one is reused if it still has all classes and values."""
        labels, values = self._eligible_labels(), self.tables.values
        prior = np.zeros(self.tables.labels)
        self.write_prior(prior)
        shares, weights = np.exp(prior[labels]), self._prior_weights(labels)
        bins = self.store.encoder.bins
        # Bins keep their codes when their names change.
        cuts = () if bins is None else tuple(bins.cuts.items())
        occupied, start = np.asarray(values.occupied).tobytes(), np.asarray(values.layout.start).tobytes()
        read_from = labels, occupied, start, cuts
        if self._network is not None and self._read_from == read_from:
            self._network.set_prior(shares, weights)
            return self._network
        self._read_from, self._subnetworks = read_from, {}
        structure = self.structure if self._network is None else self._network.structure
        self._network = LabelledNetwork(
            self.store, structure, labels, shares, weights, self.strength, self.spread
        )
        return self._network

    def _subnetwork_for(self, observed: frozenset[Value]) -> Subnetwork:
        """Return the subnetwork of the network that the class depends on, with the tables as they are now."""
        subnetwork = self._subnetworks.get(observed)
        if subnetwork is not None and self._steady and subnetwork.ready:
            return subnetwork
        network = self.network()
        subnetwork = self._subnetworks.get(observed)
        if subnetwork is None:
            if len(self._subnetworks) >= MOST_SUBNETWORKS:
                self._subnetworks.clear()
            subnetwork = self._subnetworks[observed] = Subnetwork(
                network, self.store.target, observed, self.store.memory_budget
            )
        subnetwork.read()
        subnetwork.ready = self._steady
        return subnetwork

    def predict_batch(self, batch: Batch, out: Any) -> None:
        """Write the probabilities of each row into a row of `out`; zeros before any learning."""
        with self._without_learning():
            super().predict_batch(batch, out)

    @contextmanager
    def _without_learning(self) -> Iterator[None]:
        self._steady, self._ready = True, False
        for subnetwork in self._subnetworks.values():
            subnetwork.ready = False
        try:
            yield
        finally:
            self._steady = False

    # -- keeping ------------------------------------------------------------------------------------------------------

    def load_derived(self, saved: Mapping[str, Any]) -> None:
        """Continue after the store was loaded."""
        super().load_derived(saved)
        self.expected.checked_at = int(self.tables.clock)
        self.arrange()
