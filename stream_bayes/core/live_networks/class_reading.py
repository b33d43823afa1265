"""The class of a Bayesian network as a reading of its counts: by its Markov blanket, or, where something of that is
missing, by exact inference.
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
from stream_bayes.core.live_networks.labelled_counts import LabelledCounts
from stream_bayes.core.live_networks.labelled_network import LabelledNetwork
from stream_bayes.core.live_networks.subnetwork import Subnetwork
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.values.values import Value, name_order
from stream_bayes.errors import BadState

__all__ = ["ClassReading"]

REMEMBERED = 100  # ways to lack something


class ClassReading(BlanketReading):
    """The class given everything else, in a structure; without one every feature depends on the class alone."""

    _network: LabelledNetwork | None = None  # what the engine's tables are read by

    def __init__(self, store: LabelledCounts, **settings: Any) -> None:
        super().__init__(store.tables, store.encoder.labels, **settings)
        self.store = store
        self._engine: Inference | None = None
        self._steady = False  # whether nothing is learned until further notice
        self._ready = False  # whether the engine has the tables as they are, while nothing is learned
        self._read_from: Any = None  # the classes and values that the network was made of
        self._parts: dict[frozenset[Value], Subnetwork] = {}  # by what is known
        store.followers.append(self.lay_out)
        self.lay_out()

    # -- structure ----------------------------------------------------------------------------------------------------

    @property
    def structure(self) -> Structure:
        """The structure that is read: where none was given, that of naive Bayes over the features met."""
        if self.store.structure is not None:
            return self.store.structure
        target = self.store.target
        names = [name for name in self.store.encoder.features if name != target]
        return Structure({target: [], **{name: [target] for name in names}})

    def lay_out(self) -> None:
        """Write the class's blanket as the kernel reads it."""
        features, target = self.store.encoder.features, self.store.target
        self._engine, self._network = None, None
        self._parts = {}
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
        places = {} if self.tables.families is None else self._places()
        family = []
        for name in children:
            members = (name, *others[name])
            known = len(members) > 1 and all(member in slot for member in members)
            family.append(places[slot[name], tuple(sorted(slot[p] for p in others[name]))] if known else -1)
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
            self.above_family = places[self.store.family_of(above, target)]

    def _places(self) -> dict[Any, int]:
        return {family: f for f, family in enumerate(self.tables.families.families)}

    # -- what is missing ----------------------------------------------------------------------------------------------

    def infer(self, row: Row) -> None:
        """Write log P(y | x) of each class into the scores."""
        evidence, labels = self._evidence(row), self._labels_with_say()
        part = self._part_for(frozenset(evidence))
        scores = part.scores(evidence, [self.labels.values[code] for code in labels])
        self.score[: self.tables.labels] = -math.inf
        for code, score in zip(labels, scores, strict=True):
            self.score[code] = score

    def log_joint(self, row: Row) -> dict[Any, float]:
        """`{label: log P(y, x)}`, of all that the structure knows."""
        return self._whole(row, super().log_joint(row))

    def evidence(self, row: Row) -> dict[Any, float]:
        """The same, without the prior to answer where every class is impossible."""
        return self._whole(row, super().evidence(row))

    def _whole(self, row: Row, scores: dict[Any, float]) -> dict[Any, float]:
        """Scores of the classes as the logarithms of probabilities of everything."""
        best = max(scores.values(), default=-math.inf)
        if best == -math.inf or self.store.structure is None:  # the blanket is everything
            return scores
        engine = self.engine()
        everything = engine.log_probability(self._evidence(row))
        if everything == -math.inf:
            return scores
        total = best + math.log(math.fsum(math.exp(score - best) for score in scores.values()))
        return {label: score - total + everything for label, score in scores.items()}

    def log_odds(self, row: Row) -> dict[Any, tuple[float, float]]:
        """The log-odds of each class and their variance, as the tables are Dirichlet posteriors: of the first order.

        A cell p moves them by D / p, with D what P(cell | class, x) is above that of the other classes together. In a
        row of means m, with A samples, that varies by (sum D^2 / m - (sum D)^2) / (A + 1).
        """
        engine = self.engine()
        evidence, target, network = self._evidence(row), self.store.target, self._network
        assert network is not None
        labels = [self.labels.values[code] for code in self._labels_with_say()]
        scores = {y: engine.log_probability({**evidence, target: y}) for y in labels}
        best = max(scores.values())
        share = {y: math.exp(score - best) for y, score in scores.items() if score > -math.inf}
        expected = {y: engine.families({**evidence, target: y}) for y in share}
        answer = {}
        for y in labels:
            others = math.fsum(p for other, p in share.items() if other != y)
            if y not in share or others == 0.0:
                answer[y] = (math.inf if y in share else -math.inf), 0.0
                continue
            spread = 0.0
            for variable in engine.structure.variables:
                apart = expected[y][variable] - sum(
                    expected[other][variable] * (p / others) for other, p in share.items() if other != y
                )
                spread += _variance_of(apart, network.weights(variable))
            answer[y] = math.log(share[y] / others), spread
        return answer

    def _evidence(self, row: Row) -> dict[Any, Any]:
        values, nominal, structure = self.tables.values, self.store.encoder.nominal, self.store.structure
        known: dict[Any, Any] = {}
        for k in range(row.entries):
            feature = nominal[row.feature[k]]
            if (structure is None or feature.name in structure) and values.held[
                values.layout.start[feature.slot] + row.code[k]
            ]:
                known[feature.name] = feature.vocabulary.values[row.code[k]]
        return known

    def _labels_with_say(self) -> list[int]:
        tables = self.tables
        return [c for c in range(tables.labels) if tables.class_samples[c] > 0 or c < self.labels.declared]

    def _prior_weights(self, labels: list[int]) -> NDArray[np.float64] | None:
        """What P(y) is a share of, in fresh samples; None where it was given."""
        if self.class_prior != "counted":
            return None
        add = self.prior_strength / (max(len(labels), 1) if self.spread else 1)
        weights: NDArray[np.float64] = np.asarray(self.tables.class_weight)[labels] / self.tables.unit + add
        return weights

    def engine(self) -> Inference:
        """An engine of the network, the class included, with the tables as they are now."""
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
        """The network as it is now: the one that was read last, where it still has all classes and values."""
        labels, values = self._labels_with_say(), self.tables.values
        prior = np.zeros(self.tables.labels)
        self.prior_into(prior)
        shares, weights = np.exp(prior[labels]), self._prior_weights(labels)
        bins = self.store.encoder.bins
        # Bins keep their codes when they get other names.
        cuts = () if bins is None else tuple(bins.cuts.items())
        held, start = np.asarray(values.held).tobytes(), np.asarray(values.layout.start).tobytes()
        read_from = labels, held, start, cuts
        if self._network is not None and self._read_from == read_from:
            self._network.take_prior(shares, weights)
            return self._network
        self._read_from, self._parts = read_from, {}
        structure = self.structure if self._network is None else self._network.structure
        self._network = LabelledNetwork(
            self.store, structure, labels, shares, weights, self.strength, self.spread
        )
        return self._network

    def _part_for(self, known: frozenset[Value]) -> Subnetwork:
        """What bears on the class, with the tables as they are now."""
        part = self._parts.get(known)
        if part is not None and self._steady and part.ready:
            return part
        network = self.network()
        part = self._parts.get(known)  # with other values they are others
        if part is None:
            if len(self._parts) >= REMEMBERED:
                self._parts.clear()
            part = self._parts[known] = Subnetwork(
                network, self.store.target, known, self.store.memory_budget
            )
        part.read()
        part.ready = self._steady
        return part

    def predict_batch(self, batch: Batch, out: Any) -> None:
        """Write the probabilities of each row into a row of `out`; zeros before any learning."""
        with self._nothing_learned():
            super().predict_batch(batch, out)

    @contextmanager
    def _nothing_learned(self) -> Iterator[None]:
        self._steady, self._ready = True, False
        for part in self._parts.values():
            part.ready = False
        try:
            yield
        finally:
            self._steady = False

    # -- keeping ------------------------------------------------------------------------------------------------------

    def derived(self) -> dict[str, Any]:
        """Nothing: the structure is the learner's argument."""
        return {}

    def load_derived(self, saved: Mapping[str, Any]) -> None:
        """Go on after the store was loaded."""
        if saved:
            raise BadState("the state does not fit: it holds more than counts")
        self.lay_out()


def _variance_of(slopes: NDArray[np.float64], weights: NDArray[np.float64] | None) -> float:
    """Of a sum of slopes * log(share) over the rows of a table of Dirichlet parameters; None is beyond doubt."""
    if weights is None:
        return 0.0
    total = weights.sum(axis=-1)
    squares = np.divide(slopes**2, weights, out=np.zeros_like(slopes), where=weights > 0.0).sum(axis=-1)
    return float(((squares * total - slopes.sum(axis=-1) ** 2) / (total + 1.0)).sum())
