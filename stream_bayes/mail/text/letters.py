"""Letters as they look: no invisible characters, no styled or foreign letters in the place of plain ones.

"fr\u200bee \uff30ills, vi\u0430gra"  ->  "free Pills, viagra", with a token for each of the tricks
"""

from __future__ import annotations

import re
import unicodedata
from itertools import islice
from typing import Final

__all__ = ["as_seen", "spaced_words"]

_BIDI = "\u202a-\u202e\u2066-\u2069"
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2060-\u2064\u206a-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e01ef"
)
_LINES = "\u0332-\u0338\u20d2\u20d3\u20e5\u20eb"  # through or under letters
_LINE = re.compile(f"[{_LINES}]")
_STRUCK = re.compile(f"(?<=\\w)[{_LINES}]{{1,5}}")
_REMOVED = re.compile(f"[{_BIDI}{_INVISIBLE}]+")
_WITHIN_WORD = re.compile(f"(?<=[A-Za-z0-9])[{_INVISIBLE}]+(?=[A-Za-z0-9])")
_SPACED = re.compile(r"(?<![^\W_])[^\W\d_]([ .*_-])(?:[^\W\d_]\1){2,30}[^\W\d_](?![^\W_])")
MAX_SPACED = 100  # words of one text
_TURNED = re.compile(f"[{_BIDI}]")
_REVERSED = re.compile(f"\u202e([^{_BIDI}\n]{{1,1000}})")  # shown from right to left
_STYLED = re.compile("[\U0001d400-\U0001d7ff\uff21-\uff3a\uff41-\uff5a\u24b6-\u24e9\U0001f130-\U0001f189]")
_WORD = re.compile(r"[^\W\d_]{2,60}")
MAX_FOLDED = 5_000  # words of one text
_CHUNK = 512  # letters normalised together: sorting a run of accents takes quadratic time

# Cyrillic and Greek letters with the Latin one that each looks like.
_PAIRS: Final = (
    "аa еe оo рp сc уy хx іi ѕs јj һh ԁd ԛq ԝw ӏl ьb кk мm тt нh вb АA ВB ЕE КK МM НH ОO РP СC ТT УY ХX ІI ЅS ЈJ"
    " οo αa νv ρp τt υu κk ιi εe ηn γy χx σo ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX"
)
_FOREIGN = "".join([pair[0] for pair in _PAIRS.split()])
_FOREIGN_LETTER = re.compile(f"[{_FOREIGN}]")
_LATIN: Final = str.maketrans({pair[0]: pair[1] for pair in _PAIRS.split()})
_MIXED = re.compile(f"[A-Za-z][{_FOREIGN}]|[{_FOREIGN}][A-Za-z]")
# Latin letters in their own right, which no language writes words in.
_SMALL: Final = "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ"
_SMALL_CAPITAL = re.compile(f"[{_SMALL}]")
_SMALL_CAPITALS: Final = str.maketrans(_SMALL, "abcdefghijklmnoprstuvwyz")


def as_seen(text: str) -> tuple[str, list[str]]:
    r"""Return a text as it looks, and tokens of the tricks in it.

    Examples
    --------
    >>> as_seen("fr\u200bee \uff30ills, vi\u0430gra")
    ('free Pills, viagra', ['text:zero-width', 'text:styled', 'text:mixed-scripts'])
    >>> as_seen("naïve café, мир")
    ('naïve café, мир', [])
    """
    if text.isascii():
        return text, []
    tokens: list[str] = []
    # Most tricks are seen from the few different letters of a text, without another pass over all of it.
    letters = "".join(set(text))
    if _REMOVED.search(letters):
        if _WITHIN_WORD.search(text):
            tokens.append("text:zero-width")
        if _TURNED.search(text):
            tokens.append("text:bidi")
            text = _REVERSED.sub(lambda match: match[1][::-1], text)
        text = _REMOVED.sub("", text)
    if _LINE.search(letters) and _STRUCK.search(text):
        tokens.append("text:struck")
        text = _STRUCK.sub("", text)
    if _STYLED.search(letters):
        tokens.append("text:styled")
    if not unicodedata.is_normalized("NFKC", text):
        text = _normalised(text)
        letters = "".join(set(text))
    if _SMALL_CAPITAL.search(letters):
        tokens.append("text:small-capitals")
        text = text.translate(_SMALL_CAPITALS)
    if _FOREIGN_LETTER.search(letters) and _MIXED.search(text):
        tokens.append("text:mixed-scripts")
        text = _WORD.sub(_folded, text, MAX_FOLDED)
    return text, tokens


def spaced_words(text: str) -> list[str]:
    """Return words whose letters are set apart by blanks, dots or the like.

    Examples
    --------
    >>> spaced_words("buy V I A G R A or c.i.a.l.i.s, e.g. plan a b")
    ['VIAGRA', 'cialis']
    """
    return [match[0][::2] for match in islice(_SPACED.finditer(text), MAX_SPACED)]


def _normalised(text: str) -> str:
    """Return a text with one character for all forms of a letter; not much longer than the text itself."""
    chunks: list[str] = []
    left = len(text) + _CHUNK
    for start in range(0, len(text), _CHUNK):
        if left == 0:
            break
        chunk = unicodedata.normalize("NFKC", text[start : start + _CHUNK])[:left]
        left -= len(chunk)
        chunks.append(chunk)
    return "".join(chunks)


def _folded(match: re.Match[str]) -> str:
    """Return a word of mixed scripts in Latin letters; any other word as it is."""
    return match[0].translate(_LATIN) if _MIXED.search(match[0]) else match[0]
