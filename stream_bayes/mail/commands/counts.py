"""`stream-bayes spam export`, `import` and `merge`: counts out of a filter and into another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.errors import BadFormat, BadValue
from stream_bayes.mail.commands.options import HomeOptions, report_waiting
from stream_bayes.mail.filter.base_model import LEAST_MESSAGES, base_of
from stream_bayes.mail.filter.filter import SpamFilter
from stream_bayes.mail.filter.messages import Classes
from stream_bayes.mail.filter.other_filters import (
    OtherCounts,
    is_bogofilter_dump,
    is_spamassassin_backup,
    read_bogofilter_dump,
    read_spamassassin_backup,
    refuse_other_formats,
)
from stream_bayes.mail.start import number_of
from stream_bayes.mail.streams.mailbox import mails
from stream_bayes.mail.text.structure import head_and_body
from stream_bayes.mail.text.transformer import EmailTokens
from stream_bayes.private_files import write_private
from stream_bayes.saving.model_files import load_answering, save

__all__ = ["export", "import_", "init", "merge"]


def export(
    file: Annotated[
        Path,
        typer.Argument(help="File to write; one that ends in .zip becomes a base.", show_default=False),
    ],
    home: HomeOptions,
    *,
    least: Annotated[
        int, typer.Option(help="Leave tokens of fewer messages out of a base.")
    ] = LEAST_MESSAGES,
) -> None:
    """Write the counts of messages and tokens by class as JSON for other programs, or as a base for other filters.

    A base has hashed tokens, without those that may be about a person: addresses, links, long numbers, words of few
    messages. `stream-bayes spam init --from base.zip` begins a filter with it.
    """
    with exit_on_error():
        model = home.open().load()
        if file.suffix.lower() == ".zip":
            base = base_of(model, least)
            save(base.model, file)
            typer.echo(
                f"wrote {number_of(base.model.tokens, 'token')} of "
                f"{number_of(sum(base.model.messages.values()), 'message')} to {file}"
            )
            typer.echo(
                f"left out {base.rare:,} of fewer than {least} messages, and {base.personal:,} that may be about a "
                "person: addresses, links, names, long numbers"
            )
            return
        counts = model.export_counts()
        write_private(file, msgspec.json.format(msgspec.json.encode(counts), indent=1) + b"\n")
        typer.echo(f"wrote {len(counts['tokens']):,} tokens to {file}")


def init(
    home: HomeOptions,
    base: Annotated[
        Path, typer.Option("--from", help="File of `stream-bayes spam export base.zip`.", show_default=False)
    ],
    weight: Annotated[
        float, typer.Option(help="The messages of each class that the base counts as.")
    ] = SpamFilter.PRIOR_WEIGHT,
    authserv_id: Annotated[
        str | None,
        typer.Option(help="The name of your mail server in Authentication-Results, whose results are read."),
    ] = None,
    keep: Annotated[
        str | None, typer.Option(help="Hold tokens that are not learned again for so long, as 180d.")
    ] = None,
) -> None:
    """Begin a filter with what others have learned, which its own mail soon outweighs.

    Until 20 messages of each class are learned, every mail is unsure, and its score is that of the base.
    """
    with exit_on_error():
        spam_home = home.open()
        if spam_home.exists():
            raise BadValue(
                f"there is a filter in {spam_home.directory} already: a base is what a filter begins with"
            )
        prior = load_answering(base)
        if not isinstance(prior, SpamFilter):
            raise BadValue(f"{base} holds a {type(prior).__name__}, not the base of a spam filter")
        with spam_home.changing(
            lambda: SpamFilter(
                prior.classes, key=spam_home.key, pairs=prior.pairs, authserv_id=authserv_id, keep=keep
            ),
            report_waiting,
        ) as model:
            model.add_prior(prior, weight)
        typer.echo(
            f"a filter that begins with {number_of(model.tokens, 'token')} of {base}, as of "
            f"{number_of(sum(model.messages.values()), 'message')}"
        )


def import_(
    file: Annotated[
        Path,
        typer.Argument(
            help="File of `export`, or the output of `bogoutil -d` or `sa-learn --backup`.",
            show_default=False,
        ),
    ],
    home: HomeOptions,
    *,
    words: Annotated[
        list[Path] | None,
        typer.Option(
            help="Mails, or a list of words, to look up in a backup of `sa-learn`.", show_default=False
        ),
    ] = None,
) -> None:
    """Add counts from `export`, bogofilter or SpamAssassin to the filter: all, or none if the file has an error."""
    with exit_on_error():
        spam_home = home.open()
        with spam_home.changing(lambda: SpamFilter(key=spam_home.key), report_waiting) as model:
            counts, skipped = _counts_in(file, model.classes, words or [])
            model.import_counts(counts)
        typer.echo(
            f"added {number_of(len(counts['tokens']), 'token')} of {number_of(sum(counts['messages']), 'message')}"
        )
        for reason, number in skipped.items():
            typer.echo(f"skipped {number:,} {reason}")
        typer.echo(f"{number_of(sum(model.messages.values()), 'message')} in the filter now")


def _counts_in(file: Path, classes: Classes, words: Sequence[Path]) -> OtherCounts:
    labels = classes[0], classes[1]  # other filters have no more
    data = file.read_bytes()
    if words and not is_spamassassin_backup(data):
        raise BadFormat(f"{file}: --words is for the output of `sa-learn --backup`, and this is none")
    try:
        if words:
            return read_spamassassin_backup(data, labels, tokens_of(words))
        if is_bogofilter_dump(data):
            return read_bogofilter_dump(data, labels)
        refuse_other_formats(data)
        counts = msgspec.json.decode(data, type=dict)
        return OtherCounts(counts, {})
    except (msgspec.DecodeError, UnicodeDecodeError, BadFormat) as error:
        raise BadFormat(
            f"{file}: expected a file that `export`, `bogoutil -d` or `sa-learn --backup` wrote: {error}"
        ) from None


def tokens_of(paths: Sequence[Path]) -> set[str]:
    """Return the tokens of mails, and the words of files that hold no mail."""
    reader = EmailTokens()
    tokens: set[str] = set()
    for path in paths:
        for mail in mails(path):
            if head_and_body(mail.raw)[0]:
                tokens.update(reader.transform_one(mail.raw))
            else:
                tokens.update(mail.raw.decode("utf-8", "replace").split())
    return tokens


def merge(
    other: Annotated[Path, typer.Argument(help="Directory of another filter.", show_default=False)],
    home: HomeOptions,
) -> None:
    """Add the counts of another filter with the same settings, which stays unchanged."""
    with exit_on_error():
        theirs = HomeOptions(home=other, key_env=home.key_env).open().load()
        with home.open().changing(None, report_waiting) as model:
            model.merge(theirs)
        typer.echo(f"{number_of(sum(model.messages.values()), 'message')} in the filter now")
