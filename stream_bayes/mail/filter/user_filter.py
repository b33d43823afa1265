"""A user's filter over that of a site: what the user taught, with the counts of the site as the prior.

A token's share of a class's messages, with c of C the site's messages and u of U the user's, both in units of messages:

    p = (s (c + prior) + u) / (s (C + 2 prior) + U)          s = 1, or less: the site counts as at most `SITE_MESSAGES`

A token that the user learned gets (1 - s) prior more, so that one message of a user proves no more than one of a site.
So a user who taught nothing has the site's scores; without a site, or with a small one, scores are those of one filter
that learned all. The margin is the sum of both; what a user teaches moves the user's part only.

The site learns on, and no user's state changes with it. What a user taught depends on the scores that the mails had
when they came. These are recorded (`recording`): the same changes give the same state whatever the site has become.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, Self, cast

import numpy as np
from numpy.typing import NDArray

from stream_bayes.errors import BadState, NotSupported
from stream_bayes.learners.wrappers.decision_rules import Rule
from stream_bayes.mail.filter._evidence import UNIT
from stream_bayes.mail.filter.calibration import ScoreCurve, logistic
from stream_bayes.mail.filter.explanation import TokenContribution
from stream_bayes.mail.filter.filter import SpamFilter
from stream_bayes.mail.filter.length_weights import MessageWeights
from stream_bayes.mail.filter.one_against_rest import Contest
from stream_bayes.mail.filter.receipts import Receipt
from stream_bayes.mail.filter.rehearsal import Rehearsal
from stream_bayes.mail.filter.scorer import MessageScore, Scorer
from stream_bayes.mail.filter.second_opinion import CharacterOpinion, NoOpinion, SiteOpinion
from stream_bayes.mail.filter.state import load_state, save_state
from stream_bayes.mail.filter.token_scorer import MEAN_WEIGHT, PASSAGE, TokenScorer
from stream_bayes.mail.filter.training import Training
from stream_bayes.mail.text.correspondents import Correspondents

__all__ = ["MAX_RECEIPTS", "MAX_TOKENS", "RecordedScore", "UserFilter"]

# That the site's count as, if there are more: a user's own must weigh something.
SITE_MESSAGES: Final = 2_000.0
USER_SCORES: Final = 500  # in a user's calibration
# Scores of the rarer label at which half of the log-odds come from the user's calibration.
FULL_TRUST: Final = 100.0
MAX_TOKENS, MAX_RECEIPTS = 20_000, 1_000  # of a user

RecordedScore = tuple[float, float]  # of a message, and its probability by the margin alone


class UserFilter(SpamFilter):
    """A small filter of one user over the filter of a site. A user who taught nothing gets the site's verdicts.

    It has the settings of the site's filter, and its costs unless it has costs of its own. It learns every message.

    Parameters
    ----------
    site
        The site's filter, with the built-in scorer. It is only read, and may learn on.
    costs
        Turn probabilities into a verdict; None: as the site does.
    max_tokens
        The most tokens to hold; past it, those longest unseen are evicted.
    max_receipts
        The number of recent messages that can be corrected or forgotten by their id.

    Notes
    -----
    The user's counts are exact in any order, as those of `SpamFilter`: with all messages forgotten, verdicts are the
    site's again. Probabilities come from the site's calibration, and from the user's own as it grows. Memory: some
    10 KB, and as `SpamFilter` for what the user taught.

    Examples
    --------
    >>> from stream_bayes.mail import SpamFilter, UserFilter
    >>> site = SpamFilter()
    >>> for text, label in [("free pills", "spam"), ("lunch notes", "ham"), ("free offer", "spam"), ("notes", "ham")]:
    ...     site.learn_one(text, label)
    >>> ann = UserFilter(site)
    >>> ann.score_one("free offer") == site.score_one("free offer")
    True
    >>> ann.learn_one("free offer", "ham")
    >>> ann.score_one("free offer") < 0 < site.score_one("free offer")
    True
    """

    def __init__(
        self,
        site: SpamFilter,
        costs: Rule | None = None,
        max_tokens: int = MAX_TOKENS,
        max_receipts: int = MAX_RECEIPTS,
    ) -> None:
        self._site = site
        super().__init__(
            classes=site.classes,
            costs=costs,
            max_tokens=max_tokens,
            influence=site.influence,
            max_receipts=max_receipts,
            key=site.key,
            salt=site.salt,
            keep=site.keep,
            pairs=site.pairs,
            parser=site.parser,
            limits=site.limits,
            authserv_id=site.authserv_id,
            second_opinion=site.second_opinion,
        )
        self.tokenizer = site.tokenizer

    def state(self) -> dict[str, Any]:
        """Return the user's own part of the filter: JSON values, and arrays under "arrays"."""
        return save_state(self.arguments(), self.contests, Correspondents(), self.token_ages)

    def add_prior(self, other: SpamFilter, weight: float = 0.0) -> Self:
        """Raise `NotSupported`: the prior of a user is the site."""
        raise NotSupported("a user's filter begins with that of the site; give the site a base")

    def learn_sent(self, mail: bytes) -> int:
        """Raise `NotSupported`: all users of a site have the same correspondents."""
        raise NotSupported("whom one has written to is learned by the site's filter, for all of its users")

    def _make_contest(self, number: int) -> Contest:
        theirs = self._site.contests[number]
        return Contest(
            UserScorer(_built_in(theirs.scorer), self.influence),
            UserCalibration(theirs.calibration),
            self._make_receipts(number),
            Training(self.train),
            Rehearsal(),
            theirs.is_of_one_class,
        )

    @property
    def _scorers(self) -> list[UserScorer]:
        return [cast("UserScorer", contest.scorer) for contest in self.contests]

    @property
    def site(self) -> SpamFilter:
        """The site's filter. Another one may take its place; what the user taught stays."""
        return self._site

    @site.setter
    def site(self, site: SpamFilter) -> None:
        if site is self._site:
            return
        for ours, theirs in zip(self.contests, site.contests, strict=True):
            cast("UserScorer", ours.scorer).read_over(_built_in(theirs.scorer))
            cast("UserCalibration", ours.calibration).site = theirs.calibration
        self._site, self.tokenizer, self._last_scored = site, site.tokenizer, None

    @property
    def rule(self) -> Rule:
        """The rule that decides: the site's, unless the user has costs of its own."""
        return self._site.rule if self.costs is None else super().rule

    @contextmanager
    def recording(self, scores: Sequence[RecordedScore] | None = None) -> Iterator[list[RecordedScore]]:
        """Record the scores on which changes depend, in the list that is yielded.

        Parameters
        ----------
        scores
            Recorded before, of the same changes: they are used in place of the site's present ones.

        Raises
        ------
        BadState
            If the changes need more scores than were recorded.
        """
        self._last_scored = None
        recorded: list[RecordedScore] = []
        repeated = None if scores is None else deque(scores)
        for scorer in self._scorers:
            scorer.recorded, scorer.repeated = recorded, repeated
        try:
            yield recorded
        finally:
            for scorer in self._scorers:
                scorer.recorded = scorer.repeated = None

    @classmethod
    def from_state(cls, state: Mapping[str, Any], key: bytes | None = None) -> Self:
        """Raise `NotSupported`: a user's state is restored over a site, by `restored`."""
        raise NotSupported("a user's filter is restored over its site: UserFilter.restored(state, site)")

    @classmethod
    def restored(cls, state: Mapping[str, Any], site: SpamFilter) -> Self:
        """Return the user's filter of a state, over a site's with the same key.

        Raises
        ------
        BadState
            If anything is wrong with the state.
        """

        def make(**saved: Any) -> UserFilter:
            if saved["classes"] != site.classes:
                raise BadState(f"its classes are {saved['classes']!r}, those of the site {site.classes!r}")
            return cls(site, saved["costs"], saved["max_tokens"], saved["max_receipts"])

        return cast(
            "Self",
            load_state(
                make, lambda model: (model.contests, Correspondents(), model.token_ages), state, site.key
            ),
        )

    def set_quota(self, max_tokens: int, max_receipts: int) -> bool:
        """Change the bounds. Drop what is past them, oldest first. Return False if they were the same."""
        if (self.max_tokens, self.max_receipts) == (max_tokens, max_receipts):
            return False
        self.max_tokens = max_tokens
        self.max_receipts = self.unwanted_contest.receipts.limit = max_receipts
        for key in self.ids()[: max(self.correctable - max_receipts, 0)]:
            self.unwanted_contest.receipts.remove(key)
        self._drop_receipts()
        self._evict_tokens()
        return True

    def __getstate__(self) -> dict[str, Any]:
        return {"state": self.state(), "site": self._site}

    def __setstate__(self, pickled: dict[str, Any]) -> None:
        self.__dict__.update(type(self).restored(pickled["state"], pickled["site"]).__dict__)


