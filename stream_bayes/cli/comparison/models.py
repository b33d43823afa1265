"""The models of `compare` by name, with arguments: classifiers of this package and River's, and networks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from river import base
from river.dummy import PriorClassifier

from stream_bayes.checked_names import Imported, check_arguments, check_known, closest, construct
from stream_bayes.cli.arguments import learner_arguments
from stream_bayes.cli.networks import named_network
from stream_bayes.data.schema import Schema
from stream_bayes.drift.adaptive import DriftAdaptive
from stream_bayes.errors import BadValue, SchemaError
from stream_bayes.learners.adaptive.adaptive_bayes import AdaptiveBayes
from stream_bayes.learners.catalogue import DEFAULT, LEARNERS
from stream_bayes.learners.factory import arguments_of, make_learner
from stream_bayes.learners.wrappers.half_life_choice import HalfLifeChoice
from stream_bayes.learners.wrappers.model_per_key import ModelPerKey
from stream_bayes.networks.bayes_net import BayesNet
from stream_bayes.saving.river.catalogue import make_adaptive

__all__ = ["BASELINES", "MODELS", "PEERS", "SEED", "arguments_by_model", "compared_models", "kinds_of"]

# River's, as a baseline.
PEERS = Imported(
    {
        "river-gaussian-nb": "river.naive_bayes.GaussianNB",
        "river-hoeffding-tree": "river.tree.HoeffdingTreeClassifier",
        "river-adaptive-tree": "river.tree.HoeffdingAdaptiveTreeClassifier",
        "river-arf": "river.forest.ARFClassifier",
        "river-amf": "river.forest.AMFClassifier",
        "river-knn": "river.neighbors.KNNClassifier",
    }
)
SEED = 1  # default for models with randomness
MODELS = (DEFAULT, "nb", "tan", "aode", "live-choice")


class NoChange:
    """A baseline that predicts the label that came last, without probabilities.

    Examples
    --------
    >>> model = NoChange()
    >>> model.learn_one({}, "rain")
    >>> model.predict_one({})
    'rain'
    """

    def __init__(self) -> None:
        self._last: Any = None

    def learn_one(self, x: Mapping[Any, Any], y: Any) -> None:
        """Store the label."""
        self._last = y

    def predict_one(self, x: Mapping[Any, Any]) -> Any:
        """Return the last label; None before the first."""
        return self._last


# By name. The majority has the shares of the labels so far as probabilities.
BASELINES: dict[str, type[Any]] = {"majority": PriorClassifier, "no-change": NoChange}


def compared_models(
    models: Sequence[str], arguments: Sequence[str], schema: Schema | None, *, has_target: bool = True
) -> dict[str, Any]:
    """Return the models by name. Each model is its name, or `other=name` if one comes twice; `name+detector` adapts to
    drift. Each argument is `name=value`, for all models that accept it, or `model.name=value`. `has_target` is False
    for networks without a class.

    Raises
    ------
    BadValue
        If a model or an argument is unknown, or two models have the same name.

    Examples
    --------
    >>> made = compared_models(["aode", "sharp=aode"], ["sharp.min_count=1", "strength=0.5"], None)
    >>> [(name, model.min_count, model.strength) for name, model in made.items()]
    [('aode', 30.0, 0.5), ('sharp', 1, 0.5)]
    """
    kinds = kinds_of(models)
    for kind in kinds.values():
        plain, plus, _ = kind.partition("+")
        LEARNERS.refuse(plain)
        check_known("model", plain, [*LEARNERS, *PEERS])
        if plus and plain in PEERS:
            raise BadValue(f"--model {kind}: only models of this package can adapt to drift")
    by_model = arguments_by_model(arguments, kinds, lambda kind: _arguments(kind, has_target))
    if not has_target:
        return {name: _network(kind, by_model[name], schema) for name, kind in kinds.items()}
    return {name: _made(name, kind, by_model[name], schema) for name, kind in kinds.items()}


def kinds_of(models: Iterable[str]) -> dict[str, str]:
    """Return the kinds of models by their names: each is written as its kind, or as `other=kind`.

    Raises
    ------
    BadValue
        If two models have the same name.
    """
    kinds: dict[str, str] = {}
    for text in models:
        name, equals, kind = text.partition("=")
        if name in kinds:
            raise BadValue(
                f"--model {name} is given twice; give one of them another name, as in --model "
                f"other={kind or name}, and its own arguments, as in --arg other.NAME=VALUE"
            )
        kinds[name] = kind if equals else name
    return kinds


def arguments_by_model(
    arguments: Iterable[str], kinds: Mapping[str, str], accepted: Callable[[str], Sequence[str]]
) -> dict[str, dict[str, Any]]:
    """Return the arguments of each model: `name=value` goes to all whose kind accepts it, `model.name=value` to one.

    Raises
    ------
    BadValue
        If no model has the name, or none accepts the argument.
    """
    by_model: dict[str, dict[str, Any]] = {name: {} for name in kinds}
    for argument, value in learner_arguments(list(arguments)).items():
        model, dot, argument_of_model = argument.partition(".")
        if dot and model not in kinds:
            raise BadValue(
                f"--arg {argument}: no model {model!r} in this comparison{closest(model, kinds)} "
                f"The models are {', '.join(kinds)}"
            )
        takers = [model] if dot else [name for name, kind in kinds.items() if argument in accepted(kind)]
        if not takers:
            names = sorted({name for kind in kinds.values() for name in accepted(kind)})
            raise BadValue(
                f"--arg {argument}: no model has this argument{closest(argument, names)} See `stream-bayes models "
                "NAME`"
            )
        for name in takers:
            by_model[name][argument_of_model if dot else argument] = value
    return by_model


def _network(kind: str, arguments: dict[str, Any], schema: Schema | None) -> BayesNet | DriftAdaptive:
    _, plus, detector = kind.partition("+")
    network = named_network(arguments, schema)
    return make_adaptive(network, detector) if plus else network


def _arguments(kind: str, has_target: bool = True) -> list[str]:
    plain = kind.partition("+")[0]
    if not has_target:
        return [name for name in inspect.signature(BayesNet).parameters if name != "schema"]
    return (
        arguments_of(LEARNERS[plain])
        if plain in LEARNERS
        else list(inspect.signature(PEERS[plain]).parameters)
    )


def _made(name: str, kind: str, arguments: dict[str, Any], schema: Schema | None) -> base.Classifier:
    plain, plus, detector = kind.partition("+")
    if plain in LEARNERS:
        try:
            learner = make_learner(plain, arguments, schema)
        except SchemaError as error:
            raise SchemaError(f"{name!r} cannot learn from this stream: {error}") from error
        if not plus:
            return learner
        if isinstance(learner, AdaptiveBayes):
            raise BadValue(f"--model {kind}: {plain} adapts to drift itself; compare it as --model {plain}")
        if isinstance(learner, HalfLifeChoice):
            raise BadValue(f"--model {kind}: {plain} forgets by itself; compare it as --model {plain}")
        if isinstance(learner, ModelPerKey):
            raise BadValue(f"--model {kind}: {plain} adds up all events; compare it as --model {plain}")
        return make_adaptive(learner, detector)
    arguments_of_kind = _arguments(kind, has_target=True)
    check_arguments(kind, arguments, arguments_of_kind)
    seed = {"seed": SEED} if "seed" in arguments_of_kind else {}
    made: type[base.Classifier] = PEERS[kind]
    return construct(kind, made, seed | arguments)
