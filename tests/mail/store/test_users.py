"""Users of a site: a small filter each, which no other user and no change of the site touches."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.errors import BadValue, NotLearned
from stream_bayes.mail import SpamFilter
from stream_bayes.mail.server.callers import Caller, NotAllowed, caller_of
from stream_bayes.mail.server.filter_service import FilterService
from stream_bayes.mail.store.change_journal import Change
from stream_bayes.mail.store.home import SpamHome
from stream_bayes.mail.store.identity import id_of_mail
from stream_bayes.mail.store.users import Quota, Users, checked_user, user_of_address
from stream_bayes.saving.snapshots.file_system import FileSystem
from stream_bayes.testing.faults import Crash, FaultyFileSystem, Survives
from tests.mail.messages import plain, stream
from tests.mail.server.conversations import CERTAIN_HAM, CERTAIN_SPAM, trained_home

CHANGES = [
    Change("learn", "1", "spam", {"cheap": 1, "lunch": 2}),
    Change("learn", "2", "ham", {"lunch": 1, "caf\udce9": 1}),
    Change("correct", "1", "ham"),
    Change("forget", "2"),
    Change("learn", "3", "spam", {"pills": 1}),
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained_home(tmp_path_factory.mktemp("trained") / "site", 60).directory


@pytest.fixture
def site(trained: Path, tmp_path: Path) -> SpamHome:
    shutil.copytree(trained, tmp_path / "site")
    return SpamHome(tmp_path / "site")


def users_of(home: SpamHome, quota: Quota | None = None) -> Users:
    model = home.load()
    return Users(home, lambda: model, quota)


def summary(users: Users, name: str) -> Any:
    opened = users.find(name)
    return None if opened is None else opened.model.state()["checksum"]


def files_of(directory: Path) -> dict[Path, tuple[bytes, int]]:
    return {
        path: (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        ".hidden",
        "../root",
        "a/b",
        "/etc",
        "a\0b",
        "a b",
        "a\nb",
        "ann;rm",
        "x" * 201,
        "é" * 101,
        "%2e",
    ],
)
def test_a_name_that_could_be_another_path_is_refused(site: SpamHome, name: str) -> None:
    service = FilterService(site)
    before = sorted(site.directory.parent.rglob("*"))
    for ask in (
        lambda: service.judge(CERTAIN_HAM, name),
        lambda: service.learn(CERTAIN_HAM, "ham", name),
        lambda: service.correct("0" * 64, "ham", name),
        lambda: service.forget_user(name),
    ):
        with pytest.raises(BadValue, match="user's name"):
            ask()
    assert sorted(site.directory.parent.rglob("*")) == before


def test_names_of_people_and_their_addresses_are_users() -> None:
    for name in ("ann", "ann@example.org", "a.b-c_d+e=f", "zoë", "李", "0"):
        assert checked_user(name) == name
    assert checked_user("zoe\u0308") == "zoë", "one person has one directory"
    for address, user in (
        ("<Ann@Example.org>", "ann@example.org"),
        ("ann+x@a.b", "ann@a.b"),
        ("<>", None),
        ("a b", None),
    ):
        assert user_of_address(address, with_domain=True) == user


def test_a_user_decides_for_the_user_alone(site: SpamHome) -> None:
    service = FilterService(site)
    common = service.judge(CERTAIN_SPAM)
    assert service.judge(CERTAIN_SPAM, "ann") == service.judge(CERTAIN_SPAM, "bob") == common
    assert not (site.directory / "users").exists(), "judging makes nobody a user"
    assert service.correct(common.id, "ham", "ann") == "learned"
    assert service.learn(CERTAIN_SPAM, "ham", "ann") == "unchanged"
    assert service.judge(CERTAIN_SPAM, "ann").score < common.score
    assert service.judge(CERTAIN_SPAM, "bob") == service.judge(CERTAIN_SPAM) == common
    assert service.correct(common.id[:12], "spam", "ann") == "corrected"
    with pytest.raises(NotLearned):
        service.forget("0" * 64, "ann")
    service.forget(common.id, "ann")
    assert service.judge(CERTAIN_SPAM, "ann") == common


def test_a_mail_judged_for_a_user_is_corrected_by_its_id_by_nobody_else(site: SpamHome) -> None:
    service = FilterService(site)
    name = service.judge(plain("quetzal"), "ann").id
    for other in (None, "bob"):
        with pytest.raises(NotLearned):
            service.correct(name, "spam", other)
    assert FilterService(site).correct(name, "spam", "ann") == "learned"
    assert "quetzal" in Users(site, site.load).home("ann").load().export_counts()["tokens"]


def test_the_site_learns_on_and_no_file_of_a_user_changes(site: SpamHome) -> None:
    service = FilterService(site)
    mails = list(stream(30, seed=5))
    for raw, label in mails[:10]:
        service.learn(raw, label, "ann")
    before, model = files_of(site.directory / "users"), service._model("ann").state()["checksum"]
    for raw, label in mails[10:]:
        service.learn(raw, label)
    with site.changing() as changed:
        changed.learn_one(CERTAIN_SPAM, "ham", id=id_of_mail(CERTAIN_SPAM))
    assert service.judge(CERTAIN_SPAM, "ann").score != 0.0
    assert files_of(site.directory / "users") == before
    again = FilterService(site)
    assert again._model("ann").state()["checksum"] == model, "read over another site, the user is the same"
    assert again.judge(CERTAIN_SPAM, "ann") == service.judge(CERTAIN_SPAM, "ann")


@pytest.mark.parametrize("survives", list(Survives))
def test_no_acknowledged_change_of_a_user_is_lost_at_a_crash(tmp_path: Path, survives: Survives) -> None:
    crash_everywhere(tmp_path, survives, list(Survives).index(survives), 4)


@pytest.mark.soak
@pytest.mark.parametrize("survives", list(Survives))
def test_no_acknowledged_change_of_a_user_is_lost_at_any_crash(tmp_path: Path, survives: Survives) -> None:
    crash_everywhere(tmp_path, survives, 0, 1)


def crash_everywhere(tmp_path: Path, survives: Survives, first: int, step: int) -> None:
    """Crash at every `step`-th operation."""
    start = tmp_path / "site"
    with SpamHome(start).changing(SpamFilter) as model:
        model.learn_one("cheap pills", "spam")
        model.learn_one("lunch", "ham")
    reference = users_of(SpamHome(start))
    expected = [None]
    with reference.home("ann").changing(reference.home("ann").new_filter):
        pass
    expected.append(summary(reference, "ann"))
    for change in CHANGES:
        reference.change("ann", [change])
        expected.append(summary(reference, "ann"))
    reference.forget("ann")

    def run(directory: Path, files: FileSystem) -> Iterator[int]:
        shutil.copytree(start, directory)
        users = users_of(SpamHome(directory, files=files))
        for number, change in enumerate(CHANGES, 2):
            users.change("ann", [change])
            yield number
            if number == 5:  # a forgotten mail is folded away
                users.fold_due()
        assert users.forget("ann")
        yield 0

    counted = FaultyFileSystem()
    assert list(run(start.with_name("counted"), counted))[-1] == 0
    assert any("rename filter.zip" in done for done in counted.operations)
    for number in range(1 + first, len(counted.operations) + 1, step):
        directory, acknowledged = start.with_name(str(number)), 0
        with suppress(Crash):
            for acknowledged in run(directory, FaultyFileSystem(number, survives)):  # noqa: B007  # the last one
                pass
        users = users_of(SpamHome(directory, files=FaultyFileSystem()))
        done = expected.index(summary(users, "ann"))
        # Before the first change the user is made, and after the last one forgotten.
        allowed = {0: {0, 1, 2}, 6: {6, 0}}.get(acknowledged, {acknowledged, acknowledged + 1})
        assert done in allowed, (number, counted.operations[number - 1], done, acknowledged)
        for change in CHANGES[max(done - 1, 0) :]:
            users.change("ann", [change])
        assert summary(users_of(SpamHome(directory)), "ann") == expected[-1]


def test_open_filters_are_bounded_and_those_closed_come_back(site: SpamHome) -> None:
    users = users_of(site, Quota(open_bytes=400_000))
    for number in range(30):
        users.change(f"user{number}", [Change("learn", "1", "spam", {f"word{number}": 1})])
        assert users.open_bytes <= 400_000 and len(users) <= 15
    for number in range(30):
        opened = users.find(f"user{number}")
        assert opened is not None and opened.model.export_counts()["tokens"] == {f"word{number}": [0.0, 1.0]}
    assert len(users.names()) == 30 and users.find("nobody") is None
    assert len(users_of(site, Quota(open_bytes=1)).names()) == 30


def test_quotas_bound_users_tokens_and_mails_and_may_be_changed(site: SpamHome) -> None:
    users = users_of(site, Quota(tokens=40, mails=4, users=2))
    for number in range(20):
        tokens = {f"word{number}.{place}": 1 for place in range(9)}
        users.change("ann", [Change("learn", str(number), "spam" if number % 2 else "ham", tokens)])
    users.change("bob", CHANGES[:1])
    with pytest.raises(BadValue, match=r"2 users already.*--most-users"):
        users.change("eve", CHANGES[:1])
    ann = users.find("ann")
    assert ann is not None and ann.model.tokens <= 40 and ann.model.correctable == 4
    smaller = users_of(site, Quota(tokens=10, mails=2))
    again = smaller.find("ann")
    assert again is not None and again.model.tokens <= 10 and again.model.correctable == 2
    smaller.change("ann", [Change("learn", "new", "ham", {"x": 1})])
    assert summary(users_of(site), "ann") == summary(smaller, "ann"), "the defaults leave a quota as it was"
    with pytest.raises(BadValue, match="at least 1"):
        Quota(tokens=0)


def test_a_forgotten_user_is_in_no_file_and_starts_with_the_site_again(site: SpamHome) -> None:
    service = FilterService(site, teach_site=True)
    for user in ("ann", "bob"):
        assert service.learn(plain("quetzal"), "spam", user) == "learned"
    service.judge(plain("ocelot"), "ann")
    assert service._opened.model.export_counts()["tokens"]["quetzal"] == [0.0, 2.0], "the site learns of both"
    assert service.forget_user("ann") == 1
    assert service._opened.model.export_counts()["tokens"]["quetzal"] == [0.0, 1.0]
    with pytest.raises(NotLearned, match="no user ann"):
        service.forget_user("ann")
    assert service.forget_user("bob") == 1
    assert service.judge(CERTAIN_SPAM, "ann") == service.judge(CERTAIN_SPAM)
    service.close()
    for path in site.directory.rglob("*"):
        assert path.is_dir() or not any(word in path.read_bytes() for word in (b"quetzal", b"ocelot")), path
    assert service.learn(plain("quetzal"), "ham", "ann") == "learned"


def test_what_users_teach_the_site_is_corrected_and_forgotten_with_them(site: SpamHome) -> None:
    service = FilterService(site, teach_site=True)
    raw = plain("quetzal")

    def counts() -> Any:
        return service._opened.model.export_counts()["tokens"].get("quetzal")

    service.learn(raw, "spam", "ann")
    service.learn(raw, "ham", "bob")
    assert counts() == [1.0, 1.0]
    service.learn(raw, "spam", "bob")
    assert counts() == [0.0, 2.0]
    service.forget_mail(raw, "bob")
    assert counts() == [0.0, 1.0]
    service.forget_mail(raw, "ann")
    assert counts() is None
    assert FilterService(site).learn(raw, "spam", "ann") == "learned"
    assert SpamHome(site.directory).load().export_counts()["tokens"].get("quetzal") is None, (
        "by default it does not"
    )


def test_another_process_may_forget_a_user_or_the_rest_of_one(site: SpamHome) -> None:
    one, other = users_of(site), users_of(site)
    one.change("ann", CHANGES[:2])
    assert other.forget("ann") and not other.forget("ann")
    assert one.find("ann") is None and one.names() == []
    one.change("ann", CHANGES[:1])
    other.change("ann", CHANGES[1:2])
    assert summary(one, "ann") == summary(other, "ann") is not None
    other.forget("ann")
    one.change("ann", CHANGES[:1])
    assert one.names() == ["ann"]
    left = one.home("eve")
    one.change("eve", CHANGES[:1])
    left.state.unlink()  # as a crash leaves it
    users = users_of(site)
    assert users.names() == ["ann"] and users.find("eve") is None
    users.clean()
    assert not left.journal.path.exists() and users.names() == ["ann"]


def test_files_of_users_are_for_the_owner_alone(site: SpamHome) -> None:
    users_of(site).change("ann", CHANGES[:1])
    for path in [site.directory / "users", *(site.directory / "users").rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path


def test_an_account_of_this_machine_acts_for_itself_alone_unless_it_is_trusted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Connection:
        family = __import__("socket").AF_UNIX
        account = 65_534

        def getsockopt(self, *of: int) -> bytes:
            return struct.pack("3i", 1, self.account, self.account)

    stranger: Any = Connection()
    monkeypatch.setattr("stream_bayes.mail.server.callers._name_of", lambda account: "mallory")
    found = caller_of(stranger, may_learn=False, has_users=True)
    assert found == Caller(may_learn=True, has_users=True, only="mallory")
    assert found.user(None) == found.user("mallory") == "mallory"
    with pytest.raises(NotAllowed, match="mallory may not act for the user ann"):
        found.user("ann")
    trusted = caller_of(stranger, may_learn=False, has_users=True, trusted=["mallory"])
    assert trusted == Caller(may_learn=False, has_users=True) and trusted.user("ann") == "ann"
    stranger.account = 0
    assert caller_of(stranger, may_learn=True, has_users=True).only is None
    assert caller_of(stranger, may_learn=True, has_users=False).user("../etc") is None


def test_users_need_a_site(tmp_path: Path) -> None:
    home = SpamHome(tmp_path)
    with home.changing(SpamFilter):
        pass
    service = FilterService(home)
    assert service.learn(CERTAIN_SPAM, "spam", "ann") == "learned"
    assert service.judge(CERTAIN_SPAM, "ann").note.startswith("learned=0-ham-1-spam")
