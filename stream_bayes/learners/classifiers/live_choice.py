"""A choice among readings of one store: the best predictor so far answers, or all of them by weight."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.encoding._features import Encoder
from stream_bayes.core.readings._a2de import PairAverageReading
from stream_bayes.core.readings._aode import AverageReading
from stream_bayes.core.readings._naive_bayes import ValueReading
from stream_bayes.core.readings._reading import Reading
from stream_bayes.core.readings.choice import Choice
from stream_bayes.core.readings.discriminant import Discriminant
from stream_bayes.core.readings.kdb import FamilyDependences
from stream_bayes.core.readings.one_parent import Dependences, SpanningTree
from stream_bayes.core.readings.spode import SuperParent
from stream_bayes.core.readings.weighted import WeightedValues
from stream_bayes.core.values.values import name_order
from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadValue, CannotMerge
from stream_bayes.learners.base.arguments import check_choice, check_number
from stream_bayes.learners.base.binning import Binning
from stream_bayes.learners.base.pair_classifier import MEMORY_BUDGET, PairClassifier
from stream_bayes.learners.base.traits import Traits
from stream_bayes.learners.classifiers.one_dependence import check_average

__all__ = ["READINGS", "Leader", "LiveChoice"]

READINGS = ("nb", "spode", "tan", "kdb", "aode", "gaussian")  # the default choice
OF_MOMENTS = ("gaussian", "lda", "qda")  # read numbers as they are, not in bins
ALL_READINGS = (*READINGS, "weighted", "lda", "qda", "kdb3", "a2de")
NEWEST_EVENTS = 10_000  # that are kept to count new parents of "kdb3"


class Leader(NamedTuple):
    """The reading that answers, and the event since which it does."""

    reading: str
    since: int


class LiveChoice(PairClassifier):
    """Several readings of one store of counts, chosen live by how well they predict.

    Each event is counted once. Before it is learned every reading predicts it, and minus the logarithm of what it
    gave the true class is added to the reading's loss, which fades.

    Parameters
    ----------
    readings
        The readings to choose among; of equal ones the first leads. By default naive Bayes, SPODE, TAN, KDB and AODE
        over names and numbers in bins (`"nb"`, `"spode"`, `"tan"`, `"kdb"`, `"aode"`), and naive Bayes over numbers as
        they are (`"gaussian"`: by Student's t, as `NaiveBayes`). Before the first number that is the same as `"nb"`,
        and has no weight of its own beside it. There are also

        - `"weighted"`: naive Bayes with each feature's evidence weighted by its information about the class beyond
          what chance explains (`feature_weights_`). For wide tables, most of whose features are useless.
        - `"lda"`, `"qda"`: numbers as one Gaussian for each class, as `LDA` and `QDA`.
        - `"kdb3"`: `KDB(k=3)`, for features that decide several together. It suits few bins, `Binning(bins=5)`.
        - `"a2de"`: makes it a store of triples, whose memory grows with the cube of the features.
    combine
        `"best"`: the reading with the least loss answers. `"mixture"`: all answer, weighted by exp(-rate * loss).
    loss_half_life
        The number of learned events after which a loss counts half; None: losses do not fade.
    rate
        The rate at which the mixture turns to the reading with the least loss. 1 counts each event as one piece of
        evidence, as Bayes' rule does; less keeps more of the others, which are wrong about other events.
    min_count
        The weight, in fresh samples, that a value needs to be a super-parent.
    prior, strength, class_prior, half_life, binning, schema, max_values, memory_budget
        As in `AODE`.

    Notes
    -----
    Promises: the counts of names and bins are those of `AODE`, exactly. The losses depend on the order of events:
    replaying the same events gives the same bytes; merging adds the counts and resets the losses. The readings share
    one pass over an event's pairs, so that an event takes little longer than with the slowest of them.

    `"gaussian"`, `"lda"` and `"qda"` have the numbers counted as moments besides; those are equal to 1e-9 of
    themselves in any order, split, merge, and after unlearning. With `"kdb3"` learners cannot be merged, and unlearn
    as `KDB(k=3)` does.

    Examples
    --------
    >>> from stream_bayes import LiveChoice
    >>> model = LiveChoice(readings=("nb", "aode"), min_count=1)
    >>> for _ in range(20):
    ...     for a, b in [("x", "x"), ("x", "o"), ("o", "x"), ("o", "o")]:
    ...         model.learn_one({"a": a, "b": b}, "same" if a == b else "different")
    >>> model.predict_one({"a": "x", "b": "o"}), model.leader_.reading
    ('different', 'aode')
    """

    reading: Choice

    def __init__(
        self,
        readings: tuple[str, ...] = READINGS,
        combine: str = "mixture",
        loss_half_life: float | None = 500.0,
        rate: float = 0.1,
        min_count: float = 1.0,
        prior: str = "m-estimate",
        strength: float = 1.0,
        class_prior: Any = "counted",
        half_life: float | str | None = None,
        binning: str | Binning | None = "quantile",
        schema: Schema | None = None,
        max_values: int | None = None,
        memory_budget: int | None = MEMORY_BUDGET,
    ) -> None:
        self.readings = readings
        self.combine = combine
        self.loss_half_life = loss_half_life
        self.rate = rate
        self.min_count = min_count
        are_names = isinstance(readings, (tuple, list)) and all(isinstance(name, str) for name in readings)
        if (
            not are_names
            or not readings
            or len(set(readings)) != len(readings)
            or not set(readings) <= set(ALL_READINGS)
        ):
            raise BadValue(f"readings must be some of {ALL_READINGS!r}, each once, not {readings!r}")
        check_choice("combine", combine, ("best", "mixture"))
        if loss_half_life is not None:
            check_number("loss_half_life", loss_half_life, above=True)
        check_number("rate", rate, above=True)
        check_average(min_count, half_life)
        super().__init__(prior, strength, class_prior, half_life, binning, schema, max_values, memory_budget)

    def _store_of(self, encoder: Encoder, **settings: Any) -> CountStore:
        return super()._store_of(
            encoder,
            moments=any(name in OF_MOMENTS for name in self.readings),
            co_moments="lda" in self.readings or "qda" in self.readings,
            **settings,
        )

    @property
    def kept_events(self) -> int | None:
        return NEWEST_EVENTS if "kdb3" in self.readings else None

    @property
    def order(self) -> int:  # type: ignore[override]  # A2DE reads triples
        return 3 if "a2de" in self.readings else 2

    @property
    def scores_events(self) -> bool:  # type: ignore[override]  # a mixture's score is of P(y | x)
        """True if one reading answers, and all count numbers alike."""
        return self.combine == "best" and not set(self.readings) & {"gaussian", "lda", "qda"}

    def _make_reading(self, store: CountStore, class_prior: str) -> Reading:
        settings = self._settings(class_prior)
        members = {name: self._member(name, store, settings) for name in self.readings}
        return Choice(
            store.tables,
            store.encoder,
            members,
            self.combine == "mixture",
            self.loss_half_life,
            self.rate,
            **settings,
        )

    def _member(self, name: str, store: CountStore, settings: dict[str, Any]) -> Reading:
        tables, encoder = store.tables, store.encoder
        if name == "nb":
            return ValueReading(tables, encoder.labels, **settings)
        if name == "weighted":
            return WeightedValues(tables, encoder, **settings)
        if name == "gaussian":
            return ValueReading(tables, encoder.labels, student=True, reads_moments=True, **settings)
        if name in ("lda", "qda"):
            return Discriminant(
                tables, encoder.labels, name == "lda", -1.0, student=True, reads_moments=True, **settings
            )
        if name == "kdb3":
            return FamilyDependences(store, None, 3, **settings)
        if name == "spode":
            return SuperParent(
                tables, encoder, None, self.loss_half_life, min_count=self.min_count, **settings
            )
        if name == "tan":
            return SpanningTree(tables, encoder, None, None, **settings)
        if name == "kdb":
            return Dependences(tables, encoder, None, **settings)
        if name == "a2de":
            return PairAverageReading(
                tables, encoder.labels, min_count=self.min_count, encoder=encoder, **settings
            )
        return AverageReading(tables, encoder.labels, min_count=self.min_count, encoder=encoder, **settings)

    @property
    def traits(self) -> Traits:
        traits = super().traits
        is_mergeable = traits.is_mergeable and "kdb3" not in self.readings
        return traits._replace(is_order_dependent=True, is_mergeable=is_mergeable)

    def merge(self, other: Self) -> Self:
        """Add the counts of another learner of the same class and settings, which stays unchanged.

        Raises `CannotMerge` with the reading `"kdb3"`.
        """
        if "kdb3" in self.readings:
            raise CannotMerge(
                'LiveChoice with the reading "kdb3" cannot be merged: what it counts beside three parents depends on '
                "the order of its events"
            )
        return super().merge(other)

    @property
    def leader_(self) -> Leader:
        """The reading with the least loss, and the event since which it has led."""
        return Leader(self.readings[self.reading.leader], int(self.reading.since))

    @property
    def structures_(self) -> dict[str, dict[Any, Any]]:
        """For TAN, KDB and SPODE each feature's present parent, None if it depends on the class alone, in the order of
        names; for `"kdb3"` a tuple of its parents.
        """
        structures: dict[str, dict[Any, Any]] = {}
        for name, reading in zip(self.readings, self.reading.members, strict=True):
            if isinstance(reading, SuperParent):
                features = self.store.encoder.nominal
                above = features[reading.chosen].name if reading.chosen >= 0 else None
                names = sorted((feature.name for feature in features), key=name_order)
                structures[name] = {one: above if one != above else None for one in names}
            elif isinstance(reading, SpanningTree | Dependences | FamilyDependences):
                structures[name] = reading.parents_by_name()
        return structures

    @property
    def feature_weights_(self) -> dict[Any, float]:
        """Each feature's weight in the reading `"weighted"`, the greatest first; empty without that reading."""
        for reading in self.reading.members:
            if isinstance(reading, WeightedValues):
                return reading.weights_by_name()
        return {}

    @property
    def losses_(self) -> dict[str, float]:
        """Each reading's fading loss, in nats."""
        return dict(zip(self.readings, [float(loss) for loss in self.reading.loss], strict=True))
