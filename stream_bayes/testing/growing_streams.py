"""Streams whose names grow: values that keep arriving, features that come and go, classes that come late."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

from stream_bayes.testing.sample_streams import LabelledSample

__all__ = ["GrowingStream"]

NOT_A_NUMBER = float("nan")


class GrowingStream:
    """Events with wide and growing names, made from a seed.

    The same seed gives the same events. `kinds` are `"nominal"`, `"numeric"` or `"bag"`, as in the `inputs` of a
    learner. At most `features` are there at the same time. All but two of `labels` come late; None: new ones keep
    coming. After `pace` events on average, a feature goes and another comes.

    Examples
    --------
    >>> stream = GrowingStream(seed=3, kinds={"nominal", "numeric"})
    >>> events = list(stream.events(200))
    >>> first, last = ({name for sample in part for name in sample.x} for part in (events[:20], events[-20:]))
    >>> len(first) > 1, first < last
    (True, False)
    """

    def __init__(
        self,
        seed: int,
        kinds: frozenset[str] | set[str],
        features: int = 8,
        labels: Sequence[Any] | None = None,
        pace: int = 12,
    ) -> None:
        self.source = random.Random(seed)
        self.kinds = sorted(kinds & {"nominal", "numeric"}) or ["bag"]
        self.features = self.source.randint(2, max(2, features))
        self.labels = labels
        self.pace = pace
        self.classes = 2
        self.clock = 0
        self.born = 0
        self.names: list[str] = []
        for _ in range(self.source.randint(1, self.features)):
            self._bring_feature()

    def events(self, number: int) -> Iterator[LabelledSample]:
        """Yield events; what has come stays known between two calls."""
        source = self.source
        for _ in range(number):
            self.clock += 1
            if source.random() < 1.0 / self.pace:
                self._replace_feature()
            if source.random() < 1.0 / (3 * self.pace):
                self.classes += 1
            x = {name: self._value(name) for name in self.names if source.random() < 0.95}
            newest = source.random() < 0.2
            label = self.classes - 1 if newest else source.randrange(self.classes)
            y = f"y{label}" if self.labels is None else self.labels[label % len(self.labels)]
            yield LabelledSample(x, y, source.choice([1.0] * 30 + [2.0, 0.5, 0.0]))

    def probe(self) -> dict[Any, Any]:
        """Return features to predict, some with values that nobody has seen."""
        return {name: self._value(name) for name in self.names}

    def _bring_feature(self) -> None:
        kind = self.source.choice(self.kinds)
        style = self.source.choice(["wide", "narrow", "id"]) if kind != "numeric" else "number"
        self.born += 1
        self.names.append(f"{style} {self.born}")

    def _replace_feature(self) -> None:
        if len(self.names) == self.features:
            self.names.pop(self.source.randrange(len(self.names)))
        self._bring_feature()

    def _value(self, name: str) -> Any:
        source = self.source
        if "bag" in self.kinds:
            return source.choice([0, 1, 1, 2, None])
        if source.random() < 0.06:
            return source.choice([None, NOT_A_NUMBER])
        style = name.partition(" ")[0]
        if style == "number":
            return source.choice([source.gauss(self.clock / 100, 1.0), float(source.randrange(4)), 1e6])
        if style == "narrow":
            return source.choice(["a", "b", ("c", 1)])
        if style == "wide":
            return f"v{source.randrange(2 + self.clock // 3)}"
        return f"id{self.clock}"
