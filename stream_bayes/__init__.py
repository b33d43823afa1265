"""Bayesian learning from a stream, one event at a time.

Learners have River's verbs (`learn_one`, `predict_one`, `predict_proba_one`) over tables of exact counts, so
they can also take a sample back, merge, fade old samples and be saved without loss (`save`, `load`).

`stream_bayes.compiled` is True where the compiled kernels are in use.
"""

from stream_bayes import _build
from stream_bayes.lazy_imports import front

TYPE_CHECKING = False
if TYPE_CHECKING:  # loading `typing` takes as long as all the rest
    from stream_bayes import errors
    from stream_bayes.core.networks.discrete_network import DiscreteNetwork
    from stream_bayes.core.networks.structure import Structure
    from stream_bayes.data.columns import CodedColumns
    from stream_bayes.data.schema import Amount, Code, Coordinates, Date, Nominal, Numeric, Schema, Text
    from stream_bayes.drift.adaptive import DriftAdaptive
    from stream_bayes.drift.adaptive_regression import DriftAdaptiveRegression
    from stream_bayes.errors import StreamBayesError
    from stream_bayes.learners.adaptive.adaptive_bayes import AdaptiveBayes
    from stream_bayes.learners.adaptive.adaptive_regression import AdaptiveRegression
    from stream_bayes.learners.base.binning import Binning
    from stream_bayes.learners.base.fourier_features import FourierFeatures
    from stream_bayes.learners.base.prior_tables import PriorTables
    from stream_bayes.learners.classifiers.discriminant import LDA, QDA
    from stream_bayes.learners.classifiers.kdb import KDB
    from stream_bayes.learners.classifiers.live_choice import LiveChoice
    from stream_bayes.learners.classifiers.logistic import BayesianLogistic
    from stream_bayes.learners.classifiers.naive_bayes import GaussianNB, NaiveBayes
    from stream_bayes.learners.classifiers.neighbours import NearestNeighbours
    from stream_bayes.learners.classifiers.one_dependence import A2DE, AODE, SPODE
    from stream_bayes.learners.classifiers.text import BernoulliNB, ComplementNB, MultinomialNB
    from stream_bayes.learners.classifiers.trees import ODE, TAN
    from stream_bayes.learners.regressors.gaussian_process import GaussianProcess
    from stream_bayes.learners.regressors.linear import BayesianRegression
    from stream_bayes.learners.regressors.several_targets import MultiTargetRegression
    from stream_bayes.learners.regressors.tree import BayesianTree
    from stream_bayes.learners.sequences.hidden_markov import HiddenMarkov
    from stream_bayes.learners.sequences.markov_chain import MarkovChain
    from stream_bayes.learners.wrappers.deciding_classifier import DecidingClassifier
    from stream_bayes.learners.wrappers.decision_rules import Costs, Thresholds
    from stream_bayes.learners.wrappers.half_life_choice import HalfLifeChoice
    from stream_bayes.learners.wrappers.half_life_regression import HalfLifeRegression
    from stream_bayes.learners.wrappers.model_per_key import ModelPerKey
    from stream_bayes.learners.wrappers.prediction_sets import PredictionSets
    from stream_bayes.learners.wrappers.sliding_window import SlidingWindow
    from stream_bayes.networks.bayes_net import BayesNet
    from stream_bayes.networks.bayes_net_classifier import BayesNetClassifier
    from stream_bayes.networks.dynamic_network import DynamicNetwork
    from stream_bayes.networks.files.bif import read_bif, write_bif
    from stream_bayes.networks.latent_class import LatentClass
    from stream_bayes.networks.mixed_network import MixedNetwork
    from stream_bayes.saving.model_files import load, save

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
    "AdaptiveRegression",
    "Amount",
    "BayesNet",
    "BayesNetClassifier",
    "BayesianLogistic",
    "BayesianRegression",
    "BayesianTree",
    "BernoulliNB",
    "Binning",
    "Code",
    "CodedColumns",
    "ComplementNB",
    "Coordinates",
    "Costs",
    "Date",
    "DecidingClassifier",
    "DiscreteNetwork",
    "DriftAdaptive",
    "DriftAdaptiveRegression",
    "DynamicNetwork",
    "FourierFeatures",
    "GaussianNB",
    "GaussianProcess",
    "HalfLifeChoice",
    "HalfLifeRegression",
    "HiddenMarkov",
    "LatentClass",
    "LiveChoice",
    "MarkovChain",
    "MixedNetwork",
    "ModelPerKey",
    "MultiTargetRegression",
    "MultinomialNB",
    "NaiveBayes",
    "NearestNeighbours",
    "Nominal",
    "Numeric",
    "PredictionSets",
    "PriorTables",
    "Schema",
    "SlidingWindow",
    "StreamBayesError",
    "Structure",
    "Text",
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

_build.install_finder()


def _path_of_learner(name: str) -> str | None:
    if name not in __all__:  # a room, which Python imports itself
        return None
    from stream_bayes.learners.catalogue import path_of_class

    return path_of_class(name)


# A name is imported when it is first used: command lines, pytest plug-ins and single rooms need few of them. Learners
# are listed in the catalogue; type checkers and `from stream_bayes import *` read the names above.
_get, __dir__ = front(
    __name__,
    {
        "core.networks.discrete_network": ("DiscreteNetwork",),
        "core.networks.structure": ("Structure",),
        "data.columns": ("CodedColumns",),
        "data.schema": ("Amount", "Date", "Nominal", "Numeric", "Code", "Coordinates", "Schema", "Text"),
        "drift.adaptive": ("DriftAdaptive",),
        "errors": ("StreamBayesError",),
        "learners.base.binning": ("Binning",),
        "learners.base.fourier_features": ("FourierFeatures",),
        "learners.base.prior_tables": ("PriorTables",),
        "learners.wrappers.deciding_classifier": ("DecidingClassifier",),
        "learners.wrappers.prediction_sets": ("PredictionSets",),
        "learners.wrappers.decision_rules": ("Costs", "Thresholds"),
        "networks.files.bif": ("read_bif", "write_bif"),
        "saving.model_files": ("load", "save"),
    },
    _path_of_learner,
)


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name == "compiled":
        value: object = _build.is_compiled()
    elif name == "errors":
        from stream_bayes import errors as value
    else:
        return _get(name)
    globals()[name] = value
    return value
