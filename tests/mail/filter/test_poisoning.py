"""One hostile message in a hundred, labelled spam and stuffed with the words of ham, does not ruin the filter."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from stream_bayes.mail import SpamFilter
from stream_bayes.mail.filter import length_weights
from stream_bayes.mail.text.limits import Limits

HAM_WORDS = 6_000
MESSAGES = 1_800
START = 500


def drawn(rng: np.random.Generator, prefix: str, vocabulary: int, number: int) -> list[str]:
    """Words by Zipf's law."""
    share = 1.0 / (np.arange(vocabulary) + 5.0)
    places = rng.choice(vocabulary, number, p=share / share.sum())
    return [f"{prefix}{place}" for place in places.tolist()]


@cache
def honest() -> list[tuple[dict[str, int], str]]:
    """Messages of words that both labels use, and of words that mostly one of them does."""
    rng = np.random.default_rng(11)
    made = []
    for _ in range(MESSAGES):
        label = "spam" if rng.random() < 0.35 else "ham"
        ham, spam = (4, 7) if label == "spam" else (12, 3)
        words = [*drawn(rng, "c", 500, 25), *drawn(rng, "h", HAM_WORDS, ham), *drawn(rng, "s", 1_500, spam)]
        made.append((dict.fromkeys(words, 1), label))
    return made


def hostile(words: int, seed: int) -> dict[str, int]:
    places = np.random.default_rng(seed).choice(HAM_WORDS, words, replace=False)
    return {f"h{place}": 1 for place in places.tolist()}


@cache
def accuracy_and_roca(words: int, second_opinion: bool | None, is_capped: bool = True) -> tuple[float, float]:
    """Accuracy, and 1-ROCA%, on the honest messages after the start of the attack."""
    with pytest.MonkeyPatch.context() as patch:
        if not is_capped:  # every message counts fully
            patch.setattr(length_weights, "MIN_FULL", 10**9)
        return attacked(
            SpamFilter(influence=700 if is_capped else 10**9, second_opinion=second_opinion), words
        )


def attacked(model: SpamFilter, words: int) -> tuple[float, float]:
    scores, labels, right = [], [], 0
    for place, (bag, label) in enumerate(honest()):
        if words and place >= START and place % 100 == 0:
            model.learn_one(hostile(words, place), "spam", id=f"hostile {place}")
        if place >= START:
            scores.append(model.score_one(bag))
            labels.append(label == "spam")
            right += model.predict_one(bag) == label
        model.learn_one(bag, label, id=str(place))
    spam, score = np.array(labels), np.array(scores)
    above = (score[spam][:, None] > score[~spam][None, :]).mean()
    return 100 * right / len(spam), 100 * (1 - float(above))


@pytest.mark.parametrize(("words", "second_opinion"), [(1_000, None), (5_000, False)])
def test_the_cap_keeps_nearly_all_of_what_would_be_lost_without_it(
    words: int, second_opinion: bool | None
) -> None:
    """Of the same messages, a filter without the cap is the control: it loses much."""
    lost, would_lose = (
        tuple(
            abs(under_attack - in_peace)
            for under_attack, in_peace in zip(
                accuracy_and_roca(words, second_opinion, is_capped),
                accuracy_and_roca(0, second_opinion, is_capped),
                strict=True,
            )
        )
        for is_capped in (True, False)
    )
    assert would_lose[0] > 5.0 and would_lose[1] > 4.0
    assert lost[0] < would_lose[0] / 5 and lost[1] < would_lose[1] / 10


def test_a_dictionary_that_is_sent_as_a_message_is_cut_to_what_is_read_of_one() -> None:
    model = SpamFilter(limits=Limits(tokens=300))
    model.learn_one(("Subject: words\n\n" + " ".join(hostile(5_000, 0))).encode(), "spam")
    assert len(model.export_counts()["tokens"]) <= 301
