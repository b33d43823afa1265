"""`stream-bayes report`: the page of a service or model as one file of HTML."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from queue import Empty, Queue
from threading import Event, Thread
from typing import Annotated

import typer

from stream_bayes.cli.commands.serve import token_of
from stream_bayes.cli.commands.snapshots import KeyOption, key_of
from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.cli.output import checked_output, note
from stream_bayes.errors import SinkError, SourceError
from stream_bayes.private_files import write_private

__all__ = ["report"]

START_SECONDS = 60.0  # for a model to be loaded


def report(
    source: Annotated[
        str,
        typer.Argument(
            help="Address of a service, as http://127.0.0.1:8080; or what `serve` takes: a saved model, a directory of "
            "snapshots, ...",
            show_default=False,
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write.")] = Path("report.html"),
    servers: Annotated[
        str | None, typer.Option(help="Brokers of a pipeline given by its name.", metavar="HOST:PORT")
    ] = None,
    read_token_env: Annotated[
        str | None, typer.Option(help="Environment variable with the service's token for reads.")
    ] = None,
    key_env: KeyOption = None,
) -> None:
    """Write the page of a service, or of a model, as one file of HTML: measures, charts, events, drifts."""
    with exit_on_error(), ExitStack() as around:
        # Imported on use: no other command needs the server.
        from stream_bayes.serve.launch import check_installed

        check_installed()
        checked_output("--output", output)
        from stream_bayes.serve.service_client import ServiceClient
        from stream_bayes.serve.static_report import report_of

        address = source if "://" in source else _served(source, servers, key_of(key_env), around)
        token = token_of(read_token_env, "--read-token-env")
        text = report_of(ServiceClient(address, token))
        try:
            write_private(output, text.encode())
        except OSError as error:
            raise SinkError(f"{output} cannot be written: {error.strerror or error}") from error
        note([f"{output}: a report of {source}, {len(text.encode()) / 1e6:.1f} MB"])


def _served(model: str, servers: str | None, key: bytes | None, around: ExitStack) -> str:
    """Serve a model at the loopback until the end of a `with` block; return the address."""
    from stream_bayes.door.request_checks import ServiceLimits
    from stream_bayes.serve.followed import follow_model
    from stream_bayes.serve.replica import serve_replica

    followed = follow_model(model, servers, key)
    around.callback(followed.close)
    stopped, started = Event(), Queue[str | BaseException]()

    def run() -> None:
        try:
            serve_replica(followed, followed.name, "127.0.0.1", 0, ServiceLimits(), started.put, stopped)
        except BaseException as error:
            started.put(error)

    thread = Thread(target=run, name="serve", daemon=True)
    thread.start()
    around.callback(thread.join)
    around.callback(stopped.set)
    try:
        address = started.get(timeout=START_SECONDS)
    except Empty:
        raise SourceError(f"{model} was not loaded within {START_SECONDS:.0f} seconds") from None
    if isinstance(address, BaseException):
        raise address
    return address
