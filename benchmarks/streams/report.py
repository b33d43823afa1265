"""The report of the runs that are done: a table a stream, wins and losses alike, and mean ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.streams.ranks import critical_difference, mean_ranks
from benchmarks.streams.sources import STREAMS

__all__ = ["compared", "report"]

FIRST = "AdaptiveBayes"
CLOSE = 0.01  # of the accuracy


def compared(rows: Sequence[Mapping[str, Any]]) -> tuple[dict[str, list[float]], list[str]]:
    """Return each model's accuracies on the streams that all models have finished, and these streams."""
    models = list(dict.fromkeys(row["model"] for row in rows))
    found = {(row["model"], row["stream"]): row for row in rows if "accuracy" in row}
    streams = [name for name in STREAMS if all((model, name) in found for model in models)]
    return {model: [found[model, name]["accuracy"] for name in streams] for model in models}, streams


def report(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the report as Markdown."""
    return "\n".join([*_head(rows), *_ranks(rows), *_streams(rows)]) + "\n"


def _head(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "# Streams: AdaptiveBayes and its peers\n"
    yield "Each event is predicted, then learned. All models of a table saw the same events."
    yield "Times are of one machine: compare ratios."
    tuned = [name for name, stream in STREAMS.items() if stream.tuned]
    yield f"\nTuned on, so a merit only in part: {', '.join(tuned)}. Nobody tuned anything on the others.\n"
    refused = [row for row in rows if "error" in row]
    for row in refused:
        yield f"- {row['model']} did not finish {row['stream']}: {row['error']}"


def _ranks(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    table, streams = compared(rows)
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
