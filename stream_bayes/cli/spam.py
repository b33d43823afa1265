"""`stream-bayes spam ...`: train, query and correct the spam filter."""

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
from stream_bayes.errors import BadValue
from stream_bayes.learners.catalogue import make_learner
from stream_bayes.learners.decision_rules import Costs
from stream_bayes.mail.filter.explanation import SpamExplanation
from stream_bayes.mail.filter.filter import SpamFilter
from stream_bayes.mail.filter.profiles import costs_of, threshold_prices
from stream_bayes.streams.mail.filter_service import FilterService, judge
from stream_bayes.streams.mail.home import SpamHome
from stream_bayes.streams.mail.identity import id_of_mail
from stream_bayes.streams.mail.mailbox import Mail, mails, size_of, subfolders_of
from stream_bayes.streams.mail.users import Quota, UserHome, Users, checked_user, size_of_user
from stream_bayes_start import (
    forgotten_user,
    home_of,
    number_of,
    report_skipped,
    run_command,
    summary_of,
    without_own_fields,
)

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
User = Annotated[
    str | None,
    typer.Option(
        "--user",
        "-u",
        help="Use this user's own filter. It starts from what the site's filter has learned.",
        show_default=False,
    ),
]
Files = Annotated[list[str], typer.Argument(help="Messages, mboxes, Maildirs or directories; - reads stdin.")]
Profile = Annotated[
    str | None,
    typer.Option(
        help="Costs by name: strict (spam from 99.8 %), mailbox (98.3 %) or tag (90 %, never unsure).",
        show_default=False,
    ),
]
LostHam = Annotated[
    float | None,
    typer.Option(help="Cost of losing one ham, in spams let through. Default 30.", show_default=False),
]
Unsure = Annotated[
    float | None,
    typer.Option(
        help="Cost of a message that you must check, in spams let through. Default 0.5.", show_default=False
    ),
]
Label = Annotated[str, typer.Argument(help="ham or spam.", show_default=False)]


def home_at(home: Path | str | None, key_env: str | None) -> SpamHome:
    """Return the filter's directory from the option, the environment or the default."""
    if key_env is not None and key_env not in os.environ:
        raise BadValue(f"--key-env {key_env}: the environment variable is not set")
    key = None if key_env is None else os.environ[key_env].encode()
    return SpamHome(Path(home_of({} if home is None else {"home": str(home)})), key)


def local_classifier(
    home: str, key_env: str | None, user: str | None = None
) -> Callable[[bytes], tuple[str, ...]]:
    """Return a function that classifies mails in this process, without a server."""
    place = home_at(home, key_env)
    model, key = model_of(place, user), place.id_key()

    def classify_mail(raw: bytes) -> tuple[str, ...]:
        name = id_of_mail(raw)
        return judge(model, model.bag_of(raw), name if key is None else key.signed(name)).texts()

    return classify_mail


def model_of(place: SpamHome, user: str | None) -> SpamFilter:
    """Return the filter of a user, or of all for nobody; for a user who has taught nothing, one that equals it."""
    site = place.load()
    if user is None:
        return site
    home = user_home(place, user, site)
    return home.load() if home.exists() else home.new_filter()


def user_home(place: SpamHome, user: str, site: SpamFilter) -> UserHome:
    """Return the directory of a user."""
    return UserHome(place, checked_user(user), lambda: site, Quota())


def given_costs(profile: str | None, lost_ham: float | None, unsure: float | None) -> Costs | None:
    """Return the costs of some options; None if no option is given."""
    if profile is None and lost_ham is None and unsure is None:
        return None
    return costs_of(("ham", "spam"), profile, lost_ham, unsure)


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
    profile: Profile = None,
    lost_ham: LostHam = None,
    unsure: Unsure = None,
    user: User = None,
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
        if not given and lost_ham is None and profile is None and unsure is None:
            raise BadValue("nothing to learn: name mail with --ham or --spam")
        costs = given_costs(profile, lost_ham, unsure)
        place = home_at(home, key_env)
        settings: dict[str, Any] = {"train": learn, "pairs": pairs}
        if user is not None:
            if learn != "everything" or pairs or learner is not None:
                raise BadValue(
                    "--learn, --pairs and --learner are settings of the site's filter, which all users share"
                )
            home_of_user = user_home(place, user, place.load())
            place = home_of_user

        def make() -> SpamFilter:
            if user is not None:
                return home_of_user.new_filter()
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
                key = _id_to_learn(model, place, mail.raw, raw)
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
                f"{number_of(new, 'message')} learned, {corrected:,} corrected, "
                f"{counts['skipped']:,} skipped: learned before"
            )


