"""`stream-bayes spam learn`, `correct` and `forget`: single mails, each change durable at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.errors import BadValue
from stream_bayes.mail.commands.options import ATTACHED, UserHomeOptions, report_waiting
from stream_bayes.mail.filter.filter import SpamFilter
from stream_bayes.mail.server.filter_service import FilterService
from stream_bayes.mail.start import (
    NEVER_LEARNED,
    report_error,
    summary_of,
)
from stream_bayes.mail.streams.mailbox import mails, mails_attached, refusals

__all__ = ["correct", "forget", "learn"]


LabelArgument = Annotated[
    str, typer.Argument(help="ham, spam, or a further class of the filter.", show_default=False)
]


def learn(
    label: LabelArgument,
    files: Annotated[list[str] | None, typer.Argument(help="Messages or mailboxes; - reads stdin.")] = None,
    *,
    attached: ATTACHED = False,
    home: UserHomeOptions,
) -> None:
    """Learn a few messages, and save each at once. For folders use `train`.

    A message that was learned under another class is corrected. If a server runs, it does the work.
    """
    with exit_on_error():
        spam_home = home.open()
        if not spam_home.exists():
            if label not in ("ham", "spam"):
                raise BadValue(
                    f"expected ham or spam, got {label!r}: a filter of further classes is begun by "
                    f"`stream-bayes spam train {label}=MAILS`"
                )
            with spam_home.changing(lambda: SpamFilter(key=spam_home.key), report_waiting):
                pass
        _learn_mails(FilterService(spam_home), label, files or ["-"], home.user, attached=attached)


def correct(
    label: LabelArgument,
    what: Annotated[
        list[str] | None, typer.Argument(help="Ids, or with --mail messages; - reads stdin.")
    ] = None,
    *,
    mail: Annotated[
        bool,
        typer.Option(
            "--mail", help="Name message files instead of ids; messages not learned yet are learned."
        ),
    ] = False,
    home: UserHomeOptions,
) -> None:
    """Set the true label of messages. What they added under another label is removed exactly.

    Name a message by its id, which `classify` prints and `filter` writes to X-Stream-Bayes-Id, or pass the whole
    message in a file or on stdin. With an id, a message that the server has only classified is learned, too.
    """
    with exit_on_error():
        service = FilterService(home.open())
        if not mail and what and "-" not in what:
            typer.echo(summary_of([service.correct(_no_file(key), label, home.user) for key in what]))
            service.close()
        else:
            _learn_mails(service, label, what or ["-"], home.user)


def _learn_mails(
    service: FilterService, label: str, files: list[str], user: str | None, *, attached: bool = False
) -> None:
    """Learn the messages of some files, and print the number of those learned before."""
    outcomes: list[str] = []
    refused: dict[str, str] = {}
    read = mails_attached if attached else mails
    for mail in (mail for path in files for mail in read(path, label)):
        if mail.refusal:
            refused[mail.origin] = mail.refusal
        else:
            outcomes.append(service.learn(mail.raw, label, user))
    if refused and not outcomes:
        raise BadValue(refusals(refused))
    if refused:
        report_error(BadValue(refusals(refused)))
    if not outcomes:
        raise BadValue(f"no message found in {'stdin' if files == ['-'] else ', '.join(files)}")
    service.close()
    typer.echo(summary_of(outcomes))


def _no_file(text: str) -> str:
    """Return an id; raise `BadValue` if it is the name of a file."""
    if Path(text).exists():
        raise BadValue(f"{text} is a file; add --mail to correct the messages in it")
    return text


def forget(
    what: Annotated[list[str], typer.Argument(help="Ids, or with --mail messages.", show_default=False)],
    *,
    mail: Annotated[bool, typer.Option("--mail", help="Name message files instead of ids.")] = False,
    home: UserHomeOptions,
) -> None:
    """Remove everything that messages added to the filter, as if they had never been learned."""
    with exit_on_error():
        service = FilterService(home.open())
        outcomes: list[str] = []
        for name in what:
            if mail:
                outcomes += [service.forget_mail(each.raw, home.user) for each in mails(name)]
            else:
                service.forget(name, home.user)
                outcomes.append("forgotten")
        service.close()
        if "forgotten" not in outcomes:
            raise BadValue(NEVER_LEARNED if outcomes else f"no message found in {', '.join(what)}")
        typer.echo(summary_of(outcomes))
