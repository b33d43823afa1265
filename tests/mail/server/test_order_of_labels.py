"""Ten to 150 mails of each label, in any order, by any interface: what is learned does not depend on the way."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stream_bayes.cli.app import app
from stream_bayes.core.events.event import Event
from stream_bayes.mail import SpamFilter
from stream_bayes.mail.filter.verdict import judge
from stream_bayes.mail.server.filter_service import FilterService
from stream_bayes.mail.server.page_mails import MailLearner
from stream_bayes.mail.store.home import SpamHome
from stream_bayes.mail.streams.decoder import MailDecoder
from stream_bayes.mail.streams.spam_model import ServedFilter
from stream_bayes.testing.mails import made_up_mails
from tests.mail.server.conversations import exchanged, over_http, serving

Mails = Sequence[tuple[bytes, str]]
Learn = Callable[[Mails, Path], SpamFilter]


@cache
def made() -> Mails:
    return list(made_up_mails(500))


@cache
def later() -> Mails:
    return list(made_up_mails(300, seed=1))


def of(label: str, number: int) -> list[tuple[bytes, str]]:
    mails = [mail for mail in made() if mail[1] == label]
    assert len(mails) >= number
    return mails[:number]


def spam_first(number: int) -> Mails:
    return of("spam", number) + of("ham", number)


def ham_first(number: int) -> Mails:
    return of("ham", number) + of("spam", number)


def ham_between(number: int) -> Mails:
    spam = of("spam", number)
    return spam[: number // 2] + of("ham", number) + spam[number // 2 :]


def alternating(number: int) -> Mails:
    return [mail for pair in zip(of("ham", number), of("spam", number), strict=True) for mail in pair]


def empty_home(directory: Path) -> SpamHome:
    home = SpamHome(directory / "home")
    with home.changing(SpamFilter):
        pass
    return home


def by_learn_one(mails: Mails, directory: Path) -> SpamFilter:
    model = SpamFilter()
    for raw, label in mails:
        model.learn_one(raw, label)
    return model


def by_kafka(mails: Mails, directory: Path) -> SpamFilter:
    served = ServedFilter(SpamFilter())
    decoder = MailDecoder()
    for number, (raw, label) in enumerate(mails):
        event = decoder.decode(raw, key=f"mail-{number}")
        assert isinstance(event, Event)
        served.learn(event.x, label, 1.0)
    return served.model


def by_service(mails: Mails, directory: Path) -> SpamFilter:
    home = empty_home(directory)
    service = FilterService(home)
    for raw, label in mails:
        service.learn(raw, label)
    service.close()
    return home.load()


def by_page(mails: Mails, directory: Path) -> SpamFilter:
    home = empty_home(directory)
    learner = MailLearner(home)
    for raw, label in mails:
        learner.learn(raw, label)
    learner.close()
    return home.load()


def by_spamd(mails: Mails, directory: Path) -> SpamFilter:
    home = empty_home(directory)
    with serving(home, {"spamd": str(directory / "spamd")}):
        for raw, label in mails:
            head = f"TELL SPAMC/1.5\r\nContent-length: {len(raw)}\r\nMessage-class: {label}\r\nSet: local\r\n\r\n"
            assert b"EX_OK" in exchanged(str(directory / "spamd"), head.encode() + raw)
    return home.load()


def by_web(mails: Mails, directory: Path) -> SpamFilter:
    home = empty_home(directory)
    with serving(home, {"http": "127.0.0.1:0"}, may_learn=True) as server:
        for raw, label in mails:
            assert over_http(server, "POST", f"/learn/{label}", raw)[0] == 200
    return home.load()


def by_commands(mails: Mails, directory: Path) -> SpamFilter:
    """`spam learn`, a command for each run of a label."""
    runs: list[tuple[str, list[str]]] = []
    for number, (raw, label) in enumerate(mails):
        path = directory / f"{number:03}.eml"
        path.write_bytes(raw)
        if not runs or runs[-1][0] != label:
            runs.append((label, []))
        runs[-1][1].append(str(path))
    for label, files in runs:
        done = CliRunner().invoke(app, ["spam", "learn", label, *files, "--home", str(directory / "home")])
        assert done.exit_code == 0, done.output
    return SpamHome(directory / "home").load()


def by_train(mails: Mails, directory: Path) -> SpamFilter:
    """`spam train`, a command for each run of a label."""
    start = 0
    while start < len(mails):
        label = mails[start][1]
        stop = next((n for n in range(start, len(mails)) if mails[n][1] != label), len(mails))
        folder = directory / f"{start:03}"
        folder.mkdir()
        for number in range(start, stop):
            (folder / f"{number:03}.eml").write_bytes(mails[number][0])
        command = ["spam", "train", f"--{label}", str(folder), "--home", str(directory / "home"), "--json"]
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0 and json.loads(done.output)["new"] == stop - start
        start = stop
    return SpamHome(directory / "home").load()


def shares(model: SpamFilter) -> tuple[float, float, float]:
    """The shares of ham lost, of spam called ham and of spam caught among later mails."""
    verdicts = [(judge(model, model.bag_of(raw), "").verdict, label) for raw, label in later()]
    ham = [verdict for verdict, label in verdicts if label == "ham"]
    spam = [verdict for verdict, label in verdicts if label == "spam"]
    return ham.count("spam") / len(ham), spam.count("ham") / len(spam), spam.count("spam") / len(spam)


@pytest.mark.parametrize("order", [spam_first, ham_first, ham_between, alternating])
@pytest.mark.parametrize("number", [20, 30, 60, 100, 150])
def test_a_young_filter_loses_no_ham_and_lets_no_spam_through_whatever_the_order(
    number: int, order: Callable[[int], Mails], tmp_path: Path
) -> None:
    lost, missed, caught = shares(by_learn_one(order(number), tmp_path))
    assert lost <= 0.02 and missed <= 0.1
    assert number < 60 or caught >= 0.3


@pytest.mark.parametrize(("ham", "spam"), [(150, 20), (20, 150), (10, 150), (150, 10)])
def test_a_young_filter_of_unequal_labels_is_as_careful(ham: int, spam: int, tmp_path: Path) -> None:
    for mails in (of("spam", spam) + of("ham", ham), of("ham", ham) + of("spam", spam)):
        lost, missed, _ = shares(by_learn_one(mails, tmp_path))
        assert lost <= 0.02 and missed <= 0.1


INTERFACES: list[Learn] = [by_kafka, by_service, by_page, by_spamd, by_web, by_commands, by_train]


@pytest.mark.parametrize("learn", INTERFACES)
def test_every_interface_learns_alike(learn: Learn, tmp_path: Path) -> None:
    mails = spam_first(30)
    lost, missed, _ = shares(learn(mails, tmp_path))
    assert lost <= 0.02 and missed <= 0.1


@pytest.mark.parametrize("number", [0, 1, 19])
def test_before_20_mails_of_each_label_every_verdict_is_unsure(number: int, tmp_path: Path) -> None:
    for mails in (of("ham", 60) + of("spam", number), of("ham", number) + of("spam", 60)):
        model = by_learn_one(mails, tmp_path)
        assert {judge(model, model.bag_of(raw), "").verdict for raw, _ in later()[:40]} == {"unsure"}
        assert {model.verdict_one(raw) for raw, _ in later()[:40]} == {"unsure"}
        assert {model.explain_one(raw).verdict for raw, _ in later()[:40]} == {"unsure"}
        served = ServedFilter(model)
        assert {served.decide(served.answer({"mail": raw})) for raw, _ in later()[:40]} == {"unsure"}


def test_long_mails_count_as_mails_though_they_weigh_little() -> None:
    model = SpamFilter()
    for number in range(25):
        words = " ".join(f"word{number}x{place}" for place in range(3_000))
        model.learn_one(f"lunch {words}", "ham", id=f"h{number}")
        model.learn_one(f"pills {words}", "spam", id=f"s{number}")
    assert model.messages["ham"] < 20 and model.learned == (25, 25)


def test_labels_that_are_corrected_one_by_one_leave_a_filter_of_the_right_labels(tmp_path: Path) -> None:
    model = SpamFilter()
    for number, (raw, _) in enumerate(spam_first(60)):
        model.learn_one(raw, "ham", id=str(number))
    for number in range(60):
        model.correct(str(number), "spam")
    lost, missed, caught = shares(model)
    assert lost <= 0.02 and missed <= 0.1 and caught >= 0.3


def test_filters_of_one_label_each_are_merged_to_one_of_both(tmp_path: Path) -> None:
    ham, spam = by_learn_one(of("ham", 60), tmp_path), by_learn_one(of("spam", 60), tmp_path)
    lost, missed, caught = shares(ham.merge(spam))
    assert lost <= 0.02 and missed <= 0.1 and caught >= 0.3


def test_the_verdict_of_a_message_is_that_of_its_time_though_a_batch_learns_on() -> None:
    served = ServedFilter(SpamFilter())
    xs = [{"mail": raw} for raw, _ in alternating(40)]
    labels = [label for _, label in alternating(40)]
    answers, refused = served.process(xs, labels, [1.0] * len(xs))
    assert refused is None
    assert set(answers.decide(served.decide)[:39]) == {"unsure"}
