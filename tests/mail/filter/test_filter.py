"""The spam filter's verbs."""

from __future__ import annotations

import pickle
from email import message_from_bytes
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from river import base, metrics

from stream_bayes import BernoulliNB, Costs
from stream_bayes.errors import BadLabel, BadValue, NotLearned
from stream_bayes.mail import EmailTokens, SpamFilter
from tests.mail.filter.filters import counts, trained
from tests.mail.messages import HAM, SPAM, plain, stream

TEXTS = st.sampled_from([f"{one} {other}" for one in "abcd" for other in "wxyz"])
EVENTS = st.lists(st.tuples(TEXTS, st.sampled_from(["ham", "spam"])), max_size=25)


def test_it_is_a_classifier_of_river() -> None:
    model = SpamFilter()
    assert isinstance(model, base.Classifier)
    accuracy = metrics.Accuracy()
    for raw, label in stream(600):
        answer = model.predict_one(raw)
        if answer is not None:
            accuracy.update(label, answer)
        model.learn_one(raw, label)
    assert accuracy.get() > 0.9
    assert model.clone().predict_one(b"") is None


@pytest.mark.parametrize("label", ["ham", "spam"])
@pytest.mark.parametrize("learner", [None, BernoulliNB()])
def test_a_filter_with_one_label_calls_nothing_spam(label: str, learner: BernoulliNB | None) -> None:
    model = SpamFilter(learner=learner and learner.clone())
    for raw, _ in stream(60):
        model.learn_one(raw, label)
    more = [raw for raw, _ in stream(20, seed=1)]
    chances = [model.predict_proba_one(raw)["spam"] for raw in more]
    assert all(0.25 < chance < 0.75 for chance in chances)
    assert {model.verdict_one(raw) for raw in more} <= {"ham", "unsure"}
    by_score = sorted(zip((model.score_one(raw) for raw in more), chances, strict=True))
    assert [chance for _, chance in by_score] == sorted(chances)  # it still rises with the score
    other = "ham" if label == "spam" else "spam"
    model.learn_one("quite another text", other, id="other")
    assert not all(0.25 < model.predict_proba_one(raw)["spam"] < 0.75 for raw in more)
    model.forget("other")
    assert [model.predict_proba_one(raw)["spam"] for raw in more] == pytest.approx(chances, abs=0.1)


def test_before_anything_is_learned_there_is_no_answer() -> None:
    model = SpamFilter()
    assert model.predict_proba_one("a") == {}
    assert model.predict_one("a") is None
    assert model.verdict_one("a") == "unsure"
    assert model.score_one("a") == 0.0


def test_both_labels_are_answered_once_one_was_learned() -> None:
    model = SpamFilter()
    model.learn_one("a", "ham")
    for text in ("a", "never seen", ""):
        answer = model.predict_proba_one(text)
        assert list(answer) == ["ham", "spam"]
        assert sum(answer.values()) == pytest.approx(1.0)


def test_labels_may_be_called_anything() -> None:
    model = SpamFilter(classes=(0, 1))
    model.learn_one("a", 0)
    model.learn_one("b", 1)
    assert model.predict_one("b") == 1
    for wrong in ("spam", True, 2, None):
        with pytest.raises(BadLabel, match="0 and 1"):
            model.learn_one("a", wrong)
    assert model.verdict_one("a") in (0, 1, "unsure")


def test_bytes_text_and_a_bag_are_the_same_message() -> None:
    raw = plain("cheap pills")
    model, tokens_alone = trained(), trained(second_opinion=False)
    assert model.score_one(raw) == model.score_one(EmailTokens(characters=True).transform_one(raw))
    assert tokens_alone.score_one(raw) == tokens_alone.score_one(EmailTokens().transform_one(raw))
    assert tokens_alone.score_one("cheap pills") == tokens_alone.score_one(
        {"cheap": 1, "pills": 2, "never": 0}
    )


@pytest.mark.parametrize(
    "bag", [{"a": -1}, {"a": float("nan")}, {"a": True}, {"a": "1"}, {1: 1}, {b"a": 1}, 7, None, ["a"]]
)
def test_values_that_are_no_message_are_refused_and_not_learned(bag: Any) -> None:
    model = trained(20)
    before = model.state()["checksum"]
    for verb in (
        lambda: model.learn_one(bag, "ham"),
        lambda: model.score_one(bag),
        lambda: model.learn_one("a", "eggs"),
    ):
        with pytest.raises((BadValue, BadLabel)):
            verb()
    assert model.state()["checksum"] == before


def test_reading_changes_nothing() -> None:
    model = trained(60)
    before = model.state()["checksum"]
    for raw, _ in stream(20, seed=9):
        model.score_one(raw), model.predict_proba_one(raw), model.verdict_one(raw), model.explain_one(raw)
    assert model.state()["checksum"] == before


