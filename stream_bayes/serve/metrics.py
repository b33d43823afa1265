"""The service's own metrics. Those of the pipeline are served by its `[ops]`, and their figures are here too."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric

from stream_bayes.door.refusals import Refusals
from stream_bayes.serve.status_board import Board

__all__ = ["metrics_text"]


class _Figures:
    def __init__(self, board: Board, refusals: Refusals) -> None:
        self._board = board
        self._refusals = refusals

    def collect(self) -> list[Metric]:
        board, status = self._board, self._board.status
        labels = {"pipeline": board.name}
        figures: list[tuple[str, str, str, float | None]] = [
            ("records", "counter", "Records processed.", status.get("processed")),
            ("samples_learned", "counter", "Samples learned.", status.get("learned")),
            ("ready", "gauge", "1 while the pipeline reads and saves.", status.get("ready")),
            (
                "model_generation",
                "gauge",
                "Number of times that the model was replaced.",
                status.get("generation"),
            ),
            (
                "serve_view_age_seconds",
                "gauge",
                "Age of the view that answers.",
                None if board.view is None else board.view.age,
            ),
            ("serve_followers", "gauge", "Readers of the events.", len(board.followers)),
            ("serve_followers_dropped", "counter", "Readers that were too slow.", board.dropped_followers),
        ]
        families = []
        for name, kind, text, value in figures:
            if value is None:
                continue
            metric = Metric(f"stream_bayes_{name}", text, kind)
            metric.add_sample(f"stream_bayes_{name}{'_total' * (kind == 'counter')}", labels, float(value))
            families.append(metric)
        return [*families, self._refusals.metric(labels)]


def metrics_text(board: Board, refusals: Refusals) -> bytes:
    """Return the metrics in Prometheus' text format.

    Examples
    --------
    >>> print(metrics_text(Board("days"), Refusals("service")).decode().splitlines()[2])
    stream_bayes_serve_followers{pipeline="days"} 0.0
    """
    registry = CollectorRegistry()
    registry.register(_Figures(board, refusals))
    return generate_latest(registry)
