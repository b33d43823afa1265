"""The spam filter in a pipeline: from files, and with mails as Kafka brings them."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.core.events.event import Event, Kind, Partition
from stream_bayes.errors import BadConfig, BadState, BadValue, CannotMerge, NotLearned, NotSupported
from stream_bayes.kafka.source import KafkaSource
from stream_bayes.learners.base.state import checksum, text_of
from stream_bayes.mail import EmailTokens, SpamFilter
from stream_bayes.mail.filter.arguments import make_filter
from stream_bayes.mail.streams.decoder import MailDecoder
from stream_bayes.mail.streams.product_model import SPAM_FILTER
from stream_bayes.mail.streams.shard_filter import FilterTotal
from stream_bayes.mail.streams.spam_model import ServedFilter
from stream_bayes.mail.text import correspondents
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.streams.engine.dead_letters import REFUSED
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.pipelines.config import load_config, parse_config
from stream_bayes.streams.pipelines.pipeline import build
from stream_bayes.streams.served_models.served import served
from tests.mail.messages import stream

EXAMPLE = Path(__file__).parents[3] / "examples" / "spam_kafka.toml"
README = Path(__file__).parents[3] / "README.md"
MAILS = list(stream(150))
FILE = """
name = "spam"
batch = 20
source = { kind = "jsonl", path = "mails.jsonl", target = "label", key = "id", type = "type" }
model = { kind = "spam-filter", arguments = { max_receipts = 100 } }
predictions = { kind = "jsonl", path = "verdicts.jsonl" }
snapshots = { directory = "state", every_events = 40, every_seconds = 3600.0 }
[labels]
clock = "events"
"""


def write(directory: Path) -> Path:
    """Mails in JSON whose labels come ten later, with every twentieth label wrong at first."""
    directory.mkdir(exist_ok=True)
    records: list[dict[str, Any]] = []
    for place, (raw, _) in enumerate(MAILS):
        records.append({"id": str(place), "mail": raw.decode()})
        for kind, late in (("label", place - 10), ("correction", place - 25)):
            if late >= 0:
                right = MAILS[late][1]
                wrong = "ham" if right == "spam" else "spam"
                if kind == "label":
                    records.append({"id": str(late), "type": kind, "label": right if late % 20 else wrong})
                elif not late % 20:
                    records.append({"id": str(late), "type": kind, "label": right})
    (directory / "mails.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (directory / "spam.toml").write_text(FILE)
    return directory


def engine_in(directory: Path) -> Engine:
    return build(load_config(directory / "spam.toml"), directory)


def filter_of(engine: Engine) -> SpamFilter:
    model = engine.step.model
    assert isinstance(model, ServedFilter)
    return model.model


def digest(model: SpamFilter) -> int:
    state = model.state()
    return checksum(text_of(state), state["arrays"])


def test_mails_are_judged_and_learned_late_and_corrected(tmp_path: Path) -> None:
    engine = engine_in(write(tmp_path))
    engine.run()
    model, right, alone = filter_of(engine), {}, SpamFilter()
    for place, (raw, label) in enumerate(MAILS[: len(MAILS) - 10]):
        # A mail whose wrong label nobody corrected in time keeps it.
        late = place >= len(MAILS) - 25 and not place % 20
        right[place] = label if not late else ("ham" if label == "spam" else "spam")
        alone.learn_one(raw, right[place])
    assert model.export_counts()["tokens"] == alone.export_counts()["tokens"]
    assert model.messages == alone.messages
    lines = [json.loads(line) for line in (tmp_path / "verdicts.jsonl").read_text().splitlines()]
    assert [line["key"] for line in lines] == [str(place) for place in range(len(MAILS))]
    verdicts = [(line["prediction"], label) for line, (_, label) in zip(lines, MAILS, strict=True)]
    assert {verdict for verdict, _ in verdicts} <= {"ham", "unsure", "spam"}
    assert verdicts[0][0] == "unsure"  # before anything was learned there is a verdict, too, and never null
    likely = [line["probabilities"]["spam"] > 0.5 for line in lines[60:]]
    assert sum(spam == (label == "spam") for spam, (_, label) in zip(likely, MAILS[60:], strict=True)) > 60
    assert all(verdict != "spam" or label == "spam" for verdict, label in verdicts)
    assert not engine.step.dead_letters.counts


def test_interrupted_and_gone_on_with_it_ends_with_the_same_bytes(tmp_path: Path) -> None:
    whole, parts = write(tmp_path / "whole"), write(tmp_path / "parts")
    straight = engine_in(whole)
    straight.run()
    for limit in (37, 90, None):
        broken = engine_in(parts)
        broken.run(limit)
        broken.source.close()
    assert digest(filter_of(broken)) == digest(filter_of(straight))
    assert (parts / "verdicts.jsonl").read_bytes() == (whole / "verdicts.jsonl").read_bytes()
    newest = SnapshotStore(parts / "state").latest()
    assert newest is not None and newest.snapshot.learner == "SpamFilter"


def test_other_arguments_do_not_go_on_from_the_snapshot(tmp_path: Path) -> None:
    directory = write(tmp_path)
    engine_in(directory).run(50)
    (directory / "spam.toml").write_text(FILE.replace("max_receipts = 100", "max_receipts = 99"))
    with pytest.raises(BadState, match="receipts"):
        engine_in(directory).run()
    served = ServedFilter(SpamFilter(max_receipts=5))
    with pytest.raises(BadState, match="max_tokens"):
        served.load(SpamFilter(max_receipts=5, max_tokens=10).state())


AGED = """
name = "aged"
batch = 3
source = { kind = "jsonl", path = "texts.jsonl", target = "label", key = "id", time = "at" }
model = { kind = "spam-filter", arguments = { keep = "3d" } }
snapshots = { directory = "state", every_events = 4, every_seconds = 3600.0 }
max_skew = "1d"
"""


TIMES = (0.0, 1.0, 2.0, 3e6, 4.0, 13.5, 13.6)  # days; the fourth cannot be


def aged_in(directory: Path, batch: int = 3, times: Sequence[float] = TIMES) -> Engine:
    directory.mkdir(exist_ok=True)
    day, words = 86_400.0, ("casino", "lunch", "winner", "agenda", "kernel", "draft", "notes")
    records = [
        {"id": word, "text": word, "label": "ham" if place % 2 else "spam", "at": time * day}
        for place, (word, time) in enumerate(zip(words, times, strict=True))
    ]
    records.append({"id": "late", "text": "timeless", "label": "ham"})
    (directory / "texts.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (directory / "aged.toml").write_text(AGED.replace("batch = 3", f"batch = {batch}"))
    return build(load_config(directory / "aged.toml"), directory)


def test_tokens_expire_by_the_times_of_records_of_which_a_far_one_counts_as_one_day_ahead(
    tmp_path: Path,
) -> None:
    engine = aged_in(tmp_path)
    engine.run()
    # The far time counts as a day after day 2, that of 13.5 as day 5, and 13.6 as day 6.
    assert set(filter_of(engine).export_counts()["tokens"]) == {"agenda", "kernel", "draft", "notes"}
    assert [day for day, _ in filter_of(engine).state()["store"]["days"]] == [3, 4, 5, 6]
    assert engine.step.dead_letters.counts  # the record without a time
    for name, batch in (("one", 1), ("all", 100)):
        other = aged_in(tmp_path / name, batch)
        other.run()
        assert digest(filter_of(other)) == digest(filter_of(engine))
    broken = aged_in(tmp_path / "parts")
    broken.run(4)
    broken.source.close()
    again = aged_in(tmp_path / "parts")
    again.run()
    assert digest(filter_of(again)) == digest(filter_of(engine))


def test_after_a_first_record_of_the_future_tokens_expire_by_the_times_of_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    engine = aged_in(tmp_path, times=[3e6, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0])
    with caplog.at_level(logging.WARNING):
        engine.run()
    assert [day for day, _ in filter_of(engine).state()["store"]["days"]] == [3, 4, 5, 6]
    assert set(filter_of(engine).export_counts()["tokens"]) == {"agenda", "kernel", "draft", "notes"}
    assert engine.step.dead_letters.counts == {REFUSED: 1}  # the one without a time
    assert "position 0 " in caplog.text and "days in the future" in caplog.text


# -- mails as Kafka brings them ---------------------------------------------------------------------------------------


def example() -> tuple[Engine, KafkaSource]:
    engine = build(load_config(EXAMPLE))
    assert isinstance(engine.source, KafkaSource)
    return engine, engine.source


def test_the_example_reads_raw_mails_and_labels_of_their_own() -> None:
    engine, source = example()
    assert isinstance(source.decoders["mail"], MailDecoder)
    mails, labels = Partition("mail"), Partition("mail-labels")
    raw = {label: [raw for raw, verdicts in MAILS if verdicts == label] for label in ("ham", "spam")}
    records = []
    for place in range(40):
        label = "spam" if place % 2 else "ham"
        key, content = f"mail-{place}", raw[label].pop()
        records.append(source.decoders["mail"].decode(content, place, mails, 1, key, float(place)))
        value = json.dumps({"label": label}).encode()
        records.append(source.decoders["mail-labels"].decode(value, place, labels, 1, key, float(place)))
    engine.step.process(records)
    model = filter_of(engine)
    assert model.ids() == [f"mail-{place}" for place in range(40)]
    assert not engine.step.dead_letters.counts and len(engine.step.collect_outputs()) == 40
    # Another label is a correction, a record without value forgets, and a mail that comes again counts once.
    correction = source.decoders["mail-labels"].decode(b'{"label": "spam"}', 40, labels, 1, "mail-0", 41.0)
    again = source.decoders["mail-labels"].decode(b'{"label": "spam"}', 41, labels, 1, "mail-0", 41.0)
    tombstone = Event({}, key="mail-1", time=42.0, position=41, kind=Kind.TOMBSTONE, partition=mails)
    engine.step.process([correction, again, tombstone])
    assert model.label_of("mail-0") == "spam" and model.label_of("mail-1") is None
    assert model.messages == {"ham": 19.0, "spam": 20.0}
    assert not engine.step.dead_letters.counts


def test_what_waits_for_its_label_is_tokens_and_is_taken_apart_as_the_filter_would() -> None:
    raw = MAILS[0][0]
    text = EXAMPLE.read_text("utf-8").replace("unsure = 0.5 }", "unsure = 0.5 }, pairs = true")
    source = build(parse_config(text)).source
    assert isinstance(source, KafkaSource)
    event = source.decoders["mail"].decode(raw, key="a")
    assert isinstance(event, Event)
    assert event.x == {"id": "a", "tokens": EmailTokens(pairs=True, characters=True).transform_one(raw)}
    unnamed = MailDecoder().decode(raw)
    assert isinstance(unnamed, Event) and unnamed.x["id"] == SpamFilter().id_of(raw)


def test_a_mail_that_is_too_long_is_a_bad_record_and_nothing_else_is() -> None:
    decoder = MailDecoder(max_record_bytes=1_000)
    assert not isinstance(decoder.decode(b"a" * 1_001), Event)
    for raw in (b"", b"\0", b"\xff" * 1_000, b"Content-Type: multipart/mixed; boundary=\n\n"):
        assert isinstance(decoder.decode(raw), Event)


CHANGES = {
    "the model": ('kind = "spam-filter"', 'kind = "nb"', "model 'spam-filter'"),
    "a field of mails": (
        'decoder = "mail"',
        'decoder = "mail"\ntarget = "label"',
        "source.target: a message has no",
    ),
    "no field of labels": ('target = "label"', "", "labels.target: is missing"),
    "a schema": (
        "[model]",
        '[schema.features]\nsky = "nominal"\n[model]',
        "schema: a message has no features",
    ),
    "an unknown decoder": ('decoder = "mail"', 'decoder = "mails"', "source.decoder: there is no decoder"),
}


@pytest.mark.parametrize(("old", "new", "message"), CHANGES.values(), ids=CHANGES.keys())
def test_what_does_not_fit_mails_is_named(old: str, new: str, message: str) -> None:
    text = EXAMPLE.read_text("utf-8").replace(old, new)
    if old.startswith("kind"):
        text = text.replace("arguments = {", "# {")
    with pytest.raises(BadConfig) as caught:
        parse_config(text)
    assert message in str(caught.value)


def test_a_line_is_no_mail() -> None:
    text = FILE.replace('key = "id", type = "type"', 'decoder = "mail"').replace('target = "label", ', "")
    with pytest.raises(BadConfig, match="decoder"):
        parse_config(text)


# -- the filter behind the engine, and from arguments -----------------------------------------------------------------


def test_the_filter_is_served_with_its_verdicts() -> None:
    model = served(SpamFilter())
    assert isinstance(model, ServedFilter)
    assert model.predict_then_learn({"text": "free pills"}, "spam", 1.0) == {}
    answer = model.answer({"tokens": {"pills": 1}})
    assert answer["spam"] > 0.5 and model.decide(answer) == "unsure"
    assert model.answer({"mail": "Subject: pills\n\nfree"}) == model.model.predict_proba_one(
        b"Subject: pills\n\nfree"
    )
    with pytest.raises(NotSupported, match="weights"):
        model.learn({"text": "a"}, "spam", 2.0)
    for wrong in ({}, {"text": "a", "tokens": {}}, {"body": "a"}):
        with pytest.raises(BadValue, match="one of the fields"):
            model.answer(wrong)
    with pytest.raises(NotLearned):
        model.relearn("unknown", "spam", "ham", 1.0, None)


def test_arguments_of_files_make_a_filter() -> None:
    model = make_filter(
        {
            "classes": ["wanted", "unwanted"],
            "train": "near-errors",
            "costs": {"false_positive": 99, "unsure": 0.5},
            "limits": {"tokens": 100},
            "learner": {"kind": "multinomial-nb", "arguments": {"alpha": 0.5}},
        }
    )
    assert model.classes == ("wanted", "unwanted") and model.limits is not None and model.limits.tokens == 100
    assert model.decide({"wanted": 0.03, "unwanted": 0.97}) == "unsure"
    learner: Any = model.learner
    assert learner.alpha == 0.5
    wrong: Any
    for wrong in (
        {"trian": "errors"},
        {"key": "sixteen bytes or more"},
        {"costs": {}},
        {"costs": {"false_positive": 9, "extra": 1}},
        {"limits": {"no": 1}},
        {"learner": {"kind": "nbb"}},
        {"learner": {"kind": "nb", "more": 1}},
        {"labels": ["one"]},
    ):
        with pytest.raises(ValueError, match=r".+"):
            make_filter(wrong)


def test_a_key_from_the_environment_hashes_the_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keyed = FILE.replace('"spam-filter", ', '"spam-filter", key = "${SPAM_KEY}", ')
    (write(tmp_path) / "spam.toml").write_text(keyed)
    monkeypatch.setenv("SPAM_KEY", "sixteen bytes or more")
    engine = engine_in(tmp_path)
    engine.run()
    tokens = filter_of(engine).export_counts()["tokens"]
    assert len(tokens) > 100 and all(re.fullmatch(r"[0-9a-f]{18}", token) for token in tokens)
    assert not any(b"sixteen bytes" in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    again = engine_in(tmp_path)
    again.run()
    assert digest(filter_of(again)) == digest(filter_of(engine))
    monkeypatch.setenv("SPAM_KEY", "another key that is long enough")
    with pytest.raises(BadState, match="key"):
        engine_in(tmp_path).run()


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ('{ kind = "spam-filter", key = "sixteen bytes or more" }', "a secret is not written here"),
        ('{ kind = "spam-filter", key = "${NO_SUCH_KEY}" }', "no variable NO_SUCH_KEY"),
        ('{ kind = "nb", key = "${SPAM_KEY}" }', "a key is for the tokens of 'spam-filter'"),
        ('{ kind = "spam-filter", arguments = { key = "${SPAM_KEY}" } }', "model.arguments.key"),
    ],
)
def test_a_key_that_cannot_be_one_is_refused(monkeypatch: pytest.MonkeyPatch, model: str, says: str) -> None:
    monkeypatch.setenv("SPAM_KEY", "sixteen bytes or more")
    wrong = re.sub(r"(?m)^model = .*$", lambda _: f"model = {model}", FILE)
    with pytest.raises(BadConfig, match=re.escape(says)):
        parse_config(wrong)


def test_the_pipeline_that_the_readme_shows_can_be_built() -> None:
    (shown,) = re.findall(r"^```toml\n(.*?)^```$", README.read_text("utf-8"), re.M | re.S)
    source = build(parse_config(shown)).source
    assert isinstance(source, KafkaSource)
    assert isinstance(source.decoders["mail"], MailDecoder)


SENT = b"From: me@example.org\nTo: Ann <ann@example.com>\nMessage-ID: <%b@example.org>\n\nlunch?\n"


def test_whom_one_has_written_to_is_evidence_in_a_pipeline(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path)
    (tmp_path / "sent").mkdir()
    (tmp_path / "sent" / "1.eml").write_bytes(SENT % b"one")
    (tmp_path / "sent" / "2.pdf").write_bytes(b"%PDF-1.4 ...")
    answers = {
        name: b"From: ann@example.com\nIn-Reply-To: <%b@example.org>\n\nyes" % name
        for name in (b"one", b"two")
    }
    text = FILE.replace('kind = "spam-filter",', 'kind = "spam-filter", sent = ["sent"],')
    (tmp_path / "spam.toml").write_text(text)
    engine = engine_in(tmp_path)
    assert "1 refused" in caplog.text and "2.pdf (a PDF)" in caplog.text
    engine.run(until_end=True)
    assert "sender:answer" in filter_of(engine).bag_of(answers[b"one"]).tokens
    assert "sender:answer" not in filter_of(engine).bag_of(answers[b"two"]).tokens
    (tmp_path / "sent" / "1.eml").write_bytes(SENT % b"two")
    again = engine_in(tmp_path)
    decoded = SPAM_FILTER.make_decoder(filter_of(again), 10_000, [])
    again.run(until_end=True)
    known = filter_of(again)
    assert known.messages == filter_of(engine).messages
    for raw in answers.values():
        assert "sender:answer" in known.bag_of(raw).tokens
        event = decoded.decode(raw, key="1")
        assert isinstance(event, Event) and "sender:answer" in event.x["tokens"]


def test_a_folder_without_mails_that_were_sent_is_refused(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "sent").mkdir()
    config = FILE.replace('kind = "spam-filter",', 'kind = "spam-filter", sent = ["sent"],')
    (tmp_path / "spam.toml").write_text(config)
    with pytest.raises(BadConfig, match=r"model\.sent: no mail that was sent"):
        engine_in(tmp_path)
    with pytest.raises(BadConfig, match="sent is for 'spam-filter'"):
        parse_config(
            config.replace('"spam-filter"', '"nb"').replace(", arguments = { max_receipts = 100 }", "")
        )
    model = SpamFilter()
    model.learn_sent(SENT % b"one")
    with pytest.raises(CannotMerge, match=r"leave out \[workers\] or sent"):
        FilterTotal.of(model, None)


def test_merged_correspondents_are_no_more_than_are_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(correspondents, "MOST", 3)
    one, other = SpamFilter(), SpamFilter()
    for model, name in ((one, b"one"), (other, b"two")):
        model.learn_sent(SENT.replace(b"ann@", name + b"@") % name)
    one.merge(other)
    assert len(one.correspondents) == 3
    assert len(SpamFilter.from_state(one.state()).correspondents) == 3
