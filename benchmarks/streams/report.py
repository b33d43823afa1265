"""The report of the runs that are done: each peer against the first model, mean ranks, and a table a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from benchmarks.streams.models import OURS
from benchmarks.streams.ranks import (
    control_difference,
    critical_difference,
    holm,
    mean_ranks,
    signed_rank_probability,
)
from benchmarks.streams.sources import STREAMS

__all__ = ["compared", "report"]

FIRST = "AdaptiveBayes"
WITHOUT_MEMORY = "AdaptiveBayes, label_memory=0"
LEVEL = 0.05
CLOSE = 0.01  # of the accuracy
CALIBRATED = 0.02  # expected calibration error


def compared(
    rows: Sequence[Mapping[str, Any]], first: str = FIRST
) -> tuple[dict[str, list[float]], list[str]]:
    """Return the accuracies of one of our models and of each peer on the streams that all of them have finished, and
    these streams.

    A model that finished fewer than half as many streams as another is left out: it would leave few streams to all.
    """
    rows = [row for row in rows if row["model"] == first or row["model"] not in OURS]
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
    return (
        "\n".join(
            [
                *_head(rows),
                *_peers(rows),
                *_ranks(rows),
                *_ranks(rows, WITHOUT_MEMORY),
                *_significance(rows),
                *_streams(rows),
            ]
        )
        + "\n"
    )


def _head(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "# Streams: AdaptiveBayes and its peers\n"
    yield "Each event is predicted, then learned. All models of a table saw the same events."
    yield "Times are of one machine: compare ratios."
    tuned = [name for name, stream in STREAMS.items() if stream.tuned]
    yield f"\nTuned on, so a merit only in part: {', '.join(tuned)}. Nobody tuned anything on the others.\n"
    older = [model for model in (FIRST, WITHOUT_MEMORY) if _is_older(rows, model)]
    if older:
        yield f"The rows of {' and '.join(older)} are older: it has other experts now.\n"
    refused = [row for row in rows if "error" in row]
    for row in refused:
        yield f"- {row['model']} did not finish {row['stream']}: {row['error']}"


def _is_older(rows: Sequence[Mapping[str, Any]], model: str) -> bool:
    """Return True if a row is of a learner with another number of experts than it has now."""
    learner: Any = OURS[model]()
    experts = len(learner.experts_)
    return any(row["model"] == model and "accuracy" in row and row.get("experts") != experts for row in rows)


def _peers(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield how the first model does against each peer, and against the best of them on each stream."""
    found = {(row["model"], row["stream"]): row for row in rows if "accuracy" in row}
    own = {stream: row for (model, stream), row in found.items() if model == FIRST}
    models = list(dict.fromkeys(row["model"] for row in rows))
    peers = [model for model in models if model not in OURS]
    if not own or not peers:
        return
    yield from _against(f"{FIRST} against each peer", found, own, peers)
    yield from _against(
        f"{FIRST} against our other learners", found, own, [m for m in models if m in OURS and m != FIRST]
    )
    yield f"\n## Streams on which a peer is more accurate than {FIRST}\n"
    yield from _losses(found, own, peers)
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


def _against(
    title: str,
    found: Mapping[tuple[str, str], Mapping[str, Any]],
    own: Mapping[str, Mapping[str, Any]],
    others: Sequence[str],
) -> Iterator[str]:
    """Yield a table of other models, each over the streams that both finished."""
    yield f"\n## {title}\n"
    yield "| model | streams | at least as accurate on | worst difference, points | lower log-loss on | times as fast |"
    yield "|---|---|---|---|---|---|"
    for other in others:
        pairs = [(row, found[other, stream]) for stream, row in own.items() if (other, stream) in found]
        if not pairs:
            continue
        gaps = [one["accuracy"] - two["accuracy"] for one, two in pairs]
        lower = sum(one["log_loss"] < two["log_loss"] for one, two in pairs)
        speed = median(two["microseconds"] / one["microseconds"] for one, two in pairs)
        yield (
            f"| {other} | {len(pairs)} | {sum(gap >= 0 for gap in gaps)} | {100 * min(gaps):+.2f} | {lower} "
            f"| {speed:.2f} |"
        )


