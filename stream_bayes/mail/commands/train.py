"""`stream-bayes spam train`: labelled folders of mail, in bulk."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, NamedTuple

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.cli.output import JSON, console, print_json
from stream_bayes.errors import BadValue
from stream_bayes.learners.factory import make_learner
from stream_bayes.mail.commands.options import (
    ATTACHED,
    CostOptions,
    UserHomeOptions,
    report_waiting,
    user_home,
)
from stream_bayes.mail.filter.filter import SpamFilter
from stream_bayes.mail.start import (
    number_of,
    report_error,
    report_skipped,
    without_own_fields,
)
from stream_bayes.mail.store.home import SpamHome
from stream_bayes.mail.store.identity import id_of_mail
from stream_bayes.mail.streams.mailbox import (
    Mail,
    mails,
    mails_attached,
    refusals,
    size_of,
    subfolders_of,
)

__all__ = ["train"]

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")

MIN_REPLAYED = 0.1  # of the messages that can be corrected: so many from folders may be no drift


def train(
    labelled: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CLASS=MAILS]...",
            help="Mails of a class, as in newsletter=Maildir/; ham=... and spam=... are --ham and --spam.",
            show_default=False,
        ),
    ] = None,
    *,
    spam: Annotated[
        list[str],
        typer.Option("--spam", help="Spam to learn: a message, mbox, Maildir, directory or -. Repeatable."),
    ] = [],
    ham: Annotated[list[str], typer.Option("--ham", help="Ham (wanted mail) to learn. Repeatable.")] = [],
    attached: ATTACHED = False,
    home: UserHomeOptions,
    learn: Annotated[
        str, typer.Option(help="Messages a new filter learns: everything or near-errors.")
    ] = "everything",
    pairs: Annotated[
        bool, typer.Option("--pairs", help="Also use pairs of words as tokens, in a new filter.")
    ] = False,
    learner: Annotated[
        str | None,
        typer.Option(
            help="Score messages of a new filter with this learner instead of the built-in scorer; "
            "see `stream-bayes models`."
        ),
    ] = None,
    authserv_id: Annotated[
        str | None,
        typer.Option(
            help="The name of your mail server in Authentication-Results, whose results a new filter reads."
        ),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(help="Hold tokens that are not learned again for so long, as 180d, in a new filter."),
    ] = None,
    second_opinion: Annotated[
        bool | None,
        typer.Option(
            "--second-opinion/--tokens-alone",
            help="Score a new filter's mail by 4-grams of characters, too, or by tokens alone. "
            "Default: by both, unless a learner scores it.",
            show_default=False,
        ),
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(
            help="The classes of a new filter: ham,spam and then others. Default: ham, spam and those of the mails.",
            show_default=False,
        ),
    ] = None,
    costs: CostOptions,
    json: JSON = False,
) -> None:
    """Learn labelled mail. A message learned before is corrected if its label differs, and skipped otherwise."""
    with exit_on_error():
        folders = [(path, "ham") for path in ham] + [(path, "spam") for path in spam]
        folders += [_labelled(text) for text in labelled or []]
        named = _classes_of(classes, [name for _, name in folders])
        if not folders and not costs.is_given():
            raise BadValue("nothing to learn: name mail with --ham or --spam")
        spam_home: SpamHome = home.open()
        settings: dict[str, Any] = {"train": learn, "pairs": pairs, "authserv_id": authserv_id, "keep": keep}
        settings["second_opinion"] = second_opinion
        if home.user is not None:
            if learn != "everything" or any((pairs, learner, authserv_id, keep, second_opinion is not None)):
                raise BadValue(
                    "--learn, --pairs, --learner, --authserv-id, --keep, --second-opinion and --tokens-alone are "
                    "settings of the site's filter, which all users share"
                )
            home_of_user = user_home(spam_home, home.user, spam_home.load())
            spam_home = home_of_user

        def make() -> SpamFilter:
            if home.user is not None:
                return home_of_user.new_filter()
            scorer: Any = make_learner(learner) if learner else None  # one of another kind is refused there
            return SpamFilter(named, key=spam_home.key, learner=scorer, **settings)

        for path, _ in folders:
            skipped = subfolders_of(path)
            if skipped:
                report_skipped(path, [folder.name for folder in skipped])
        total = size_of(path for path, _ in folders)
        with spam_home.changing(make, report_waiting) as model, _bar(total, quiet=json) as show:
            _check_settings(model, settings, learner)
            _check_classes(model, named, as_option=classes is not None)
            if costs.is_given():
                model.set_costs(costs.costs(model.classes))
            learned = _learn(
                model, spam_home, _alternating(folders, mails_attached if attached else mails), show
            )
        if learned.refused:
            report_error(BadValue(refusals(learned.refused)))
        counts = learned.counts()
        if json:
            print_json(counts)
        else:
            typer.echo(
                f"{number_of(counts['new'], 'message')} learned, {counts['corrected']:,} corrected, "
                f"{counts['skipped']:,} skipped: learned before"
            )


class _Learned(NamedTuple):
    """The messages of one command, by what became of them."""

    messages: int
    new: int
    corrected: int
    refused: dict[str, str]

    def counts(self) -> dict[str, int]:
        """Return the number of messages by what became of them."""
        skipped = self.messages - self.new - self.corrected
        return self._asdict() | {"skipped": skipped, "refused": len(self.refused)}


def _learn(
    model: SpamFilter,
    spam_home: SpamHome,
    labelled: Iterable[tuple[str, Mail]],
    show: Callable[[int, int], None],
) -> _Learned:
    """Learn messages, and replay what was learned if that changes verdicts. Raise `BadValue` if all are refused."""
    before, messages, corrected, now = model.clock, 0, 0, time.time()
    refused: dict[str, str] = {}
    for label, mail in labelled:
        if mail.refusal:
            refused[mail.origin] = mail.refusal
            continue
        raw = without_own_fields(mail.raw)
        key = _id_to_learn(model, spam_home, mail.raw, raw)
        corrected += model.label_of(key) not in (None, label)
        model.learn_one(raw, label, id=key, at=now)
        messages += 1
        show(mail.done, messages)
    if messages and (model.replay_is_due or messages > MIN_REPLAYED * model.correctable):
        model.replay()
    if refused and not messages:
        raise BadValue(refusals(refused))
    return _Learned(messages, model.clock - before, corrected, refused)


def _labelled(text: str) -> tuple[str, str]:
    """Return the path and the class of an argument CLASS=PATH."""
    name, equals, path = text.partition("=")
    if not equals or not path:
        raise BadValue(
            f"label {text}: --ham {text} or --spam {text}, or CLASS={text} for a further class. Each takes one file, "
            "mbox, Maildir or directory; repeat it for more"
        )
    return path, _checked_name(name)


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name) or name in ("unsure", "error"):
        raise BadValue(
            f"the class {name!r}: expected small letters, digits and hyphens, at most 40, and not unsure or error"
        )
    return name


def _classes_of(option: str | None, named: list[str]) -> tuple[str, ...]:
    """Return the classes of a new filter."""
    if option is None:
        return tuple(dict.fromkeys(["ham", "spam", *named]))
    classes = tuple(_checked_name(name.strip()) for name in option.split(","))
    if classes[:2] != ("ham", "spam"):
        raise BadValue(f"--classes {option}: expected ham,spam first, and then the further classes")
    return classes


def _check_classes(model: SpamFilter, named: tuple[str, ...], *, as_option: bool) -> None:
    """Raise `BadValue` if the filter lacks a class, or was made with others than those of the option."""
    if any(name not in model.classes for name in named) or (as_option and named != model.classes):
        raise BadValue(
            f"the filter was made with the classes {', '.join(map(str, model.classes))}, which cannot be changed; got "
            f"{', '.join(named)}"
        )


def _id_to_learn(model: SpamFilter, spam_home: SpamHome, mail: bytes, plain: bytes) -> str:
    """Return the id under which a mail was learned before, or else the one in its header, or that of its content."""
    key = spam_home.id_key()
    signed = None if key is None else key.id_in(mail)
    names = [id_of_mail(plain)] if signed is None else list(dict.fromkeys([signed, id_of_mail(plain)]))
    learned = [name for name in names if model.label_of(name) is not None]
    for twice in learned[1:]:  # learned in two forms: it must not count as both
        model.forget(twice)
    return (learned or names)[0]


def _check_settings(model: SpamFilter, settings: dict[str, Any], learner: str | None) -> None:
    """Raise `BadValue` for a setting, unless a default, that differs from what the filter was made with."""
    defaults = {
        "train": "everything",
        "pairs": False,
        "authserv_id": None,
        "keep": None,
        "second_opinion": None,
    }
    for name, value in settings.items():
        present = model.has_second_opinion if name == "second_opinion" else getattr(model, name)
        if value not in (defaults[name], present):
            raise BadValue(f"the filter was made with {name}={present!r}, which cannot be changed")
    if learner is not None and type(model.learner) is not type(make_learner(learner)):
        raise BadValue("the filter was made with another learner, which cannot be changed")


def _alternating(
    folders: Sequence[tuple[str, str]], mails_of: Callable[[str, str], Iterator[Mail]]
) -> Iterator[tuple[str, Mail]]:
    """Yield the mails that are read from several files evenly mixed, so that no label comes all at once."""
    sizes = [max(size_of([path]) or 1, 1) for path, _ in folders]
    sources = {number: mails_of(path, label) for number, (path, label) in enumerate(folders)}
    done = dict.fromkeys(sources, 0)
    read = dict.fromkeys(sources, 0)
    while sources:
        number = min(sources, key=lambda each: (done[each] / sizes[each], each))
        mail = next(sources[number], None)
        if mail is None:
            del sources[number]
            continue
        done[number] = read[number] = max(mail.done, done[number] + 1)
        yield folders[number][1], mail._replace(done=sum(read.values()))


@contextmanager
def _bar(total: int | None, *, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Show a bar on stderr over bytes read; yield the function that advances it."""
    if quiet or not sys.stderr.isatty():
        yield lambda done, learned: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[learned]:,} messages"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("learning", total=total, learned=0)
        yield lambda done, learned: bar.update(task, completed=done, learned=learned)
