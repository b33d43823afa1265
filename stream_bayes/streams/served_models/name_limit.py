"""The limit of a learner's feature names: without one, a few hostile records slow a pipeline for good."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stream_bayes.core.encoding._bags import BagEncoder
from stream_bayes.core.regression.random_fourier_features import is_derived
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadValue
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.base.regressor import BayesRegressor
from stream_bayes.networks.bayes_net import BayesNet

__all__ = ["NameLimit"]


class NameLimit:
    """The most feature names that a learner may learn. Samples with more new names are refused, others never.

    Declared features and words of texts are not limited: a schema lists the former, and the latter are values.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> learner = NaiveBayes()
    >>> learner.learn_one({"sky": "grey", "wind": 3.5}, "rain")
    >>> limit = NameLimit(learner, 2)
    >>> limit.check({"sky": "blue"})
    >>> limit.check({"sky": "blue", "id-4711": 1})
    Traceback (most recent call last):
        ...
    stream_bayes.errors.BadValue: the model has 2 feature names, and this sample would add 1, such as 'id-4711'; ...
    """

    def __init__(self, learner: BayesClassifier | BayesNet | BayesRegressor, max_names: int) -> None:
        encoder = learner.store.encoder
        self.max_names = max_names
        self._learner = learner
        self._applies = not (encoder.declared or isinstance(encoder, BagEncoder))

    @property
    def _known(self) -> Mapping[Any, Any]:
        return self._learner.store.encoder.features

    def check(self, x: Any) -> None:
        """Raise `BadValue` if learning these features would exceed the limit."""
        if not (self._applies and isinstance(x, dict)):
            return
        new = x.keys() - self._known.keys()
        if new and (count := sum(not is_derived(name) for name in self._known)) + len(new) > self.max_names:
            raise BadValue(
                f"the model has {count:,} feature names, and this sample would add {len(new):,}, such as "
                f"{shown(min(map(str, new)))}; at most max_names = {self.max_names:,} are learned. Name the features "
                "in `only`, or raise max_names"
            )

    def admitted(self, xs: Sequence[Any], ys: Sequence[Any]) -> int:
        """Return the number of first samples that may be learned together without exceeding the limit."""
        if not self._applies:
            return len(xs)
        known_names = self._known.keys()
        new: set[Any] = set()
        for number, x in enumerate(xs):
            if isinstance(x, dict) and not known_names >= x.keys() and ys[number] is not None:
                new |= x.keys() - known_names
                if len(known_names) + len(new) > self.max_names:
                    return number
        return len(xs)
