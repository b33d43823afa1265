"""A pipeline from a file to a file, in a process of its own, that kills itself where it is told to.

Each line of the standard input is a run: {"directory": ..., "kill_at": ..., "how": ...}. Samples are "held" until their
labels come, also where labels are "numbers", or all that come are taken "together", from JSON lines to JSON lines, or
from a compressed "csv" to CSV files; `kill_at` is the sample that is not learned any more, 0 for none. Each run is a
process that begins as a copy of this one, which has loaded the package and done nothing else; a line of the standard
output says how it ended. So many can be killed in the time that loading takes.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from stream_bayes import AODE, BayesianRegression, FourierFeatures
from stream_bayes.core.events.pending import Pending
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.streams.contracts.sink import DeadLetter, Output
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.engine.saving import Schedule
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.files.csv_sink import CSVSink
from stream_bayes.streams.files.csv_source import CSVSource
from stream_bayes.streams.files.json_lines import JSONLinesSource
from stream_bayes.streams.files.json_sink import JSONLinesSink
from stream_bayes.streams.files.sink import FileSink
from stream_bayes.streams.files.source import FileSource
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.records.json_decoder import JSONDecoder
from stream_bayes.streams.served_models.learner import ServedLearner
from stream_bayes.streams.served_models.regressor import ServedRegressor


class Killed(ServedLearner):
    """Ends the process, as kill -9 does, in place of learning one of the samples; also after a snapshot was loaded."""

    def __init__(self, learner: Any, kill_at: int) -> None:
        self.left = kill_at
        super().__init__(learner)

    def _serve(self, learner: Any) -> None:
        super()._serve(learner)
        self.learn = self._dying(learner.learn_one)
        self.predict_then_learn = self._dying(learner.predict_learn_one)

    def process(self, xs: Sequence[Any], ys: Sequence[Any], ws: Sequence[float], ats: Any = None, /) -> Any:
        if 0 < self.left <= len(xs):
            super().process(xs[: self.left - 1], ys[: self.left - 1], ws[: self.left - 1])
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= len(xs)
        return super().process(xs, ys, ws)

    def _dying(self, verb: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*sample: Any) -> Any:
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return verb(*sample)

        return counted


class KilledNumbers(ServedRegressor):
    """The same for a learner of numbers."""

    def __init__(self, learner: Any, kill_at: int) -> None:
        self.left = kill_at
        super().__init__(learner)

    def _learn(self, x: Any, y: Any, w: float, at: float | None = None, /) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        super()._learn(x, y, w, at)


def main(directory: Path, kill_at: int, how: str) -> None:
    model: Any
    held: Pending | None
    if how == "numbers":
        waves = FourierFeatures(count=6)
        model = KilledNumbers(BayesianRegression(strength=1.0, half_life=300, features=waves), kill_at)
        held = Pending(wait_for=20, on_expiry="assume", assumed=2.5)
    else:
        model = Killed(AODE(half_life=300), kill_at)
        held = Pending(wait_for=20, on_expiry="assume", assumed="no") if how == "held" else None
    source: FileSource
    answers: FileSink
    dead: FileSink
    if how == "csv":
        source = CSVSource(
            directory / "events.csv.gz", Fields(target="rain", key="id", time="at"), name="events"
        )
        answers, dead = (
            CSVSink(directory / "answers", Output),
            CSVSink(directory / "dead", DeadLetter, "dead"),
        )
    else:
        decoder = JSONDecoder(Fields(target="rain", key="id", time="at", kind="kind"))
        source = JSONLinesSource(directory / "events.jsonl", decoder, name="events")
        answers, dead = JSONLinesSink(directory / "answers"), JSONLinesSink(directory / "dead")
    engine = Engine(
        Step(model, pending=held),
        source,
        predictions=answers,
        dead_letters=dead,
        store=SnapshotStore(directory / "state"),
        schedule=Schedule(every_events=37),
        batch=16,
    )
    engine.run()


def ended(told: dict[str, Any]) -> int:
    """How a run ended that had a process of its own: as `subprocess` says it."""
    child = os.fork()
    if child == 0:
        try:
            main(Path(told["directory"]), told["kill_at"], told["how"])
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    for line in sys.stdin:
        print(ended(json.loads(line)), flush=True)
