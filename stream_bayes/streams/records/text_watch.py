"""A watch over records that no schema describes: texts that are amounts, dates or sentences are names to a learner."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from typing import Any

from stream_bayes.data.column_kind import ColumnKind
from stream_bayes.data.kind_inference import typed_kind

__all__ = ["TextWatch"]

logger = logging.getLogger(__name__)

LOOKS = (50, 1000)  # records after which the texts so far are examined
MOST_CELLS = 200_000
LONGEST = 200  # characters of a text that are kept
SHOWN_FIELDS = 20


class TextWatch:
    """The first texts of each field of a stream, and one warning of those that say more than a name. The warning names
    the source `name`, and `sample` as the file of such records.
    """

    def __init__(self, name: str, sample: str = "FILE") -> None:
        self.name = name
        self._sample = sample
        self._texts: dict[Any, Counter[str]] = {}
        self._numbers: dict[Any, dict[str, float]] = {}
        self._records = self._cells = 0
        self._has_warned = False

    def add(self, x: Mapping[Any, Any]) -> bool:
        """Add the features of a record; return False once no more are needed."""
        for name, value in x.items():
            if isinstance(value, str):
                self._texts.setdefault(name, Counter())[value[:LONGEST]] += 1
            elif isinstance(value, (int, float)) and not isinstance(value, bool):
                self._numbers.setdefault(name, {})[str(value)] = float(value)
        self._cells += len(x)
        self._records += 1
        if self._records in LOOKS or self._cells >= MOST_CELLS:
            self.warn()
        return not self._has_warned and self._records < LOOKS[-1] and self._cells < MOST_CELLS

    def warn(self) -> None:
        """Warn of the fields whose texts say more than a name, if there are any and nothing was said yet."""
        if self._has_warned:
            return
        kinds = {name: self._kind_of(name) for name in self._texts}
        read = [f"{name} ({kind.word})" for name, kind in kinds.items() if kind is not None]
        if not read:
            return
        self._has_warned = True
        more = f" and {len(read) - SHOWN_FIELDS:,} more" if len(read) > SHOWN_FIELDS else ""
        logger.warning(
            "%s: each text of %s%s is read as a name of its own, by the first %s records; to read what they say, "
            "declare the columns in a schema as `stream-bayes inspect %s` prints them",
            self.name,
            ", ".join(read[:SHOWN_FIELDS]),
            more,
            f"{self._records:,}",
            self._sample,
        )

    def _kind_of(self, name: Any) -> ColumnKind | None:
        texts, numbers = self._texts[name], self._numbers.get(name, {})
        column = typed_kind(texts + Counter(numbers.keys()), numbers).column
        return column if isinstance(column, ColumnKind) else None