# -- corrections -----------------------------------------------------------------------------------------------------


def test_a_message_that_is_delivered_again_counts_once() -> None:
    once, often = SpamFilter(), SpamFilter()
    for raw, label in stream(50):
        once.learn_one(raw, label)
        for _ in range(3):
            often.learn_one(raw, label)
    assert often.state()["checksum"] == once.state()["checksum"]


@given(EVENTS, st.data())
def test_corrections_leave_the_counts_that_the_right_labels_make(
    events: list[tuple[str, str]], data: st.DataObject
) -> None:
    truth = [data.draw(st.sampled_from(["ham", "spam"])) for _ in events]
    corrected, right = SpamFilter(), SpamFilter()
    for number, ((text, label), true) in enumerate(zip(events, truth, strict=True)):
        corrected.learn_one(text, label, id=str(number))
        right.learn_one(text, true, id=str(number))
    order = data.draw(st.permutations(range(len(events))))
    for number in order:
        corrected.correct(str(number), truth[number])
        corrected.correct(str(number), truth[number])
    assert counts(corrected) == counts(right)
    assert [corrected.label_of(str(number)) for number in order] == [truth[number] for number in order]


@given(EVENTS)
def test_correcting_twice_restores_every_byte(events: list[tuple[str, str]]) -> None:
    model = SpamFilter()
    for number, (text, label) in enumerate(events):
        model.learn_one(text, label, id=str(number))
    before = model.state()["checksum"]
    for number, (_, label) in enumerate(events):
        model.correct(str(number), "spam" if label == "ham" else "ham")
    for number, (_, label) in enumerate(events):
        model.correct(str(number), label)
    assert model.state()["checksum"] == before


def test_learning_a_known_message_with_another_label_corrects_it() -> None:
    corrected, labelled_right = SpamFilter(), SpamFilter()
    corrected.learn_one("cheap pills", "ham")
    corrected.learn_one("cheap pills", "spam")
    labelled_right.learn_one("cheap pills", "spam")
    assert counts(corrected) == counts(labelled_right)


def test_without_an_id_a_message_is_known_by_its_sha_256_and_never_by_its_message_id() -> None:
    model = SpamFilter()
    one, other = plain("one"), plain("other")
    assert b"Message-ID: <hello.17@example.com>" in one
    assert b"Message-ID: <hello.17@example.com>" in other
    model.learn_one(one, "ham")
    model.learn_one(other, "spam")
    assert (model.label_of(model.id_of(one)), model.label_of(model.id_of(other))) == ("ham", "spam")
    assert len(model.id_of(one)) == 64


def test_messages_without_a_receipt_cannot_be_corrected() -> None:
    model = SpamFilter(max_receipts=2)
    for name in "abc":
        model.learn_one(f"text {name}", "ham", id=name)
    model.correct("c", "spam")
    for name in ("a", "never"):
        with pytest.raises(NotLearned, match="the last 2"):
            model.correct(name, "spam")
        with pytest.raises(NotLearned):
            model.forget(name)


def test_a_forgotten_message_leaves_no_count_no_id_and_no_token() -> None:
    model, without = SpamFilter(), SpamFilter()
    for number, (raw, label) in enumerate(stream(40)):
        model.learn_one(raw, label, id=str(number))
        without.learn_one(raw, label, id=str(number))
    model.learn_one("shared secretword offer", "spam", id="secret")
    model.predict_one("shared secretword offer")
    model.forget("secret")
    assert counts(model) == counts(without)
    stored = str(model.state()["store"])
    assert "secretword" not in stored
    assert "'secret'" not in stored
    assert model.score_one("shared secretword offer") == pytest.approx(
        without.score_one("shared secretword offer")
    )
    model.correct("3", "spam")
    without.correct("3", "spam")
    assert counts(model) == counts(without)


# -- what is learned -------------------------------------------------------------------------------------------------


def test_training_on_errors_learns_less_and_still_well() -> None:
    learned, right = {}, {}
    tokens = EmailTokens()
    bags = [(tokens.transform_one(raw), label) for raw, label in stream(1000, seed=5)]
    for train in SpamFilter.TRAINING:
        model = SpamFilter(train=train)
        hits = []
        for place, (bag, label) in enumerate(bags):
            hits.append(model.predict_one(bag) == label)
            model.learn_one(bag, label, id=str(place))
        learned[train] = sum(model.messages.values())
        right[train] = sum(hits[500:]) / len(hits[500:])
    assert learned["near-errors"] < learned["everything"] == 1000
    assert min(right.values()) > 0.9


def test_skipped_messages_can_be_corrected() -> None:
    model = SpamFilter(train="near-errors")
    for raw, label in stream(300):
        model.learn_one(raw, label)
    passed = next(
        key
        for key, receipt in model.unwanted_contest.receipts.by_id.items()
        if not receipt.learned and receipt.label == 0
    )
    before = sum(model.messages.values())
    model.correct(passed, "spam")
    assert sum(model.messages.values()) == before + 1
    assert model.label_of(passed) == "spam"


