"""River's transformers and detectors by their short names in pipeline files: all of them can be saved.

Such a file holds only these names, never a path to import.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from river import base

from stream_bayes.checked_names import Imported, check_arguments, check_known, construct, construction_errors
from stream_bayes.drift.adaptive import DriftAdaptive
from stream_bayes.drift.detectors import DEFAULT_DETECTOR, DETECTORS
from stream_bayes.drift.recent_events import RenewedModel
from stream_bayes.errors import BadValue, StreamBayesError
from stream_bayes.learners.factory import make_search

__all__ = [
    "TRANSFORMERS",
    "check_adapting",
    "make_adaptive",
    "make_detector",
    "make_transformer",
]

TRANSFORMERS = Imported(
    {
        "standard-scaler": "river.preprocessing.StandardScaler",
        "min-max-scaler": "river.preprocessing.MinMaxScaler",
        "one-hot-encoder": "river.preprocessing.OneHotEncoder",
        "bag-of-words": "river.feature_extraction.BagOfWords",
        "tfidf": "river.feature_extraction.TFIDF",
        "select": "river.compose.Select",
        "discard": "river.compose.Discard",
        "prefixer": "river.compose.Prefixer",
    }
)

NOT_FROM_A_FILE = ("learner", "detector")  # these have keys of their own


def make_transformer(name: str, arguments: Mapping[str, Any] | None = None) -> base.Transformer:
    """Return the transformer of a name, with arguments by name: for `select` and `discard`, `keys`.

    Raises
    ------
    BadValue
        If there is no such name or argument; the message lists them.

    Examples
    --------
    >>> make_transformer("select", {"keys": ["wind"]}).transform_one({"wind": 3, "sky": 1, "day": 7})
    {'wind': 3}
    >>> make_transformer("standard-scalar")
    Traceback (most recent call last):
        ...
    stream_bayes.errors.BadValue: there is no transformer 'standard-scalar'; did you mean 'standard-scaler'? ...
    """
    check_known("transformer", name, TRANSFORMERS)
    kind: type[base.Transformer] = TRANSFORMERS[name]
    settings = dict(arguments or {})
    parameters = inspect.signature(kind).parameters
    check_arguments(name, settings, parameters)
    several: list[Any] = []
    for argument, parameter in parameters.items():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            several = settings.pop(argument, [])
            if not isinstance(several, list) or not several:
                raise BadValue(f"{name}: {argument} is a list of at least one name, not {several!r}")
    with construction_errors(name, arguments or {}):
        return kind(*several, **settings)


def make_detector(name: str, arguments: Mapping[str, Any] | None = None) -> Any:
    """Return the drift detector of a name, with arguments by name. The default seed of a randomised one is 0.

    Raises
    ------
    BadValue
        If there is no such name or argument; the message lists them.

    Examples
    --------
    >>> make_detector("adwin", {"delta": 0.01}).delta
    0.01
    >>> make_detector("adwim")
    Traceback (most recent call last):
        ...
    stream_bayes.errors.BadValue: there is no detector 'adwim'; did you mean 'adwin'? There are adwin, ...
    """
    check_known("detector", name, DETECTORS)
    made, settings = DETECTORS[name], dict(arguments or {})
    parameters = inspect.signature(made).parameters
    check_arguments(name, settings, parameters)
    if "seed" in parameters:
        settings.setdefault("seed", 0)
    return construct(name, made, settings)


def make_adaptive(
    learner: RenewedModel,
    detector: str = "adwin",
    of_detector: Mapping[str, Any] | None = None,
    arguments: Mapping[str, Any] | None = None,
) -> DriftAdaptive:
    """Return a learner that adapts to drift, with the detector of a name.

    Raises
    ------
    BadValue
        If a name or an argument is none.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> make_adaptive(NaiveBayes(), "ddm", {"warm_start": 50}, {"window": 500}).signal_
    'error'
    """
    settings = dict(arguments or {})
    # By its name the default detector leaves the signal to the learner: families of a network are tested one by one.
    is_default = detector == DEFAULT_DETECTOR and not of_detector
    made = detector if is_default else make_detector(detector, of_detector)
    check_adapting(settings)
    if isinstance(settings.get("search"), Mapping):
        settings["search"] = make_search(settings["search"])
    try:
        return DriftAdaptive(learner, made, **settings)
    except StreamBayesError as error:
        raise BadValue(f"drift: {error}") from error


def check_adapting(arguments: Mapping[str, Any]) -> None:
    """Raise `BadValue` for what is not an argument of `DriftAdaptive`, or has a key of its own."""
    names = [name for name in inspect.signature(DriftAdaptive).parameters if name not in NOT_FROM_A_FILE]
    check_arguments("drift", arguments, names)
