"""Guessing the charset of text under no name: the reader's program guesses too, and shows words.

Escape sequences name a charset of seven bits. Bytes of UTF-8 are hardly anything else. What remains is decided by
likelihood: of pairs of bytes, by the characters in daily use among them; of single bytes, by how frequent their letters
are in the languages that are written with them. Bytes above 127 beside ASCII letters are of Western Europe.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Final, NamedTuple

__all__ = ["guessed_text"]

SAMPLED: Final = 1 << 11  # bytes from the first above 127 on, that are looked at
MIXED: Final = 0.5  # of the runs of bytes above 127 that touch an ASCII letter, in Latin script
MIN_USUAL: Final = 0.7  # of the pairs
COMMON_SHARE: Final = 0.4  # of a text: the characters that are listed below
RARE: Final = 0.01  # share of pairs that are not in daily use
OTHER: Final = math.log(1e-4)  # of a byte that is no letter of the language
CAPITAL: Final = -0.3  # of a capital beside its small letter
WESTERN: Final = math.log(0.01)  # of a byte of Windows-1252; letters of the right language are likelier

_ESCAPED: Final = (
    (re.compile(rb"\x1b\$(?:[@B]|\([D@B])"), "iso2022_jp_2"),
    (re.compile(rb"\x1b\$\)C"), "iso2022_kr"),
)
_HIGH = re.compile(rb"[\x80-\xff]+")
# A run is begun at its first byte alone, or one without a letter would take its square in steps.
_TOUCHING = re.compile(rb"[A-Za-z][\x80-\xff]+|(?<![\x80-\xff])[\x80-\xff]+[A-Za-z]")
_PAIR = re.compile(rb"[\x81-\xfe][\x30-\xfe]")


class _PairCharset(NamedTuple):
    """A charset of pairs of bytes."""

    name: str  # as Python has it
    pair: re.Pattern[bytes]  # matches any of its characters
    usual: re.Pattern[bytes]  # matches those in daily use
    size: int  # the number of those
    common: frozenset[str]  # the commonest of the language


_JAPANESE = frozenset(
    "のにはをたがでてとしれさいるあうかきくけこすせそちつなねひふほまみめもやゆよらりろわんっゃゅょ"
    "アイウエオカキクケコサシスセソタチッツテトナニネノハフヘホマミムメモャュョラリルレロワンー、。！？"
)
_KOREAN = frozenset(
    "이다는에의가을하고지은로기사한서도를대자시리어인아나해정그일전부제보수들있장주라과스만면조여니원성신상동공구용"
)
_SIMPLIFIED = frozenset(
    "的一是不了在人有我他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可里后小么心多天而能好都"
    "然没日于起还发成事只作当想看文无开手十用主行方又如前所本见经头面公同三已老从动两长，。！？"
)
_TRADITIONAL = frozenset(
    "的一是不了在人有我他這中大來上國個到說們為子和你地出道也時年得就那要下以生會自著去之過家學對可里後小麼心多天而能好都"
    "然沒日於起還發成事只作當想看文無開手十用主行方又如前所本見經頭面公同三已老從動兩長，。！？"
)
_PAIRS: Final = (
    _PairCharset(
        "cp932",
        re.compile(rb"[\x81-\x9f\xe0-\xfc][\x40-\xfc]|[\xa1-\xdf]"),
        re.compile(rb"[\x81-\x83\x88-\x97][\x40-\xfc]"),
        3_400,
        _JAPANESE,
    ),
    _PairCharset("euc_jp", _PAIR, re.compile(rb"[\xa1\xa3-\xa5\xb0-\xcf][\xa1-\xfe]"), 3_400, _JAPANESE),
    _PairCharset("cp949", _PAIR, re.compile(rb"[\xa1\xa3\xb0-\xc8][\xa1-\xfe]"), 2_500, _KOREAN),
    _PairCharset("gb18030", _PAIR, re.compile(rb"[\xa1\xa3\xb0-\xd7][\xa1-\xfe]"), 3_900, _SIMPLIFIED),
    _PairCharset("big5hkscs", _PAIR, re.compile(rb"[\xa1-\xc6][\x40-\x7e\xa1-\xfe]"), 5_600, _TRADITIONAL),
)
# Letters by falling frequency; the last of an alphabet are rare in its languages, or of a neighbour's.
_LETTERS: Final = {
    "cyrillic": "оеаинтсрвлкмпдуяыьзгбчйіхжшюцщїєэфъёґ",
    "greek": "αοιετσνηυρπκμλςωδγχθάφόίέβήξύώζψϊ",
    "hebrew": "יולאהמרתבנשחקדםעפטכצןסגזךףץ",
    "arabic": "اليمنرتوبةعدسفهكقحجشطصخىأذضإثغئءظزؤآ",
    "thai": "านรกเงมยอลวดท่สต้ะัปบคิีแหจพชขใไโผถซืุูํธศษณฟญ",
}
_SINGLE: Final = (
    *(("cp1251", "cyrillic"), ("koi8_r", "cyrillic"), ("koi8_u", "cyrillic"), ("cp866", "cyrillic")),
    *(("iso8859_5", "cyrillic"), ("cp1253", "greek"), ("cp1255", "hebrew"), ("cp1256", "arabic")),
    ("cp874", "thai"),
)


def _chances(letters: str) -> dict[str, float]:
    """Return log probabilities of letters in this order of frequency, and of their capitals."""
    weights = [math.exp(-0.1 * rank) for rank in range(len(letters))]
    chances = {
        letter: math.log(weight / sum(weights)) for letter, weight in zip(letters, weights, strict=True)
    }
    return {letter.upper(): chance + CAPITAL for letter, chance in chances.items()} | chances


_CHANCES: Final = {script: _chances(letters) for script, letters in _LETTERS.items()}


def guessed_text(data: bytes) -> tuple[str, str]:
    """Return the text of bytes under no name, and the charset by which it was read; "" for ASCII.

    Examples
    --------
    >>> guessed_text("Срочно, подтвердите пароль".encode("koi8-r"))
    ('Срочно, подтвердите пароль', 'koi8_r')
    >>> guessed_text("käse".encode("cp1252"))
    ('käse', 'cp1252')
    """
    if b"\x1b$" in data:
        for escape, name in _ESCAPED:
            if escape.search(data):
                return data.decode(name, "replace"), name
    if data.isascii():
        return data.decode("ascii"), ""
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        pass
    begin = max(next(_HIGH.finditer(data)).start() - 1, 0)  # with the letter before it
    name = _likeliest(data[begin : begin + SAMPLED])
    if name == "cp1252":
        return western_text(data), name
    return data.decode(name, "replace"), name


def western_text(data: bytes) -> str:
    """Return bytes as Windows-1252, as which readers show Latin-1 too; its five unused bytes as in Latin-1."""
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _likeliest(data: bytes) -> str:
    """Return the charset under which the bytes above 127 of a sample, and what follows them, are likeliest."""
    guesses = [(WESTERN, "cp1252"), *_by_pairs(data)]
    runs = _HIGH.findall(data)
    are_words = 2 * sum(len(run) for run in runs if len(run) > 1) > sum(map(len, runs))
    if are_words and len(_TOUCHING.findall(data)) < MIXED * len(runs):
        guesses += [_by_letters(data, name, script) for name, script in _SINGLE]
    return max(guesses, key=lambda guess: guess[0])[1]


def _by_pairs(data: bytes) -> list[tuple[float, str]]:
    """Return the log-likelihood of a byte by each charset of pairs that fits, and its name."""
    guesses = []
    for charset in _PAIRS:
        try:
            text = data.decode(charset.name)
        except UnicodeDecodeError as error:
            if error.start < SAMPLED - 4:  # a sample may end within a character
                continue
            text = data.decode(charset.name, "replace")
        pairs = charset.pair.findall(data)
        usual = sum(charset.usual.fullmatch(pair) is not None for pair in pairs)
        if pairs and usual >= MIN_USUAL * len(pairs):
            common = min(sum(letter in charset.common for letter in text), usual)
            likelihood = (
                common * math.log(COMMON_SHARE / len(charset.common))
                + (usual - common) * math.log((1.0 - COMMON_SHARE) / charset.size)
                + (len(pairs) - usual) * math.log(RARE / charset.size)
            )
            guesses.append((likelihood / sum(map(len, pairs)), charset.name))
    return guesses


def _by_letters(data: bytes, name: str, script: str) -> tuple[float, str]:
    """Return the log-likelihood of a byte above 127 by a charset of single bytes, and the charset's name."""
    chances = _CHANCES[script]
    letters = Counter(b"".join(_HIGH.findall(data)).decode(name, "replace"))
    likelihood = sum(chances.get(letter, OTHER) * count for letter, count in letters.items())
    return likelihood / letters.total(), name
