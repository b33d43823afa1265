"""`stream-bayes spam serve`: the filter as a server for mail systems."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from stream_bayes.cli.commands.serve import token_of
from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.door.connections import checked_proxies
from stream_bayes.errors import BadValue
from stream_bayes.mail.commands.options import HomeOptions
from stream_bayes.mail.filter.user_filter import MAX_RECEIPTS, MAX_TOKENS
from stream_bayes.mail.server.server import ServedUsers, SpamServer, WebAccess, inherited_sockets
from stream_bayes.mail.start import number_of
from stream_bayes.mail.store.judged_mails import DAYS, MAX_BYTES
from stream_bayes.mail.store.users import Quota
from stream_bayes.streams.service.signals import stopping_on_signals

__all__ = ["serve"]

ADDRESS = "PORT on this machine, HOST:PORT, or the path of a Unix socket."


def serve(
    home: HomeOptions,
    *,
    spamd: Annotated[
        str | None, typer.Option(help=f"Also serve spamd's protocol, for spamc: {ADDRESS}")
    ] = None,
    milter: Annotated[
        str | None, typer.Option(help=f"Also serve as a milter, for Postfix: {ADDRESS}")
    ] = None,
    http: Annotated[str | None, typer.Option(help=f"Also serve HTTP, for rspamd: {ADDRESS}")] = None,
    on_spam: Annotated[
        str, typer.Option(help="Action of the milter on spam: mark, quarantine or reject.")
    ] = "mark",
    allow_learn: Annotated[
        bool,
        typer.Option(
            "--allow-learn",
            help="Allow learning by spamd's protocol over PORT and HOST:PORT, for anyone who can connect.",
        ),
    ] = False,
    token_env: Annotated[
        str | None,
        typer.Option(
            help="Environment variable with the token for learning by --http; without one there is none."
        ),
    ] = None,
    allowed: Annotated[
        list[str],
        typer.Option("--allow-host", help="Further name that HTTP requests may be for. Repeatable."),
    ] = [],
    proxies: Annotated[
        list[str],
        typer.Option(
            "--proxy",
            help="Address or network of a proxy whose X-Forwarded-For names the client. Repeatable.",
        ),
    ] = [],
    hold_days: Annotated[
        float,
        typer.Option(
            min=0.0, help="Days to hold the tokens of classified mails, so that they can be corrected by id."
        ),
    ] = DAYS,
    hold_megabytes: Annotated[
        float, typer.Option(min=0.0, help="The most disk space for these tokens, in MB; 0 holds none.")
    ] = MAX_BYTES / 2**20,
    users: Annotated[
        bool,
        typer.Option(
            "--users",
            help="Give each user a filter of their own on top of the site's. The user is given in the header User: by "
            "spamc and HTTP clients; for a milter it is the recipient.",
        ),
    ] = False,
    strip_domain: Annotated[
        bool,
        typer.Option(
            "--strip-domain",
            help="Use only the part of a recipient before the @ as the user: ann, not ann@example.org.",
        ),
    ] = False,
    teach_site: Annotated[
        bool, typer.Option("--teach-site", help="Also learn each user's labels in the site's filter.")
    ] = False,
    trusted: Annotated[
        list[str],
        typer.Option(help="Account that may act for all users over Unix sockets, as root may. Repeatable."),
    ] = [],
    user_tokens: Annotated[
        int,
        typer.Option(min=1, help="The most tokens of a user's filter; the least recently used are evicted."),
    ] = MAX_TOKENS,
    user_mails: Annotated[
        int, typer.Option(min=1, help="Number of a user's newest mails that can be corrected or forgotten.")
    ] = MAX_RECEIPTS,
    most_users: Annotated[
        int, typer.Option(min=1, help="The most users with a filter of their own. More are refused.")
    ] = Quota().users,
    users_megabytes: Annotated[
        int,
        typer.Option(
            min=1, help="Approximate memory for users' open filters, in MB. Others are closed until needed."
        ),
    ] = Quota().open_bytes >> 20,
) -> None:
    """Serve the filter to the commands on single mails and to mail systems, until SIGTERM or Ctrl-C."""
    with exit_on_error():
        if (strip_domain or teach_site or trusted) and not users:
            raise BadValue("--strip-domain, --teach-site and --trusted need --users")
        addresses = {"spamd": spamd, "milter": milter, "http": http}
        server = SpamServer(
            home.open(),
            {name: address for name, address in addresses.items() if address is not None},
            inherited_sockets(os.environ),
            int(hold_megabytes * 2**20),
            hold_days,
            may_learn=allow_learn,
            on_spam=on_spam,
            users=ServedUsers(not strip_domain, teach_site, tuple(trusted)) if users else None,
            quota=Quota(user_tokens, user_mails, most_users, users_megabytes << 20),
            web=WebAccess(token_of(token_env, "--token-env"), tuple(allowed), checked_proxies(proxies)),
        )
        for name, address in server.addresses().items():
            sys.stdout.write(f"listening on {address}{'' if name == 'socket' else f' for {name}'}\n")
        sys.stdout.flush()
        with stopping_on_signals(server.stop):
            server.run()
        refused = server.service.refused
        typer.echo(
            f"{number_of(server.answered, 'message')} classified, {number_of(server.service.changed, 'change')}"
            + (f", {number_of(refused, 'change')} refused: see --allow-learn" if refused else "")
        )
