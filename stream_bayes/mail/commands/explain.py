"""`stream-bayes spam explain`: the tokens that decided a verdict."""

from __future__ import annotations

import math
import sys
from typing import Annotated

import typer

from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.cli.output import JSON, print_json
from stream_bayes.errors import BadValue
from stream_bayes.mail.commands.options import UserHomeOptions
from stream_bayes.mail.filter.explanation import SpamExplanation
from stream_bayes.mail.filter.filter import SpamFilter
from stream_bayes.mail.start import report_error, without_own_fields
from stream_bayes.mail.streams.mailbox import mails

__all__ = ["explain", "print_mail_explanation", "print_mail_in_file"]


def explain(
    file: Annotated[str, typer.Argument(help="A message; - reads stdin.")] = "-",
    *,
    home: UserHomeOptions,
    json: JSON = False,
) -> None:
    """Show the tokens that decided the verdict on a message, and the weight of each."""
    with exit_on_error():
        print_mail_in_file(home.load(), file, json)


def print_mail_in_file(model: SpamFilter, file: str, json: bool) -> None:
    """Print the verdict of a filter on the message in a file, or on standard input for `-`."""
    messages = mails(file)
    mail = next(messages, None)
    if mail is None:
        raise BadValue(f"{'standard input' if file == '-' else file} holds no message")
    if next(messages, None) is not None:
        report_error(BadValue(f"{file} holds more than one message; this is the first, {mail.origin}"))
    print_mail_explanation(model.explain_one(without_own_fields(mail.raw)), json)


def print_mail_explanation(explanation: SpamExplanation, json: bool) -> None:
    """Print the verdict on a message and the tokens that decided it."""
    if not json:
        sys.stdout.write(f"{explanation}\n")
        return
    wanted, unwanted = explanation.labels
    rows = [
        {
            "token": row.token,
            "adds": row.adds,
            str(wanted): _count_or_none(row.wanted),
            str(unwanted): _count_or_none(row.unwanted),
        }
        for row in explanation.tokens
    ]
    verdict = {
        "verdict": explanation.verdict,
        "score": explanation.score,
        "probability": explanation.probability,
    }
    print_json({**verdict, "tokens": rows})


def _count_or_none(messages: float) -> float | None:
    """Return a number of messages; None with a learner, which has no such counts."""
    return None if math.isnan(messages) else messages
