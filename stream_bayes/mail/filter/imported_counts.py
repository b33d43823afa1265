"""Checks of imported counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stream_bayes.errors import BadValue, CannotMerge
from stream_bayes.mail.filter.messages import Labels

__all__ = ["checked_counts"]

MAX_MESSAGES: Final = 2.0**40  # of one import: sums of many still fit


def checked_counts(
    counts: Mapping[str, Any], labels: Labels
) -> tuple[list[str], NDArray[np.float64], NDArray[np.float64]]:
    """Return tokens, messages by token and label, and messages by label, from exported counts.

    Raises
    ------
    BadValue, CannotMerge
        If these are no exported counts, or counts of other labels.
    """
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
        raise BadValue(f"expected exported counts, got something else: {error}") from error
    whole = np.vstack([table, totals])
    if not all(type(token) is str for token in tokens) or not ((whole >= 0) & (whole < MAX_MESSAGES)).all():
        raise BadValue("imported counts must be finite numbers of at least 0 by token: {token: [ham, spam]}")
    if (table > totals).any():
        raise BadValue("an imported token is in more messages than there are")
    return tokens, table, totals
