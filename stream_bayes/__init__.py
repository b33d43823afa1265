"""Bayesian learning from a stream, one event at a time.

Learners have River's verbs (`learn_one`, `predict_one`, `predict_proba_one`) over tables of exact counts, so
they can also take a sample back, merge, fade old samples and be saved without loss (`save`, `load`).

`stream_bayes.compiled` is True where the compiled kernels are in use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from stream_bayes import _build

_build.install_finder()

from stream_bayes import errors

if TYPE_CHECKING:
    from stream_bayes.core.networks.discrete_network import DiscreteNetwork
    from stream_bayes.core.networks.structure import Structure
    from stream_bayes.data.columns import CodedColumns
    from stream_bayes.data.schema import Nominal, Numeric, Schema
    from stream_bayes.drift.adaptive import DriftAdaptive
    from stream_bayes.errors import StreamBayesError
    from stream_bayes.formats.bif import read_bif, write_bif
    from stream_bayes.learners.adaptive.adaptive_bayes import AdaptiveBayes
    from stream_bayes.learners.classifier.binning import Binning
    from stream_bayes.learners.deciding_classifier import DecidingClassifier
    from stream_bayes.learners.decision_rules import Costs, Thresholds
    from stream_bayes.learners.discriminant import LDA, QDA
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
    from stream_bayes.model_files import load, save

    compiled: bool

__all__ = [
    "A2DE",
    "AODE",
    "KDB",
    "LDA",
    "ODE",
    "QDA",
    "SPODE",
    "TAN",
    "AdaptiveBayes",
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
    "load",
    "read_bif",
    "save",
    "write_bif",
]

__version__ = _build.VERSION


# The module of each name. It is imported when the name is first used, so importing the package is cheap: command
# lines, pytest plug-ins and single rooms need few of them.
_MODULE_OF = {
    "A2DE": "learners.one_dependence",
    "AODE": "learners.one_dependence",
    "BayesNet": "learners.networks.bayes_net",
    "BayesNetClassifier": "learners.networks.bayes_net_classifier",
    "BernoulliNB": "learners.text",
    "Binning": "learners.classifier.binning",
    "CodedColumns": "data.columns",
    "ComplementNB": "learners.text",
    "Costs": "learners.decision_rules",
    "DecidingClassifier": "learners.deciding_classifier",
    "DiscreteNetwork": "core.networks.discrete_network",
    "DriftAdaptive": "drift.adaptive",
    "GaussianNB": "learners.naive_bayes",
    "LDA": "learners.discriminant",
    "QDA": "learners.discriminant",
    "AdaptiveBayes": "learners.adaptive.adaptive_bayes",
    "HalfLifeChoice": "learners.half_life_choice",
    "KDB": "learners.kdb",
    "LiveChoice": "learners.live_choice",
    "MultinomialNB": "learners.text",
    "NaiveBayes": "learners.naive_bayes",
    "Nominal": "data.schema",
    "Numeric": "data.schema",
    "ODE": "learners.trees",
    "SPODE": "learners.one_dependence",
    "Schema": "data.schema",
    "SlidingWindow": "learners.sliding_window",
    "StreamBayesError": "errors",
    "Structure": "core.networks.structure",
    "TAN": "learners.trees",
    "Thresholds": "learners.decision_rules",
    "load": "model_files",
    "read_bif": "formats.bif",
    "save": "model_files",
    "write_bif": "formats.bif",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name == "compiled":
        found: Any = _build.is_compiled()
    elif name in _MODULE_OF:
        found = getattr(import_module(f"stream_bayes.{_MODULE_OF[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
