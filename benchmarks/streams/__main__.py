"""`python -m benchmarks.streams`: run what is missing in a file of results, and write the report."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import stream_bayes
from benchmarks.results import KeptResults
from benchmarks.streams.moa import MoaClassifier, is_result
from benchmarks.streams.models import MODELS
from benchmarks.streams.ranks import critical_difference, mean_ranks, picture
from benchmarks.streams.report import compared, report
from benchmarks.streams.scoring import score
from benchmarks.streams.sources import STREAMS, fetch
from stream_bayes import AdaptiveBayes

__all__ = ["main", "run"]

HERE = Path(__file__).parent


def run(model: str, stream: str, events: int, data: Path) -> dict[str, Any]:
    """Return the result of a model on a stream, as a line of the file; an error of the model is its result."""
    pick = f"--model {shlex.quote(f'^{re.escape(model)}$')} --stream {shlex.quote(f'^{re.escape(stream)}$')}"
    row = {"model": model, "stream": stream, "limit": events} | {
        "command": f"python -m benchmarks.streams --events {events} {pick}"
    }
    try:
        made = MODELS[model]()
        if isinstance(made, MoaClassifier):
            made.declare(list(islice(STREAMS[stream].samples(data), events)))
        if isinstance(made, AdaptiveBayes):
            row["experts"] = len(made.experts_)
        return row | score(made, islice(STREAMS[stream].samples(data), events))._asdict()
    except Exception as error:  # a peer that cannot read a stream is a result
        if not is_result(error):
            raise
        return row | {"error": f"{type(error).__name__}: {error}"}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the models on the streams that the options choose."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streams", description=main.__doc__)
    parser.add_argument("--model", default="", help="models whose names match this regular expression")
    parser.add_argument("--stream", default="", help="streams whose names match this regular expression")
    parser.add_argument(
        "--events", type=int, default=50_000, help="events of each stream; default: %(default)s"
    )
    parser.add_argument(
        "--results",
        type=Path,
        help="file of results to add to; default: results-EVENTS.jsonl beside this one",
    )
    parser.add_argument("--data", type=Path, default=Path("build/streams"), help="directory of downloads")
    parser.add_argument(
        "--renew", action="store_true", help="replace the results of these models and streams"
    )
    given = parser.parse_args(arguments)
    if not stream_bayes.compiled:
        parser.error("this is the uncompiled build, whose times mean nothing")
    given.results = given.results or HERE / f"results-{given.events}.jsonl"
    results = KeptResults(given.results)
    streams = [name for name in STREAMS if re.search(given.stream, name)]
    if given.renew:
        results.drop(
            lambda row: (
                row["limit"] == given.events
                and row["stream"] in streams
                and re.search(given.model, row["model"]) is not None
            )
        )
    fetch(given.data, {STREAMS[name].origin for name in streams})
    for model in MODELS:
        for stream in streams:
            if not re.search(given.model, model) or results.find(model, stream, given.events):
                continue
            row = run(model, stream, given.events, given.data)
            results.keep(row)
            print(f"{model}, {stream}: {row.get('error') or format(row['accuracy'], '.2%')}", flush=True)
    chosen = [row for row in results if row["limit"] == given.events]
    given.results.with_suffix(".md").write_text(report(chosen), encoding="utf-8")
    table, finished = compared(chosen)
    if len(table) > 1 and len(finished) > 1:
        drawn = picture(mean_ranks(table), critical_difference(len(table), len(finished)), len(finished))
        given.results.with_suffix(".svg").write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
