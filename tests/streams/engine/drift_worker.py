"""A pipeline whose model follows drift, in a process of its own, that kills itself where it is told to.

python drift_worker.py DIRECTORY KILL_AT

KILL_AT is the sample, of all that were ever learned, that is not learned any more; 0 for none.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from stream_bayes import TAN, DriftAdaptive
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.engine.saving import Schedule
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.files.json_lines import JSONLinesSource
from stream_bayes.streams.files.json_sink import JSONLinesSink
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.records.json_decoder import JSONDecoder
from stream_bayes.streams.served_models.river import ServedAdaptive

__all__ = ["main", "model"]


def model() -> DriftAdaptive:
    """What the worker runs."""
    return DriftAdaptive(TAN(every=50), judge_after=60, search_delay=80)


class Killed(ServedAdaptive):
    """Ends the process, as kill -9 does, in place of learning one of the samples."""

    kill_at = 0

    def predict_then_learn(self, x: Any, y: Any, w: float) -> Any:
        if self.adaptive.clock + 1 == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().predict_then_learn(x, y, w)


def main(directory: Path, kill_at: int) -> None:
    served = Killed(model())
    served.kill_at = kill_at
    engine = Engine(
        Step(served),
        JSONLinesSource(
            directory / "events.jsonl", JSONDecoder(Fields(target="y", time="at")), name="events"
        ),
        predictions=JSONLinesSink(directory / "answers.jsonl"),
        drifts=JSONLinesSink(directory / "drifts.jsonl", "drifts"),
        store=SnapshotStore(directory / "state"),
        schedule=Schedule(every_events=37),
        batch=16,
    )
    engine.run()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
