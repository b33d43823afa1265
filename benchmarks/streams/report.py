"""The report of the runs that are done: each peer against the first model, mean ranks, and a table a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from benchmarks.streams.models import OURS
from benchmarks.streams.ranks import critical_difference, mean_ranks
from benchmarks.streams.sources import STREAMS

__all__ = ["compared", "report"]

FIRST = "AdaptiveBayes"
CLOSE = 0.01  # of the accuracy
CALIBRATED = 0.02  # expected calibration error


def compared(rows: Sequence[Mapping[str, Any]]) -> tuple[dict[str, list[float]], list[str]]:
    """Return each model's accuracies on the streams that all models have finished, and these streams.

    A model that finished fewer than half as many streams as another is left out: it would leave few streams to all.
    """
    found = {(row["model"], row["stream"]): row for row in rows if "accuracy" in row}
    finished = {
        model: sum(key[0] == model for key in found) for model in dict.fromkeys(row["model"] for row in rows)
    }
    most = max(finished.values(), default=0)
    models = [model for model, count in finished.items() if 2 * count >= most]
    streams = [name for name in STREAMS if all((model, name) in found for model in models)]
    return {model: [found[model, name]["accuracy"] for name in streams] for model in models}, streams


def report(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the report as Markdown."""
    return "\n".join([*_head(rows), *_peers(rows), *_ranks(rows), *_streams(rows)]) + "\n"


def _head(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "# Streams: AdaptiveBayes and its peers\n"
    yield "Each event is predicted, then learned. All models of a table saw the same events."
    yield "Times are of one machine: compare ratios."
    tuned = [name for name, stream in STREAMS.items() if stream.tuned]
    yield f"\nTuned on, so a merit only in part: {', '.join(tuned)}. Nobody tuned anything on the others.\n"
    refused = [row for row in rows if "error" in row]
    for row in refused:
        yield f"- {row['model']} did not finish {row['stream']}: {row['error']}"


def _peers(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield how the first model does against each peer, and against the best of them on each stream."""
    found = {(row["model"], row["stream"]): row for row in rows if "accuracy" in row}
    own = {stream: row for (model, stream), row in found.items() if model == FIRST}
    peers = [model for model in dict.fromkeys(row["model"] for row in rows) if model not in OURS]
    if not own or not peers:
        return
    yield f"\n## {FIRST} against each peer\n"
    yield "| peer | streams | at least as accurate on | worst difference, points | lower log-loss on | times as fast |"
    yield "|---|---|---|---|---|---|"
    for peer in peers:
        pairs = [(row, found[peer, stream]) for stream, row in own.items() if (peer, stream) in found]
        if not pairs:
            continue
        gaps = [one["accuracy"] - other["accuracy"] for one, other in pairs]
        lower = sum(one["log_loss"] < other["log_loss"] for one, other in pairs)
        speed = median(other["microseconds"] / one["microseconds"] for one, other in pairs)
        yield (
            f"| {peer} | {len(pairs)} | {sum(gap >= 0 for gap in gaps)} | {100 * min(gaps):+.2f} | {lower} "
            f"| {speed:.2f} |"
        )
    for kind, names in (
        ("all streams", list(own)),
        ("streams that nobody tuned on", [name for name in own if not STREAMS[name].tuned]),
    ):
        best = {
            name: max(found[peer, name]["accuracy"] for peer in peers if (peer, name) in found)
            for name in names
            if any((peer, name) in found for peer in peers)
        }
        ahead = sum(own[name]["accuracy"] >= top for name, top in best.items())
        close = sum(own[name]["accuracy"] >= top - CLOSE for name, top in best.items())
        yield (
            f"\nAgainst the best of the peers that finished a stream, over {kind}: at least as accurate on {ahead} of "
            f"{len(best)}, within 1 point on {close}."
        )
    errors = [row["ece"] for row in own.values() if row["ece"] is not None]
    good = sum(error <= CALIBRATED for error in errors)
    yield f"\nCalibration error after 1,000 events of at most 2 %: on {good} of {len(errors)} streams."


def _ranks(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    table, streams = compared(rows)
    absent = [model for model in dict.fromkeys(row["model"] for row in rows) if model not in table]
    if len(streams) < 2 or len(table) < 2:
        yield "\nFewer than two streams were finished by all models: no ranks yet."
        return
    difference = critical_difference(len(table), len(streams))
    yield f"\n## Mean ranks by accuracy, over the {len(streams)} streams that all models finished\n"
    yield "| model | mean rank | best on | within 1 point of the best on |\n|---|---|---|---|"
    best = [max(column) for column in zip(*table.values(), strict=True)]
    for name, rank in mean_ranks(table).items():
        wins = sum(own == top for own, top in zip(table[name], best, strict=True))
        close = sum(own >= top - CLOSE for own, top in zip(table[name], best, strict=True))
        yield f"| {name} | {rank:.2f} | {wins} | {close} |"
    yield f"\nMean ranks that differ by less than {difference:.2f} do not differ significantly (Nemenyi, 5 %).\n"
    if absent:
        yield f"Left out, as they have finished too few streams: {', '.join(absent)}.\n"


def _streams(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for name, stream in STREAMS.items():
        own = sorted(
            (row for row in rows if row["stream"] == name and "accuracy" in row),
            key=lambda row: -row["accuracy"],
        )
        if not own:
            continue
        yield f"\n## {name} ({own[0]['events']:,} events, {stream.origin}{', tuned on' * stream.tuned})\n"
        first = next((row for row in own if row["model"] == FIRST), None)
        if first is not None:
            ahead = [row["model"] for row in own if row["accuracy"] > first["accuracy"]]
            yield f"{FIRST} loses to {', '.join(ahead)}.\n" if ahead else f"{FIRST} is the most accurate.\n"
        yield "| model | right % | 95 % interval | kappa-T | log-loss | ECE % | us/event | MB |"
        yield "|---|---|---|---|---|---|---|---|"
        for row in own:
            ece = "-" if row["ece"] is None else f"{100 * row['ece']:.2f}"
            size = "-" if row["megabytes"] is None else f"{row['megabytes']:.1f}"
            yield (
                f"| {row['model']} | {100 * row['accuracy']:.2f} | {100 * row['low']:.2f} to {100 * row['high']:.2f} "
                f"| {row['kappa_temporal']:.3f} | {row['log_loss']:.4f} | {ece} | {row['microseconds']:.0f} "
                f"| {size} |"
            )
        yield f"\nAgain: `{own[0]['command']}`"
