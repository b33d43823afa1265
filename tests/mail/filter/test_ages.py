"""Tokens that were not learned for too long expire."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream_bayes.errors import BadState, BadValue, CannotMerge
from stream_bayes.mail import SpamFilter, UserFilter
from stream_bayes.mail.server.filter_service import FilterService
from stream_bayes.mail.store.home import OpenFilter, SpamHome
from stream_bayes.mail.streams.shard_filter import FilterTotal
from tests.cli.test_snapshots import run
from tests.mail.messages import plain
from tests.resealing import resealed

DAY = 86_400.0


def taught(model: SpamFilter) -> SpamFilter:
    for day, text, label in (
        (0, "winner casino", "spam"),
        (0, "lunch notes", "ham"),
        (5, "winner prize", "spam"),
        (9, "notes agenda", "ham"),
    ):
        model.learn_one(text, label, id=text, at=day * DAY)
    return model


def words(model: SpamFilter) -> set[str]:
    return set(model.export_counts()["tokens"])


@pytest.mark.parametrize("classes", [("ham", "spam"), ("ham", "spam", "letter")])
def test_tokens_that_were_not_learned_for_so_long_are_gone_and_the_others_stay(
    classes: tuple[str, ...],
) -> None:
    model = taught(SpamFilter(classes, keep="7d"))
    assert words(model) == {"winner", "prize", "notes", "agenda"}  # casino and lunch are nine days old
    assert model.messages["spam"] == model.messages["ham"] == 2.0
    model.learn_one("draft", "ham", at=13.5 * DAY)
    assert words(model) == {"notes", "agenda", "draft"}  # the last winner was learned on the day from 5 to 6
    for name in model.ids():
        model.forget(name)
    assert not words(model) and set(model.messages.values()) == {0.0}
    assert {"casino", "lunch"} < words(taught(SpamFilter(classes)))


def test_a_restored_filter_expires_the_same_tokens_and_users_have_days_of_their_own() -> None:
    model = taught(SpamFilter(keep="7d"))
    restored = SpamFilter.from_state(model.state())
    for one in (model, restored):
        one.learn_one("draft", "ham", at=13.5 * DAY)
        one.learn_one("kernel", "ham", at=2 * DAY)  # a clock that went back expires nothing
    assert restored.state()["checksum"] == model.state()["checksum"]
    user = UserFilter(model)
    user.learn_one("casino", "ham", at=13 * DAY)
    user = UserFilter.restored(user.state(), model)
    user.learn_one("lunch", "ham", at=22 * DAY)
    assert words(user) == {"lunch"} and "draft" in words(model)
    state = model.state()
    with pytest.raises(BadState, match="days do not rise"):
        SpamFilter.from_state(resealed(state | {"store": state["store"] | {"days": [[2, 0], [1, 0]]}}))


@pytest.mark.parametrize("keep", ["12h", "soon", 180])
def test_a_time_to_keep_is_a_duration_of_a_day_or_more(keep: object) -> None:
    with pytest.raises(BadValue, match="keep"):
        SpamFilter(keep=keep)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(BadValue, match="at must be"):
        SpamFilter(keep="7d").learn_one("a", "ham", at=float("nan"))


def test_the_journal_holds_the_time_of_each_change(tmp_path: Path) -> None:
    home, now = SpamHome(tmp_path / "home"), [0.0]
    with home.changing(lambda: SpamFilter(keep="7d")):
        pass
    service = FilterService(home, clock=lambda: now[0])
    service.learn(plain("casino winner", subject="one"), "spam")
    now[0] = 9 * DAY
    service.learn(plain("prize", subject="two"), "spam")
    model = OpenFilter(home).model  # another process, which reads the journal
    assert (
        "casino" not in words(model)
        and model.state()["checksum"] == service._opened.model.state()["checksum"]
    )
    service.close()


def test_the_command_keeps_the_setting(tmp_path: Path) -> None:
    (tmp_path / "mail.eml").write_bytes(plain("lunch"))
    train = ("spam", "train", "--home", tmp_path / "home", "--ham", tmp_path / "mail.eml")
    assert run(*train, "--keep", "180d").exit_code == 0
    assert SpamHome(tmp_path / "home").load().keep == "180d"
    done = run(*train, "--keep", "90d")
    assert done.exit_code == 3 and "keep='180d'" in done.stderr


def test_shards_that_are_summed_have_no_ages() -> None:
    with pytest.raises(CannotMerge, match="by age: leave out"):
        FilterTotal.of(SpamFilter(keep="7d"), None)
