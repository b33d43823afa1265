"""A service over a comparison of models: measures of all at each checkpoint, and answers of each model by its name."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from threading import Event as Flag
from threading import Thread
from types import TracebackType
from typing import Any, Self

from stream_bayes.core.measures.losses import Losses
from stream_bayes.door.http_server import listen, make_server, serve_until
from stream_bayes.door.request_checks import Door, ServiceLimits
from stream_bayes.errors import StreamBayesError
from stream_bayes.evaluation.checkpoints import Checkpoint
from stream_bayes.saving.model_snapshot import snapshot_of
from stream_bayes.serve.app import ACCESS, Service, ServiceAbilities
from stream_bayes.serve.plain_values import as_json
from stream_bayes.serve.restoring import view_of
from stream_bayes.serve.status_board import Board

__all__ = ["ComparedModels"]

STATUS_SECONDS = 0.5  # at least, between two messages
NO_LABELS = "a comparison takes no labels; give them to a pipeline"


class ComparedModels:
    """A service over models that are compared, inside a `with` block, from a thread.

    Measures follow the checkpoints. The models answer once `finish` has shown them: they serve one call at a time.
    `name` is the stream's. `ready` is called with the address of the page.

    Raises
    ------
    OSError
        If the address cannot be listened at.
    """

    def __init__(
        self,
        learners: Mapping[str, Any],
        name: str,
        target: str | None,
        host: str,
        port: int,
        ready: Callable[[str], None],
    ) -> None:
        self._learners = learners
        self._board = Board(name)
        self._board.problem = "the models are still being compared; request again after the end of the stream"
        self._traits = ServiceAbilities(name, NO_LABELS, None, target, follows="comparison")
        self._limits = ServiceLimits(host=host)
        self._checkpoints: dict[str, Checkpoint] = {}
        self._shown = float("-inf")
        self._stopped = Flag()
        self._line = listen(host, port)
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._run, name="serve", daemon=True)
        shown = f"[{host}]" if ":" in host else host
        ready(f"http://{shown}:{self._line.getsockname()[1]}/")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()
        self._thread.join()
        self._line.close()

    def note(self, checkpoint: Checkpoint) -> None:
        """Show a checkpoint; of many in a short time the newest."""
        self._checkpoints[checkpoint.learner] = checkpoint
        if time.monotonic() - self._shown >= STATUS_SECONDS:
            self._shown = time.monotonic()
            self._call(self._board.apply, self._status(is_running=True))

    def finish(self, losses: Mapping[str, Losses], most_accurate: str) -> None:
        """Show all models of this package, the most accurate as the service's own."""
        moment = time.time()
        for name, learner in sorted(self._learners.items(), key=lambda item: item[0] != most_accurate):
            try:
                snapshot = snapshot_of(
                    learner, clock=self._checkpoints[name].events, beside={"losses": losses[name].state()}
                )
                view, evaluation = view_of(snapshot, learner.clone, generation=0, moment=moment)
            except StreamBayesError as error:  # a model of River whose state cannot be saved
                self._board.problem = str(error)
                continue
            if self._board.view is None and name == most_accurate:
                self._call(self._board.show, view, evaluation)
            self._call(self._board.show_challenger, name, view, evaluation)
        # Last, so that all models answer once the status is that the comparison has ended.
        self._call(self._board.apply, self._status(is_running=False))

    def _status(self, *, is_running: bool) -> dict[str, Any]:
        newest = max((each.events for each in self._checkpoints.values()), default=0)
        best = max(self._checkpoints.values(), key=lambda each: each.fading.accuracy or 0.0, default=None)
        return {
            "what": "status",
            "time": time.time(),
            "processed": newest,
            "learned": newest,
            "unlearned": 0,
            "running": is_running,
            "ready": True,
            "generation": 0,
            "drift_state": None,
            "positions": [],
            "lag": [],
            "lag_units": {},
            "dead": {},
            "last_dead": {},
            "labels": None,
            "snapshots": {"written": 0, "failed": 0, "newest": None},
            "by_label": {},
            "errors": {},
            "measures": {} if best is None else as_json(_figures(best) | self._baselines()),
            "challengers": {
                name: {**as_json(_figures(each)), "since": 0, "failure": None}
                for name, each in self._checkpoints.items()
            },
        }

    def _baselines(self) -> dict[str, float | None]:
        """Return the accuracies of the baselines that are compared, by the names of measures."""
        names = {"majority": "majority_accuracy", "no-change": "no_change_accuracy"}
        return {
            measure: self._checkpoints[name].fading.accuracy
            for name, measure in names.items()
            if name in self._checkpoints
        }

    def _call(self, function: Callable[..., None], *arguments: Any) -> None:
        self._loop.call_soon_threadsafe(function, *arguments)

    def _run(self) -> None:
        async def serve() -> None:
            door = Door(self._limits, access=ACCESS)
            server = make_server(Service(self._board, self._traits, door).app, door)
            await serve_until(server, self._line, self._stopped.is_set, self._board.end)

        self._loop.run_until_complete(serve())
        self._loop.close()


def _figures(checkpoint: Checkpoint) -> dict[str, Any]:
    fading = checkpoint.fading
    return {name: getattr(fading, name) for name in fading.__struct_fields__}
