"""`stream-bayes spam ...`: train, query, correct and serve the spam filter."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.cli.output import JSON, print_json, print_table
from stream_bayes.errors import BadValue, NotLearned
from stream_bayes.learners.catalogue import make_learner
from stream_bayes.learners.decision_rules import Costs
from stream_bayes.mail.filter.explanation import SpamExplanation
from stream_bayes.mail.filter.filter import UNSURE, SpamFilter
from stream_bayes.streams.mail.home import SpamHome, id_of_mail
from stream_bayes.streams.mail.mailbox import Mail, mails, size_of, subfolders_of
from stream_bayes.streams.mail.server import SpamServer, classify_mail
from stream_bayes.streams.service.signals import stopping_on_signals
from stream_bayes_start import home_of, report_skipped, run_command, without_own_fields

__all__ = ["home_at", "local_classifier", "report_waiting", "spam"]

spam = typer.Typer(name="spam", help="Train, query, correct and serve the spam filter.", no_args_is_help=True)

Home = Annotated[
    Path | None,
    typer.Option(help="Directory of the filter. Default: $STREAM_BAYES_SPAM, or ~/.stream-bayes/spam."),
]
Key = Annotated[
    str | None,
    typer.Option("--key-env", help="Environment variable with the key that hashes the filter's tokens."),
]
Files = Annotated[list[str], typer.Argument(help="Messages, mboxes, Maildirs or directories; - reads stdin.")]
Label = Annotated[str, typer.Argument(help="ham or spam.", show_default=False)]


def home_at(home: Path | str | None, key_env: str | None) -> SpamHome:
    """Return the filter's directory from the option, the environment or the default."""
    if key_env is not None and key_env not in os.environ:
        raise BadValue(f"--key-env {key_env}: the environment variable is not set")
    key = None if key_env is None else os.environ[key_env].encode()
    return SpamHome(Path(home_of({} if home is None else {"home": str(home)})), key)


def local_classifier(home: str, key_env: str | None) -> Callable[[bytes], tuple[str, str, str, str]]:
    """Return a function that classifies mails in this process, without a server."""
    model = home_at(home, key_env).load()
    return lambda raw: classify_mail(model, raw)


def report_waiting() -> None:
    """Print that another process holds the lock."""
    Console(stderr=True).print("another process is changing this filter; waiting for it to finish")


@spam.command()
def train(
    files: Annotated[list[str] | None, typer.Argument(hidden=True)] = None,
    spam: Annotated[
        list[str],
        typer.Option("--spam", help="Spam to learn: a message, mbox, Maildir, directory or -. Repeatable."),
    ] = [],
    ham: Annotated[list[str], typer.Option("--ham", help="Ham (wanted mail) to learn. Repeatable.")] = [],
    home: Home = None,
    key_env: Key = None,
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
    lost_ham: Annotated[
        float | None,
        typer.Option(
            "--lost-ham",
            help="Cost of losing one ham, in spams let through. Default 30; changes verdicts from now on.",
            show_default=False,
        ),
    ] = None,
    json: JSON = False,
) -> None:
    """Learn labelled mail. Messages learned before are corrected if their label differs, and skipped if not."""
    with exit_on_error():
        given = [(path, "ham") for path in ham] + [(path, "spam") for path in spam]
        if files:
            raise BadValue(
                f"label {files[0]}: --ham {files[0]} or --spam {files[0]}. Each option takes one file, mbox, "
                "Maildir or directory; repeat it for more"
            )
        if not given and lost_ham is None:
            raise BadValue("nothing to learn: name mail with --ham or --spam")
        costs = None if lost_ham is None else Costs.false_positive(lost_ham, "spam", "ham", unsure=UNSURE)
        place = home_at(home, key_env)
        settings: dict[str, Any] = {"train": learn, "pairs": pairs}

        def make() -> SpamFilter:
            scorer: Any = make_learner(learner) if learner else None  # one of another kind is refused there
            return SpamFilter(key=place.key, learner=scorer, **settings)

        for path, _ in given:
            skipped = subfolders_of(path)
            if skipped:
                report_skipped(path, [folder.name for folder in skipped])
        total = size_of(path for path, _ in given)
        with place.changing(make, report_waiting) as model, _bar(total, quiet=json) as show:
            _check_settings(model, settings, learner)
            if costs is not None:
                model.set_costs(costs)
            before, learned, corrected = model.clock, 0, 0
            for label, mail in _alternating(given):
                raw = without_own_fields(mail.raw)
                key = id_of_mail(raw)
                corrected += model.label_of(key) not in (None, label)
                model.learn_one(raw, label, id=key, bulk=True)
                learned += 1
                show(mail.done, learned)
            if model.replay_is_due:
                model.replay()
            new = model.clock - before
        counts = {
            "messages": learned,
            "new": new,
            "corrected": corrected,
            "skipped": learned - new - corrected,
        }
        if json:
            print_json(counts)
        else:
            typer.echo(
                f"{new:,} messages learned, {corrected:,} corrected, {counts['skipped']:,} skipped: learned before"
            )


def _check_settings(model: SpamFilter, settings: dict[str, Any], learner: str | None) -> None:
    """Raise `BadValue` for a setting, unless a default, that differs from what the filter was made with."""
    defaults = {"train": "everything", "pairs": False}
    for name, value in settings.items():
        if value not in (defaults[name], getattr(model, name)):
            raise BadValue(
                f"the filter was made with {name}={getattr(model, name)!r}, which cannot be changed"
            )
    if learner is not None and type(model.learner) is not type(make_learner(learner)):
        raise BadValue("the filter was made with another learner, which cannot be changed")


