"""The states of shards as those of another number of shards, whose sum is the same.

    partition p            goes from shard p mod S to shard p mod T
    positions, marks       go with their partitions, and so do samples that wait, labels that wait, and learned samples
    counts of shard k      go to shard k mod T as a whole: which partition a count is of is not recorded
    a learned sample       that can still be corrected takes its counts along: it is unlearned there, and learned here

So a later label, correction or tombstone meets its sample and the counts of it in one shard.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import merge
from typing import Any, NamedTuple

import msgspec

from stream_bayes.core.events.actions import Learned
from stream_bayes.core.events.event import Partition
from stream_bayes.core.events.pending import Pending
from stream_bayes.core.events.pending_state import PendingSnapshot, load_pending, loaded_event
from stream_bayes.core.events.time import StreamTime
from stream_bayes.core.values.durations import MICROSECOND
from stream_bayes.errors import CannotResume
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.streams.engine.dead_letters import HALF_LIFE
from stream_bayes.streams.engine.engine import ENDS, HISTORY, LOG, SETTINGS
from stream_bayes.streams.engine.history import History
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.served_models.served import digest, served
from stream_bayes.workers.summable import SummedLearner
from stream_bayes.workers.total import summed

__all__ = ["NewShard", "reshard"]

SECTIONS = {"step", "model", "losses", "pending", "time", SETTINGS, HISTORY, LOG, ENDS}


class NewShard(NamedTuple):
    """A shard as it begins."""

    snapshot: Snapshot  # its first
    learner: SummedLearner  # the counts in it


def reshard(
    before: Mapping[int, Snapshot],
    shards: int,
    settings: Mapping[str, Any],
    make_step: Callable[[], Step],
    empty: SummedLearner,
) -> dict[int, NewShard]:
    """Return the new shards. Each state is loaded once, so that one that a worker would refuse is refused here.

    `before` is the newest snapshot of each present shard, at its committed positions. `settings` are those of the
    pipeline with the new shards. `make_step` makes a step without events, as a shard has it. `empty` is a learner
    without counts.

    Raises
    ------
    CannotResume
        If the states do not fit together.
    """
    return _Resharding(before, shards, settings, make_step, empty).result()


class _Resharding:
    def __init__(
        self,
        before: Mapping[int, Snapshot],
        shards: int,
        settings: Mapping[str, Any],
        make_step: Callable[[], Step],
        empty: SummedLearner,
    ) -> None:
        self._before = dict(sorted(before.items()))
        self._shards = shards
        self._settings = settings
        self._make_step = make_step
        for shard, snapshot in self._before.items():
            unknown = sorted(set(snapshot.sections) - SECTIONS)
            if unknown:
                raise CannotResume(f"shard {shard} holds {unknown}, which cannot be moved to other shards")
        # Which present shards' counts come to each new shard, and which of them it gets partitions from.
        self._homes = {
            new: [shard for shard in self._before if shard % shards == new] for new in range(shards)
        }
        self._origins = {new: self._with_partitions_of(new) for new in range(shards)}
        self._learners = {new: self._summed(new, empty) for new in range(shards)}

    def result(self) -> dict[int, NewShard]:
        pending = self._moved_pending()
        states = {}
        for new in range(self._shards):
            step = self._make_step()
            step.load(self._step_sections(new, step, pending[new]))
            sections = {
                **step.freeze()(),
                SETTINGS: dict(self._settings),
                HISTORY: History().state(),
                LOG: self._log(new),
            }
            snapshot = Snapshot(
                learner=step.model.name,
                configuration=digest(self._settings),
                positions=self._positions(new),
                clock=step.processed,
                outputs={"journal": 0},
                sections=sections,
            )
            states[new] = NewShard(snapshot, step.model.model)
        return states

    # -- partitions ---------------------------------------------------------------------------------------------------

    def _is_of(self, new: int, number: int) -> bool:
        return number % self._shards == new

    def _with_partitions_of(self, new: int) -> list[int]:
        return [
            shard
            for shard, snapshot in self._before.items()
            if any(self._is_of(new, partition.partition) for partition in snapshot.positions)
        ]

    def _positions(self, new: int) -> dict[Partition, int]:
        return {
            partition: position
            for snapshot in self._before.values()
            for partition, position in snapshot.positions.items()
            if self._is_of(new, partition.partition)
        }

    def _log(self, new: int) -> dict[str, Any]:
        """Return the identity of the log, with the first positions and the marks of a shard's partitions."""
        logs = [snapshot.sections.get(LOG, {}) for snapshot in self._before.values()]
        identities = [{name: log.get(name) for name in ("cluster", "topics")} for log in logs]
        if any(identity != identities[0] for identity in identities):
            raise CannotResume(f"the shards have read different logs: {identities}")
        return {
            **identities[0],
            **{
                name: sorted(row for log in logs for row in log.get(name, ()) if self._is_of(new, row[1]))
                for name in ("origins", "marks")
            },
        }

    # -- counts -------------------------------------------------------------------------------------------------------

    def _summed(self, new: int, empty: SummedLearner) -> SummedLearner:
        kind = type(empty)
        learners = {
            shard: kind.from_state(self._before[shard].sections["model"]) for shard in self._homes[new]
        }
        if len(learners) == 1:
            (learner,) = learners.values()
            return learner
        return summed(empty, learners)

    def _move_counts(self, home: int, new: int, sample: Learned) -> None:
        """Take the counts of one learned sample from a new shard to another."""
        if home == new:
            return
        source, target = self._learners[home], self._learners[new]
        is_timed = target.store.tables.timed
        at = sample.clock * MICROSECOND if is_timed and sample.clock is not None else None
        label: Any = sample.label
        target.learn_one(sample.encoded, label, sample.weight, at)
        served(source).unlearn(sample.encoded, sample.label, sample.weight, sample.clock)

    # -- the rest of a step -------------------------------------------------------------------------------------------

    def _step_sections(self, new: int, fresh: Step, pending: PendingSnapshot | None) -> dict[str, Any]:
        homes = [self._before[shard].sections for shard in self._homes[new]]
        steps = [sections["step"] for sections in homes]
        counters: dict[str, Any] = {
            name: sum(step[name] for step in steps) for name in ("processed", "learned", "unlearned")
        }
        counters["dead_letters"] = self._dead_letters(new, steps, counters["processed"])
        # Scores are sums over the order of events: those of several shards begin anew.
        losses = homes[0]["losses"] if len(homes) == 1 else fresh.losses.state()
        sections = {"step": counters, "model": self._learners[new].content().state(), "losses": losses}
        if fresh.has_model_clock:
            sections["time"] = self._model_time(new)
        return sections if pending is None else {**sections, "pending": pending.state()}

    def _model_time(self, new: int) -> dict[str, Any]:
        """Return the clock of a new shard's model, with what was held until the clocks of its partitions start."""
        times = [self._before[shard].sections["time"] for shard in self._origins[new]]
        rows = [row for time in times for row in time["held"]]
        return {
            "clock": _latest([time["clock"] for time in times]) or StreamTime().state(),
            "held": [row for row in rows if self._is_of(new, loaded_event(row[0]).partition.partition)],
        }

    def _dead_letters(self, new: int, homes: list[Mapping[str, Any]], processed: int) -> dict[str, Any]:
        counts: Counter[str] = Counter()
        fade, weight = 0.5 ** (1.0 / HALF_LIFE), 0.0
        for step in homes:
            letters = step["dead_letters"]
            counts.update(letters["counts"])
            weight += letters["weight"] * fade ** (step["processed"] - letters["at"])
        everywhere = [snapshot.sections["step"]["dead_letters"] for snapshot in self._before.values()]
        return {
            "counts": dict(sorted(counts.items())),
            "weight": weight / max(1, len(homes)),
            "at": processed,
            **{name: self._rows_of(new, everywhere, name) for name in ("places", "undecoded")},
        }

    def _rows_of(self, new: int, letters: Iterable[Mapping[str, Any]], name: str) -> list[Any] | None:
        rows = [each[name] for each in letters]
        if any(each is None for each in rows):
            return None  # more than are kept
        return sorted(row for each in rows for row in each if self._is_of(new, row[1]))

    # -- late labels --------------------------------------------------------------------------------------------------

    def _moved_pending(self) -> dict[int, PendingSnapshot | None]:
        step = self._make_step()
        if step.pending is None:
            return dict.fromkeys(range(self._shards))
        contents = {
            shard: load_pending(snapshot.sections["pending"], step.pending.time, step.pending.counts)
            for shard, snapshot in self._before.items()
        }
        for shard, content in contents.items():
            for entry in content.resolved:
                if isinstance(entry, Learned):
                    self._move_counts(shard % self._shards, entry.partition % self._shards, entry)
        return {new: self._joined(new, contents, step.pending) for new in range(self._shards)}

    def _joined(self, new: int, contents: Mapping[int, PendingSnapshot], fresh: Pending) -> PendingSnapshot:
        origins = [contents[shard] for shard in self._origins[new]]
        time = _latest([each.time for each in origins]) or fresh.time.state()
        counts: Counter[str] = Counter(dict.fromkeys(fresh.counts, 0))
        for shard in self._homes[new]:
            for name, count in contents[shard].counts.items():
                counts[name] += count

        def moved(
            entries: Callable[[PendingSnapshot], Iterable[Any]], number_of: Callable[[Any], int]
        ) -> Any:
            theirs = [
                [
                    _moved(entry, each.time, time)
                    for entry in entries(each)
                    if self._is_of(new, number_of(entry))
                ]
                for each in origins
            ]
            return list(merge(*theirs, key=_since))

        waiting = moved(lambda each: each.waiting, _partition_of_event)
        early = moved(lambda each: each.early, _partition_of_event)
        resolved = moved(lambda each: each.resolved, lambda entry: entry.partition)
        keys = Counter([entry.event.key for entry in (*waiting, *early)] + [entry.key for entry in resolved])
        twice = [key for key, times in keys.items() if times > 1]
        if twice:
            raise CannotResume(
                f"{len(twice)} keys, {twice[0]!r} for one, are of samples in several partitions that one shard would "
                "read: their labels could not be told apart. Choose a number of shards that is a multiple of the "
                "present one, or wait until their labels have come"
            )
        return PendingSnapshot(
            time,
            waiting,
            early,
            resolved,
            {name: counts[name] for name in fresh.counts},
            max((each.forgotten for each in contents.values() if each.forgotten is not None), default=None),
        )


def _latest(times: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return the stream time of a shard that gets partitions of shards with these; None if none of them has started."""
    started = [time for time in times if _has_started(time)]
    if not started:
        return None
    latest = {**started[0], "now": max(time["now"] for time in started)}
    if "first" in latest:
        latest["first"] = min(time["first"] for time in started)
    return latest


def _has_started(time: Mapping[str, Any]) -> bool:
    return time["now"] is not None


def _moved(entry: Any, before: Mapping[str, Any], after: Mapping[str, Any]) -> Any:
    """Return an entry whose moment is as long ago for the new shard as it was for its own.

    Shards may have been read up to different times. So no sample has waited longer than it did.
    """
    if before["now"] == after["now"]:
        return entry
    if not _has_started(before):  # it counts as having happened at the first time, which is to come
        return msgspec.structs.replace(entry, since=after["now"])
    since = max(entry.since, before.get("first", entry.since))
    return msgspec.structs.replace(entry, since=after["now"] - (before["now"] - since))


def _partition_of_event(entry: Any) -> int:
    return entry.event.partition.partition


def _since(entry: Any) -> float:
    return entry.since
