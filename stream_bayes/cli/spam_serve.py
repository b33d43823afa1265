"""`stream-bayes spam serve`: the filter as a server for mail systems."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.cli.spam import Home, Key, home_at
from stream_bayes.streams.mail.judged_mails import DAYS, MAX_BYTES
from stream_bayes.streams.mail.server import SpamServer, inherited_sockets
from stream_bayes.streams.service.signals import stopping_on_signals

__all__ = ["serve_spam"]

ADDRESS = "PORT on this machine, HOST:PORT, or the path of a Unix socket."


def serve_spam(
    home: Home = None,
    key_env: Key = None,
    spamd: Annotated[
        str | None, typer.Option(help=f"Also speak spamd's protocol, for spamc: {ADDRESS}")
    ] = None,
    milter: Annotated[str | None, typer.Option(help=f"Also be a milter, for Postfix: {ADDRESS}")] = None,
    http: Annotated[str | None, typer.Option(help=f"Also answer over HTTP, for rspamd: {ADDRESS}")] = None,
    on_spam: Annotated[
        str, typer.Option(help="What the milter does with spam: mark, quarantine or reject.")
    ] = "mark",
    allow_learn: Annotated[
        bool,
        typer.Option("--allow-learn", help="Allow learning over PORT and HOST:PORT, by whoever connects."),
    ] = False,
    hold_days: Annotated[
        float, typer.Option(min=0.0, help="Days to hold the tokens of judged mails, for corrections by id.")
    ] = DAYS,
    hold_megabytes: Annotated[
        float, typer.Option(min=0.0, help="The most disk space for these tokens; 0 holds none.")
    ] = MAX_BYTES / 2**20,
) -> None:
    """Serve all commands on single mails, and mail systems, until SIGTERM or Ctrl-C."""
    with exit_on_error():
        given = {"spamd": spamd, "milter": milter, "http": http}
        server = SpamServer(
            home_at(home, key_env),
            {name: address for name, address in given.items() if address is not None},
            inherited_sockets(os.environ),
            int(hold_megabytes * 2**20),
            hold_days,
            may_learn=allow_learn,
            on_spam=on_spam,
        )
        for name, address in server.addresses().items():
            sys.stdout.write(f"listening on {address}{'' if name == 'socket' else f' for {name}'}\n")
        sys.stdout.flush()
        with stopping_on_signals(server.stop):
            server.run()
        typer.echo(f"{server.answered:,} messages classified, {server.service.changed:,} changes")
