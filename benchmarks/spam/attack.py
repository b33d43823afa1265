"""The damage of hostile training messages to a spam filter: spam that is stuffed with words of the corpus's own ham.

The attack is that of Nelson et al. (2008), "Exploiting machine learning to subvert your spam filter". One message in a
hundred, from the 500th on, is labelled spam and holds a dictionary of words that ham uses, so that the filter learns to
take ham for spam. A message that is much longer than messages are counts little; the same filter without this cap
shows what the cap is worth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np
from rich.table import Table

from stream_bayes.mail import EmailTokens
from stream_bayes.mail.filter import length_weights

__all__ = ["START", "Falls", "dictionary", "falls", "table_of", "uncapped"]

START = 500  # the message before which the first hostile one is learned
UNLIMITED = 10**9  # tokens

Hostile = list[tuple[int, dict[str, int]]]


def dictionary(ham: Sequence[bytes | str], messages: int, words: int, share: float, seed: int = 1) -> Hostile:
    """Return bags of words to be learned as spam, each with the place in the stream before which it comes.

    Parameters
    ----------
    ham
        The messages whose words are taken: the attacker has all ham, past and future.
    messages
        The length of the stream.
    words
        The number of different words in each bag.
    share
        Hostile messages for each message from the 500th on.
    seed
        Seed of the draw of words.
    """
    tokens = EmailTokens()
    known: dict[str, None] = {}
    for message in ham:
        known.update((token, None) for token in tokens.transform_one(message) if ":" not in token)
    rng, pool = np.random.default_rng(seed), np.array(list(known))
    places = range(START, messages, max(round(1 / share), 1))
    drawn = (rng.choice(pool, min(words, len(pool)), replace=False).tolist() for _ in places)
    # As a message they would be cut to what is read of one; as a bag the filter has to stand all of them.
    return [(place, dict.fromkeys(bag, 1)) for place, bag in zip(places, drawn, strict=True)]


@contextmanager
def uncapped() -> Iterator[dict[str, int]]:
    """Yield settings of filters in which every message counts fully, however long."""
    with patch.object(length_weights, "MIN_FULL", UNLIMITED):
        yield {"influence": UNLIMITED}


@dataclass(frozen=True)
class Falls:
    """The loss under attack, in points of accuracy and of 1-ROCA%."""

    accuracy: float
    rank: float


def falls(found: dict[str, tuple[float, float]]) -> Falls:
    """Return the losses, from accuracy and 1-ROCA% in per cent, "honest" and "attacked"."""
    (right, rank), (right_then, rank_then) = found["honest"], found["attacked"]
    return Falls(right - right_then, rank_then - rank)


def table_of(found: dict[str, dict[str, tuple[float, float]]], title: str) -> Table:
    """Return a table of accuracy and 1-ROCA% with and without the attack.

    Parameters
    ----------
    found
        Of each filter ("capped", "uncapped") accuracy and 1-ROCA%, both in per cent, "honest" and "attacked".
    title
        Of the table.
    """
    table = Table(title=title, title_justify="left")
    for name in ("", "honest", "attacked", "lost"):
        table.add_column(name, justify="right" if name else "left")
    for name, both in found.items():
        lost = falls(both)
        for place, (measure, fell) in enumerate((("accuracy %", lost.accuracy), ("1-ROCA%", lost.rank))):
            before, after = both["honest"][place], both["attacked"][place]
            table.add_row(f"{measure}, {name}", f"{before:.4g}", f"{after:.4g}", f"{fell:.4g}")
    return table
