"""The second opinion: a margin over 4-grams beside that over tokens, exact when taken back, and explained."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from stream_bayes.core.events.event import Event
from stream_bayes.errors import BadState, CannotMerge, NotSupported
from stream_bayes.learners.classifiers.text import BernoulliNB
from stream_bayes.mail import SpamFilter
from stream_bayes.mail.filter._evidence import STEP
from stream_bayes.mail.filter._grams import SLOTS, GramTable
from stream_bayes.mail.filter.arguments import make_filter
from stream_bayes.mail.filter.base_model import base_of
from stream_bayes.mail.filter.second_opinion import ENOUGH, MOST, SECOND_OPINION, CharacterOpinion
from stream_bayes.mail.filter.token_scorer import TokenScorer
from stream_bayes.mail.filter.user_filter import UserFilter
from stream_bayes.mail.streams.product_model import SPAM_FILTER
from stream_bayes.mail.streams.shard_filter import FilterTotal
from stream_bayes.mail.text.tokens import without_characters
from tests.mail.messages import stream
from tests.resealing import resealed

SPAM = ["free pills offer", "cheap watches offer", "free watches, click", "pills pills pills now"]
HAM = ["lunch notes", "meeting moved to monday", "notes of the meeting", "dinner on monday"]


def trained(number: int = 4, **arguments: Any) -> SpamFilter:
    model = SpamFilter(**arguments)
    for place in range(number):
        model.learn_one(SPAM[place], "spam", id=f"s{place}")
        model.learn_one(HAM[place], "ham", id=f"h{place}")
    return model


def scorer_of(model: SpamFilter) -> TokenScorer:
    scorer = model.unwanted_contest.scorer
    assert isinstance(scorer, TokenScorer) and isinstance(scorer.opinion, CharacterOpinion)
    return scorer


def sums_of(model: SpamFilter) -> tuple[Any, Any]:
    """The sums of steps and of their squares."""
    return scorer_of(model).opinion.sums


def grams_of(text: str) -> set[str]:
    return {text[place : place + 4] for place in range(len(text) - 3)}


def test_the_margin_is_that_of_a_linear_model_over_the_different_4_grams() -> None:
    table, text = GramTable(ENOUGH), " pills pillow ill "
    table.read_text(text)
    many = len(grams_of(text))
    assert table.grams == many
    table.add(1 << 32)
    assert np.count_nonzero(table.steps) == many
    weight = 1.0 / math.sqrt(1.0 + 1000.0)
    assert table.margin() == pytest.approx(math.sqrt(many) * weight)
    assert table.margin(1 << 32) == 0.0
    table.read_text(" pillow ball ")
    shared = len(grams_of(" pillow ball ") & grams_of(text))
    assert shared < ENOUGH < many
    assert table.margin() == pytest.approx(
        shared / math.sqrt(len(grams_of(" pillow ball "))) * weight * shared / ENOUGH
    )
    table.read_text(text)
    for step in (-(1 << 31), 12_345, -77_777):
        table.add(step)
        table.add(step, -1)
    assert np.unique(table.steps).tolist() == [0, 1 << 32] and np.unique(table.squares).tolist() == [
        0,
        1 << 40,
    ]


def test_letters_of_all_alphabets_and_long_texts_are_read() -> None:
    table = GramTable(ENOUGH)
    for text in ("ж" * 4, "日本語です", "\U0001f4a9" * 5, "x" * 5_000, "abc", ""):
        table.read_text(text)
        assert table.grams == len(grams_of(text)), text[:5]
    table.read_text(" ".join(f"token{number}" for number in range(20_000)))
    assert table.grams > 5_000


def test_it_reads_the_beginning_of_headers_and_text_as_they_are_seen() -> None:
    page = b"<p title=unseen>Free pi<b></b>lls, free pills!</p><p style='display:none'>hidden</p>"
    mail = b"From: ann@example.com\nX-Spam-Status: Yes\nSubject: =?utf-8?q?caf=C3=A9?=\nContent-Type: text/html\n\n"
    tokens, characters = without_characters(SpamFilter().bag_of(mail + page).tokens)
    assert "free pills, free pills!" in characters and "subject: café" in characters
    assert not any(word in characters for word in ("unseen", "hidden", "spam-status"))
    assert list(tokens) == list(SpamFilter(second_opinion=False).bag_of(mail + page).tokens)
    _, characters = without_characters(SpamFilter().bag_of("pills " * 9_000).tokens)
    assert len(characters) < 2_000


def test_the_order_of_words_and_their_signs_count() -> None:
    model = SpamFilter()
    for place in range(20):
        model.learn_one(f"one two three {place}", "ham")
        model.learn_one(f"three, one, two: {place}", "spam")
    assert model.score_one("three, one, two:") > 0.0 > model.score_one("one two three")


def test_it_knows_something_about_words_that_were_never_seen() -> None:
    model, without = trained(), trained(second_opinion=False)
    assert without.score_one("pillz") == without.score_one("xyzzy")
    assert model.score_one("pillz watchez") > 0.0 > model.score_one("meetings notez")


def test_the_explanation_shows_both() -> None:
    model = trained()
    why = model.explain_one("free lunch, pillz")
    rows = {row.token: row.adds for row in why.tokens}
    assert {"free", "lunch", SECOND_OPINION} <= rows.keys()
    assert (
        sum(rows.values()) == pytest.approx(why.score) == pytest.approx(model.score_one("free lunch, pillz"))
    )
    assert SECOND_OPINION in str(why)


def test_it_learns_what_the_tokens_get_wrong() -> None:
    model = SpamFilter()
    for raw, label in stream(400):
        model.learn_one(raw, label)
    receipts = list(model.unwanted_contest.receipts.by_id.values())
    wrong = [receipt for receipt in receipts if (receipt.opinion > 0.5) != receipt.label]
    right = [abs(receipt.turn) for receipt in receipts if abs(receipt.opinion - receipt.label) < 0.01]
    assert wrong and right
    assert np.mean([abs(receipt.turn) for receipt in wrong]) > 10 * max(right)
    # A label that is clearly contradicted is hardly trusted; any other teaches more than one that was foreseen.
    assert min(abs(receipt.turn) for receipt in wrong if 0.05 < receipt.opinion < 0.95) > max(right)


def test_what_it_adds_is_bounded_and_a_label_that_contradicts_both_teaches_it_little() -> None:
    model = SpamFilter()
    for place in range(100):
        model.learn_one(SPAM[place % 4], "spam", id=f"s{place}")
        model.learn_one(HAM[place % 4], "ham", id=f"h{place}")
    scorer, bag = scorer_of(model), model.bag_of(SPAM[0]).tokens
    added = {row.token: row.adds for row in model.explain_one(SPAM[0]).tokens}[SECOND_OPINION]
    assert 0.5 * MOST < added <= MOST
    score = scorer.score(bag)
    receipt = scorer.learn(bag, score, 0)
    untrusting = STEP * score.opinion / math.sqrt(len(receipt.grams))
    assert score.opinion > 0.9 and -0.2 * untrusting < receipt.turn < 0


def test_corrections_are_exact_and_idempotent() -> None:
    model, other = trained(), trained()
    model.learn_one("weekly digest of offers", "spam", id="new")
    other.learn_one("weekly digest of offers", "ham", id="new")
    for _ in range(2):
        model.correct("new", "ham")
        model.learn_one("weekly digest of offers", "ham", id="new")
    for each in (model, other):
        each.replay()
    assert model.score_one("digest of pillz") == other.score_one("digest of pillz")
    for own, others in zip(sums_of(model), sums_of(other), strict=True):
        assert own.any() and (own == others).all()
    for name in model.ids():
        model.forget(name)
    assert not any(own.any() for own in sums_of(model))


def test_any_order_gives_the_same_filter_after_a_replay() -> None:
    mails = [(text, "spam") for text in SPAM] + [(text, "ham") for text in HAM]
    scores = set()
    for seed in range(5):
        model = SpamFilter()
        for place in np.random.default_rng(seed).permutation(len(mails)).tolist():
            text, label = mails[place]
            model.learn_one(text, label, id=str(place))
        model.replay()
        scores.add(model.score_one("free lunch, pillz"))
    assert len(scores) == 1


@pytest.mark.parametrize("order", [("spam", "ham"), ("ham", "spam")])
def test_training_by_class_is_as_good_as_in_any_order(order: tuple[str, str]) -> None:
    mails = list(stream(600))
    later = list(stream(300, seed=9))

    def wrong(learned: list[tuple[bytes, str]]) -> int:
        model = SpamFilter()
        for raw, label in learned:
            model.learn_one(raw, label)
        return sum((model.score_one(raw) > 0.0) != (label == "spam") for raw, label in later)

    by_class = [mail for name in order for mail in mails if mail[1] == name]
    assert wrong(by_class) <= wrong(mails) + 3


def test_the_state_comes_back_and_goes_on_alike() -> None:
    model = SpamFilter(max_tokens=400, max_receipts=60)
    for raw, label in stream(150):
        model.learn_one(raw, label)
    loaded = SpamFilter.from_state(model.state())
    assert loaded.has_second_opinion and loaded.settings() == model.settings()
    for each in (model, loaded):
        for raw, label in stream(60, seed=7):
            each.learn_one(raw, label)
        each.correct(each.ids()[0], "spam")
        each.forget(each.ids()[1])
        each.replay()
    assert loaded.state()["checksum"] == model.state()["checksum"]


@pytest.mark.parametrize(
    ("name", "value"),
    [("gram_places", -1), ("gram_places", SLOTS), ("gram_steps", 2**61), ("gram_squares", -1)],
)
def test_a_state_with_a_4_gram_out_of_range_is_refused(name: str, value: int) -> None:
    state = trained().state()
    state["arrays"][name][-1] = value
    with pytest.raises(BadState, match=r"4-gram|gram_"):
        SpamFilter.from_state(resealed(state))


@pytest.mark.parametrize("change", [lambda grams: grams[1:], lambda grams: grams.astype(np.int32)])
def test_a_state_whose_receipts_have_other_4_grams_is_refused(change: Callable[[Any], Any]) -> None:
    state = trained().state()
    state["arrays"]["receipt_grams"] = change(state["arrays"]["receipt_grams"])
    with pytest.raises(BadState, match="4-grams"):
        SpamFilter.from_state(resealed(state))


def test_a_correction_is_exact_after_all_tokens_were_evicted() -> None:
    model = SpamFilter(max_tokens=30)
    model.learn_one("free pills offer", "spam", id="first")
    before = [own.copy() for own in sums_of(model)]
    for place in range(60):
        model.learn_one(f"lunch{place} notes{place} agenda{place}", "ham", id=str(place))
    for name in model.ids():
        if name != "first":
            model.forget(name)
    receipt = model.unwanted_contest.receipts.by_id["first"]
    assert (receipt.codes == -1).any()
    scorer_of(model).unlearn(receipt)
    assert before[0].any() and not any(own.any() for own in sums_of(model))


def test_4_grams_without_a_second_opinion_are_refused() -> None:
    state = trained().state()
    state["parameters"]["second_opinion"] = False
    with pytest.raises(BadState, match="4-grams"):
        SpamFilter.from_state(resealed(state))


def test_filters_are_merged_by_sums() -> None:
    one, other = SpamFilter(), SpamFilter()
    one.learn_one("free pills", "spam", id="1")
    other.learn_one("lunch notes", "ham", id="2")
    one.merge(other)
    assert one.score_one("pillz") > 0.0 > one.score_one("lunchez")
    with pytest.raises(CannotMerge, match="second_opinion"):
        one.merge(SpamFilter(second_opinion=False))


def test_each_class_has_one() -> None:
    model = SpamFilter(("ham", "spam", "newsletter"))
    for text, label in [("free pills", "spam"), ("lunch notes", "ham"), ("weekly digest", "newsletter")]:
        model.learn_one(text, label)
    loaded = SpamFilter.from_state(model.state())
    assert loaded.predict_one("weekly digests") == model.predict_one("weekly digests") == "newsletter"


def test_a_pipeline_file_may_ask_for_it_and_its_events_hold_the_characters() -> None:
    model = make_filter({"second_opinion": True})
    for raw, label in stream(30):
        model.learn_one(raw, label)
    raw, _ = next(stream(1, seed=9))
    event = SPAM_FILTER.make_decoder(model, 10_000, []).decode(raw, key="a")
    assert isinstance(event, Event)
    assert model.score_one(json.loads(json.dumps(event.x["tokens"]))) == model.score_one(raw)


def test_the_tokens_alone_score_where_a_learner_does_or_it_is_left_out() -> None:
    assert not SpamFilter(learner=BernoulliNB()).has_second_opinion
    with pytest.raises(NotSupported, match="second_opinion"):
        SpamFilter(learner=BernoulliNB(), second_opinion=True)
    model = trained(second_opinion=False)
    assert model.score_one("pillz") == 0.0
    assert not any(row.token == SECOND_OPINION for row in model.explain_one("free pillz").tokens)


@pytest.mark.parametrize("name", ["key", "salt"])
def test_with_a_key_4_grams_are_stored_as_hashes(name: str) -> None:
    keyed: list[dict[str, Any]] = [{}, {name: b"k" * 16}, {name: b"o" * 16}]
    clear, hashed, other = (trained(**arguments) for arguments in keyed)
    bag = hashed.bag_of("free pillz")
    assert not any(part in token for token in bag.tokens for part in ("pill", "free"))
    assert hashed.score_one(bag) == hashed.score_one("free pillz") == clear.score_one("free pillz")
    assert (sums_of(hashed)[0] != sums_of(clear)[0]).any()
    assert (sums_of(hashed)[0] != sums_of(other)[0]).any()
    assert SECOND_OPINION in {row.token for row in hashed.explain_one("free pillz").tokens}
    key = b"k" * 16 if name == "key" else None
    assert SpamFilter.from_state(hashed.state(), key).score_one("free pillz") == hashed.score_one(
        "free pillz"
    )


def test_users_read_that_of_their_site_and_teach_it_nothing() -> None:
    site = trained()
    user = UserFilter(site)
    assert user.score_one("pillz") == site.score_one("pillz") > 0.0
    before = [own.copy() for own in sums_of(site)]
    for place in range(30):
        user.learn_one("free pills offer", "ham", id=str(place))
    user.replay()
    assert all((own == held).all() for own, held in zip(sums_of(site), before, strict=True))
    assert user.score_one("free pills offer") < 0.0 < user.score_one("pillz") == site.score_one("pillz")
    again = UserFilter.restored(user.state(), site)
    assert again.score_one("free pillz") == user.score_one("free pillz")
    for name in user.ids():
        user.forget(name)
    assert user.score_one("free pills offer") == site.score_one("free pills offer")
    site.learn_one("pillz pillz", "ham")
    assert user.score_one("pillz") == site.score_one("pillz")


def test_a_base_leaves_it_out_and_the_filter_that_begins_with_it_learns_its_own() -> None:
    base = base_of(trained(), 1).model
    assert not any(own.any() for own in sums_of(base))
    model = SpamFilter().add_prior(base)
    assert model.score_one("pillz") == 0.0 < model.score_one("pills")
    for text in SPAM:
        model.learn_one(text, "spam")
    assert model.score_one("pillz") > 0.0


def test_shards_sum_it() -> None:
    total = FilterTotal(SpamFilter())
    shards = [total.shard_model(number) for number in range(2)]
    for shard in shards:
        shard.go_live()
    for place in range(4):
        shards[place % 2].learn({"id": f"s{place}", "text": SPAM[place]}, "spam", 1.0)
        shards[1 - place % 2].learn({"id": f"h{place}", "text": HAM[place]}, "ham", 1.0)
    content = shards[0].content({"id": "s0", "text": SPAM[0]})
    shards[0].relearn(content, "spam", "ham", 1.0, None)
    shards[0].unlearn(shards[0].content({"id": "h1", "text": HAM[1]}), "ham", 1.0, None)
    live = [own.copy() for own in total.scorer.opinion.sums]
    assert live[0].any()
    summed = total.model
    assert summed.score_one("pillz") > 0.0
    for own, held in zip(sums_of(summed), live, strict=True):
        assert (own == held).all()
    published = SpamFilter.from_state(shards[0].model.content().state())
    assert any(own.any() for own in sums_of(published))
