"""`stream-bayes spam classify` and `filter`: verdicts on mails, by the server or in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import typer

from stream_bayes.errors import NotSupported
from stream_bayes.mail.commands.options import UserHomeOptions
from stream_bayes.mail.filter.verdict import judge
from stream_bayes.mail.start import report_error, run_command
from stream_bayes.mail.store.identity import id_of_mail
from stream_bayes.mail.store.judged_mails import MAX_BYTES, JudgedMails, held_name

__all__ = ["classify", "filter_", "local_classifier"]


def classify(context: typer.Context) -> None:
    """Print the verdict on each message. Exit codes: 0 spam, 1 ham, 2 unsure, 3 error."""
    raise typer.Exit(run_command("classify", context.args))


def filter_(context: typer.Context) -> None:
    """Copy a mail from stdin to stdout with the verdict in a header; unchanged on any error. Exit codes as classify."""
    raise typer.Exit(run_command("filter", context.args))


def local_classifier(
    home: str, key_env: str | None, user: str | None = None, hold_megabytes: str | None = None
) -> Callable[[bytes], tuple[str, ...]]:
    """Return a function that classifies mails in this process, without a server.

    It holds their tokens for a while, as the server does, so that `correct` needs no more than an id.
    """
    options = UserHomeOptions(home=Path(home), key_env=key_env, user=user)
    model, spam_home = options.load(), options.open()
    key = spam_home.id_key()
    most = MAX_BYTES if hold_megabytes is None else int(float(hold_megabytes) * (1 << 20))
    judged: JudgedMails | None = JudgedMails(spam_home.directory, most, files=spam_home.files)

    def classify_mail(raw: bytes) -> tuple[str, ...]:
        nonlocal judged
        name, bag = id_of_mail(raw), model.bag_of(raw)
        if judged is not None and model.label_of(name) is None:
            try:
                judged.put(held_name(name, user), bag.tokens)
            except (OSError, NotSupported) as error:  # a verdict must not fail because the disk is full
                report_error(ValueError(f"mails classified here cannot be corrected by their id: {error}"))
                judged = None
        return judge(model, bag, name if key is None else key.signed(name)).texts()

    return classify_mail
