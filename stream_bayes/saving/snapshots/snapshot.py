r"""A snapshot: the state of a stream at one moment as the bytes of one file, checked when it is read.

    meta.json             {"format":1,"package":"0.1.0","learner":"NaiveBayes","configuration":"9f86...","schema":null,
                           "clock":1200,"positions":[["clicks.csv",0,52813]],"outputs":{"out.jsonl":90122},
                           "sections":{"learner":{"text":512,"arrays":{"weight":["<f8",[12,2]]}},"metrics":{"text":26}}}
    learner/state.json    {"format":1,"learner":"NaiveBayes","parameters":{...},"store":{...},"checksum":1733}
    learner/weight.npy    magic, version 1.0, {'descr': '<f8', 'fortran_order': False, 'shape': (12, 2), }, numbers
    metrics/state.json    {"seen":1200,"right":1100}

It is a zip that `archive` draws, so `numpy.load(path, allow_pickle=False)` and `unzip -l` both read it. Sections come
in the order of their names, and so do the arrays of each. Texts are ASCII, as `json.dumps` writes them; numbers are
little-endian, in C order. A signed snapshot has the comment `hmac-sha256:` and 64 hex digits, which are over every
byte before them.

meta.json comes first and holds every name, type, shape and size, from which the place of every byte follows. So it
alone describes a snapshot, and it must fit the size of the file before any room is made. It names the learner's class,
and the loader looks the name up in a table of its own: nothing here is ever imported or run. A later format may
change all of this, but begins with a meta.json that has its number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from stream_bayes._build import VERSION
from stream_bayes.core.events.event import Partition, Position
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadSnapshot
from stream_bayes.saving.snapshots import archive, signature
from stream_bayes.saving.snapshots.archive import ArchiveEntry, Bytes, Extent
from stream_bayes.saving.snapshots.sections import (
    State,
    copied_state,
    dumped,
    entries_of,
    expect,
    is_count,
    is_name,
    parsed,
    read_sections,
    sizes,
)

__all__ = ["FORMAT", "Snapshot", "describe", "head_size"]

FORMAT = 1
META = "meta.json"
KEYS = tuple("format package learner configuration schema clock positions outputs sections".split())
CLASS = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")  # never a dotted one

MOST_META = 2**22  # bytes of meta.json
MOST_TEXT = 4096  # letters of a name or digest


@dataclass(frozen=True, eq=False, kw_only=True)
class Snapshot:
    """The state of a stream at one moment: states of its parts, positions of its source, lengths of its outputs.

    The same content makes the same bytes; within a state, the order of the keys is content. Arrays that were loaded
    cannot be written to, and share the memory of the bytes they were loaded from. A snapshot is smaller than 4 GiB.

    Raises
    ------
    BadValue
        If a part cannot be saved; the message names it.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> from stream_bayes.core.events.event import Partition
    >>> model = NaiveBayes()
    >>> model.learn_one({"sky": "grey"}, "rain")
    >>> positions = {Partition("log"): 1}
    >>> taken = Snapshot(learner="NaiveBayes", sections={"learner": model.state()}, positions=positions)
    >>> loaded = Snapshot.from_bytes(taken.to_bytes())
    >>> loaded.positions
    {Partition(source='log', partition=0): 1}
    >>> NaiveBayes.from_state(loaded.sections["learner"]).predict_one({"sky": "grey"})
    'rain'
    """

    learner: str  # the name of its class: a name alone, never a path to import
    # States by name ("learner", "metrics", ...): JSON values, and arrays of numbers under "arrays". The arrays are not
    # copied, so they must not change any more, as those of a learner's `state()` never do; `take` copies them.
    sections: Mapping[str, State] = field(repr=False)
    configuration: str = ""  # a digest, to be compared when it is loaded
    schema: str | None = None  # its fingerprint; None without a schema
    # the next one to read of each partition
    positions: Mapping[Partition, Position] = field(default_factory=dict)
    clock: int = 0  # the number of events that the engine has processed
    # bytes of each output file that belong to this snapshot
    outputs: Mapping[str, int] = field(default_factory=dict)
    package: str = VERSION  # the version of the package that made it

    def __post_init__(self) -> None:
        named = isinstance(self.learner, str) and CLASS.fullmatch(self.learner)
        expect(named, "learner", "the name of a class, without a dot", self.learner)
        for what in ("configuration", "package"):
            expect(_is_short(getattr(self, what)), what, "a short text", getattr(self, what))
        expect(self.schema is None or _is_short(self.schema), "schema", "a short text or None", self.schema)
        expect(is_count(self.clock), "clock", "a whole number from 0", self.clock)
        for partition, position in self.positions.items():
            expect(_is_partition(partition), "positions", "a Partition as key", partition)
            expect(is_count(position), f"the position of {partition}", "a whole number from 0", position)
        for name, length in self.outputs.items():
            expect(_is_short(name), "outputs", "a short name as key", name)
            expect(is_count(length), f"the length of {name!r}", "a whole number from 0", length)
        for name in self.sections:
            expect(is_name(name), "sections", "names of ASCII letters, digits, _ and -", name)
        # Copies: the engine's own mappings change while this is being written.
        object.__setattr__(self, "positions", dict(sorted(self.positions.items())))
        object.__setattr__(self, "outputs", dict(sorted(self.outputs.items())))
        sections = {name: copied_state(name, state) for name, state in sorted(self.sections.items())}
        object.__setattr__(self, "sections", sections)

    @classmethod
    def take(cls, *, sections: Mapping[str, State], **others: Any) -> Self:  # typed as the parameters above
        """Return a snapshot of states that will change: their arrays are copied.

        The copy is all that a stream has to wait for. `pieces` can follow in another thread.

        Examples
        --------
        >>> counts = np.zeros(3)
        >>> taken = Snapshot.take(learner="Counter", sections={"learner": {"arrays": {"counts": counts}}})
        >>> counts[0] = 1.0
        >>> taken.sections["learner"]["arrays"]["counts"]
        array([0., 0., 0.])
        """
        snapshot = cls(sections=sections, **others)
        for state in snapshot.sections.values():
            arrays = state.get("arrays", {})
            for name in arrays:
                arrays[name] = np.array(arrays[name], order="C")
        return snapshot

    # -- writing ------------------------------------------------------------------------------------------------------

    def pieces(self, key: bytes | None = None) -> Iterator[Bytes]:
        """Yield the bytes of the file in pieces; the arrays are not copied again. `key` is a secret of at least 16
        bytes to sign with. Without it the file cannot be altered, nor another made, that `from_bytes` takes with this
        key; an older signed one in its place is not noticed.

        Raises
        ------
        SnapshotNotWritten
            If it has 4 GiB or more.
        """
        if key is None:
            yield from archive.pieces(self._entries())
        else:
            yield from signature.signed(archive.pieces(self._entries(), signature.SIZE), key)

    def to_bytes(self, key: bytes | None = None) -> bytes:
        """Return the bytes of the file; see `pieces`."""
        return b"".join(self.pieces(key))

    def _entries(self) -> list[ArchiveEntry]:
        entries: list[ArchiveEntry] = []
        written = {}
        for section, state in self.sections.items():
            made, written[section] = entries_of(section, state)
            entries += made
        positions = [[*partition, position] for partition, position in self.positions.items()]
        values = (FORMAT, self.package, self.learner, self.configuration, self.schema, self.clock)
        meta = dumped(META, dict(zip(KEYS, (*values, positions, self.outputs, written), strict=True)))
        expect(len(meta) <= MOST_META, META, f"at most {MOST_META:,} bytes of positions and names", len(meta))
        return [ArchiveEntry(META, (meta,)), *entries]

    # -- reading ------------------------------------------------------------------------------------------------------

    @classmethod
    def from_bytes(cls, file: Bytes, key: bytes | None = None) -> Self:
        """Return the snapshot in a file from anyone: no file can run code or claim what it does not hold.

        The meaning of a section is checked where it is loaded, such as in a learner's `from_state`. `file` has all of
        its bytes. With a `key`, an unsigned file is refused; without one, a signed file is.

        Raises
        ------
        BadSnapshot
            For everything that `to_bytes` does not write.
        """
        view = memoryview(file).toreadonly()
        signature.check_signature(view, key)
        meta, extents, comment_size = _read_head(view, len(view))
        if comment_size != (0 if key is None else signature.SIZE):
            raise BadSnapshot("the zip has a comment, which is not a signature: it was altered")
        archive.check(view, extents, comment_size)
        snapshot: Self = cls.from_meta(meta, read_sections(view, meta["sections"], extents[1:]))
        # What remains is to be spelled the one way in which it is written: key order, names twice, headers of arrays.
        for entry, extent in zip(snapshot._entries(), extents, strict=True):
            first = entry.parts[0]
            if entry.name != extent.name or bytes(view[extent.begin : extent.begin + len(first)]) != first:
                raise BadSnapshot(f"{extent.name} was altered: it is not spelled as this package writes it")
        return snapshot

    @classmethod
    def from_meta(cls, meta: Mapping[str, Any], sections: Mapping[str, State]) -> Self:
        try:
            return cls(
                sections=sections,
                positions={
                    Partition(source, number): position for source, number, position in meta["positions"]
                },
                outputs=dict(meta["outputs"]),
                **{key: meta[key] for key in ("package", "learner", "configuration", "schema", "clock")},
            )
        except (TypeError, ValueError) as error:
            raise BadSnapshot(f"{META} was altered: {error}") from error


def head_size(beginning: Bytes) -> int:
    """Return the number of bytes that `describe` needs, from the first hundred bytes of a file.

    Raises
    ------
    BadSnapshot
        If this is not a snapshot.
    """
    size = archive.first_size(beginning, META)
    if size > MOST_META:
        raise BadSnapshot(f"{META} claims {size:,} bytes, expected at most {MOST_META:,}")
    return archive.extents_of([(META, size)])[0].stop


def describe(head: Bytes, size: int) -> dict[str, Any]:
    """Return the metadata of a snapshot: its meta.json, its size, and True or False for a signature.

    Neither the arrays nor the signature have been looked at. `head` has the first `head_size` bytes of the file, or
    more; `size` is that of the whole file in bytes.

    Raises
    ------
    BadSnapshot
        If this is not a snapshot, or the file has another size than its metadata.

    Examples
    --------
    >>> file = Snapshot(learner="Counter", sections={"metrics": {"seen": 7}}, clock=7).to_bytes()
    >>> metadata = describe(file[: head_size(file[:100])], len(file))
    >>> metadata["learner"], metadata["clock"], metadata["sections"], metadata["signed"]
    ('Counter', 7, {'metrics': {'text': 10}}, False)
    """
    meta, _, comment_size = _read_head(head, size)
    Snapshot.from_meta(meta, {})
    return {**meta, "bytes": size, "signed": comment_size > 0}


def _read_head(head: Bytes, size: int) -> tuple[dict[str, Any], list[Extent], int]:
    """Return meta.json, the extents that follow from it, and the number of bytes left for a signature."""
    stop = head_size(head)
    first = (META, archive.first_size(head, META))
    (extent,) = archive.extents_of([first])
    archive.check_entry(head, extent)
    meta = parsed(META, head[extent.begin : stop])
    written = meta.get("format")
    if is_count(written) and written > FORMAT:
        raise BadSnapshot(
            f"the snapshot has format {shown(written)}, this version of stream_bayes reads {FORMAT}; "
            "a newer version wrote it, upgrade to read it"
        )
    if type(written) is not int or written != FORMAT:
        raise BadSnapshot(f"{META} was altered: it has format {shown(written)}, expected {FORMAT}")
    if set(meta) != set(KEYS):
        raise BadSnapshot(f"{META} was altered: it has {shown(sorted(meta))}, expected {sorted(KEYS)}")
    extents = archive.extents_of([first, *sizes(meta["sections"])])
    comment_size = size - extents[-1].stop - archive.directory_size(extents)
    if comment_size not in (0, signature.SIZE):
        raise BadSnapshot(
            f"the file has {size:,} bytes, and {META} describes {size - comment_size:,}: it is truncated, "
            "or something was added"
        )
    return meta, extents, comment_size


def _is_short(value: object) -> bool:
    return isinstance(value, str) and len(value) <= MOST_TEXT


def _is_partition(value: object) -> bool:
    return isinstance(value, Partition) and _is_short(value.source) and is_count(value.partition)
