"""`stream-bayes produce`: the records of a file into a Kafka topic, at the original pace or a multiple of it."""

from __future__ import annotations

import math
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from stream_bayes.cli.data_file import Delimiter, File, Time
from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.cli.output import JSON, print_json
from stream_bayes.errors import BadConfig, BadValue
from stream_bayes.streams.files.csv_format import delimiter_of
from stream_bayes.streams.pipelines.config import load_config
from stream_bayes.streams.service.signals import stopping_on_signals
from stream_bayes.streams.sources.constructors import format_of
from stream_bayes.streams.sources.paced import Paced

__all__ = ["produce"]


def produce(
    file: File,
    topic: Annotated[str, typer.Option(help="Topic to write to; it must exist.", show_default=False)],
    servers: Annotated[list[str], typer.Option("--servers", help="host:port of a broker. Repeatable.")] = [
        "localhost:9092"
    ],
    pipeline: Annotated[
        Path | None, typer.Option(help="Connect as the [kafka] table of this pipeline file says.")
    ] = None,
    key: Annotated[str | None, typer.Option(help="Column with the record keys.")] = None,
    time: Time = None,
    speed: Annotated[
        float | None, typer.Option(help="Write at this multiple of the original speed; needs --time.")
    ] = None,
    delimiter: Delimiter = None,
    limit: Annotated[int | None, typer.Option(help="Stop after this many records.", min=0)] = None,
    json: JSON = False,
) -> None:
    """Write the records of a file to a Kafka topic, as JSON objects."""
    with exit_on_error():
        if speed is not None and time is None:
            raise BadValue("--speed needs --time, the column with the event time")
        # Imported here: the client takes a tenth of a second to load.
        from stream_bayes.streams.kafka.connection import Connection
        from stream_bayes.streams.kafka.produce import csv_records, json_records
        from stream_bayes.streams.kafka.produce import produce as write

        if pipeline is None:
            connection = Connection(servers=tuple(servers))
        else:
            kafka = load_config(pipeline).kafka
            if kafka is None:
                raise BadConfig(f"{pipeline}: kafka: the table is missing; it holds the connection settings")
            connection = kafka.connection()
        if format_of(file) == "csv":
            records = csv_records(file, key, time, delimiter_of(file, delimiter))
        else:
            records = json_records(file, key, time)
        source = Paced(records, math.inf if speed is None else speed)
        with closing(source), stopping_on_signals(source.stop):
            produced = write(connection, topic, source, limit)
    if json:
        print_json({"topic": topic, "sent": produced.sent, "skipped": produced.skipped})
    else:
        typer.echo(f"{topic}: {produced.sent:,} records sent, {produced.skipped:,} skipped: not a record")
