r"""Tokens of a BIF text, each with its position.

    mark      { } ( ) [ ] ; , |
    quoted    "lung cancer"     on one line; \" is a quote and \\ a backslash
    word      anything else up to white space, a mark or a quote: smoke, 0.25, 12+, <5, Asy/Patchy

White space and comments, // to the end of the line and /* to */, separate tokens and are ignored.
"""

from __future__ import annotations

import re
from typing import NamedTuple, NoReturn

from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadFormat

__all__ = ["Scanner", "Token", "as_property", "as_token", "is_number_text", "line_and_column"]

_BETWEEN = re.compile(r"(?:\s+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_WORD = r'(?:[^\s{}()\[\];,|"/]|/(?![/*]))+'  # a slash, unless it begins a comment
_TOKEN = re.compile(rf'(?P<mark>[{{}}()\[\];,|])|"(?P<quoted>(?:[^"\\\r\n]|\\[^\r\n])*)"|(?P<word>{_WORD})')
_BARE = re.compile(_WORD)
_ESCAPE = re.compile(r'\\([\\"])')  # any other backslash is literal
_BREAKS = re.compile(r"[\r\n]")
_SURROGATES = re.compile("[\ud800-\udfff]")  # halves of a pair, which UTF-8 does not have

_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_PLAIN_NUMBERS = re.compile(r"[-+0-9.eE,\s]*+;")
_PROPERTY = re.compile(r'((?:"[^"\r\n]*"|[^;])*+);')  # a semicolon in quotes does not end it


class Token(NamedTuple):
    """A piece of the text, and the position where it begins."""

    kind: str  # mark, quoted or word; end after the last token
    text: str
    start: int

    def __str__(self) -> str:
        return "the end of the file" if self.kind == "end" else shown(self.text)


class Scanner:
    """A reader of tokens with one token of lookahead; errors give line and column. `source` is the name of the file,
    for messages.

    Examples
    --------
    >>> scanner = Scanner('variable "lung cancer" {', source="asia.bif")
    >>> scanner.next_token().text
    'variable'
    >>> scanner.name("a variable").text
    'lung cancer'
    >>> scanner.expect(";")
    Traceback (most recent call last):
        ...
    stream_bayes.errors.BadFormat: asia.bif:1:24: expected ';', got '{'
    """

    def __init__(self, text: str, source: str) -> None:
        self.text = text
        self.source = source
        self.next = self._token_at(0)

    def next_token(self) -> Token:
        """Consume the next token and return it."""
        token = self.next
        self.next = self._token_at(self._end)
        return token

    def accept(self, mark: str) -> bool:
        """Consume the next token if it is this mark; return False if it is not."""
        token = self.next
        if token.text != mark or token.kind != "mark":
            return False
        self.next = self._token_at(self._end)
        return True

    def expect(self, mark: str) -> None:
        """Consume this mark; raise `BadFormat` if the next token is not."""
        if not self.accept(mark):
            self.fail(f"expected {mark!r}, got {self.next}")

    def at_word(self, word: str) -> bool:
        """Return True if this keyword is next. In quotes it would be a name."""
        return self.next.kind == "word" and self.next.text == word

    def name(self, what: str) -> Token:
        """Consume a name, quoted or not, and return it."""
        if self.next.kind not in ("word", "quoted"):
            self.fail(f"expected {what}, got {self.next}; a name that holds marks or spaces needs quotes")
        return self.next_token()

    def names(self, what: str, close: str) -> list[Token]:
        """Consume names and the mark that closes them; return the names. Commas count as white space."""
        tokens = []
        while not self.accept(close):
            if not self.accept(","):
                tokens.append(self.name(f"{what} or {close!r}"))
        return tokens

    def numbers(self) -> list[float]:
        """Consume numbers, with or without commas, and the semicolon after them; return the numbers."""
        # Most of a large file is such lists, and reading them by token takes five times as long. A list with comments
        # or
        # errors is read by token.
        if plain := _PLAIN_NUMBERS.match(self.text, self.next.start):
            try:
                numbers = list(map(float, plain[0][:-1].replace(",", " ").split()))
            except ValueError:
                pass
            else:
                self.next = self._token_at(plain.end())
                return numbers
        numbers = []
        while not self.accept(";"):
            if not self.accept(","):
                if self.next.kind != "word" or not is_number_text(self.next.text):
                    self.fail(f"expected a number or ';', got {self.next}")
                numbers.append(float(self.next_token().text))
        return numbers

    def property(self) -> str:
        """Consume the keyword and its text up to the semicolon; return the text unchanged."""
        # Search from the end of the keyword: the text need not consist of whole tokens.
        match = _PROPERTY.match(self.text, self._end)
        if match is None:
            self.fail("this property has no end: expected ';'")
        self.next = self._token_at(match.end())
        return match[1].strip()

    def fail(self, message: str, start: int | None = None) -> NoReturn:
        """Raise `BadFormat` at a position, by default that of the next token."""
        start = self.next.start if start is None else start
        raise BadFormat(f"{self.source}:{line_and_column(self.text, start)}: {message}")

    def _token_at(self, start: int) -> Token:
        start = _BETWEEN.match(self.text, start).end()  # type: ignore[union-attr]  # it matches nothing, too
        match = _TOKEN.match(self.text, start)
        if match is None:
            if start < len(self.text):
                what = "comment has no end: expected '*/'"
                if self.text[start] == '"':
                    what = "quote has no end on its line: expected '\"'"
                self.fail(f"this {what}", start)
            self._end = start
            return Token("end", "", start)
        self._end = match.end()
        kind = match.lastgroup or ""
        text = match[kind]
        return Token(kind, _ESCAPE.sub(r"\1", text) if kind == "quoted" else text, start)


def is_number_text(text: str) -> bool:
    """Return True for a finite number in decimal digits."""
    return _NUMBER.fullmatch(text) is not None


def line_and_column(text: str, start: int) -> str:
    r"""Return a position in a text as line and column, counted from 1.

    Examples
    --------
    >>> line_and_column("network asia {\n}", 15)
    '2:1'
    """
    lines = re.split(r"\r\n|\r|\n", text[:start])
    return f"{len(lines)}:{len(lines[-1]) + 1}"


def as_token(name: str) -> str:
    r"""Return a name as written in a text: bare if that reads back, otherwise quoted.

    Raises
    ------
    BadFormat
        If the name holds a line break or half a surrogate pair, which no token can.

    Examples
    --------
    >>> print(as_token("12+"), as_token("lung cancer"), as_token('5"'))
    12+ "lung cancer" "5\""
    """
    if _BREAKS.search(name) or _SURROGATES.search(name):
        raise BadFormat(
            f"BIF cannot hold the name {shown(name)}: it has a line break or a lone surrogate; rename it"
        )
    if _BARE.fullmatch(name):
        return name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def as_property(text: str) -> str:
    """Return a property as written in a text, with its keyword and semicolon.

    Raises
    ------
    BadFormat
        If the property would not read back unchanged.

    Examples
    --------
    >>> as_property("position = (73, 165)")
    'property position = (73, 165);'
    """
    if not _PROPERTY.fullmatch(f"{text};") or text != text.strip() or _SURROGATES.search(text):
        raise BadFormat(
            f"BIF cannot hold the property {shown(text)}: it has a semicolon outside quotes, white space at an end or "
            "a lone surrogate"
        )
    return f"property {text};"
