"""Ages of tokens: the days on which messages were learned, so that tokens that were not learned for long expire.

A token has the number of the last message that it was learned with. So the first message of each day is enough to tell
on which day that was.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

from stream_bayes.core.values.checks import expect

__all__ = ["TokenAges"]

DAY: Final = 86_400.0  # seconds
MOST_DAYS: Final = 1 << 32


class TokenAges:
    """The days of messages, back to the oldest that tokens are held for. `keep` is the seconds that they are held.

    Examples
    --------
    >>> ages = TokenAges(2 * 86_400.0)
    >>> [ages.expired(day * 86_400.0, messages) for day, messages in [(0, 0), (0, 1), (1, 2), (2, 3), (3, 4), (9, 5)]]
    [None, None, None, None, 2, 5]
    """

    def __init__(self, keep: float | None) -> None:
        self.keep = keep
        self.days: list[tuple[int, int]] = []  # each day, and the messages learned before it

    def expired(self, at: float, messages: int) -> int | None:
        """Note that a message comes. Return the last message whose tokens, if in no later one, are too old now; None if
        the day is no new one, or there are none. `at` is in seconds since 1970, `messages` the number of those before.
        """
        if self.keep is None:
            return None
        day = int(at // DAY)
        if self.days and day <= self.days[-1][0]:  # of a clock that went back, too
            return None
        self.days.append((day, messages))
        oldest = (at - self.keep) // DAY
        begin = next(number for number, (each, _) in enumerate(self.days) if each + 1 > oldest)
        self.days = self.days[begin:]
        return self.days[0][1] if begin else None

    def state(self) -> list[list[int]]:
        """Return the days as JSON."""
        return [list(pair) for pair in self.days]

    def load(self, state: Any) -> None:
        """Load what `state` returned, checked."""
        pairs: list[Any] = [tuple(pair) for pair in state]
        sound = all(
            len(pair) == 2 and all(type(number) is int and abs(number) < MOST_DAYS for number in pair)
            for pair in pairs
        )
        expect(sound, "its days are no numbers")
        rises = all(one[0] < other[0] and one[1] <= other[1] for one, other in pairwise(pairs))
        expect(rises, "its days do not rise")
        self.days = [] if self.keep is None else pairs  # a user's site may keep tokens for good since
