"""The service behind all servers: mails are found again whatever delivery changed, and count once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.errors import BadValue, NotLearned
from stream_bayes.mail import SpamFilter
from stream_bayes.mail.filter.filter import MIN_LEARNED
from stream_bayes.mail.server.filter_service import FilterService
from stream_bayes.mail.start import with_fields
from stream_bayes.mail.store.home import SpamHome
from stream_bayes.mail.store.identity import id_of_mail
from stream_bayes.testing.faults import FaultyFileSystem
from tests.mail.messages import HAM, SPAM, plain, stream

DELIVERED = b"Return-Path: <ann@example.com>\nDelivered-To: bob@example.org\nReceived: from a by b; now\n"


def service_in(directory: Path, messages: int = 60) -> FilterService:
    with SpamHome(directory).changing(SpamFilter) as model:
        for raw, label in stream(messages):
            model.learn_one(raw, label, id=id_of_mail(raw))
    return FilterService(SpamHome(directory))


def counts(service: FilterService) -> dict[str, float]:
    return SpamHome(service.home.directory).load().messages


def marked_and_changed(service: FilterService, raw: bytes) -> bytes:
    """A mail after the filter, a delivery, and a list that changes its subject and adds lines above and below."""
    marked = with_fields(raw, service.judge(raw).texts())
    return DELIVERED + marked.replace(b"Subject: ", b"Subject: Fwd: ") + b"footer of the list\n"


def test_a_judged_mail_is_learned_by_its_id_and_with_the_tokens_it_was_judged_by(tmp_path: Path) -> None:
    service = service_in(tmp_path)
    raw = plain("quetzal " * 3)
    name = service.judge(raw).id
    assert FilterService(SpamHome(tmp_path)).correct(name, "spam") == "learned"
    assert service.correct(name[:12], "spam") == "unchanged"
    assert service.correct(name, "ham") == "corrected"
    learned = SpamHome(tmp_path).load()
    alone = service_in(tmp_path / "alone")
    alone.learn(raw, "ham")
    assert learned.export_counts() == SpamHome(tmp_path / "alone").load().export_counts()


def test_a_mail_that_was_changed_on_the_way_is_found_by_the_signed_id_in_its_header(tmp_path: Path) -> None:
    service = service_in(tmp_path)
    raw = plain("quetzal")
    delivered = marked_and_changed(service, raw)
    before = counts(service)
    assert service.learn(delivered, "spam") == "learned"
    assert service.learn(raw, "spam") == "unchanged"
    assert service.learn(delivered, "ham") == "corrected"
    assert counts(service) == {**before, "ham": before["ham"] + 1}
    assert "footer" not in SpamHome(tmp_path).load().export_counts()["tokens"]
    service.forget_mail(delivered)
    assert counts(service) == before


def test_a_mail_learned_in_two_forms_counts_once(tmp_path: Path) -> None:
    service = service_in(tmp_path)
    raw = plain("quetzal")
    delivered = marked_and_changed(service, raw)
    before = counts(service)
    without_header = delivered.replace(b"X-Stream-Bayes-Id", b"X-Lost")
    service.learn(without_header, "spam")  # its subject and body are others: a mail of its own
    service.learn(raw, "spam")
    assert counts(service)["spam"] == before["spam"] + 2
    both = b"X-Stream-Bayes-Id" + delivered.partition(b"X-Stream-Bayes-Id")[2].partition(b"\n")[0] + b"\n"
    assert service.learn(both + without_header, "ham") == "corrected"
    assert counts(service) == {"ham": before["ham"] + 1, "spam": before["spam"]}


def test_delivery_without_the_header_changes_no_id(tmp_path: Path) -> None:
    service = service_in(tmp_path)
    raw = plain("quetzal")
    assert service.learn(raw, "spam") == "learned"
    for form in (DELIVERED + raw, raw.replace(b"\n", b"\r\n"), b"From ann Mon Jan 1\n" + raw + b"\n\n"):
        assert service.learn(form, "spam") == "unchanged"


def test_an_id_that_somebody_else_signed_is_not_believed(tmp_path: Path) -> None:
    service = service_in(tmp_path)
    victim = plain("quetzal")
    service.learn(victim, "ham")
    name = service.judge(victim).id
    forged = name[:-1] + ("0" if name[-1] != "0" else "1")
    attack = f"X-Stream-Bayes-Id: {forged}\n".encode() + plain("attack")
    assert service.learn(attack, "spam") == "learned"
    assert SpamHome(tmp_path).load().label_of(id_of_mail(victim)) == "ham"


def test_forgetting_a_judged_mail_deletes_its_tokens(tmp_path: Path) -> None:
    service = service_in(tmp_path)
    name = service.judge(plain("quetzal")).id
    service.forget(name)
    service.close()
    assert not any(b"quetzal" in path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
    with pytest.raises(NotLearned, match="never learned or judged"):
        service.correct(name, "spam")


def test_no_mail_is_called_spam_before_enough_of_each_label_was_learned(tmp_path: Path) -> None:
    service = service_in(tmp_path, 0)
    spam = [plain(" ".join(SPAM), subject=f"winner {number}") for number in range(3 * MIN_LEARNED)]
    ham = [plain(" ".join(HAM), subject=f"meeting {number}") for number in range(MIN_LEARNED)]
    for place, raw in enumerate(spam[:-1]):
        service.learn(raw, "spam")
        if place < MIN_LEARNED - 1:
            service.learn(ham[place], "ham")
    found = service.judge(spam[-1])
    assert found.verdict == "unsure" and found.probability > 0.9
    assert found.note == f"learned={MIN_LEARNED - 1}-ham-{3 * MIN_LEARNED - 1}-spam-of-{MIN_LEARNED}-each"
    service.learn(ham[-1], "ham")
    assert service.judge(spam[-1]).note == ""


def test_a_prefix_of_eight_letters_is_an_id_if_it_is_the_only_one(tmp_path: Path) -> None:
    service = service_in(tmp_path)
    raw, label = next(iter(stream(1)))
    name = id_of_mail(raw)
    assert service.correct(name[:8], label) == "unchanged"
    with pytest.raises(NotLearned):
        service.correct(name[:7], label)
    with service.home.changing() as model:
        model.learn_one("twin", "ham", id=name[:8] + "twin")
    with pytest.raises(BadValue, match="2 ids begin with"):
        service.correct(name[:8], label)


def test_a_long_journal_is_folded_while_the_service_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stream_bayes.mail.store.home.MIN_FOLD_BYTES", 1000)
    monkeypatch.setattr("stream_bayes.mail.store.home.FOLD_SHARE", 1000)
    service = service_in(tmp_path)
    for number in range(5):
        service.learn(plain(f"mail {number}"), "ham")
    long = service.home.journal.size()
    before = counts(service)
    service.tend()
    service.close()
    assert service.home.journal.size() < long / 3
    assert counts(service) == before
    assert service.learn(plain("mail 3"), "ham") == "unchanged"


@pytest.mark.parametrize("user", [None, "ann"])
def test_learning_correcting_and_forgetting_are_one_sync_each(tmp_path: Path, user: str | None) -> None:
    service_in(tmp_path)
    files = FaultyFileSystem()
    service = FilterService(SpamHome(tmp_path, files=files))
    service.learn(plain("the first mail makes the user"), "ham", user)
    for raw in (plain("quetzal"), plain("ocelot")):
        name = service.judge(raw, user).id
        for change in (
            lambda: service.learn(raw, "spam", user),  # noqa: B023  # called at once
            lambda: service.correct(name, "ham", user),  # noqa: B023  # called at once
            lambda: service.forget(name, user),  # noqa: B023  # called at once
        ):
            before = len(files.operations)
            change()
            done = files.operations[before:]
            assert [each for each in done if each.startswith("sync")] == ["sync changes"]
            assert len([each for each in done if each.startswith("write")]) <= 2, (
                "the judged mail is blanked in place"
            )
    assert not any(b"ocelot" in path.read_bytes() for path in tmp_path.glob("judged-*"))


def test_no_mail_waits_until_another_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service, honest, hostile = service_in(tmp_path), plain("lunch"), plain("<ul><li>" * 100)
    reading, may_go_on = threading.Event(), threading.Event()
    bag_of = SpamFilter.bag_of

    def slow(model: SpamFilter, message: Any) -> Any:
        if message == hostile:
            reading.set()
            assert may_go_on.wait(60)
        return bag_of(model, message)

    monkeypatch.setattr(SpamFilter, "bag_of", slow)
    with ThreadPoolExecutor() as pool:
        waiting = [pool.submit(service.judge, hostile) for _ in range(4)]
        assert reading.wait(60)
        assert pool.submit(service.judge, honest).result(60).verdict
        assert service.learn(honest, "ham") == "learned"
        assert not any(each.done() for each in waiting)
        may_go_on.set()
        assert len({each.result(60).probability for each in waiting}) == 1
    assert service.judged == 5
