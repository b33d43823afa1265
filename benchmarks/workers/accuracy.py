"""The cost in accuracy of many workers: shards that know each other as of their last publications, against one model.

    python -m benchmarks.workers.accuracy                    LED and SEA, published every 1,000 events
    python -m benchmarks.workers.accuracy CORPUS.jsonl.gz ...   corpora of mail, published every 100 mails

No broker is needed: each shard has a sum of its own, into which the parts that the others publish are read, as a worker
does. Final counts are compared with one pass over all events.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from river.datasets import synth

from benchmarks.spam.filters import Corpus
from benchmarks.spam.measures import roca
from stream_bayes import NaiveBayes
from stream_bayes.learners.base.class_probabilities import most_probable
from stream_bayes.mail import SpamFilter
from stream_bayes.mail.streams.shard_filter import FilterTotal, ShardFilterModel
from stream_bayes.streams.served_models.served import served
from stream_bayes.workers.shard_model import ShardModel
from stream_bayes.workers.state_parts import parts_of
from stream_bayes.workers.total import Total

__all__ = ["accuracies", "spam_rocas"]

SHARDS = (2, 4, 8)
EVENTS, MAILS_BETWEEN, EVENTS_BETWEEN = 50_000, 100, 1_000


def publish(totals: list[Any], models: list[Any]) -> None:
    """Read the counts of each shard into the sums of all others."""
    published = {model.shard: parts_of(model.model.content().state()) for model in models}
    for number, total in enumerate(totals):
        total.replace(
            {shard: total.loaded(shard, parts) for shard, parts in published.items() if shard != number}
        )


def spam_rocas(corpus: Corpus, shards: int, every: int = MAILS_BETWEEN) -> tuple[float, float]:
    """Return 1-ROCA% of one filter, and of shards that publish every so many mails of the stream."""
    alone = SpamFilter()
    totals = [FilterTotal(SpamFilter()) for _ in range(shards)]
    models = [ShardFilterModel(number, total) for number, total in enumerate(totals)]
    for model in models:
        model.go_live()
    scores: tuple[list[float], list[float]] = ([], [])
    order = corpus.order("time")
    for count, place in enumerate(order):
        message, label = corpus.messages[place], "spam" if corpus.spam[place] else "ham"
        filters: tuple[SpamFilter, SpamFilter] = (alone, models[count % shards].model)
        for filter_, found in zip(filters, scores, strict=True):
            found.append(filter_.score_one(message))
            filter_.learn_one(message, label, id=str(place))
        if count % every == every - 1:
            publish(totals, models)
    spam = np.array([corpus.spam[place] for place in order])
    one, many = (roca(np.array(found), spam) for found in scores)
    return one, many


def accuracies(
    events: list[tuple[Any, Any]], shards: int, every: int = EVENTS_BETWEEN
) -> tuple[float, float]:
    """Return the prequential accuracy of one model, and of shards that publish every so many events of the stream."""
    alone = served(NaiveBayes())
    totals = [Total(NaiveBayes()) for _ in range(shards)]
    models = [ShardModel(number, NaiveBayes(), total) for number, total in enumerate(totals)]
    for model in models:
        model.go_live()
    right = [0, 0]
    for count, (x, y) in enumerate(events):
        for kind, answer in enumerate(
            (
                alone.predict_then_learn(x, y, 1.0),
                models[count % shards].predict_then_learn(x, y, 1.0),
            )
        ):
            right[kind] += most_probable(answer) == y
        if count % every == every - 1:
            publish(totals, models)
            for one in models:
                one.take_tape()
    publish(totals, models)
    expected = alone.model.store.by_name()
    for total in totals:
        found = total.model.store.by_name()
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            assert np.allclose(found[name], value, rtol=1e-9), name
    return right[0] / len(events), right[1] / len(events)


def streams() -> Iterator[tuple[str, list[tuple[Any, Any]]]]:
    """Yield streams of events by name."""
    led = synth.LED(seed=7, noise_percentage=0.1, irrelevant_features=True)
    yield "LED", [({k: str(v) for k, v in x.items()}, y) for x, y in islice(led, EVENTS)]
    yield "SEA", list(islice(synth.SEA(seed=7, noise=0.1), EVENTS))


def main(files: list[str]) -> None:
    """Print a line for each stream or corpus and number of shards."""
    for name in files:
        corpus = Corpus.read(Path(name))
        for shards in SHARDS:
            one, many = spam_rocas(corpus, shards)
            print(
                f"{Path(name).name}: 1-ROCA% {one:.4f} of one, {many:.4f} of {shards} shards: {many / one:.2f}x"
            )
    if not files:
        for name, events in streams():
            for shards in SHARDS:
                one, many = accuracies(events, shards)
                print(f"{name}: {100 * one:.2f} % of one, {100 * many:.2f} % of {shards} shards")


if __name__ == "__main__":
    main(sys.argv[1:])
