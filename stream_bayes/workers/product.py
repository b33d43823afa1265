"""The product workers: the names under which rooms below find what it brings."""

from __future__ import annotations

__all__ = ["BRINGS"]

BRINGS = {
    "tables": {"workers": "stream_bayes.workers.pipeline.config:WorkersConfig"},
    "runners": {"workers": "stream_bayes.workers.commands.workers:run_workers"},
}
