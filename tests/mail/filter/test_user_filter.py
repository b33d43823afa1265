"""A user's filter over a site's: the site's verdicts at first, the user's own evidence exactly, and no state of a user
changes when the site learns.
"""

from __future__ import annotations

import json
import pickle
import random
from typing import Any

import pytest

from stream_bayes.errors import BadState, NotSupported
from stream_bayes.learners.classifiers.text import BernoulliNB
from stream_bayes.learners.wrappers.decision_rules import Costs
from stream_bayes.mail import SpamFilter, UserFilter
from stream_bayes.mail.filter import user_filter
from stream_bayes.mail.filter.calibration import ScoreCurve
from tests.mail.messages import plain, stream

MAILS = list(stream(120))
OWN = [
    (plain(f"newsletter pills offer {number % 7}"), "ham" if number % 3 else "spam") for number in range(40)
]


def trained(count: int = 80) -> SpamFilter:
    site = SpamFilter()
    for number, (raw, label) in enumerate(MAILS[:count]):
        site.learn_one(raw, label, id=str(number))
    return site


def table_of(model: SpamFilter) -> Any:
    scorer: Any = model.unwanted_contest.scorer
    return scorer.table


def counted(model: SpamFilter) -> tuple[object, ...]:
    """Everything that a user's messages added."""
    tables = model.export_counts()
    margins = {token: table_of(model).margin[place] for place, token in enumerate(tables["tokens"])}
    return tables, margins, model.ids()


def test_a_user_who_taught_nothing_gets_the_sites_answers() -> None:
    site = trained()
    user = UserFilter(site)
    for raw, _ in MAILS:
        assert user.score_one(raw) == site.score_one(raw)
        assert user.predict_proba_one(raw) == site.predict_proba_one(raw)
        assert user.verdict_one(raw) == site.verdict_one(raw)
        shown, expected = user.explain_one(raw), site.explain_one(raw)
        assert (shown.score, shown.tokens) == (expected.score, expected.tokens)


def test_over_an_empty_site_a_user_has_a_filter_of_its_own() -> None:
    user, alone = UserFilter(SpamFilter(second_opinion=False)), SpamFilter(second_opinion=False)
    for raw, label in MAILS:
        assert user.score_one(raw) == pytest.approx(alone.score_one(raw), abs=1e-9)
        user.learn_one(raw, label)
        alone.learn_one(raw, label)
    assert counted(user) == counted(alone)


def test_counts_of_a_small_site_and_of_the_user_score_as_the_counts_of_one_filter() -> None:
    site = trained()
    user, pooled = UserFilter(site), trained()
    for number, (raw, label) in enumerate(OWN):
        user.learn_one(raw, label, id=f"own {number}")
    pooled.import_counts(user.export_counts())
    for raw, _ in MAILS + OWN:
        common, tokens = pooled.bag_of(raw).tokens, len(pooled.bag_of(raw).tokens)
        table = table_of(pooled)
        mean, _ = table.score(table.codes_of(common), tokens)
        own, site_table = table_of(user), table_of(site)
        found, _ = own.score(own.codes_of(common), tokens, site_table.codes_of(common))
        assert found == pytest.approx(mean, abs=1e-9)


def test_a_large_site_counts_as_so_many_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_filter, "SITE_MESSAGES", 8.0)
    site = trained()
    raw = MAILS[0][0]
    assert UserFilter(site).score_one(raw) == pytest.approx(site.score_one(raw), abs=1e-9)
    near, far = UserFilter(site), trained()
    for model in (near, far):
        model.learn_one(raw, "ham" if MAILS[0][1] == "spam" else "spam", id="mine")
    sign = 1.0 if MAILS[0][1] == "spam" else -1.0
    assert sign * near.score_one(raw) < sign * far.score_one(raw)


def test_forgetting_everything_in_any_order_leaves_the_site() -> None:
    site = trained()
    user = UserFilter(site)
    for number, (raw, label) in enumerate(OWN):
        user.learn_one(raw, label, id=str(number))
    for number in range(0, 40, 2):
        user.correct(str(number), "spam")
        user.correct(str(number), "ham")
    for raw, label in MAILS[80:]:
        site.learn_one(raw, label)
    ids = user.ids()
    random.Random(1).shuffle(ids)
    for key in ids:
        user.forget(key)
    assert counted(user) == counted(UserFilter(site))
    assert user.score_one(OWN[0][0]) == site.score_one(OWN[0][0])


