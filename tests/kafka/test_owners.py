"""One worker at a time: whoever was taken over from stops, and can change nothing of its successor's."""

from __future__ import annotations

import json
import signal
import time

import pytest

from tests.kafka.lab import PATIENCE, Pipeline, days, outcome


def test_a_worker_that_wakes_up_after_its_successor_began_stops_and_changes_nothing(
    pipeline: Pipeline,
) -> None:
    pipeline.lab.put(pipeline.topic, days(600))
    zombie = pipeline.start()
    wait_for(lambda: sum(pipeline.lab.committed(pipeline.name).values()) == 600)
    zombie.send_signal(signal.SIGSTOP)
    successor = pipeline.start()
    pipeline.lab.put(pipeline.topic, days(400, seed=8))
    wait_for(lambda: sum(pipeline.lab.committed(pipeline.name).values()) == 1000)
    zombie.send_signal(signal.SIGCONT)
    pipeline.lab.put(pipeline.topic, days(200, seed=9))
    _, wrong = zombie.communicate(timeout=PATIENCE)
    assert zombie.returncode == 1
    assert "another worker has taken over" in wrong or "another process has taken over" in wrong
    wait_for(lambda: sum(pipeline.lab.committed(pipeline.name).values()) == 1200)
    successor.send_signal(signal.SIGTERM)
    assert outcome(successor)["taken"] == 1200
    pipeline.check(1200)


def test_sigterm_in_the_middle_of_batches_ends_with_a_commit_and_a_snapshot(pipeline: Pipeline) -> None:
    pipeline.lab.put(pipeline.topic, days(3000))
    worker = pipeline.start(batch=20)
    wait_for(lambda: sum(pipeline.lab.committed(pipeline.name).values()) > 0)
    began = time.monotonic()
    worker.send_signal(signal.SIGTERM)
    taken = outcome(worker)["taken"]
    assert time.monotonic() - began < 30
    assert taken == sum(pipeline.lab.committed(pipeline.name).values()) == pipeline.kept().clock
    pipeline.finish(3000)
    pipeline.check(3000)


def test_the_journal_is_cut_off_below_the_oldest_snapshot_and_still_enough(pipeline: Pipeline) -> None:
    pipeline.lab.put(pipeline.topic, days(2000))
    pipeline.run(most=1000, keep=2, every_events=200)
    kept = [json.loads(record.value) for record in pipeline.lab.get(pipeline.journal)]
    assert any(entry.get("positions") for entry in kept)
    assert kept[0]["number"] > 0
    pipeline.dies(end_at=["commit", 6], keep=2, every_events=10_000)
    assert pipeline.finish(2000, keep=2)["replayed"] > 0
    answers = pipeline.answered()
    assert len(answers) == len(set(answers)) == 2000


def wait_for(done) -> None:
    deadline = time.monotonic() + PATIENCE
    while not done():
        if time.monotonic() > deadline:
            pytest.fail("it did not come to this in time")
        time.sleep(0.2)
