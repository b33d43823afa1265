"""Everything that shards have counted in a run of a worker, added up over those that run and those that have ended."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from stream_bayes.streams.service.timings import Timings

__all__ = ["ShardCounts"]


@dataclass
class ShardCounts:
    """Counts of one shard, or of several. They begin at 0 with the run: a shard that comes brings none along."""

    records: int = 0
    publications: int = 0
    published_bytes: int = 0
    failed_snapshots: int = 0
    dead_letters: Counter[str] = field(default_factory=Counter)  # by reason
    incidents: Counter[str] = field(default_factory=Counter)  # by name
    timings: Timings = field(default_factory=Timings)  # how long records and batches took

    def add(self, other: ShardCounts) -> None:
        """Add the counts of another shard."""
        self.records += other.records
        self.publications += other.publications
        self.published_bytes += other.published_bytes
        self.failed_snapshots += other.failed_snapshots
        self.dead_letters.update(other.dead_letters)
        self.incidents.update(other.incidents)
        self.timings.add(other.timings)
