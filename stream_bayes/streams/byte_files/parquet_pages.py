r"""The sizes of the pages of a Parquet file, read from their headers before pyarrow decompresses a page as a whole.

column chunk     page header | page, compressed | page header | page ...      where it begins: in the footer
page header      a struct of Thrift's compact protocol: 1 kind, 2 bytes decompressed, 3 bytes compressed, ...
                 5 data page: 1 values, 2 encoding, 3 and 4 those of the levels
                 8 data page of version 2: 1 values, 4 encoding, 5 and 6 bytes of the levels, 7 is it compressed?
struct           field ... 0       a field is (difference of numbers << 4 | type), and a value

With two encodings of texts the bytes of a page are no bound on what it holds, so it is decompressed here first:

DELTA_LENGTH_BYTE_ARRAY     levels | lengths of all texts | texts
DELTA_BYTE_ARRAY            levels | bytes that each text shares with the one before | lengths of the rest | the rest
"""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

import numpy as np

from stream_bayes.errors import BadValue

if TYPE_CHECKING:
    from pyarrow.parquet import ColumnChunkMetaData, ColumnSchema, FileMetaData

__all__ = ["MOST_FIXED", "MOST_PAGE", "check_pages"]

MOST_PAGE = 1 << 27  # bytes once it is decompressed: writers make pages of 1 MiB, DuckDB of up to 100 MB
MOST_FIXED = 1 << 14  # bytes of each value of a column of a fixed length
HEADER = 1 << 12  # bytes read at once; a header with statistics may take more
MOST_HEADER = 1 << 24
DEEPEST = 16  # structs in one another
INTEGERS = (4, 5, 6)
DELTA_LENGTH, DELTA_BYTES = 6, 7  # encodings
BIT_PACKED = 4  # an encoding of levels that writers gave up long ago
MOST_TEXTS = MOST_PAGE >> 3  # of one page: pyarrow takes 8 bytes for the lengths of each
MOST_BLOCK = 1 << 16  # lengths in a block of them; writers make blocks of 128 to 2048
MOST_WIDTH = 64  # bits
V1, V2 = 5, 8  # the numbers of the structs of data pages
TRUE, FALSE, BYTE, DOUBLE, BINARY, LIST, SET, STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
KINDS = {TRUE, FALSE, BYTE, *INTEGERS, DOUBLE, BINARY, LIST, SET, STRUCT}


def check_pages(file: IO[bytes], metadata: FileMetaData, group: int, names: list[str]) -> dict[str, int]:
    """Return the bytes of the dictionaries of some columns of a group of rows.

    Raises
    ------
    BadValue
        If a page is larger than MOST_PAGE, or its header is none.
    """
    wanted = {*names}
    dictionaries = dict.fromkeys(names, 0)
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
        dictionaries[name] = _check_chunk(file, begin, chunk, column)
    return dictionaries


def _check_chunk(file: IO[bytes], begin: int, chunk: ColumnChunkMetaData, column: ColumnSchema) -> int:
    at, end, name = begin, begin + chunk.total_compressed_size, chunk.path_in_schema
    dictionary = 0
    while at < end:
        header = _header(file, at)
        if max(header.size, header.compressed) > MOST_PAGE:
            raise BadValue(
                f"column {name!r}: expected pages of at most {MOST_PAGE:,} bytes, got one of {header.size:,} once it "
                "is decompressed; write the file again with smaller pages"
            )
        if min(header.size, header.compressed) < 0:
            raise BadValue(f"column {name!r}: the header of the page at byte {at:,} is broken")
        if header.encoding in (DELTA_LENGTH, DELTA_BYTES):
            file.seek(at + header.length)
            try:
                _check_texts(file.read(header.compressed), header, chunk.compression, column)
            except IndexError:
                raise BadValue(f"column {name!r}: the page at byte {at:,} is cut off") from None
        if header.version is None:
            dictionary += header.size
        at += header.length + header.compressed
    return dictionary


