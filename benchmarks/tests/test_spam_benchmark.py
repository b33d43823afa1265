"""The benchmark of the spam filter: its measures, and a run over a corpus that is made here."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stream_bayes
from benchmarks.checks import Check
from benchmarks.spam.__main__ import main
from benchmarks.spam.attack import Falls, dictionary, falls, uncapped
from benchmarks.spam.by_class import Later, by_class_checks, later_mail
from benchmarks.spam.costs import cost_of, least_cost, one_threshold
from benchmarks.spam.filters import OTHERS, Corpus, Order, Run, ours, with_wrong_labels
from benchmarks.spam.measures import measures, over, roca
from benchmarks.spam.rewriting import ATTACHED, REWRITINGS, Judged, rewritten, with_few_headers
from benchmarks.spam.targets import attack_checks, checks_of, rewriting_checks
from benchmarks.spam.wrong_labels import KINDS, compared, mistakes
from stream_bayes.mail import SpamFilter
from tests.mail.messages import stream


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "made.jsonl.gz"
    lines = [
        {"label": label, "raw": raw.decode("latin-1"), "time": 1000 - place, "rand": place * 7 % 200}
        for place, (raw, label) in enumerate(stream(200))
    ]
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    return path


SCORED = st.lists(st.tuples(st.floats(-3, 3), st.booleans()), min_size=1, max_size=20)


def arrays(scored: list[tuple[float, bool]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([score for score, _ in scored]), np.array([spam for _, spam in scored])


@given(SCORED, st.sampled_from([1, 9, 99]))
def test_no_threshold_costs_less_than_the_least(scored: list[tuple[float, bool]], times: int) -> None:
    score, spam = arrays(scored)
    tried = [cost_of(score >= one, spam, times) for one in [*score.tolist(), np.inf]]
    found = least_cost(score, spam, times)
    assert found <= min(tried)
    if len(set(score.tolist())) == len(score):  # equal scores cannot be parted by a threshold
        assert found == min(tried)


@given(st.lists(SCORED, min_size=1, max_size=4), st.sampled_from([1, 9]))
def test_one_threshold_is_the_best_of_those_that_all_orders_share(
    several: list[list[tuple[float, bool]]], times: int
) -> None:
    orders = [arrays([*scored, (0.5, False), (0.4, True)]) for scored in several]  # none is without errors
    mean, worst = one_threshold(orders, times)
    tried = [
        [cost_of(score >= one, spam, times) / least_cost(score, spam, times) for score, spam in orders]
        for one in np.concatenate([score for score, _ in orders])
    ]
    assert mean == pytest.approx(min(np.mean(ratios) for ratios in tried))
    assert worst >= mean - 1e-9
    if len(orders) == 1:
        assert worst == mean


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=40))
def test_the_area_is_the_share_of_pairs_in_the_wrong_order(scored: list[tuple[int, bool]]) -> None:
    ham, spam = ([score for score, label in scored if label is kind] for kind in (False, True))
    found = roca(np.array([score for score, _ in scored]), np.array([label for _, label in scored]))
    if not ham or not spam:
        assert np.isnan(found)
        return
    wrong = sum((one > other) + (one == other) / 2 for one in ham for other in spam)
    assert found == pytest.approx(100 * wrong / (len(ham) * len(spam)))


def test_measures_count_what_they_say() -> None:
    spam = np.array([False] * 500 + [True] * 500)
    score = np.where(spam, 1.0, -1.0)
    score[0], score[999] = 2.0, -2.0  # the worst ham and the best hidden spam
    chance = 1 / (1 + np.exp(-4 * score))
    verdict = ["spam" if c > 0.99 else "ham" if c < 0.5 else "unsure" for c in chance.tolist()]
    order = np.random.default_rng(0).permutation(1000)
    run = Run("made", score[order].tolist(), chance[order].tolist(), [verdict[place] for place in order])
    found = measures(run, spam[order])
    assert found["accuracy %"] == pytest.approx(99.8)
    assert found["best accuracy %"] == pytest.approx(99.8)
    assert found["1-ROCA%"] == pytest.approx(100 * (500 + 499) / 500**2)
    assert found["cost 9:1, over the best"] >= 1.0
    assert found["of it unsure %"] == pytest.approx(100.0, abs=1.0)


def test_orders_are_what_they_are_called(corpus: Path) -> None:
    read = Corpus.read(corpus)
    assert read.order("time") == list(range(199, -1, -1))
    assert read.order("file") == list(range(200))
    assert read.order("seed:3") == read.order("seed:3") != read.order("seed:4")
    assert [read.lines[place]["rand"] for place in read.order("rand")] == sorted(
        line["rand"] for line in read.lines
    )
    ham = int((~read.spam).sum())
    assert (
        not read.spam[read.order("ham-first")[:ham]].any()
        and not read.spam[read.order("spam-first")[-ham:]].any()
    )
    batches = read.order("batches:10")
    assert sorted(batches) == list(range(200))
    assert [bool(read.spam[place]) for place in batches[:40]] == ([False] * 10 + [True] * 10) * 2
    with pytest.raises(SystemExit, match="seed:N"):
        read.order("best")


def test_wrong_labels_are_as_many_as_asked_for() -> None:
    spam = np.arange(4000) % 3 == 0
    assert (with_wrong_labels(spam, 0.0) == spam).all()
    wrong = with_wrong_labels(spam, 0.05) != spam
    assert 0.04 < wrong.mean() < 0.06 and wrong[spam].any() and wrong[~spam].any()
    others = with_wrong_labels(spam, 0.05, seed=1) != spam
    assert (with_wrong_labels(spam, 0.05, seed=1) != spam).tolist() == others.tolist() != wrong.tolist()


@pytest.mark.skipif(not stream_bayes.compiled, reason="benchmarks refuse this build")
def test_mistakes_fall_where_their_kind_says_and_newsletters_on_few_senders(corpus: Path) -> None:
    mails = Corpus.read(corpus)
    ham, spam = ~mails.spam, mails.spam
    wrong = {kind: mistakes(mails, kind, 0.2, 0) ^ spam for kind in KINDS}
    assert all(each.any() for each in wrong.values())
    assert (wrong["both"] & ham).any() and (wrong["both"] & spam).any()
    assert not (wrong["spam pressed"] & spam).any() and not (wrong["ham pressed"] & ham).any()
    senders = [line["raw"].partition("From: ")[2].partition("\n")[0] for line in mails.lines]
    pressed = {sender for sender, is_wrong in zip(senders, wrong["newsletters"], strict=True) if is_wrong}
    of_ham = {sender for sender, is_ham in zip(senders, ham, strict=True) if is_ham}
    assert pressed < of_ham and not (wrong["newsletters"] & spam).any()


def test_what_wrong_labels_cost_is_a_row_for_each_kind_and_share(corpus: Path) -> None:
    table, checks = compared("mails", Corpus.read(corpus), ["both", "spam pressed"], [0.05], [0])
    assert table.row_count == 3 and len(checks) == 2


def test_a_run_prints_its_measures(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = corpus.with_name("kept.json")
    assert main([str(corpus), "--order", "seed:1", "--alone", "--json", str(kept)]) == 0
    printed = capsys.readouterr().out
    for part in ("1-ROCA%", "ham lost %", "spam missed %", "messages/s", "memory", "seed:1", "checks met"):
        assert part in printed
    assert len(json.loads(kept.read_text())["seed:1"]["SpamFilter"]["score"]) == 200


@pytest.mark.skipif(not stream_bayes.compiled, reason="benchmarks refuse this build")
def test_what_hostile_messages_cost_is_printed_with_the_cap_and_without(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(corpus), "--order", "seed:1", "--hostile", "50"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    for part in (
        "1-ROCA%, capped",
        "1-ROCA%, uncapped",
        "hostile messages of 50 words",
        "honest",
        "2 checks met",
    ):
        assert part in printed


def test_hostile_messages_hold_words_of_ham_and_come_late_and_seldom() -> None:
    ham: list[bytes | str] = [b"Subject: lunch\n\nnotes agenda", "minutes of the meeting"]
    hostile = dictionary(ham, 750, 4, 0.01)
    assert [place for place, _ in hostile] == [500, 600, 700]
    own = {"notes", "agenda", "minutes", "of", "the", "meeting"}
    assert all(len(bag) == 4 and set(bag) <= own for _, bag in hostile)


def test_the_cap_is_off_only_while_it_is_to_be() -> None:
    long = {f"w{number}": 1 for number in range(20_000)}

    def counted(**settings: int) -> float:
        model = SpamFilter(**settings)  # type: ignore[arg-type]  # settings of numbers alone
        model.learn_one(long, "spam")
        return model.messages["spam"]

    with uncapped() as settings:
        assert counted(**settings) == 1.0
    assert counted() == counted(influence=700) < 0.01


@pytest.mark.skipif(not stream_bayes.compiled, reason="benchmarks refuse this build")
def test_others_stand_beside_it_and_orders_are_summed_up(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = corpus.with_name("few.jsonl.gz")
    with gzip.open(corpus, "rb") as file:
        few.write_bytes(gzip.compress(b"".join(file.readlines()[:60])))
    assert main([str(few), "--order", "seed:1", "--order", "time"]) == 0
    printed = capsys.readouterr().out
    programs = {"bogofilter": "bogofilter", "sa-learn": "SpamAssassin's Bayes"}
    others = ["River MultinomialNB", *(name for program, name in programs.items() if shutil.which(program))]
    for other in others:
        assert f"mean 1-ROCA over {other}'s, 2 orders: " in printed
        assert "cost 99:1 over the best threshold of each of 2 orders" in " ".join(printed.split())
        assert printed.count(other.split()[0]) >= 3  # at the head of a column for each order
    assert ("bogofilter is not installed" in printed) == (shutil.which("bogofilter") is None)


@pytest.mark.soak
@pytest.mark.skipif(shutil.which("sa-learn") is None, reason="SpamAssassin is not installed")
def test_spamassassins_bayes_learns_and_judges() -> None:
    mails = [(raw, label == "spam") for raw, label in stream(460, spam_share=0.5)]
    run = OTHERS["sa-learn"](mails)
    spam = np.array([label for _, label in mails])
    late = np.arange(len(mails)) > 440  # it gives no probability before 200 messages of each label
    assert set(run.score[:300]) == {0.5}
    assert roca(np.array(run.score)[late], spam[late]) < 5.0
    assert run.memory and run.seconds


def test_labels_that_come_late_are_learned_late(corpus: Path) -> None:
    read = Corpus.read(corpus)
    mails = [(message, bool(spam)) for message, spam in zip(read.messages, read.spam, strict=True)]
    late, at_once = ours(mails, delay=50), ours(mails)
    assert set(late.probability[:50]) == {late.probability[0]}  # nothing was learned yet
    assert late.score[51] != late.score[0]
    assert len(set(at_once.probability[:50])) > 10
    assert roca(np.array(late.score), read.spam) > roca(np.array(at_once.score), read.spam)


PLAIN = b"From: a@example.com\nSubject: hi\nReceived: from x.example\nContent-Type: text/plain\n\nbuy <now> http://a.example/b\n"


def test_a_rewriting_changes_the_text_and_keeps_the_headers() -> None:
    words = ["lunch", "agenda"]
    for name in (*REWRITINGS, ATTACHED):
        raw = rewritten(PLAIN, name, words)
        assert raw.startswith(
            b"From: a@example.com\nSubject: hi\nReceived: from x.example\nMIME-Version: 1.0\n"
        )
        assert raw.count(b"text/html") == (name != ATTACHED)
        assert (b"lunch agenda" in raw) == (" words" in name)
        plain_text = b"buy &lt;now&gt;" in raw
        assert plain_text == (not name.startswith(("zero", "look", "full")))
        assert (b"http://" in raw) == (name != "addresses without scheme" and plain_text)
    kept = with_few_headers(PLAIN)
    assert (
        b"Received" not in kept and kept.endswith(b"buy <now> http://a.example/b\n") and b"text/plain" in kept
    )


@pytest.mark.skipif(not stream_bayes.compiled, reason="benchmarks refuse this build")
def test_what_is_caught_of_rewritten_spam_is_printed(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(corpus), "--order", "seed:1", "--alone", "--rewritten"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    for part in ("all headers", "few headers", "as they came", "look-alike letters", " of 46 checks met"):
        assert part in printed


def test_a_rewriting_that_saves_more_than_a_tenth_of_the_spam_is_a_miss() -> None:
    counts = {"as they came": Judged(100, 0), "hidden": Judged(90, 5), "letters": Judged(89, 4)}
    peer = {"as they came": Judged(80, 0), "hidden": Judged(10, 4), "letters": Judged(10, 4)}
    assert missed(rewriting_checks("made", counts, peer)) == [
        "letters: at least 0.9 of the catch",
        "hidden: no more called ham than by bogofilter",
    ]


def order_of(places: list[int], spam: np.ndarray, **scores: np.ndarray) -> Order:
    runs = {name: Run(name, score[places].tolist()) for name, score in scores.items()}
    return Order("made", places, spam[places], runs)


def test_a_mean_over_orders_draws_each_message_as_often_in_each() -> None:
    rng, spam = np.random.default_rng(2), np.arange(80) % 2 == 0
    better, worse = spam + rng.normal(0, 0.4, 80), spam + rng.normal(0, 1.0, 80)
    several = [order_of(rng.permutation(80).tolist(), spam, ours=better, bogofilter=worse) for _ in range(3)]
    ratio, low, high = over(several, "bogofilter")
    assert ratio == pytest.approx(roca(better, spam) / roca(worse, spam))
    assert low < ratio < high
    alone = over([order_of(list(range(80)), spam, ours=better, bogofilter=worse)], "bogofilter")
    assert (ratio, low, high) == pytest.approx(alone)  # the same messages, so the same draws
    same = over([order_of(list(range(80)), spam, ours=worse, bogofilter=worse)], "bogofilter")
    assert same == (1.0, 1.0, 1.0)


GOOD = {
    "ham lost %": 0.1,
    "spam missed %": 8.0,
    "cost 9:1, over the best": 1.2,
    "cost 99:1, over the best": 1.2,
    "messages/s of processor time": 2_000.0,
    "memory, MB": 40.0,
    "tokens": 150_000.0,
}


def checked(found: dict[str, float], fast: bool = True) -> list[Check]:
    spam = np.arange(40) % 2 == 0
    score = np.random.default_rng(3).normal(0, 1, 40)
    orders = [order_of(list(range(40)), spam, ours=spam + score / 9, bogofilter=score)]
    return checks_of("made", orders, [found], fast)


def missed(checks: list[Check]) -> list[str]:
    return [check.what for check in checks if not check.met]


def test_what_reaches_every_target_is_said_to() -> None:
    assert missed(checked(GOOD)) == []
    assert len(checked(GOOD)) == 7


@pytest.mark.parametrize("name", [name for name in GOOD if name != "tokens"])
def test_each_target_can_be_missed_and_only_that_one_is(name: str) -> None:
    worse = GOOD | {name: GOOD[name] * (0.99 if name.startswith("messages/s") else 1.01)}
    (what,) = missed(checked(worse))
    assert what.startswith(name.split(",")[0])


def test_without_the_fast_parser_less_speed_is_asked_for() -> None:
    assert missed(checked(GOOD | {"messages/s of processor time": 600.0}, fast=False)) == []


def test_beside_bogofilter_more_than_luck_is_asked_for() -> None:
    spam = np.arange(40) % 2 == 0
    score = spam + np.random.default_rng(4).normal(0, 1, 40)
    (beside, *_) = checks_of(
        "made", [order_of(list(range(40)), spam, ours=score, bogofilter=score)], [GOOD], True
    )
    assert not beside.met
    alone = checks_of("made", [order_of(list(range(40)), spam, ours=score)], [GOOD], True)
    assert not any("bogofilter" in check.what for check in alone)


def test_an_attack_is_stood_where_little_is_lost_and_less_than_half_of_it() -> None:
    assert falls({"honest": (99.0, 0.25), "attacked": (98.0, 0.5)}) == Falls(1.0, 0.25)
    assert missed(attack_checks("made", Falls(1.0, 0.1), Falls(5.0, 0.3))) == []
    assert missed(attack_checks("made", Falls(2.0, 0.1), Falls(5.0, 0.3)))[0].startswith("accuracy")
    assert missed(attack_checks("made", Falls(1.0, 0.2), Falls(5.0, 0.3)))[0].startswith("1-ROCA%")


def test_the_speed_is_that_of_the_best_order_beside_bogofilters() -> None:
    spam = np.arange(40) % 2 == 0
    score = np.random.default_rng(3).normal(0, 1, 40)
    order = order_of(list(range(40)), spam, ours=spam + score / 9, bogofilter=score)
    for seconds, slow in (
        (1.2, []),
        (1.3, ["messages/s of processor time over bogofilter's in bulk: at least 0.8"]),
    ):
        order.runs["ours"].seconds, order.runs["bogofilter"].seconds = seconds, 1.0
        assert missed(checks_of("made", [order], [GOOD], True)) == slow


def test_training_by_class_is_compared_on_later_mail(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    orders = ["spam-first", "batches:20"]
    found = later_mail(Corpus.read(corpus), orders, {})
    assert [*found] == ["mixed", *orders]
    assert all(one.ham + one.spam == 5 * 67 and one.ham_lost == 0 for one in found.values())
    assert found["mixed"] != found["spam-first"]
    worse = {"mixed": Later(100, 50, 1, 10, 0.1), "ham-first": Later(100, 50, 2, 13, 0.1)}
    assert [check.met for check in by_class_checks(worse)] == [True, False]
    assert main([str(corpus), "--later", "--order", "spam-first"]) == 0
    assert "spam-first" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="ham-first, spam-first or batches:N"):
        later_mail(Corpus.read(corpus), ["time"], {})
