"""Learners, networks and searches made from the names and arguments of configuration files and the command line.

Such a file holds a name from the catalogue, never a path to import.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from stream_bayes.checked_names import check_arguments, check_known, construct, construction_errors
from stream_bayes.core.search.exact_search import ExactSearch
from stream_bayes.core.search.hill_climbing import HillClimbing
from stream_bayes.core.search.order_search import BOSS
from stream_bayes.core.search.score_search import ScoreSearch
from stream_bayes.core.values.values import shown
from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadValue
from stream_bayes.learners.adaptive.adaptive_bayes import AdaptiveBayes
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.base.binning import Binning
from stream_bayes.learners.base.fourier_features import FourierFeatures
from stream_bayes.learners.base.regressor import BayesRegressor
from stream_bayes.learners.catalogue import (
    EVENT_MODELS,
    LEARNERS,
    NETWORK,
    REGRESSION,
    REGRESSORS,
    TARGET_MODELS,
    declaration_of,
    inner_names,
)
from stream_bayes.learners.wrappers.half_life_choice import HalfLifeChoice
from stream_bayes.learners.wrappers.model_per_key import ModelPerKey
from stream_bayes.networks.bayes_net import BayesNet

__all__ = [
    "Learner",
    "arguments_of",
    "make_event_model",
    "make_learner",
    "make_network",
    "make_regressor",
    "make_search",
    "make_target_model",
    "summary_of",
]

Learner: TypeAlias = BayesClassifier | AdaptiveBayes | HalfLifeChoice | ModelPerKey


def make_learner(
    name: str, arguments: Mapping[str, Any] | None = None, schema: Schema | None = None
) -> Learner:
    """Make the learner of a name, with arguments by name. `name` is one of `LEARNERS`. `arguments` are as its class
    takes them. `binning` and `numbers` may be a table of `Binning`'s settings. The `learner` of a window, of a choice
    of half-lives or of a model per key is a name, or a table of its `kind` and `arguments`. `schema` is the stream's,
    if it has one.

    Raises
    ------
    BadValue
        If there is no such name or argument; the message lists those there are.

    Examples
    --------
    >>> make_learner("aode", {"min_count": 1}).min_count
    1
    >>> make_learner("tan", {"binning": {"method": "mdl", "window": 500}}).binning
    Binning(method='mdl', bins=None, after=5, window=500, moving=False)
    >>> window = make_learner("sliding-window", {"learner": "aode", "size": 1000})
    >>> window.learner, window.size
    (AODE (...), 1000)
    >>> make_learner("half-life-choice", {"learner": {"kind": "nb", "arguments": {"strength": 0.5}}}).learner.strength
    0.5
    >>> make_learner("aodee")
    Traceback (most recent call last):
        ...
    stream_bayes.errors.BadValue: there is no model 'aodee'; did you mean 'aode'? There are adaptive, nb, ...
    """
    made: type[Learner] = LEARNERS[name]
    settings = dict(arguments or {})
    check_arguments(name, settings, arguments_of(made))
    if "learner" in arguments_of(made):
        settings["learner"] = _inner_learner(name, settings.get("learner"), schema)
    elif schema is not None:
        settings["schema"] = schema
    _read_search(settings)
    with construction_errors(name, settings):
        for argument in settings.keys() & {"binning", "numbers"}:
            table = settings[argument]
            if isinstance(table, Mapping):  # of a pipeline file, or JSON on the command line
                check_arguments(argument, table, inspect.signature(Binning).parameters)
                settings[argument] = Binning.from_json(table)
    return construct(name, made, settings)


def _inner_learner(name: str, setting: object, schema: Schema | None) -> Any:
    """Return the learner of a window, of a choice of half-lives, or of one that follows drift."""
    task = declaration_of(name).task
    example = declaration_of(name).example["learner"]
    table = {"kind": setting} if isinstance(setting, str) else setting
    if not isinstance(table, Mapping) or not isinstance(table.get("kind"), str):
        raise BadValue(
            f"{name} needs learner, the name of a model such as {example!r}, or its kind and arguments, as in "
            f"{{'kind': {example!r}, 'arguments': {{'strength': 1}}}}; got {shown(setting)}"
        )
    check_arguments(f"learner of {name}", table, ("kind", "arguments"))
    registry = REGRESSORS if task == REGRESSION else LEARNERS
    make = make_regressor if task == REGRESSION else make_learner
    with construction_errors(name, {"learner": setting}):
        if not (table["kind"] in registry and declaration_of(table["kind"]).can_be_wrapped):
            check_known("model", table["kind"], inner_names(task))
        return make(table["kind"], table.get("arguments"), schema)


def make_regressor(
    name: str, arguments: Mapping[str, Any] | None = None, schema: Schema | None = None
) -> BayesRegressor:
    """Make the regressor of a name, with arguments by name. `name` is one of `REGRESSORS`. `arguments` are as its class
    takes them; `features` may be a table of the settings of `FourierFeatures`, `learner` a name, or a table of its
    `kind` and `arguments`. `schema` is the stream's, if it has one.

    Raises
    ------
    BadValue
        If there is no such name or argument; the message lists those there are.

    Examples
    --------
    >>> make_regressor("bayesian-regression", {"strength": 0.5}).strength
    0.5
    >>> make_regressor("drift-regression", {"learner": "bayesian-regression", "window": 500}).learner
    BayesianRegression (...)
    """
    made: type[BayesRegressor] = REGRESSORS[name]
    settings = dict(arguments or {})
    check_arguments(name, settings, arguments_of(made))
    if "learner" in arguments_of(made):
        settings["learner"] = _inner_learner(name, settings.get("learner"), schema)
    elif schema is not None:
        settings["schema"] = schema
    with construction_errors(name, settings):
        if isinstance(table := settings.get("features"), Mapping):
            check_arguments("features", table, inspect.signature(FourierFeatures).parameters)
            settings["features"] = FourierFeatures.from_json(table)
    return construct(name, made, settings)


def make_target_model(
    name: str, arguments: Mapping[str, Any] | None, targets: Sequence[str], schema: Schema | None = None
) -> Any:
    """Make a regressor of several targets. `name` is one of `TARGET_MODELS`.

    Raises
    ------
    BadValue
        If there is no such name or argument.

    Examples
    --------
    >>> make_target_model("multi-target-regression", {"strength": 0.5}, ["rain", "river"]).target_names
    ['rain', 'river']
    """
    made = TARGET_MODELS[name]
    settings = dict(arguments or {})
    check_arguments(name, settings, [each for each in arguments_of(made) if each != "targets"])
    if schema is not None:
        settings["schema"] = schema
    return construct(name, made, {**settings, "targets": [*targets]})


def make_network(arguments: Mapping[str, Any] | None = None, schema: Schema | None = None) -> BayesNet:
    """Make a network without a class, with arguments by name. `arguments` are as `BayesNet` takes them; `search` may be
    a table for `make_search`. `schema` is the stream's, if it has one.

    Raises
    ------
    BadValue
        If there is no such argument; the message lists those there are.

    Examples
    --------
    >>> make_network({"structure": {"rain": [], "lawn": ["rain"]}, "strength": 0.5}).strength
    0.5
    """
    settings = dict(arguments or {})
    check_arguments(
        NETWORK, settings, [name for name in inspect.signature(BayesNet).parameters if name != "schema"]
    )
    _read_search(settings)
    return construct(NETWORK, BayesNet, settings | {"schema": schema})


def make_event_model(
    name: str, arguments: Mapping[str, Any] | None = None, schema: Schema | None = None
) -> Any:
    """Make a model of events without a label, with arguments by name.

    Raises
    ------
    BadValue
        If there is no such model or argument; the message lists those there are.

    Examples
    --------
    >>> make_event_model("markov-chain", {"variable": "page", "order": 2}).order
    2
    """
    made = EVENT_MODELS[name]
    settings = dict(arguments or {})
    names = [*inspect.signature(made).parameters]
    check_arguments(name, settings, [each for each in names if each != "schema"])
    if "schema" in names and schema is not None:
        settings["schema"] = schema
    return construct(name, made, settings)


def _read_search(settings: dict[str, Any]) -> None:
    """Make the search of some settings, if that is a table of a pipeline file, or JSON on the command line."""
    if isinstance(table := settings.get("search"), Mapping):
        settings["search"] = make_search(table)


def make_search(arguments: Mapping[str, Any]) -> ScoreSearch:
    """Make a search from a table of its settings; its `kind` is `"hill-climbing"`, the default, `"boss"` or `"exact"`.

    Examples
    --------
    >>> make_search({"max_parents": 3}).max_parents
    3
    >>> type(make_search({"kind": "exact"})).__name__
    'ExactSearch'
    """
    kinds: dict[str, type[ScoreSearch]] = {
        "hill-climbing": HillClimbing,
        "boss": BOSS,
        "exact": ExactSearch,
    }
    settings = dict(arguments)
    kind = settings.pop("kind", "hill-climbing")
    check_known("kind of search", kind, kinds)
    check_arguments("search", settings, ["kind", *inspect.signature(kinds[kind]).parameters])
    return construct("search", kinds[kind], settings)


def arguments_of(learner: type[Learner | BayesRegressor]) -> list[str]:
    """Return the arguments of a learner, except the schema, which belongs to the stream.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> arguments_of(NaiveBayes)[:2]
    ['prior', 'strength']
    """
    return [name for name in inspect.signature(learner).parameters if name != "schema"]


def summary_of(learner: type[Learner | BayesRegressor]) -> str:
    """Return the first sentence of a learner's documentation.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> summary_of(NaiveBayes)
    'Naive Bayes over nominal and numeric features ...'
    """
    return inspect.cleandoc(learner.__doc__ or "").split("\n\n", 1)[0].replace("\n", " ")
