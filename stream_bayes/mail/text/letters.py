"""Letters as they look: no invisible characters, no styled or foreign letters in the place of plain ones.

"fr\u200bee \uff30ills, vi\u0430gra"  ->  "free Pills, viagra", with a token for each of the tricks
"""

from __future__ import annotations

import re
import unicodedata
from itertools import islice
from typing import Final

__all__ = ["TRICKS", "as_seen", "spaced_words"]

# The tokens of letters that are not as they look, each of which some honest mail has, too.
TRICKS: Final = tuple(
    f"text:{trick}"
    for trick in "zero-width bidi struck spaced styled marks small-capitals mixed-scripts".split()
)

_BIDI = "\u202a-\u202e\u2066-\u2069"
_CONTROLS = "\x00-\x08\x0e-\x1f\x7f"
_CONTROL_BYTES: Final = bytes([*range(0x09), *range(0x0E, 0x20), 0x7F])
_INVISIBLE = (
    f"{_CONTROLS}\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2060-\u2064\u206a-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U00013430-\U0001345f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e01ef"
)
_LINES = "\u0332-\u0338\u20d2\u20d3\u20e5\u20eb"  # through or under letters
_LINE = re.compile(f"[{_LINES}]")
_STRUCK = re.compile(f"(?<=\\w)[{_LINES}]{{1,5}}")
_REMOVED = re.compile(f"[{_BIDI}{_INVISIBLE}]+")
_WITHIN_WORD = re.compile(f"(?<=[A-Za-z0-9])[{_INVISIBLE}]+(?=[A-Za-z0-9])")
_SPACED = re.compile(
    r"(?<![^\W_])[^\W\d_](\s{1,6}|[.*_|/~\u00b7\u2022-])(?:[^\W\d_]\1){2,30}[^\W\d_](?![^\W_])"
)
_THIN = "\u2002-\u200a\u202f\u205f\u2800"  # blanks between letters, where words are apart by others
_THIN_BLANK = re.compile(f"[{_THIN}]")
_APART = re.compile(f"(?<![^\\W_])[^\\W\\d_](?:[{_THIN}][^\\W\\d_]){{2,60}}(?![^\\W_])")
# Accents that make no letter of their own with the one before; normalisation has joined the others.
_MARK = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]")
MAX_SPACED = 100  # words of one text
_TURNED = re.compile(f"[{_BIDI}]")
_REVERSED = re.compile(f"\u202e([^{_BIDI}\n]{{1,1000}})")  # shown from right to left
_STYLED = re.compile("[\U0001d400-\U0001d7ff\uff21-\uff3a\uff41-\uff5a\u24b6-\u24e9\U0001f130-\U0001f189]")
# White letters on a dark disc or square, which normalisation leaves.
_NEGATIVES: Final = {
    first + number: chr(ord("A") + number) for first in (0x1F150, 0x1F170) for number in range(26)
}
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
    if text.isascii() and len(text.encode("ascii").translate(None, _CONTROL_BYTES)) == len(text):
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
    if _THIN_BLANK.search(letters) and _APART.search(text):
        tokens.append("text:spaced")
        text = _APART.sub(lambda match: match[0][::2], text)
    if _STYLED.search(letters):
        tokens.append("text:styled")
        text = text.translate(_NEGATIVES)
    if not unicodedata.is_normalized("NFKC", text):
        text = _normalised(text)
        letters = "".join(set(text))
    if _MARK.search(letters) and _MARK.search(text):
        tokens.append("text:marks")
        text = _MARK.sub("", text)
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
    return [match[0].replace(match[1], "") for match in islice(_SPACED.finditer(text), MAX_SPACED)]


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
