"""Runners of pipelines that are no single engine, by the name of the table in the file that says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from stream_bayes.registry import Registry
from stream_bayes.streams.pipelines.config import PipelineConfig

__all__ = ["RUNNERS", "RunOptions"]


@dataclass(frozen=True)
class RunOptions:
    """The options of `stream-bayes run`; `single` has those that were given and are for a single engine only."""

    file: Path
    single: list[str]
    processes: int | None
    instance_id: str | None
    start: str | None
    accept_gap: bool
    until_end: bool
    ops_port: int | None
    json: bool
    log_json: bool


# Each returns an exit code.
RUNNERS: Registry[Callable[[PipelineConfig, RunOptions], int]] = Registry(
    "table of pipelines that run by themselves", "runners"
)
