"""Spam filters of shards: their counts and margins are summed exactly, and a replay is the identical step."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from stream_bayes.core.events.event import Event, Kind
from stream_bayes.core.events.pending import Pending
from stream_bayes.errors import BadState, CannotResume
from stream_bayes.mail import SpamFilter
from stream_bayes.mail.streams.shard_filter import FilterTotal, ShardFilterModel
from stream_bayes.streams.engine.step import Step
from stream_bayes.workers.state_parts import joined, parts_of

SPAM, HAM, BOTH = "free pills offer now win".split(), "lunch notes meeting plan".split(), "the a you".split()


def mails(count: int, seed: int = 1, labelled: bool = True) -> list[Event]:
    chance = random.Random(seed)
    found = []
    for number in range(count):
        is_spam = chance.random() < 0.5
        words = chance.choices(SPAM if is_spam else HAM, k=3) + chance.choices(BOTH + HAM[:1], k=2)
        x = {"text": " ".join(words), "id": f"{seed}-{number}"}
        label = ("spam" if is_spam else "ham") if labelled else None
        found.append(Event(x, label, f"{seed}-{number}", float(number), number))
    return found


def tables(scorer: Any) -> dict[str, tuple[int, ...]]:
    """Return counts and margin of each token that has any."""
    counts, margin = scorer.counts(), np.asarray(scorer.table.margin)
    rows = {
        token: (*map(int, counts[code]), int(margin[code]))
        for code, token in enumerate(scorer.table.vocabulary.values)
    }
    return {token: row for token, row in rows.items() if any(row)}


def shards(count: int, empty: SpamFilter | None = None) -> tuple[FilterTotal, list[ShardFilterModel]]:
    total = FilterTotal(empty or SpamFilter())
    models = [ShardFilterModel(number, total) for number in range(count)]
    for model in models:
        model.go_live()
    return total, models


def test_counts_of_shards_add_up_to_those_of_one_filter_and_margins_to_the_sum() -> None:
    total, models = shards(3)
    one_total, (alone,) = shards(1)  # shards are not replayed, other than a young filter
    for place, event in enumerate(mails(120)):
        models[place % 3].learn(event.x, event.y, 1.0)
        alone.learn(event.x, event.y, 1.0)
    models[1].relearn("1-4", "spam", "ham" if mails(5)[4].y == "spam" else "spam", 1.0, None)
    models[2].unlearn("1-5", mails(6)[5].y, 1.0, None)
    alone.relearn("1-4", "spam", "ham" if mails(5)[4].y == "spam" else "spam", 1.0, None)
    alone.unlearn("1-5", mails(6)[5].y, 1.0, None)
    live = tables(total.scorer)
    one = tables(one_total.scorer)
    assert {token: row[:2] for token, row in live.items()} == {token: row[:2] for token, row in one.items()}
    assert total.scorer.messages == one_total.scorer.messages
    total.replace({})  # taken again
    assert tables(total.scorer) == live
    # All scores were of the present sum, so the steps of the margin are those of one filter, too.
    assert live == one


def test_a_publication_is_the_filter_again_without_its_receipts() -> None:
    total, (one, other) = shards(2)
    for place, event in enumerate(mails(60)):
        (one if place % 2 else other).learn(event.x, event.y, 1.0)
    far = FilterTotal(SpamFilter())
    published = {model.shard: parts_of(model.model.content().state(), 256) for model in (one, other)}
    far.replace({shard: far.loaded(shard, parts) for shard, parts in published.items()})
    assert tables(far.scorer) == tables(total.scorer)
    assert not joined(published[0])["arrays"]["receipt_codes"].size
    assert far.model.predict_proba_one("free pills") == total.model.predict_proba_one("free pills")
    assert far.model.predict_one("free pills") == "spam"
    with pytest.raises(BadState, match="of other arguments: influence=700"):
        FilterTotal(SpamFilter(influence=50)).loaded(0, published[0])
    with pytest.raises(BadState):
        far.loaded(0, {**published[0], "array/counts/0": b"\xff" * len(published[0]["array/counts/0"])})


@pytest.mark.parametrize("train", ["everything", "near-errors"])
@pytest.mark.parametrize("labelled", [True, False])
def test_a_replay_is_the_identical_step_though_other_shards_went_on(labelled: bool, train: str) -> None:
    _, (model, other) = shards(2, SpamFilter(train=train))
    events = mails(90, labelled=labelled)
    if not labelled:
        late = [
            Event({}, "spam" if event.position % 2 else "ham", event.key, 200.0, 0, kind=Kind.LABEL)
            for event in events
        ]
        events = events[:9] + [event for pair in zip(events[9:], late, strict=False) for event in pair]
    batches = [events[start : start + 20] for start in range(0, len(events), 20)]
    steps = [
        Step(one, pending=None if labelled else Pending(wait_for=1e3, correct_within=1e3))
        for one in (model, ShardFilterModel(0, FilterTotal(SpamFilter(train=train))))
    ]
    step, again = steps
    replayed = again.model
    assert isinstance(replayed, ShardFilterModel)
    for number, batch in enumerate(batches):
        for event in mails(15, seed=number + 2):
            other.learn(event.x, event.y, 1.0)
        other.take_tape()
        step.process(batch)
        step.clear_results()
        if number == 2:  # from a snapshot
            state = replayed.freeze()()
            replayed.load(state)
        replayed.replay(model.take_tape())
        again.process(batch)
        again.clear_results()
    mine, theirs = again.freeze()(), step.freeze()()
    for section in ("losses", "step"):
        assert {**mine[section], "arrays": None} == {**theirs[section], "arrays": None}
    assert mine["model"]["checksum"] == theirs["model"]["checksum"]
    with pytest.raises(CannotResume, match="lacks the scores"):
        replayed.answer({"text": "free pills"})
    model.answer({"text": "free pills"})
    replayed.replay(model.take_tape())
    with pytest.raises(CannotResume, match="1 scores more"):
        replayed.go_live()


def test_a_mail_that_comes_twice_counts_once_and_is_corrected_in_its_shard() -> None:
    total, (model, _) = shards(2)
    x = {"text": "free pills", "id": "one"}
    for label in ("spam", "spam", "ham"):
        model.learn(x, label, 1.0)
    assert total.model.messages == {"ham": 1.0, "spam": 0.0}
    assert tables(total.scorer)["free"][:2] == (1024, 0)
