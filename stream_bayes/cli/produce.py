"""`stream-bayes produce`: a file into a topic, at the pace at which its records happened or any other."""

from __future__ import annotations

import math
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from stream_bayes.cli.exits import telling_errors
from stream_bayes.cli.printing import JSON, print_json
from stream_bayes.cli.sources import Delimiter, File, Time, kind_of
from stream_bayes.errors import BadConfig, BadValue
from stream_bayes.streams.files.csv_types import delimiter_of
from stream_bayes.streams.pipelines.config import load_config
from stream_bayes.streams.service.signals import stopping_on_signals
from stream_bayes.streams.sources.paced import Paced

__all__ = ["produce"]


def produce(
    file: File,
    topic: Annotated[str, typer.Option(help="The topic; it must be there.", show_default=False)],
    servers: Annotated[
        list[str], typer.Option("--servers", help="host:port of a broker. May be repeated.")
    ] = ["localhost:9092"],
    pipeline: Annotated[
        Path | None, typer.Option(help="A pipeline file whose table [kafka] says how to connect.")
    ] = None,
    key: Annotated[str | None, typer.Option(help="The column that holds the records' keys.")] = None,
    time: Time = None,
    speed: Annotated[
        float | None, typer.Option(help="So many times as fast as the records happened; needs --time.")
    ] = None,
    delimiter: Delimiter = None,
    most: Annotated[int | None, typer.Option(help="Stop after so many records.", min=0)] = None,
    json: JSON = False,
) -> None:
    """Write the records of a file into a topic, as JSON objects."""
    with telling_errors():
        if speed is not None and time is None:
            raise BadValue("--speed needs --time, the column that says when a record happened")
        # Only where it is used: the client takes a tenth of a second to load.
        from stream_bayes.streams.kafka.connection import Connection
        from stream_bayes.streams.kafka.produce import csv_records, json_records
        from stream_bayes.streams.kafka.produce import produce as write

        if pipeline is None:
            connection = Connection(servers=tuple(servers))
        else:
            kafka = load_config(pipeline).kafka
            if kafka is None:
                raise BadConfig(f"{pipeline}: kafka: is missing; it says how to connect")
            connection = kafka.connection()
        if kind_of(file) == "csv":
            records = csv_records(file, key, time, delimiter_of(file, delimiter))
        else:
            records = json_records(file, key, time)
        source = Paced(records, math.inf if speed is None else speed)
        with closing(source), stopping_on_signals(source.stop):
            told = write(connection, topic, source, most)
    if json:
        print_json({"topic": topic, "sent": told.sent, "skipped": told.skipped})
    else:
        typer.echo(f"{topic}: {told.sent:,} records, {told.skipped:,} left out that are none")
