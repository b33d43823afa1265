r"""The sizes of the pages of a Parquet file, read from their headers before pyarrow decompresses a page as a whole.

column chunk     page header | page, compressed | page header | page ...      where it begins: in the footer
page header      a struct of Thrift's compact protocol: 1 kind, 2 bytes decompressed, 3 bytes compressed, ...
struct           field ... 0       a field is (difference of numbers << 4 | type), and a value
"""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from stream_bayes.errors import BadValue

if TYPE_CHECKING:
    from pyarrow.parquet import FileMetaData

__all__ = ["MOST_FIXED", "MOST_PAGE", "check_pages"]

MOST_PAGE = 1 << 27  # bytes once it is decompressed: writers make pages of 1 MiB, DuckDB of up to 100 MB
MOST_FIXED = 1 << 14  # bytes of each value of a column of a fixed length
HEADER = 1 << 12  # bytes read at once; a header with statistics may take more
MOST_HEADER = 1 << 24
DEEPEST = 16  # structs in one another
INTEGERS = (4, 5, 6)
TRUE, FALSE, BYTE, DOUBLE, BINARY, LIST, SET, STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
KINDS = {TRUE, FALSE, BYTE, *INTEGERS, DOUBLE, BINARY, LIST, SET, STRUCT}


def check_pages(file: IO[bytes], metadata: FileMetaData, group: int, names: list[str]) -> None:
    """Raise `BadValue` if a page of some columns of a group of rows is larger than MOST_PAGE, or its header is none."""
    wanted = {*names}
    row_group = metadata.row_group(group)
    for index in range(row_group.num_columns):
        chunk = row_group.column(index)
        name = chunk.path_in_schema
        if name not in wanted:
            continue
        column = metadata.schema.column(index)
        if column.physical_type == "FIXED_LEN_BYTE_ARRAY" and column.length > MOST_FIXED:
            raise BadValue(
                f"column {name!r}: expected values of at most {MOST_FIXED:,} bytes, got {column.length:,}"
            )
        begin = chunk.data_page_offset
        if chunk.has_dictionary_page and chunk.dictionary_page_offset:
            begin = min(begin, chunk.dictionary_page_offset)
        _check_chunk(file, begin, begin + chunk.total_compressed_size, name)


def _check_chunk(file: IO[bytes], begin: int, end: int, name: str) -> None:
    at = begin
    while at < end:
        header = _header(file, at)
        if max(header.size, header.compressed) > MOST_PAGE:
            raise BadValue(
                f"column {name!r}: expected pages of at most {MOST_PAGE:,} bytes, got one of {header.size:,} once it "
                "is decompressed; write the file again with smaller pages"
            )
        if min(header.size, header.compressed) < 0:
            raise BadValue(f"column {name!r}: the header of the page at byte {at:,} is broken")
        at += header.length + header.compressed


def _header(file: IO[bytes], at: int) -> _PageHeader:
    count = HEADER
    while True:
        file.seek(at)
        data = file.read(count)
        try:
            return _PageHeader(data)
        except IndexError:
            if len(data) < count or count >= MOST_HEADER:
                raise BadValue(f"the header of the page at byte {at:,} is cut off") from None
            count *= 8


class _PageHeader:
    """A page's header. Raises `IndexError` if it goes on after the bytes.

    Attributes
    ----------
    size, compressed
        The bytes of the page, decompressed and compressed.
    length
        The bytes of the header.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.length = 0
        self.size = self.compressed = -1
        number = 0
        while byte := self._byte():
            number = number + (byte >> 4) if byte >> 4 else self._zigzag()
            if number in (2, 3):
                value = self._zigzag()
                self.size, self.compressed = (value, self.compressed) if number == 2 else (self.size, value)
            else:
                self._skip(byte & 15, 0)

    def _byte(self) -> int:
        self.length += 1
        return self._data[self.length - 1]

    def _varint(self) -> int:
        value = shift = 0
        while (byte := self._byte()) >= 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
        return value | byte << shift

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _skip(self, kind: int, depth: int) -> None:
        """Skip a value."""
        if depth > DEEPEST or kind not in KINDS:  # pages have no maps
            raise BadValue("expected the header of a page, got other bytes")
        if kind == BYTE:
            self.length += 1
        elif kind == DOUBLE:
            self.length += 8
        elif kind == BINARY:
            size = self._varint()
            self.length += size
        elif kind in (LIST, SET):
            byte = self._byte()
            count = byte >> 4 if byte >> 4 < 15 else self._varint()
            for _ in range(min(count, len(self._data))):
                self._skip(BYTE if byte & 15 in (TRUE, FALSE) else byte & 15, depth + 1)
        elif kind == STRUCT:
            while byte := self._byte():
                if not byte >> 4:
                    self._zigzag()
                self._skip(byte & 15, depth + 1)
        elif kind in INTEGERS:
            self._varint()
