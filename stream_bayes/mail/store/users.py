"""The users of a filter: a small filter each, in a directory below the site's, opened when it is needed.

users/ann@example.org/    filter.zip, changes and lock, as in the site's directory; created with the user's first label

When open filters exceed a bound of memory, those used longest ago are closed, and opened again from the disk on use.
Changes of the site write nothing here.
"""

from __future__ import annotations

import logging
import os
import re
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from stream_bayes.errors import BadValue, NoSnapshot, StreamBayesError
from stream_bayes.mail.filter.filter import SpamFilter
from stream_bayes.mail.filter.user_filter import MAX_RECEIPTS, MAX_TOKENS, UserFilter
from stream_bayes.mail.store.change_journal import Change
from stream_bayes.mail.store.home import OpenFilter, SpamHome
from stream_bayes.mail.store.identity import IdKey

__all__ = ["Quota", "UserHome", "Users", "checked_user", "size_of_user", "user_of_address"]

logger = logging.getLogger(__name__)

USERS: Final = "users"
MAX_NAME_BYTES: Final = 200  # of a directory's name; file systems allow 255
MARKS: Final = "._@+-="
MIN_FOLD_BYTES: Final = 1 << 17
TOKEN_BYTES: Final = 90  # of a token's text in memory, about
OPEN_BYTES: Final = 20_000  # of an open filter, without its tokens
ADDRESS = re.compile(r"<?([^<>]*?)>?")


@dataclass(frozen=True, slots=True)
class Quota:
    """The bounds of users' filters."""

    tokens: int = MAX_TOKENS  # the most of a user; those longest unseen are evicted
    mails: int = MAX_RECEIPTS  # of a user that can be corrected or forgotten: the newest
    users: int = 10_000  # The most with a filter of their own. More are refused.
    open_bytes: int = 64 << 20  # the memory of open filters, about; at least one is open

    def __post_init__(self) -> None:
        for name in ("tokens", "mails", "users", "open_bytes"):
            if getattr(self, name) < 1:
                raise BadValue(f"a quota of users' {name}: expected at least 1, got {getattr(self, name)}")


def checked_user(name: str) -> str:
    """Return a user's name in its normal form.

    Raises
    ------
    BadValue
        If it could not be the name of a directory.

    Examples
    --------
    >>> checked_user("ann@example.org"), checked_user("zoë")
    ('ann@example.org', 'zoë')
    >>> checked_user("../root")
    Traceback (most recent call last):
    ...
    stream_bayes.errors.BadValue: expected a user's name of letters, digits and ._@+-=, not beginning with a dot, ...
    """
    normal = unicodedata.normalize("NFC", name)
    is_plain = bool(normal) and all(letter.isalnum() or letter in MARKS for letter in normal)
    if not is_plain or normal.startswith(".") or len(os.fsencode(normal)) > MAX_NAME_BYTES:
        raise BadValue(
            f"expected a user's name of letters, digits and {MARKS}, not beginning with a dot, of at most "
            f"{MAX_NAME_BYTES} bytes; got {name[:80]!r}"
        )
    return normal


def user_of_address(address: str, *, with_domain: bool) -> str | None:
    """Return the user with an address: in lower case, without the part after a plus sign. None if it is no valid name.

    Examples
    --------
    >>> user_of_address("<Bob+lists@Example.org>", with_domain=True), user_of_address("<bob@x.org>", with_domain=False)
    ('bob@example.org', 'bob')
    """
    match = ADDRESS.fullmatch(address.strip())
    local, at, domain = ("" if match is None else match[1].lower()).rpartition("@")
    local, domain = (local, domain) if at else (domain, "")
    name = local.partition("+")[0] + (f"@{domain}" if with_domain and domain else "")
    try:
        return checked_user(name)
    except BadValue:
        return None


class UserHome(SpamHome):
    """The directory of a user's filter. `name` is the user's, as `checked_user` returns it. `present_site` returns the
    site's filter. `quota` bounds the user's.
    """

    def __init__(
        self, site: SpamHome, name: str, present_site: Callable[[], SpamFilter], quota: Quota
    ) -> None:
        super().__init__(site.directory / USERS / name, site.key, site.files)
        self.name = name
        self._site = site
        self._present_site = present_site
        self._quota = quota

    @property
    def min_fold_bytes(self) -> int:
        """The least size of a journal that is folded into the snapshot."""
        return MIN_FOLD_BYTES

    def missing(self) -> NoSnapshot:
        """Return the error for a user without a filter."""
        return NoSnapshot(f"the user {self.name} has no filter of their own yet: the site's is used")

    def new_filter(self) -> UserFilter:
        """Return an empty filter for a new user."""
        return UserFilter(self._present_site(), max_tokens=self._quota.tokens, max_receipts=self._quota.mails)

    def restored(self, state: Mapping[str, Any]) -> SpamFilter:
        """Return the filter of a state."""
        return UserFilter.restored(state, self._present_site())

    def adjust(self, model: SpamFilter) -> bool:
        """Apply the present quota to a filter whose changes are all read. Return True if the quota has changed."""
        return isinstance(model, UserFilter) and model.set_quota(self._quota.tokens, self._quota.mails)

    def id_key(self) -> IdKey | None:
        """Return the key of the site."""
        return self._site.id_key()

    def _make_id_key(self) -> None:
        pass  # the site's


