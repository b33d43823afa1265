"""`stream-bayes produce`: write the records of a file to a Kafka topic, at the original speed or a multiple of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stream_bayes.cli.data_file import Delimiter, Time
from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.cli.output import JSON, print_json
from stream_bayes.errors import BadConfig, BadValue
from stream_bayes.registry import Registry
from stream_bayes.streams.pipelines.config import load_config
from stream_bayes.streams.service.signals import stopping_on_signals
from stream_bayes.streams.sources.file_formats import TYPED_FILES, format_of
from stream_bayes.streams.sources.paced import Paced

if TYPE_CHECKING:
    from stream_bayes.kafka.producing import Produced

__all__ = ["produce"]

KeyedMessages = Iterator[
    tuple[bytes, bytes | None]
]  # with keys; None for what is no message, or has another label
# Readers of files of whole messages, by the label that all of a file have. None for a file of anything else.
MESSAGE_FILES: Registry[Callable[[Path, str | None], KeyedMessages | None]] = Registry(
    "kind of message files", "message_files"
)


def produce(
    file: Annotated[
        Path,
        typer.Argument(
            help="CSV, TSV, JSON lines, ARFF, Parquet or Avro, plain, .gz or .zst; or mails: .mbox, .eml, a Maildir "
            "or a directory of messages.",
            show_default=False,
        ),
    ],
    topic: Annotated[str, typer.Option(help="Topic to write to; it must exist.", show_default=False)],
    servers: Annotated[list[str], typer.Option("--servers", help="host:port of a broker. Repeatable.")] = [
        "localhost:9092"
    ],
    pipeline: Annotated[
        Path | None, typer.Option(help="Connect with the [kafka] table of this pipeline file.")
    ] = None,
    key: Annotated[str | None, typer.Option(help="Column with the record keys.")] = None,
    time: Time = None,
    speed: Annotated[
        float | None, typer.Option(help="Write at this multiple of the original speed; needs --time.")
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="Label of all the mails, such as spam; needs --labels.")
    ] = None,
    labels: Annotated[str | None, typer.Option(help="Topic for the labels of the mails.")] = None,
    delimiter: Delimiter = None,
    limit: Annotated[int | None, typer.Option(help="Stop after this many records.", min=0)] = None,
    json: JSON = False,
) -> None:
    """Write the records of a file to a Kafka topic: rows as JSON objects, mails as they are with their ids as keys."""
    with exit_on_error():
        kinds = MESSAGE_FILES.values()
        messages = next((pairs for kind in kinds if (pairs := kind(file, label)) is not None), None)
        is_mail = messages is not None
        if (label is None) != (labels is None):
            raise BadValue(
                "--label and --labels belong together: the label of the mails, and the topic to write it to"
            )
        for option, value in (
            ("--key", key),
            ("--time", time),
            ("--speed", speed),
            ("--delimiter", delimiter),
        ):
            if is_mail and value is not None:
                raise BadValue(f"{option}: {file} holds mails; it is for rows with columns")
        if not is_mail and label is not None:
            raise BadValue(f"--label {label}: expected mails (.mbox, .eml or a directory), got {file}")
        if speed is not None and time is None:
            raise BadValue("--speed needs --time, the column with the event time")
        # Imported here: the client takes a tenth of a second to load.
        from stream_bayes.kafka.clients.client import MAX_MESSAGE_BYTES
        from stream_bayes.kafka.clients.connection import Connection
        from stream_bayes.kafka.producing import csv_records, json_records, produce_mails, typed_records
        from stream_bayes.kafka.producing import produce as write

        most = MAX_MESSAGE_BYTES
        if pipeline is None:
            connection = Connection(servers=tuple(servers))
        else:
            kafka = load_config(pipeline).kafka
            if kafka is None:
                raise BadConfig(f"{pipeline}: kafka: the table is missing; it holds the connection settings")
            connection, most = kafka.connection(), kafka.max_message_bytes
        if messages is not None:
            settings: dict[str, Any] = {
                "label": label,
                "labels": labels,
                "limit": limit,
                "max_message_bytes": most,
            }
            _report(
                topic, produce_mails(connection, topic, messages, **settings), "too large or no mail", json
            )
            return
        kind = format_of(file)
        if kind == "csv":
            records = csv_records(file, key, time, delimiter)
        elif kind == "jsonl":
            records = json_records(file, key, time)
        else:
            records = typed_records(TYPED_FILES[kind](file), key, time)
        source = Paced(records, math.inf if speed is None else speed)
        with closing(source), stopping_on_signals(source.stop):
            _report(topic, write(connection, topic, source, limit), "not a record", json)


def _report(topic: str, produced: Produced, reason: str, json: bool) -> None:
    if json:
        print_json({"topic": topic, "sent": produced.sent, "skipped": produced.skipped})
    else:
        typer.echo(f"{topic}: {produced.sent:,} records sent, {produced.skipped:,} skipped: {reason}")
