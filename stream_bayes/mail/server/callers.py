"""The programs at the other end of a connection: the users they may name, and the changes they may make."""

from __future__ import annotations

import os
import pwd
import socket
import struct
from collections.abc import Collection
from dataclasses import dataclass

from stream_bayes.errors import BadValue
from stream_bayes.mail.store.users import checked_user

__all__ = ["Caller", "NotAllowed", "caller_of"]

CREDENTIALS = struct.Struct("3i")  # process, user and group


class NotAllowed(BadValue):
    """A request that this caller may not make."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The rights of a caller."""

    may_learn: bool  # True to allow changes
    # True if a request may name a user. Otherwise all requests are about the site's filter.
    has_users: bool = False
    only: str | None = None  # the one user whose filter the caller may use and change; None for all

    def user(self, named: str | None) -> str | None:
        """Return the user that a request is about, None for the site.

        Raises
        ------
        NotAllowed
            If the caller may not act for this user.
        BadValue
            If the name is not valid.

        Examples
        --------
        >>> Caller(True, has_users=True).user("ann"), Caller(True).user("ann"), Caller(True, True, "bob").user(None)
        ('ann', None, 'bob')
        """
        if not self.has_users:
            return None
        if self.only is not None:
            if named and checked_user(named) != self.only:
                raise NotAllowed(
                    f"{self.only} may not act for the user {named}: start the server with --trusted"
                )
            return self.only
        return checked_user(named) if named else None


def caller_of(
    connection: socket.socket, *, may_learn: bool, has_users: bool, trusted: Collection[str] = ()
) -> Caller:
    """Return the rights of the program at the other end of a connection.

    Over a Unix socket that others can open too, an account of this machine has its own filter only. Root, the account
    of the server, and trusted accounts, such as that of a mail system, act for all. `may_learn` allows changes by
    anyone who can connect. `has_users` is True if requests may name users. `trusted` are the names of those accounts.
    """
    if connection.family == socket.AF_UNIX and has_users and hasattr(socket, "SO_PEERCRED"):
        data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
        _, account, _ = CREDENTIALS.unpack(data)
        if account not in (0, os.geteuid()) and (name := _name_of(account)) not in trusted:
            return Caller(may_learn=True, has_users=True, only=checked_user(name))
    return Caller(may_learn, has_users)


def _name_of(account: int) -> str:
    try:
        return pwd.getpwuid(account).pw_name
    except KeyError:
        return str(account)
