"""`stream-bayes spam sent`: whom one has written to, from mails that were sent."""

from __future__ import annotations

from typing import Annotated

import typer

from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.errors import BadValue
from stream_bayes.mail.commands.options import HomeOptions, report_waiting
from stream_bayes.mail.filter.filter import SpamFilter
from stream_bayes.mail.start import number_of, report_error, without_own_fields
from stream_bayes.mail.streams.mailbox import mails, refusals

__all__ = ["sent"]


def sent(
    files: Annotated[
        list[str], typer.Argument(help="Mails that were sent, or mailboxes of them; - reads stdin.")
    ],
    home: HomeOptions,
) -> None:
    """Learn from mails that were sent to whom they were written: mail from these people is then evidence.

    Addresses and ids of mails are kept as hashes. A From that anybody can forge is no evidence: that needs the results
    of your server, `train --authserv-id`. An answer that names the id of a mail that was sent needs nothing.
    """
    with exit_on_error():
        spam_home = home.open()
        read = new = 0
        refused: dict[str, str] = {}
        with spam_home.changing(lambda: SpamFilter(key=spam_home.key), report_waiting) as model:
            for mail in (mail for file in files for mail in mails(file)):
                if mail.refusal:
                    refused[mail.origin] = mail.refusal
                    continue
                new += model.learn_sent(without_own_fields(mail.raw))
                read += 1
            if not read:
                raise BadValue(refusals(refused) if refused else f"no message found in {', '.join(files)}")
            most = len(model.correspondents)
            is_proved = model.authserv_id is not None
        if refused:
            report_error(BadValue(refusals(refused)))
        addresses = "1 address" if new == 1 else f"{new:,} addresses"
        typer.echo(f"{addresses} learned from {number_of(read, 'message')}; {most:,} hashes in all")
        if not is_proved:
            report_error(
                BadValue(
                    "the filter was made without --authserv-id: only answers to these mails are evidence"
                )
            )
