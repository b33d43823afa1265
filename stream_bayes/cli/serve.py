"""`stream-bayes serve`: a saved model, a directory of snapshots, or a spam filter, over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.cli.output import note
from stream_bayes.cli.snapshots import Key, key_of
from stream_bayes.errors import BadConfig

__all__ = ["serve"]


def serve(
    model: Annotated[
        Path,
        typer.Argument(
            help="Saved model, directory of snapshots, or directory of a spam filter.", show_default=False
        ),
    ],
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.", min=0, max=65535)] = 8080,
    allowed: Annotated[
        list[str], typer.Option("--allow-host", help="Further name that requests may be for. Repeatable.")
    ] = [],
    token_env: Annotated[
        str | None,
        typer.Option(help="Environment variable with the token for writes; a spam filter then learns mails."),
    ] = None,
    read_token_env: Annotated[
        str | None, typer.Option(help="Environment variable with a token for reads.")
    ] = None,
    key_env: Key = None,
) -> None:
    """Answer from a model over HTTP, with a page; follow the snapshots that a pipeline writes."""
    with exit_on_error():
        # Imported on use: no other command needs the server.
        from stream_bayes.serve.serving import check_installed

        check_installed()
        from stream_bayes.serve.guard import Limits
        from stream_bayes.serve.replica import Followed, serve_replica

        limits = Limits(
            token=_token(token_env, "--token-env"),
            read_token=_token(read_token_env, "--read-token-env"),
            hosts=tuple(allowed),
            host=host,
        )
        followed = Followed(model, key_of(key_env))
        try:
            serve_replica(
                followed, model.stem or str(model), host, port, limits, lambda url: note([f"serving {url}"])
            )
        except OSError as error:
            raise BadConfig(f"{host}:{port} cannot be listened on: {error.strerror or error}") from error


def _token(variable: str | None, option: str) -> str | None:
    """Return the token in an environment variable."""
    if variable is None:
        return None
    found = key_of(variable)
    assert found is not None
    if len(found) < 16:
        raise BadConfig(f"{option} {variable}: expected a token of at least 16 characters, got {len(found)}")
    return found.decode()
