r"""The blocks of an Avro container file, decompressed within bounds.

fastavro decompresses a block as a whole, whatever its size, so it reads a file in which they are not compressed:

    file      magic | metadata: map of bytes, "avro.codec" among them | marker | block ...
    block     count of records | length | compressed records | marker
    given on  magic | metadata, codec "null"                          | marker | block, decompressed ...
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import IO, cast

from stream_bayes._build import install_command
from stream_bayes.decompression import unpacked
from stream_bayes.errors import BadValue
from stream_bayes.streams.byte_files.byte_file import Generated, ReplayableFile, decompressed_zstd

__all__ = ["MAGIC", "MOST_BLOCK", "plain_container"]

MAGIC = b"Obj\x01"
MOST_BLOCK = (
    1 << 25
)  # bytes of a block once it is decompressed, and of the metadata: writers make a block of 64 KB
MARKER = 16  # bytes
CHECKSUM = 4  # bytes after a block of snappy
SMALLER = "write the file with smaller blocks (sync_interval), or as Parquet or CSV"


class _Container(Generated):
    """A container as fastavro reads it, which also wants to know how far it is."""

    _offset = 0

    def read(self, size: int, /) -> bytes:
        data = super().read(size)
        self._offset += len(data)
        return data

    def tell(self) -> int:
        return self._offset


def plain_container(file: IO[bytes]) -> Generated:
    """Return a container whose blocks are not compressed, which are read as they are asked for.

    Reading it raises `BadValue` if it is cut off, if its codec is unavailable, or if a block is larger than MOST_BLOCK.
    """
    return _Container(_pieces(file))


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    file.seek(len(MAGIC))
    metadata = _metadata(file)
    codec = metadata.get("avro.codec", b"null").decode("utf-8", "replace")
    if codec not in EXPANDERS:
        raise BadValue(f"expected one of the codecs {', '.join(EXPANDERS)}, got {codec!r}")
    expand = EXPANDERS[codec]
    yield MAGIC + _map({**metadata, "avro.codec": b"null"}) + _bytes(file, MARKER)
    while (count := _long(file, may_end=True)) is not None:
        data = expand(_bytes(file, _size(file)))
        if not 0 <= count <= len(data):
            raise BadValue(
                f"expected at most a record a byte, got {count:,} in a block of {len(data):,} bytes"
            )
        yield _varint(count) + _varint(len(data)) + data + _bytes(file, MARKER)


def _size(file: IO[bytes], what: str = "a block") -> int:
    size = _long(file)
    assert size is not None
    if not 0 <= size <= MOST_BLOCK:
        raise BadValue(f"expected {what} of at most {MOST_BLOCK:,} bytes, got one of {size:,}; {SMALLER}")
    return size


def _bytes(file: IO[bytes], size: int) -> bytes:
    data = file.read(size)
    if len(data) < size:
        raise BadValue("the file is cut off")
    return data


def _long(file: IO[bytes], may_end: bool = False) -> int | None:
    """Read a number of Avro; None at the end of the file, if it may end here."""
    value = shift = 0
    while byte := file.read(1):
        value |= (byte[0] & 0x7F) << shift
        shift += 7
        if byte[0] < 0x80:
            return (value >> 1) ^ -(value & 1)  # zigzag
        if shift >= 64:
            raise BadValue("expected a number of at most 64 bits")
    if may_end and not shift:
        return None
    raise BadValue("the file is cut off")


def _varint(value: int) -> bytes:
    value, encoded = value << 1, bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _metadata(file: IO[bytes]) -> dict[str, bytes]:
    metadata: dict[str, bytes] = {}
    left = MOST_BLOCK
    while count := _long(file):
        if count < 0:
            _long(file)  # the bytes of this part of the map
        for _ in range(abs(count)):
            key, value = (_bytes(file, _size(file, "metadata")) for _ in range(2))
            left -= len(key) + len(value) + 1
            if left < 0:
                raise BadValue(f"expected metadata of at most {MOST_BLOCK:,} bytes, got more")
            metadata[key.decode("utf-8", "replace")] = value
    return metadata


def _map(entries: Mapping[str, bytes]) -> bytes:
    parts = [part for key, value in entries.items() for part in (key.encode(), value)]
    return _varint(len(entries)) + b"".join(_varint(len(part)) + part for part in parts) + b"\0"


def _unpacked(form: str, data: bytes) -> bytes:
    try:
        return unpacked(data, MOST_BLOCK, form)
    except BadValue as error:
        raise BadValue(f"a block: {error}; {SMALLER}") from None


def _zstd(data: bytes) -> bytes:
    content = decompressed_zstd("a block", cast("ReplayableFile", io.BytesIO(data)))
    parts, size = [], 0
    while part := content.read(1 << 20):
        parts.append(part)
        size += len(part)
        if size > MOST_BLOCK:
            raise BadValue(f"expected a block of at most {MOST_BLOCK:,} bytes once it is unpacked; {SMALLER}")
    return b"".join(parts)


def _snappy(data: bytes) -> bytes:
    try:
        import pyarrow
    except ImportError:
        raise BadValue(f"it is compressed by snappy: {install_command('parquet')} reads it") from None
    size = shift = 0
    for byte in data[:5]:  # its size comes first
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if size > MOST_BLOCK:
        raise BadValue(
            f"expected a block of at most {MOST_BLOCK:,} bytes once it is unpacked, got {size:,}; {SMALLER}"
        )
    return pyarrow.decompress(data[:-CHECKSUM], size, "snappy", asbytes=True)


EXPANDERS: Mapping[str, Callable[[bytes], bytes]] = {
    "null": bytes,
    **{
        codec: partial(_unpacked, form)
        for codec, form in (("deflate", "deflate"), ("bzip2", "bzip2"), ("xz", "xz"))
    },
    "zstandard": _zstd,
    "snappy": _snappy,
}
