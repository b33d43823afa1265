"""Files with one record per line: JSON, or any format with a decoder; and an array of JSON objects."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping

from stream_bayes.core.events.event import Partition
from stream_bayes.errors import SourceError
from stream_bayes.streams.byte_files.byte_file import ByteFile
from stream_bayes.streams.byte_files.json_array import is_array, lines_of_array
from stream_bayes.streams.byte_files.json_objects import is_one_table
from stream_bayes.streams.contracts.incidents import BAD_FIELDS
from stream_bayes.streams.contracts.source import Record
from stream_bayes.streams.files.source import BLOCK_BYTES, FileSource, Lines
from stream_bayes.streams.records.decoder import Decoder
from stream_bayes.streams.records.json_decoder import JSONDecoder

__all__ = ["JSONLinesSource"]


class JSONLinesSource(FileSource):
    r"""A file of JSON objects, one a line or all in an array; plain or compressed. Blank lines are passed over.

    The positions in an array are those of the same objects as lines.

    With a sink that can be cut back, each event counts exactly once.

    Parameters
    ----------
    path, name, follow, block_bytes, sleep
        As of a `FileSource`.
    decoder
        Decoder of a line, which also limits its length; by default a `JSONDecoder`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from stream_bayes.streams.records.decoders import Fields
    >>> with TemporaryDirectory() as directory:
    ...     path = Path(directory, "days.jsonl")
    ...     _ = path.write_text('{"sky": "grey", "rain": true}\n{"sky": "blue"}\n')
    ...     source = JSONLinesSource(path, JSONDecoder(Fields(target="rain")))
    ...     events = source.poll(10)
    ...     source.close()
    >>> [(event.x, event.y, event.position, event.length) for event in events]
    [({'sky': 'grey'}, True, 0, 30), ({'sky': 'blue'}, None, 30, 16)]
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        decoder: Decoder | None = None,
        name: str | None = None,
        follow: bool = False,
        block_bytes: int = BLOCK_BYTES,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.decoder = JSONDecoder() if decoder is None else decoder
        super().__init__(path, name, follow, self.decoder.max_record_bytes, block_bytes, sleep)

    def close(self) -> None:
        super().close()
        self.decoder.close()

    def _open_file(self) -> ByteFile:
        file = super()._open_file()
        if self.follow or not isinstance(self.decoder, JSONDecoder):
            return file
        try:
            holds_array = is_array(file)
            file.seek(0)
            if not (self.decoder.fields.flatten or holds_array) and is_one_table(file):
                raise SourceError(
                    f"{self.path}: expected a JSON object a line, or an array of them, got one object that is the "
                    'whole file; write its rows as pandas\' to_json(..., orient="records", lines=True) does'
                )
            file.seek(0)
        except BaseException:
            file.close()
            raise
        if holds_array:
            file.close()
            return ByteFile(self.path, self.encoding, lines_of_array)
        return file

    @property
    def incidents(self) -> Mapping[str, int]:
        return {BAD_FIELDS: self.decoder.bad_fields.total()}

    def _records(self, lines: Lines, partition: Partition) -> tuple[list[Record], int]:
        records: list[Record] = []
        decode, span, end = self.decoder.decode, lines.span, lines.start
        stop = end + len(lines.data)  # the last line of a file may lack its newline
        for line in lines.data.split(b"\n"):
            end += len(line) + 1
            if line and not line.isspace():
                records.append(decode(line, span, partition, min(end, stop) - span))
                span = end
        return records, len(lines.data)
