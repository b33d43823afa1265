"""Counts that come from elsewhere, checked before anything is added."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stream_bayes.errors import BadValue, CannotMerge

__all__ = ["Labels", "checked_counts"]

Labels = tuple[Hashable, Hashable]

MOST_MESSAGES: Final = 2.0**40  # that may be imported: sums of many such still fit


def checked_counts(
    counts: Mapping[str, Any], labels: Labels
) -> tuple[list[str], NDArray[np.float64], NDArray[np.float64]]:
    """Tokens, messages by token and label, and messages by label, from exported counts."""
    try:
        named = list(counts["labels"])
        if sorted(map(repr, named)) != sorted(map(repr, labels)):
            raise CannotMerge(f"the counts are of {named!r}, the filter is of {list(labels)!r}")
        order = [named.index(label) for label in labels]
        tokens = list(counts["tokens"])
        rows = [counts["tokens"][token] for token in tokens]
        table = np.array(rows, float).reshape(len(tokens), 2)[:, order]
        totals = np.array(counts["messages"], float).reshape(2)[order]
    except (LookupError, TypeError, ValueError) as error:
        if isinstance(error, CannotMerge):
            raise
        raise BadValue(f"these are no exported counts: {error}") from error
    whole = np.vstack([table, totals])
    if not all(type(token) is str for token in tokens) or not ((whole >= 0) & (whole < MOST_MESSAGES)).all():
        raise BadValue("imported counts must be finite numbers of at least 0 by token: {token: [ham, spam]}")
    if (table > totals).any():
        raise BadValue("an imported token is in more messages than there are")
    return tokens, table, totals
