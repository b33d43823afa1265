"""Runners of pipelines that are no single engine, by the name of the table in the file that says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from stream_bayes.registry import Registry
from stream_bayes.streams.pipelines.config import PipelineConfig

__all__ = ["RUNNERS", "RunOptions"]


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of `stream-bayes run`, in the words of its help."""

    file: Path
    dry_run: bool
    rebuild: bool
    warm: Path | None
    start: str | None
    accept_gap: bool
    limit: int | None
    until_end: bool
    lasts: bool  # the service that --serve starts
    processes: int | None
    instance_id: str | None
    ops_port: int | None
    log_json: bool
    json: bool

    @property
    def quiet(self) -> bool:
        """True if nothing but JSON is printed."""
        return self.json or self.log_json

    @property
    def of_one_engine(self) -> list[str]:
        """The options that were given and are for a single engine only."""
        by_option = {
            "--serve": self.lasts,
            "--dry-run": self.dry_run,
            "--rebuild": self.rebuild,
            "--warm-start": self.warm is not None,
            "--limit": self.limit is not None,
        }
        return [option for option, is_given in by_option.items() if is_given]


# Each returns an exit code.
RUNNERS: Registry[Callable[[PipelineConfig, RunOptions], int]] = Registry(
    "table of pipelines that run by themselves", "runners"
)
