"""Bayesian learning from a stream, one event at a time.

Learners have River's verbs (`learn_one`, `predict_one`, `predict_proba_one`) over tables of exact counts, so
they can also take a sample back, merge, fade old samples and be saved without loss.

`stream_bayes.compiled` says whether the kernels in use are the compiled ones.
"""

from typing import TYPE_CHECKING, Any

from stream_bayes import _build

_build.install_finder()

from stream_bayes import errors
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.structure import Structure
from stream_bayes.data.columns import CodedColumns
from stream_bayes.data.schema import Nominal, Numeric, Schema
from stream_bayes.errors import StreamBayesError
from stream_bayes.formats.bif import read_bif, write_bif
from stream_bayes.learners.classifier.binning import Binning
from stream_bayes.learners.costs import Costs, Thresholds
from stream_bayes.learners.deciding_classifier import DecidingClassifier
from stream_bayes.learners.half_life_choice import HalfLifeChoice
from stream_bayes.learners.kdb import KDB
from stream_bayes.learners.live_choice import LiveChoice
from stream_bayes.learners.naive_bayes import GaussianNB, NaiveBayes
from stream_bayes.learners.networks.bayes_net import BayesNet
from stream_bayes.learners.networks.bayes_net_classifier import BayesNetClassifier
from stream_bayes.learners.one_dependence import A2DE, AODE, SPODE
from stream_bayes.learners.sliding_window import SlidingWindow
from stream_bayes.learners.text import BernoulliNB, ComplementNB, MultinomialNB
from stream_bayes.learners.trees import ODE, TAN

if TYPE_CHECKING:
    from stream_bayes.drift.adaptive import DriftAdaptive

__all__ = [
    "A2DE",
    "AODE",
    "KDB",
    "ODE",
    "SPODE",
    "TAN",
    "BayesNet",
    "BayesNetClassifier",
    "BernoulliNB",
    "Binning",
    "CodedColumns",
    "ComplementNB",
    "Costs",
    "DecidingClassifier",
    "DiscreteNetwork",
    "DriftAdaptive",
    "GaussianNB",
    "HalfLifeChoice",
    "LiveChoice",
    "MultinomialNB",
    "NaiveBayes",
    "Nominal",
    "Numeric",
    "Schema",
    "SlidingWindow",
    "StreamBayesError",
    "Structure",
    "Thresholds",
    "__version__",
    "compiled",
    "errors",
    "read_bif",
    "write_bif",
]

__version__ = _build.VERSION
compiled: bool = _build.is_compiled()


def __getattr__(name: str) -> Any:
    """`DriftAdaptive`, imported when it is asked for: River's detectors load pandas and scikit-learn, for a second."""
    if name == "DriftAdaptive":
        from stream_bayes.drift.adaptive import DriftAdaptive

        return DriftAdaptive
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
