"""A pytest plug-in: the fixture `replay` plays a file as a stream into a learner.

    def test_late_orders_are_found(replay):
        result = replay("orders.csv", AODE(), target="late")
        result.assert_accuracy(at_least=0.9)
        assert result.windowed.log_loss < 0.3

pytest finds it once the package is installed. Nothing is imported before the fixture is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from stream_bayes.evaluation.evaluation import Evaluation

__all__ = ["Replay", "replay"]


class Replay(Protocol):
    """The type of the fixture `replay`."""

    def __call__(self, stream: Any, learner: Any, **options: Any) -> Evaluation: ...


@pytest.fixture
def replay(request: pytest.FixtureRequest) -> Replay:
    """Return a function that evaluates a learner on a stream, as `stream_bayes.streams.evaluate` does.

    A relative path is looked up next to the test's file first, then in the current directory.
    """
    from pathlib import Path

    from stream_bayes.evaluation.evaluation import evaluate

    def replay_stream(stream: Any, learner: Any, **options: Any) -> Evaluation:
        if isinstance(stream, str | Path):
            beside = request.path.parent / stream
            stream = beside if beside.exists() else Path(stream)
            if not stream.exists():
                pytest.fail(
                    f"replay: there is no file {stream}, neither in {request.path.parent} nor in {Path.cwd()}"
                )
        return evaluate(stream, learner, **options)

    return replay_stream
