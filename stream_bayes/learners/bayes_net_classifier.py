"""A Bayesian network one of whose variables is predicted from the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from stream_bayes.core._kernels import Reading
from stream_bayes.core.class_of_network import ClassOfNetwork
from stream_bayes.core.labelled_counts import LabelledCounts
from stream_bayes.core.structure import Structure
from stream_bayes.core.values import Value, canonical, shown
from stream_bayes.errors import BadStructure, BadValue, UnknownFeature
from stream_bayes.learners.base import X
from stream_bayes.learners.intervals import Cumulants, log_share, log_weight
from stream_bayes.learners.pairs import PairClassifier
from stream_bayes.schema import Schema

__all__ = ["BayesNetClassifier"]


class BayesNetClassifier(PairClassifier):
    """A Bayesian network as a classifier: the class is one of its variables, and depends on its Markov blanket alone.

    Parameters
    ----------
    structure
        The parents of each variable, the class among them: a `Structure`, or `{variable: [parent, ...]}`. Features that
        it does not know are ignored. None: every feature depends on the class alone, as in naive Bayes.
    target
        What the class is called in the structure; None: as the schema calls it, or `"class"`.
    class_prior
        `"counted"`, `"uniform"`, or `{label: probability}`; a class that has parents is always counted.
    prior, strength, half_life, binning, bins, bin_after, bin_window, schema, max_values, memory_budget
        As in `AODE`. A number is read as the bin it falls into.

    Notes
    -----
    Promises: the counts are those of the events, whatever their order, batches, or shards that were merged; what is
    unlearned was never there. Where cuts of numbers are looked for, they depend on the order of events.

    A prediction reads P(class | its parents) and P(child | its parents) of each child of the class, and costs time in
    proportion to these. If a value is missing that counts there, the answer is that of exact inference, summed over its
    values, which takes all tables and a millisecond or more. P(value | parents) is (n + s / V) / (N + s); a row of
    which nothing is known is uniform.

    Memory: 8 bytes a cell of each feature with its parents, times the classes (16 with fractional weights or fading).

    Examples
    --------
    >>> from stream_bayes import BayesNetClassifier
    >>> model = BayesNetClassifier({"season": [], "rain": ["season"], "lawn": ["rain"]}, target="rain")
    >>> for season, rain, lawn in [("wet", "yes", "wet"), ("dry", "no", "dry"), ("dry", "no", "wet")]:
    ...     model.learn_one({"season": season, "lawn": lawn}, rain)
    >>> model.predict_one({"season": "dry", "lawn": "wet"}), model.predict_one({"lawn": "dry"})
    ('no', 'no')
    """

    _reading: ClassOfNetwork
    _store: LabelledCounts

    def __init__(
        self,
        structure: Any = None,
        target: str | None = None,
        prior: str = "m-estimate",
        strength: float = 1.0,
        class_prior: Any = "counted",
        half_life: float | None = None,
        binning: str | None = "quantile",
        bins: int | None = None,
        bin_after: int = 5,
        bin_window: int = 5120,
        schema: Schema | None = None,
        max_values: int | None = None,
        memory_budget: int | None = None,
    ) -> None:
        self.target = target
        self.prior = prior
        self.strength = strength
        self.class_prior = class_prior
        self.half_life = half_life
        self.binning = binning
        self.bins = bins
        self.bin_after = bin_after
        self.bin_window = bin_window
        self.schema = schema
        self.max_values = max_values
        self.memory_budget = memory_budget
        if target is not None and not isinstance(target, str):
            raise BadValue(f"target must be the name of the class, a str, or None, not {shown(target)}")
        self._structure = self._checked(structure)
        self._begin()

    def _checked(self, given: Any) -> Structure | None:
        if given is None:
            return None
        if not isinstance(given, (Structure, Mapping)):
            raise BadValue(
                f"structure must be a Structure, a dict {{variable: [parent, ...]}} or None, not {shown(given)}"
            )
        structure = given if isinstance(given, Structure) else Structure(given)
        if self._target not in structure:
            raise BadStructure(
                f"the structure has no variable {shown(self._target)}, the class; name it with target, one of "
                f"{shown(list(structure))}"
            )
        if structure.parents(self._target) and self.class_prior != "counted":
            raise BadStructure("a class that has parents in the structure is counted; leave class_prior out")
        if isinstance(self.schema, Schema):
            for name in structure:
                if name != self._target and name not in self.schema.features:
                    raise UnknownFeature(
                        f"the structure has the variable {shown(name)}, which is not declared"
                    )
        return structure

    @property
    def _target(self) -> str:
        """What the class is called."""
        return super()._target if self.target is None else self.target

    def _store_of(self, encoder: Any, **settings: Any) -> LabelledCounts:
        if self._structure is not None and self.schema is None:
            encoder.wanted = frozenset(self._structure) - {self._target}
        return LabelledCounts(encoder, self._structure, self._target, **settings)

    def _make_reading(self, store: Any, class_prior: str) -> Reading:
        return ClassOfNetwork(store, **self._settings(class_prior))

    @property
    def meets_features(self) -> bool:
        """Whether a feature that it does not know is learned when it comes: without a structure or a schema."""
        return super().meets_features and self._structure is None

    # -- structure ----------------------------------------------------------------------------------------------------

    @property
    def structure(self) -> Structure | None:
        """The parents of each variable; None while every feature depends on the class alone.

        When it is set, families that both structures have keep their counts, the others begin at that time, and the
        cuts of numbers stay as they are. `unlearn_one` then needs to know, with `at`, when a sample was learned.
        """
        return self._structure

    @structure.setter
    def structure(self, structure: Any) -> None:
        wanted = self._checked(structure)
        self._store.change_structure(wanted)
        self._structure = wanted
        if self.schema is None:
            names = None if wanted is None else frozenset(wanted) - {self._target}
            encoder: Any = self._store.encoder
            encoder.wanted = names

    # -- how sure it is -----------------------------------------------------------------------------------------------

    def _log_joint_cumulants(self, x: X, codes: Mapping[Any, int]) -> dict[Any, Cumulants] | None:
        """What is not a share of a table that was read, an answer of exact inference say, counts as known."""
        row = self._store.encoder.lookup(x)
        scores = self._reading.evidence(row)
        own = self._prior_parameters()
        if own is not None and self._structure is not None and self._structure.parents(self._target):
            own = None
        joint = {}
        shares = {label: self._reading.shares(row, code) for label, code in codes.items()}
        if own is not None and not any(shares.values()):
            return None  # the prior alone: an exact interval
        for label in codes:
            parts = [log_share(part, total) for part, total in shares[label]]
            if own is not None:
                parts.append(log_weight(own[label]))
            spread = sum(parts, Cumulants())
            expected = sum(np.log(part / total) for part, total in shares[label] if part > 0.0)
            rest = (
                scores[label]
                - expected
                - (np.log(own[label]) if own is not None and own[label] > 0.0 else 0.0)
            )
            joint[label] = spread + Cumulants(float(rest)) if scores[label] > -np.inf else Cumulants(-np.inf)
        return joint

    # -- reading the model --------------------------------------------------------------------------------------------

    def conditional(self, feature: Any, given: Mapping[Any, Any] | None = None) -> dict[Any, Any]:
        """P(feature | class, ...) as the model has it now, by exact inference.

        Parameters
        ----------
        feature
            Its name.
        given
            What is known: the class, under its name in the structure, and values of any other features. Without the
            class a table for each class is returned.

        Returns
        -------
        `{value: probability}`.
        """
        self._check_given(given)
        known = {name: value for name, value in (given or {}).items() if name != self._target}
        label = self._given_label(
            {self._target: given[self._target]} if given and self._target in given else None
        )
        engine = self._reading.engine()
        for name in (feature, *known):
            if name not in engine.structure or name == self._target:
                raise UnknownFeature(
                    f"no feature {name!r} is in the network; there are {shown(list(engine.structure))}"
                )
        evidence = {name: self._value(name, value) for name, value in known.items()}
        tables = {
            y: dict(engine.query(feature, {**evidence, self._target: y}))
            for y in self.classes_
            if label is ... or y == label
        }
        return tables if label is ... else tables[label]

    def joint(self, feature: Any = ...) -> dict[Any, Any]:
        """P(y), or P(y, feature) as `{label: {value: probability}}`, as the model has it now."""
        engine = self._reading.engine()
        if feature is ...:
            return dict(engine.query(self._target))
        both = engine.query([self._target, feature])
        return {y: {value: p for (label, value), p in both.items() if label == y} for y in self.classes_}

    def _value(self, name: Any, value: Any) -> Value:
        known = self._feature(name)
        if known.measured and not isinstance(value, str):
            row = self._store.encoder.lookup({name: value})
            held: Value = known.vocabulary.values[row.code[0]]
            return held
        return canonical(value, feature=name)