def _check_texts(data: bytes, header: _PageHeader, codec: str, column: ColumnSchema) -> None:
    """Raise `BadValue` for a page of texts that would take more than MOST_PAGE."""
    levels = header.bytes_of_levels if header.version == V2 else 0
    packed = data[levels:]
    if codec != "UNCOMPRESSED" and header.is_compressed:
        packed = _decompressed(packed, header.size - levels, codec)
    at = _after_levels(packed, header, column) if header.version == V1 else 0
    numbers = _Numbers(packed, at)
    if numbers.count > MOST_TEXTS:
        raise BadValue(
            f"column {column.path!r}: expected pages of at most {MOST_TEXTS:,} texts, got one of {numbers.count:,}; "
            "write the file again with smaller pages"
        )
    if header.encoding == DELTA_BYTES and numbers.total(MOST_PAGE) > MOST_PAGE:
        raise BadValue(
            f"column {column.path!r}: expected pages of at most {MOST_PAGE:,} bytes, got one of more once its texts "
            "are put together; write the file again with smaller pages, or without DELTA_BYTE_ARRAY"
        )


def _decompressed(data: bytes, size: int, codec: str) -> bytes:
    import pyarrow

    name = {"LZ4": "lz4_raw"}.get(codec, codec.lower())
    try:
        page: bytes = pyarrow.decompress(data, size, name, asbytes=True)
    except (OSError, ValueError) as error:
        raise BadValue(f"a page cannot be decompressed by {codec}: {error}") from None
    return page


def _after_levels(data: bytes, header: _PageHeader, column: ColumnSchema) -> int:
    at = 0
    for most in (column.max_repetition_level, column.max_definition_level):
        if most and header.levels_are_packed:
            raise BadValue(
                f"column {column.path!r}: its levels are BIT_PACKED, which no writer does any more"
            )
        if most:
            at += 4 + int.from_bytes(data[at : at + 4], "little")
    return at


