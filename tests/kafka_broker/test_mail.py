"""Mails in one topic, what people say of them in another: each is judged once, and corrections are exact."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from stream_bayes.learners.base.state import checksum, text_of
from stream_bayes.mail import SpamFilter
from stream_bayes.mail.streams.spam_model import ServedFilter
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.streams.pipelines.config import parse_config
from stream_bayes.streams.pipelines.pipeline import build
from tests.cli.test_snapshots import run
from tests.kafka_broker.topics import KafkaTopics
from tests.mail.messages import stream

EXAMPLE = Path(__file__).parents[2] / "examples" / "spam_kafka.toml"
MAILS = list(stream(60))


def engine_over(kafka_topics: KafkaTopics, told: dict[str, str], directory: Path) -> Any:
    """The example's pipeline over topics of its own."""
    text = EXAMPLE.read_text("utf-8").replace("localhost:9092", kafka_topics.servers)
    for name, topic in told.items():
        key = "name" if name == "spam" else "topic"
        assert f'{key} = "{name}"' in text
        text = text.replace(f'{key} = "{name}"', f'{key} = "{topic}"')
    return build(parse_config(text), directory)


def test_the_example_judges_mails_and_learns_what_people_say_of_them(
    kafka_topics: KafkaTopics, tmp_path: Path
) -> None:
    names = ("mail", "mail-labels", "mail-verdicts", "mail-dead", "spam")
    told = {
        name: kafka_topics.topic() if name != "spam" else kafka_topics.topic() + "-pipeline" for name in names
    }
    keys = [f"id-{place}".encode() for place in range(len(MAILS))]
    kafka_topics.put(told["mail"], [(0, key, raw) for key, (raw, _) in zip(keys, MAILS, strict=True)])
    wrong = [json.dumps({"label": "ham" if place == 3 else label}) for place, (_, label) in enumerate(MAILS)]
    kafka_topics.put(
        told["mail-labels"], [(0, key, said.encode()) for key, said in zip(keys, wrong, strict=True)]
    )
    for limit in (50, 70):
        engine = engine_over(kafka_topics, told, tmp_path)
        engine.run(limit)
        engine.source.close()
    right = json.dumps({"label": MAILS[3][1]}).encode()
    kafka_topics.put(told["mail-labels"], [(0, keys[3], right)])
    kafka_topics.put(told["mail"], [(0, keys[4], None)])
    engine = engine_over(kafka_topics, told, tmp_path)
    engine.run(2)
    engine.source.close()

    assert not engine.step.dead_letters.counts
    served = engine.step.model
    assert isinstance(served, ServedFilter)
    model, alone = served.model, SpamFilter()
    for place, (raw, label) in enumerate(MAILS):
        if place != 4:
            alone.learn_one(raw, label, id=f"id-{place}")
    assert sorted(model.ids()) == sorted(alone.ids())
    assert model.export_counts()["tokens"] == alone.export_counts()["tokens"]
    verdicts = kafka_topics.get(told["mail-verdicts"])
    assert sorted(record.key for record in verdicts) == sorted(keys)
    assert {json.loads(record.value)["prediction"] for record in verdicts} <= {None, "ham", "unsure", "spam"}
    kept = SnapshotStore(tmp_path / "spam-state").latest()
    assert kept is not None
    state = SpamFilter.from_state(kept.snapshot.sections["model"]).state()
    assert checksum(text_of(state), state["arrays"]) == model.state()["checksum"]


def test_a_backlog_of_mailboxes_is_judged_and_learned_from_end_to_end(
    kafka_topics: KafkaTopics, tmp_path: Path
) -> None:
    names = ("mail", "mail-labels", "mail-verdicts", "mail-dead", "spam")
    told = {
        name: kafka_topics.topic() if name != "spam" else kafka_topics.topic() + "-pipeline" for name in names
    }
    for label in ("ham", "spam"):
        own = [raw for raw, given in MAILS if given == label]
        place = tmp_path / f"{label}.mbox"
        place.write_bytes(
            b"".join(b"From a Mon Jan  1 00:00:00 2024\n" + raw.rstrip() + b"\n\n" for raw in own)
        )
        topics = ("--topic", told["mail"], "--servers", kafka_topics.servers)
        result = run("produce", place, *topics, "--label", label, "--labels", told["mail-labels"], "--json")
        assert result.exit_code == 0, result.stderr
        assert json.loads(result.stdout)["sent"] == len(own)
    engine = engine_over(kafka_topics, told, tmp_path / "state")
    engine.run(until_end=True)
    assert not engine.step.dead_letters.counts and engine.step.learned == len(MAILS)
    assert len(kafka_topics.get(told["mail-verdicts"])) == len(MAILS)
    assert {engine.step.model.model.label_of(key) for key in engine.step.model.model.ids()} == {"ham", "spam"}
    alone = run("produce", tmp_path / "ham.mbox", *topics, "--label", "ham")
    assert alone.exit_code == 3 and "--labels" in alone.stderr
