"""Messages as the filter receives them: their ids, and bags of tokens that were made elsewhere."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from stream_bayes.errors import BadValue

__all__ = ["Classes", "ContestLabels", "FilterBag", "checked_bag", "digest_of"]

Classes = tuple[Hashable, ...]  # the wanted one, then the others, unwanted ones
ContestLabels = tuple[Hashable, Hashable]  # of a contest: the names of 0 and 1


@dataclass(frozen=True, slots=True, eq=False)
class FilterBag:
    """The tokens of a message as a filter stores them: with a key, hashed."""

    tokens: dict[str, int]
    borders: tuple[int, ...] = ()  # the places of tokens that begin a part: no passage crosses them


def digest_of(message: bytes | str | dict[str, int]) -> str:
    """Return the SHA-256 of a message, its id if it has no other; of a bag, that of its sorted tokens and counts.

    Examples
    --------
    >>> digest_of("hello")[:12]
    '2cf24dba5fb0'
    """
    if isinstance(message, dict):
        message = "\n".join(f"{token}\t{count}" for token, count in sorted(message.items()))
    data = message.encode("utf-8", "surrogatepass") if isinstance(message, str) else message
    return hashlib.sha256(data).hexdigest()


def checked_bag(message: Any) -> dict[str, int]:
    """Return a bag without its zero counts.

    Raises
    ------
    BadValue
        If it is not a bag of tokens.
    """
    if not isinstance(message, Mapping):
        instead = "; give its as_bytes()" if hasattr(message, "as_bytes") else ""
        raise BadValue(f"a message is bytes, text or a bag of tokens; got {type(message).__name__}{instead}")
    for token, count in message.items():
        number = isinstance(count, (int, float)) and not isinstance(count, bool)
        if type(token) is not str or not number or not 0 <= count < math.inf:
            raise BadValue(
                f"a bag holds {{token: count}}, texts and numbers of at least 0; got {token!r}: {count!r}"
            )
    return {token: count for token, count in message.items() if count > 0}
