"""`stream-bayes anomalies`: the most unexpected rows of a data file, without settings."""

from __future__ import annotations

import heapq
from contextlib import closing
from typing import Annotated, Any

import typer

from stream_bayes.cli.data_file import DataOptions, File, open_table, warn_of_misfits
from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.cli.output import JSON, note, print_json, print_table
from stream_bayes.core.events.event import Event
from stream_bayes.core.measures.score_tail import ScoreTail
from stream_bayes.core.values.values import is_missing
from stream_bayes.data.schema import Nominal
from stream_bayes.errors import NotLearned
from stream_bayes.networks.mixed_network import FIRST_SEARCH, MixedNetwork
from stream_bayes.streams.contracts.source import records_of

__all__ = ["anomalies"]

ODD_VALUES = 3  # shown of a row
MOST_VALUES = 100  # of a nominal column; further ones share one value


def anomalies(
    file: File,
    *,
    top: Annotated[int, typer.Option(help="List this many rows.", min=1)] = 10,
    skip: Annotated[
        int, typer.Option(help="Learn this many rows before the first is scored.", min=0)
    ] = FIRST_SEARCH,
    window: Annotated[
        int, typer.Option(help="Search the structure over this many newest rows.", min=1)
    ] = 2_000,
    options: DataOptions,
    json: JSON = False,
) -> None:
    """List the most unexpected rows of a data file, and which of their values are odd.

    Each row is scored by the rows before it, then learned: minus the logarithm of the mean of two densities, of a
    network over names and numbers whose structure is searched, and of latent classes. The p-value
    is the share of usual rows that score as high, by the tail of all scores: times the number of rows it is how many
    such rows there are by chance.
    """
    with exit_on_error():
        table = open_table(file, None, options)
        note([*table.described(), *table.warnings()], quiet=json)
        model = MixedNetwork(max_values=MOST_VALUES, window=window, classes="learn")
        names = (
            {name for name, spec in table.schema.features.items() if isinstance(spec, Nominal)}
            if table.schema
            else set()
        )
        scores: list[float] = []
        found: list[tuple[float, int, dict[str, Any]]] = []
        rows = bad = 0
        with closing(table.source):
            for record in records_of(table.source):
                rows += 1
                if not isinstance(record, Event):
                    bad += 1
                    continue
                x = {name: _named(value) if name in names else value for name, value in record.x.items()}
                if model.clock >= skip:
                    score = model.score_one(x)
                    scores.append(score)
                    if len(found) < top or score > found[0][0]:
                        entry = (score, -rows, _row(model, x))
                        (heapq.heappush if len(found) < top else heapq.heapreplace)(found, entry)
                model.learn_one(x)
        warn_of_misfits(table.source, lambda line: typer.echo(line, err=True))
        note([f"warning: {bad:,} of {rows:,} rows could not be read and were left out"] if bad else [])
        if not scores:
            raise NotLearned(
                f"{file}: {rows - bad:,} rows, of which {skip:,} are learned before one is scored: lower --skip"
            )
        tail = ScoreTail(scores)
        listed = [
            {"row": -number, "score": score, "p_value": tail.p_value(score, is_one=True), **row}
            for score, number, row in sorted(found, reverse=True)
        ]
        if json:
            print_json(
                {"rows": rows, "scored": len(scores), "edges": [*model.structure.edges], "anomalies": listed}
            )
            return
        edges = ", ".join(" -> ".join(map(str, edge)) for edge in model.structure.edges)
        note([f"{rows:,} rows, {len(scores):,} scored; dependences: {edges or 'none'}"])
        shown = [{**each, "odd": _text_of(each["odd"])} for each in listed]
        print_table("most unexpected rows", shown, right=("row", "score", "p_value"))


def _named(value: object) -> object:
    """Return a value of a nominal column as a name, also if it is a number."""
    return str(value) if isinstance(value, (int, float)) and not is_missing(value) else value


def _row(model: MixedNetwork, x: dict[str, Any]) -> dict[str, Any]:
    surprise = model.explain_one(x)
    excess = surprise.excess
    odd = [v for v in surprise.oddest[:ODD_VALUES] if excess[v] > 0.0]
    return {"odd": [{"variable": v, "value": x[v], "nats": round(excess[v], 3)} for v in odd]}


def _text_of(odd: list[dict[str, Any]]) -> str:
    return ", ".join(f"{each['variable']}={each['value']} (+{each['nats']:.1f} nats)" for each in odd)
