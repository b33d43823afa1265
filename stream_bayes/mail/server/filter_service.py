"""Judging, learning, correcting and forgetting mails, for the servers of all protocols and for the command line."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from stream_bayes.errors import BadLabel, BadValue, NotLearned, StreamBayesError
from stream_bayes.mail.filter.explanation import SpamExplanation
from stream_bayes.mail.filter.filter import SpamFilter
from stream_bayes.mail.filter.messages import FilterBag
from stream_bayes.mail.filter.verdict import Judgement, judge
from stream_bayes.mail.start import without_own_fields
from stream_bayes.mail.store.change_journal import Change
from stream_bayes.mail.store.home import OpenFilter, SpamHome
from stream_bayes.mail.store.identity import SIGNED, id_of_mail
from stream_bayes.mail.store.judged_mails import DAYS, MAX_BYTES, JudgedMails, held_name
from stream_bayes.mail.store.users import Quota, Users, checked_user
from stream_bayes.mail.streams.mailbox import refusal_of

__all__ = ["FilterService"]

logger = logging.getLogger(__name__)

MIN_PREFIX: Final = 8  # characters of an id that may stand for all
FORGET_SECONDS: Final = 60.0  # until a forgotten mail is in no file any more


class FilterService:
    """A filter that judges and learns for many threads at once. Changes are durable when their method returns.

    Tokens of mails that were only judged are held for a while, so that a correction needs no more than the id. With a
    user, each verb is about the user's own filter: a mail that one user corrects is as it was for all others.

    A filter must be in the directory. `max_bytes` and `days` bound the tokens held; see `JudgedMails`. `quota` bounds
    users' filters. With `teach_site` the site also learns what users teach, once for each user. `clock` is in
    seconds since 1970.

    Raises
    ------
    StreamBayesError
        If there is no filter, or it cannot be read.
    """

    def __init__(
        self,
        home: SpamHome,
        max_bytes: int = MAX_BYTES,
        days: float = DAYS,
        quota: Quota | None = None,
        *,
        teach_site: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.home = home
        self._clock = clock
        self.judged = 0
        self.changed = 0
        self.refused = 0
        self._opened = OpenFilter(home)
        self._users = Users(home, lambda: self._opened.model, quota)
        self._teach_site = teach_site
        self._judged_mails = JudgedMails(home.directory, max_bytes, days, home.files)
        self._key = home.id_key()
        self._turn = threading.RLock()
        self._folding: threading.Thread | None = None
        self._forgot_at: float | None = None

    def note_refusal(self) -> None:
        """Count a change that its client may not make."""
        self.refused += 1

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes of the filter: the wanted one, then the unwanted ones."""
        return self._opened.model.classes

    # -- judging ------------------------------------------------------------------------------------------------------

    def judge(self, raw: bytes, user: str | None = None) -> Judgement:
        """Judge a mail, for a user or the site. Headers of its own in it do not count."""
        raw = without_own_fields(raw)
        name = id_of_mail(raw)
        model, bag = (
            self._opened.model,
            self._opened.model.bag_of(raw),
        )  # most of the work: no mail waits for another's
        with self._turn:
            self._opened.catch_up()
            bag = self._present_bag(model, bag, raw)
            present = self._model(user)
            judgement = judge(present, bag, self._signed(name))
            if present.label_of(name) is None:
                self._hold(held_name(name, user), bag)
            self.judged += 1
        return judgement

    def explain(self, raw: bytes, user: str | None = None) -> SpamExplanation:
        """Return the tokens that decide a mail's verdict."""
        raw = without_own_fields(raw)
        with self._turn:
            self._opened.catch_up()
            return self._model(user).explain_one(raw)

    def _model(self, user: str | None) -> SpamFilter:
        """Return the filter of a user; the site's without a user, and for a user without a filter."""
        opened = None if user is None else self._users.find(user)
        return self._opened.model if opened is None else opened.model

    def _present_bag(self, model: SpamFilter, bag: FilterBag, raw: bytes) -> FilterBag:
        """Return the tokens as the present model reads them: another process may have replaced it."""
        present = self._opened.model
        return bag if _tokenizer(present) == _tokenizer(model) else present.bag_of(raw)

    def _hold(self, name: str, bag: FilterBag) -> None:
        try:
            self._judged_mails.put(name, bag.tokens)
        except OSError as error:  # a verdict must not fail because the disk is full
            logger.warning("the tokens of a judged mail are not held: %s", error)

    def _signed(self, name: str) -> str:
        return name if self._key is None else self._key.signed(name)

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn(self, raw: bytes, label: str, user: str | None = None) -> str:
        """Learn a mail, or correct it if it was learned under another class.

        A mail that went through the filter is found by the signed id in its header, whatever delivery changed, and is
        learned with the tokens that it was judged by. Return "learned", "corrected" or "unchanged".

        Raises
        ------
        BadValue
            If the bytes are no mail, but an archive, a picture or other binary data.
        BadLabel
            If it is no class of the filter.
        """
        self._check_class(label)
        refusal = refusal_of(raw)
        if refusal:
            raise BadValue(f"nothing was learned: expected a mail, got {refusal}")
        plain = without_own_fields(raw)
        names = list(dict.fromkeys([*self._named(raw), id_of_mail(plain)]))
        model, bag = self._opened.model, self._opened.model.bag_of(plain)
        with self._turn:
            self._opened.catch_up()
            bag = self._present_bag(model, bag, plain)
            label_of = self._label_of(user)
            learned = [name for name in names if label_of(name) is not None]
            if learned:
                # One mail in two forms, each learned before: it must not count twice, nor as both labels.
                changes = [Change("forget", name) for name in learned[1:]]
                before = label_of(learned[0])
                if before != label:
                    changes.append(Change("correct", learned[0], label))
                if changes:
                    self._change(changes, user)
                return "unchanged" if before == label else "corrected"
            tokens = next(
                (tokens for name in names if (tokens := self._tokens_of(name, user)) is not None), None
            )
            self._learn(names[0], label, bag.tokens if tokens is None else tokens, user)
            return "learned"

    def _check_class(self, label: str) -> None:
        if label not in self.classes:
            names = map(str, self.classes)
            raise BadLabel(f"expected a class of the filter, {' or '.join(names)}; got {label!r}")

    def _label_of(self, user: str | None) -> Callable[[str], Any]:
        """Return the function from ids to the labels that a user, or the site, has learned."""
        if user is None:
            return self._opened.model.label_of
        opened = self._users.find(user)
        return (lambda name: None) if opened is None else opened.model.label_of

    def _tokens_of(self, name: str, user: str | None) -> dict[str, int] | None:
        """Return the tokens of a mail that was judged, for this user or for the site."""
        of_user = None if user is None else self._judged_mails.get(held_name(name, user))
        return self._judged_mails.get(name) if of_user is None else of_user

    def _named(self, raw: bytes) -> list[str]:
        """Return the id in the header of a mail that this filter wrote, if any."""
        name = None if self._key is None else self._key.id_in(raw)
        return [] if name is None else [name]

    def correct(self, id_or_prefix: str, label: str, user: str | None = None) -> str:
        """Set the class of a mail by its id, learned or only judged. Return as `learn` does.

        Raises
        ------
        BadLabel
            If it is no class of the filter.
        NotLearned
            If neither is known of this id.
        """
        self._check_class(label)
        with self._turn:
            self._opened.catch_up()
            name = self._whole_id(id_or_prefix, user)
            before = self._label_of(user)(name)
            if before == label:
                return "unchanged"
            if before is not None:
                self._change([Change("correct", name, label)], user)
                return "corrected"
            tokens = self._tokens_of(name, user)
            if tokens is None:  # another process has removed it meanwhile
                raise NotLearned(
                    f"the tokens of {name} are not held any more; pass the message itself, with --mail"
                )
            self._learn(name, label, tokens, user)
            return "learned"

    def forget(self, id_or_prefix: str, user: str | None = None) -> None:
        """Remove everything that a mail added, and its tokens if it was only judged.

        Raises
        ------
        NotLearned
            If the mail was neither learned nor judged lately.
        """
        with self._turn:
            self._opened.catch_up()
            name = self._whole_id(id_or_prefix, user)
            if self._label_of(user)(name) is not None:
                self._change([Change("forget", name)], user)
            self._judged_mails.remove([held_name(name, user)])

    def forget_mail(self, raw: bytes, user: str | None = None) -> str:
        """Remove everything that a mail added, by its header's id or its content. Return "forgotten", or "unchanged" if
        it was neither learned nor judged lately.
        """
        plain = without_own_fields(raw)
        names = [*self._named(raw), id_of_mail(plain)]
        with self._turn:
            self._opened.catch_up()
            label_of = self._label_of(user)
            learned = [name for name in names if label_of(name) is not None]
            try:
                self.forget(learned[0] if learned else names[0], user)
            except NotLearned:
                return "unchanged"
        return "forgotten"

    def _learn(self, name: str, label: str, tokens: dict[str, int], user: str | None) -> None:
        """Learn a mail by its tokens, now."""
        self._change([Change("learn", name, label, tokens, at=self._clock())], user)

    def _change(self, changes: list[Change], user: str | None) -> None:
        """Change the filter of a user or of the site."""
        if user is None:
            self._opened.change(changes)
        else:
            user = checked_user(user)
            # The site first: repeated after a crash between the two, the change is made in both.
            if self._teach_site and (taught := self._taught(changes, user)):
                self._opened.change(taught)
            self._users.change(user, changes)
        self.changed += 1

    def _taught(self, changes: list[Change], user: str) -> list[Change]:
        """Return the changes of the site's filter that follow from those of a user."""
        taught = []
        for change in changes:
            name = f"{change.id}@{user}"  # so that two users never correct each other
            before = self._opened.model.label_of(name)
            if change.verb == "learn" and before not in (None, change.label):
                taught.append(Change("correct", name, change.label))
            elif (change.verb == "learn") == (before is None) and before != change.label:
                taught.append(replace(change, id=name))
        return taught

    def forget_user(self, user: str) -> int:
        """Delete everything that a user taught, in the site's filter too, and the mails held for the user.

        Return the number of mails that the site had learned from this user. Those older than its receipts stay.

        Raises
        ------
        NotLearned
            If there is nothing of this user.
        """
        user = checked_user(user)
        with self._turn:
            self._opened.catch_up()
            taught = [name for name in self._opened.model.ids() if name.partition("@")[2] == user]
            if taught:
                self._opened.change([Change("forget", name) for name in taught])
            removed = self._judged_mails.remove(
                [name for name in self._judged_mails.ids() if name.startswith(f"{user}/")]
            )
            if not self._users.forget(user) and not taught and not removed:
                raise NotLearned(f"there is no user {user}: nobody of this name has taught the filter")
            self.changed += 1
        return len(taught)

    def _whole_id(self, prefix: str, user: str | None) -> str:
        """Return the only id that is meant: a whole one, a signed one, or the first characters of one."""
        signed = SIGNED.fullmatch(prefix)
        if signed is not None:
            prefix = signed[1]
        ids = self._ids(user)
        matching = [prefix] if prefix in ids else []
        if not matching and len(prefix) >= MIN_PREFIX:
            matching = list(dict.fromkeys(key for key in ids if key.startswith(prefix)))
        if len(matching) > 1:
            raise BadValue(f"{len(matching)} ids begin with {prefix!r}")
        if not matching:
            raise NotLearned(
                f"no message with the id {prefix!r} can be corrected or forgotten: it was never learned or judged by "
                "the server, or too long ago; pass the message itself, with --mail"
            )
        return matching[0]

    def _ids(self, user: str | None) -> list[str]:
        """Return the ids of the mails that a user, or the site, can correct or forget."""
        prefix = "" if user is None else f"{checked_user(user)}/"
        model, judged = self._opened.model, self._judged_mails.ids()
        site = [name for name in judged if "/" not in name]
        if user is None:
            return [*model.ids(), *site]
        opened = self._users.find(user)
        learned = [] if opened is None else opened.model.ids()
        return [*learned, *(name.removeprefix(prefix) for name in judged if name.startswith(prefix)), *site]

    def clean_users(self) -> None:
        """Delete files of forgotten users that a killed process left behind."""
        self._users.clean()

    # -- folding ------------------------------------------------------------------------------------------------------

    def tend(self) -> None:
        """Fold a long journal into the snapshot, in a thread. Call this from time to time."""
        with self._turn:
            holds_forgotten = self._opened.holds_forgotten or self._users.holds_forgotten
            is_due = self._opened.fold_is_due or self._users.folds_are_due
        if not holds_forgotten:
            self._forgot_at = None
        elif self._forgot_at is None:
            self._forgot_at = time.monotonic()
        late = self._forgot_at is not None and time.monotonic() - self._forgot_at > FORGET_SECONDS
        if (late or is_due) and (self._folding is None or not self._folding.is_alive()):
            self._folding = threading.Thread(target=self._fold, name="fold")
            self._folding.start()

    def _fold(self) -> None:
        try:
            with self._turn:
                self._users.fold_due()
                self._opened.catch_up()
                if not (self._opened.holds_forgotten or self._opened.fold_is_due):
                    return
                snapshot, version = self._opened.snapshot()
            self._opened.write_folded(snapshot)
            with self._turn:
                self._opened.adopt_folded(snapshot, version)
        except (StreamBayesError, OSError) as error:
            logger.warning("the journal of changes is not folded into the snapshot yet: %s", error)

    def close(self) -> None:
        """Finish a fold. Forgotten mails leave the disk."""
        if self._folding is not None:
            self._folding.join()
        self._fold()
        self._users.close()


def _tokenizer(model: SpamFilter) -> tuple[Any, ...]:
    """Return the settings on which a mail's tokens depend."""
    opinion = model.has_second_opinion
    return model.pairs, model.parser, model.limits, model.authserv_id, model.token_key, opinion