class Users:
    """The filters of a site's users. Not thread-safe. `present_site` returns the site's filter. A quota of None is the
    defaults for new users, and the saved one for others.
    """

    def __init__(
        self, home: SpamHome, present_site: Callable[[], SpamFilter], quota: Quota | None = None
    ) -> None:
        self.quota = Quota() if quota is None else quota
        self._adjusts = quota is not None
        self._site_home = home
        self._present_site = present_site
        self._directory = home.directory / USERS
        self._open: OrderedDict[str, OpenFilter] = OrderedDict()  # used longest ago first
        self._bytes: dict[str, int] = {}  # of open filters
        self._count: int | None = None  # of users, once it was needed

    def __len__(self) -> int:
        """Return the number of open filters."""
        return len(self._open)

    @property
    def open_bytes(self) -> int:
        """The memory of open filters, about."""
        return sum(self._bytes.values())

    def names(self) -> list[str]:
        """Return the names of all users with a filter, sorted."""
        try:
            names = sorted(path.name for path in self._directory.iterdir() if not path.name.startswith("."))
        except FileNotFoundError:
            return []
        return [name for name in names if self._home(name).exists()]

    def _home(self, name: str) -> UserHome:
        return UserHome(self._site_home, name, self._present_site, self.quota)

    def home(self, name: str) -> UserHome:
        """Return the directory of a user, which may not exist."""
        return self._home(checked_user(name))

    def find(self, name: str) -> OpenFilter | None:
        """Return the up-to-date filter of a user; None for a user without one."""
        name = checked_user(name)
        opened = self._open.get(name)
        try:
            if opened is not None:
                opened.catch_up()
            else:
                home = self._home(name)
                if not home.exists():
                    return None
                self._open[name] = opened = OpenFilter(home)
                if self._adjusts and home.adjust(opened.model):
                    opened.fold()  # later changes need the new bounds
        except NoSnapshot:  # forgotten by another process
            self._drop(name)
            return None
        model = opened.model
        assert isinstance(model, UserFilter)
        model.site = self._present_site()
        self._open.move_to_end(name)
        self._bytes[name] = OPEN_BYTES + model.memory_bytes + TOKEN_BYTES * model.tokens
        while self.open_bytes > self.quota.open_bytes and len(self._open) > 1:
            self._close(next(iter(self._open)))
        return opened

    def change(self, name: str, changes: Sequence[Change]) -> None:
        """Make changes of a user's filter, durable when this returns: all of them, or none.

        Raises
        ------
        BadValue
            If the name is not valid, or the quota of users is reached.
        StreamBayesError
            As `OpenFilter.change`.
        """
        name = checked_user(name)
        for _ in range(2):
            opened = self.find(name) or self._made(name)
            try:
                opened.change(changes)
                return
            except (NoSnapshot, FileNotFoundError):  # forgotten by another process since
                self._drop(name)
        raise self._home(name).missing()

    def _made(self, name: str) -> OpenFilter:
        """Make the filter of a new user."""
        if self._count is None or self._count >= self.quota.users:
            self._count = len(self.names())
        if self._count >= self.quota.users:
            raise BadValue(
                f"there are {self._count:,} users already, as many as allowed: forget some with "
                "`stream-bayes spam forget-user`, or allow more with --most-users"
            )
        home = self._home(name)
        with home.changing(home.new_filter):
            pass
        self._count += 1
        opened = self.find(name)
        if opened is None:
            raise home.missing()
        return opened

    def forget(self, name: str) -> bool:
        """Delete everything that a user taught. Return False if there is nothing."""
        home = self.home(name)
        if not home.exists():
            return False
        files = home.files
        with home.locked():
            files.unlink(home.state)  # in one step: a crash leaves all, or nothing that is read
            files.sync_directory(home.directory)
            _empty(home)
        with suppress(OSError):  # not empty: the user has a new filter already
            home.directory.rmdir()
        self._drop(home.name)
        self._count = None
        return True

    def _close(self, name: str) -> None:
        """Drop an open filter, whose changes are all on the disk. Fold its journal if that is due."""
        opened = self._drop(name)
        if opened is not None:
            _fold(opened)

    def _drop(self, name: str) -> OpenFilter | None:
        self._bytes.pop(name, None)
        return self._open.pop(name, None)

    def fold_due(self) -> None:
        """Fold the journals that hold forgotten mails, and those that are long."""
        for opened in list(self._open.values()):
            _fold(opened)

    @property
    def folds_are_due(self) -> bool:
        """True if a journal is long."""
        return any(opened.fold_is_due for opened in self._open.values())

    @property
    def holds_forgotten(self) -> bool:
        """True if a journal may hold the tokens of a forgotten mail."""
        return any(opened.holds_forgotten for opened in self._open.values())

    def close(self) -> None:
        """Fold the journals that are due, and drop all filters."""
        for name in list(self._open):
            self._close(name)

    def clean(self) -> None:
        """Delete files of forgotten users that a killed process left behind."""
        with suppress(FileNotFoundError):
            for name in self._site_home.files.names(self._directory):
                home = self._home(name)
                if not home.exists() and home.journal.size():
                    with home.locked():
                        if not home.exists():
                            _empty(home)


def _empty(home: UserHome) -> None:
    """Delete all files of a user who has no snapshot any more."""
    for name in home.files.names(home.directory):
        home.files.unlink(home.directory / name)


def _fold(opened: OpenFilter) -> None:
    """Fold the journal of a filter if it is due. If the disk fails, it is folded later."""
    if not (opened.fold_is_due or opened.holds_forgotten):
        return
    try:
        opened.fold()
    except (StreamBayesError, OSError) as error:
        logger.warning("the journal of a user's changes is not folded yet: %s", error)


def size_of_user(home: UserHome) -> int:
    """Return the bytes of a user's files."""
    with suppress(FileNotFoundError):
        return home.state.stat().st_size + home.journal.size()
    return 0