class _Numbers:
    """Numbers packed by DELTA_BINARY_PACKED. Raises `IndexError` if they go on after the bytes.

    numbers      numbers in a block | parts of a block | count | first | block ...
    block        least difference | width of each part | parts: differences less the least one, packed by their width
    """

    def __init__(self, data: bytes, at: int) -> None:
        self._bytes = _Bytes(data, at)
        block = self._bytes.varint()
        self._parts = self._bytes.varint()
        self.count = self._bytes.varint()
        self._first = self._bytes.zigzag()
        self._size_of_part, rest = divmod(block, self._parts) if self._parts else (0, 1)
        if rest or self._size_of_part % 8 or not 0 < block <= MOST_BLOCK:
            raise BadValue(
                f"expected blocks of at most {MOST_BLOCK:,} lengths, got {block:,} in {self._parts:,} parts"
            )

    def total(self, most: int) -> int:
        """Return the sum of the numbers, or one above `most` as soon as it is. Numbers below 0 are refused."""
        last = total = self._first
        left = self.count - 1
        while left > 0 and last >= 0 and total <= most:
            least = self._bytes.zigzag()
            for width in self._bytes.take(self._parts):
                if left <= 0 or last < 0:
                    break
                if width > MOST_WIDTH:
                    raise BadValue(f"expected numbers of at most {MOST_WIDTH} bits, got {width}")
                packed = self._bytes.take(self._size_of_part * width // 8)
                # As doubles, of which none wraps around: what they round is far above any bound.
                lengths = last + np.cumsum(_unpacked(packed, width, self._size_of_part)[:left] + float(least))
                last = int(min(lengths[-1], lengths.min(initial=0.0) or lengths[-1]))
                left -= len(lengths)
                total += int(lengths.sum())
        if last < 0:
            raise BadValue("expected lengths of texts, got a number below 0")
        return total


def _unpacked(packed: bytes, width: int, count: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return numbers of so many bits each, the lowest bit first."""
    if not width:
        return np.zeros(count)
    bits = np.unpackbits(np.frombuffer(packed, np.uint8), bitorder="little").reshape(count, width)
    return np.asarray(bits @ np.exp2(np.arange(width)))


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


class _Bytes:
    """Bytes that are read from one place on. Raises `IndexError` at their end."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def take(self, count: int) -> bytes:
        part = self.data[self.at : self.at + count]
        if len(part) < count:
            raise IndexError("bytes are missing")
        self.at += count
        return part

    def varint(self) -> int:
        value = shift = 0
        while (byte := self.byte()) >= 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
            if shift > MOST_WIDTH:
                raise BadValue(f"expected numbers of at most {MOST_WIDTH} bits")
        return value | byte << shift

    def zigzag(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)


class _PageHeader:
    """A page's header. Raises `IndexError` if it goes on after the bytes.

    Attributes
    ----------
    size, compressed
        The bytes of the page, decompressed and compressed.
    version
        V1 or V2 for a page of values, None for one of a dictionary.
    """

    def __init__(self, data: bytes) -> None:
        self._bytes = _Bytes(data)
        self.size = self.compressed = -1
        self.version: int | None = None
        self._page: dict[int, int] = {}
        number = 0
        while byte := self._bytes.byte():
            number = number + (byte >> 4) if byte >> 4 else self._bytes.zigzag()
            if number in (2, 3):
                value = self._bytes.zigzag()
                self.size, self.compressed = (value, self.compressed) if number == 2 else (self.size, value)
            elif number in (V1, V2) and byte & 15 == STRUCT:
                self.version, self._page = number, self._numbers()
            else:
                self._skip(byte & 15, 0)

    @property
    def length(self) -> int:
        """The bytes of the header."""
        return self._bytes.at

    @property
    def encoding(self) -> int | None:
        """The encoding of the values; None for a dictionary."""
        return self._page.get(2 if self.version == V1 else 4)

    @property
    def levels_are_packed(self) -> bool:
        """True if levels of version 1 have no lengths before them."""
        return BIT_PACKED in (self._page.get(3), self._page.get(4))

    @property
    def bytes_of_levels(self) -> int:
        """The bytes of levels of version 2, which are not compressed."""
        count = self._page.get(5, 0) + self._page.get(6, 0)
        if not 0 <= count <= self.size:
            raise BadValue("expected the header of a page, got other bytes")
        return count

    @property
    def is_compressed(self) -> bool:
        """True unless a page of version 2 is not compressed, though its column is."""
        return self.version == V1 or self._page.get(7, TRUE) == TRUE

    def _numbers(self) -> dict[int, int]:
        """Return the whole numbers of a struct, and its booleans as their types, by number."""
        values: dict[int, int] = {}
        number = 0
        while byte := self._bytes.byte():
            number = number + (byte >> 4) if byte >> 4 else self._bytes.zigzag()
            kind = byte & 15
            if kind in INTEGERS:
                values[number] = self._bytes.zigzag()
            elif kind in (TRUE, FALSE):
                values[number] = kind
            else:
                self._skip(kind, 1)
        return values

    def _skip(self, kind: int, depth: int) -> None:
        """Skip a value."""
        if depth > DEEPEST or kind not in KINDS:  # pages have no maps
            raise BadValue("expected the header of a page, got other bytes")
        if kind == BYTE:
            self._bytes.at += 1
        elif kind == DOUBLE:
            self._bytes.at += 8
        elif kind == BINARY:
            size = self._bytes.varint()
            self._bytes.at += size
        elif kind in (LIST, SET):
            byte = self._bytes.byte()
            count = byte >> 4 if byte >> 4 < 15 else self._bytes.varint()
            for _ in range(min(count, len(self._bytes.data))):
                self._skip(BYTE if byte & 15 in (TRUE, FALSE) else byte & 15, depth + 1)
        elif kind == STRUCT:
            while byte := self._bytes.byte():
                if not byte >> 4:
                    self._bytes.zigzag()
                self._skip(byte & 15, depth + 1)
        elif kind in INTEGERS:
            self._bytes.varint()
