"""`stream-bayes spam`: training, correcting, explaining, and counts in and out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.learners.wrappers.decision_rules import Costs
from stream_bayes.mail import SpamFilter
from stream_bayes.mail.store.home import SpamHome
from stream_bayes.mail.store.identity import id_of_mail
from tests.cli.test_snapshots import run
from tests.mail.messages import stream

MESSAGES = list(stream(120))


def write_boxes(directory: Path, messages: list[tuple[bytes, str]] = MESSAGES) -> Path:
    """An mbox of ham, and a Maildir of spam."""
    directory.mkdir(exist_ok=True)
    (directory / "spam" / "cur").mkdir(parents=True)
    (directory / "spam" / "new").mkdir()
    with (directory / "ham.mbox").open("wb") as box:
        for place, (raw, label) in enumerate(messages):
            if label == "ham":
                box.write(b"From ann@example.com Mon Jan  1 10:00:00 2024\n" + raw + b"\n")
            else:
                (directory / "spam" / ("cur" if place % 2 else "new") / f"{place:04}").write_bytes(raw)
    return directory


@pytest.fixture
def boxes(tmp_path: Path) -> Path:
    return write_boxes(tmp_path / "boxes")


@pytest.fixture
def home(tmp_path: Path, boxes: Path) -> Path:
    done = run(
        "spam", "train", "--home", tmp_path / "home", "--ham", boxes / "ham.mbox", "--spam", boxes / "spam"
    )
    assert done.exit_code == 0, done.output
    return tmp_path / "home"


def stats(home: Path) -> dict[str, Any]:
    reported: dict[str, Any] = json.loads(run("spam", "stats", "--home", home, "--json").stdout)
    return reported


def test_training_learns_an_mbox_and_a_maildir(home: Path) -> None:
    reported = stats(home)
    spam = sum(label == "spam" for _, label in MESSAGES)
    assert (reported["spam_messages"], reported["ham_messages"]) == (spam, len(MESSAGES) - spam)
    assert reported["messages_that_can_be_corrected"] == reported["messages_learned"] == len(MESSAGES)
    alone = SpamFilter()
    for raw, label in MESSAGES:
        alone.learn_one(raw, label, id=id_of_mail(raw))
    assert SpamHome(home).load().export_counts()["tokens"] == alone.export_counts()["tokens"]


def test_messages_learned_before_are_skipped(home: Path, boxes: Path) -> None:
    before = SpamHome(home).load().export_counts()
    done = run("spam", "train", "--home", home, "--ham", boxes / "ham.mbox", "--json")
    reported = json.loads(done.stdout)
    assert reported["new"] == 0 and reported["skipped"] == reported["messages"] > 50
    assert SpamHome(home).load().export_counts() == before


def test_messages_learned_with_another_label_are_reported_as_corrected(home: Path, boxes: Path) -> None:
    done = run("spam", "train", "--home", home, "--spam", boxes / "ham.mbox", "--json")
    reported = json.loads(done.stdout)
    assert reported["corrected"] == reported["messages"] > 50 and reported["new"] == reported["skipped"] == 0
    assert stats(home)["ham_messages"] == 0


def test_labels_come_in_turn_when_several_places_are_learned(home: Path) -> None:
    model = SpamHome(home).load()
    labels = [model.label_of(key) for key in model.ids()][:40]
    assert 8 < labels.count("spam") < 32


def test_a_mail_from_the_standard_input_is_learned(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from stream_bayes.cli.app import app

    home = tmp_path / "home"
    done = CliRunner().invoke(
        app, ["spam", "train", "--home", str(home), "--spam", "-"], input=MESSAGES[0][0]
    )
    assert done.exit_code == 0, done.output
    assert SpamHome(home).load().label_of(id_of_mail(MESSAGES[0][0])) == "spam"


def test_a_verdict_in_the_headers_does_not_change_the_id(home: Path, tmp_path: Path) -> None:
    raw, label = MESSAGES[0]
    (tmp_path / "mail").write_bytes(b"X-Stream-Bayes: ham\nX-Stream-Bayes-Id: no\n" + raw)
    other = "ham" if label == "spam" else "spam"
    done = run("spam", "correct", other, tmp_path / "mail", "--mail", "--home", home)
    assert "1 corrected, 0 learned" in done.output
    assert SpamHome(home).load().label_of(id_of_mail(raw)) == other


def test_a_correction_by_id_is_exact_and_may_be_repeated(home: Path) -> None:
    raw = next(raw for raw, label in MESSAGES if label == "spam")
    for _ in range(2):
        assert run("spam", "correct", "ham", id_of_mail(raw)[:12], "--home", home).exit_code == 0
    alone = SpamFilter()
    for one, label in MESSAGES:
        alone.learn_one(one, "ham" if one == raw else label)
    assert SpamHome(home).load().export_counts()["tokens"] == alone.export_counts()["tokens"]


def test_a_correction_learns_an_unknown_mail(home: Path, tmp_path: Path) -> None:
    (tmp_path / "mail").write_bytes(b"Subject: new\n\nwords")
    done = run("spam", "correct", "spam", tmp_path / "mail", "--mail", "--home", home)
    assert "0 corrected, 1 learned" in done.output


def test_forgetting_leaves_nothing(home: Path, tmp_path: Path) -> None:
    before = SpamHome(home).load().export_counts()
    (tmp_path / "mail").write_bytes(b"Subject: unheard\n\nunheardword")
    run("spam", "train", "--home", home, "--ham", tmp_path / "mail")
    assert "unheardword" in SpamHome(home).load().export_counts()["tokens"]
    key = id_of_mail(b"Subject: unheard\n\nunheardword")
    assert run("spam", "forget", key, "--home", home).exit_code == 0
    assert SpamHome(home).load().export_counts() == before
    assert key not in SpamHome(home).load().ids()
    assert run("spam", "forget", key, "--home", home).exit_code == 3


def test_explanations_name_tokens(home: Path, tmp_path: Path) -> None:
    (tmp_path / "mail").write_bytes(MESSAGES[0][0])
    assert "P(spam)" in run("spam", "explain", tmp_path / "mail", "--home", home).stdout
    reported = json.loads(run("spam", "explain", tmp_path / "mail", "--home", home, "--json").stdout)
    assert sum(row["adds"] for row in reported["tokens"]) == pytest.approx(reported["score"])


def test_of_a_box_the_first_message_is_explained_and_the_others_are_mentioned(
    home: Path, boxes: Path
) -> None:
    done = run("spam", "explain", boxes / "ham.mbox", "--home", home)
    assert done.exit_code == 0 and "P(spam)" in done.stdout
    assert f"holds more than one message; this is the first, {boxes / 'ham.mbox'}:1" in " ".join(
        done.stderr.split()
    )
    (boxes / "nothing").touch()
    assert run("spam", "explain", boxes / "nothing", "--home", home).exit_code == 3


def test_explanations_have_counts_and_words_even_of_hashed_tokens(
    boxes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPAM_KEY", "a key of sixteen bytes or more")
    options = ("--home", tmp_path / "home", "--key-env", "SPAM_KEY")
    run("spam", "train", *options, "--ham", boxes / "ham.mbox", "--spam", boxes / "spam")
    (tmp_path / "mail").write_bytes(MESSAGES[0][0])
    rows = json.loads(run("spam", "explain", tmp_path / "mail", *options, "--json").stdout)["tokens"]
    by_token = {row["token"]: row for row in rows}
    assert by_token["mime:text/plain"]["ham"] > 30 and by_token["mime:text/plain"]["spam"] > 30
    done = run("spam", "explain", tmp_path / "mail", "--home", tmp_path / "home")
    assert done.exit_code == 4 and "--key-env" in " ".join(done.output.split())


def test_exported_words_are_for_their_owner_only(home: Path, tmp_path: Path) -> None:
    (tmp_path / "counts.json").touch(0o644)
    run("spam", "export", tmp_path / "counts.json", "--home", home)
    assert (tmp_path / "counts.json").stat().st_mode & 0o077 == 0


def test_training_by_folder_in_two_calls_equals_one(boxes: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    run("spam", "train", "--home", one, "--spam", boxes / "spam")
    run("spam", "train", "--home", one, "--ham", boxes / "ham.mbox")
    run("spam", "train", "--home", two, "--ham", boxes / "ham.mbox")
    run("spam", "train", "--home", two, "--spam", boxes / "spam")
    models = [SpamHome(place).load() for place in (one, two)]
    for raw, _ in stream(20, seed=8):
        assert models[0].predict_proba_one(raw) == models[1].predict_proba_one(raw)


def test_subfolders_of_a_maildir_are_named_when_they_are_not_read(home: Path, boxes: Path) -> None:
    (boxes / "spam" / ".Junk" / "cur").mkdir(parents=True)
    done = run("spam", "train", "--home", home, "--spam", boxes / "spam")
    assert done.exit_code == 0 and "1 subfolders are not read: .Junk" in done.output


def test_counts_go_out_and_into_another_filter(home: Path, tmp_path: Path) -> None:
    assert run("spam", "export", tmp_path / "counts.json", "--home", home).exit_code == 0
    other = tmp_path / "other"
    for _ in range(2):
        done = run("spam", "import", tmp_path / "counts.json", "--home", other)
        assert done.exit_code == 0, done.output
    one, two = (SpamHome(place).load() for place in (home, other))
    assert {label: 2 * count for label, count in one.messages.items()} == two.messages
    assert two.predict_one(MESSAGES[0][0]) == MESSAGES[0][1]
    (tmp_path / "bad.json").write_text(
        '{"labels": ["ham", "spam"], "messages": [1, 1], "tokens": {"a": [2, 0]}}'
    )
    before = SpamHome(other).version()
    assert run("spam", "import", tmp_path / "bad.json", "--home", other).exit_code == 3
    (tmp_path / "bad.json").write_text("no JSON")
    assert run("spam", "import", tmp_path / "bad.json", "--home", other).exit_code == 3
    assert SpamHome(other).version() == before


def test_filters_merge(home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (tmp_path / "mail").write_bytes(b"Subject: new\n\nwords")
    run("spam", "train", "--home", other, "--spam", tmp_path / "mail")
    assert run("spam", "merge", other, "--home", home).exit_code == 0
    model = SpamHome(home).load()
    assert model.label_of(id_of_mail(b"Subject: new\n\nwords")) == "spam"
    done = run("spam", "merge", other, "--home", home)
    assert done.exit_code == 3 and "both filters learned" in done.output


def test_a_filter_keeps_the_settings_it_was_made_with(tmp_path: Path, boxes: Path) -> None:
    train = ("spam", "train", "--home", tmp_path / "home", "--ham", boxes / "ham.mbox")
    assert run(*train, "--learn", "near-errors", "--learner", "multinomial-nb").exit_code == 0
    assert run(*train).exit_code == 0
    model = SpamHome(tmp_path / "home").load()
    assert model.train == "near-errors" and type(model.learner).__name__ == "MultinomialNB"
    for other in (("--pairs",), ("--learner", "bernoulli-nb"), ("--second-opinion",)):
        assert run(*train, *other).exit_code == 3


def test_the_cost_of_a_lost_ham_can_change_at_any_time(home: Path, boxes: Path) -> None:
    least = "spam_threshold"
    before = SpamHome(home).load()
    assert stats(home)[least] == 0.9833
    assert run("spam", "train", "--home", home, "--lost-ham", 99).exit_code == 0
    assert stats(home)[least] == 0.9949
    assert run("spam", "train", "--home", home, "--ham", boxes / "ham.mbox").exit_code == 0  # it stays
    after = SpamHome(home).load()
    assert before.costs is None and after.costs == Costs.false_positive(99, "spam", "ham", unsure=0.5)
    assert after.decide({"spam": 0.99, "ham": 0.01}) == "unsure" != before.decide({"spam": 0.99, "ham": 0.01})
    assert after.score_one("cheap pills") == before.score_one("cheap pills")
    refused = run("spam", "train", "--home", home, "--lost-ham", -1)
    assert refused.exit_code == 3 and "-1" in refused.output


def test_tokens_may_be_kept_as_keyed_hashes(
    tmp_path: Path, boxes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPAM_KEY", "a key of sixteen bytes or more")
    train = ("spam", "train", "--home", tmp_path / "home", "--ham", boxes / "ham.mbox")
    assert run(*train, "--key-env", "SPAM_KEY").exit_code == 0
    assert run("spam", "stats", "--home", tmp_path / "home", "--key-env", "SPAM_KEY").exit_code == 0
    assert b"meeting" not in (tmp_path / "home" / "filter.zip").read_bytes()
    done = run("spam", "stats", "--home", tmp_path / "home")
    assert done.exit_code == 4 and "hashed" in done.output
    assert run(*train, "--key-env", "NOT_THERE").exit_code == 3


def test_missing_filters_files_and_ids_are_named(tmp_path: Path, boxes: Path) -> None:
    home = tmp_path / "home"
    assert run("spam", "stats", "--home", home).exit_code == 4
    assert run("spam", "correct", "ham", "0123456789", "--home", home).exit_code == 4
    assert run("spam", "train", "--home", home).exit_code == 3
    assert run("spam", "train", "--home", home, "--ham", tmp_path / "nothing").exit_code == 5
    assert not home.exists()
    run("spam", "train", "--home", home, "--ham", boxes / "ham.mbox")
    assert run("spam", "correct", "maybe", "0123456789", "--home", home).exit_code == 3
    assert run("spam", "correct", "ham", "0123456789", "--home", home).exit_code == 3


def test_mistakes_of_beginners_get_a_hint(home: Path, boxes: Path, tmp_path: Path) -> None:
    before = SpamHome(home).load().export_counts()
    for arguments, expected in (
        (("train", boxes / "ham.mbox"), f"--spam {boxes / 'ham.mbox'}, or CLASS="),
        (("train", "--ham", boxes / "ham.mbox", boxes / "spam"), f"label {boxes / 'spam'}: "),
        (("correct", "ham", boxes / "ham.mbox"), "is a file; add --mail to correct the messages in it"),
        (("correct", "spam"), "no message found in stdin"),
        (("correct", "spam", "0123456789"), "pass the message itself, with --mail"),
    ):
        done = run("spam", *arguments, "--home", home)
        assert done.exit_code == 3 and expected in " ".join(done.output.split()), done.output
    (tmp_path / "empty.mbox").write_bytes(b"")
    (tmp_path / "Maildir" / "cur").mkdir(parents=True)
    for box in ("empty.mbox", "Maildir"):
        done = run("spam", "train", "--spam", tmp_path / box, "--home", home)
        assert done.exit_code == 0 and done.output.startswith("0 messages")
    assert SpamHome(home).load().export_counts() == before


def test_the_home_is_named_by_the_environment(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STREAM_BAYES_SPAM", str(home))
    assert json.loads(run("spam", "stats", "--json").stdout)["messages_learned"] == len(MESSAGES)


def test_only_the_owner_may_read_what_was_learned(home: Path) -> None:
    assert (home / "filter.zip").stat().st_mode & 0o077 == 0
    assert home.stat().st_mode & 0o077 == 0


def test_tuning_shows_prices_and_sets_the_costs(home: Path) -> None:
    before = SpamHome(home).version()
    reported = json.loads(run("spam", "tune", "--home", home, "--json").stdout)
    assert reported["spam_from"] == pytest.approx(1 - 0.5 / 30) and SpamHome(home).version() == before
    assert reported["ham"] + reported["spam"] > 100 and len(reported["thresholds"]) > 8
    assert "price" in run("spam", "tune", "--home", home).stdout
    for options, least in (
        (("--profile", "strict"), 1 - 0.5 / 300),
        (("--lost-ham", 99, "--unsure", 0.1), 1 - 0.1 / 99),
        (("--profile", "tag"), 0.9),
    ):
        reported = json.loads(run("spam", "tune", *options, "--home", home, "--json").stdout)
        assert reported["spam_from"] == pytest.approx(least)
        assert stats(home)["spam_threshold"] == pytest.approx(least, abs=1e-4)
    assert run("spam", "tune", "--profile", "loose", "--home", home).exit_code == 3
    run("spam", "train", "--profile", "mailbox", "--home", home)
    assert stats(home)["spam_threshold"] == pytest.approx(1 - 0.5 / 30, abs=1e-4)


def test_a_second_opinion_is_trained_and_explained(tmp_path: Path, boxes: Path) -> None:
    where = ("--home", tmp_path / "home")
    done = run("spam", "train", *where, "--ham", boxes / "ham.mbox", "--second-opinion")
    assert done.exit_code == 0, done.output
    done = run("spam", "train", *where, "--spam", boxes / "spam")
    assert done.exit_code == 0, done.output
    assert SpamHome(tmp_path / "home").load().second_opinion
    mail = tmp_path / "mail.eml"
    mail.write_bytes(b"Subject: pillz\n\nfree offerz")
    assert "second opinion: 4-grams" in run("spam", "explain", *where, mail).stdout
