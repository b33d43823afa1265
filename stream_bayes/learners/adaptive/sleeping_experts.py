"""Sleep of experts that do not help, until they may: after a while, or when the answers get worse."""

from __future__ import annotations

import math

import numpy as np

from stream_bayes.core.mixtures._expert_mixture import ExpertMixture

__all__ = ["Sleep"]

TRIAL = 1_000  # events that a store is awake at least before it may sleep
LEAST_GAIN = 0.002  # nats an event: a store whose gain is not above may sleep
FIRST_SLEEP, LONGEST_SLEEP = 1_000, 16_000  # events; each sleep is twice as long as the one before
PAUSE = 200  # events between two that fall asleep, so that the others' weights follow
MOST_ASLEEP = 0.75  # of the stores
FAST, SLOW = 0.5 ** (1 / 20), 0.5 ** (1 / 500)  # left of a loss in the two means, after an event
DEVIATIONS = 4.0  # by which the fast mean exceeds the slow one after a drift
CALM = 200  # events between two alarms
FAST_EVENTS = (1 + FAST) / (1 - FAST)  # as many as the fast mean is worth


class Sleep:
    """Times of sleep of stores that do not help, and the drift that ends them. `stores` is their number.

    Examples
    --------
    >>> mixture, sleep = ExpertMixture(3, [0.01], [0.02], 0.01), Sleep(3)
    >>> given, woken = np.array([[0.9, 0.1], [0.5, 0.5], [0.8, 0.2]]), []
    >>> for _ in range(1000):
    ...     mixture.mix(given, 2)
    ...     woken += sleep.add(mixture.learn(0, 1.0), mixture)
    >>> np.asarray(mixture.is_asleep).tolist()
    [0, 1, 0]
    >>> for _ in range(20):  # predictions have become worse
    ...     mixture.mix(given, 2)
    ...     woken += sleep.add(mixture.learn(1, 1.0), mixture)
    >>> np.asarray(mixture.is_asleep).tolist(), woken
    ([0, 0, 0], [1])
    """

    def __init__(self, stores: int) -> None:
        self.stores = stores
        self.clock = 0  # events that were learned
        self.since = [0] * stores  # the clock at which each fell asleep or woke
        self.length = [FIRST_SLEEP] * stores  # of the sleep it is in, or the next
        self.alarm = 0  # the clock at which the loss began to rise
        self.fast = self.slow = self.square = 0.0  # means of the loss, and a mean of squared differences

    def add(self, loss: float, mixture: ExpertMixture) -> list[int]:
        """Count an event's loss; let stores of a mixture sleep or wake, and return those that have just woken."""
        self.clock += 1
        has_drifted = self._has_drifted(loss)
        if has_drifted and (not self.alarm or self.clock - self.alarm >= CALM):
            self.alarm = self.clock
        if self.clock % PAUSE and not has_drifted:
            return []
        is_asleep = np.asarray(mixture.is_asleep)[: self.stores]
        woken: list[int] = np.flatnonzero(is_asleep).tolist()
        if has_drifted:
            self.length = [FIRST_SLEEP] * self.stores
        else:
            woken = [store for store in woken if self.clock - self.since[store] >= self.length[store]]
        for store in woken:
            mixture.wake(store)
            self.since[store] = self.clock
        if not woken:
            self._rest(mixture)
        return woken

    def _has_drifted(self, loss: float) -> bool:
        """Return True if the loss of the newest events is far above that of the ones before."""
        away = loss - self.slow
        self.fast += (1.0 - FAST) * (loss - self.fast)
        step = max(1.0 - SLOW, 1.0 / self.clock)
        self.slow += step * away
        self.square += step * (away * away - self.square)
        if self.clock < TRIAL:
            return False
        return self.fast - self.slow > DEVIATIONS * math.sqrt(self.square / FAST_EVENTS)

    def _rest(self, mixture: ExpertMixture) -> None:
        """Put the store to sleep that helps least, if it does not help."""
        gain = np.asarray(mixture.gain)
        awake = np.flatnonzero(np.asarray(mixture.is_asleep)[: self.stores] == 0).tolist()
        tried = [store for store in awake if self.clock - self.since[store] >= TRIAL]
        if not tried or len(awake) <= math.ceil((1.0 - MOST_ASLEEP) * self.stores):
            return
        least = min(tried, key=lambda store: (gain[store], store))
        if gain[least] > LEAST_GAIN:
            return
        mixture.put_to_sleep(least)
        if self.since[least]:  # it was awake on trial, and did not help
            self.length[least] = min(2 * self.length[least], LONGEST_SLEEP)
        self.since[least] = self.clock
