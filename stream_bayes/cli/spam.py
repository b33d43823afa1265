"""`stream-bayes spam ...`: teach the spam filter, ask it, correct it, run it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from stream_bayes.cli.exits import telling_errors
from stream_bayes.cli.printing import JSON, print_json, print_table
from stream_bayes.errors import BadValue, NotLearned
from stream_bayes.learners.catalogue import make_learner
from stream_bayes.learners.costs import Costs
from stream_bayes.mail.filter.filter import UNSURE, SpamFilter
from stream_bayes.streams.mail.home import SpamHome, id_of_mail
from stream_bayes.streams.mail.mailbox import Mail, mails, size_of
from stream_bayes.streams.mail.server import SpamServer, judged
from stream_bayes.streams.service.signals import stopping_on_signals
from stream_bayes_start import home_of, judge, without_own_fields

__all__ = ["home_at", "judge_here", "say_waiting", "spam"]

spam = typer.Typer(
    name="spam", help="The spam filter: teach it, ask it, correct it, run it.", no_args_is_help=True
)

Home = Annotated[
    Path | None,
    typer.Option(help="The filter's directory; $STREAM_BAYES_SPAM, or ~/.stream-bayes/spam, if not given."),
]
Key = Annotated[
    str | None,
    typer.Option("--key-env", help="The environment variable with the key of the filter's tokens."),
]
Files = Annotated[
    list[str], typer.Argument(help="Messages, mboxes, Maildirs, directories; - is the standard input.")
]
Label = Annotated[str, typer.Argument(help="ham or spam.", show_default=False)]


def home_at(home: Path | str | None, key_env: str | None) -> SpamHome:
    """The directory that was named, in one way or another."""
    if key_env is not None and key_env not in os.environ:
        raise BadValue(f"the environment has no variable {key_env}")
    key = None if key_env is None else os.environ[key_env].encode()
    return SpamHome(Path(home_of({} if home is None else {"home": str(home)})), key)


def judge_here(home: str, key_env: str | None) -> Callable[[bytes], tuple[str, str, str, str]]:
    """What judges mails without a server."""
    model = home_at(home, key_env).load()
    return lambda raw: judged(model, raw)


def say_waiting() -> None:
    """Say that another process holds the lock."""
    Console(stderr=True).print("somebody else is teaching this filter; waiting for them to end")


@spam.command()
def train(
    files: Annotated[list[str] | None, typer.Argument(hidden=True)] = None,
    spam: Annotated[
        list[str], typer.Option("--spam", help="Mail that is spam: a message, mbox, Maildir or -.")
    ] = [],
    ham: Annotated[list[str], typer.Option("--ham", help="Mail that is wanted.")] = [],
    home: Home = None,
    key_env: Key = None,
    learn: Annotated[
        str, typer.Option(help="What a new filter learns of: everything, errors or near-errors.")
    ] = "everything",
    pairs: Annotated[
        bool, typer.Option("--pairs", help="A new filter takes pairs of words as tokens too.")
    ] = False,
    learner: Annotated[
        str | None,
        typer.Option(help="What scores messages in a new filter's place; see `stream-bayes models`."),
    ] = None,
    lost_ham: Annotated[
        float | None,
        typer.Option(
            "--lost-ham",
            help="How many spams in the inbox a lost ham is as bad as, from now on; at first 30.",
            show_default=False,
        ),
    ] = None,
    json: JSON = False,
) -> None:
    """Learn mail that somebody has judged. What was learned before is corrected, or left as it is."""
    with telling_errors():
        given = [(path, "ham") for path in ham] + [(path, "spam") for path in spam]
        if files:
            raise BadValue(
                f"say what {files[0]} is: --ham {files[0]} or --spam {files[0]}. One option takes one file, mbox, "
                "Maildir or directory, and may be given again"
            )
        if not given and lost_ham is None:
            raise BadValue("--ham or --spam: name some mail")
        costs = None if lost_ham is None else Costs.false_positive(lost_ham, "spam", "ham", unsure=UNSURE)
        place = home_at(home, key_env)
        settings: dict[str, Any] = {"train": learn, "pairs": pairs}

        def make() -> SpamFilter:
            return SpamFilter(key=place.key, learner=make_learner(learner) if learner else None, **settings)

        total = size_of(path for path, _ in given)
        with place.changing(make, say_waiting) as model, _bar(total, quiet=json) as show:
            _check_settings(model, settings, learner)
            if costs is not None:
                model.judge_by(costs)
            before, told, corrected = model.clock, 0, 0
            for label, mail in _alternating(given):
                raw = without_own_fields(mail.raw)
                key = id_of_mail(raw)
                corrected += model.label_of(key) not in (None, label)
                model.learn_one(raw, label, id=key)
                told += 1
                show(mail.done, told)
            new = model.clock - before
        counts = {
            "messages": told,
            "new": new,
            "corrected": corrected,
            "known_before": told - new - corrected,
        }
        if json:
            print_json(counts)
        else:
            typer.echo(
                f"{new:,} messages learned, {corrected:,} corrected, {counts['known_before']:,} were known before"
            )


def _check_settings(model: SpamFilter, settings: dict[str, Any], learner: str | None) -> None:
    """Refuse settings other than those that the filter was made with, unless they are the usual ones."""
    usual = {"train": "everything", "pairs": False}
    for name, value in settings.items():
        if value not in (usual[name], getattr(model, name)):
            raise BadValue(f"the filter was made with {name}={getattr(model, name)!r}, and keeps it")
    if learner is not None and type(model.learner) is not type(make_learner(learner)):
        raise BadValue("the filter was made with another learner, and keeps it")


def _alternating(given: Sequence[tuple[str, str]]) -> Iterator[tuple[str, Mail]]:
    """The mails of several places, each time from the one that is the least far, so that no label comes all at once."""
    sizes = [max(size_of([path]) or 1, 1) for path, _ in given]
    sources = {number: mails(path) for number, (path, _) in enumerate(given)}
    done = dict.fromkeys(sources, 0)
    read = dict.fromkeys(sources, 0)
    while sources:
        number = min(sources, key=lambda each: (done[each] / sizes[each], each))
        mail = next(sources[number], None)
        if mail is None:
            del sources[number]
            continue
        done[number] = read[number] = max(mail.done, done[number] + 1)
        yield given[number][1], mail._replace(done=sum(read.values()))


@contextmanager
def _bar(total: int | None, *, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """A bar on the standard error over bytes read, with messages learned."""
    if quiet or not sys.stderr.isatty():
        yield lambda done, told: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[told]:,} messages"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("learning", total=total, told=0)
        yield lambda done, told: bar.update(task, completed=done, told=told)


@spam.command(
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
)
def classify(context: typer.Context) -> None:
    """Say of each message whether it is spam. Exit codes: 0 spam, 1 ham, 2 unsure, 3 trouble."""
    raise typer.Exit(judge("classify", context.args))


@spam.command(
    "filter",
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []},
)
def filter_(context: typer.Context) -> None:
    """Pass a mail on with its verdict in a header, or, on any trouble, as it came. Exit codes as of classify."""
    raise typer.Exit(judge("filter", context.args))


@spam.command()
def explain(
    file: Annotated[str, typer.Argument(help="A message; - is the standard input.")] = "-",
    home: Home = None,
    key_env: Key = None,
    json: JSON = False,
) -> None:
    """Say which tokens of a message decided, and how much each of them said."""
    with telling_errors():
        mail = next(mails(file), None)
        raw = without_own_fields(b"" if mail is None else mail.raw)
        told = home_at(home, key_env).load().explain_one(raw)
        if not json:
            sys.stdout.write(f"{told}\n")
            return
        rows = [{"token": row.token, "adds": row.adds} for row in told.tokens]
        verdict = {"verdict": told.verdict, "score": told.score, "probability": told.probability}
        print_json({**verdict, "tokens": rows})


@spam.command()
def correct(
    label: Label,
    what: Annotated[
        list[str] | None, typer.Argument(help="Ids, or with --mail messages; - is the standard input.")
    ] = None,
    mail: Annotated[
        bool, typer.Option("--mail", help="Name files with messages, and learn those that are not known.")
    ] = False,
    home: Home = None,
    key_env: Key = None,
) -> None:
    """Say what messages really are: what they taught as something else is taken back exactly.

    A message is named by its id, which `classify` prints and `filter` writes into X-Stream-Bayes-Id, or comes whole, on
    the standard input or in a file.
    """
    with telling_errors():
        if label not in ("ham", "spam"):
            raise BadValue(f"expected ham or spam, got {label!r}")
        if not mail and what and "-" not in what:
            with home_at(home, key_env).changing(None, say_waiting) as model:
                for key in what:
                    model.correct(_whole_id(model, key), label)
            typer.echo(f"{len(what):,} messages are {label}")
            return
        raws = [without_own_fields(found.raw) for path in what or ["-"] for found in mails(path)]
        if not raws:
            raise BadValue(f"no message is in {', '.join(what or ['the standard input'])}")
        with home_at(home, key_env).changing(None, say_waiting) as model:
            known = [model.label_of(id_of_mail(raw)) for raw in raws]
            for raw in raws:
                model.learn_one(raw, label, id=id_of_mail(raw))
        changed = sum(was not in (None, label) for was in known)
        typer.echo(
            f"{changed:,} corrected, {known.count(None):,} learned, {known.count(label):,} as they were"
        )


def _whole_id(model: SpamFilter, given: str) -> str:
    """The id that begins so, where there is one only."""
    found = [key for key in model.ids() if key.startswith(given)] if len(given) >= 8 else [given]
    if len(found) > 1 and given not in found:
        raise BadValue(f"{len(found)} ids begin with {given!r}")
    if not found and Path(given).exists():
        raise BadValue(f"{given} is a file: correct the messages in it with --mail")
    if not found:
        raise NotLearned(
            f"no message with an id like {given!r} is in the journal: "
            "name a file of it in place of its id, with --mail"
        )
    return given if given in found else found[0]


@spam.command()
def forget(
    ids: Annotated[list[str], typer.Argument(help="Ids of messages.", show_default=False)],
    home: Home = None,
    key_env: Key = None,
) -> None:
    """Take back all that messages taught, and their tokens with it, as if they had never come."""
    with telling_errors():
        with home_at(home, key_env).changing(None, say_waiting) as model:
            for key in ids:
                model.forget(_whole_id(model, key))
        typer.echo(f"{len(ids):,} messages forgotten")


@spam.command()
def stats(home: Home = None, key_env: Key = None, json: JSON = False) -> None:
    """Say what the filter has learned, and how much room it takes."""
    with telling_errors():
        place = home_at(home, key_env)
        model = place.load()
        rows = {
            **{f"{label} messages": round(number, 3) for label, number in model.messages.items()},
            "messages taught": model.clock,
            "messages that can be corrected": model.known,
            "tokens": model.tokens,
            "bytes in memory": model.memory_bytes,
            "bytes on disk": place.state.stat().st_size,
            "learns": model.train,
        }
        if isinstance(model.rule, Costs):
            least, _ = model.rule.band("spam", "spam") or (1.0, 1.0)
            rows["least probability of what is spam"] = round(least, 4)
        if json:
            print_json({name.replace(" ", "_"): value for name, value in rows.items()})
        else:
            print_table(
                f"spam filter in {place.directory}",
                [{"": name, "value": value} for name, value in rows.items()],
                right=("value",),
            )


@spam.command()
def serve(home: Home = None, key_env: Key = None) -> None:
    """Answer `classify` and `filter` over a socket in the filter's directory, until SIGTERM or Ctrl-C comes."""
    with telling_errors():
        server = SpamServer(home_at(home, key_env))
        sys.stdout.write(f"answering at {server.home.socket}\n")
        sys.stdout.flush()
        with stopping_on_signals(server.stop):
            server.run()
        typer.echo(f"{server.answered:,} messages answered")
