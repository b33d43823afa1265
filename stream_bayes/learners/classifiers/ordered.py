"""Classifiers whose state depends on the order of events, so that nothing can be taken out of it or added to it."""

from __future__ import annotations

from typing import Any, ClassVar, Never

from stream_bayes.core.counts.memory_use import ReadingBytes
from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.encoding._vocabulary import Vocabulary
from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadValue, CannotMerge, NotSupported
from stream_bayes.learners.base.arguments import warn_of_many_values
from stream_bayes.learners.base.base import BayesClassifier, X
from stream_bayes.learners.base.row_encoder import row_encoder
from stream_bayes.learners.base.traits import Promise, Traits

__all__ = ["OrderedClassifier"]


class OrderedClassifier(BayesClassifier):
    """The base of classifiers that answer with P(y | x), are no sums of events, and refuse to unlearn and to merge."""

    promises: ClassVar[frozenset[Promise]] = frozenset({Promise.ORDERED})
    inputs: ClassVar[frozenset[str]] = frozenset({"nominal", "numeric"})
    additive: ClassVar[bool] = False
    scores_events = False
    unlearns: ClassVar[bool] = False
    _grows_by_value: ClassVar[bool] = False
    """True if each value of a feature adds to what is kept."""
    _why: ClassVar[str]  # it is no sum
    _instead: ClassVar[str]  # what to take

    def __init__(
        self,
        half_life: float | None,
        schema: Schema | None,
        max_values: int | None,
        memory_budget: int | None,
    ) -> None:
        if isinstance(half_life, str):
            raise BadValue(
                f"half_life: a number of events, not {half_life!r}: samples of a {type(self).__name__} cannot fade by "
                f"their own time, as it depends on their order; take {self._instead}"
            )
        super().__init__("counted", half_life, schema, max_values, memory_budget)

    def _reading_bytes(self) -> ReadingBytes:
        """Return what says how many bytes are kept beside the counts."""
        raise NotImplementedError

    def _make_store(self, labels: Vocabulary) -> CountStore:
        encoder = row_encoder(labels, self.schema, self.max_values)
        encoder.refuses_bags = True
        return CountStore(
            encoder,
            half_life=self.half_life,
            memory_budget=self.memory_budget,
            on_many_values=warn_of_many_values if self._grows_by_value else None,
            reading_bytes=self._reading_bytes(),
        )

    def unlearn_one(self, x: X, y: Any, w: float = 1.0, at: float | None = None) -> Never:
        """Raise `NotSupported`: no event can be taken out of what was learned."""
        raise NotSupported(
            f"{type(self).__name__} cannot unlearn: {self._why}; take {self._instead}, which can"
        )

    def merge(self, other: object) -> Never:
        """Raise `CannotMerge`: what was learned depends on the order of events."""
        raise CannotMerge(
            f"a {type(self).__name__} cannot be merged with a {type(other).__name__}: {self._why}; "
            f"merge {self._instead}, which can"
        )

    @property
    def traits(self) -> Traits:
        """The abilities of this learner, which follow from its class and its arguments."""
        return super().traits._replace(is_order_dependent=True, is_mergeable=False)

    def joint_log_likelihood(self, x: X) -> dict[Any, float]:
        """Return log P(y | x) of each class, as the features are not modelled; empty before any learning."""
        return super().joint_log_likelihood(x)