def _id_to_learn(model: SpamFilter, place: SpamHome, mail: bytes, plain: bytes) -> str:
    """Return the id under which a mail was learned before, or else the one in its header, or that of its content."""
    key = place.id_key()
    signed = None if key is None else key.id_in(mail)
    names = [id_of_mail(plain)] if signed is None else list(dict.fromkeys([signed, id_of_mail(plain)]))
    known = [name for name in names if model.label_of(name) is not None]
    for twice in known[1:]:  # learned in two forms: it must not count as both
        model.forget(twice)
    return (known or names)[0]


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
    user: User = None,
    json: JSON = False,
) -> None:
    """Show the tokens that decided the verdict on a message, and the weight of each."""
    with exit_on_error():
        mail = next(mails(file), None)
        raw = without_own_fields(b"" if mail is None else mail.raw)
        print_explanation(model_of(home_at(home, key_env), user).explain_one(raw), json)


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
def learn(
    label: Label,
    files: Annotated[list[str] | None, typer.Argument(help="Messages or mailboxes; - reads stdin.")] = None,
    home: Home = None,
    key_env: Key = None,
    user: User = None,
) -> None:
    """Learn a few messages as they come, each durable at once. For folders use `train`.

    A message that was learned with the other label is corrected. A running server does the work.
    """
    with exit_on_error():
        _check_label(label)
        place = home_at(home, key_env)
        if not place.exists():
            with place.changing(lambda: SpamFilter(key=place.key), report_waiting):
                pass
        _learn_mails(FilterService(place), label, files or ["-"], user)


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
    user: User = None,
) -> None:
    """Set the true label of messages. What they added under another label is removed exactly.

    Name a message by its id, which `classify` prints and `filter` writes to X-Stream-Bayes-Id, or pass the whole
    message in a file or on stdin. An id also finds a message that the server only judged, and learns it.
    """
    with exit_on_error():
        _check_label(label)
        service = FilterService(home_at(home, key_env))
        if not mail and what and "-" not in what:
            typer.echo(summary_of([service.correct(_no_file(key), label, user) for key in what]))
            service.close()
        else:
            _learn_mails(service, label, what or ["-"], user)


def _learn_mails(service: FilterService, label: str, files: list[str], user: str | None) -> None:
    """Learn the messages of some files, and print how many were learned before."""
    outcomes = [service.learn(found.raw, label, user) for path in files for found in mails(path)]
    if not outcomes:
        raise BadValue(f"no message found in {'stdin' if files == ['-'] else ', '.join(files)}")
    service.close()
    typer.echo(summary_of(outcomes))


def _check_label(label: str) -> None:
    if label not in ("ham", "spam"):
        raise BadValue(f"expected ham or spam, got {label!r}")


def _no_file(given: str) -> str:
    """Return an id, unless it is the name of a file."""
    if Path(given).exists():
        raise BadValue(f"{given} is a file; add --mail to correct the messages in it")
    return given


@spam.command()
def forget(
    what: Annotated[list[str], typer.Argument(help="Ids, or with --mail messages.", show_default=False)],
    mail: Annotated[bool, typer.Option("--mail", help="Name message files instead of ids.")] = False,
    home: Home = None,
    key_env: Key = None,
    user: User = None,
) -> None:
    """Remove everything that messages added to the filter, as if they had never been learned."""
    with exit_on_error():
        service = FilterService(home_at(home, key_env))
        done = 0
        for given in what:
            for raw in [found.raw for found in mails(given)] if mail else [None]:
                service.forget(given, user) if raw is None else service.forget_mail(raw, user)
                done += 1
        service.close()
        typer.echo(f"{number_of(done, 'message')} forgotten")


