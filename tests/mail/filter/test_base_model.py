"""Bases: what they hold of a filter, and filters that begin with one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import stream_bayes
from stream_bayes.errors import BadConfig, BadState, BadValue, CannotMerge, NotSupported
from stream_bayes.learners.classifiers.text import BernoulliNB
from stream_bayes.mail import SpamFilter
from stream_bayes.mail.filter.base_model import base_of
from stream_bayes.mail.filter.second_opinion import SECOND_OPINION
from stream_bayes.mail.streams.shard_filter import FilterTotal
from stream_bayes.streams.pipelines.config import load_config
from stream_bayes.streams.pipelines.pipeline import build
from tests.cli.test_snapshots import run
from tests.mail.filter.filters import trained
from tests.mail.messages import plain, stream
from tests.resealing import resealed

SALT = b"a salt of 16 byte"
LATER = list(stream(80, seed=9))


@pytest.fixture(scope="module")
def teacher() -> SpamFilter:
    return trained(300)


@pytest.fixture(scope="module")
def base(teacher: SpamFilter) -> SpamFilter:
    return base_of(teacher, salt=SALT).model


def wrongly_ranked(model: SpamFilter) -> float:
    scores = np.array([model.score_one(raw) for raw, _ in LATER])
    spam = np.array([label == "spam" for _, label in LATER])
    return float((scores[spam][:, None] <= scores[~spam]).mean())


def test_a_base_has_hashes_of_frequent_words_and_nothing_about_anybody(teacher: SpamFilter) -> None:
    made = base_of(teacher, salt=SALT)
    counts = teacher.export_counts()["tokens"]
    clear = {token for token in counts if sum(counts[token]) >= 10}
    kept = {
        token
        for token in clear
        if next(iter(made.model.stored_bag({token: 1}))) in made.model.export_counts()["tokens"]
    }
    assert made.model.tokens == len(kept) and made.rare == len(counts) - len(clear)
    assert made.personal == len(clear) - len(kept) > 0
    assert {"winner", "subject:cash", "hops:1"} <= kept
    assert not any(
        "@" in token or token.startswith(("to:", "from:", "received:", "message-id:")) for token in kept
    )
    state = str(made.model.state())
    assert not any(word in state for word in ("winner", "example.com")) and not made.model.ids()
    assert made.model.messages == teacher.messages and made.model.recent_probabilities() == []


def test_a_base_helps_a_young_filter_and_its_own_mail_outweighs_it(base: SpamFilter) -> None:
    alone, begun = SpamFilter(), SpamFilter().add_prior(base)
    assert begun.learned == (0, 0) and wrongly_ranked(begun) < 0.1 < wrongly_ranked(alone)
    assert {begun.verdict_one(raw) for raw, _ in LATER} == {"unsure"}
    other = {"ham": "spam", "spam": "ham"}
    for place, (raw, label) in enumerate(stream(60, seed=4)):
        alone.learn_one(raw, label, id=str(place))
        begun.learn_one(raw, label, id=str(place))
    assert wrongly_ranked(begun) <= wrongly_ranked(alone)
    turned = SpamFilter().add_prior(base)
    for place, (raw, label) in enumerate(stream(200, seed=5)):
        turned.learn_one(raw, other[label], id=str(place))
    assert wrongly_ranked(turned) > 0.7


def test_what_was_begun_with_a_base_is_corrected_forgotten_and_saved_as_ever(base: SpamFilter) -> None:
    model, empty = SpamFilter().add_prior(base), SpamFilter().add_prior(base)
    for place, (raw, label) in enumerate(stream(40)):
        model.learn_one(raw, label, id=str(place))
    loaded = SpamFilter.from_state(model.state())
    assert loaded.state()["checksum"] == model.state()["checksum"] and loaded.salt == SALT
    assert loaded.predict_proba_one(LATER[0][0]) == model.predict_proba_one(LATER[0][0])
    shown = {row.token for row in model.explain_one(LATER[0][0]).tokens} - {SECOND_OPINION}
    assert shown and shown <= SpamFilter().bag_of(LATER[0][0]).tokens.keys()
    for name in model.ids():
        model.forget(name)
    assert model.export_counts() == empty.export_counts() and model.score_one("winner") == empty.score_one(
        "winner"
    )
    state = model.state()
    state = state | {"store": state["store"] | {"prior": [1 << 50, 0]}}
    with pytest.raises(BadState, match="prior"):
        SpamFilter.from_state(resealed(state))


def test_what_cannot_be_a_base_or_begin_with_one_is_refused_by_name(base: SpamFilter) -> None:
    with pytest.raises(NotSupported, match="hashed"):
        base_of(SpamFilter(key=SALT))
    with pytest.raises(BadValue, match="no token of 10"):
        base_of(SpamFilter())
    with pytest.raises(NotSupported, match="learner"):
        SpamFilter(learner=BernoulliNB()).add_prior(base)
    with pytest.raises(CannotMerge, match="already"):
        trained(5).add_prior(base)
    with pytest.raises(CannotMerge, match="classes"):
        SpamFilter(classes=("ham", "spam", "letter")).add_prior(base)
    with pytest.raises(CannotMerge, match="count twice"):
        SpamFilter().add_prior(base).merge(SpamFilter().add_prior(base))
    with pytest.raises(CannotMerge, match="each shard"):
        FilterTotal.of(SpamFilter().add_prior(base), None)
    with pytest.raises(BadValue, match="a key or with a salt"):
        SpamFilter(key=SALT, salt=SALT)


def test_commands_and_pipelines_begin_with_a_base(teacher: SpamFilter, tmp_path: Path) -> None:
    (tmp_path / "mail.eml").write_bytes(plain("winner free cash pills"))
    stream_bayes.save(teacher, tmp_path / "teacher.zip")
    home, new = tmp_path / "home", tmp_path / "new"
    assert run("spam", "init", "--home", home, "--from", tmp_path / "teacher.zip").exit_code == 0
    for name in ("ham", "spam"):
        mails = [raw for raw, label in stream(60) if label == name]
        box = b"".join(b"From ann@example.com Mon Jan  1 10:00:00 2024\n" + raw + b"\n" for raw in mails)
        (tmp_path / f"{name}.mbox").write_bytes(box)
    done = run(
        "spam", "train", "--home", home, *(f"{name}={tmp_path / name}.mbox" for name in ("ham", "spam"))
    )
    assert done.exit_code == 0, done.output
    done = run("spam", "export", "--home", home, tmp_path / "base.zip", "--least", "5")
    assert "of fewer than 5 messages, and " in done.stdout
    done = run("spam", "init", "--home", new, "--from", tmp_path / "base.zip")
    assert done.exit_code == 0 and "a filter that begins with " in done.stdout
    assert (
        "exists" not in done.stdout
        and "already" in run("spam", "init", "--home", new, "--from", tmp_path / "base.zip").stderr
    )
    assert "unsure" in run("spam", "explain", "--home", new, tmp_path / "mail.eml").stdout
    assert "1 learned" in run("spam", "learn", "--home", new, "spam", tmp_path / "mail.eml").stdout
    file = tmp_path / "spam.toml"
    (tmp_path / "mails.jsonl").write_text("")
    text = (
        'name = "spam"\nsource = { kind = "jsonl", path = "mails.jsonl", target = "label" }\n'
        'model = { kind = "spam-filter", prior = "base.zip" }\n'
    )
    file.write_text(text)
    engine = build(load_config(file), tmp_path)
    engine.source.close()
    model = engine.step.model
    assert model.answer({"text": "winner free cash pills"})["spam"] > 0.5
    file.write_text(text.replace("base.zip", "mails.jsonl"))
    with pytest.raises(BadConfig, match=r"model.prior: prior .*mails.jsonl"):
        build(load_config(file), tmp_path)