def test_the_vocabulary_is_bounded_and_the_oldest_rare_tokens_go_first() -> None:
    model = SpamFilter(max_tokens=1_000)
    for number in range(600):
        label = "ham" if number % 2 else "spam"
        model.learn_one(f"often {label} rare{number} other{number} third{number}", label)
        assert model.tokens <= 1_000
    tokens = model.export_counts()["tokens"]
    assert {"often", "rare599", "third598"} <= set(tokens)
    assert "rare0" not in tokens
    assert sum(tokens["often"]) == 600
    for key in list(model.unwanted_contest.receipts):  # exact, for the tokens that are left
        model.forget(key)
    assert model.export_counts()["tokens"] == {}
    assert model.messages == {"ham": 0.0, "spam": 0.0}


def test_with_a_key_no_token_is_kept_in_the_clear_and_nothing_is_judged_otherwise() -> None:
    # 4-grams that share a place differ from key to key.
    clear, hashed = (trained(150, key=key, second_opinion=False) for key in (None, b"0123456789abcdef"))
    other = trained(150, key=b"fedcba9876543210")
    for raw, _ in stream(30, seed=8):
        assert hashed.score_one(raw) == pytest.approx(clear.score_one(raw))
    tokens = set(hashed.export_counts()["tokens"])
    assert len(tokens) == len(clear.export_counts()["tokens"])
    assert not tokens & set(clear.export_counts()["tokens"])
    assert not tokens & set(other.export_counts()["tokens"])


# -- what is answered ------------------------------------------------------------------------------------------------


def test_a_higher_score_has_a_higher_probability() -> None:
    model = trained(300)
    answers = sorted(
        (model.score_one(raw), model.predict_proba_one(raw)["spam"]) for raw, _ in stream(100, seed=3)
    )
    chances = [chance for _, chance in answers]
    assert chances == sorted(chances)
    assert len(set(chances)) == len({score for score, _ in answers})


def test_a_verdict_costs_what_the_costs_say() -> None:
    costs = Costs.false_positive(9, unsure=0.3)
    model, bold = trained(300, costs=costs), trained(300, costs=Costs.zero_one(["ham", "spam"]))
    seen = set()
    for raw, _ in stream(300, seed=4):
        chance = model.predict_proba_one(raw)["spam"]
        verdict = model.verdict_one(raw)
        seen.add(verdict)
        assert verdict == ("spam" if chance >= 1 - 0.3 / 9 else "ham" if chance <= 0.3 else "unsure")
        assert bold.verdict_one(raw) == bold.predict_one(raw)
    assert seen == {"ham", "unsure", "spam"}


def test_probabilities_are_learned_from_scores_of_messages_that_are_not_learned() -> None:
    model = SpamFilter()
    for raw, label in stream(41):
        before = model.score_one(raw)
        model.learn_one(raw, label)
    calibration = model.unwanted_contest.calibration
    assert calibration.scores[calibration.seen - 1] == before  # message 41 came after a replay
    model.replay()
    assert calibration.seen == 41
    for place, key in enumerate(model.unwanted_contest.receipts.mixed()):
        without = SpamFilter.from_state(model.state())
        raw = next(raw for raw, _ in stream(41) if model.id_of(raw) == key)
        without.forget(key)
        assert calibration.scores[place] == pytest.approx(without.score_one(raw))


@given(EVENTS, st.data())
def test_predictions_between_leave_the_state_of_a_filter_that_only_learns(
    events: list[tuple[str, str]], data: st.DataObject
) -> None:
    asked, alone = SpamFilter(), SpamFilter()
    for place, (text, label) in enumerate(events):
        for question in data.draw(st.lists(st.sampled_from(["same", "other"]), max_size=2)):
            asked.predict_proba_one(text if question == "same" else "a w")
        asked.learn_one(text, label, id=f"{place // 2}")  # half of them correct the message before
        alone.learn_one(str(text), label, id=f"{place // 2}")
    assert asked.state()["checksum"] == alone.state()["checksum"]
    for text in ("a w", "b x"):
        assert asked.predict_proba_one(text) == alone.predict_proba_one(text)


def test_the_margin_of_near_errors_widens_with_an_error_and_narrows_without() -> None:
    model = SpamFilter(train="near-errors")
    for number in range(20):
        model.learn_one(f"free pills {number}", "spam")
        model.learn_one(f"lunch notes {number}", "ham")
    margins = [model.unwanted_contest.training.margin]
    for text, label in (("free pills", "ham"), ("lunch notes", "ham")):
        model.learn_one(text, label, id=f"{text} {label}")
        margins.append(model.unwanted_contest.training.margin)
    assert margins[0] < margins[1] > margins[2]


