"""The product workers: the names under which rooms below find what it brings."""

from __future__ import annotations

__all__ = ["BRINGS", "FOLLOW", "RESCALE"]

BRINGS = {
    "commands": {
        "follow": "stream_bayes.workers.product:FOLLOW",
        "rescale": "stream_bayes.workers.product:RESCALE",
    },
    "tables": {"workers": "stream_bayes.workers.pipeline.config:WorkersConfig"},
    "followed": {"workers": "stream_bayes.workers.followed_topic:followed_topic"},
    "runners": {"workers": "stream_bayes.workers.commands.workers:run_workers"},
}

FOLLOW = (
    "stream_bayes.workers.commands.follow:follow",
    "Follow the model of a pipeline with [workers]: read JSON objects from stdin, and print a prediction for each.",
)
RESCALE = (
    "stream_bayes.workers.commands.rescale:rescale",
    "Change the number of shards of a pipeline with [workers], or adopt added partitions. Stop its workers first.",
)
