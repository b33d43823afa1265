"""`stream-bayes serve`: a saved model, a directory of snapshots, a spam filter, or the topic of a model, over HTTP."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Annotated

import typer

from stream_bayes.cli.commands.snapshots import KeyOption, key_of
from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.cli.output import note
from stream_bayes.errors import BadConfig

__all__ = ["serve", "token_of"]


def serve(
    model: Annotated[
        str,
        typer.Argument(
            help="Saved model, directory of snapshots, or directory of a spam filter; of a pipeline with [workers] its "
            "file (TOML), or its name with --servers.",
            show_default=False,
        ),
    ],
    servers: Annotated[
        str | None, typer.Option(help="Brokers of a pipeline given by its name.", metavar="HOST:PORT")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.", min=0, max=65535)] = 8080,
    allowed: Annotated[
        list[str], typer.Option("--allow-host", help="Further name that requests may be for. Repeatable.")
    ] = [],
    proxies: Annotated[
        list[str],
        typer.Option(
            "--proxy",
            help="Address or network of a proxy whose X-Forwarded-For names the client. Repeatable.",
        ),
    ] = [],
    token_env: Annotated[
        str | None,
        typer.Option(help="Environment variable with the token for writes; a spam filter then learns mails."),
    ] = None,
    read_token_env: Annotated[
        str | None, typer.Option(help="Environment variable with a token for reads.")
    ] = None,
    key_env: KeyOption = None,
) -> None:
    """Serve a model over HTTP, with a page. A pipeline's newest snapshots or counts are loaded as it writes them."""
    with exit_on_error(), ExitStack() as around:
        # Imported on use: no other command needs the server.
        from stream_bayes.serve.launch import check_installed

        check_installed()
        from stream_bayes.door.connections import checked_proxies
        from stream_bayes.door.request_checks import ServiceLimits
        from stream_bayes.serve.followed import follow_model
        from stream_bayes.serve.replica import serve_replica

        limits = ServiceLimits(
            token=token_of(token_env, "--token-env"),
            read_token=token_of(read_token_env, "--read-token-env"),
            hosts=tuple(allowed),
            proxies=checked_proxies(proxies),
            host=host,
        )
        followed = follow_model(model, servers, key_of(key_env))
        around.callback(followed.close)
        try:
            serve_replica(followed, followed.name, host, port, limits, lambda url: note([f"serving {url}"]))
        except OSError as error:
            raise BadConfig(f"{host}:{port} cannot be listened on: {error.strerror or error}") from error


def token_of(variable: str | None, option: str) -> str | None:
    """Return the token in an environment variable."""
    if variable is None:
        return None
    token = key_of(variable)
    assert token is not None
    if len(token) < 16:
        raise BadConfig(f"{option} {variable}: expected a token of at least 16 characters, got {len(token)}")
    return token.decode()