def test_the_user_decides_about_the_users_mail_and_nobody_elses() -> None:
    site = trained()
    ann, bob = UserFilter(site), UserFilter(site)
    before = json.dumps(site.state(), default=str)
    raw = next(raw for raw, label in MAILS if label == "spam" and site.score_one(raw) > 0)
    ann.learn_one(raw, "ham")
    assert ann.score_one(raw) < 0 < site.score_one(raw) == bob.score_one(raw)
    assert json.dumps(site.state(), default=str) == before


def test_what_the_site_learns_reaches_users_and_changes_no_state_of_theirs() -> None:
    site = trained()
    user = UserFilter(site)
    user.learn_one(OWN[0][0], "ham", id="own")
    before, text = user.state()["checksum"], "unseen words of a mail"
    first = user.score_one(text)
    site.learn_one(text, "spam")
    assert user.score_one(text) > first and user.state()["checksum"] == before
    user.site = other = trained(100)
    assert user.score_one(text) == pytest.approx(
        UserFilter.restored(user.state(), other).score_one(text), abs=0
    )
    assert user.state()["checksum"] == before


def test_recorded_scores_make_changes_repeatable_over_another_site() -> None:
    site = trained()
    user, scores = UserFilter(site), []
    for number, (raw, label) in enumerate(
        sorted(OWN, key=lambda each: each[1])
    ):  # a run of ham, then one of spam
        with user.recording() as recorded:
            user.learn_one(raw, label, id=str(number))
        scores.append(list(recorded))
        site.learn_one(raw, "spam")
    assert any(len(each) > 1 for each in scores), "some messages were learned again"
    again = UserFilter(trained(20))
    for number, (raw, label) in enumerate(sorted(OWN, key=lambda each: each[1])):
        with again.recording(scores[number]):
            again.learn_one(raw, label, id=str(number))
    assert again.state()["checksum"] == user.state()["checksum"]
    with pytest.raises(BadState, match="more scores"), again.recording([]):
        again.learn_one("something new", "ham")


def test_a_state_is_restored_whole_and_follows_the_costs_of_the_site() -> None:
    site = trained()
    user = UserFilter(site, max_tokens=500, max_receipts=50)
    for raw, label in OWN:
        user.learn_one(raw, label)
    for copy in (UserFilter.restored(user.state(), site), pickle.loads(pickle.dumps(user))):
        assert copy.state()["checksum"] == user.state()["checksum"]
        assert copy.score_one(OWN[3][0]) == user.score_one(OWN[3][0])
        assert (copy.max_tokens, copy.max_receipts, copy.rule) == (500, 50, site.rule)
    site.set_costs(Costs.false_positive(1, "spam", "ham"))
    assert user.rule is site.rule
    user.set_costs(Costs.false_positive(99, "spam", "ham"))
    copy = UserFilter.restored(user.state(), site)
    assert isinstance(copy.rule, Costs) and isinstance(site.rule, Costs)
    assert copy.rule.band("spam", "spam") == (0.99, 1.0) != site.rule.band("spam", "spam")
    with pytest.raises(NotSupported, match="restored"):
        UserFilter.from_state(user.state())
    with pytest.raises(BadState):
        UserFilter.restored({**user.state(), "checksum": 0}, site)


def test_a_quota_bounds_tokens_and_receipts() -> None:
    site = trained()
    user = UserFilter(site, max_tokens=30, max_receipts=5)
    for number in range(40):
        user.learn_one(
            f"word{number} other{number} third{number}", "ham" if number % 2 else "spam", id=str(number)
        )
        assert user.tokens <= 30 and user.correctable <= 5
    assert not user.set_quota(30, 5) and user.set_quota(10, 2)
    assert user.tokens <= 10 and user.correctable == 2
    assert user.memory_bytes < 60_000


def test_probabilities_are_the_sites_until_a_user_labelled_enough() -> None:
    site = trained()
    user = UserFilter(site)
    curve, common = user.unwanted_contest.calibration, site.unwanted_contest.calibration
    for number in range(20):
        curve.add(2.0 + number / 10, 1)
    assert curve.log_odds(1.0) == common.log_odds(1.0), "one label alone proves nothing"
    for number in range(400):
        curve.add(number % 7 - 3.0 + 4.0 * (number % 2), number % 2)
    own = ScoreCurve.log_odds(curve, 1.0)
    assert min(own, common.log_odds(1.0)) < curve.log_odds(1.0) < max(own, common.log_odds(1.0))
    assert curve.recent_count == 420


def test_users_need_the_built_in_scorer() -> None:
    with pytest.raises(NotSupported, match="built-in scorer"):
        UserFilter(SpamFilter(learner=BernoulliNB()))
