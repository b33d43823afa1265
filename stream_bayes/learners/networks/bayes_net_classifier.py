"""A Bayesian network one of whose variables is predicted from the others."""

from __future__ import annotations

import warnings
from collections.abc import Container, Mapping
from typing import Any

from stream_bayes.core.encoding._features import read_weight
from stream_bayes.core.live_networks.class_reading import ClassReading
from stream_bayes.core.live_networks.labelled_counts import LabelledCounts
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.readings._reading import Reading
from stream_bayes.core.values.values import Value, canonical, shown
from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadLabel, BadStructure, BadValue, CountsForgotten, UnknownFeature
from stream_bayes.learners.classifier.arguments import check_choice
from stream_bayes.learners.classifier.base import X
from stream_bayes.learners.classifier.binning import Binning
from stream_bayes.learners.classifier.intervals import Cumulants, log_share, log_weight
from stream_bayes.learners.classifier.pairs import PairClassifier
from stream_bayes.learners.classifier.traits import Traits
from stream_bayes.learners.networks.answers import as_network

__all__ = ["BayesNetClassifier"]


class _AllBut:
    """All names but one."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __contains__(self, name: object) -> bool:
        return name != self.name


class BayesNetClassifier(PairClassifier):
    """A Bayesian network as a classifier: the class is one of its variables, and depends on its Markov blanket alone.

    Parameters
    ----------
    structure
        The parents of each variable, the class among them: a `Structure`, or `{variable: [parent, ...]}`. Features that
        it does not know are ignored. None: every feature depends on the class alone, as in naive Bayes.
    target
        What the class is called in the structure; None: as the schema calls it, or `"class"`. What an event holds under
        that name is no feature, and is ignored: the label alone says which class it is.
    class_prior
        `"counted"`, `"uniform"`, or `{label: probability}`; a class that has parents is always counted.
    unlabelled
        What `learn_one(x, None)` does: `"refuse"` it, or learn it by `"em"`, expectation maximisation: in each class
        with the probability that the model gives it. So a few labels go further, if events are as the structure says.
    memory_budget
        The most bytes that the tables may take; growth past it raises `BudgetExceeded` and learns nothing. As many may
        those of exact answers take, 2**28 if not given, which are asked for where a value is missing that counts.
    prior, strength, half_life, binning, schema, max_values
        As in `AODE`. A number is read as the bin it falls into.

    Notes
    -----
    Promises: the counts are those of the events, whatever their order, batches, or shards that were merged; what is
    unlearned was never there. Where cuts of numbers are looked for, they depend on the order of events.

    A prediction reads P(class | its parents) and P(child | its parents) of each child of the class, and costs time in
    proportion to these. If a value is missing that counts there, the answer is that of exact inference, summed over its
    values; that takes the tables that bear on the class then, and half a millisecond or more. P(value | parents) is
    (n + s / V) / (N + s); a row of which nothing is known is uniform.

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

    _reading: ClassReading
    _store: LabelledCounts

    def __init__(
        self,
        structure: Any = None,
        target: str | None = None,
        prior: str = "m-estimate",
        strength: float = 1.0,
        class_prior: Any = "counted",
        unlabelled: str = "refuse",
        half_life: float | None = None,
        binning: str | Binning | None = "quantile",
        schema: Schema | None = None,
        max_values: int | None = None,
        memory_budget: int | None = None,
    ) -> None:
        self.target = target
        self.unlabelled = unlabelled
        if target is not None and not isinstance(target, str):
            raise BadValue(f"target must be the name of the class, a str, or None, not {shown(target)}")
        check_choice("unlabelled", unlabelled, ("refuse", "em"))
        self._structure: Structure | None = structure  # checked in `_begin`
        super().__init__(prior, strength, class_prior, half_life, binning, schema, max_values, memory_budget)

    def _begin(self) -> None:
        self._structure = self._checked(self._structure)  # it depends on the schema and the class prior
        super()._begin()

    def _checked(self, given: Any) -> Structure | None:
        if given is None:
            return None
        if not isinstance(given, (Structure, Mapping)):
            raise BadValue(
                f"structure must be a Structure, a dict {{variable: [parent, ...]}} or None, not {shown(given)}; for "
                "edges there is Structure.from_edges, for a graph Structure.from_networkx"
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
        if self.schema is None:
            encoder.wanted = self._features_of(self._structure)
        return LabelledCounts(encoder, self._structure, self._target, **settings)

    def _make_reading(self, store: Any, class_prior: str) -> Reading:
        return ClassReading(store, **self._settings(class_prior))

    @property
    def traits(self) -> Traits:
        known = super().traits
        return known._replace(accepts_new_features=known.accepts_new_features and self._structure is None)

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn_one(self, x: X, y: Any, w: float = 1.0) -> None:
        """Learn a sample: all of it, or, where anything is refused, nothing.

        Parameters
        ----------
        x
            The features, `{name: value}`. What is absent, None or NaN is missing.
        y
            The label; None where it is not known, if `unlabelled` lets such an event be learned.
        w
            The sample's weight.
        """
        if y is not None or self.unlabelled == "refuse":
            super().learn_one(x, y, w)
            return
        weight, shares = read_weight(w), self.predict_proba_one(x)
        if not shares:
            raise BadLabel(
                "no class is known yet, so nothing is expected of an event without a label; learn one with"
            )
        self._store.learn_shares(x, {label: weight * share for label, share in shares.items()})

    # -- structure ----------------------------------------------------------------------------------------------------

    @property
    def structure(self) -> Structure | None:
        """The parents of each variable; None while every feature depends on the class alone.

        When it is set, families that both structures have keep their counts, the others begin at that time, which
        `CountsForgotten` warns of, and the cuts of numbers stay as they are. `unlearn_one` then needs to know, with
        `at`, when a sample was learned.
        """
        return self._structure

    @structure.setter
    def structure(self, structure: Any) -> None:
        wanted = self._checked(structure)
        store = self._store
        before = set(store.wanted_families())
        store.change_structure(wanted)
        self._structure = wanted
        if self.schema is None:
            encoder: Any = store.encoder
            encoder.wanted = self._features_of(wanted)
        names: dict[int, Any] = {feature.slot: name for name, feature in store.encoder.features.items()}
        begun = [names[child] for child, above in store.wanted_families() if (child, above) not in before]
        if begun and any(store.tables.class_samples):
            warnings.warn(
                f"events are not kept, so the tables of {shown(begun)} beside their parents begin anew; a "
                "BayesNetClassifier made with the structure counts all events in them",
                CountsForgotten,
                stacklevel=2,
            )

    def _features_of(self, structure: Structure | None) -> Container[Any]:
        """What is learned of events, where nothing is declared."""
        return _AllBut(self._target) if structure is None else frozenset(structure) - {self._target}

    # -- how sure it is -----------------------------------------------------------------------------------------------

    def _log_odds(self, x: X) -> dict[Any, Cumulants] | None:
        """Where values are missing that count, the classes share the tables that tell of these."""
        row = self._store.encoder.lookup(x)
        if self._reading.shares(row) is not None:
            return None
        return {label: Cumulants(*odds) for label, odds in self._reading.log_odds(row).items()}

    def _log_joint_cumulants(self, x: X, codes: Mapping[Any, int]) -> dict[Any, Cumulants] | None:
        # `_log_odds` has answered where it is None.
        shares: Any = self._reading.shares(self._store.encoder.lookup(x))
        if self._structure is not None and self._structure.parents(self._target):
            # The class is the first of these. The sum of its weights is common to all classes and cancels in the odds.
            return {
                label: sum([log_share(*share) for share in shares[code][1:]], log_weight(shares[code][0][0]))
                for label, code in codes.items()
            }
        own = self._prior_parameters()
        if own is not None and not any(shares):
            return None  # the prior alone: an exact interval
        fixed = self._log_prior()
        return {
            label: sum(
                [log_share(*share) for share in shares[code]],
                Cumulants(fixed[label]) if own is None else log_weight(own[label]),
            )
            for label, code in codes.items()
        }

    def _log_likelihood_cumulants(self, x: X, label: int) -> Cumulants:
        """Nothing: it is asked where the prior alone answers."""
        return Cumulants()

    # -- reading the model --------------------------------------------------------------------------------------------

    def conditional(self, feature: Any, given: Mapping[Any, Any] | None = None) -> dict[Any, Any]:
        """Return P(feature | class, ...) as the model has it now, by exact inference.

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
        label, known = self._split_given(given)
        engine = self._reading.engine()
        for name in (feature, *known):
            if name not in engine.structure or name == self._target:
                raise UnknownFeature(
                    f"no feature {name!r} is in the network; there are {shown(list(engine.structure))}"
                )
        evidence = {name: self._value(name, value) for name, value in known.items()}
        return self._by_class(label, lambda y: dict(engine.query(feature, {**evidence, self._target: y})))

    def joint(self, feature: Any = ...) -> dict[Any, Any]:
        """Return P(y), or P(y, feature) as `{label: {value: probability}}`, as the model has it now."""
        engine = self._reading.engine()
        if feature is ...:
            return dict(engine.query(self._target))
        both = engine.query([self._target, feature])
        return {y: {value: p for (label, value), p in both.items() if label == y} for y in self.classes_}

    def to_network(self) -> DiscreteNetwork:
        """Return the network as it is now, the class included, as numbers to hand over: `write_bif` takes it, too.

        Raises
        ------
        NoValueKnown
            If no value of a variable, or no class, is known yet.

        Examples
        --------
        >>> from stream_bayes import BayesNetClassifier
        >>> model = BayesNetClassifier({"rain": [], "lawn": ["rain"]}, target="rain", strength=0)
        >>> for lawn, rain in [("wet", "yes"), ("dry", "no"), ("wet", "no"), ("dry", "no")]:
        ...     model.learn_one({"lawn": lawn}, rain)
        >>> model.to_network().tables["rain"].tolist()
        [0.25, 0.75]
        """
        return as_network(self._reading.network())

    def _value(self, name: Any, value: Any) -> Value:
        known = self._tables.feature(name)
        if known.measured and not isinstance(value, str):
            row = self._store.encoder.lookup({name: value})
            held: Value = known.vocabulary.values[row.code[0]]
            return held
        return canonical(value, feature=name)
