"""Reading and writing Bayesian networks in NET, the format of Hugin.

    net { name = "asia"; }
    node smoke { states = ("yes" "no"); }
    potential (lung | smoke) { data = ((0.1 0.9)      % smoke=yes
                                       (0.01 0.99)); }

A table has a row for each combination of the parents' states, the last of which changes first. Attributes but states
and data are not read: positions, labels, and what other programs add.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.dot import spelled
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadFormat
from stream_bayes.networks.files.network_draft import NetworkDraft
from stream_bayes.networks.files.xdsl import identifiers

__all__ = ["net_text", "parse_net"]

_BETWEEN = re.compile(r"(?:\s+|%[^\r\n]*)*")
_TOKEN = re.compile(
    r'"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<mark>[{}()=;|,])|(?P<word>[^\s{}()=;|,"%]+)', re.DOTALL
)
MOST_DEEP = 100  # parentheses in parentheses
END = "the end of the file"
_UNREAD = ("continuous", "decision", "utility", "function", "class")


class NetToken(NamedTuple):
    """A piece of the text: its kind (quoted, mark, word, end), and its line."""

    kind: str
    text: str
    line: int


class _NetReader:
    """A reader of blocks, with one token of lookahead."""

    def __init__(self, text: str, source: str) -> None:
        self.parts = NetworkDraft(source)
        self._tokens = self._scan(text)
        self.next = next(self._tokens)

    def _scan(self, text: str) -> Iterator[NetToken]:
        at, line = 0, 1
        while True:
            start = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing, too
            line += text.count("\n", at, start)
            found = _TOKEN.match(text, start)
            if found is None:
                if start < len(text):
                    self.parts.fail(line, f"this quote has no end: {shown(text[start : start + 20])}")
                while True:
                    yield NetToken("end", END, line)
            kind = found.lastgroup or ""
            piece = found[kind]
            yield NetToken(kind, re.sub(r"\\(.)", r"\1", piece) if kind == "quoted" else piece, line)
            line += found[0].count("\n")
            at = found.end()

    def take(self) -> NetToken:
        """Consume the next token and return it."""
        token, self.next = self.next, next(self._tokens)
        return token

    def accept(self, mark: str) -> bool:
        """Consume this mark if it is next."""
        is_next = self.next.kind == "mark" and self.next.text == mark
        if is_next:
            self.take()
        return is_next

    def expect(self, mark: str) -> None:
        """Consume this mark, or raise `BadFormat`."""
        if not self.accept(mark):
            self.fail(f"expected {mark!r}, got {shown(self.next.text)}")

    def name(self, what: str) -> str:
        """Consume a word or a quoted text."""
        if self.next.kind not in ("word", "quoted"):
            self.fail(f"expected {what}, got {shown(self.next.text)}")
        return self.take().text

    def fail(self, message: str) -> NoReturn:
        """Raise `BadFormat` at the next token."""
        self.parts.fail(self.next.line, message)

    def attributes(self) -> dict[str, Any]:
        """Consume `{ name = value; ... }` and return the values: texts, and lists of them."""
        found: dict[str, Any] = {}
        self.expect("{")
        while not self.accept("}"):
            name = self.name("an attribute or '}'")
            self.expect("=")
            if name in found:
                self.fail(f"the attribute {shown(name)} is given twice")
            found[name] = self._value()
            self.expect(";")
        return found

    def _value(self) -> Any:
        if not self.accept("("):
            return self.name("a value")
        lists: list[list[Any]] = [[]]
        while lists:
            if self.accept("("):
                if len(lists) > MOST_DEEP:
                    self.fail(f"expected parentheses at most {MOST_DEEP} deep")
                lists.append([])
            elif self.accept(")"):
                done = lists.pop()
                if not lists:
                    return done
                lists[-1].append(done)
            elif not self.accept(","):
                lists[-1].append(self.name("a value or ')'"))
        raise AssertionError


def parse_net(text: str, source: str, tolerance: float) -> DiscreteNetwork:
    """Return the network of a text in NET. Raise `BadFormat` for anything else, such as nodes that decide."""
    reader = _NetReader(text.removeprefix("\ufeff"), source)
    parts, has_header = reader.parts, False
    while reader.next.kind != "end":
        line = reader.next.line
        word = reader.name("net, node or potential")
        if word == "net" and not has_header:
            has_header, name = True, reader.attributes().get("name")
            parts.name = name if isinstance(name, str) and name else parts.name
        elif word in ("node", "discrete", "chance"):
            while word in ("discrete", "chance"):
                word = reader.name("node")
            if word != "node":
                parts.fail(line, f"expected 'node', got {shown(word)}: the discrete nodes of chance are read")
            node, states = reader.name("a node"), reader.attributes().get("states")
            if not isinstance(states, list) or not all(isinstance(each, str) for each in states):
                parts.fail(line, f'node {shown(node)}: expected states = ("yes" "no"), got {shown(states)}')
            parts.add_variable(node, states, line)
        elif word == "potential":
            _read_potential(reader, line)
        elif word in _UNREAD:
            parts.fail(
                line, f"{shown(word)} is not read: the discrete nodes of chance are. Leave it out in Hugin"
            )
        else:
            parts.fail(line, f"expected one net, then node or potential, got {shown(word)}")
    if not has_header:
        parts.fail(reader.next.line, "expected a net block, got none to the end of the file")
    return parts.network(tolerance)


def _read_potential(reader: _NetReader, line: int) -> None:
    reader.expect("(")
    child, parents = reader.name("a node"), []
    if not reader.accept(")"):
        reader.expect("|")
        while not reader.accept(")"):
            parents.append(reader.name("a parent or ')'"))
    attributes = reader.attributes()
    if "data" not in attributes:
        what = "a formula" if "model_data" in attributes else "no data"
        reader.parts.fail(
            line, f"the potential of {shown(child)} has {what}; have Hugin write its table as data"
        )
    numbers: list[float] = []
    waiting = [attributes["data"]]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting.extend(reversed(value))
        else:
            numbers.append(reader.parts.number(value, line))
    reader.parts.add_table(child, parents, numbers, line)


def net_text(network: DiscreteNetwork) -> str:
    """Return a network as a text in NET."""
    variables = network.structure.variables
    name = dict(zip(variables, identifiers(variables, "NET"), strict=True))
    lines = ["net", "{", f"  name = {_quoted(network.name)};", "}"]
    for v in variables:
        labels = " ".join(map(_quoted, spelled(network.states[v])))
        lines += [f"node {name[v]}", "{", f"  states = ({labels});", "}"]
    for v in variables:
        parents = network.structure.parents(v)
        given = f" | {' '.join(name[p] for p in parents)}" if parents else ""
        lines += [
            f"potential ({name[v]}{given})",
            "{",
            f"  data = {_nested(network.tables[v].tolist())};",
            "}",
        ]
    return "\n".join([*lines, ""])


def _nested(values: Any) -> str:
    return f"({' '.join(map(_nested, values))})" if isinstance(values, list) else repr(values)


def _quoted(text: str) -> str:
    if any(c < " " or "\ud800" <= c <= "\udfff" for c in text):
        raise BadFormat(
            f"NET cannot hold the text {shown(text)}: it has a control character or a lone surrogate"
        )
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
