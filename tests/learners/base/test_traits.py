"""Traits: each follows from a learner's class and arguments, and from nothing that it learns."""

from __future__ import annotations

import pytest

from stream_bayes import (
    AODE,
    KDB,
    SPODE,
    BayesNetClassifier,
    GaussianNB,
    LiveChoice,
    MultinomialNB,
    NaiveBayes,
    Numeric,
    Schema,
    SlidingWindow,
)
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.base.traits import Traits

PLAIN = Traits(
    is_order_dependent=False,
    is_mergeable=True,
    accepts_numbers=True,
    learns_cut_points=False,
    accepts_new_features=True,
)
IN_BINS = PLAIN._replace(learns_cut_points=True)


@pytest.mark.parametrize(
    ("learner", "traits"),
    [
        (NaiveBayes(), PLAIN),
        (GaussianNB(), PLAIN),
        (MultinomialNB(), PLAIN._replace(accepts_numbers=False)),
        (AODE(), IN_BINS),
        (AODE(binning=None), PLAIN._replace(accepts_numbers=False)),
        (AODE(schema=Schema({"size": Numeric(cuts=[1.0])})), PLAIN._replace(accepts_new_features=False)),
        (AODE(schema=Schema({"size": Numeric()})), IN_BINS._replace(accepts_new_features=False)),
        (SPODE(), IN_BINS._replace(is_order_dependent=True)),
        (SPODE(parent="size"), IN_BINS),
        (LiveChoice(), IN_BINS._replace(is_order_dependent=True)),
        (KDB(k=1), IN_BINS),
        (KDB(k=2), IN_BINS._replace(is_order_dependent=True, is_mergeable=False)),
        (SlidingWindow(AODE(), 5), IN_BINS._replace(is_mergeable=False)),
        (BayesNetClassifier(None), IN_BINS),
        (BayesNetClassifier(), IN_BINS._replace(is_order_dependent=True, is_mergeable=False)),
        (BayesNetClassifier({"class": [], "sky": ["class"]}), IN_BINS._replace(accepts_new_features=False)),
    ],
    ids=repr,
)
def test_the_traits_of_a_learner_follow_from_its_arguments(learner: BayesClassifier, traits: Traits) -> None:
    assert learner.traits == traits
