"""Columns of running text: read as a bag of words, each word a feature beside the other columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from stream_bayes.core.values.values import JSONValue, Value, shown
from stream_bayes.data.column_kind import ColumnKind
from stream_bayes.data.features import Nominal, Numeric, Spec
from stream_bayes.errors import SchemaError

__all__ = ["MOST_WORDS", "WIDE", "Text", "frequent_words", "words_of"]

MOST_WORDS = 200  # features of the texts of a table
LEAST_CELLS, LEAST_CELL_SHARE = 3, 0.005  # that hold a word, or it is too rare to learn from
MOST_CELL_SHARE = 0.98  # that hold a word, or it tells nothing
PRESENCE = ("no", "yes")
# Letters of scripts without blanks between words are read in pairs.
WIDE = "\u0e00-\u0eff\u2e80-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
LETTERS = rf"(?:[^\W\d_{WIDE}]|[\u0300-\u036f\u0900-\u0dff])+"  # with the marks over and around them
WORD = re.compile(rf"[{WIDE}]+|{LETTERS}(?:['’\-]{LETTERS})*|\d[\d.,]*|[$€£¥%!?]")
DIGITS = re.compile(r"\d")


def words_of(text: str) -> list[str]:
    """Return the words of a text, in lower case. In numbers each digit is 0; marks such as ! and $ are words.

    Examples
    --------
    >>> words_of("You WON $1,000! Call 0906-174 now"), words_of("東京都")
    (['you', 'won', '$', '0,000', '!', 'call', '0000', '000', 'now'], ['東京', '京都'])
    """
    words: list[str] = []
    for word in WORD.findall(text.lower()):
        if word[0].isdecimal():
            words.append(DIGITS.sub("0", word.rstrip(".,")))
        elif re.match(f"[{WIDE}]", word) and len(word) > 1:
            words += [word[start : start + 2] for start in range(len(word) - 1)]
        else:
            words.append(word)
    return words


def frequent_words(cells: Mapping[str, int], most: int = MOST_WORDS) -> tuple[str, ...]:
    """Return the words that many cells hold, but not all of them, the most frequent first.

    Labels play no part, so that words chosen by some rows say nothing about the labels of these. `cells` has the number
    of cells of each text.

    Examples
    --------
    >>> frequent_words({"refund please": 3, "thank you": 5, "please": 1})
    ('thank', 'you', 'please', 'refund')
    """
    holding = Counter[str]()
    for text, count in cells.items():
        for word in dict.fromkeys(words_of(text)):
            holding[word] += count
    total = sum(cells.values())
    least = max(LEAST_CELLS, LEAST_CELL_SHARE * total)
    ranked = [word for word, count in holding.most_common() if least <= count <= MOST_CELL_SHARE * total]
    return tuple(ranked[:most])


@dataclass(frozen=True, slots=True)
class Text(ColumnKind):
    """A column of running text, read as a bag of words.

    Each word becomes a feature `NAME: WORD` that is `yes` or `no`, and `NAME length` is the number of words of the
    text. Case means nothing, and in a number each digit is 0. Other words are only counted.

    Parameters
    ----------
    words
        The words that become features.

    Examples
    --------
    >>> text = Text(["refund", "thanks"])
    >>> text.features("mail")
    {'mail length': Numeric(), 'mail: refund': Nominal(('no', 'yes')), 'mail: thanks': Nominal(('no', 'yes'))}
    >>> text.read("Refund it, please")
    (3.0, 'yes', 'no')
    """

    word: ClassVar[str] = "text"

    words: Sequence[str] = ()

    def __post_init__(self) -> None:
        if (
            isinstance(self.words, str)
            or not self.words
            or not all(isinstance(word, str) and words_of(word) == [word] for word in self.words)
            or len(set(self.words)) < len(self.words)
        ):
            raise SchemaError(
                "words: expected a list of different words in lower case, with 0 for each digit, such as "
                f'["refund", "0000"], got {shown(self.words)}'
            )
        object.__setattr__(self, "words", tuple(self.words))

    def features(self, column: str) -> dict[str, Spec]:
        made: dict[str, Spec] = {f"{column} length": Numeric()}
        return made | {f"{column}: {word}": Nominal(PRESENCE) for word in self.words}

    def read(self, cell: object) -> tuple[Value | None, ...]:
        if not isinstance(cell, str):
            raise ValueError("a text")
        words = words_of(cell)
        present = set(words)
        return (float(len(words)), *["yes" if word in present else "no" for word in self.words])

    def options(self) -> dict[str, JSONValue]:
        return {"words": list(self.words)}
