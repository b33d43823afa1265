"""`stream-bayes spam explain`: the tokens that decided a verdict."""

from __future__ import annotations

from typing import Annotated

import typer

from stream_bayes.cli.commands.explain import print_mail_explanation
from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.cli.output import JSON
from stream_bayes.mail.commands.options import UserHomeOptions
from stream_bayes.mail.start import without_own_fields
from stream_bayes.mail.streams.mailbox import mails

__all__ = ["explain"]


def explain(
    file: Annotated[str, typer.Argument(help="A message; - reads stdin.")] = "-",
    *,
    home: UserHomeOptions,
    json: JSON = False,
) -> None:
    """Show the tokens that decided the verdict on a message, and the weight of each."""
    with exit_on_error():
        mail = next(mails(file), None)
        raw = without_own_fields(b"" if mail is None else mail.raw)
        print_mail_explanation(home.load().explain_one(raw), json)
