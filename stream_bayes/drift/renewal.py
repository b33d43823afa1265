"""Renewal: when a candidate is tried although no drift was seen.

From the start of a stream, and after an adoption, two kinds of candidates take turns:

    grown    a network's structure, searched again in all events kept since the last change, each time their number has
             doubled; its trial doubles from an eighth of them up to half: small gains take long to prove
    fresh    a model of the newest quarter of them, half-way between: a detector of rising losses stays silent
             if the task gets easier, or changes slowly; it must be better by three standard errors in two trials, the
             second twice as long, with a gain that lasts: probabilities of few events are less extreme, which alone may
             be a gain while a model is young, if its independence assumptions do not hold

Both wait for no more than `RENEWAL_WINDOWS` windows of events, so that an old world is followed as well.
"""

from __future__ import annotations

from stream_bayes.drift.candidates import FRESH, GROWN

__all__ = ["RenewalSchedule"]

FIRST_SEARCH = 128  # events of the present world, after which a network's structure is first searched again
FIRST_FRESH = 384  # and after which a fresh model is first tried
FRESH_SHARE = 4  # a fresh model learns the newest of this many equal parts
RENEWAL_WINDOWS = 20  # windows of events between two renewals at most: a trial takes less than one of them
NEVER = 2**61


class RenewalSchedule:
    """The events after which candidates are tried without a drift. `searches` searches a network's structure again,
    `tries_fresh` tries fresh models. `window` is the number of events that are kept, `judge_after` that of a first
    trial after a drift.

    Examples
    --------
    >>> schedule = RenewalSchedule(searches=False, tries_fresh=True, window=1000, judge_after=100)
    >>> schedule.next
    384
    >>> schedule.take(384, since=1)  # the newest quarter
    ('fresh', 289)
    >>> schedule.next
    768
    """

    def __init__(self, *, searches: bool, tries_fresh: bool, window: int, judge_after: int) -> None:
        self.searches = searches
        self.tries_fresh = tries_fresh
        self.window = window
        self.first_fresh_trial = 4 * judge_after
        self.longest_gap = RENEWAL_WINDOWS * max(window, 4 * self.first_fresh_trial)
        self.next_search = FIRST_SEARCH if searches else NEVER
        self.next_fresh = FIRST_FRESH if tries_fresh else NEVER
        self.next = min(self.next_search, self.next_fresh)

    def take(self, clock: int, since: int) -> tuple[str, int]:
        """Return the kind of candidate that is due, and the first event that it learns; set when the next one is.
        `clock` is the number of events learned, `since` the first event of the present world.
        """
        events = clock - since + 1
        gap = min(events, self.longest_gap)
        if clock >= self.next_search:
            name, first = GROWN, since
            self.next_search = clock + gap
        else:
            name, first = FRESH, clock - min(events, self.window) // FRESH_SHARE + 1
            self.next_fresh = clock + gap
        self.next = min(self.next_search, self.next_fresh)
        return name, first

    def begin(self, clock: int, since: int) -> None:
        """Begin anew after an adoption, by the age of the present world."""
        gap = min(clock - since, self.longest_gap)
        if self.searches:
            self.next_search = clock + max(FIRST_SEARCH, gap)
        if self.tries_fresh:
            self.next_fresh = clock + max(FIRST_FRESH, gap + gap // 2)
        self.next = min(self.next_search, self.next_fresh)
