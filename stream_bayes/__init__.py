"""Bayesian learning from a stream, one event at a time.

Learners have River's verbs (`learn_one`, `predict_one`, `predict_proba_one`) over tables of exact counts, so
they can also take a sample back, merge, fade old samples and be saved without loss.

`stream_bayes.compiled` says whether the kernels in use are the compiled ones.
"""

from stream_bayes import _build

_build.install_finder()

from stream_bayes import errors
from stream_bayes.errors import StreamBayesError
from stream_bayes.learners.decision import Costs, DecidingClassifier, Thresholds
from stream_bayes.learners.naive_bayes import GaussianNB, NaiveBayes
from stream_bayes.learners.text import BernoulliNB, ComplementNB, MultinomialNB
from stream_bayes.schema import CodedColumns, Nominal, Numeric, Schema

__all__ = [
    "BernoulliNB",
    "CodedColumns",
    "ComplementNB",
    "Costs",
    "DecidingClassifier",
    "GaussianNB",
    "MultinomialNB",
    "NaiveBayes",
    "Nominal",
    "Numeric",
    "Schema",
    "StreamBayesError",
    "Thresholds",
    "__version__",
    "compiled",
    "errors",
]

__version__ = _build.VERSION
compiled: bool = _build.is_compiled()
