"""The board: all that the service shows of a pipeline, bounded, and its followers.

It is changed in the event loop alone. The newest view is replaced as a whole.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from stream_bayes.serve.channel import WANTED_SECONDS
from stream_bayes.serve.event_history import EventHistory
from stream_bayes.serve.plain_values import as_json
from stream_bayes.serve.views import View
from stream_bayes.streams.files.label_log import GivenLabel

__all__ = ["Board", "EventSubscriber"]

MOST_POINTS = 1440  # of a curve; then every second one is dropped
MOST_DRIFTS = 1000
MOST_PART_POINTS = 360  # of the curves of labels, or of variables
MOST_FOLLOWERS = 256
MOST_FOLLOWERS_EACH = 64  # from one address
MOST_BEHIND = 64  # messages that a follower may be behind
FRESH_SECONDS = 1.0  # age of a view that is as good as new
PATIENCE = 2.0  # seconds to wait for a fresh view, or for the outcome of a label


class ThinnedCurve:
    """Points over time, at most so many: when there are more, every other one is dropped, and of the next ones too.

    Examples
    --------
    >>> curve = ThinnedCurve(4)
    >>> for second in range(9):
    ...     curve.add({"time": second})
    >>> [point["time"] for point in curve.points]
    [0, 4, 7]
    """

    def __init__(self, most: int) -> None:
        self.points: list[dict[str, Any]] = []
        self._most = most
        self._every = 1  # point that is kept
        self._added = 0

    def add(self, point: dict[str, Any], *, is_last: bool = False) -> None:
        """Add a point; the last one of a stream is always kept."""
        self._added += 1
        if self._added % self._every and not is_last:
            return
        self.points.append(point)
        if len(self.points) > self._most:
            del self.points[1:-1:2]
            self._every *= 2


class EventSubscriber:
    """One reader of the events. A reader that falls behind is dropped. `drop` is called when it is too slow. `address`
    is the one that it reads from; "" for a Unix socket.
    """

    def __init__(self, drop: Callable[[], None], address: str = "") -> None:
        self.address = address
        self.queue: asyncio.Queue[bytes] = asyncio.Queue(MOST_BEHIND)
        self._drop = drop

    def offer(self, message: bytes) -> bool:
        """Add a message; return False, and drop the reader, if it is too far behind."""
        try:
            self.queue.put_nowait(message)
        except asyncio.QueueFull:
            self._drop()
            return False
        return True


class Board:
    """The newest facts about a pipeline. `history_events` is the number of newest events to keep. `request` sends a
    message to the engine's process; None for a replica, which follows files.

    Examples
    --------
    >>> board = Board("days")
    >>> board.apply({"what": "events", "entries": [{"id": "days/0/1", "key": "a"}], "left_out": 3, "labels": []})
    >>> board.history.left_out, [entry["key"] for entry in board.history.newest()]
    (3, ['a'])
    """

    def __init__(
        self,
        name: str,
        history_events: int = 1000,
        request: Callable[[Mapping[str, Any]], None] | None = None,
    ) -> None:
        self.name = name
        self.status: dict[str, Any] = {}
        self.view: View | None = None
        self.evaluation: dict[str, Any] = {}
        self.challengers: dict[str, View] = {}  # the newest view of each, if it was wanted
        self.challenger_evaluations: dict[str, dict[str, Any]] = {}
        self.history = EventHistory(history_events)
        self.curve = ThinnedCurve(MOST_POINTS)
        self.parts_curve = ThinnedCurve(MOST_PART_POINTS)
        self.drifts: deque[dict[str, Any]] = deque(maxlen=MOST_DRIFTS)
        self.followers: set[EventSubscriber] = set()
        self.dropped_followers = 0
        self.has_ended = False
        self.problem: str | None = None  # the reason why there is no newer view
        self._request = request
        self._viewed = asyncio.Event()
        self._asked: dict[str | None, float] = {}  # when the engine was last requested to hand over views
        self._wanted_since: dict[str | None, float] = {}
        self._numbers = 0
        self._stored: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._outcomes: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._early_outcomes: OrderedDict[int, dict[str, Any]] = OrderedDict()

    # -- what comes from the engine -----------------------------------------------------------------------------------

    def apply(self, message: Mapping[str, Any]) -> None:
        """Apply a message of the engine's process."""
        getattr(self, f"_apply_{message['what']}")(message)

    def show(self, view: View, evaluation: Mapping[str, Any]) -> None:
        """Replace the view and its scores."""
        self.view, self.evaluation, self.problem = view, dict(evaluation), None
        self._viewed.set()
        self._viewed = asyncio.Event()
        self.publish("view", {**view.stamp()})

    def show_challenger(self, name: str, view: View, evaluation: Mapping[str, Any]) -> None:
        """Replace the view of a challenger and its scores."""
        self.challengers[name], self.challenger_evaluations[name] = view, dict(evaluation)
        self._viewed.set()
        self._viewed = asyncio.Event()

    def _apply_status(self, message: Mapping[str, Any]) -> None:
        before, status = self.status, {name: value for name, value in message.items() if name != "what"}
        passed = status["time"] - before["time"] if before else 0.0
        new = status["processed"] - before["processed"] if before else 0
        status["events_per_second"] = new / passed if passed > 0.0 else 0.0
        self.status = status
        self._add_points(status)
        self.publish("status", status)

    def _add_points(self, status: Mapping[str, Any]) -> None:
        moment, is_last = status["time"], not status["running"]
        point = {
            "time": moment,
            "processed": status["processed"],
            "events_per_second": status["events_per_second"],
            "lag": _total_lag(status),
            **status["measures"],
        }
        self.curve.add(point, is_last=is_last)
        parts = {name: status[name] for name in ("by_label", "errors") if status[name]}
        if parts:
            self.parts_curve.add({"time": moment, **parts}, is_last=is_last)

    def _apply_events(self, message: Mapping[str, Any]) -> None:
        self.history.add(message["entries"], message["left_out"])
        for late in message["labels"]:
            self.history.label(late["key"], late["label"])
        newest = [entry for entry in message["entries"][-20:] if self.history.most]
        self.publish(
            "events", {"events": newest, "left_out": message["left_out"], "labels": message["labels"]}
        )

    def _apply_drifts(self, message: Mapping[str, Any]) -> None:
        self.drifts.extend(message["entries"])
        self.publish("drifts", {"entries": message["entries"]})

    def _apply_stored(self, message: Mapping[str, Any]) -> None:
        waiting = self._stored.pop(message["number"], None)
        if waiting is not None and not waiting.done():
            waiting.set_result(dict(message))

    def _apply_outcome(self, message: Mapping[str, Any]) -> None:
        waiting = self._outcomes.pop(message["position"], None)
        if waiting is not None and not waiting.done():
            waiting.set_result(dict(message))
        elif waiting is None:  # the engine was faster than the answer that the label is stored
            self._early_outcomes[message["position"]] = dict(message)
            while len(self._early_outcomes) > MOST_BEHIND:
                self._early_outcomes.popitem(last=False)
        self.publish("outcome", message)

    # -- what is requested of the engine ------------------------------------------------------------------------------

    def want_view(self, challenger: str | None = None) -> None:
        """Request views of the model, or of a challenger, for the next seconds; at most one message a second."""
        now = time.monotonic()
        passed = now - self._asked.get(challenger, float("-inf"))
        if self._request is not None and passed >= FRESH_SECONDS:
            if passed >= WANTED_SECONDS:
                self._wanted_since[challenger] = now
            self._asked[challenger] = now
            self._request({"what": "want", "model": challenger})

    async def fresh_view(self, challenger: str | None = None) -> View | None:
        """Return the newest view. If nobody has looked for some seconds, wait a little for one of now.

        Only the first requests wait: views that are requested all the time are as new as the engine can hand them over,
        and those of a large model, or of an engine that a slow source holds up, are answered with their age.
        """
        self.want_view(challenger)
        deadline = self._wanted_since.get(challenger, 0.0) + PATIENCE
        while True:
            view = self.view if challenger is None else self.challengers.get(challenger)
            left = deadline - time.monotonic()
            if self._request is None or left <= 0.0 or (view is not None and self._is_fresh(view)):
                return view
            with suppress(TimeoutError):
                await asyncio.wait_for(self._viewed.wait(), left)

    def _is_fresh(self, view: View) -> bool:
        if view.age <= 2 * FRESH_SECONDS or not self.status.get("running", True):
            return True
        # Nothing has come since, and so it is the newest.
        return bool(view.processed == self.status.get("processed"))

    async def give_label(self, label: GivenLabel) -> dict[str, Any]:
        """Write a label; return its position and, if it was taken in soon, the outcome.

        Raises
        ------
        TimeoutError
            If the engine's process does not answer.
        """
        assert self._request is not None
        loop = asyncio.get_running_loop()
        self._numbers += 1
        number = self._numbers
        stored = self._stored[number] = loop.create_future()
        try:
            self._request({"what": "label", "number": number, **msgspec.structs.asdict(label)})
            answer: dict[str, Any] = await asyncio.wait_for(stored, PATIENCE * 4)
        finally:
            self._stored.pop(number, None)
        position = answer.get("position", -1)
        if position < 0 or not answer["is_new"]:
            return answer
        if (early := self._early_outcomes.pop(position, None)) is not None:
            return answer | early
        if not self.status.get("running", True):
            return answer
        outcome = self._outcomes[position] = loop.create_future()
        try:
            outcome_of_label: dict[str, Any] = answer | await asyncio.wait_for(outcome, PATIENCE)
        except TimeoutError:
            return answer
        finally:
            self._outcomes.pop(position, None)
        return outcome_of_label

    # -- followers ----------------------------------------------------------------------------------------------------

    def publish(self, what: str, content: Mapping[str, Any]) -> None:
        """Send to all followers, and drop those that are too far behind."""
        if not self.followers:
            return
        message = b"event: " + what.encode() + b"\ndata: " + msgspec.json.encode(as_json(content)) + b"\n\n"
        for follower in [each for each in self.followers if not each.offer(message)]:
            self.followers.discard(follower)
            self.dropped_followers += 1

    def end(self) -> None:
        """End the answers to all followers, as the service ends."""
        self.has_ended = True
        for follower in tuple(self.followers):
            follower.offer(b"")


def _total_lag(status: Mapping[str, Any]) -> int | None:
    """Return the lag of all partitions; None if it is not known, or is bytes of some and rows of others."""
    units = {status["lag_units"].get(source) for source, _, _ in status["lag"]}
    return sum(behind for _, _, behind in status["lag"]) if len(units) == 1 else None
