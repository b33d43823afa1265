"""`stream-bayes spam users` and `forget-user`: the users with a filter of their own."""

from __future__ import annotations

from typing import Annotated

import typer

from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.cli.output import JSON, print_json, print_table
from stream_bayes.mail.commands.options import HomeOptions, user_home
from stream_bayes.mail.server.filter_service import FilterService
from stream_bayes.mail.start import (
    forgotten_user,
)
from stream_bayes.mail.store.users import Users, size_of_user

__all__ = ["forget_user", "users"]


def forget_user(
    names: Annotated[list[str], typer.Argument(help="Names of users.", show_default=False)],
    home: HomeOptions,
) -> None:
    """Delete the filters of users, and remove from the site's filter what it learned from them."""
    with exit_on_error():
        service = FilterService(home.open())
        for name in names:
            typer.echo(forgotten_user(name, service.forget_user(name)))
        service.close()


def users(home: HomeOptions, json: JSON = False) -> None:
    """List the users who have a filter of their own, and the size of each."""
    with exit_on_error():
        spam_home = home.open()
        site = spam_home.load()
        rows = []
        for name in Users(spam_home, lambda: site).names():
            of_user = user_home(spam_home, name, site)
            model = of_user.load()
            learned = {str(label): round(number) for label, number in model.messages.items()}
            rows.append({"user": name, **learned, "tokens": model.tokens, "bytes": size_of_user(of_user)})
        if json:
            print_json({"users": rows})
        elif rows:
            print_table(f"users of {spam_home.directory}", rows, right=tuple(rows[0])[1:])
        else:
            typer.echo(
                "no user has a filter of their own yet: teach one with `stream-bayes spam learn -u USER`"
            )