def test_a_token_of_many_messages_may_be_silent_for_longer() -> None:
    model = SpamFilter(max_tokens=100)
    for number in range(8):
        model.learn_one("common", "ham", id=f"common {number}")
    for number in range(150):
        model.learn_one(f"rare{chr(97 + number // 26)}{chr(97 + number % 26)}", "ham")
    shown = [row.token for row in model.explain_one("common rareaa").tokens]
    assert "common" in shown and "rareaa" not in shown


def test_no_letter_of_a_sender_is_spam_after_one_of_three_that_were_pressed_is_corrected() -> None:
    rng, model = np.random.default_rng(1), trained(300, seed=1)
    words = "garden roses tomatoes compost harvest orchard seeds pruning baking bread recipe".split()
    letters = []
    for number in range(30):
        text = [*rng.choice(words, 8).tolist(), *(f"word{place}" for place in rng.integers(300, size=12))]
        letters.append(plain(" ".join(text), sender="letter@garden.example", subject=f"letter {number}"))

    def verdicts() -> set[str]:
        return {model.verdict_one(raw) for raw in letters[3:]}

    for number in range(3):
        model.learn_one(letters[number], "spam", id=f"pressed {number}")
    assert verdicts() == {"spam"}
    model.correct("pressed 0", "ham")
    assert verdicts() == {"ham", "unsure"}
    for number in (1, 2):
        model.correct(f"pressed {number}", "ham")
    assert verdicts() == {"ham"}


def test_with_wrong_labels_verdicts_are_those_of_right_ones() -> None:
    rng = np.random.default_rng(0)

    def text(words: list[str]) -> str:
        return " ".join(rng.choice(words, 8).tolist())

    model, sure, other = SpamFilter(), SpamFilter(), {"ham": "spam", "spam": "ham"}
    for place in range(900):
        label = "spam" if rng.random() < 0.4 else "ham"
        message = f"{text(SPAM if label == 'spam' else HAM)} {place}"
        model.learn_one(message, other[label] if place % 20 == 0 else label)
        sure.learn_one(message, label)
    spam, ham = [text(SPAM) for _ in range(100)], [text(HAM) for _ in range(100)]
    verdicts = ["spam"] * 100 + ["ham"] * 100
    assert [sure.verdict_one(message) for message in spam + ham] == verdicts
    assert [model.verdict_one(message) for message in spam + ham] == verdicts


def test_an_explanation_adds_up_and_reads_as_a_table() -> None:
    model = trained(300)
    why = model.explain_one(plain("casino pills offer meeting", subject="prize"))
    assert sum(row.adds for row in why.tokens) == pytest.approx(why.score)
    assert why.score == model.score_one(plain("casino pills offer meeting", subject="prize"))
    contributions = {row.token: row for row in why.tokens}
    assert contributions["casino"].adds > 0 > contributions["meeting"].adds
    assert contributions["casino"].unwanted > contributions["casino"].wanted
    shown = str(why)
    assert shown.startswith(f"{why.verdict}: score {why.score:.3f}")
    assert "casino" in shown
    assert all(len(line) < 90 for line in shown.splitlines())


# -- settings, and what is the same ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {"classes": ("ham", "ham")},
        {"classes": ["ham", "spam"]},
        {"train": "sometimes"},
        {"max_tokens": 0},
        {"influence": 1.5},
        {"max_receipts": 0},
        {"key": b"short"},
        {"key": "text that is long enough"},
        {"parser": "slow"},
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises((BadValue, BadLabel)):
        SpamFilter(**settings)


def test_numpys_labels_are_pythons() -> None:
    model = SpamFilter(classes=(False, True))
    model.learn_one("a", np.bool_(True))
    assert model.label_of(model.id_of("a")) is True


def test_bags_with_other_counts_are_other_messages() -> None:
    model = SpamFilter()
    for count in (1, 2, 2):
        model.learn_one({"a": count}, "ham")
    assert model.clock == 2


def test_a_pickle_is_the_same_filter_with_its_key() -> None:
    model = trained(40, key=b"a key of sixteen bytes")
    twin = pickle.loads(pickle.dumps(model))
    assert twin.key == model.key and twin.state()["checksum"] == model.state()["checksum"]


def test_a_mail_that_python_has_read_is_refused_with_what_to_give() -> None:
    read, model = message_from_bytes(b"Subject: pills\n\noffer\n"), SpamFilter()
    with pytest.raises(BadValue, match=r"got Message; give its as_bytes\(\)"):
        model.learn_one(read, "spam")  # type: ignore[arg-type]  # refused
    model.learn_one(read.as_bytes(), "spam")
    assert model.predict_proba_one(b"Subject: pills\n\noffer\n")["spam"] > 0.5