@spam.command("forget-user")
def forget_user(
    names: Annotated[list[str], typer.Argument(help="Names of users.", show_default=False)],
    home: Home = None,
    key_env: Key = None,
) -> None:
    """Delete everything that users taught: their own filters, and what the site's filter learned from them."""
    with exit_on_error():
        service = FilterService(home_at(home, key_env))
        for name in names:
            typer.echo(forgotten_user(name, service.forget_user(name)))
        service.close()


@spam.command()
def users(home: Home = None, key_env: Key = None, json: JSON = False) -> None:
    """List the users who have a filter of their own, and the size of each."""
    with exit_on_error():
        place = home_at(home, key_env)
        site = place.load()
        rows = []
        for name in Users(place, lambda: site).names():
            own = user_home(place, name, site)
            model = own.load()
            learned = {str(label): round(number) for label, number in model.messages.items()}
            rows.append({"user": name, **learned, "tokens": model.tokens, "bytes": size_of_user(own)})
        if json:
            print_json({"users": rows})
        elif rows:
            print_table(f"users of {place.directory}", rows, right=tuple(rows[0])[1:])
        else:
            typer.echo(
                "no user has a filter of their own yet: teach one with `stream-bayes spam learn -u USER`"
            )


@spam.command()
def tune(
    profile: Profile = None,
    lost_ham: LostHam = None,
    unsure: Unsure = None,
    home: Home = None,
    key_env: Key = None,
    user: User = None,
    json: JSON = False,
) -> None:
    """Show what each threshold would have cost on the newest labelled messages; with an option, set it.

    Each message counts with the score that it had before it was learned. The price is in spams let through, by the
    costs that the filter has after this command.
    """
    with exit_on_error():
        place = home_at(home, key_env)
        costs = given_costs(profile, lost_ham, unsure)
        if costs is None:
            model = model_of(place, user)
        elif user is None:
            with place.changing(None, report_waiting) as model:
                model.set_costs(costs)
        else:
            own = user_home(place, user, place.load())
            with own.changing(own.new_filter, report_waiting) as model:
                model.set_costs(costs)
        scored = model.recent_probabilities()
        if not scored:
            raise BadValue("no thresholds to compare: learn messages of both labels first")
        ham = sum(not is_spam for _, is_spam in scored)
        band = model.rule.band("spam", "spam") if isinstance(model.rule, Costs) else None
        present = 1.0 if band is None else band[0]
        rows = [
            {
                "lost_ham": each.lost_ham,
                "spam_from": each.threshold,
                "ham_lost": each.ham_lost,
                "ham_unsure": each.ham_unsure,
                "spam_missed": each.spam_missed,
                "spam_unsure": each.spam_unsure,
                "price": each.price,
            }
            for each in threshold_prices(scored, model.labels, model.rule, unsure)
        ]
        if json:
            print_json({"ham": ham, "spam": len(scored) - ham, "spam_from": present, "thresholds": rows})
            return
        shown = [
            {
                **{name.replace("_", " "): value for name, value in row.items()},
                "spam from": f"{100 * row['spam_from']:.2f} %",
                "price": f"{row['price']:,.1f}",
            }
            for row in rows
        ]
        title = f"the newest {ham:,} ham and {len(scored) - ham:,} spam; now spam from {100 * present:.2f} %"
        print_table(title, shown, right=tuple(shown[0]))


@spam.command()
def stats(home: Home = None, key_env: Key = None, user: User = None, json: JSON = False) -> None:
    """Show what the filter has learned and how much memory it uses."""
    with exit_on_error():
        place = home_at(home, key_env)
        if user is not None:
            place = user_home(place, user, place.load())
        model = place.load()
        rows = {
            **{f"{label} messages": round(number, 3) for label, number in model.messages.items()},
            "messages learned": model.clock,
            "messages that can be corrected": model.correctable,
            "tokens": model.tokens,
            "bytes in memory": model.memory_bytes,
            "bytes on disk": place.state.stat().st_size + place.journal.size(),
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
