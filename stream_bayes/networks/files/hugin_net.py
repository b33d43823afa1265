"""Reading and writing Bayesian networks in NET, the format of Hugin.

    net { name = "asia"; }
    node smoke { states = ("yes" "no"); }
    potential (lung | smoke) { data = ((0.1 0.9)      % smoke=yes
                                       (0.01 0.99)); }

A table has a row for each combination of the parents' states, the last of which changes first. Attributes but states
and data are not read: positions, labels, and what other programs add.

An influence diagram has blocks `decision` and `utility`, too. The potential of a decision has no data: its parents are
what is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

from stream_bayes.core.inference.influence_diagram import InfluenceDiagram
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.dot import spelled
from stream_bayes.core.values.values import Value, shown
from stream_bayes.errors import BadFormat
from stream_bayes.networks.files.diagram_draft import DiagramDraft, nodes_of
from stream_bayes.networks.files.xdsl import identifiers

__all__ = ["draft_of_net", "net_diagram_text", "net_text"]

_BETWEEN = re.compile(r"(?:\s+|%[^\r\n]*)*")
_TOKEN = re.compile(
    r'"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<mark>[{}()=;|,])|(?P<word>[^\s{}()=;|,"%]+)', re.DOTALL
)
MOST_DEEP = 100  # parentheses in parentheses
END = "the end of the file"
_UNREAD = ("continuous", "function", "class")


class NetToken(NamedTuple):
    """A piece of the text: its kind (quoted, mark, word, end), and its line."""

    kind: str
    text: str
    line: int


class _NetReader:
    """A reader of blocks, with one token of lookahead."""

    def __init__(self, text: str, source: str) -> None:
        self.parts = DiagramDraft(source)
        self._tokens = self._scan(text)
        self.next = next(self._tokens)

    def _scan(self, text: str) -> Iterator[NetToken]:
        at, line = 0, 1
        while True:
            start = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing, too
            line += text.count("\n", at, start)
            match = _TOKEN.match(text, start)
            if match is None:
                if start < len(text):
                    self.parts.fail(line, f"this quote has no end: {shown(text[start : start + 20])}")
                while True:
                    yield NetToken("end", END, line)
            kind = match.lastgroup or ""
            piece = match[kind]
            yield NetToken(kind, re.sub(r"\\(.)", r"\1", piece) if kind == "quoted" else piece, line)
            line += match[0].count("\n")
            at = match.end()

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
        values: dict[str, Any] = {}
        self.expect("{")
        while not self.accept("}"):
            name = self.name("an attribute or '}'")
            self.expect("=")
            if name in values:
                self.fail(f"the attribute {shown(name)} is given twice")
            values[name] = self._value()
            self.expect(";")
        return values

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


def draft_of_net(text: str, source: str) -> DiagramDraft:
    """Return the nodes of a text in NET. Raise `BadFormat` for anything else, such as continuous nodes."""
    reader = _NetReader(text.removeprefix("\ufeff"), source)
    parts, has_header = reader.parts, False
    utilities: dict[str, int] = {}
    potentials: dict[str, tuple[list[str], dict[str, Any], int]] = {}
    while reader.next.kind != "end":
        line = reader.next.line
        word = reader.name("net, node or potential")
        if word == "net" and not has_header:
            has_header, name = True, reader.attributes().get("name")
            parts.name = name if isinstance(name, str) and name else parts.name
        elif word in ("node", "discrete", "chance", "decision"):
            _read_node(reader, word, line)
        elif word == "utility":
            utilities[reader.name("a node")] = line
            reader.attributes()
        elif word == "potential":
            child, parents = _family(reader)
            if child in potentials:
                parts.fail(line, f"the potential of {shown(child)} is given twice")
            potentials[child] = parents, reader.attributes(), line
        elif word in _UNREAD:
            parts.fail(line, f"{shown(word)} is not read: discrete nodes are. Leave it out in Hugin")
        else:
            parts.fail(line, f"expected one net, then node or potential, got {shown(word)}")
    if not has_header:
        parts.fail(reader.next.line, "expected a net block, got none to the end of the file")
    for child, (parents, attributes, line) in potentials.items():
        if child in parts.knowing:
            parts.knowing[child] = parents
        elif child in utilities:
            parts.add_utility(child, parents, _numbers(parts, child, attributes, line), utilities[child])
        else:
            parts.add_table(child, parents, _numbers(parts, child, attributes, line), line)
    if absent := [name for name in utilities if name not in potentials]:
        parts.fail(utilities[absent[0]], f"the utility {shown(absent[0])} has no potential")
    return parts


def _read_node(reader: _NetReader, word: str, line: int) -> None:
    is_decision = word == "decision"
    while word in ("discrete", "chance"):
        word = reader.name("node")
    if word not in ("node", "decision"):
        reader.parts.fail(line, f"expected 'node', got {shown(word)}: discrete nodes are read")
    node, states = reader.name("a node"), reader.attributes().get("states")
    if not isinstance(states, list) or not all(isinstance(each, str) for each in states):
        reader.parts.fail(line, f'node {shown(node)}: expected states = ("yes" "no"), got {shown(states)}')
    if is_decision:
        reader.parts.add_decision(node, states, line)
    else:
        reader.parts.add_variable(node, states, line)


def _family(reader: _NetReader) -> tuple[str, list[str]]:
    """Consume `(child | parent parent)`."""
    reader.expect("(")
    child, parents = reader.name("a node"), []
    if not reader.accept(")"):
        reader.expect("|")
        while not reader.accept(")"):
            parents.append(reader.name("a parent or ')'"))
    return child, parents


def _numbers(parts: DiagramDraft, child: str, attributes: dict[str, Any], line: int) -> list[float]:
    if "data" not in attributes:
        what = "a formula" if "model_data" in attributes else "no data"
        parts.fail(line, f"the potential of {shown(child)} has {what}; have Hugin write its table as data")
    numbers: list[float] = []
    waiting = [attributes["data"]]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting.extend(reversed(value))
        else:
            numbers.append(parts.number(value, line))
    return numbers


def net_text(network: DiscreteNetwork) -> str:
    """Return a network as a text in NET."""
    variables = network.structure.variables
    name = dict(zip(variables, identifiers(variables, "NET"), strict=True))
    lines = _header(network.name)
    for v in variables:
        lines += _node_block("node", name[v], _states(network, v))
    for v in variables:
        lines += _potential(
            name[v], [name[p] for p in network.structure.parents(v)], _nested(network.tables[v].tolist())
        )
    return "\n".join([*lines, ""])


def net_diagram_text(diagram: InfluenceDiagram) -> str:
    """Return an influence diagram as a text in NET."""
    every = [*nodes_of(diagram)]
    texts = identifiers([node.name for node in every], "NET")
    name = {node.name: text for node, text in zip(every, texts, strict=True) if node.kind != "utility"}
    blocks, potentials = _header(diagram.network.name), []
    for node, text in zip(every, texts, strict=True):
        word = "node" if node.kind == "chance" else node.kind
        blocks += _node_block(
            word, text, [] if node.kind == "utility" else _states(diagram.network, node.name)
        )
        potentials += _potential(text, [name[p] for p in node.parents], _nested(node.numbers))
    return "\n".join([*blocks, *potentials, ""])


def _header(title: str) -> list[str]:
    return ["net", "{", f"  name = {_quoted(title)};", "}"]


def _states(network: DiscreteNetwork, v: Value) -> list[str]:
    labels = " ".join(map(_quoted, spelled(network.states[v])))
    return [f"  states = ({labels});"]


def _node_block(word: str, name: str, attributes: list[str]) -> list[str]:
    return [f"{word} {name}", "{", *attributes, "}"]


def _potential(child: str, parents: list[str], data: str) -> list[str]:
    condition = f" | {' '.join(parents)}" if parents else ""
    return [f"potential ({child}{condition})", "{", *([] if data == "()" else [f"  data = {data};"]), "}"]


def _nested(values: Any) -> str:
    return f"({' '.join(map(_nested, values))})" if isinstance(values, list) else repr(values)


def _quoted(text: str) -> str:
    if any(c < " " or "\ud800" <= c <= "\udfff" for c in text):
        raise BadFormat(
            f"NET cannot hold the text {shown(text)}: it has a control character or a lone surrogate"
        )
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
