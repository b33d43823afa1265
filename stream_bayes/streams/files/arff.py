r"""ARFF files, the format of WEKA, as a source of events.

@relation days
@attribute sky {grey, 'light blue'}
@attribute wind numeric
@data
grey, 3.5           a dense row
'light blue' 4.5    blanks or tabs may stand between its cells instead of commas
{1 4.0}             a sparse row: index and value of what is not 0, or not the first name
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from stream_bayes.checked_names import closest
from stream_bayes.core.events.event import Partition
from stream_bayes.data.features import Nominal, Numeric, Spec
from stream_bayes.data.schema import Schema
from stream_bayes.errors import SchemaError, SourceError, Undecodable
from stream_bayes.streams.contracts.source import Record
from stream_bayes.streams.files.csv_cells import Misfits
from stream_bayes.streams.files.csv_columns import CSVColumns
from stream_bayes.streams.files.source import BLOCK_BYTES, FileSource, Lines
from stream_bayes.streams.records.decoder import MAX_RECORD_BYTES
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.records.undecodable import DecodeReason, bad_record, undecodable

__all__ = ["ARFFSource"]

QUOTED = re.compile(
    r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^,'"{}%\s][^,]*?)|())\s*(?:,|$)""", re.DOTALL
)
SPACED = re.compile(r"""(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^,'"{}%\s]+))(?:\s+|$)""", re.DOTALL)
NAME = re.compile(r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^\s'"{]+))\s+(.*)""", re.DOTALL)
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
SPARSE = re.compile(
    r"""\s*(\d+)\s+(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^,\s]+))\s*(?:,|$)""", re.DOTALL
)
NUMERIC = ("numeric", "real", "integer")
MISSING = "?"


@dataclass(frozen=True)
class Attribute:
    """A declared column."""

    name: str
    values: tuple[str, ...] | None  # of a nominal one; None for others
    is_numeric: bool  # True for numbers

    @property
    def default(self) -> str:
        """The value that a sparse row leaves out."""
        return "0" if self.values is None else self.values[0]

    @property
    def spec(self) -> Spec:
        """The kind of feature."""
        return Numeric() if self.is_numeric else Nominal(self.values)


class ARFFSource(FileSource):
    r"""An ARFF file; plain or compressed. Its heading declares the features, and so the schema.

    With a sink that can be cut back, each event counts exactly once. `fields` are the roles of the attributes. `schema`
    has the columns, in place of those that the heading declares: texts are then read as cells of a CSV file are. The
    other arguments are as of a `FileSource`.

    Raises
    ------
    SourceError
        If the file cannot be read, or its heading is not an ARFF.
    SchemaError
        If a field has no attribute.

    Attributes
    ----------
    schema
        The schema, as given or declared by the heading.
    misfits
        Counts of cells of numeric attributes that were no numbers and are missing, by name.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> text = "@relation days\n@attribute sky {grey,blue}\n@attribute rain {yes,no}\n@data\ngrey,yes\n{0 blue, 1 no}\n"
    >>> with TemporaryDirectory() as directory:
    ...     path = Path(directory, "days.arff")
    ...     _ = path.write_text(text)
    ...     source = ARFFSource(path, Fields(target="rain"))
    ...     events = source.poll(10)
    ...     source.close()
    >>> [(event.x, event.y) for event in events], source.schema.classes
    ([({'sky': 'grey'}, 'yes'), ({'sky': 'blue'}, 'no')], ('yes', 'no'))
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        fields: Fields | None = None,
        name: str | None = None,
        max_record_bytes: int = MAX_RECORD_BYTES,
        block_bytes: int = BLOCK_BYTES,
        sleep: Callable[[float], None] = time.sleep,
        encoding: str = "utf-8",
        schema: Schema | None = None,
    ) -> None:
        self._declared = schema
        self.fields = Fields() if fields is None else fields
        self.misfits: dict[str, Misfits] = {}
        self._attributes: list[Attribute] = []
        super().__init__(path, name, False, max_record_bytes, block_bytes, sleep, encoding)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the attributes."""
        return tuple(attribute.name for attribute in self._attributes)

    @property
    def numeric_names(self) -> frozenset[str]:
        """The names of the attributes that are declared as numbers."""
        return frozenset(attribute.name for attribute in self._attributes if attribute.is_numeric)

    def _heading(self, lines: Lines) -> int | None:
        end = 0
        attributes: list[Attribute] = []
        for number, raw in enumerate(lines.data.split(b"\n"), 1):
            end += len(raw) + 1
            try:
                line = raw.decode().strip()
            except UnicodeDecodeError:
                raise SourceError(f"{self.path}, line {number}: expected UTF-8; give an encoding") from None
            word = line.split(None, 1)[0].lower() if line else ""
            if word == "@attribute":
                attributes.append(self._attribute(line, number))
            elif word == "@data":
                self._declare(attributes)
                return min(end, len(lines.data))
            elif line and not line.startswith("%") and word != "@relation":
                raise SourceError(
                    f"{self.path}, line {number}: expected @relation, @attribute, @data or a comment with %, got "
                    f"{line[:40]!r}; is this an ARFF file?"
                )
        if lines.last:
            raise SourceError(f"{self.path}: expected a line with @data, and the file ends without one")
        return None

    def _attribute(self, line: str, number: int) -> Attribute:
        match = NAME.fullmatch(line[len("@attribute") :])
        if match is None:
            raise SourceError(f"{self.path}, line {number}: expected @attribute NAME TYPE, got {line[:60]!r}")
        name, kind = _text(match.group(1, 2, 3)), match.group(4).strip()
        if kind.startswith("{"):
            values = tuple(dict.fromkeys(_cells(kind[1:].rpartition("}")[0])))
            return Attribute(name, values, False)
        word = kind.split(None, 1)[0].lower()
        if word not in (*NUMERIC, "string", "date"):
            raise SourceError(
                f"{self.path}, line {number}: attribute {name!r}: expected numeric, real, integer, string, date or "
                f"{{values}}, got {word!r}"
            )
        return Attribute(name, None, word in NUMERIC)

    def _declare(self, attributes: list[Attribute]) -> None:
        self._attributes = attributes
        specs = {attribute.name: attribute.spec for attribute in attributes}
        target = self.fields.target
        for name in (target,) if isinstance(target, str) else self.fields.targets:
            if name not in specs:
                raise SchemaError(
                    f"{self.path}: target: there is no attribute {name!r}{closest(name, specs)} There are "
                    f"{', '.join(specs)}"
                )
        classes = next((each.values for each in attributes if each.name == target), None)
        features = {name: spec for name, spec in specs.items() if self.fields.is_feature(name)}
        by_heading = Schema(features, classes=classes, target=self.fields.label_name(features))
        self.schema = by_heading if self._declared is None else self._declared
        try:
            names = [attribute.name for attribute in attributes]
            self._columns = CSVColumns(names, self.fields, self.schema, (MISSING,), misfits=self.misfits)
        except SchemaError as error:
            raise SchemaError(f"{self.path}: {error}") from None

    def _records(self, lines: Lines, partition: Partition) -> tuple[list[Record], int]:
        records: list[Record] = []
        span, end = lines.span, lines.start
        stop = end + len(lines.data)
        for raw in lines.data.split(b"\n"):
            end += len(raw) + 1
            line = raw.strip()
            if line and not line.startswith(b"%"):
                records.append(self._record(raw, span, partition, min(end, stop) - span))
                span = records[-1].after
        return records, len(lines.data)

    def _record(self, raw: bytes, position: int, partition: Partition, length: int) -> Record:
        try:
            cells = self._row(raw.decode().strip())
            return self._columns.events(cells, [position], [length], partition)[0]
        except UnicodeDecodeError:
            error = undecodable(DecodeReason.NOT_UTF8, "expected UTF-8, got other bytes; give an encoding")
        except Undecodable as refused:
            error = refused
        return bad_record(error, raw, position, partition, length)

    def _row(self, line: str) -> list[str]:
        width = len(self._attributes)
        if line.startswith("{"):
            cells = [attribute.default for attribute in self._attributes]
            content, start = line[1:].rpartition("}")[0].strip(), 0
            while start < len(content):
                match = SPARSE.match(content, start)
                if match is None or int(match[1]) >= width:
                    raise undecodable(
                        DecodeReason.RAGGED,
                        f"expected a sparse row of INDEX VALUE, with indices below {width}",
                    )
                cells[int(match[1])] = _text(match.group(2, 3, 4))
                start = match.end()
            return cells
        cells = _spaced_cells(line) if width > 1 else []
        if len(cells) == width:
            return cells
        cells = _cells(line)
        if len(cells) == width + 1 and not cells[-1]:
            cells.pop()  # after a comma at the end of the row
        if len(cells) != width:
            raise undecodable(DecodeReason.RAGGED, f"expected {width} cells, got {len(cells)}")
        return cells


def _cells(line: str) -> list[str]:
    """Return the cells of a row, or the values of a declaration.

    Examples
    --------
    >>> _cells("grey, 'light, blue', 'it is', ?")
    ['grey', 'light, blue', 'it is', '?']
    """
    if "'" not in line and '"' not in line:
        return [cell.strip() for cell in line.split(",")]
    cells, start = [], 0
    while start < len(line):
        match = QUOTED.match(line, start)
        if match is None:
            raise undecodable(
                DecodeReason.UNCLOSED_QUOTE, "expected cells between commas, with quotes closed"
            )
        cells.append(_text(match.group(1, 2, 3)))
        if match.end() == start:
            break
        start = match.end()
    return cells


def _spaced_cells(line: str) -> list[str]:
    """Return the cells of a row that only blanks and tabs separate; none if something else does.

    Examples
    --------
    >>> _spaced_cells("grey 'light, blue' ?"), _spaced_cells("grey, ?")
    (['grey', 'light, blue', '?'], [])
    """
    cells, start = [], 0
    while start < len(line):
        match = SPACED.match(line, start)
        if match is None:
            return []
        cells.append(_text(match.group(1, 2, 3)))
        start = match.end()
    return cells


def _text(groups: Sequence[str | None]) -> str:
    quoted = groups[0] if groups[0] is not None else groups[1]
    return (groups[2] or "").strip() if quoted is None else ESCAPED.sub(r"\1", quoted)
