"""The classifiers of one model by the short names of configuration files and the command line.

They may be arguments of others, such as `SlidingWindow`: a state names them by their classes. `catalogue` adds the
learners around others, and is the list that users see.
"""

from __future__ import annotations

from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.base.state import allow_within
from stream_bayes.learners.classifiers.discriminant import LDA, QDA
from stream_bayes.learners.classifiers.kdb import KDB
from stream_bayes.learners.classifiers.live_choice import LiveChoice
from stream_bayes.learners.classifiers.naive_bayes import GaussianNB, NaiveBayes
from stream_bayes.learners.classifiers.one_dependence import A2DE, AODE, SPODE
from stream_bayes.learners.classifiers.text import BernoulliNB, ComplementNB, MultinomialNB
from stream_bayes.learners.classifiers.trees import ODE, TAN
from stream_bayes.networks.bayes_net_classifier import BayesNetClassifier

__all__ = ["CLASSIFIERS"]

CLASSIFIERS: dict[str, type[BayesClassifier]] = {
    "nb": NaiveBayes,
    "gaussian-nb": GaussianNB,
    "lda": LDA,
    "qda": QDA,
    "multinomial-nb": MultinomialNB,
    "complement-nb": ComplementNB,
    "bernoulli-nb": BernoulliNB,
    "spode": SPODE,
    "aode": AODE,
    "a2de": A2DE,
    "ode": ODE,
    "tan": TAN,
    "kdb": KDB,
    "bayes-net": BayesNetClassifier,
    "live-choice": LiveChoice,
}
for _made in CLASSIFIERS.values():
    allow_within(_made)
