"""The loop over many events of the default learner: each is predicted from those before it, then learned.

It goes on as long as the stores know what an event names, and stops where the learner is to do more: to read an event
by its names, or to let stores begin anew.
"""

from __future__ import annotations

import cython

from stream_bayes.core.values.values import canonical_label
from stream_bayes.errors import BudgetExceeded

if not cython.compiled:
    from stream_bayes.core.encoding._features import Encoder
    from stream_bayes.core.readings._members import Members
    from stream_bayes.core.readings._reading import Reading
    from stream_bayes.learners.adaptive._encoding import SharedEncoding
    from stream_bayes.learners.adaptive._expert_panel import Panel

FIRST_CHOICE = 64  # events after which features are chosen at first
SHIFTED = 30  # events after an alarm, of which is asked if their numbers have left the bins


@cython.cclass
class EventLoop:
    """A panel of experts, and what learns beside its stores: the last labels, the newest events and the sleep."""

    def __init__(self, panel, memory, newest, sleep):
        self.panel = panel
        self.memory = memory
        self.newest = newest
        self.sleep = sleep
        self.is_due = False

    def __reduce__(self):
        return EventLoop, (self.panel, self.memory, self.newest, self.sleep)

    @cython.ccall
    def learn(self, samples: list, first: cython.Py_ssize_t, live: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Learn samples from the first on, and return the index of the next. `live` labels hold samples. `is_due` is
        True if the learner is to look at its stores before the next.
        """
        panel: Panel = self.panel
        encoding: SharedEncoding = panel.encoding
        at: cython.Py_ssize_t = first
        self.is_due = False
        while at < len(samples) and not self.is_due:
            x, y, w = samples[at]
            y = canonical_label(y)
            try:
                rows = encoding.encode_once(x, y, w)
            except BudgetExceeded:
                return at  # which the learner meets again
            if rows is None or encoding.labels.find(y) >= live:
                return at
            last, share = self.memory.repetition()
            panel.forget()
            panel.score(rows, True, live, last, share)
            encoding.add_numbers()
            self.note(y, w, live)
            at += 1
        return at

    @cython.ccall
    def note(self, y, w: cython.double, live: cython.Py_ssize_t):
        """Let the mixture, the newest events and the last labels learn the sample that the stores have just learned."""
        panel: Panel = self.panel
        encoding: SharedEncoding = panel.encoding
        lead: Encoder = encoding.encoders[0]
        label: cython.Py_ssize_t = encoding.labels.find(y)
        self.newest.add(lead.row)
        if label < live:
            self.settle(panel.learn(label, w))
        self.memory.add(y)
        clock: cython.longlong = cython.cast(Reading, encoding.readings.readings[0]).tables.clock
        self.is_due = clock >= FIRST_CHOICE and not clock & (clock - 1)
        if self.sleep.alarm and self.sleep.clock - self.sleep.alarm == SHIFTED:
            self.is_due = True

    @cython.cfunc
    def settle(self, loss: cython.double):
        """Let stores that have lost for long sleep, and wake them when the answers get worse."""
        readings: Members = self.panel.encoding.readings
        for number in self.sleep.add(loss, self.panel.mixture):
            reading: Reading = readings.readings[number]
            if reading.tables.clock >= reading.due:
                reading.derive()

    @cython.ccall
    def predict(
        self, xs: list, first: cython.Py_ssize_t, live: cython.Py_ssize_t, out: cython.double[:, ::1]
    ) -> cython.Py_ssize_t:
        """Write the probabilities of each of `live` labels into the rows of events from the first on, and return the
        index of the first that is to be read by names.
        """
        panel: Panel = self.panel
        encoding: SharedEncoding = panel.encoding
        last, share = self.memory.repetition()
        panel.forget()
        for at in range(first, len(xs)):
            rows = encoding.lookup_once(xs[at])
            if rows is None:
                return at
            panel.score(rows, False, live, last, share)
            for k in range(live):
                out[at, k] = panel.recalibration.answer[k]
        return len(xs)
