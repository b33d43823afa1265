"""The samples of a stream as rows, for test-then-train."""

from __future__ import annotations

import cython

if not cython.compiled:
    from stream_bayes.core.counts._tables import Tables
    from stream_bayes.core.encoding._features import Encoder
    from stream_bayes.core.encoding._rows import Row, RowSource


@cython.cclass
class SampleRows(RowSource):
    """Samples as rows, each encoded when its turn comes, with the names that those before it brought.

    Encoder and tables are those of the store that learns them. `admit(x, row)` is called with a row that may need room
    in the tables, or with every row if `admit_all`, as under a memory budget; it returns the row to learn. A sample
    whose label is None is not learned. `ats` has the time of each in microseconds; None where samples do not fade by
    time.
    """

    def __init__(self, encoder: Encoder, tables: Tables, admit, admit_all: cython.bint, xs, ys, ws, ats):
        self.encoder = encoder
        self.tables = tables
        self.admit = admit
        self.admit_all = admit_all
        self.samples = zip(xs, ys, ws, strict=True)
        self.ats = None if ats is None else iter(ats)
        self.is_labelled = False

    @cython.cfunc
    def next_row(self) -> Row:
        sample = next(self.samples, None)
        if sample is None:
            return None
        x, y, w = sample
        at = 0 if self.ats is None else next(self.ats)
        self.is_labelled = y is not None
        if not self.is_labelled:
            return self.encoder.lookup(x)
        row: Row = self.encoder.encode(x, y, w)
        if self.admit_all or len(self.encoder.created) > 0 or (self.tables.exact and not row.whole):
            row = self.admit(x, row)
        if self.ats is not None:
            row.at = at
        return row