def _alternating(given: Sequence[tuple[str, str]]) -> Iterator[tuple[str, Mail]]:
    """Yield the mails of several files evenly mixed, so that no label comes all at once."""
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
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("learning", total=total, learned=0)
        yield lambda done, learned: bar.update(task, completed=done, learned=learned)


@spam.command(
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
)
def classify(context: typer.Context) -> None:
    """Print the verdict on each message. Exit codes: 0 spam, 1 ham, 2 unsure, 3 error."""
    raise typer.Exit(run_command("classify", context.args))


@spam.command(
    "filter",
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []},
)
def filter_(context: typer.Context) -> None:
    """Copy a mail from stdin to stdout with the verdict in a header; unchanged on any error. Exit codes as classify."""
    raise typer.Exit(run_command("filter", context.args))


@spam.command()
def explain(
    file: Annotated[str, typer.Argument(help="A message; - reads stdin.")] = "-",
    home: Home = None,
    key_env: Key = None,
    json: JSON = False,
) -> None:
    """Show the tokens that decided the verdict on a message, and the weight of each."""
    with exit_on_error():
        mail = next(mails(file), None)
        raw = without_own_fields(b"" if mail is None else mail.raw)
        print_explanation(home_at(home, key_env).load().explain_one(raw), json)


def print_explanation(explanation: SpamExplanation, json: bool) -> None:
    """Print the verdict on a message and the tokens that decided it."""
    if not json:
        sys.stdout.write(f"{explanation}\n")
        return
    wanted, unwanted = explanation.labels
    rows = [
        {
            "token": row.token,
            "adds": row.adds,
            str(wanted): _known(row.wanted),
            str(unwanted): _known(row.unwanted),
        }
        for row in explanation.tokens
    ]
    verdict = {
        "verdict": explanation.verdict,
        "score": explanation.score,
        "probability": explanation.probability,
    }
    print_json({**verdict, "tokens": rows})


def _known(messages: float) -> float | None:
    """Return a number of messages; None with a learner, which has no such counts."""
    return None if math.isnan(messages) else messages


@spam.command()
def correct(
    label: Label,
    what: Annotated[
        list[str] | None, typer.Argument(help="Ids, or with --mail messages; - reads stdin.")
    ] = None,
    mail: Annotated[
        bool,
        typer.Option(
            "--mail", help="Name message files instead of ids; messages not learned yet are learned."
        ),
    ] = False,
    home: Home = None,
    key_env: Key = None,
) -> None:
    """Set the true label of messages. What they added under another label is removed exactly.

    Name a message by its id, which `classify` prints and `filter` writes to X-Stream-Bayes-Id, or pass the whole
    message in a file or on stdin.
    """
    with exit_on_error():
        if label not in ("ham", "spam"):
            raise BadValue(f"expected ham or spam, got {label!r}")
        if not mail and what and "-" not in what:
            with home_at(home, key_env).changing(None, report_waiting) as model:
                for key in what:
                    model.correct(_whole_id(model, key), label)
            typer.echo(f"{len(what):,} messages set to {label}")
            return
        raws = [without_own_fields(found.raw) for path in what or ["-"] for found in mails(path)]
        if not raws:
            raise BadValue(f"no message found in {', '.join(what or ['stdin'])}")
        with home_at(home, key_env).changing(None, report_waiting) as model:
            known = [model.label_of(id_of_mail(raw)) for raw in raws]
            for raw in raws:
                model.learn_one(raw, label, id=id_of_mail(raw))
        changed = sum(was not in (None, label) for was in known)
        typer.echo(f"{changed:,} corrected, {known.count(None):,} learned, {known.count(label):,} unchanged")


def _whole_id(model: SpamFilter, given: str) -> str:
    """Return the only id with this prefix of at least 8 characters."""
    found = [key for key in model.ids() if key.startswith(given)] if len(given) >= 8 else [given]
    if len(found) > 1 and given not in found:
        raise BadValue(f"{len(found)} ids begin with {given!r}")
    if not found and Path(given).exists():
        raise BadValue(f"{given} is a file; add --mail to correct the messages in it")
    if not found:
        raise NotLearned(
            f"no message with the id {given!r} can be corrected: "
            "it was never learned, or long ago; pass the message itself, with --mail"
        )
    return given if given in found else found[0]


@spam.command()
def forget(
    ids: Annotated[list[str], typer.Argument(help="Ids of messages.", show_default=False)],
    home: Home = None,
    key_env: Key = None,
) -> None:
    """Remove everything that messages added to the filter, as if they had never been learned."""
    with exit_on_error():
        with home_at(home, key_env).changing(None, report_waiting) as model:
            for key in ids:
                model.forget(_whole_id(model, key))
        typer.echo(f"{len(ids):,} messages forgotten")


@spam.command()
def stats(home: Home = None, key_env: Key = None, json: JSON = False) -> None:
    """Show what the filter has learned and how much memory it uses."""
    with exit_on_error():
        place = home_at(home, key_env)
        model = place.load()
        rows = {
            **{f"{label} messages": round(number, 3) for label, number in model.messages.items()},
            "messages learned": model.clock,
            "messages that can be corrected": model.correctable,
            "tokens": model.tokens,
            "bytes in memory": model.memory_bytes,
            "bytes on disk": place.state.stat().st_size,
            "learns": model.train,
        }
        if isinstance(model.rule, Costs):
            least, _ = model.rule.band("spam", "spam") or (1.0, 1.0)
            rows["spam threshold"] = round(least, 4)
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
    """Serve `classify` and `filter` over a socket in the filter's directory, until SIGTERM or Ctrl-C."""
    with exit_on_error():
        server = SpamServer(home_at(home, key_env))
        sys.stdout.write(f"listening on {server.home.socket}\n")
        sys.stdout.flush()
        with stopping_on_signals(server.stop):
            server.run()
        typer.echo(f"{server.answered:,} messages classified")
