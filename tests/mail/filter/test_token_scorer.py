"""Counts and margins: against formulas written out in Python, and exact when taken back."""

from __future__ import annotations

import math
from collections import defaultdict
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.mail.filter.receipts import Receipt
from stream_bayes.mail.filter.token_scorer import TokenScorer

Bags = list[tuple[list[str], int]]
bags = st.lists(
    st.tuples(st.lists(st.sampled_from("abcdefghij"), unique=True, max_size=8), st.integers(0, 1)),
    max_size=30,
)


def as_bag(tokens: list[str]) -> dict[str, int]:
    return dict.fromkeys(tokens, 1)


def learn(evidence: TokenScorer, tokens: list[str], label: int) -> Receipt:
    return evidence.learn(as_bag(tokens), evidence.score(as_bag(tokens)), label)


def learned(events: Bags, influence: int = 700) -> tuple[TokenScorer, list[Receipt]]:
    evidence = TokenScorer(influence)
    return evidence, [learn(evidence, tokens, label) for tokens, label in events]


def contents(evidence: TokenScorer) -> dict[str, tuple[int, ...]]:
    size = len(evidence.table)
    rows = zip(
        evidence.table.vocabulary.values,
        evidence.counts().tolist(),
        np.asarray(evidence.table.margin)[:size].tolist(),
        strict=True,
    )
    held = {token: (*counts, margin) for token, counts, margin in rows}
    return {token: row for token, row in held.items() if any(row)} | {"": evidence.messages}


def expected_score(events: Bags, asked: list[str]) -> float:
    """The score by the formulas, with nothing shared with the package."""
    weight: dict[str, float] = defaultdict(float)
    counts: dict[tuple[str, int], int] = defaultdict(int)
    total = [0, 0]
    for tokens, label in events:
        root = math.sqrt(max(len(tokens), 1))
        margin = sum(weight[token] for token in tokens) / root
        step = 8.0 * (label - 1 / (1 + math.exp(-margin))) / root
        for token in tokens:
            weight[token] += step
            counts[token, label] += 1
        total[label] += 1
    above = below = 0.0
    for token in asked:
        if all(total) and counts[token, 0] + counts[token, 1]:
            p, q = ((counts[token, label] + 0.02) / (total[label] + 0.04) for label in (0, 1))
            clear = ((q - p) / (q + p)) ** 8
            above += clear * math.log(q / p)
            below += clear
    return sum(weight[token] for token in asked) / math.sqrt(max(len(asked), 1)) + 2 * above / (below + 0.5)


@given(bags, st.lists(st.sampled_from("abcdefghijxyz"), unique=True, max_size=10))
def test_a_score_is_what_the_formulas_say(events: Bags, asked: list[str]) -> None:
    evidence, _ = learned(events)
    score = evidence.score(as_bag(asked)).score
    assert score == pytest.approx(expected_score(events, asked), abs=1e-6)
    assert sum(row.adds for row in evidence.contributions(as_bag(asked))) == pytest.approx(score, abs=1e-9)


@given(bags, bags, st.randoms(use_true_random=False))
def test_unlearning_leaves_nothing(mask: Bags, taken: Bags, random: Random) -> None:
    evidence, receipts = learned(mask + taken)
    doomed = receipts[len(mask) :]
    random.shuffle(doomed)
    for receipt in doomed:
        evidence.unlearn(receipt)
    # What came first was learned without the rest; so were its steps.
    assert contents(evidence) == contents(learned(mask)[0])


@given(bags)
def test_relearning_with_the_same_label_changes_nothing(events: Bags) -> None:
    evidence, receipts = learned(events)
    before = contents(evidence)
    for receipt in receipts:
        evidence.unlearn(receipt)
        again = evidence.relearn(receipt, receipt.label)
        assert (again.units, again.step) == (receipt.units, receipt.step)
    assert contents(evidence) == before


@given(bags, st.integers(0, 29))
def test_a_last_message_that_is_corrected_is_as_if_it_had_come_so(events: Bags, place: int) -> None:
    if not events:
        return
    tokens, label = events[-1]
    right, _ = learned([*events[:-1], (tokens, 1 - label)])
    wrong, receipts = learned(events)
    wrong.unlearn(receipts[-1])
    wrong.relearn(receipts[-1], 1 - label)
    assert contents(wrong) == contents(right)


@given(bags, st.sets(st.sampled_from("abcdefghij")))
def test_tokens_that_are_dropped_leave_the_others_as_they_are(events: Bags, gone: set[str]) -> None:
    evidence, receipts = learned(events)
    before = contents(evidence)
    mask = np.array([token not in gone for token in evidence.table.vocabulary.values], bool)
    moved = evidence.keep(mask)
    assert contents(evidence) == {token: row for token, row in before.items() if token not in gone}
    values = evidence.table.vocabulary.values
    for (tokens, _), receipt in zip(events, receipts, strict=True):
        codes = receipt.recoded(moved).codes.tolist()
        assert [None if code < 0 else values[code] for code in codes] == [
            None if token in gone else token for token in tokens
        ]


def test_a_message_longer_than_its_influence_counts_little() -> None:
    _, (short, long) = learned([(["a"], 1), ([f"w{n}" for n in range(1400)], 1)])
    assert short.units == 1024
    assert long.units == 1024 // 64  # twice as long, to the sixth power


def test_the_full_length_falls_with_the_mean_length() -> None:
    _, receipts = learned([(["a", "b"], 0)] * 1000 + [([f"w{n}" for n in range(200)], 1)])
    assert receipts[-1].units == 1024 // 64


def test_a_score_does_not_grow_with_length() -> None:
    events: Bags = [([f"s{n}" for n in range(100)], 1), ([f"h{n}" for n in range(100)], 0)] * 20
    evidence, _ = learned(events)
    ten, hundred = (evidence.score(as_bag([f"s{n}" for n in range(size)])).score for size in (10, 100))
    assert ten > 0
    assert hundred < 4 * ten
