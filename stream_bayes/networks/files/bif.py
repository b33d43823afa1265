"""Reading and writing Bayesian networks in the Interchange Format (BIF), without loss.

    network asia { property author = "L & S"; }          properties are kept unchanged
    variable smoke { type discrete [ 2 ] { yes, no }; }
    probability ( smoke ) { table 0.5, 0.5; }
    probability ( lung | smoke ) {
      (yes) 0.1, 0.9;                                     a row for each combination of the parents' labels,
      default 0.01, 0.99;                                 and one for all others
    }

Blocks may come in any order. Commas between names and numbers are optional, and so is the bar: the first variable is
the child. A `table` holds all numbers at once, those of the child's first label first. Names and labels with
punctuation or spaces are quoted. Text between blocks that is not a comment is refused, although the format's author
allows it. All names and labels are texts; `bif_types` keeps the types of others in properties.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import product
from typing import Protocol

from stream_bayes.core.networks.discrete_network import FILE_TOLERANCE, DiscreteNetwork
from stream_bayes.core.networks.dot import spelled
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.values.values import Value, shown
from stream_bayes.errors import BadFormat, BadStructure, BadValue
from stream_bayes.networks.files.bif_tables import BifRow, Distribution, table_of
from stream_bayes.networks.files.bif_tokens import Scanner, Token, as_property, as_token
from stream_bayes.networks.files.bif_types import (
    LABEL_TYPES,
    NAME_TYPE,
    is_reserved,
    recorded,
    type_names,
    typed,
)
from stream_bayes.networks.files.network_bytes import as_text, read_bytes, write_bytes

__all__ = ["bif_text", "parse_bif", "read_bif", "variable_properties", "write_bif"]


def read_bif(path: str | os.PathLike[str], *, tolerance: float = FILE_TOLERANCE) -> DiscreteNetwork:
    """Read a network from a `.bif` file, or a compressed `.bif.gz` file.

    Parameters
    ----------
    path
        The file, in UTF-8.
    tolerance
        The largest difference of a row's sum from 1. Rows are kept as they are.

    Raises
    ------
    BadFormat
        If the file is not a network. The message begins with file, line and column.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     path = Path(directory) / "coin.bif"
    ...     _ = path.write_text(
    ...         "network coin {} variable coin { type discrete [ 2 ] { heads, tails }; }"
    ...         "probability ( coin ) { table 0.5, 0.5; }"
    ...     )
    ...     network = read_bif(path)
    >>> network.states["coin"], network.tables["coin"].tolist()
    (('heads', 'tails'), [0.5, 0.5])
    """
    source = os.fspath(path)
    return parse_bif(as_text(read_bytes(path), source), source=source, tolerance=tolerance)


class SupportsToNetwork(Protocol):
    """An object with a network to export, such as a `BayesNet`."""

    def to_network(self) -> DiscreteNetwork:
        """Return the network."""


def write_bif(network: DiscreteNetwork | SupportsToNetwork, path: str | os.PathLike[str]) -> None:
    """Write a network, or the network of a `BayesNet`, to a `.bif` file, or a compressed `.bif.gz` file.

    `read_bif` returns the same network to the last bit. See `bif_text` for what other tools can read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> coin = DiscreteNetwork(Structure({"coin": []}), {"coin": ["heads", "tails"]}, {"coin": [0.5, 0.5]})
    >>> with TemporaryDirectory() as directory:
    ...     path = Path(directory) / "coin.bif.gz"
    ...     write_bif(coin, path)
    ...     read_bif(path) == coin
    True
    """
    name = os.fspath(path)
    if not name.casefold().endswith((".bif", ".bif.gz")):
        raise BadValue(
            f"path: expected a name that ends in .bif or .bif.gz, got {name!r}; write_network writes other formats"
        )
    write_bytes(path, bif_text(network).encode("utf-8"))


def parse_bif(text: str, *, source: str = "<text>", tolerance: float = FILE_TOLERANCE) -> DiscreteNetwork:
    """Read a network from a text in the Interchange Format.

    Names and labels become strings, unless `bif_text` recorded other types. Parents, and the axes of tables, are in the
    order of the text. `source` is its name, for messages. `tolerance` is the largest difference of a row's sum from 1.
    Rows are kept as they are.

    Raises
    ------
    BadFormat
        If the text is not a network. The message begins with source, line and column.

    Examples
    --------
    >>> network = parse_bif('''
    ...     network lawn { }
    ...     variable rain { type discrete [ 2 ] { yes, no }; }
    ...     variable lawn { type discrete [ 2 ] { wet, dry }; }
    ...     probability ( rain ) { table 0.2, 0.8; }
    ...     probability ( lawn | rain ) { (yes) 0.9, 0.1; (no) 0.05, 0.95; }
    ... ''')
    >>> network.structure
    Structure({'lawn': ('rain',), 'rain': ()})
    >>> network.tables["lawn"].tolist()
    [[0.9, 0.1], [0.05, 0.95]]
    >>> parse_bif("network lawn { variable rain", source="lawn.bif")
    Traceback (most recent call last):
        ...
    stream_bayes.errors.BadFormat: lawn.bif:1:16: expected a property or '}', got 'variable'
    """
    document = _Document(Scanner(text.removeprefix("\ufeff"), source))
    return document.network(tolerance)


def bif_text(network: DiscreteNetwork | SupportsToNetwork) -> str:
    """Return a network as a text in the Interchange Format; `parse_bif` returns the same network to the last bit.

    Names and labels are texts in this format: anything but a string is written as its `repr`, with a property that
    records its type for `parse_bif`. Other tools read these as strings, and they read less than the format allows.
    pgmpy 1.1 refuses or misreads names with commas, brackets or quotes; neither pgmpy nor pyAgrum 3.3 reads names of
    variables with spaces; pyAgrum refuses labels other than words of ASCII letters, digits and underscores, and
    variables with a single label, and it rounds to single precision.

    Raises
    ------
    BadFormat
        If a name, label or property cannot be written so that it reads back unchanged.

    Examples
    --------
    >>> from stream_bayes.core.networks.structure import Structure
    >>> print(bif_text(DiscreteNetwork(Structure({"x": []}), {"x": ["<5", "5 or more"]}, {"x": [0.25, 0.75]})))
    network unknown {
    }
    variable x {
      type discrete [ 2 ] { <5, "5 or more" };
    }
    probability ( x ) {
      table 0.25, 0.75;
    }
    <BLANKLINE>
    """
    if not isinstance(network, DiscreteNetwork):
        if not hasattr(network, "to_network"):
            raise BadValue(
                f"network: expected a DiscreteNetwork, or a BayesNet that has learned one, got {shown(network)}"
            )
        network = network.to_network()
    structure = network.structure
    variables = structure.variables
    name = dict(zip(variables, map(as_token, spelled(variables)), strict=True))
    labels = {v: [as_token(label) for label in spelled(network.states[v])] for v in variables}
    lines = [f"network {as_token(network.name)} {{"]
    lines += [f"  {as_property(text)}" for text in network.properties]
    lines += ["}"]
    for v, name_type in zip(variables, type_names(variables), strict=True):
        lines += [
            f"variable {name[v]} {{",
            f"  type discrete [ {len(labels[v])} ] {{ {', '.join(labels[v])} }};",
        ]
        lines += [f"  {as_property(text)}" for text in variable_properties(network, v, name_type)]
        lines += ["}"]
    for v in variables:
        parents = structure.parents(v)
        lines += [
            f"probability ( {name[v]}{' | ' * bool(parents)}{', '.join([name[p] for p in parents])} ) {{"
        ]
        rows = network.tables[v].reshape(-1, len(labels[v])).tolist()
        for row, of in zip(rows, product(*[labels[p] for p in parents]), strict=True):
            lines += [f"  {'(' + ', '.join(of) + ')' if parents else 'table'} {', '.join(map(repr, row))};"]
        lines += ["}"]
    return "\n".join([*lines, ""])


def variable_properties(network: DiscreteNetwork, variable: Value, name_type: str) -> list[str]:
    """Return the properties of a variable, those that record types last."""
    kept = network.properties_of.get(variable, ())
    if reserved := next(filter(is_reserved, kept), None):
        raise BadFormat(
            f"the property {shown(reserved)} of {shown(variable)} would be read as a record of types; rename it"
        )
    return [
        *kept,
        *recorded(NAME_TYPE, [name_type]),
        *recorded(LABEL_TYPES, type_names(network.states[variable])),
    ]


@dataclass
class _Variable:
    name: Token
    labels: list[str] = field(default_factory=list)
    properties: list[str] = field(default_factory=list)


class _Document:
    """The blocks of a text, read one by one and then combined into a network."""

    def __init__(self, scanner: Scanner) -> None:
        self.scanner = scanner
        self.name: str | None = None  # until its block is read
        self.properties: list[str] = []
        self.variables: dict[str, _Variable] = {}
        self.distributions: dict[str, Distribution] = {}
        while scanner.next.kind != "end":
            if scanner.at_word("network"):
                self._read_network()
            elif scanner.at_word("variable"):
                self._read_variable()
            elif scanner.at_word("probability"):
                self._read_probability()
            else:
                scanner.fail(f"expected 'network', 'variable' or 'probability', got {scanner.next}")
        if self.name is None:
            scanner.fail("expected a 'network' block, got none to the end of the file")

    def _read_network(self) -> None:
        scanner = self.scanner
        keyword = scanner.next_token()
        if self.name is not None:
            scanner.fail("a second network; a file holds one", keyword.start)
        self.name = scanner.name("the network's name").text
        scanner.expect("{")
        while not scanner.accept("}"):
            if not scanner.at_word("property"):
                scanner.fail(f"expected a property or '}}', got {scanner.next}")
            self.properties.append(scanner.property())

    def _read_variable(self) -> None:
        scanner = self.scanner
        scanner.next_token()
        variable = _Variable(scanner.name("a variable"))
        if variable.name.text in self.variables:
            scanner.fail(f"variable {variable.name} is defined twice", variable.name.start)
        self.variables[variable.name.text] = variable
        scanner.expect("{")
        while not scanner.accept("}"):
            if scanner.at_word("property"):
                variable.properties.append(scanner.property())
            elif scanner.at_word("type") and not variable.labels:
                variable.labels = self._read_type(variable.name)
            else:
                scanner.fail(f"expected one type, properties or '}}', got {scanner.next}")
        if not variable.labels:
            scanner.fail(f"variable {variable.name} has no type", variable.name.start)

    def _read_type(self, variable: Token) -> list[str]:
        """Read `type discrete [ 2 ] { yes, no };` and return the labels."""
        scanner = self.scanner
        scanner.next_token()
        if not scanner.at_word("discrete"):
            scanner.fail(f"expected 'discrete', the only type that is read, got {scanner.next}")
        scanner.next_token()
        scanner.expect("[")
        count = scanner.name("the number of labels")
        scanner.expect("]")
        scanner.expect("{")
        labels = scanner.names("a label", "}")
        scanner.expect(";")
        if count.text != str(len(labels)) or not labels:
            scanner.fail(
                f"variable {variable} declares {count.text} labels and lists {len(labels)}; "
                "a label that holds marks or spaces needs quotes",
                count.start,
            )
        self._refuse_twice(labels, f"label of {variable}")
        return [label.text for label in labels]

    def _read_probability(self) -> None:
        scanner = self.scanner
        scanner.next_token()
        scanner.expect("(")
        child = scanner.name("a variable")
        scanner.accept("|")
        parents = scanner.names("a parent", ")")
        self._refuse_twice(parents, f"parent of {child}")
        if child.text in self.distributions:
            scanner.fail(f"the probabilities of {child} are given twice", child.start)
        block = Distribution(child, parents)
        self.distributions[child.text] = block
        scanner.expect("{")
        while not scanner.accept("}"):
            self._read_entry(block)

    def _read_entry(self, block: Distribution) -> None:
        scanner = self.scanner
        start = scanner.next.start
        if scanner.at_word("property"):
            block.properties.append(scanner.property())
        elif block.table is not None:
            scanner.fail(f"expected '}}' after a table of all probabilities, got {scanner.next}")
        elif scanner.accept("("):
            block.rows.append(BifRow(start, scanner.names("a label", ")"), scanner.numbers()))
        elif scanner.at_word("default") and block.default is None:
            scanner.next_token()
            block.default = BifRow(start, [], scanner.numbers())
        elif scanner.at_word("table") and block.default is None and not block.rows:
            scanner.next_token()
            block.table = BifRow(start, [], scanner.numbers())
        else:
            scanner.fail(
                f"expected a row such as '(yes) 0.1, 0.9;', one 'table' or 'default', a property or '}}', "
                f"got {scanner.next}"
            )

    def _refuse_twice(self, names: list[Token], what: str) -> None:
        seen: set[str] = set()
        for name in names:
            if name.text in seen:
                self.scanner.fail(f"{name} is given twice as a {what}", name.start)
            seen.add(name.text)

    def network(self, tolerance: float) -> DiscreteNetwork:
        """Combine the blocks into a network; raise `BadFormat` if they do not fit each other."""
        self._check_blocks()
        names = {
            text: self._typed(variable, [text], NAME_TYPE)[0] for text, variable in self.variables.items()
        }
        states = {text: variable.labels for text, variable in self.variables.items()}
        try:
            structure = Structure(
                {
                    names[child]: [names[parent.text] for parent in block.parents]
                    for child, block in self.distributions.items()
                }
            )
            tables = {
                names[child]: table_of(block, states, self.scanner, tolerance)
                for child, block in self.distributions.items()
            }
            return DiscreteNetwork(
                structure,
                {
                    names[v]: self._typed(variable, variable.labels, LABEL_TYPES)
                    for v, variable in self.variables.items()
                },
                tables,
                name=self.name or "",
                properties=self.properties,
                properties_of={
                    names[v]: [
                        text
                        for text in variable.properties + self.distributions[v].properties
                        if not is_reserved(text)
                    ]
                    for v, variable in self.variables.items()
                },
                tolerance=tolerance,
            )
        except BadStructure as error:  # values of the recorded types are equal, as True and 1 are
            raise BadFormat(f"{self.scanner.source}: {error}") from None

    def _typed(self, variable: _Variable, texts: list[str], key: str) -> list[Value]:
        """Return the values that texts stand for, by the types that a property of a variable records."""
        types = next((text.removeprefix(key) for text in variable.properties if text.startswith(key)), None)
        if types is None:
            return list(texts)
        try:
            return typed(texts, types)
        except BadFormat as error:
            self.scanner.fail(f"the property {key}{types}: {error}", variable.name.start)

    def _check_blocks(self) -> None:
        """Raise `BadFormat` unless each variable has a block, and the edges make no cycle."""
        scanner = self.scanner
        for name, variable in self.variables.items():
            if name not in self.distributions:
                scanner.fail(f"variable {variable.name} has no probability block", variable.name.start)
        for block in self.distributions.values():
            for used in (block.child, *block.parents):
                if used.text not in self.variables:
                    scanner.fail(f"no variable {used} is defined", used.start)
            for parent in block.parents:
                if parent.text == block.child.text:
                    scanner.fail(f"{parent} cannot be its own parent", parent.start)
        blocks = list(self.distributions.values())
        if _cycle_among(blocks):
            closing = bisect_left(
                range(len(blocks)), True, key=lambda last: _cycle_among(blocks[: last + 1]) != ""
            )
            scanner.fail(_cycle_among(blocks[: closing + 1]), blocks[closing].child.start)


def _cycle_among(blocks: list[Distribution]) -> str:
    """Return the error text for a cycle among these blocks' edges; empty without a cycle."""
    try:
        Structure.from_edges(
            [(parent.text, block.child.text) for block in blocks for parent in block.parents]
        )
    except BadStructure as error:
        return str(error)
    return ""