def _losses(
    found: Mapping[tuple[str, str], Mapping[str, Any]],
    own: Mapping[str, Mapping[str, Any]],
    peers: Sequence[str],
) -> Iterator[str]:
    """Yield each stream with the peers that are ahead on it, by how many points."""
    for stream, row in own.items():
        gaps = {
            peer: found[peer, stream]["accuracy"] - row["accuracy"]
            for peer in peers
            if (peer, stream) in found
        }
        ahead = sorted((peer for peer in gaps if gaps[peer] > 0), key=lambda peer: -gaps[peer])
        if ahead:
            yield f"- {stream}: {', '.join(f'{peer} by {100 * gaps[peer]:.2f}' for peer in ahead)}"


def _significance(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield Wilcoxon's tests of our adaptive learner, with and without label memory, against each peer."""
    found = {(row["model"], row["stream"]): row["accuracy"] for row in rows if "accuracy" in row}
    peers = [model for model in dict.fromkeys(row["model"] for row in rows) if model not in OURS]
    for own in (FIRST, WITHOUT_MEMORY):
        gaps: dict[str, list[float]] = {}
        for peer in peers:
            both = [stream for stream in STREAMS if (own, stream) in found and (peer, stream) in found]
            if both:
                gaps[peer] = [found[own, stream] - found[peer, stream] for stream in both]
        if not gaps:
            continue
        corrected = holm({peer: signed_rank_probability(each) for peer, each in gaps.items()})
        yield f"\n## {own} against each peer, by Wilcoxon's signed ranks of accuracy\n"
        yield "Each over the streams that both finished: the probability of such differences by chance, two-sided,"
        yield f"after Holm's correction for {len(gaps)} tests.\n"
        yield "| peer | streams | more accurate | less | equal | median difference, points | probability | |"
        yield "|---|---|---|---|---|---|---|---|"
        for peer, each in gaps.items():
            more, less = sum(gap > 0 for gap in each), sum(gap < 0 for gap in each)
            is_found = corrected[peer] <= LEVEL
            verdict = ("better" if median(each) > 0 else "worse") if is_found else "not significant"
            yield (
                f"| {peer} | {len(each)} | {more} | {less} | {len(each) - more - less} | {100 * median(each):+.2f} "
                f"| {corrected[peer]:.2g} | {verdict} |"
            )


def _ranks(rows: Sequence[Mapping[str, Any]], first: str = FIRST) -> Iterator[str]:
    table, streams = compared(rows, first)
    models = dict.fromkeys(row["model"] for row in rows if row["model"] not in OURS)
    absent = [model for model in models if model not in table]
    if first not in table or len(streams) < 2 or len(table) < 2:
        yield f"\nFewer than two streams were finished by {first} and all peers: no ranks yet."
        return
    difference = critical_difference(len(table), len(streams))
    yield f"\n## Mean ranks by accuracy of {first} and the peers, over the {len(streams)} streams that all finished\n"
    yield "| model | mean rank | best on | within 1 point of the best on |\n|---|---|---|---|"
    best = [max(column) for column in zip(*table.values(), strict=True)]
    for name, rank in mean_ranks(table).items():
        wins = sum(own == top for own, top in zip(table[name], best, strict=True))
        close = sum(own >= top - CLOSE for own, top in zip(table[name], best, strict=True))
        yield f"| {name} | {rank:.2f} | {wins} | {close} |"
    yield f"\nMean ranks that differ by less than {difference:.2f} do not differ significantly (Nemenyi, 5 %)."
    ranks = mean_ranks(table)
    least = control_difference(len(table), len(streams))
    behind = [name for name in ranks if ranks[name] - ranks[first] >= least]
    level = [name for name in ranks if name not in behind and name != first]
    yield (
        f"Against {first} alone, {least:.2f} is significant (Bonferroni and Dunn, 5 %): it ranks better than "
        f"{', '.join(behind) or 'none'}; no difference is shown to {', '.join(level) or 'none'}.\n"
    )
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
