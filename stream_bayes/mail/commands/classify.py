"""`stream-bayes spam classify` and `filter`: verdicts on mails, by the server or in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import typer

from stream_bayes.mail.commands.options import UserHomeOptions
from stream_bayes.mail.filter.verdict import judge
from stream_bayes.mail.start import (
    run_command,
)
from stream_bayes.mail.store.identity import id_of_mail

__all__ = ["classify", "filter_", "local_classifier"]


def classify(context: typer.Context) -> None:
    """Print the verdict on each message. Exit codes: 0 spam, 1 ham, 2 unsure, 3 error."""
    raise typer.Exit(run_command("classify", context.args))


def filter_(context: typer.Context) -> None:
    """Copy a mail from stdin to stdout with the verdict in a header; unchanged on any error. Exit codes as classify."""
    raise typer.Exit(run_command("filter", context.args))


def local_classifier(
    home: str, key_env: str | None, user: str | None = None
) -> Callable[[bytes], tuple[str, ...]]:
    """Return a function that classifies mails in this process, without a server."""
    options = UserHomeOptions(home=Path(home), key_env=key_env, user=user)
    model, key = options.load(), options.open().id_key()

    def classify_mail(raw: bytes) -> tuple[str, ...]:
        name = id_of_mail(raw)
        return judge(model, model.bag_of(raw), name if key is None else key.signed(name)).texts()

    return classify_mail