class UserScorer(TokenScorer):
    """A scorer that counts a user's tokens, and reads those of the site too. `site` is the site's scorer; `influence`
    is as of `TokenScorer`.

    Attributes
    ----------
    recorded
        Where scores are recorded; None to record none.
    repeated
        Scores recorded before, to be used in place of present ones.
    """

    def __init__(self, site: TokenScorer, influence: int) -> None:
        self.site = site
        super().__init__(influence)
        self.recorded: list[RecordedScore] | None = None
        self.repeated: deque[RecordedScore] | None = None
        self.read_over(site)

    def read_over(self, site: TokenScorer) -> None:
        """Read this site's counts."""
        self.site = site
        theirs = site.opinion
        self.opinion = SiteOpinion(theirs) if isinstance(theirs, CharacterOpinion) else NoOpinion()
        self.table.read_over(site.table, SITE_MESSAGES)

    @property
    def version(self) -> int:
        """Changes whenever a score may have changed."""
        return self._changes + self.site.version

    @version.setter
    def version(self, version: int) -> None:
        self._changes = version - self.site.version

    @property
    def is_trained(self) -> bool:
        """True if the user or the site learned anything."""
        return self.site.is_trained or self.weights.clock > 0 or self.table.first + self.table.second > 0

    @property
    def pooled_messages(self) -> tuple[float, float]:
        """The messages of each label, the site's too."""
        (ham, spam), (site_ham, site_spam) = self.messages, self.site.messages
        return ham + site_ham, spam + site_spam

    @property
    def prior_messages(self) -> tuple[float, float]:
        """The messages of each label that the site's prior stands for."""
        return self.site.prior_messages

    @property
    def mean_length(self) -> float:
        """The mean number of tokens of the messages that the user and the site learned."""
        both = MessageWeights(self.weights.influence)
        for one in (self.weights, self.site.weights):
            both.merge(one)
        return both.mean_length

    def score(self, bag: dict[str, int]) -> MessageScore:
        """Look up the tokens of a message and score it."""
        tokens = self.opinion.read(bag)
        codes = self.table.codes_of(tokens)
        score, probability = self._scored(codes, len(tokens), self.site.table.codes_of(tokens))
        return MessageScore(codes, score, probability, self.version)

    def passage_score(self, score: MessageScore, borders: NDArray[np.int32], bag: dict[str, int]) -> float:
        """Return the score that the passage of a message with the highest one would have alone."""
        site_codes = self.site.table.codes_of(self.opinion.read(bag))
        return self.table.spammiest(score.codes, PASSAGE, MEAN_WEIGHT, borders, site_codes)

    def _scored(self, codes: NDArray[np.int32], tokens: int, site_codes: NDArray[np.int32]) -> RecordedScore:
        """Return the score of the message that the second opinion has read, and its probability by the margin alone;
        recorded, or as recorded before.
        """
        if self.repeated is not None:
            if not self.repeated:
                raise BadState("a change of the user's filter needs more scores than were recorded with it")
            scored = self.repeated.popleft()
        else:
            mean, margin = self.table.score(codes, tokens, site_codes)
            first = margin + MEAN_WEIGHT * mean
            score, _ = self.opinion.with_tokens(first)
            scored = (
                score,
                logistic(margin + (score - first)),
            )  # the user's margin corrects the site's opinion
        if self.recorded is not None:
            self.recorded.append(scored)
        return scored

    def _score_again(self, receipt: Receipt, turn: int = 0) -> tuple[float, float, float]:
        """Return what `TokenScorer` does: the second opinion learns nothing of users."""
        values = self.table.vocabulary.values
        coded = np.flatnonzero(receipt.codes >= 0)
        site_codes = np.full(len(receipt.codes), -1, np.int32)
        site_codes[coded] = self.site.table.codes_of(
            {values[code]: 1 for code in receipt.codes[coded].tolist()}
        )
        self.opinion.read_again(receipt)
        return *self._scored(receipt.codes, receipt.tokens, site_codes), receipt.opinion

    def are_in_wanted(self, bag: dict[str, int]) -> bool:
        """Return True if each token is in a message of label 0 of the user or of the site."""
        of_user, of_site = super().are_in_wanted, self.site.are_in_wanted
        return all(of_user(token) or of_site(token) for token in ({each: 1} for each in bag))

    def contributions(self, bag: dict[str, int]) -> list[TokenContribution]:
        """Return the contribution of each token learned by the user or the site, and the messages of both by label."""
        tokens = self.opinion.read(bag)
        user_codes, site_codes = self.table.codes_of(tokens), self.site.table.codes_of(tokens)
        means, sums = self.table.parts(user_codes, len(tokens), site_codes)
        counts, site_counts = self.counts() / UNIT, self.site.counts() / UNIT
        rows = []
        adds = (MEAN_WEIGHT * means + sums).tolist()
        for token, code, site_code, added in zip(
            tokens, user_codes.tolist(), site_codes.tolist(), adds, strict=True
        ):
            if code >= 0 or site_code >= 0:
                user_counts = counts[code] if code >= 0 else np.zeros(2)
                both = user_counts + (site_counts[site_code] if site_code >= 0 else 0.0)
                rows.append(TokenContribution(token, added, *both.tolist()))
        return rows + self.opinion.contributions()


class UserCalibration(ScoreCurve):
    """The site's calibration, and a user's own by the number of scores behind it."""

    def __init__(self, site: ScoreCurve) -> None:
        super().__init__(USER_SCORES)
        self.site = site

    def log_odds(self, score: float) -> float:
        """Return the log-odds of label 1: a mean of the site's and the user's own curve."""
        labels = self.labels[: self.recent_count]
        spam = float(labels.sum())
        trust = min(spam, len(labels) - spam)
        share = trust / (trust + FULL_TRUST)
        common = self.site.log_odds(score)
        return common + share * (super().log_odds(score) - common) if share else common

    def low_score(self, share: float) -> float | None:
        """Return a score of label 1 that at most this share of its messages is below: of the user's, or the site's."""
        of_user = super().low_score(share)
        return self.site.low_score(share) if of_user is None else of_user


def _built_in(scorer: Scorer) -> TokenScorer:
    if not isinstance(scorer, TokenScorer):
        raise NotSupported("users need a site with the built-in scorer; this one has a learner in its place")
    return scorer
