"""Options that the commands of `stream-bayes spam` share, and the filters that they select."""

from __future__ import annotations

import os
import re
from collections.abc import Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from stream_bayes.cli.output import console
from stream_bayes.errors import BadValue
from stream_bayes.learners.wrappers.decision_rules import Costs
from stream_bayes.mail.filter.filter import SpamFilter
from stream_bayes.mail.filter.messages import Classes
from stream_bayes.mail.filter.profiles import costs_of
from stream_bayes.mail.start import home_of
from stream_bayes.mail.store.home import SpamHome
from stream_bayes.mail.store.users import Quota, UserHome, checked_user
from stream_bayes.secret_masking import remember_secret

__all__ = ["ATTACHED", "CostOptions", "HomeOptions", "UserHomeOptions", "report_waiting", "user_home"]

_COST = re.compile(r"([\w.-]+):([\w.-]+)=(\d+(?:\.\d+)?)")

ATTACHED = Annotated[
    bool,
    typer.Option(
        "--attached",
        help="Learn the mails attached to these (forwarded ones, feedback reports) in place of these themselves.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class HomeOptions:
    """The options that name a filter."""

    home: Annotated[
        Path | None,
        typer.Option(help="Directory of the filter. Default: $STREAM_BAYES_SPAM, or ~/.stream-bayes/spam."),
    ] = None
    key_env: Annotated[
        str | None,
        typer.Option("--key-env", help="Environment variable with the key that hashes the filter's tokens."),
    ] = None

    def open(self) -> SpamHome:
        """Return the filter's directory from the option, the environment or the default."""
        if self.key_env is not None and self.key_env not in os.environ:
            raise BadValue(f"--key-env {self.key_env}: the environment variable is not set")
        key = None if self.key_env is None else remember_secret(os.environ[self.key_env]).encode()
        return SpamHome(Path(home_of({} if self.home is None else {"home": str(self.home)})), key)


@dataclass(frozen=True, kw_only=True)
class UserHomeOptions(HomeOptions):
    """The options that name a filter, or that of one of its users."""

    user: Annotated[
        str | None,
        typer.Option(
            "--user",
            "-u",
            help="Use this user's own filter. It starts from what the site's filter has learned.",
            show_default=False,
        ),
    ] = None

    def load(self) -> SpamFilter:
        """Return the filter of the user, or the site's; for a user who has taught nothing, one that equals that."""
        spam_home = self.open()
        site = spam_home.load()
        if self.user is None:
            return site
        of_user = user_home(spam_home, self.user, site)
        return of_user.load() if of_user.exists() else of_user.new_filter()


@dataclass(frozen=True, kw_only=True)
class CostOptions:
    """The options that set the costs of mistakes."""

    profile: Annotated[
        str | None,
        typer.Option(
            help="Costs by name: strict (spam from 99.8 %), mailbox (98.3 %) or tag (90 %, never unsure).",
            show_default=False,
        ),
    ] = None
    lost_ham: Annotated[
        float | None,
        typer.Option(help="Cost of losing one ham, in spams let through. Default 30.", show_default=False),
    ] = None
    unsure: Annotated[
        float | None,
        typer.Option(
            help="Cost of a message that you must check, in spams let through. Default 0.5.",
            show_default=False,
        ),
    ] = None

    cost: Annotated[
        list[str],
        typer.Option(
            help="Cost of a decision for a mail of a class, as in spam:newsletter=10, in spams let through. "
            "Repeatable.",
            show_default=False,
        ),
    ] = field(default_factory=list)

    def is_given(self) -> bool:
        """Return True if an option is given."""
        return bool(self.cost) or not (self.profile is None and self.lost_ham is None and self.unsure is None)

    def costs(self, classes: Classes) -> Costs | None:
        """Return the costs for a filter of these classes; None if no option is given."""
        if not self.is_given():
            return None
        mistakes: dict[tuple[Hashable, Hashable], float] = {}
        for text in self.cost:
            match = _COST.fullmatch(text)
            if match is None:
                raise BadValue(f"--cost {text}: expected DECISION:CLASS=COST, as in spam:newsletter=10")
            mistakes[match[1], match[2]] = float(match[3])
        return costs_of(classes, self.profile, self.lost_ham, self.unsure, mistakes)


def user_home(spam_home: SpamHome, user: str, site: SpamFilter) -> UserHome:
    """Return the directory of a user."""
    return UserHome(spam_home, checked_user(user), lambda: site, Quota())


def report_waiting() -> None:
    """Print that another process holds the lock."""
    console(stderr=True).print("another process is changing this filter; waiting for it to finish")
