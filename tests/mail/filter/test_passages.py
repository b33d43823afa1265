"""Mails with parts that say different things, and mails that say hardly anything."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stream_bayes import Costs, Thresholds
from stream_bayes.mail import EmailTokens, SpamFilter, UserFilter
from stream_bayes.mail.filter.token_scorer import MEAN_WEIGHT, PASSAGE, TokenScorer
from tests.mail.messages import headers, multipart, plain

WORDS = {label: [f"{label}{number}" for number in range(300)] for label in ("ham", "spam")}
COMMON = [f"word{number}" for number in range(300)]


def text(rng: np.random.Generator, label: str, own: int = 40) -> str:
    return " ".join([*rng.choice(WORDS[label], own), *rng.choice(COMMON, 20)])


@pytest.fixture(scope="module")
def model() -> SpamFilter:
    rng = np.random.default_rng(0)
    trained = SpamFilter()
    for number in range(300):
        label = "spam" if number % 2 else "ham"
        sender = f"{label}{number % 20}@{label}.example.com"
        trained.learn_one(plain(text(rng, label), sender=sender, subject=f"about {number}"), label)
    return trained


def test_words_of_ham_around_a_spam_do_not_make_it_ham(model: SpamFilter) -> None:
    rng = np.random.default_rng(1)
    many, spam, ham = text(rng, "ham", 1_500), text(rng, "spam"), headers("ham3@ham.example.com")
    inner = plain(spam, sender="spam3@spam.example.com", subject="offer")
    carrier = f"Content-Type: text/plain\n\n{many}\n".encode()
    attached = b"Content-Type: message/rfc822\n\n" + inner
    mails = {
        "after": f"{ham}\n{spam} {many}\n".encode(),
        "before": f"{ham}\n{many} {spam}\n".encode(),
        "within": f"{ham}\n{many} {spam} {many[::-1]}\n".encode(),
        "attached": multipart(carrier, attached, sender="ham3@ham.example.com"),
    }
    assert {name: model.verdict_one(raw) for name, raw in mails.items()} == dict.fromkeys(mails, "unsure")
    assert all(model.predict_proba_one(raw)["spam"] >= 0.5 for raw in mails.values())
    decided = SpamFilter.from_state(model.state())
    for rule, verdict in (
        (Costs.false_positive(30.0, unsure=0.5), "unsure"),
        (Thresholds({"spam": 0.98}, otherwise="ask"), "ask"),
        (Costs.zero_one(["ham", "spam"]), "ham"),  # never unsure: at even odds no ham is lost
        (Costs.false_positive(30.0), "ham"),
    ):
        decided.set_costs(rule)
        assert {decided.verdict_one(raw) for raw in mails.values()} == {verdict}
    assert {decided.predict_one(raw) for raw in mails.values()} == {"ham"}
    user = UserFilter(model)
    assert [user.verdict_one(raw) for raw in mails.values()] == ["unsure"] * 4
    assert model.verdict_one(f"{ham}\n{many}\n".encode()) == "ham"


def test_a_short_spam_in_one_part_beside_ham_in_another_is_not_ham(model: SpamFilter) -> None:
    rng = np.random.default_rng(4)
    sender = "ham3@ham.example.com"
    many = text(rng, "ham", 400)
    short = " ".join(rng.choice(WORDS["spam"], 12))
    ham, spam = (f"Content-Type: text/plain\n\n{words}\n".encode() for words in (many, short))
    page = f"Content-Type: text/html\n\n<p>{short}\n".encode()
    known = f"Content-Type: text/plain\n\n{many} {short}\n".encode()  # all words are in the other one
    mails = {
        "before": multipart(spam, ham, sender=sender),
        "after": multipart(ham, spam, sender=sender),
        "between": multipart(ham, spam, ham, sender=sender),
        "page": multipart(ham, page, sender=sender, media="multipart/related"),
        "event": multipart(ham, f"Content-Type: text/calendar\n\nSUMMARY:{short}\n".encode(), sender=sender),
        "message": multipart(
            ham, b"Content-Type: message/rfc822\n\nSubject: notes\n\n" + spam, sender=sender
        ),
        "words of the other part": multipart(known, spam, sender=sender),
    }
    alone = plain(short, sender=sender)
    user, keyed = UserFilter(model), SpamFilter(key=b"k" * 16)
    for number in range(300):
        label = "spam" if number % 2 else "ham"
        keyed.learn_one(plain(text(rng, label), sender=f"{label}{number % 20}@{label}.example.com"), label)
    for one in (model, user, keyed):
        assert {name: one.verdict_one(raw) for name, raw in mails.items()} == dict.fromkeys(mails, "unsure")
        assert one.verdict_one(alone) != "ham" == one.verdict_one(multipart(ham, ham, sender=sender))


def test_marks_of_parts_are_no_evidence() -> None:
    ham, notes = (f"Content-Type: text/plain\n\n{words}\n".encode() for words in ("lunch at noon", "see you"))
    raw = multipart(ham, notes, sender="ann@example.com")
    marked = EmailTokens(characters=True).transform_one(raw)
    for one in (SpamFilter(), SpamFilter(key=b"k" * 16)):
        bag = one.bag_of(raw)
        assert "part:2" in marked and len(bag.tokens) == len(marked) - 1 and len(bag.borders) == 2
        assert (one.bag_of(marked).tokens, one.bag_of(marked).borders) == (bag.tokens, bag.borders)
    assert one.id_of(SpamFilter().bag_of(raw)) == one.id_of(marked)


def test_the_spammiest_passage_has_the_score_of_its_tokens_alone(model: SpamFilter) -> None:
    scorer = model.unwanted_contest.scorer
    assert isinstance(scorer, TokenScorer)
    rng = np.random.default_rng(2)
    for tokens in (1, 29, 60, 61, 89, 90, 150, 400):
        drawn = rng.choice([*WORDS["ham"], *WORDS["spam"], *COMMON, "new"], tokens, replace=False).tolist()
        ends = [*range(0, tokens - PASSAGE // 2 + 1, PASSAGE // 2)]
        ends = [*ends[:-1], tokens] if len(ends) > 1 and ends[-1] + PASSAGE // 2 > tokens else [*ends, tokens]
        ends = sorted({0, *ends})
        spans = list(zip(ends, ends[2:], strict=False)) or [(0, tokens)]
        alone = []
        for start, stop in spans:
            codes = scorer.table.codes_of(dict.fromkeys(drawn[start:stop], 1))
            mean, margin = scorer.table.score(codes, stop - start)
            alone.append(margin + MEAN_WEIGHT * mean)
        codes = scorer.table.codes_of(dict.fromkeys(drawn, 1))
        borders = np.array([place for place in (0, 40, 41, 300) if place < tokens], np.int32)
        pieces = [
            scorer.table.spammiest(piece, PASSAGE, MEAN_WEIGHT, np.zeros(0, np.int32))
            for piece in np.split(codes, borders)
            if len(piece)
        ]
        assert scorer.table.spammiest(codes, PASSAGE, MEAN_WEIGHT, borders) == max(pieces)
        assert math.isclose(
            scorer.table.spammiest(codes, PASSAGE, MEAN_WEIGHT, np.zeros(0, np.int32)),
            max(alone),
            rel_tol=1e-9,
        )


@pytest.mark.parametrize(
    "raw", [b"", b"\n", b"From:", b"From: ham3@ham.example.com\n\n", "", "\u200b", "..."]
)
def test_what_nobody_can_read_is_unsure(model: SpamFilter, raw: bytes | str) -> None:
    assert model.verdict_one(raw) == "unsure" and model.predict_proba_one(raw)["spam"] >= 0.5


def test_what_is_hardly_seen_is_near_the_prior(model: SpamFilter) -> None:
    user = UserFilter(model)
    for raw in (b"\n\nham1", "ham1", "spam1"):
        for one in (model, user):
            assert 0.15 < one.predict_proba_one(raw)["spam"] < 0.85
    rng = np.random.default_rng(3)
    assert model.predict_proba_one(plain(text(rng, "ham"), sender="ham1@ham.example.com"))["spam"] < 0.1


@pytest.mark.parametrize(
    ("word", "trick"), [("ha\u200bm1", "zero-width"), ("\uff48am1", "styled"), ("h\u0430m1", "mixed-scripts")]
)
def test_a_trick_with_letters_is_ham_only_after_some_ham_had_it(word: str, trick: str) -> None:
    rng = np.random.default_rng(2)
    trained = SpamFilter()
    for number in range(120):
        label = "spam" if number % 2 else "ham"
        trained.learn_one(plain(text(rng, label), subject=f"about {number}"), label)
    mail = plain(f"{text(rng, 'ham')} {word}")
    assert f"text:{trick}" in EmailTokens().transform_one(mail)
    assert trained.verdict_one(plain(f"{text(rng, 'ham')} ham1")) == "ham"
    user = UserFilter(trained)
    assert [each.verdict_one(mail) for each in (trained, user)] == ["unsure"] * 2
    other = plain(f"{text(rng, 'spam')} {word}")
    trained.learn_one(other, "spam", id="other")  # no ham had it
    assert trained.verdict_one(mail) == "unsure"
    user.learn_one(plain(f"{text(rng, 'ham')} {word}"), "ham")
    assert user.verdict_one(mail) == "ham" and trained.verdict_one(mail) == "unsure"
    trained.learn_one(plain(f"{text(rng, 'ham')} {word}"), "ham")
    assert trained.verdict_one(mail) == "ham"
