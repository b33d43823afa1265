"""A search beside the stream: the loop goes on during it, waits where it is due, and takes it no earlier."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from stream_bayes import TAN, DriftAdaptive
from stream_bayes.core.events.event import Event
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.served_models.background import Background
from stream_bayes.streams.served_models.river import ServedAdaptive
from tests.streams.engine.test_drift_kills import events

DELAY = 80


def stream() -> list[Event]:
    return [Event(x, y, position=number) for number, (x, y) in enumerate(events())]


def made(beside: Any) -> tuple[Step, DriftAdaptive]:
    model = ServedAdaptive(DriftAdaptive(TAN(every=50), judge_after=60, search_delay=DELAY, renew=False))
    model.adaptive.search_on(beside)
    return Step(model), model.adaptive


def timeless(step: Step, model: DriftAdaptive) -> bytes:
    """The state, but for what the clock on the wall says."""
    model.log.seconds.clear()
    return Snapshot(learner=step.model.name, sections=step.freeze()()).to_bytes()


class Asked:
    """What a search found, once it is asked for; notes after how many events that is."""

    def __init__(self) -> None:
        self.model: DriftAdaptive | None = None
        self.begun: list[int] = []
        self.asked: list[int] = []

    def submit(self, work: Callable[[], Any]) -> Any:
        assert self.model is not None
        self.begun.append(self.model.clock)
        self.found = work()  # it is there at once
        return self

    def result(self) -> Any:
        assert self.model is not None
        self.asked.append(self.model.clock)
        return self.found


class Slow(Background):
    """Takes its time."""

    def submit(self, work: Callable[[], Any]) -> Future[Any]:
        def slowly() -> Any:
            time.sleep(0.2)
            return work()

        return super().submit(slowly)


class Held(Background):
    """Finds nothing until it may."""

    def __init__(self) -> None:
        self.may_end = threading.Event()

    def submit(self, work: Callable[[], Any]) -> Future[Any]:
        def held() -> Any:
            assert self.may_end.wait(120)
            return work()

        return super().submit(held)


def test_what_was_found_at_once_is_taken_so_many_events_later_and_not_before() -> None:
    beside = Asked()
    step, model = made(beside)
    beside.model = model
    step.process(stream())
    drifts = [entry["event"] for entry in model.log.entries if entry["what"] == "drift"]
    # Not at the event itself, which has to wait for the copy already.
    assert drifts and beside.begun == [event + 1 for event in drifts]
    assert beside.asked == [event + DELAY for event in drifts]
    assert [e["event"] for e in model.log.entries if e["what"] == "searched"] == beside.asked


def test_the_loop_goes_on_during_a_search_and_waits_for_one_that_is_late() -> None:
    beside = Held()
    step, model = made(beside)
    days = stream()
    while model.state_ != "searching":
        step.process([days.pop(0)])
    begun = model.clock
    step.process(days[: DELAY - 1])  # though nothing is found yet
    assert (model.clock, model.state_) == (begun + DELAY - 1, "searching")
    late = threading.Thread(target=lambda: step.process(days[DELAY - 1 : DELAY]))
    late.start()
    late.join(0.3)
    assert late.is_alive()  # it waits
    beside.may_end.set()
    late.join(120)
    assert (model.clock, model.state_) == (begun + DELAY, "trial")


def test_where_a_search_runs_and_how_long_it_takes_leaves_no_trace() -> None:
    states, outputs = set(), []
    for beside in (None, Background(), Slow()):
        step, model = made(beside)
        for start in range(0, 1200, 100):
            step.process(stream()[start : start + 100])
        outputs.append(step.collect_outputs())
        states.add(timeless(step, model))
    assert len(states) == 1
    assert outputs[0] == outputs[1] == outputs[2]


def test_a_restart_in_the_middle_of_a_search_searches_again() -> None:
    whole, model = made(Background())
    whole.process(stream())
    first, searching = made(Background())
    days = stream()
    taken = 0
    while searching.state_ != "searching" or taken % 20:
        first.process([days[taken]])
        taken += 1
    restored = Snapshot.from_bytes(Snapshot(learner="DriftAdaptive", sections=first.freeze()()).to_bytes())
    second, _ = made(Background())
    second.load(restored.sections)
    assert isinstance(second.model, ServedAdaptive)
    assert isinstance(second.model.adaptive._succession.executor, Background)
    second.process(days[taken:])
    assert timeless(second, second.model.adaptive) == timeless(whole, model)


def test_how_long_a_search_took_is_noted_beside_what_follows_from_the_events() -> None:
    step, model = made(Slow())
    step.process(stream())
    searched = next(entry for entry in model.log.entries if entry["what"] == "searched")
    assert model.log.seconds[searched["number"]] >= 0.0
    assert "seconds" not in searched
