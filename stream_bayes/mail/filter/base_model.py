"""Bases: what a filter has learned, made so that others may begin with it.

A base has the counts and margins of tokens, and nothing of single mails: no ids, receipts, scores or second opinion.
Tokens are hashed with a salt, which is in the base, as its users must hash theirs alike; so whoever has a base can test
whether a word is in it. That is why tokens that may say something about a person are left out: those of few messages,
and all that are, or hold, an address, a name from a header, a link, the name of a file or a long number.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from stream_bayes.errors import BadValue, NotSupported
from stream_bayes.learners.base.arguments import check_count
from stream_bayes.mail.filter._evidence import UNIT
from stream_bayes.mail.filter.token_scorer import TokenScorer

if TYPE_CHECKING:
    from stream_bayes.mail.filter.filter import SpamFilter

__all__ = ["LEAST_MESSAGES", "Base", "base_of"]

LEAST_MESSAGES: Final = 10  # that hold a token of a base
SALT_BYTES: Final = 16
MAX_DIGITS: Final = 3  # of a word
# The prefixes of tokens that say how a message is made, and not who wrote it to whom; see `mail/text/tokens.py`.
SHARED: Final = (
    *("subject:", "shape:", "long:", "hops:", "html:", "hidden:", "text:", "mime:"),
    *("charset:", "file:.", "unread:", "defect:", "part:", "sender:", "auth:", "arc:"),
)


class Base(NamedTuple):
    """A filter for others to begin with, and the numbers of tokens that it lacks."""

    model: SpamFilter
    rare: int  # tokens of too few messages
    personal: int  # tokens that may be about a person


def base_of(model: SpamFilter, least: int = LEAST_MESSAGES, salt: bytes | None = None) -> Base:
    """Return the base of a filter, with tokens of at least so many messages. `salt` is that of the hashes; None: a new
    one.

    Raises
    ------
    NotSupported
        If its tokens are hashed, so that addresses could not be told from words, or counted by a learner.

    Examples
    --------
    >>> from stream_bayes.mail import SpamFilter
    >>> model = SpamFilter()
    >>> for number in range(12):
    ...     model.learn_one(f"free pills {number}", "spam")
    >>> base = base_of(model)
    >>> base.model.tokens, base.rare, base.model.messages
    (2, 12, {'ham': 0.0, 'spam': 12.0})
    """
    check_count("least", least)
    if model.token_key is not None:
        raise NotSupported(
            "the filter's tokens are hashed: addresses among them could not be left out of a base"
        )
    if model.learner is not None:
        raise NotSupported("a filter with a learner keeps counts of its own, of which there is no base")
    base = type(model)(model.classes, pairs=model.pairs, salt=salt or secrets.token_bytes(SALT_BYTES))
    rare = personal = 0
    for contest, theirs in zip(model.contests, base.contests, strict=True):
        scorer, made = contest.scorer, theirs.scorer
        assert isinstance(scorer, TokenScorer) and isinstance(made, TokenScorer)
        scorer.close_gaps(contest.receipts)
        tokens = scorer.table.vocabulary.values
        is_frequent = scorer.counts().sum(axis=1) >= least * UNIT
        is_shared = np.array([_is_shared(token) for token in tokens], bool)
        shared = np.flatnonzero(is_frequent & is_shared)
        rare = int((~is_frequent).sum())
        personal = int((is_frequent & ~is_shared).sum())
        hashed = base.stored_tokens({tokens[code]: 1 for code in shared.tolist()})
        margins = np.asarray(scorer.table.margin)[shared]
        made.absorb(
            list(hashed),
            scorer.counts()[shared],
            margins,
            np.array([scorer.table.first, scorer.table.second]),
        )
    if not base.tokens:
        raise BadValue(
            f"the filter has no token of {least} messages: train it on more before others begin with it"
        )
    return Base(base, rare, personal)


def _is_shared(token: str) -> bool:
    """Return True for a token that tells nothing about a person."""
    if token.startswith(SHARED):
        token = token.partition(":")[2]
    elif ":" in token or " " in token:
        return False
    return "@" not in token and sum(letter.isdigit() for letter in token) <= MAX_DIGITS
