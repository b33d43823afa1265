"""The explanation of a mixture's answer: by its features, and by its experts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from stream_bayes.core.pictures.html import block, plain_table
from stream_bayes.core.pictures.text import text_of
from stream_bayes.learners.base.explanation import Explanation

__all__ = ["MixtureExplanation", "Opinion"]


class Opinion(NamedTuple):
    """An expert's part in an answer: its weight, and the probabilities it gives."""

    weight: float
    probabilities: dict[Any, float]


@dataclass(frozen=True)
class MixtureExplanation(Explanation):
    """The evidence behind the answer of a mixture, feature by feature and expert by expert."""

    # Each one's weight and probabilities, the weightiest first; without those that sleep. The weight is its share in
    # the answer: what all mixers together give it, without signs.
    experts: dict[str, Opinion] = field(default_factory=dict)

    def _expert_rows(self) -> list[list[Any]]:
        return [
            [
                name,
                f"{opinion.weight:.3f}",
                *(f"{opinion.probabilities[label]:.3f}" for label in self.baseline),
            ]
            for name, opinion in self.experts.items()
        ]

    def __str__(self) -> str:
        if not self.experts:
            return super().__str__()
        rows = [["expert", "weight", *map(text_of, self.baseline)], *self._expert_rows()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            row[0].ljust(widths[0])
            + "".join(f" {cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
            for row in rows
        ]
        return "\n".join([super().__str__(), "", *lines])

    def _repr_html_(self) -> str:
        headings = ["expert", "weight", *map(text_of, self.baseline)]
        return block(super()._repr_html_(), plain_table("experts", headings, self._expert_rows()))
