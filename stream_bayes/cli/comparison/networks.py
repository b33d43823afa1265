"""Networks without a class side by side, by their nats per event."""

from __future__ import annotations

import math

import typer

from stream_bayes.cli.comparison.models import MODELS, compared_models
from stream_bayes.cli.comparison.request import ComparisonRequest
from stream_bayes.cli.output import print_json, print_table
from stream_bayes.evaluation.network_comparison import NetworkStanding, compare_networks
from stream_bayes.saving.model_files import save

__all__ = ["compare_and_print_networks"]


def compare_and_print_networks(request: ComparisonRequest) -> None:
    """Compare networks on all columns of a file, and print the result."""
    with request.opened() as rows:
        schema = None if rows.table is None else rows.table.schema
        networks = compared_models(request.models or MODELS, request.arguments, schema, has_target=False)
        with request.progress(rows.source) as show:
            standings, bad = compare_networks(networks, rows.records, limit=request.limit, progress=show)
    ranked = sorted(standings.items(), key=lambda item: _mean_or_infinity(item[1]))
    if request.save is not None:
        save(ranked[0][1].model, request.save)
    if request.json:
        print_json({"models": {name: each.to_dict() for name, each in ranked}, "skipped": bad})
        return
    table = [
        {
            "model": name,
            "events": each.events,
            "nats an event": each.surprises.mean,
            "last 1,000": each.surprises.recent_mean,
            "events/s": round(each.events / max(each.seconds, 1e-9)),
        }
        for name, each in ranked
    ]
    print_table("surprise, the least first", table, right=tuple(table[0])[1:])
    for name, each in ranked:
        if each.surprises.impossible:
            typer.echo(f"{name}: {each.surprises.impossible:,} impossible events, which the mean leaves out")
        for reason, count in each.refused.items():
            typer.echo(f"{name}: refused {count:,} events: {reason}")
        if each.stopped is not None:
            typer.echo(f"{name}: stopped after {each.events:,} events: {each.stopped}")
    for reason, count in bad.items():
        typer.echo(f"{count:,} records skipped: {reason}")


def _mean_or_infinity(standing: NetworkStanding) -> float:
    """Return the mean surprise; infinite for a network that stopped, as it is of other events."""
    mean = standing.surprises.mean
    return math.inf if standing.stopped is not None or math.isnan(mean) else mean
