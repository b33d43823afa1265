"""Comparing networks without a class on one stream: the surprise of each event, before it is learned."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from stream_bayes.core.events.event import BadRecord, Event
from stream_bayes.core.measures.surprises import Surprises
from stream_bayes.drift.adaptive import DriftAdaptive
from stream_bayes.errors import BudgetExceeded, StreamBayesError
from stream_bayes.networks.bayes_net import BayesNet

__all__ = ["NetworkStanding", "compare_networks"]


@dataclass
class NetworkStanding:
    """A network of a comparison."""

    model: BayesNet | DriftAdaptive  # which has learned the stream
    surprises: Surprises = field(default_factory=Surprises)  # of the events
    events: int = 0  # that were scored and learned
    seconds: float = 0.0  # the time that this took
    refused: Counter[str] = field(default_factory=Counter)  # events that the network refused, by reason
    stopped: str | None = None  # the reason why it learns no more, such as a memory budget; None if it does

    def process(self, x: Mapping[Any, Any], weight: float) -> None:
        """Score an event, then learn it; a refused event changes nothing."""
        start = time.perf_counter()
        try:
            score = self.model.score_learn_one(x, w=weight)
        except BudgetExceeded as error:
            self.stopped = str(error)
            return
        except StreamBayesError as error:
            self.refused[str(error)] += 1
            return
        finally:
            self.seconds += time.perf_counter() - start
        self.events += 1
        self.surprises.add([score if score < float("inf") else None], [weight])

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON values."""
        return {
            "events": self.events,
            **self.surprises.as_dict(),
            "seconds": self.seconds,
            "refused": dict(self.refused),
            "stopped": self.stopped,
        }


def compare_networks(
    networks: Mapping[str, BayesNet | DriftAdaptive],
    records: Iterable[Event | BadRecord],
    *,
    limit: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> tuple[dict[str, NetworkStanding], Counter[str]]:
    """Score and learn a stream with each network; return their standings, and the numbers of bad records by reason.

    All networks score the same events, so that their nats per event compare.

    Examples
    --------
    >>> events = [Event({"rain": rain, "lawn": lawn}) for rain, lawn in 50 * [("yes", "wet"), ("no", "dry")]]
    >>> edge, apart = BayesNet({"rain": [], "lawn": ["rain"]}), BayesNet({"rain": [], "lawn": []})
    >>> standings, _ = compare_networks({"edge": edge, "apart": apart}, events)
    >>> standings["edge"].surprises.mean < standings["apart"].surprises.mean
    True
    """
    standings = {name: NetworkStanding(network) for name, network in networks.items()}
    bad: Counter[str] = Counter()
    for number, record in enumerate(records, 1):
        if isinstance(record, BadRecord):
            bad[record.reason] += 1
        else:
            for standing in standings.values():
                if standing.stopped is None:
                    standing.process(record.x, record.weight)
        if progress is not None and number % 100 == 0:
            progress(number)
        if number == limit:
            break
    return standings, bad
