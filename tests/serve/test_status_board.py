"""The board is bounded: its curve, its history, and how far a follower may be behind."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from stream_bayes import NaiveBayes
from stream_bayes.serve import status_board
from stream_bayes.serve.model_answers import ModelAnswers
from stream_bayes.serve.status_board import MOST_BEHIND, MOST_PART_POINTS, MOST_POINTS, Board, EventSubscriber
from stream_bayes.serve.views import View


def status(second: int) -> dict[str, Any]:
    return {
        "what": "status",
        "time": float(second),
        "processed": 10 * second,
        "running": True,
        "lag": [["days", 0, 3], ["days", 1, 4]],
        "lag_units": {"days": "rows", "labels.jsonl": "bytes"},
        "measures": {"accuracy": 0.5},
        "by_label": {"rain": {"f1": 0.5}},
        "errors": {},
    }


def event(number: int) -> dict[str, Any]:
    return {"id": f"days/0/{number}", "key": f"k{number}", "label": None}


def events(*numbers: int, labels: Any = ()) -> dict[str, Any]:
    return {
        "what": "events",
        "entries": [event(each) for each in numbers],
        "left_out": 0,
        "labels": list(labels),
    }


def test_a_follower_that_does_not_read_is_dropped_and_the_others_go_on() -> None:
    board, dropped = Board("days"), []
    slow = [EventSubscriber(lambda: dropped.append(1)) for _ in range(100)]
    swift = EventSubscriber(lambda: dropped.append(2))
    board.followers.update(slow, [swift])
    for second in range(3 * MOST_BEHIND):
        board.apply(status(second))
        assert swift.queue.get_nowait().startswith(b"event: status\ndata: {")
    assert dropped == [1] * 100 and board.followers == {swift} and board.dropped_followers == 100
    assert all(each.queue.qsize() == MOST_BEHIND for each in slow)


def test_a_curve_of_a_day_keeps_its_first_and_newest_point_within_its_bound() -> None:
    board = Board("days")
    for second in range(20_000):
        board.apply(status(second))
        assert len(board.curve.points) <= MOST_POINTS and len(board.parts_curve.points) <= MOST_PART_POINTS
    assert board.curve.points[0]["time"] == 0.0 and board.curve.points[-1]["time"] > 19_900
    assert board.curve.points[-1]["lag"] == 7 and board.curve.points[5]["events_per_second"] == 10.0
    mixed = status(20_000) | {"lag": [["days", 0, 3], ["labels.jsonl", 0, 900]], "running": False}
    board.apply(mixed)  # rows and bytes have no sum
    assert board.curve.points[-1]["lag"] is None


def test_the_history_drops_the_oldest_and_takes_late_labels() -> None:
    board = Board("days", history_events=3)
    board.apply(events(1, 2, 3, 4))
    assert [each["key"] for each in board.history.newest()] == ["k4", "k3", "k2"]
    assert board.history.of_key("k1") is None
    board.apply(events(5, labels=[{"key": "k4", "label": "rain", "kind": "label"}]))
    assert board.history.of_key("k4") == event(4) | {"label": "rain"}
    none = Board("days", history_events=0)
    none.apply(events(1))
    assert not len(none.history)


def test_requests_of_a_model_that_is_seen_seldom_wait_once_and_not_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(status_board, "PATIENCE", 0.05)
    board = Board("days", request=lambda message: None)
    board.apply(status(1))
    old = View(lambda: ModelAnswers(NaiveBayes()), processed=5, moment=time.time() - 60.0)

    waits, after = 0, []

    async def look() -> None:
        board.show(old, {})
        wait = board._viewed.wait

        async def counted() -> Any:
            nonlocal waits
            waits += 1
            return await wait()

        monkeypatch.setattr(board._viewed, "wait", counted)
        for _ in range(20):
            assert await board.fresh_view() is old
            after.append(waits)

    asyncio.run(look())
    assert after[0] == after[-1] > 0
